import type { PhaseRecord } from '../../engine/journal.ts';
import type { Program } from '../../ir/program.ts';
import { mayAskLongField } from '../../judge/undefined.ts';
import { valueParam } from '../../judge/witness.ts';
import { paramBase } from '../../read.ts';
import { type Launch, type LaunchParam, runLaunch } from '../../sim/launch.ts';
import type { Plan } from '../../spec/plan.ts';
import { validateStep } from '../../validate/program.ts';
import { Purse } from '../../validate/purse.ts';
import { APART, type Inputs, POINTERS, REACH, refuted } from '../../validate/refute.ts';
import { decidersBy } from '../../validate/solve.ts';
import type { Refute } from '../../validate/validate.ts';
import { openSolver, packagedSolver } from '../rules/solver.ts';
import { Progress } from '../terminal/progress.ts';
import { grouped, pc } from '../terminal/ui.ts';

/** A phase that changed something, with the program before it. */
export interface Step {
  readonly record: PhaseRecord;
  readonly before: Program;
}

/** A region that a phase changed and that is not proved. */
export interface Unproved {
  readonly phase: string;
  readonly function: string;
  /** Line of the input, 0 if it has none. */
  readonly line: number;
  readonly why: string;
}

/** A launch by which the program after a phase gives something else than before it. */
export interface Refutation {
  readonly phase: string;
  readonly function: string;
  readonly launch: Launch;
  readonly expect: readonly (Uint8Array | null)[];
}

/** What `--check prove` found of the phases. */
export interface Proof {
  readonly phases: number;
  readonly regions: number;
  readonly proved: number;
  readonly left: readonly Unproved[];
  /** The first phase that a launch shows to be wrong; null: none. */
  readonly refuted: Refutation | null;
}

/** Proves for each phase that what it changed does the same for all inputs. @param milliseconds after which the rest is left unproved */
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
  const purse = new Purse(MOST_WORK, null, isLate);
  let refutations = 0;
  // One launch is written, and what no launch is found for a few times is mostly too hard.
  const refute: Refute = async (...what) =>
    shown !== null || refutations++ >= MOST_REFUTATIONS ? null : refuted(...what, solver?.solve ?? null);
  let shown: Refutation | null = null;
  let [regions, proved] = [0, 0];
  try {
    for (const [k, { record, before }] of steps.entries()) {
      progress.update(`proving ${record.phase.id}, ${k + 1} of ${steps.length}`);
      for (const { fn, regions: found } of await validateStep(before, record.program, decider, refute, purse))
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

/** Steps of the solver, and of everything else, for all phases together; over the test kernels no module takes more than 42 s. */
const MOST_SOLVED = 40_000_000;
const MOST_WORK = 40_000_000;

/** Regions for which a launch is looked for: only the first one found is told, and each may take a second of the solver's. */
const MOST_REFUTATIONS = 16;

/** Bytes of a buffer behind what is known to be read, for what is only written. */
const BEHIND = 1024;

/** Does an address lie behind the k-th pointer? */
const isBehind = (address: bigint, k: number): boolean => {
  const from = POINTERS + BigInt(k) * APART;
  return address >= from && address < from + REACH;
};

/** The launch that inputs describe, if it gives something else after the phase. */
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
  // What lies elsewhere has no value that a launch could give it.
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
  // What does not end within the budget may only be slower.
  if (second.status === 'budget' || (second.status === 'ok' && second.output === first.output)) return null;
  return { phase, function: name, launch, expect: first.buffers };
}

/** The first line of a block. */
function lineOf(program: Program, name: string, block: number): number {
  const b = program.functions.find((f) => f.name === name)?.blocks.find((x) => x.id === block);
  const loc = b?.ins.find((x) => x.loc !== 0)?.loc ?? 0;
  return program.locs[loc]?.line ?? 0;
}

/** Warp instructions of a launch that is to refute: one thread runs to its first loop, and that loop. */
const MOST_EXECUTED = 100_000;

/** What it means that some regions are not proved, for readers who would take that for a fault. */
const LIMITS =
  '  what is not proved is no fault by that: a proof cannot follow loops that are unrolled, pipelined or test elsewhere;\n' +
  '  it was compared by runs:';

/** Regions that are named one by one. */
const NAMED = 8;

/**
 * The proof in words.
 * @param file where the launch of a refutation has been written
 */
export function proofText(
  { phases, regions, proved, left, refuted: wrong }: Proof,
  file: string | null = null,
): string {
  const all = proved === regions;
  const head = wrong !== null ? pc.red('REFUTED') : all ? pc.green('proved') : pc.yellow('proved in part');
  const what = `${grouped(proved)} of ${grouped(regions)} regions that ${phases} ${phases === 1 ? 'phase' : 'phases'} changed`;
  const told =
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
  return [`${head}: ${what} do the same for all inputs`, ...told, ...lines, ...more, ...limits].join('\n');
}

/** Parameters that are named in a line. */
const NAMED_PARAMS = 8;

/** The arguments of a launch in a line. */
const inputsText = ({ params }: Launch): string =>
  params
    .slice(0, NAMED_PARAMS)
    .map((p) => (p.kind === 'scalar' ? `${p.type} ${p.value}` : p.kind === 'buffer' ? 'a buffer' : 'bytes'))
    .join(', ');
