import type { HitRow, RunRow } from '../recording.ts';
import { align, type BlockPair } from './align.ts';
import { fnIn, snapshotsOf, type Tables } from './tables.ts';

/** One step of an instruction through the pipeline. */
export interface HistoryStep {
  /** Index of the phase in the run; -1: the lowering of PTX. */
  readonly phase: number;
  readonly what: 'introduced' | 'changed' | 'moved' | 'removed';
  /** Numbers of the instruction before and after; -1 for none. */
  readonly before: number;
  readonly after: number;
  /** The rule that did it; '' if it was not a rule, or if it cannot be determined. */
  readonly rule: string;
}

/** Cache of alignments, by the numbers of the functions. */
export class Alignments {
  private readonly tables: Tables;
  private readonly pairs = new Map<string, readonly BlockPair[]>();

  constructor(tables: Tables) {
    this.tables = tables;
  }

  of(a: number, b: number): readonly BlockPair[] {
    const key = `${a} ${b}`;
    let found = this.pairs.get(key);
    if (found === undefined) this.pairs.set(key, (found = align(this.tables, a, b)));
    return found;
  }

  /** Forgets all: the numbers of the tables stand for other functions from now on. */
  clear(): void {
    this.pairs.clear();
  }
}

/**
 * History of an instruction: every phase that introduced, changed, moved or removed it, in order.
 *
 * @param snapshot number of the snapshot that contains it
 * @param ins its number
 */
export function historyOf(
  t: Tables,
  alignments: Alignments,
  run: RunRow,
  fn: string,
  snapshot: number,
  ins: number,
): readonly HistoryStep[] {
  const snapshots = snapshotsOf(run);
  const versions = snapshots.map((s) => fnIn(t, s, fn));
  const past: HistoryStep[] = [];
  let now = ins;
  for (let i = snapshot; i > 0; i--) {
    const [a, b] = [versions[i - 1], versions[i]];
    if (a === b) continue;
    const pair = find(t, alignments.of(a, b), 'b', now);
    if (pair === undefined || pair.change === 'same') {
      now = pair?.a ?? now;
      continue;
    }
    const hit = ruleFor(t, run.phases[i - 1].hits, fn, now);
    const from = pair.a >= 0 ? pair.a : hit === null ? -1 : there(t, alignments.of(a, b), hit.before);
    const what = pair.change === 'moved' ? 'moved' : from < 0 ? 'introduced' : 'changed';
    past.push({ phase: i - 1, what, before: from, after: now, rule: hit?.rule ?? '' });
    if (from < 0) break;
    now = from;
  }
  if (past.at(-1)?.what !== 'introduced')
    past.push({ phase: -1, what: 'introduced', before: -1, after: now, rule: '' });
  return [...past.reverse(), ...future(t, alignments, run, versions, snapshot, ins)];
}

function future(
  t: Tables,
  alignments: Alignments,
  run: RunRow,
  versions: readonly number[],
  snapshot: number,
  ins: number,
): HistoryStep[] {
  const out: HistoryStep[] = [];
  let now = ins;
  for (let i = snapshot + 1; i < versions.length; i++) {
    const [a, b] = [versions[i - 1], versions[i]];
    if (a === b) continue;
    const pair = find(t, alignments.of(a, b), 'a', now);
    if (pair === undefined) break;
    if (pair.change !== 'same') {
      const what = pair.change === 'moved' ? 'moved' : pair.b < 0 ? 'removed' : 'changed';
      const rule = ruleFor(t, run.phases[i - 1].hits, t.fns[a].name, pair.b)?.rule ?? '';
      out.push({ phase: i - 1, what, before: now, after: pair.b, rule });
    }
    if (pair.b < 0) break;
    now = pair.b;
  }
  return out;
}

interface Found {
  readonly change: BlockPair['pairs'][number]['change'];
  readonly a: number;
  readonly b: number;
}

/** The pair of an instruction on one side; for one that moved, both ends. */
function find(t: Tables, blocks: readonly BlockPair[], side: 'a' | 'b', ins: number): Found | undefined {
  for (const block of blocks)
    for (const p of block.pairs) {
      if (p[side] !== ins) continue;
      if (p.change !== 'moved') return p;
      const text = t.ins[ins][0];
      const far = side === 'a' ? 'b' : 'a';
      const end = blocks
        .flatMap((x) => x.pairs)
        .find((q) => q.change === 'moved' && q[far] >= 0 && t.ins[q[far]][0] === text);
      return {
        change: 'moved',
        a: side === 'a' ? ins : (end?.a ?? -1),
        b: side === 'b' ? ins : (end?.b ?? -1),
      };
    }
  return undefined;
}

/** The rule application that made an instruction, the last one if there are several. */
function ruleFor(t: Tables, hits: readonly HitRow[], fn: string, ins: number): HitRow | null {
  if (ins < 0) return null;
  const text = t.ins[ins][0];
  const made = (h: HitRow): boolean => h.fn === fn && h.after.some((i) => i === ins || t.ins[i][0] === text);
  return hits.findLast(made) ?? null;
}

/** The instruction that a rule was applied to, if the earlier version has it. */
function there(t: Tables, blocks: readonly BlockPair[], ins: number): number {
  const text = t.ins[ins]?.[0];
  for (const b of blocks)
    for (const p of b.pairs) if (p.a === ins || (p.a >= 0 && t.ins[p.a][0] === text)) return p.a;
  return -1;
}

/** The first instruction of a function that defines a register; -1 for none. */
function definitionOf(t: Tables, fn: number, register: string): number {
  for (const b of fn < 0 ? [] : t.fns[fn].blocks)
    for (const i of t.blocks[b].ins) if (t.ins[i][2].split(' ').includes(register)) return i;
  return -1;
}

/**
 * Names of a value in each snapshot: phases that bring a function into SSA or out of it rename registers. The value is tracked by its
 * defining instruction; '' where there is none.
 *
 * @param register its name in one snapshot
 */
export function namesOf(
  t: Tables,
  alignments: Alignments,
  run: RunRow,
  fn: string,
  snapshot: number,
  register: string,
): readonly string[] {
  const snapshots = snapshotsOf(run);
  const ins = definitionOf(t, fnIn(t, snapshots[snapshot], fn), register);
  // Parameters of device functions have no definition, and keep their names.
  if (ins < 0) return snapshots.map(() => register);
  const place = t.ins[ins][2].split(' ').indexOf(register);
  const steps = historyOf(t, alignments, run, fn, snapshot, ins);
  const first = steps[0].phase + 1;
  let now = steps[0].after;
  return snapshots.map((_, i) => {
    const step = steps.find((s, k) => k > 0 && s.phase + 1 === i);
    if (step !== undefined) now = step.after;
    return i < first || now < 0 ? '' : (t.ins[now][2].split(' ')[place] ?? '');
  });
}

/** Occurrence of a value in a snapshot: its name there, and the numbers of its definitions and uses. */
export interface Occurrence {
  readonly snapshot: number;
  readonly name: string;
  readonly defined: number;
  readonly used: number;
}

/**
 * The snapshots in which the occurrences of a value differ from the previous one: the first, and each that a phase changed.
 *
 * @param names of the value in each snapshot
 */
export function occurrencesOf(
  t: Tables,
  run: RunRow,
  fn: string,
  names: readonly string[],
): readonly Occurrence[] {
  const out: Occurrence[] = [];
  let last = -2;
  snapshotsOf(run).forEach((s, snapshot) => {
    const f = fnIn(t, s, fn);
    if (f === last) return;
    last = f;
    const name = names[snapshot];
    const word = new RegExp(`\\b${name}\\b`);
    let [defined, used] = [0, 0];
    for (const b of f < 0 || name === '' ? [] : t.fns[f].blocks)
      for (const i of t.blocks[b].ins) {
        const [text, , defines] = t.ins[i];
        if (!word.test(text)) continue;
        if (defines.split(' ').includes(name)) defined++;
        else used++;
      }
    const before = out.at(-1);
    if (before?.name !== name || before.defined !== defined || before.used !== used)
      out.push({ snapshot, name, defined, used });
  });
  return out;
}
