import { LimitReached } from '../ir/limit.ts';
import { chosen, OpFlag } from '../ir/opcode.ts';
import { regWidth } from '../ir/operand.ts';
import { branchTable, diverge } from './branches.ts';
import { call } from './calls.ts';
import { completeGroups, execute, meetBarrier, meetMembers, resume } from './converge.ts';
import { count } from './counters.ts';
import type { Decoded } from './decode.ts';
import { SimFault } from './faults.ts';
import { lowest } from './masks.ts';
import { mix } from './memory.ts';
import { passTurn } from './paths.ts';
import { converge, leaveRegion, release } from './regions.ts';
import type { Simulation } from './simulation.ts';
import type { Frame, Warp } from './state.ts';
import { shareResults } from './uniform.ts';
import { Seen } from './watch.ts';

/**
 * Instructions that one path may run before another path of its warp gets a turn. Bounded, so that a spin lock inside a warp does not run
 * forever.
 */
const PATH_SLICE = 5000;

/** What `runWarp` needs of the machine beyond `Simulation`. */
export interface WarpHost extends Simulation {
  executed: number;
  /** Value of `executed` at which the run ends. */
  readonly most: number;
  /** Recycles a frame that no path is in. */
  releaseFrame(f: Frame): void;
  /** Must be called after lanes have ended: releases whatever waited for them. */
  afterExit(w: Warp): void;
}

/**
 * Amounts in units of the last place that are added to approximate results. They vary by instruction: equal changes of two numbers that are
 * subtracted would cancel.
 */
const NUDGES: readonly number[] = [1, -1, 3, -3];

const isWide = (d: Decoded): boolean => regWidth(d.ins.dst[0]) === 64;
const hasHalves = (d: Decoded): boolean =>
  d.ins.op.groups.some((g) => /x2$/.test(chosen(g, d.ins.mods).type ?? ''));

const NONE: readonly number[] = [];
/** Magnitude bits of each half of a packed pair. */
const HALVES: readonly number[] = [0x7fff, 0x7fff0000];

/**
 * Lanes in which a zero result is exact: a factor is zero, or the operation is not a product.
 *
 * @param half mask of the magnitude bits to examine
 */
function exactZeros(f: Frame, d: Decoded, mask: number, half: number): number {
  const { op, dst, src } = d.ins;
  if ((op.flags & OpFlag.Approximate) === 0 && !/MUL/.test(op.name)) return mask;
  const { i32 } = f.regs;
  const wide = isWide(d);
  let lanes = 0;
  for (let k = 0; k < Math.min(2, src.length); k++) {
    const at = f.code.operands[d.k + dst.length + k];
    for (let r = mask; r !== 0; r &= r - 1) {
      const l = lowest(r);
      const high = i32[wide ? at + 2 * l + 1 : at + l];
      if (((high & half) | (wide ? i32[at + 2 * l] : 0)) === 0) lanes |= 1 << l;
    }
  }
  return lanes;
}

/** Adds `by` to the magnitude of a float, in units of the last place; crossing zero flips the sign. */
function moved(bits: number, by: number, sign: number): number {
  const magnitude = (bits & (sign - 1)) + by;
  return magnitude < 0 ? ((bits & sign) ^ sign) | -magnitude : (bits & sign) | magnitude;
}

/**
 * Perturbs the last bits of a float result or of a pair of halves, except infinities, NaN and exact zeros. A product that underflows may be
 * a zero of either sign, or not zero.
 *
 * @param exact for each half, the lanes in which a zero is exact
 */
function nudged(f: Frame, d: Decoded, mask: number, by: number, exact: readonly number[]): void {
  const at = f.code.operands[d.k];
  const wide = isWide(d);
  const halves = hasHalves(d);
  const { i32 } = f.regs;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const isExact = (k: number): boolean => (exact[k] & (1 << l)) !== 0;
    if (halves) {
      for (const [k, shift] of [0, 16].entries()) {
        const half = (i32[at + l] >>> shift) & 0xffff;
        if ((half & 0x7c00) === 0x7c00 || (isExact(k) && (half & 0x7fff) === 0)) continue;
        i32[at + l] = (i32[at + l] & ~(0xffff << shift)) | (moved(half, by, 0x8000) << shift);
      }
      continue;
    }
    const high = i32[wide ? at + 2 * l + 1 : at + l];
    const exponent = wide ? (high >>> 20) & 0x7ff : (high >>> 23) & 0xff;
    if (exponent === (wide ? 0x7ff : 0xff)) continue;
    const low = wide ? i32[at + 2 * l] : 0;
    const zero = ((high & 0x7fffffff) | low) === 0;
    if (zero && isExact(0)) continue;
    if (!wide) i32[at + l] = moved(high >>> 0, by, 0x80000000);
    else if (zero) {
      i32[at + 2 * l] = Math.abs(by);
      i32[at + 2 * l + 1] = by < 0 ? high ^ (1 << 31) : high;
    } else i32[at + 2 * l] = low + by;
  }
}

/** Overwrites the result of an instruction in some lanes. */
function replace(f: Frame, d: Decoded, lanes: number, value: number): void {
  const at = f.code.operands[d.k];
  const wide = regWidth(d.ins.dst[0]) === 64;
  const { i32 } = f.regs;
  for (let r = lanes; r !== 0; r &= r - 1) {
    const l = lowest(r);
    if (wide) i32[at + 2 * l] = i32[at + 2 * l + 1] = value;
    else i32[at + l] = value;
  }
}

/**
 * Runs a warp until it has ended, waits for other warps, or `m.executed` reaches `limit`.
 *
 * @throws LimitReached at the limit of the whole run; SimFault if an instruction fails
 */
export function runWarp(m: WarpHost, w: Warp, limit: number): void {
  const { counters, pathSlice = PATH_SLICE, nudge = 0, nudgeEach = false } = m.opts;
  const { schedule } = m;
  const { paths } = w;
  let inPath = 0;
  let slice = schedule?.turn() ?? pathSlice;
  for (;;) {
    const path = paths[paths.length - 1];
    if (path === undefined) {
      w.state = 'done';
      return;
    }
    if (path.wait !== null) {
      if (!resume(m, w)) return;
      inPath = 0;
      continue;
    }
    const f = path.frame;
    const active = path.mask & ~w.exited;
    if (active === 0 || path.pc === path.join) {
      paths.pop();
      if (--f.live === 0) m.releaseFrame(f);
      inPath = 0;
      continue;
    }
    const d = f.code.ins[path.pc];
    if (d === undefined) throw new SimFault(`control runs off the end of ${f.code.fn.name}`);
    if (m.executed >= limit || m.executed >= m.most) {
      if (m.executed >= m.most) throw new LimitReached();
      return;
    }
    if (++inPath > slice) {
      inPath = 0;
      if (schedule !== null) slice = schedule.turn();
      if (!passTurn(w, true, path, schedule) && m.opts.holdsRegions !== true) release(w);
      continue;
    }
    m.executed++;
    let mask = active;
    if (d.guard >= 0) {
      const g = f.regs.p[d.guard];
      mask &= d.guardNot ? ~g : g;
    }
    let open = 0;
    if (f.seen !== null) {
      f.seen[path.pc] |= Seen.Ran | (mask === 0 ? 0 : Seen.True) | (mask === active ? 0 : Seen.False);
      if (mask !== 0 && (f.seen[path.pc] & Seen.Asked) !== 0) open = m.watch!.asked(f, path.pc, mask);
    }
    if (counters !== null) count(counters, d, f, mask, path);
    if (d.lane !== null) {
      if (mask !== 0) {
        const nudges = nudge !== 0 && d.approximate;
        const exact = nudges
          ? (hasHalves(d) ? HALVES : [0x7fffffff]).map((half) => exactZeros(f, d, mask, half))
          : NONE;
        d.lane(f.regs, f.code.operands, d.k, mask);
        if (open !== 0) replace(f, d, open, m.opts.undefined ?? 0);
        if (nudges) {
          const seed = nudgeEach ? mix(nudge, m.executed) : nudge;
          nudged(f, d, mask, NUDGES[(mix(d.k, seed) >>> 0) % NUDGES.length], exact);
        }
        if (d.uniform !== null) shareResults(f, d, mask);
      }
      path.pc++;
      continue;
    }
    switch (d.primitive) {
      case 'branch':
        if (mask === 0) path.pc++;
        else if (mask === active) path.pc = d.target;
        else {
          if (f.seen !== null) f.seen[path.pc] |= Seen.Parted;
          diverge(m, w, path, d, [
            [d.target, mask],
            [path.pc + 1, active & ~mask],
          ]);
        }
        continue;
      case 'branch-table':
        branchTable(m, w, path, d, mask, active);
        continue;
      case 'exit':
        path.pc++;
        w.exited |= mask;
        m.afterExit(w);
        continue;
      case 'return':
        path.pc++;
        if (mask === 0) continue;
        if (f.depth > 0) {
          f.onReturn?.(mask);
          for (const p of paths) if (p.frame === f) p.mask &= ~mask;
          continue;
        }
        w.exited |= mask;
        m.afterExit(w);
        continue;
      case 'call':
        path.pc++;
        if (mask !== 0) call(m, w, f, d, mask);
        continue;
      case 'barrier':
        if (mask === 0) path.pc++;
        else meetBarrier(m, w, path, d, mask);
        continue;
      case 'convergence':
        if (mask === 0) path.pc++;
        else converge(m, w, path, d, mask);
        continue;
      case 'convergence-break':
        path.pc++;
        if (mask === 0) continue;
        leaveRegion(w, path, d, mask);
        completeGroups(m, w);
        continue;
      default: {
        if (mask !== 0 && (d.members >= 0 || (d.matrix && m.opts.blank === true))) {
          meetMembers(m, w, path, d, mask);
          continue;
        }
        path.pc++;
        if (mask === 0) continue;
        execute(m, w, f, d, mask);
        if (m.yieldTurn) {
          m.yieldTurn = false;
          // If each unsuccessful test ended the warp's turn, its other paths would never run; they get their turns by PATH_SLICE.
          if (paths.length === 1) return;
        }
      }
    }
  }
}
