import { DiagnosticError } from '../ir/diagnostic.ts';
import { withFunctions } from '../ir/edit.ts';
import { hashText } from '../ir/hash.ts';
import type { Fn, Program } from '../ir/program.ts';
import { parseProgram, printProgram } from '../ir/text.ts';
import { verifyFn, verifyMessage } from '../ir/verify.ts';
import type { Pass, PassContext } from '../passes/pass.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { Budgets, knobFor, makeContext, newLog, type PhaseLog } from './context.ts';
import { openGate } from './gate.ts';
import { changedBlocks, countInstructions, type Journal, type PhaseRecord } from './journal.ts';

/** A pass as the engine knows it: found by name, with a version that is part of every cache key. */
export interface RegisteredPass {
  readonly name: string;
  readonly pass: Pass;
  /** Raised whenever the pass may give another result for the same input. */
  readonly version: number;
  /** Reads nothing but the function: a phase that runs only such passes may skip functions it has seen unchanged. */
  readonly summary: string;
}

/** Results of prefixes, by key. Any map-like store will do. */
export interface PrefixCache {
  get(key: string): CachedPhase | undefined;
  set(key: string, value: CachedPhase): unknown;
}

export interface CachedPhase {
  readonly program: Program;
  readonly remarks: PhaseRecord['remarks'];
  readonly reports: PhaseRecord['reports'];
  readonly budgets: string;
}

export interface RunOptions {
  readonly passes: ReadonlyMap<string, RegisteredPass>;
  /** Runs the rule groups of a phase, as one set, over a function; absent where no rules are loaded. */
  readonly rules?: (groups: readonly string[], fn: Fn, ctx: PassContext) => Fn;
  /** Check every changed snapshot: the verifier, and print-parse-print. Throws DiagnosticError on the first fault. */
  readonly verify?: boolean;
  /** Names the input for cache keys (a hash of the source text and of how it was lowered). */
  readonly inputKey?: string;
  readonly cache?: PrefixCache;
  /** Bytes of heap in use, where the host can tell. */
  readonly heap?: () => number;
  /** Called after each phase, e.g. for progress and dumps. */
  readonly onPhase?: (record: PhaseRecord, before: Program) => void;
  /** Stop after this phase (id). */
  readonly until?: string;
}

/**
 * Runs a plan over a program: phases in the order of the phase index array, each from snapshot to snapshot, one record
 * for every phase whether it ran or not.
 *
 * @throws DiagnosticError when a pass finds the program broken, or `verify` finds that a pass broke it
 */
export function runPlan(input: Program, plan: Plan, opts: RunOptions): Journal {
  const budgets = new Budgets(plan);
  const records: PhaseRecord[] = [];
  const properties = new Set<string>();
  let program = input;
  let key = opts.inputKey === undefined ? null : hashText(`${opts.inputKey}|${plan.sm}|${plan.isa.hash}`);
  let instructions = countInstructions(input);

  for (const phase of plan.phases) {
    const before = program;
    const log = newLog();
    const gate = openGate(plan, phase, budgets, log);
    let cached = false;
    let ms = 0;
    let bytes = 0;
    if (gate.open) {
      if (key !== null) key = phaseKey(key, plan, phase, gate.level, budgets, program, opts.passes);
      const hit = key !== null ? opts.cache?.get(key) : undefined;
      if (hit !== undefined) {
        cached = true;
        program = hit.program;
        log.remarks.push(...hit.remarks);
        log.reports.push(...hit.reports);
        budgets.restore(hit.budgets);
      } else {
        const heap = opts.heap?.() ?? 0;
        const start = performance.now();
        program = runPhase(program, plan, phase, gate.level, budgets, log, opts);
        ms = performance.now() - start;
        bytes = (opts.heap?.() ?? 0) - heap;
        if (key !== null)
          opts.cache?.set(key, {
            program,
            remarks: log.remarks,
            reports: log.reports,
            budgets: budgets.state(),
          });
      }
      for (const p of phase.destroys) properties.delete(p);
      for (const p of phase.provides) properties.add(p);
      if (opts.verify === true && program !== before && !cached)
        checkSnapshot(program, plan, phase, properties.has('control-last'));
    }
    const changed = changedBlocks(before, program);
    const after = program === before ? instructions : countInstructions(program);
    const record: PhaseRecord = {
      phase,
      outcome: gate.open ? 'ran' : 'skipped',
      why: gate.why,
      level: gate.level,
      ms,
      bytes,
      knobsRead: [...log.knobs],
      factsRead: [...log.facts],
      functionsChanged: changed.functions,
      blocksChanged: changed.blocks,
      instructionsBefore: instructions,
      instructionsAfter: after,
      remarks: log.remarks,
      reports: log.reports,
      cached,
      key: key ?? '',
      program,
    };
    instructions = after;
    records.push(record);
    opts.onPhase?.(record, before);
    if (opts.until === phase.id) break;
  }
  return { plan, input, records, last: program };
}

/** Everything that can decide what the phase does: what came before, the bound code, every value it may read. */
function phaseKey(
  before: string,
  plan: Plan,
  phase: PlanPhase,
  level: number,
  budgets: Budgets,
  program: Program,
  passes: RunOptions['passes'],
): string {
  const bound = phase.passes
    .map((p) => `${p.pass}@${passes.get(p.pass)?.version ?? '?'}${JSON.stringify(p.params)}`)
    .join('+');
  const knobs = phase.knobs
    .map((name) => {
      const k = plan.knobs.get(name);
      const value = k?.when == null ? k?.value : program.functions.map((f) => knobFor(k, f.name));
      return `${name}=${JSON.stringify(value ?? null)}`;
    })
    .join(';');
  const facts = phase.facts
    .map((f) => `${f}=${JSON.stringify(plan.backend.facts[f.split('.')[0]] ?? null)}`)
    .join(';');
  return hashText(
    `${phase.id}|${bound}|${phase.rules.map((g) => `${g}@${plan.rules.get(g)?.hash ?? '?'}`).join('+')}|${level}|${knobs}|${facts}|${budgets.state()}`,
    before,
  );
}

function runPhase(
  program: Program,
  plan: Plan,
  phase: PlanPhase,
  level: number,
  budgets: Budgets,
  log: PhaseLog,
  opts: RunOptions,
): Program {
  let current = program;
  for (const bound of phase.passes) {
    const entry = opts.passes.get(bound.pass);
    if (entry === undefined)
      throw fault(
        program,
        plan,
        `phase ${phase.id} is bound to '${bound.pass}', which is no registered pass`,
      );
    current = overFunctions(current, (fn) =>
      entry.pass(fn, { ...makeContext(plan, phase, current, fn, level, budgets, log), params: bound.params }),
    );
  }
  if (phase.rules.length > 0) {
    const run = opts.rules;
    if (run === undefined)
      throw fault(
        program,
        plan,
        `phase ${phase.id} runs rule group '${phase.rules[0]}', but no rules are loaded`,
      );
    current = overFunctions(current, (fn) =>
      run(phase.rules, fn, { ...makeContext(plan, phase, current, fn, level, budgets, log), params: {} }),
    );
  }
  return current;
}

/** Applies `f` to every function, sharing what stays. */
function overFunctions(program: Program, f: (fn: Fn) => Fn): Program {
  let out: Fn[] | null = null;
  for (let i = 0; i < program.functions.length; i++) {
    const fn = program.functions[i];
    const r = f(fn);
    if (r === fn) continue;
    out ??= [...program.functions];
    out[i] = r;
  }
  return out === null ? program : withFunctions(program, out);
}

function checkSnapshot(program: Program, plan: Plan, phase: PlanPhase, controlLast: boolean): void {
  for (const fn of program.functions) {
    const errors = verifyFn(fn, program, { controlLast });
    if (errors.length > 0)
      throw fault(
        program,
        plan,
        `phase ${phase.id} (${phase.passes.map((p) => p.pass).join(', ')}) left an invalid program`,
        errors.slice(0, 5).map(verifyMessage),
      );
  }
  const text = printProgram(program);
  const back = parseProgram(text, plan.isa);
  const first = back.diagnostics[0];
  if (first !== undefined)
    throw fault(
      program,
      plan,
      `after phase ${phase.id} the printed program does not parse: ${first.message}`,
      [text.split('\n')[first.line - 1] ?? ''],
    );
  if (printProgram(back.program) !== text)
    throw fault(
      program,
      plan,
      `after phase ${phase.id} the program changes when it is printed and read back`,
    );
}

const fault = (
  program: Program,
  plan: Plan,
  message: string,
  notes: readonly string[] = [],
): DiagnosticError =>
  new DiagnosticError([
    {
      severity: 'error',
      code: 'phase-fault',
      message,
      file: program.name,
      line: 0,
      column: 0,
      length: 0,
      notes: [...notes, `level ${plan.level}, ${plan.sm}, order ${plan.order}, plan ${plan.hash}`],
    },
  ]);
