import { endsFlow, isControl } from '../../ir/flow.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Block, Fn, Instr, Shape } from '../../ir/program.ts';

/**
 * Control-flow graph of a function. Blocks are identified by position in layout order, so every result is an array.
 * Edges are stored in compressed rows: the successors of block b are `succ[succStart[b]] .. succ[succStart[b + 1] -
 * 1]`.
 *
 * Successors are ordered taken, then fall-through; each occurs once, however many table entries lead to it.
 *
 * The graph is cached by `Fn.shape`, so versions of a function that differ only in other instructions share one
 * object. Its analyses (dominators, loops) are cached by that object.
 */
export interface Cfg {
  /** Number of blocks. */
  readonly count: number;
  /** Block id -> position, -1 for ids without a block. */
  readonly positionOf: Int32Array;
  readonly succStart: Int32Array;
  readonly succ: Int32Array;
  readonly predStart: Int32Array;
  readonly pred: Int32Array;
  /** Positions of the blocks that the entry reaches, in reverse post-order. */
  readonly rpo: Int32Array;
  /** Position -> place in `rpo`; -1 for unreachable blocks. */
  readonly rpoNumber: Int32Array;
  /** Positions of blocks in which a thread may end, or a function return, under a guard. */
  readonly mayEnd: readonly number[];
  /** Some block has a control operation before its last instruction (legal until phase 6). */
  readonly midBlockControl: boolean;
}

export { endsFlow, isControl };

/** The last instruction if it is a control operation, else null. */
export function terminator(b: Block): Instr | null {
  const last = b.ins.length > 0 ? b.ins[b.ins.length - 1] : null;
  return last !== null && isControl(last) ? last : null;
}

/** Does every control operation of the function end its block? */
export const controlIsLast = (fn: Fn): boolean =>
  fn.blocks.every((b) => b.ins.every((x, i) => i === b.ins.length - 1 || !isControl(x)));

/** Does control run from the end of the block into the next one? */
export function fallsThrough(b: Block): boolean {
  for (let i = b.ins.length - 1; i >= 0; i--) if (endsFlow(b.ins[i])) return false;
  return true;
}

/** Block ids that a control instruction may jump to, in operand and table order, with repetitions. */
export function targets(fn: Fn, ins: Instr, visit: (id: number) => void): void {
  for (let i = 0; i < ins.src.length; i++) {
    const o = ins.src[i];
    if (o.kind === Kind.Label) visit(o.lo);
    else if (o.kind === Kind.Table) for (const id of fn.tables[o.lo] ?? []) visit(id);
  }
}

/** The control-flow graph of a snapshot. A label without a block gives no edge (the verifier reports it). */
export const cfgOf = (fn: Fn): Cfg => {
  let g = cache.get(fn.shape);
  if (g === undefined) cache.set(fn.shape, (g = build(fn)));
  return g;
};
const cache = new WeakMap<Shape, Cfg>();

/** Does the cached graph match the function? Shows an edit that wrongly kept the shape. */
export function cfgIsCurrent(fn: Fn): boolean {
  const a = cfgOf(fn);
  const b = build(fn);
  const same = (x: Int32Array, y: Int32Array): boolean =>
    x.length === y.length && x.every((v, i) => v === y[i]);
  return (
    a.count === b.count &&
    same(a.succStart, b.succStart) &&
    same(a.succ, b.succ) &&
    same(a.positionOf, b.positionOf)
  );
}

/** Primitives that end a thread, or return. */
const ENDINGS: ReadonlySet<string | null> = new Set(['exit', 'return']);

/** Does it end a thread, or return, under a guard? */
export const endsUnderGuard = (ins: Instr): boolean => ENDINGS.has(ins.op.primitive) && ins.guard !== NO_REG;

function build(fn: Fn): Cfg {
  const { blocks } = fn;
  const count = blocks.length;
  const positionOf = new Int32Array(fn.blockCount).fill(-1);
  for (let b = 0; b < count; b++) positionOf[blocks[b].id] = b;

  const succStart = new Int32Array(count + 1);
  const edges: number[] = [];
  const seenBy = new Int32Array(count).fill(-1);
  let midBlockControl = false;
  const mayEnd: number[] = [];
  for (let b = 0; b < count; b++) {
    const add = (p: number): void => {
      if (p < 0 || p >= count || seenBy[p] === b) return;
      seenBy[p] = b;
      edges.push(p);
    };
    const { ins } = blocks[b];
    let open = true;
    for (let i = 0; i < ins.length && open; i++) {
      if (!isControl(ins[i])) continue;
      if (i + 1 < ins.length) midBlockControl = true;
      targets(fn, ins[i], (id) => add(id < positionOf.length ? positionOf[id] : -1));
      open = !endsFlow(ins[i]);
      if (endsUnderGuard(ins[i]) && mayEnd.at(-1) !== b) mayEnd.push(b);
    }
    if (open) add(b + 1);
    succStart[b + 1] = edges.length;
  }
  const succ = Int32Array.from(edges);
  return completeCfg(count, positionOf, succStart, succ, midBlockControl, 0, mayEnd);
}

/** Completes a graph from its successors: adds predecessors and orders. */
export function completeCfg(
  count: number,
  positionOf: Int32Array,
  succStart: Int32Array,
  succ: Int32Array,
  midBlockControl: boolean,
  entry = 0,
  mayEnd: readonly number[] = [],
): Cfg {
  const { start: predStart, items: pred } = invert(count, succStart, succ);
  const rpo = reversePostOrder(count, succStart, succ, entry);
  const rpoNumber = new Int32Array(count).fill(-1);
  for (let i = 0; i < rpo.length; i++) rpoNumber[rpo[i]] = i;
  return { count, positionOf, succStart, succ, predStart, pred, rpo, rpoNumber, mayEnd, midBlockControl };
}

/** Transposes a graph in compressed rows; the rows of the result are ascending. */
export function invert(
  count: number,
  start: Int32Array,
  items: Int32Array,
): { start: Int32Array; items: Int32Array } {
  const outStart = new Int32Array(count + 1);
  for (let i = 0; i < items.length; i++) outStart[items[i] + 1]++;
  for (let i = 0; i < count; i++) outStart[i + 1] += outStart[i];
  const fill = outStart.slice(0, count);
  const out = new Int32Array(items.length);
  for (let v = 0; v < count; v++) for (let e = start[v]; e < start[v + 1]; e++) out[fill[items[e]]++] = v;
  return { start: outStart, items: out };
}

/**
 * Reverse post-order of the nodes reachable from `from`, by depth-first search with an explicit stack. Successors are
 * searched in row order (taken first), so the fall-through block directly follows its predecessor if possible.
 * @param parent if given, filled with the node from which each node was found; the entry of `from` is left alone
 */
export function reversePostOrder(
  count: number,
  start: Int32Array,
  items: Int32Array,
  from = 0,
  parent: Int32Array | null = null,
): Int32Array {
  if (count === 0) return new Int32Array(0);
  const order = new Int32Array(count);
  const stack = new Int32Array(count);
  const edge = new Int32Array(count);
  const seen = new Uint8Array(count);
  let free = count;
  let top = 0;
  stack[0] = from;
  edge[from] = start[from];
  seen[from] = 1;
  while (top >= 0) {
    const v = stack[top];
    if (edge[v] === start[v + 1]) {
      order[--free] = v;
      top--;
      continue;
    }
    const t = items[edge[v]++];
    if (seen[t] === 1) continue;
    seen[t] = 1;
    if (parent !== null) parent[t] = v;
    edge[t] = start[t];
    stack[++top] = t;
  }
  return order.slice(free);
}

/** Does control leave the function after this operation? */
export function leavesFunction(fn: Fn, last: Instr): boolean {
  if ((last.op.flags & OpFlag.NoFallThrough) === 0) return false;
  let any = false;
  targets(fn, last, () => {
    any = true;
  });
  return !any;
}
