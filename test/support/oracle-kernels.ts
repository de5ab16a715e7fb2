import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { planFor, readModule, written } from './oracle.ts';
import { difference, type LaunchFile, readLaunch } from './ptx-text/launch.ts';
import { type Outcome, run } from './ptx-text/run/run.ts';
import { agreed, buffersOf, differs, failed } from './ptx-text/specified.ts';

const root = fileURLToPath(new URL('../kernels/', import.meta.url));

/** A launch of a bundled kernel for one target. */
export interface KernelLaunch {
  readonly name: string;
  readonly sm: string;
  /** Paths of the PTX file and the launch file. */
  readonly file: string;
  readonly launch: string;
}

/** Every launch of every bundled kernel, for each target with PTX. */
export const kernelLaunches: readonly KernelLaunch[] = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory())
  .flatMap((d) =>
    readdirSync(`${root}${d.name}`)
      .filter((f) => /^launch.*\.yaml$/.test(f))
      .flatMap((f) =>
        ['sm_75', 'sm_80', 'sm_90'].map((sm) => ({
          name: `${d.name} ${f} ${sm}`,
          sm,
          file: `${root}${d.name}/${d.name}.${sm}.ptx`,
          launch: `${root}${d.name}/${f}`,
        })),
      ),
  )
  .filter((l) => existsSync(l.file));

/** Outcome of a launch: what is wrong, or that its budget was not enough. */
export type Verdict = { readonly wrong: string | null } | 'too long';

const unexpected = (file: LaunchFile, r: Outcome & { status: 'ended' }): string | null => {
  for (const e of file.expected) {
    const d = difference(e, r.buffers[e.argument]!);
    if (d !== null)
      return `argument ${e.argument}, element ${d.index}: ${d.expected} expected, ${d.got} found`;
  }
  return null;
};

/**
 * Runs a launch in the interpreter, on nvcc's PTX, whose results are expected, and on the output of `opt -O3`, which must give the same
 * bits or, with approximate instructions, the expected results.
 *
 * @param budget maximum number of instructions of all threads together
 */
export function judge(l: KernelLaunch, budget: number): Verdict {
  const file = readLaunch(l.launch);
  const text = readFileSync(l.file, 'utf8');
  const first = run(text, file.launch, { seed: 0, budget });
  if (first.status === 'fault' && first.why.includes('used up')) return 'too long';
  if (first.status !== 'ended') return { wrong: failed(first) };
  const wrong = unexpected(file, first);
  if (wrong !== null) return { wrong };
  const plan = planFor(l.sm, { level: 3, order: 'binary' });
  const output = written(readModule(text, l.sm, plan), plan);
  const after = run(output, file.launch, { seed: 1, budget: 2 * budget });
  if (after.status !== 'ended') return { wrong: `written by -O3: ${failed(after)}` };
  const late = unexpected(file, after);
  if (late !== null) return { wrong: `written by -O3: ${late}` };
  if (JSON.stringify(after.output) !== JSON.stringify(first.output))
    return { wrong: 'written by -O3: prints something else' };
  if (first.approximate) return { wrong: null };
  const other = run(text, file.launch, { seed: 2, budget });
  const right = agreed([buffersOf(first), buffersOf(other)]);
  const bits = failed(other) ?? differs(right, buffersOf(after));
  return { wrong: bits === null ? null : `written by -O3: ${bits}` };
}
