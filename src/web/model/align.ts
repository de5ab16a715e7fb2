import { diffArrays } from 'diff';
import { MOST_EDITS, movedBetween } from './moved.ts';
import type { Tables } from './tables.ts';

/** How an instruction changed between two versions of a function. */
export type Change = 'same' | 'changed' | 'added' | 'removed' | 'moved';

/** An instruction on one or both sides, by its number; -1 if a side has none. */
export interface InsPair {
  readonly change: Change;
  readonly a: number;
  readonly b: number;
}

/** A block on one or both sides; -1 if a side has none. Numbers refer to the table of blocks. */
export interface BlockPair {
  readonly id: number;
  readonly a: number;
  readonly b: number;
  /** Whether its position in the layout changed. */
  readonly moved: boolean;
  readonly pairs: readonly InsPair[];
}

/**
 * Aligns two versions of a function by instruction, not by line: instructions pair if they are equal, else if they define the same
 * registers, else if they come from the same source line with the same opcode. Blocks pair by their ids, which are stable.
 *
 * @param a number of the earlier version, -1 for none
 * @param b number of the later version, -1 for none
 */
export function align(t: Tables, a: number, b: number): readonly BlockPair[] {
  const [before, after] = [a, b].map((f) => (f < 0 ? [] : t.fns[f].blocks));
  const other = new Map(before.map((n) => [t.blocks[n].id, n]));
  const ids = new Set(after.map((n) => t.blocks[n].id));
  const moved = movedBetween(
    before.map((n) => t.blocks[n].id),
    after.map((n) => t.blocks[n].id),
  );
  const out: BlockPair[] = [];
  const put = (x: number, y: number): void => {
    const id = t.blocks[x < 0 ? y : x].id;
    const pairs = alignLists(t, x < 0 ? [] : t.blocks[x].ins, y < 0 ? [] : t.blocks[y].ins);
    out.push({ id, a: x, b: y, moved: moved.has(id), pairs });
  };
  // Blocks in their later layout; a removed block keeps its old neighbourhood.
  let at = 0;
  const goneBefore = (end: number): void => {
    for (; at < end; at++) if (!ids.has(t.blocks[before[at]].id)) put(before[at], -1);
  };
  for (const n of after) {
    const { id } = t.blocks[n];
    const x = other.get(id) ?? -1;
    if (x >= 0 && !moved.has(id)) goneBefore(before.indexOf(x));
    put(x, n);
  }
  goneBefore(before.length);
  return withMoves(t, out);
}

type Key = (ins: number) => string;

function alignLists(t: Tables, a: readonly number[], b: readonly number[]): InsPair[] {
  const keys: Key[] = [
    (i) => t.ins[i][0],
    (i) => (t.ins[i][2] === '' ? `#${i}` : t.ins[i][2]),
    (i) => (t.ins[i][1] === 0 ? `#${i}` : `${t.ins[i][1]} ${t.mnemonic(i)}`),
  ];
  const out: InsPair[] = [];
  pairUp(t, a, b, keys, 0, out);
  return out;
}

/** Pairs instructions by the first of the keys, and those left between the pairs by the next key. */
function pairUp(
  t: Tables,
  a: readonly number[],
  b: readonly number[],
  keys: readonly Key[],
  k: number,
  out: InsPair[],
): void {
  if (a.length === 0 || b.length === 0 || k === keys.length) {
    for (const x of a) out.push({ change: 'removed', a: x, b: -1 });
    for (const y of b) out.push({ change: 'added', a: -1, b: y });
    return;
  }
  let from = 0;
  const most = Math.min(a.length, b.length);
  const same = (x: number, y: number): boolean => x === y || keys[k](x) === keys[k](y);
  // Long lists are not compared by text, so instructions that pair by their registers may be equal.
  const pair = (x: number, y: number): void =>
    void out.push({ change: t.ins[x][0] === t.ins[y][0] ? 'same' : 'changed', a: x, b: y });
  while (from < most && same(a[from], b[from])) pair(a[from], b[from++]);
  let tail = 0;
  while (tail < most - from && same(a[a.length - 1 - tail], b[b.length - 1 - tail])) tail++;
  const [x, y] = [a.slice(from, a.length - tail), b.slice(from, b.length - tail)];
  const parts =
    x.length === 0 || y.length === 0
      ? undefined
      : diffArrays(x.map(keys[k]), y.map(keys[k]), { maxEditLength: MOST_EDITS });
  if (parts === undefined) pairUp(t, x, y, keys, k + 1, out);
  else {
    let [i, j] = [0, 0];
    for (let p = 0; p < parts.length; ) {
      const [i0, j0] = [i, j];
      for (; p < parts.length && (parts[p].added === true || parts[p].removed === true); p++)
        if (parts[p].added === true) j += parts[p].count;
        else i += parts[p].count;
      pairUp(t, x.slice(i0, i), y.slice(j0, j), keys, k + 1, out);
      if (p < parts.length) for (let n = parts[p++].count; n > 0; n--) pair(x[i++], y[j++]);
    }
  }
  for (let n = tail; n > 0; n--) pair(a[a.length - n], b[b.length - n]);
}

/** Marks instructions that moved from one block to another, on both sides. */
function withMoves(t: Tables, blocks: readonly BlockPair[]): readonly BlockPair[] {
  const gone = new Map<string, number>();
  for (const b of blocks)
    for (const p of b.pairs)
      if (p.change === 'removed') gone.set(t.ins[p.a][0], (gone.get(t.ins[p.a][0]) ?? 0) + 1);
  const come = new Map<string, number>();
  for (const b of blocks)
    for (const p of b.pairs)
      if (p.change === 'added' && (gone.get(t.ins[p.b][0]) ?? 0) > (come.get(t.ins[p.b][0]) ?? 0))
        come.set(t.ins[p.b][0], (come.get(t.ins[p.b][0]) ?? 0) + 1);
  if (come.size === 0) return blocks;
  const left = { removed: new Map(come), added: new Map(come) };
  const taken = (side: 'removed' | 'added', text: string): boolean => {
    const n = left[side].get(text) ?? 0;
    if (n > 0) left[side].set(text, n - 1);
    return n > 0;
  };
  return blocks.map((b) => ({
    ...b,
    pairs: b.pairs.map((p) =>
      (p.change === 'removed' && taken('removed', t.ins[p.a][0])) ||
      (p.change === 'added' && taken('added', t.ins[p.b][0]))
        ? { ...p, change: 'moved' as const }
        : p,
    ),
  }));
}

/** Number of instructions by kind of change. */
export function countChanges(blocks: readonly BlockPair[]): Readonly<Record<Change, number>> {
  const n = { same: 0, changed: 0, added: 0, removed: 0, moved: 0 };
  for (const b of blocks) for (const p of b.pairs) n[p.change]++;
  // Both ends of a move are marked.
  return { ...n, moved: n.moved / 2 };
}
