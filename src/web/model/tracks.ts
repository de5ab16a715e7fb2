import type { RunRow } from '../recording.ts';
import type { Change } from './align.ts';
import { type Alignments, historyOf } from './history.ts';
import { fnIn, snapshotsOf, type Tables } from './tables.ts';

/** A version of a function: that of the lowered program, or one that a phase made. */
export interface Version {
  readonly snapshot: number;
  /** Index of the phase that made it; -1: lowering. */
  readonly phase: number;
  readonly fn: number;
}

/** The versions of a function, each different from the one before; phases without the function are left out. */
export function versionsOf(t: Tables, run: RunRow, name: string): readonly Version[] {
  const out: Version[] = [];
  snapshotsOf(run).forEach((s, snapshot) => {
    const fn = fnIn(t, s, name);
    if (fn >= 0 && out.at(-1)?.fn !== fn) out.push({ snapshot, phase: snapshot - 1, fn });
  });
  return out;
}

/**
 * An instruction in every snapshot.
 *
 * @returns by snapshot, its number there; -1 where it is not
 */
export function placesOf(
  t: Tables,
  alignments: Alignments,
  run: RunRow,
  name: string,
  snapshot: number,
  ins: number,
): readonly number[] {
  const steps = historyOf(t, alignments, run, name, snapshot, ins);
  const first = steps[0].phase + 1;
  let now = steps[0].after;
  return snapshotsOf(run).map((_, i) => {
    const step = steps.find((s, k) => k > 0 && s.phase + 1 === i);
    if (step !== undefined) now = step.after;
    return i < first ? -1 : now;
  });
}

/** How the instructions of a version differ from the one before: by their numbers; those that are not listed are the same. */
export function changesIn(
  alignments: Alignments,
  before: number,
  after: number,
): ReadonlyMap<number, Change> {
  const out = new Map<number, Change>();
  for (const { pairs } of alignments.of(before, after))
    for (const p of pairs) if (p.b >= 0 && p.change !== 'same') out.set(p.b, p.change);
  return out;
}

/** A row of a frame of the film: an instruction or the head of a block, with a key that it keeps from frame to frame. */
export interface FilmRow {
  readonly key: number;
  /** Number of the instruction, or of the block if it is a head. */
  readonly of: number;
  readonly isHead: boolean;
}

/**
 * The frames of a film of versions: the rows of each. An instruction keeps its key while alignment pairs it with one before, also where it
 * moved to another block.
 */
export function framesOf(
  t: Tables,
  alignments: Alignments,
  versions: readonly Version[],
): readonly (readonly FilmRow[])[] {
  let next = 0;
  const heads = new Map<number, number>();
  const headKey = (id: number): number => {
    let key = heads.get(id);
    if (key === undefined) heads.set(id, (key = next++));
    return key;
  };
  let last: readonly FilmRow[] = [];
  return versions.map(({ fn }, i) => {
    const kept =
      i === 0 ? new Map<number, number[]>() : keysAfter(t, alignments, versions[i - 1].fn, fn, last);
    last = t.fns[fn].blocks.flatMap((b): FilmRow[] => [
      { key: headKey(t.blocks[b].id), of: b, isHead: true },
      ...t.blocks[b].ins.map((ins) => ({ key: kept.get(ins)?.shift() ?? next++, of: ins, isHead: false })),
    ]);
    return last;
  });
}

/** Keys that the instructions of a version have from the one before, by their numbers. */
function keysAfter(
  t: Tables,
  alignments: Alignments,
  before: number,
  after: number,
  rows: readonly FilmRow[],
): Map<number, number[]> {
  const had = new Map<number, number[]>();
  for (const r of rows) if (!r.isHead) had.set(r.of, [...(had.get(r.of) ?? []), r.key]);
  const pairs = alignments.of(before, after).flatMap((b) => b.pairs);
  const left = new Map<string, number[]>();
  for (const p of pairs) {
    if (p.change !== 'moved' || p.a < 0) continue;
    const text = t.ins[p.a][0];
    left.set(text, [...(left.get(text) ?? []), p.a]);
  }
  const out = new Map<number, number[]>();
  for (const p of pairs) {
    if (p.b < 0) continue;
    const from = p.a >= 0 ? p.a : p.change === 'moved' ? left.get(t.ins[p.b][0])?.shift() : undefined;
    const key = from === undefined ? undefined : had.get(from)?.shift();
    if (key !== undefined) out.set(p.b, [...(out.get(p.b) ?? []), key]);
  }
  return out;
}
