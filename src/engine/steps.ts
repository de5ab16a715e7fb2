import type { DiagnosticError } from '../ir/diagnostic.ts';
import { dropUnchangedDraft } from '../ir/draft/index.ts';
import { withFunctions } from '../ir/edit.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { KnobValue, Pass, PassContext } from '../passes/pass.ts';
import type { PassEntry } from '../passes/registry.ts';
import type { PassStep, PlanPhase, RepeatStep, RulesStep, Step } from '../spec/plan.ts';
import type { EditRunner, EditStep, Stretch } from './edits.ts';
import type { GateAnswer } from './gate.ts';
import { differing } from './journal.ts';
import { runProgramPass } from './program-pass.ts';
import { roundCost, tellRounds } from './round-cost.ts';
import { within } from './where.ts';

/** The registered passes, and the rule engine. */
export interface Runnable {
  readonly passes: ReadonlyMap<string, PassEntry>;
  /** Passes over machine code; absent if none is asked for. */
  readonly codePasses?: ReadonlyMap<string, Pass>;
  /** Creates a step that runs rule groups as one set; absent if no rules are loaded. */
  readonly rules?: (groups: readonly string[], ctx: PassContext) => EditStep;
}

/** The context in which steps run. */
export interface Site {
  /** The gate's answers by position of the function. */
  readonly answers: readonly GateAnswer[];
  readonly isa: Isa;
  /** Creates the context for a step on one function of a version of the program. */
  readonly contextOf: (program: Program, fn: Fn, params: PassContext['params'], level: number) => PassContext;
  /** True if a rewrite was refused, so that steps might still find work in their own results. */
  readonly refused: () => boolean;
  /** Creates the error for a step that cannot run. */
  readonly fault: (why: string) => DiagnosticError;
}

/** Creates the context for the parameters of one step. */
type ContextFor = (params: PassContext['params']) => PassContext;

/** Runs the steps of a phase over a program, function by function. Adjacent edit steps share one draft. */
export function runSteps(
  program: Program,
  phase: PlanPhase,
  can: Runnable,
  edits: EditRunner,
  site: Site,
): Program {
  const runner = new StepRunner(program, phase, can, edits, site);
  runner.run(phase.steps);
  runner.tell();
  return runner.program;
}

const NO_KNOBS: readonly string[] = [];

/** Rounds of a repetition whose knob asks for all that change something: our own bound. */
const ALL_ROUNDS = 100;

/** How often at most a repetition runs over a function. */
function roundsOf({ rounds, roundsBy }: RepeatStep, contextOf: () => PassContext): number {
  const value = (roundsBy === null ? null : contextOf().knob(roundsBy)) ?? rounds;
  return Number(value) > 0 ? Number(value) : ALL_ROUNDS;
}

/** Keys of pass steps, with the knob values that they were last made for: these seldom differ between functions. */
const keys = new WeakMap<PassStep, { readonly values: KnobValue[]; readonly key: string }>();

/** Identifies what a pass does to a function (`EditStep.key`). */
function keyOf(s: PassStep, values: KnobValue[]): string {
  const known = keys.get(s);
  if (known?.values.every((v, i) => v === values[i])) return known.key;
  const key = `${s.pass} ${JSON.stringify([s.params, values])}`;
  keys.set(s, { values, key });
  return key;
}

class StepRunner {
  program: Program;
  private readonly phase: PlanPhase;
  private readonly can: Runnable;
  private readonly edits: EditRunner;
  private readonly site: Site;
  /** The gate's answers by position of the function. */
  private answers: readonly GateAnswer[];
  /** For each function name: texts that say what its steps did, in order. */
  private readonly done = new Map<string, string[]>();

  constructor(program: Program, phase: PlanPhase, can: Runnable, edits: EditRunner, site: Site) {
    this.program = program;
    this.phase = phase;
    this.can = can;
    this.edits = edits;
    this.site = site;
    this.answers = site.answers;
  }

  run(steps: readonly Step[]): void {
    for (let i = 0; i < steps.length; ) {
      const s = steps[i++];
      if (this.isEdit(s)) {
        const together = [s];
        while (i < steps.length && this.isEdit(steps[i])) together.push(steps[i++]);
        this.runEdits(together);
      } else if (s.kind === 'pass') this.runPass(s);
      else if (s.kind === 'repeat') this.repeat(s);
    }
  }

  /** Emits a remark for each function on what the steps did, if the phase has edit steps. */
  tell(): void {
    if (!this.phase.steps.some((s) => this.isEdit(s))) return;
    this.program.functions.forEach((fn, i) => {
      const texts = this.done.get(fn.name);
      if (texts === undefined) return;
      this.site
        .contextOf(this.program, fn, {}, this.answers[i].level)
        .remark('note', 'rounds-done', texts.join('; '));
    });
  }

  private note(fn: string, texts: readonly string[]): void {
    if (texts.length === 0) return;
    const all = this.done.get(fn);
    if (all === undefined) this.done.set(fn, [...texts]);
    else all.push(...texts);
  }

  /** Repeats whole passes over the program as long as it changes; each function takes part in as many rounds as its plan allows. */
  private repeat(s: RepeatStep): void {
    const all = this.answers;
    const most = this.program.functions.map((fn, i) =>
      all[i].open ? roundsOf(s, () => this.site.contextOf(this.program, fn, {}, all[i].level)) : 0,
    );
    for (let round = 0; round < Math.max(0, ...most); round++) {
      const before = this.program;
      if (s.roundsBy !== null)
        this.answers = all.map((a, i) => (round < most[i] ? a : { ...a, open: false }));
      this.run(s.steps);
      if (this.program === before) break;
    }
    if (s.roundsBy !== null) this.answers = all;
  }

  private runPass(s: PassStep): void {
    const { site, phase } = this;
    const entry = this.entryOf(s);
    if ('pass' in entry)
      this.overFunctions((fn, level, now) => {
        const out = entry.pass(fn, site.contextOf(now, fn, s.params, level));
        if (out !== fn) {
          const blocks = differing(fn.blocks, out.blocks);
          this.note(fn.name, [`${s.pass} in ${blocks} ${blocks === 1 ? 'block' : 'blocks'}`]);
        }
        return out;
      });
    else if ('machineCode' in entry) {
      const pass = this.can.codePasses?.get(s.pass);
      if (pass === undefined)
        throw site.fault(`phase ${phase.id} runs '${s.pass}', but no machine code is asked for`);
      this.overFunctions((fn, level, now) => pass(fn, site.contextOf(now, fn, s.params, level)));
    } else if ('programPass' in entry) {
      const now = this.program;
      ({ program: this.program, answers: this.answers } = runProgramPass(
        now,
        this.answers,
        entry.programPass,
        {
          isa: site.isa,
          phase: phase.id,
          params: s.params,
          contextOf: (fn, level) => site.contextOf(now, fn, s.params, level),
          fault: (why) => site.fault(`phase ${phase.id} (${s.pass}) ${why}`),
        },
      ));
    }
  }

  private runEdits(steps: readonly Step[]): void {
    this.overFunctions((fn, level, now) => {
      const contextFor: ContextFor = (params) => this.site.contextOf(now, fn, params, level);
      return this.edits.run(
        fn,
        steps.map((s) => this.stretch(s, fn.name, contextFor)),
      );
    });
  }

  private stretch(s: Step, fn: string, contextFor: ContextFor): Stretch {
    const [steps, rounds] = s.kind === 'repeat' ? [s.steps, roundsOf(s, () => contextFor({}))] : [[s], 1];
    const [knob, weights] = s.kind === 'repeat' ? [s.leastCost, s.weights] : [null, null];
    const editSteps = steps.map((x) => this.editStep(x, contextFor));
    return {
      steps: editSteps,
      rounds,
      cost:
        knob === null || weights === null
          ? null
          : roundCost(Number(contextFor({}).knob(knob) ?? 0), weights, this.site.isa),
      ended: (done, end) => this.note(fn, tellRounds(contextFor({}), editSteps, done, end, knob)),
    };
  }

  private editStep(s: PassStep | RulesStep, contextFor: ContextFor): EditStep {
    if (s.kind === 'rules') {
      const { rules } = this.can;
      if (rules === undefined)
        throw this.site.fault(
          `phase ${this.phase.id} runs rule group '${s.groups[0]}', but no rules are loaded`,
        );
      const step = rules(s.groups, contextFor({}));
      return {
        name: 'rules',
        budget: this.phase.ruleBudget,
        key: step.key,
        cutShort: () => this.site.refused() || step.cutShort?.() === true,
        open: step.open,
      };
    }
    const entry = this.entryOf(s);
    if (!('edit' in entry)) throw new Error(`${s.pass} edits no draft`);
    const { edit, needs } = entry;
    const ctx = contextFor(s.params);
    const values = (needs?.knobs ?? NO_KNOBS).map((k) => ctx.knob(k));
    return {
      name: s.pass,
      key: keyOf(s, values),
      cutShort: this.site.refused,
      open: (d) => (work) => edit(d, work, ctx),
    };
  }

  private isEdit(s: Step): boolean {
    if (s.kind === 'rules') return true;
    return s.kind === 'pass' ? 'edit' in this.entryOf(s) : s.steps.every((x) => this.isEdit(x));
  }

  private entryOf(s: PassStep): PassEntry {
    const entry = this.can.passes.get(s.pass);
    if (entry === undefined)
      throw this.site.fault(`phase ${this.phase.id} is bound to '${s.pass}', which is not a registered pass`);
    return entry;
  }

  /** Applies `f` to every function for which the gate is open, sharing what does not change. */
  private overFunctions(f: (fn: Fn, level: number, now: Program) => Fn): void {
    const now = this.program;
    let out: Fn[] | null = null;
    for (let i = 0; i < now.functions.length; i++) {
      const { open, level } = this.answers[i];
      if (!open) continue;
      const fn = now.functions[i];
      const r = within({ fn: fn.name }, () => f(fn, level, now));
      if (r === fn) continue;
      dropUnchangedDraft(fn);
      out ??= [...now.functions];
      out[i] = r;
    }
    if (out !== null) this.program = withFunctions(now, out);
  }
}
