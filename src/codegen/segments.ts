import { Unsupported } from '../ir/unsupported.ts';
import type { MachineFunction, MachineOp } from './machine-op.ts';

/*
 * Where the words of virtual registers are live. The k-th instruction of a function reads at time 2k and writes at 2k + 1.
 */

/** Times at which a word is live: from `from[i]` up to, but not including, `to[i]`, in ascending order. */
export interface Segments {
  readonly from: number[];
  readonly to: number[];
}

/** What `liveSegments` gives, by virtual register. */
export interface LiveSegments {
  /** For each word. */
  readonly segments: readonly (readonly Segments[])[];
  /** Time of the first definition or use; -1 if there is none. */
  readonly starts: readonly number[];
}

/** Calls `see` for each word that an instruction writes or reads. */
export function wordsOf(
  op: MachineOp,
  first: readonly number[],
  see: (unit: number, isResult: boolean) => void,
): void {
  for (const o of op.occurrences) for (let k = 0; k < o.words; k++) see(first[o.v] + o.word + k, o.isResult);
  if (op.guard >= 0) see(first[op.guard], false);
}

/** Liveness by blocks. A unit is a word of a virtual register. */
export interface BlockLiveness {
  /** First unit of each virtual register, and the virtual register of each unit. */
  readonly first: readonly number[];
  readonly owner: Int32Array;
  /** Units that are live at the end of each block, as bit sets. */
  readonly out: readonly Uint32Array[];
  /** True if a result in a unit ends its old value: a guarded one leaves it where the guard is false. */
  kills(op: MachineOp, unit: number): boolean;
}

/** Maximum number of words of the bit sets of all blocks: a kernel has four such sets, of 128 MB each. */
const MOST_WORDS = 2 ** 25;

/**
 * Computes which words are live between blocks, by the usual backward equations.
 * @throws Unsupported for more blocks and registers than there is memory for
 */
export function blockLiveness(fn: MachineFunction): BlockLiveness {
  const first: number[] = [];
  let units = 0;
  for (const r of fn.registers) {
    first.push(units);
    units += r.words;
  }
  const owner = new Int32Array(units);
  fn.registers.forEach((r, v) => owner.fill(v, first[v], first[v] + r.words));
  const size = (units + 31) >>> 5;
  if (size * fn.blocks.length > MOST_WORDS)
    throw new Unsupported(
      `it has ${fn.blocks.length} blocks with ${units} words of registers, which is more than is compiled here`,
    );
  const at = new Map(fn.blocks.map((b, k) => [b.id, k]));
  const kills = (op: MachineOp, unit: number): boolean =>
    op.guard < 0 || fn.registers[owner[unit]].isTemporary;
  const [uses, defs] = [fn.blocks, fn.blocks].map((list) => list.map(() => new Uint32Array(size)));
  fn.blocks.forEach((b, k) => {
    for (let i = b.ops.length - 1; i >= 0; i--) {
      const op = b.ops[i];
      wordsOf(op, first, (u, isResult) => {
        if (!isResult || !kills(op, u)) return;
        defs[k][u >>> 5] |= 1 << (u & 31);
        uses[k][u >>> 5] &= ~(1 << (u & 31));
      });
      wordsOf(op, first, (u, isResult) => {
        if (!isResult) uses[k][u >>> 5] |= 1 << (u & 31);
      });
    }
  });
  const live = fn.blocks.map(() => new Uint32Array(size));
  const outOf = (k: number, w: number): number => {
    let out = 0;
    for (const n of fn.blocks[k].next) {
      const s = at.get(n);
      if (s !== undefined) out |= live[s][w];
    }
    return out;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (let k = fn.blocks.length - 1; k >= 0; k--)
      for (let w = 0; w < size; w++) {
        const now = (uses[k][w] | (outOf(k, w) & ~defs[k][w])) >>> 0;
        if (now === live[k][w]) continue;
        live[k][w] = now;
        changed = true;
      }
  }
  const out = fn.blocks.map((_, k) => Uint32Array.from({ length: size }, (_w, w) => outOf(k, w)));
  return { first, owner, out, kills };
}

/** Computes where the words of virtual registers are live. */
export function liveSegments(fn: MachineFunction): LiveSegments {
  const { first, owner, out: liveOut, kills } = blockLiveness(fn);
  const units = owner.length;
  const all: Segments[] = Array.from({ length: units }, () => ({ from: [], to: [] }));
  const ends = new Int32Array(units).fill(-1);
  const add = (u: number, from: number, to: number): void => {
    // Blocks are visited from the last to the first, so segments come in descending order.
    const s = all[u];
    const k = s.from.length - 1;
    if (k >= 0 && s.from[k] <= to) s.from[k] = Math.min(s.from[k], from);
    else {
      s.from.push(from);
      s.to.push(to);
    }
  };
  let time = 2 * fn.blocks.reduce((n, b) => n + b.ops.length, 0);
  for (let k = fn.blocks.length - 1; k >= 0; k--) {
    const b = fn.blocks[k];
    liveOut[k].forEach((word, w) => {
      for (let out = word; out !== 0; out &= out - 1) ends[32 * w + (31 - Math.clz32(out & -out))] = time;
    });
    for (let i = b.ops.length - 1; i >= 0; i--) {
      time -= 2;
      const op = b.ops[i];
      wordsOf(op, first, (u, isResult) => {
        if (!isResult) return;
        // A result that nobody reads still occupies its register when it is written.
        if (ends[u] < 0) add(u, time + 1, time + 2);
        else if (kills(op, u)) {
          add(u, time + 1, ends[u]);
          ends[u] = -1;
        }
      });
      wordsOf(op, first, (u, isResult) => {
        if (!isResult && ends[u] < 0) ends[u] = time + 1;
      });
    }
    for (let u = 0; u < units; u++)
      if (ends[u] >= 0) {
        add(u, time, ends[u]);
        ends[u] = -1;
      }
  }
  for (const s of all) {
    s.from.reverse();
    s.to.reverse();
  }
  const segments = fn.registers.map((r, v) => all.slice(first[v], first[v] + r.words));
  const starts = segments.map((words) => {
    const list = words.flatMap((s) => (s.from.length === 0 ? [] : [s.from[0]]));
    return list.length === 0 ? -1 : Math.min(...list);
  });
  return { segments, starts };
}
