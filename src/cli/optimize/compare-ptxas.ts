import type { PtxasUse } from '../../lab/measure.ts';
import { table } from '../terminal/table.ts';
import { failWith, pc } from '../terminal/ui.ts';
import { unrolledLoops } from './ptxas-loops.ts';
import { assemble, ptxasCommand, ptxasLevel, ptxasPresent } from './ptxas-run.ts';

/** Results of ptxas for a function before and after. */
export interface UsePair {
  readonly name: string;
  readonly before: PtxasUse;
  readonly after: PtxasUse;
  /** Labels of the loops that ptxas unrolls. */
  readonly unrolled: { readonly before: readonly string[]; readonly after: readonly string[] };
}

/** Ends the command if ptxas cannot be run. */
export function ptxasNeeded(): void {
  if (!ptxasPresent())
    failWith(
      `'${ptxasCommand()}' cannot be run`,
      'put the ptxas of a CUDA toolkit on PATH, or name it in ORRERY_PTXAS',
    );
}

/**
 * Assembles both texts and pairs the resource use of each function. Ends the command if ptxas is absent or rejects one of them.
 *
 * @param arch as ptxas takes it, `sm_90a`
 */
export function comparePtxas(before: string, after: string, arch: string, level: number): UsePair[] {
  ptxasNeeded();
  const options = [`-arch=${arch}`, `-O${ptxasLevel({ level })}`];
  const [a, b] = [before, after].map((text) => assemble(text, options));
  for (const [r, what] of [
    [a, 'the input'],
    [b, 'the output'],
  ] as const) {
    if (!r.ok) failWith(`ptxas refuses ${what}`, ...r.messages.trimEnd().split('\n'));
  }
  const afters = new Map(b.functions.map((f) => [f.name, f]));
  const loops = [unrolledLoops(before, a.functions, options), unrolledLoops(after, b.functions, options)];
  return a.functions.flatMap((f) => {
    const other = afters.get(f.name);
    if (other === undefined) return [];
    const [was, is] = loops.map((l) => l.get(f.name) ?? []);
    return [{ name: f.name, before: f, after: other, unrolled: { before: was, after: is } }];
  });
}

/** Column headings and values; null: ptxas does not report the value for a function that others call. */
const COLUMNS: readonly (readonly [string, (u: PtxasUse) => number | null])[] = [
  ['registers', (u) => u.registers || null],
  ['spill stores [B]', (u) => u.spillStores],
  ['spill loads [B]', (u) => u.spillLoads],
  ['stack [B]', (u) => u.stack],
  ['code [B]', (u) => u.code || null],
];

/** A table of `before -> after` for every function, and the names of loops that ptxas unrolls in only one of the two. */
export function usesTable(pairs: readonly UsePair[]): string {
  const cell = (a: number | null, b: number | null): string => {
    if (a === null || b === null) return '-';
    return `${a} -> ${b > a ? pc.red(String(b)) : b < a ? pc.green(String(b)) : b}`;
  };
  const rows = pairs.map((p) => [
    p.name,
    ...COLUMNS.map(([, of]) => cell(of(p.before), of(p.after))),
    `${p.unrolled.before.length} -> ${p.unrolled.after.length}`,
  ]);
  const list = (labels: readonly string[]): string => (labels.length === 0 ? 'none' : labels.join(', '));
  const loops = pairs
    .filter(({ unrolled }) => unrolled.before.length !== unrolled.after.length)
    .map(
      ({ name, unrolled: u }) => `${name}: loops that ptxas unrolls: ${list(u.before)} -> ${list(u.after)}`,
    );
  const head = ['by ptxas', ...COLUMNS.map(([name]) => name), 'unrolled loops'];
  return [table([head, ...rows], 'lrrrrrr'), ...loops].join('\n');
}
