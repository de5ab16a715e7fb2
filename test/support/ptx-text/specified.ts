import { type Launch, type Outcome, type RunOptions, run } from './run/run.ts';

/** Comparison unit in bytes: one register's place in the output. */
const SLOT = 8;

/** The memory contents that a kernel leaves, and which parts of them the PTX ISA specifies. */
export interface Specified {
  readonly buffers: readonly (Uint8Array | null)[];
  /** For each buffer, whether each of its slots is specified. */
  readonly known: readonly (readonly boolean[])[];
}

const slotsOf = (b: Uint8Array): readonly string[] =>
  Array.from({ length: Math.ceil(b.length / SLOT) }, (_, k) =>
    Buffer.from(b.subarray(k * SLOT, (k + 1) * SLOT))
      .reverse()
      .toString('hex'),
  );

/** The part on which several runs agree; their seeds order lanes and choose unspecified bits differently. */
export function agreed(runs: readonly (readonly (Uint8Array | null)[])[]): Specified {
  const known = runs[0].map((b, k) => {
    if (b === null) return [];
    const all = runs.map((r) => slotsOf(r[k]!));
    return all[0].map((s, i) => all.every((a) => a[i] === s));
  });
  return { buffers: runs[0], known };
}

/** The first slot in which buffers differ from the specified contents; null if none does. */
export function differs(s: Specified, got: readonly (Uint8Array | null)[]): string | null {
  for (const [k, b] of s.buffers.entries()) {
    if (b === null) continue;
    const [expected, found] = [slotsOf(b), slotsOf(got[k] ?? new Uint8Array(b.length))];
    const at = expected.findIndex((x, i) => s.known[k][i] && found[i] !== x);
    if (at >= 0) return `argument ${k}, byte ${at * SLOT}: 0x${expected[at]} expected, 0x${found[at]} found`;
  }
  return null;
}

/** Seeds of the runs that determine what is specified: 1 and 2 choose every unspecified bit differently. */
export const SEEDS: readonly number[] = [1, 2];
/** More seeds, used once a difference is found: unspecified results may be equal in two runs by chance. */
export const MORE_SEEDS: readonly number[] = Array.from({ length: 16 }, (_, k) => k + 3);

/** Maximum number of instructions of a generated kernel. */
export const BUDGET = 2_000_000;

/** Why a run did not complete; null if it did. */
export const failed = (r: Outcome): string | null => (r.status === 'ended' ? null : `${r.status}: ${r.why}`);
export const buffersOf = (r: Outcome): readonly (Uint8Array | null)[] =>
  r.status === 'ended' ? r.buffers : [];

/** The specified contents that a kernel leaves, or why the interpreter cannot determine them. */
export function specified(
  text: string,
  launch: Launch,
  seeds: readonly number[] = SEEDS,
  options: RunOptions = {},
): Specified | string {
  const runs = seeds.map((seed) => run(text, launch, { budget: BUDGET, ...options, seed }));
  const why = runs.map(failed).find((w) => w !== null);
  return why ?? agreed(runs.map(buffersOf));
}
