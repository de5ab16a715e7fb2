import { cfgIsCurrent } from '../analysis/flow/cfg.ts';
import { barrierFaults } from '../analysis/synchronization/barrier-use.ts';
import { append } from '../ir/append.ts';
import { type DiagnosticError, fileError } from '../ir/diagnostic.ts';
import { dropUnchangedDraft, dropUnchangedDrafts } from '../ir/draft/index.ts';
import type { Program } from '../ir/program.ts';
import { parseProgram, printProgram } from '../ir/text.ts';
import { verifyFn, verifyMessage } from '../ir/verify.ts';
import type { Remark } from '../passes/pass.ts';
import type { PassEntry } from '../passes/registry.ts';
import { dispatchPosition } from '../spec/phase-names.ts';
import { groupsOf, type Plan, type PlanPhase, passesOf } from '../spec/plan.ts';
import { verifySsa } from '../ssa/verify.ts';
import { Budgets } from './budgets.ts';
import {
  type CachedPhase,
  type CacheHit,
  findResult,
  inputKeyOf,
  keepResult,
  type PrefixCache,
  phaseKey,
  programKey,
  type Verified,
} from './cache.ts';
import { now } from './clock.ts';
import { FunctionContext, newLog, type PhaseLog } from './context.ts';
import { dumpOf, dumpsAnything, timesPhases } from './dumps.ts';
import { EditRunner } from './edits.ts';
import { FunctionPlans, type PlanGroup } from './function-plans.ts';
import { type GateAnswer, type GateResult, noCodeGate, openGate } from './gate.ts';
import {
  changedBlocks,
  countInstructions,
  type Journal,
  type PhaseRecord,
  withoutSnapshot,
} from './journal.ts';
import { MemoryAccount } from './memory.ts';
import { factsOf, knobsOf, type Read, type Scene } from './reads.ts';
import { type Rewrite, RewriteCounter, type RewriteLimit } from './rewrites.ts';
import { startAt } from './slice.ts';
import { type Runnable, runSteps } from './steps.ts';
import { within } from './where.ts';

/** A pass in the engine's registry. */
export type RegisteredPass = PassEntry;

/** Options of a run. */
export interface RunOptions extends Runnable {
  /**
   * Check every changed snapshot, including unchecked results from the cache, with the verifier and by printing, parsing and printing
   * again. Throws DiagnosticError on the first fault.
   */
  readonly verify?: boolean;
  /** Identifies the input in cache keys (a hash of the source text and of how it was lowered). */
  readonly inputKey?: string;
  /**
   * Results of earlier runs. Used only with `inputKey`. Keys name passes but not their code, so one cache serves one set of `passes`.
   * Rewrite listeners are not called for phases whose result comes from it.
   */
  readonly cache?: PrefixCache;
  /** Bytes of heap in use, if the host can measure it. */
  readonly heap?: () => number;
  /** Track the memory of snapshots (`PhaseRecord.memory`). Knob PhaseTiming also requests it. */
  readonly memory?: boolean;
  /** Snapshots that the journal holds: all (the default), or only the input and the last one, to save memory. */
  readonly snapshots?: 'all' | 'ends';
  /** Called before each phase that runs. */
  readonly onBegin?: (phase: PlanPhase) => void;
  /** Called after each phase, e.g. for progress and dumps. */
  readonly onPhase?: (record: PhaseRecord, before: Program) => void;
  /**
   * Start with this phase (an id, ignoring case); the program is taken for the output of the phases before it. Default: the first phase. An
   * unknown name means phase 158, which does nothing.
   */
  readonly startAt?: string;
  /** Stop after this phase (an id, ignoring case); an unknown name means phase 158. */
  readonly until?: string;
  /** Limits the rewrites of one phase. Its result is neither taken from the cache nor stored there. */
  readonly rewriteLimit?: RewriteLimit;
  /** Called before each rewrite of a pass or rule; not for phases whose result comes from the cache. */
  readonly onRewrite?: (rewrite: Rewrite) => void;
  /** The plans of functions, if already resolved. */
  readonly plans?: FunctionPlans;
}

/**
 * Runs a plan over a program: the phases in the order of the phase index array, each mapping a snapshot to a snapshot. Every phase gets a
 * record, whether it runs or not.
 *
 * @throws DiagnosticError if a pass finds the program invalid, if `verify` finds that a pass made it invalid, or if the program lacks an IR
 *   property that phases from `startAt` on require
 */
export function runPlan(input: Program, plan: Plan, opts: RunOptions): Journal {
  try {
    return runPhases(input, plan, opts);
  } finally {
    dropUnchangedDrafts();
  }
}

function runPhases(input: Program, plan: Plan, opts: RunOptions): Journal {
  const plans = opts.plans ?? new FunctionPlans(plan, input);
  const budgets = new Budgets(plans);
  const x: Running = { plan, plans, budgets, edits: new EditRunner(), opts };
  const records: PhaseRecord[] = [];
  const entry = startAt(plan, opts.startAt, input);
  const last = opts.until === undefined ? -1 : dispatchPosition(plan, opts.until);
  const properties = new Set(entry.properties);
  const cache = opts.inputKey === undefined ? undefined : opts.cache;
  let program = input;
  let key = opts.inputKey === undefined ? '' : inputKeyOf(opts.inputKey, input, plan);
  let instructions = countInstructions(input);
  const keepsAll = opts.snapshots !== 'ends';
  const account = opts.memory === true || timesPhases(plan) ? new MemoryAccount(input, keepsAll) : null;
  const dumps = dumpsAnything(plans, input);
  let { progress } = entry;
  const changedIn = new Set(entry.changed);
  const start = now();

  for (const [at, phase] of plan.phases.entries()) {
    if (at < entry.first) continue;
    const before = program;
    const began = now();
    const log = newLog();
    const gate =
      opts.codePasses === undefined && makesCode(phase, opts.passes)
        ? noCodeGate(plans, program)
        : openGate(plans, at, program, budgets, log, changedIn);
    const groups = plans.groups(at, program);
    const variants = groups.map((g) => g.phase);
    let done: Omit<Done, 'program'> = SHUT;
    const limit = opts.rewriteLimit;
    const rewrites = limit?.phase === phase.id ? new RewriteCounter(limit, opts.onRewrite) : null;
    const asked =
      rewrites ??
      (opts.onRewrite && new RewriteCounter({ phase: phase.id, count: Infinity }, opts.onRewrite));
    if (gate.open) {
      opts.onBegin?.(phase);
      const kept = rewrites === null ? cache : undefined;
      const first = kept === undefined ? '' : phaseKey(key, groups, gate);
      const hit =
        kept === undefined ? null : findResult(kept, first, variants, sceneOf(program, gate, plans, budgets));
      const ran =
        hit === null
          ? runNow(x, { phase, program, groups, gate, log, kept, first, asked: asked ?? null })
          : reused(hit, program, log, budgets);
      done = ran;
      program = ran.program;
      for (const p of variants.flatMap((v) => v.destroys)) properties.delete(p);
      if (gate.shutFor.length === 0) for (const p of phase.provides) properties.add(p);
      if (program !== before) {
        const wanted = `rules${CHECKED.filter((p) => properties.has(p)).map((p) => `+${p}`)}`;
        if (opts.verify === true && done.verified !== wanted) {
          const made = program;
          within({ phase: phase.id }, () => checkSnapshot(made, plan, phase.id, variants, properties));
          if (done.result !== null) kept!.set(done.place, { ...done.result, verified: wanted });
        }
        // The key changes only if the program does, so later phases do not depend on phases that changed nothing.
        key = done.result?.programKey ?? (cache === undefined ? '' : programKey(program, plan));
      }
    }
    if (phase.progress !== null && groups.some((g) => g.phase.disabled === null)) progress = phase.progress;
    const after = program === before ? instructions : countInstructions(program);
    const record: PhaseRecord = {
      phase,
      outcome: gate.open ? 'ran' : 'skipped',
      why: gate.why,
      shutFor: gate.shutFor,
      level: gate.level,
      began: began - start,
      ms: done.ms,
      bytes: done.bytes,
      memory: account?.phase(before, program) ?? null,
      knobsRead: [...new Set([...log.knobs, ...knobsOf(done.reads)])],
      factsRead: [...new Set([...log.facts, ...factsOf(done.reads)])],
      functionsChanged: done.changed.functions,
      blocksChanged: done.changed.blocks,
      instructionsBefore: instructions,
      instructionsAfter: after,
      remarks: [...refusals(before, gate), ...log.remarks],
      reports: log.reports,
      dump: dumps ? dumpOf(plans, phase, program, gate.why, properties.has('physical-registers')) : null,
      rewrites,
      progress,
      cached: done.cached,
      key,
      program,
    };
    instructions = after;
    if (program !== before) changedIn.add(phase.id);
    opts.onPhase?.(record, before);
    records.push(keepsAll ? record : withoutSnapshot(record));
    if (at === last) break;
  }
  for (const fn of program.functions) dropUnchangedDraft(fn);
  const memory = account?.run ?? null;
  return { plan, input, records, last: program, began: start, memory, decisions: plans.decisions };
}

/** True if all that a phase does is done to machine code. */
const makesCode = ({ steps }: PlanPhase, passes: Runnable['passes']): boolean =>
  steps.length > 0 &&
  steps.every((s) => {
    const entry = s.kind === 'pass' ? passes.get(s.pass) : undefined;
    return entry !== undefined && 'machineCode' in entry;
  });

/** What all phases of a run share. */
interface Running {
  readonly plan: Plan;
  readonly plans: FunctionPlans;
  readonly budgets: Budgets;
  readonly edits: EditRunner;
  readonly opts: RunOptions;
}

/** A phase whose gate is open. */
interface OpenPhase {
  readonly phase: PlanPhase;
  readonly program: Program;
  readonly groups: readonly PlanGroup[];
  readonly gate: GateResult;
  readonly log: PhaseLog;
  /** The cache for its result, and the first key of the result there. */
  readonly kept: PrefixCache | undefined;
  readonly first: string;
  readonly asked: RewriteCounter | null;
}

/** What a phase did, whether just now or in an earlier run. */
interface Done {
  readonly program: Program;
  readonly changed: { readonly functions: number; readonly blocks: number };
  readonly reads: readonly Read[];
  readonly cached: boolean;
  readonly ms: number;
  readonly bytes: number;
  readonly verified: Verified;
  /** The cached result, and its key; null without a cache. */
  readonly result: CachedPhase | null;
  readonly place: string;
}

/** What a phase does whose gate is shut. */
const SHUT: Omit<Done, 'program'> = {
  changed: { functions: 0, blocks: 0 },
  reads: [],
  cached: false,
  ms: 0,
  bytes: 0,
  verified: 'no',
  result: null,
  place: '',
};

/** Takes the result of a phase from the cache. */
function reused({ key, result }: CacheHit, program: Program, log: PhaseLog, budgets: Budgets): Done {
  append(log.remarks, result.remarks);
  append(log.reports, result.reports);
  for (const t of result.taken) budgets.spend(t.knob, t.fn, t.units);
  return {
    program: result.program ?? program,
    changed: { functions: result.functionsChanged, blocks: result.blocksChanged },
    reads: result.reads,
    cached: true,
    ms: 0,
    bytes: 0,
    verified: result.verified,
    result,
    place: key,
  };
}

/** Runs a phase, and keeps its result. */
function runNow({ plan, plans, budgets, edits, opts }: Running, x: OpenPhase): Done {
  const { phase, program: before, groups, gate, log, kept } = x;
  const atStart = kept === undefined ? null : sceneOf(before, gate, plans, budgets.copy());
  const heap = opts.heap?.() ?? 0;
  const began = now();
  const program = within({ phase: phase.id }, () =>
    runPhase(before, plans, groups, gate, budgets, log, opts, edits, x.asked),
  );
  const ms = now() - began;
  const bytes = (opts.heap?.() ?? 0) - heap;
  const changed = changedBlocks(before, program);
  const reads = [...log.reads].sort();
  const done = { program, changed, reads, cached: false, ms, bytes, verified: 'no' } as const;
  if (kept === undefined) return { ...done, result: null, place: '' };
  const result: CachedPhase = {
    kind: 'result',
    program: program === before ? null : program,
    programKey: program === before ? '' : programKey(program, plan),
    reads,
    taken: [...log.taken.values()],
    remarks: log.remarks,
    reports: log.reports,
    functionsChanged: changed.functions,
    blocksChanged: changed.blocks,
    verified: 'no',
  };
  return { ...done, result, place: keepResult(kept, x.first, atStart!, result) };
}

/** A remark for each function for which a knob closes the gate. */
function refusals({ functions }: Program, { answers }: GateResult): Remark[] {
  return functions.flatMap(({ name }, i): Remark[] =>
    answers[i].byKnob === true
      ? [
          {
            kind: 'missed',
            name: 'gate-shut',
            message: `not run: ${answers[i].why}`,
            fn: name,
            block: -1,
            loc: 0,
            count: 1,
          },
        ]
      : [],
  );
}

/** The functions that a phase runs over, and what the values of its reads depend on. */
function sceneOf(program: Program, gate: GateResult, plans: FunctionPlans, budgets: Budgets): Scene {
  const functions: string[] = [];
  const levels: number[] = [];
  program.functions.forEach((f, i) => {
    if (!gate.answers[i].open) return;
    functions.push(f.name);
    levels.push(gate.answers[i].level);
  });
  return { functions, levels, plans, budgets };
}

/** Runs a phase over the functions for which it is open, one plan group after the other. */
function runPhase(
  program: Program,
  plans: FunctionPlans,
  groups: readonly PlanGroup[],
  gate: GateResult,
  budgets: Budgets,
  log: PhaseLog,
  opts: RunOptions,
  edits: EditRunner,
  rewrites: RewriteCounter | null,
): Program {
  const { base } = plans;
  let now = program;
  for (const { phase, functions } of groups) {
    const answers = functions === null ? gate.answers : answersFor(functions, now, program, gate);
    const scope = { plans, phase, budgets, log, rewrites };
    now = runSteps(now, phase, opts, edits, {
      answers,
      isa: base.isa,
      contextOf: (p, fn, params, level) => new FunctionContext(scope, p, fn, params, level),
      refused: () => rewrites?.refused === true,
      fault: (why) => fault(program, base, why),
    });
  }
  return now;
}

/** The gate's answers for the functions of one plan group, by position in the current program; closed for all others. */
function answersFor(
  functions: ReadonlySet<string>,
  now: Program,
  before: Program,
  gate: GateResult,
): readonly GateAnswer[] {
  const answerOf = new Map(before.functions.map((f, i) => [f.name, gate.answers[i]]));
  return now.functions.map((f) => (functions.has(f.name) ? answerOf.get(f.name)! : OTHERS));
}

/** The gate's answer for functions with another plan. */
const OTHERS: GateAnswer = { open: false, why: 'another recipe', level: 0 };

/** IR properties that the verifier can check. */
const CHECKED: readonly string[] = ['control-last', 'ssa'];

function checkSnapshot(
  program: Program,
  plan: Plan,
  phase: string,
  variants: readonly PlanPhase[],
  properties: ReadonlySet<string>,
): void {
  for (const fn of program.functions) {
    const errors = verifyFn(fn, program, { controlLast: properties.has('control-last') });
    if (errors.length === 0) append(errors, barrierFaults(fn));
    if (errors.length === 0 && properties.has('ssa')) append(errors, verifySsa(fn));
    if (!cfgIsCurrent(fn))
      errors.push({
        rule: 'shape',
        message: 'the control flow graph differs from the one that belongs to its shape',
        fn: fn.name,
        block: -1,
        index: -1,
        loc: 0,
      });
    if (errors.length > 0)
      within({ fn: fn.name }, () => {
        throw fault(
          program,
          plan,
          `phase ${phase} (${[...new Set(variants.flatMap((v) => [...passesOf(v), ...groupsOf(v)]))].join(', ')}) left an invalid program`,
          errors.slice(0, 5).map(verifyMessage),
        );
      });
  }
  // Machine code is printed for readers alone.
  const text = printProgram({
    ...program,
    functions: program.functions.map((f) => (f.code === undefined ? f : { ...f, code: undefined })),
  });
  const back = parseProgram(text, plan.isa);
  const first = back.diagnostics[0];
  if (first !== undefined)
    throw fault(program, plan, `after phase ${phase} the printed program does not parse: ${first.message}`, [
      text.split('\n')[first.line - 1] ?? '',
    ]);
  if (printProgram(back.program) !== text)
    throw fault(program, plan, `after phase ${phase} the program changes when it is printed and read back`);
}

const fault = (
  program: Program,
  plan: Plan,
  message: string,
  notes: readonly string[] = [],
): DiagnosticError =>
  fileError(
    program.name,
    message,
    [...notes, `level ${plan.level}, ${plan.sm}, order ${plan.order}, plan ${plan.hash}`],
    'phase-fault',
  );
