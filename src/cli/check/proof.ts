import type { PhaseRecord } from '../../engine/journal.ts';
import { grouped } from '../../ir/counts.ts';
import type { Program } from '../../ir/program.ts';
import { mayAskLongField } from '../../judge/undefined.ts';
import { valueParam } from '../../judge/witness.ts';
import { paramBase } from '../../read.ts';
import { type Launch, type LaunchParam, runLaunch } from '../../sim/launch.ts';
import type { Plan } from '../../spec/plan.ts';
import { validateStep } from '../../validate/program.ts';
import { APART, type Inputs, POINTERS, REACH, refuted } from '../../validate/refute.ts';
import { decidersBy } from '../../validate/solve.ts';
import type { Refute } from '../../validate/validate.ts';
import { WorkBudget } from '../../validate/work-budget.ts';
import { openSolver, packagedSolver } from '../rules/solver.ts';
import { Progress } from '../terminal/progress.ts';
import { pc } from '../terminal/ui.ts';

/** A phase that changed something, with the program before it. */
export interface Step {
  readonly record: PhaseRecord;
  readonly before: Program;
}

/** A region that a phase changed and that could not be proved. */
export interface Unproved {
  readonly phase: string;
  readonly function: string;
  /** Line of the input, 0 if it has none. */
  readonly line: number;
  readonly why: string;
}

/** A launch that gives different results after a phase than before it. */
export interface Refutation {
  readonly phase: string;
  readonly function: string;
  readonly launch: Launch;
  readonly expect: readonly (Uint8Array | null)[];
}

/** Result of `--check prove`. */
export interface Proof {
  readonly phases: number;
  readonly regions: number;
  readonly proved: number;
  readonly left: readonly Unproved[];
  /** The first phase that a launch refutes; null: none. */
  readonly refuted: Refutation | null;
}

/**
 * Proves, phase by phase, that the changed regions behave alike for all inputs.
 *
 * @param milliseconds time limit, after which the rest is left unproved
 */
export async function proveSteps(
  steps: readonly Step[],
  plan: Plan,
  milliseconds = Number.POSITIVE_INFINITY,
): Promise<Proof> {
  const end = performance.now() + milliseconds;
  const isLate = (): boolean => performance.now() > end;
  const progress = new Progress();
  const solver = packagedSolver() ? openSolver(undefined) : null;
  const decider = solver === null ? null : decidersBy(solver.solve, MOST_SOLVED);
  const left: Unproved[] = [];
  const budget = new WorkBudget(MOST_WORK, null, isLate);
  let refutations = 0;
  // Only one launch is written; after several failures a launch is usually too hard to find.
  const refute: Refute = async (...what) =>
    shown !== null || refutations++ >= MOST_REFUTATIONS ? null : refuted(...what, solver?.solve ?? null);
  let shown: Refutation | null = null;
  let [regions, proved] = [0, 0];
  try {
    for (const [k, { record, before }] of steps.entries()) {
      progress.update(`proving ${record.phase.id}, ${k + 1} of ${steps.length}`);
      for (const { fn, regions: found } of await validateStep(
        before,
        record.program,
        decider,
        refute,
        budget,
      ))
        for (const r of found) {
          if (!r.changed && r.why === '') continue;
          regions++;
          if (r.inputs !== undefined)
            shown ??= refutation(record.phase.id, before, record.program, fn, r.inputs, plan);
          if (r.why === '') proved++;
          else
            left.push({
              phase: record.phase.id,
              function: fn,
              line: lineOf(before, fn, r.block),
              why: isLate() ? 'the time of --check-limit was over' : r.why,
            });
        }
    }
  } finally {
    solver?.close();
    progress.done();
  }
  return { phases: steps.length, regions, proved, left, refuted: shown };
}

/**
 * Limits on the steps of the solver, and on all other work, for all phases together; no module of the test kernels takes more than 42 s.
 */
const MOST_SOLVED = 40_000_000;
const MOST_WORK = 40_000_000;

/**
 * Maximum number of regions for which a launch is sought: only the first refutation is reported, and each attempt may take a second of
 * solver time.
 */
const MOST_REFUTATIONS = 16;

/** Extra bytes of a buffer beyond the bytes known to be read, for bytes that are only written. */
const BEHIND = 1024;

/** Whether an address lies in the buffer of the k-th pointer. */
const isBehind = (address: bigint, k: number): boolean => {
  const from = POINTERS + BigInt(k) * APART;
  return address >= from && address < from + REACH;
};

/**
 * The launch that the inputs describe, if it gives different results after the phase; null otherwise.
 *
 * @param name of the function
 * @param inputs found by the proof
 */
export function refutation(
  phase: string,
  before: Program,
  after: Program,
  name: string,
  { constants, pointers, memory }: Inputs,
  plan: Plan,
): Refutation | null {
  const fn = before.functions.find((f) => f.name === name)!;
  if (fn.blocks.some((b) => b.ins.some(mayAskLongField))) return null;
  // A launch cannot set memory outside its buffers.
  if (!memory.every(({ address }) => pointers.some((_, k) => isBehind(address, k)))) return null;
  const base = paramBase(plan);
  const bank = new DataView(new ArrayBuffer(8192));
  for (const [at, value] of constants) if (at + 4 <= bank.byteLength) bank.setUint32(at, value, true);
  const params = fn.params.map((p): LaunchParam => {
    const k = pointers.indexOf(base + p.offset);
    if (k < 0 || p.size !== 8) return valueParam(p, bank, base + p.offset);
    const from = POINTERS + BigInt(k) * APART;
    const own = memory.filter(({ address }) => isBehind(address, k));
    const length = Math.max(0, ...own.map((m) => Number(m.address - from) + m.bytes)) + BEHIND;
    const bytes = new Uint8Array(length - (length % 4));
    for (const m of own)
      for (let i = 0; i < m.bytes; i++)
        bytes[Number(m.address - from) + i] = Number((m.value >> BigInt(8 * i)) & 255n);
    return { kind: 'buffer', type: 'u32', length: bytes.length / 4, bytes, expect: null, tolerance: 0 };
  });
  const launch: Launch = {
    name: 'a refutation',
    kernel: name,
    grid: [1, 1, 1],
    block: [1, 1, 1],
    dynamicShared: 4096,
    params,
  };
  const first = runLaunch(before, plan.isa, launch, base, { budget: MOST_EXECUTED });
  if (first.status !== 'ok') return null;
  const expected = params.map((p, k) => (p.kind === 'buffer' ? { ...p, expect: first.buffers[k] } : p));
  const second = runLaunch(after, plan.isa, { ...launch, params: expected }, base, {
    budget: MOST_EXECUTED,
  });
  // A run that exceeds the budget may only be slower.
  if (second.status === 'budget' || (second.status === 'ok' && second.output === first.output)) return null;
  return { phase, function: name, launch, expect: first.buffers };
}

/** The line of the first instruction with a location in a block; 0 if there is none. */
function lineOf(program: Program, name: string, block: number): number {
  const b = program.functions.find((f) => f.name === name)?.blocks.find((x) => x.id === block);
  const loc = b?.ins.find((x) => x.loc !== 0)?.loc ?? 0;
  return program.locs[loc]?.line ?? 0;
}

/** Budget of a refuting launch in warp instructions: one thread runs to its first loop, and through that loop. */
const MOST_EXECUTED = 100_000;

/** Explanation for readers who would take an unproved region for a fault. */
const LIMITS =
  '  what is not proved is not necessarily wrong: proofs cannot follow loops that are unrolled, pipelined or tested elsewhere;\n' +
  '  it was compared by running it:';

/** Maximum number of regions that are named individually. */
const NAMED = 8;

/**
 * The proof as text.
 *
 * @param file path of the launch that was written for a refutation
 */
export function proofText(
  { phases, regions, proved, left, refuted: wrong }: Proof,
  file: string | null = null,
): string {
  const all = proved === regions;
  const head = wrong !== null ? pc.red('REFUTED') : all ? pc.green('proved') : pc.yellow('proved in part');
  const what = `${grouped(proved)} of ${grouped(regions)} regions that ${phases} ${phases === 1 ? 'phase' : 'phases'} changed`;
  const refutationLines =
    wrong === null
      ? []
      : [
          `  ${wrong.phase} changes what ${wrong.function} gives one thread with ${inputsText(wrong.launch)}`,
          file === null
            ? '  --counterexample FILE writes the launch'
            : `  written: ${file}, a launch that shows it`,
        ];
  const lines = left.slice(0, NAMED).map(({ phase, function: fn, line, why }) => {
    const at = line === 0 ? '' : `, line ${line}`;
    return `  not proved: ${phase}, ${fn}${at}: ${why}`;
  });
  const more = left.length > NAMED ? [`  and ${left.length - NAMED} more; --json names them all`] : [];
  const limits = left.length > 0 && wrong === null ? [LIMITS] : [];
  return [
    `${head}: ${what} do the same for all inputs`,
    ...refutationLines,
    ...lines,
    ...more,
    ...limits,
  ].join('\n');
}

/** Maximum number of parameters listed in a line. */
const NAMED_PARAMS = 8;

/** The arguments of a launch in one line. */
const inputsText = ({ params }: Launch): string =>
  params
    .slice(0, NAMED_PARAMS)
    .map((p) => (p.kind === 'scalar' ? `${p.type} ${p.value}` : p.kind === 'buffer' ? 'a buffer' : 'bytes'))
    .join(', ');
