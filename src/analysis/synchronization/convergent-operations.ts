import { memo } from '../../ir/memo.ts';
import { Lanes, OpFlag } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { ACTS } from '../calls/effects.ts';
import { cfgOf, controlIsLast } from '../flow/cfg.ts';
import { postDominatorsOf } from '../flow/dominators.ts';
import { divergenceOf } from '../uniformity/divergence.ts';

/**
 * By instruction number: 1 for operations between lanes that all lanes of a warp execute or none, so that no lane waits elsewhere for
 * one that is here. If their results are not read, these may be removed. Null if there are none, as in device functions, which may be
 * called from anywhere.
 */
export function metByAll(fn: Fn): Uint8Array | null {
  if (!fn.blocks.some((b) => b.ins.some(isMeeting))) return null;
  const whole = enteredByWholeWarps(fn);
  if (whole === null) return null;
  const out = new Uint8Array(fn.blocks.reduce((n, b) => n + b.ins.length, 0));
  let n = 0;
  for (let b = 0; b < fn.blocks.length; b++)
    for (const x of fn.blocks[b].ins) out[n++] = whole[b] === 1 && isMeeting(x) ? 1 : 0;
  return out.includes(1) ? out : null;
}

/**
 * By position: 1 for blocks that all lanes of a warp that have not exited enter equally often, at the latest when they wait for each
 * other. Null if that is unknown, as in device functions, which may be called from anywhere.
 */
export function enteredByWholeWarps(fn: Fn): Uint8Array | null {
  if (fn.kind !== 'entry' || !controlIsLast(fn)) return null;
  return divergenceOf(fn).control.map((lanes) => (lanes < Lanes.Varying ? 1 : 0)) as Uint8Array;
}

/** Does it only exchange values between lanes? A guarded one is excluded, because its guard may split the lanes. */
const isMeeting = (x: Instr): boolean =>
  x.guard === NO_REG && (x.op.flags & OpFlag.Convergent) !== 0 && (x.op.flags & ACTS) === 0;

/** Maximum number of blocks visited for one query: regions between a branch and its post-dominator are small, or not worth the time. */
const MOST_BLOCKS = 64;

/**
 * Where it may matter which lanes of a warp execute together: blocks with operations between lanes, barriers of the
 * warp or the block, and calls, which may contain any of these.
 */
export class Meetings {
  private readonly fn: Fn;
  /** By position: 1 for blocks that contain such an operation. */
  private readonly convergent: Uint8Array;
  private readonly any: boolean;
  /** By position: 0 not computed, 1 clear, 2 not clear. */
  private readonly cache: Uint8Array;

  constructor(fn: Fn) {
    this.fn = fn;
    this.convergent = Uint8Array.from(fn.blocks, (b) =>
      b.ins.some((x) => (x.op.flags & OpFlag.Convergent) !== 0) ? 1 : 0,
    );
    this.any = this.convergent.includes(1);
    this.cache = new Uint8Array(fn.blocks.length);
  }

  /**
   * Does nothing between the end of the block at position `b` and its immediate post-dominator depend on which lanes execute together?
   * If so, lanes may diverge or meet there differently than before: past the post-dominator it makes no difference. False if the answer
   * would take visiting more than 64 blocks.
   */
  clearBehind(b: number): boolean {
    if (!this.any) return true;
    if (this.cache[b] === 0) this.cache[b] = this.search(b) ? 1 : 2;
    return this.cache[b] === 1;
  }

  private search(b: number): boolean {
    const { succStart, succ } = cfgOf(this.fn);
    const stop = postDominatorsOf(this.fn).idom[b];
    const visited = new Set<number>();
    const stack = [b];
    for (let at = stack.pop(); at !== undefined; at = stack.pop())
      for (let e = succStart[at]; e < succStart[at + 1]; e++) {
        const s = succ[e];
        if (s === stop || visited.has(s)) continue;
        if (this.convergent[s] === 1 || visited.size === MOST_BLOCKS) return false;
        visited.add(s);
        stack.push(s);
      }
    return true;
  }
}

/** The places in a snapshot where it matters which lanes execute together. */
export const meetingsOf: (fn: Fn) => Meetings = memo((fn) => new Meetings(fn));
