import type { Fn } from '../../ir/program.ts';
import { dotString } from '../../ir/quote.ts';
import { cfgOf } from '../flow/cfg.ts';
import { cfgDotBody } from './cfg-text.ts';

/** Control flow of one function before and after, by block ids: a block that is kept keeps its id. */
export interface CfgChanges {
  readonly before: Fn;
  readonly after: Fn;
  /** Is the block, or the edge, in only one of the two? */
  readonly block: (id: number) => boolean;
  readonly edge: (from: number, to: number) => boolean;
}

/** The successors of each block, by id, without repetitions. */
function successorsById(fn: Fn): Map<number, Set<number>> {
  const { succ, succStart } = cfgOf(fn);
  return new Map(
    fn.blocks.map((b, k) => [
      b.id,
      new Set(Array.from(succ.subarray(succStart[k], succStart[k + 1]), (s) => fn.blocks[s].id)),
    ]),
  );
}

/** The differences between the control flow of two versions of a function. */
export function cfgChanges(before: Fn, after: Fn): CfgChanges {
  const [x, y] = [successorsById(before), successorsById(after)];
  return {
    before,
    after,
    block: (id) => x.has(id) !== y.has(id),
    edge: (from, to) => (x.get(from)?.has(to) ?? false) !== (y.get(from)?.has(to) ?? false),
  };
}

const edgeCount = (ways: ReadonlyMap<number, ReadonlySet<number>>): number =>
  [...ways.values()].reduce((n, w) => n + w.size, 0);

/**
 * Both flow graphs side by side, one line per block with its successors: `-` marks a removed edge, `+` an added one.
 *
 * @param heads titles of the two columns
 */
export function renderCfgChanges({ before, after }: CfgChanges, heads: readonly [string, string]): string {
  const [x, y] = [successorsById(before), successorsById(after)];
  const size = (ways: Map<number, Set<number>>): string => `${ways.size} blocks, ${edgeCount(ways)} edges`;
  const cell = (id: number, own: typeof x, other: typeof x, sign: string, absent: string): string => {
    const ways = own.get(id);
    if (ways === undefined) return absent;
    const names = [...ways].map((to) => `${other.get(id)?.has(to) === true ? '' : sign}BB${to}`);
    return names.length === 0 ? 'ends' : `-> ${names.join(' ')}`;
  };
  // Blocks in the layout after the change; each removed block follows the one that it used to follow.
  const ids = after.blocks.map((b) => b.id);
  for (const [k, b] of before.blocks.entries())
    if (!y.has(b.id)) ids.splice(k === 0 ? 0 : ids.indexOf(before.blocks[k - 1].id) + 1, 0, b.id);
  const rows = ids.map((id) => [`BB${id}`, cell(id, x, y, '-', 'new'), cell(id, y, x, '+', 'gone')]);
  const widths = [0, 1].map((c) => Math.max(...rows.map((r) => r[c].length), c === 0 ? 0 : heads[0].length));
  const line = (r: readonly string[]): string =>
    `  ${r[0].padEnd(widths[0])}  ${r[1].padEnd(widths[1])}  ${r[2]}`.trimEnd();
  return [
    `Control flow of ${before.name}: ${size(x)}; then ${size(y)}`,
    '',
    line(['', ...heads]),
    ...rows.map(line),
  ].join('\n');
}

/** Both flow graphs as one Graphviz graph; what only one of them has is red. */
export function renderCfgChangesDot(c: CfgChanges, heads: readonly [string, string]): string {
  const cluster = (fn: Fn, k: number): string =>
    [
      `  subgraph cluster_${k} {`,
      `    label=${dotString(heads[k])};`,
      cfgDotBody(fn, `${'ab'[k]}_`, c).replaceAll(/^/gm, '  '),
      '  }',
    ].join('\n');
  return [
    `digraph ${dotString(c.before.name)} {`,
    '  node [shape=box, fontname="monospace"];',
    cluster(c.before, 0),
    cluster(c.after, 1),
    '}',
  ].join('\n');
}
