import { slotWidth } from '../ir/opcode.ts';
import { NO_REG, withOperandMods } from '../ir/operand.ts';
import type { LaneRegs } from '../isa/lanes.ts';
import type { Decoded } from './decode.ts';
import { SimFault } from './faults.ts';
import { lowest } from './masks.ts';
import { MemoryFault } from './memory.ts';
import { mergePaths, part, passTurn, splitOff } from './paths.ts';
import { primitives } from './primitives/index.ts';
import { openRegion, release, sameRegion } from './regions.ts';
import type { Simulation } from './simulation.ts';
import type { Frame, Path, Warp } from './state.ts';
import { shareResults } from './uniform.ts';

/**
 * Warp-synchronous instructions (shfl, vote, match, redux, elect, bar.warp.sync). A lane waits until all live lanes of its member mask are
 * at an instruction of the same kind with the same mask, wherever that instruction is (PTX ISA 9.0, 9.7.9.6: "the same qualifiers and
 * membermask"). Meanwhile the warp's other paths run.
 */

/** Member mask of lane `l`; a matrix operation has all lanes as members. */
const membersOf = (f: Frame, d: Decoded, l: number): number =>
  d.members < 0 ? -1 : f.regs.i32[f.code.operands[d.k + d.ins.dst.length + d.members] + l];

/** Executes a primitive for the lanes `mask`. @throws SimFault if memory rejects an access */
export function execute(m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number): void {
  m.watch?.execute(w, f, d, mask);
  try {
    primitives[d.primitive](m, w, f, d, mask);
  } catch (e) {
    if (e instanceof MemoryFault) m.fault(e.message, d, w, m.lane, 'access');
    throw e;
  }
  if (d.uniform !== null) shareResults(f, d, mask);
}

/** The lanes `mask` of the running path reach a warp-synchronous instruction: complete groups execute it, other lanes wait. */
export function meetMembers(m: Simulation, w: Warp, path: Path, d: Decoded, mask: number): void {
  const { frame } = path;
  const live = ~w.exited;
  const at = path.pc++;
  let waiting = 0;
  for (let rest = mask; rest !== 0; ) {
    const members = membersOf(frame, d, lowest(rest));
    let group = 0;
    for (let r = rest; r !== 0; r &= r - 1) if (membersOf(frame, d, lowest(r)) === members) group |= r & -r;
    rest &= ~group;
    // Only lanes that a mask names may execute such an instruction (PTX ISA 9.0, shfl.sync, redux.sync and others).
    if ((group & live & ~members) !== 0) m.unpromised = true;
    if ((members & live & ~group) === 0) {
      execute(m, w, frame, d, group);
      continue;
    }
    const p = splitOff(w, path, group, at);
    p.wait = { d, until: 'members', members };
    waiting |= group;
  }
  if (waiting !== 0) completeGroups(m, w);
}

/** The lanes `mask` of the running path reach a block barrier. */
export function meetBarrier(m: Simulation, w: Warp, path: Path, d: Decoded, mask: number): void {
  const p = splitOff(w, path, mask, path.pc);
  path.pc++;
  p.wait = { d, until: 'warp', members: 0 };
  if (d.aligned && m.opts.apart === undefined) completeGroups(m, w);
  else arrive(m, w, p);
}

/** A path arrives at its barrier and resumes after it when the barrier opens. */
function arrive(m: Simulation, w: Warp, p: Path): void {
  const { d } = p.wait!;
  p.pc++;
  p.wait = { d, until: 'barrier', members: 0 };
  m.arriving = p;
  execute(m, w, p.frame, d, p.mask & ~w.exited);
}

/** Executes one operation at which all expected lanes have arrived. @returns whether there was one */
export function completeGroups(m: Simulation, w: Warp): boolean {
  const live = ~w.exited;
  for (const first of w.paths) {
    const { wait } = first;
    if (wait === null || wait.until === 'barrier') continue;
    const group = w.paths.filter((p) => p.wait !== null && sameMeeting(first, p));
    let here = 0;
    for (const p of group) here |= p.mask;
    here &= live;
    if (here === 0) continue;
    const expected = wait.until === 'warp' ? live : wait.members & live;
    if ((expected & ~here) !== 0) continue;
    if (wait.until === 'warp') arrive(m, w, mergePaths(w, group));
    else if (wait.until === 'region') openRegion(w, group);
    else if (group.every((p) => atSamePlace(p, first))) {
      const p = mergePaths(w, group);
      p.wait = null;
      p.pc++;
      execute(m, w, p.frame, wait.d, p.mask & live);
      if (m.opts.apart !== undefined && p.wait === null) part(w, p);
    } else executeTogether(m, w, group);
    return true;
  }
  return false;
}

const atSamePlace = (p: Path, q: Path): boolean => p.frame === q.frame && p.pc === q.pc && p.join === q.join;

/** True if `q` waits for the same thing as `p`. */
function sameMeeting(p: Path, q: Path): boolean {
  const [a, b] = [p.wait!, q.wait!];
  if (a.until !== b.until) return false;
  if (a.until === 'region') return sameRegion(p, q);
  if (a.d.ins.op !== b.d.ins.op || a.d.ins.mods !== b.d.ins.mods) return false;
  return a.until === 'warp' || a.d.matrix ? atSamePlace(p, q) : a.members === b.members;
}

/**
 * Finds a path that can run and moves it to the top of the stack.
 *
 * @returns false if every path of the warp waits, some at a barrier
 * @throws SimFault on a deadlock: lanes wait for others that never arrive
 */
export function resume(m: Simulation, w: Warp): boolean {
  for (;;) {
    const last = w.paths[w.paths.length - 1];
    if (last === undefined || last.wait === null) return true;
    if (completeGroups(m, w) || passTurn(w, false, null, m.schedule)) continue;
    const atBarrier = w.paths.find((p) => p.wait?.until === 'warp');
    if (atBarrier !== undefined) {
      m.unpromised = true;
      arrive(m, w, atBarrier);
    } else if (passTurn(w, true, null, m.schedule)) continue;
    else if (goOnAlone(m, w)) continue;
    // Lanes that wait only for each other's convergence regions would wait forever: the regions are wrong, so they are released.
    else if (
      m.opts.holdsRegions !== true &&
      w.paths.some((p) => p.wait !== null && p.wait.until !== 'region') &&
      release(w)
    )
      continue;
    else if (w.paths.some((p) => p.wait?.until === 'barrier')) {
      w.state = 'barrier';
      return false;
    } else {
      // Lanes that wait for each other at unlike instructions break what PTX demands of them.
      m.unpromised ||= w.paths.some((p) => p.wait?.until === 'members');
      throw new SimFault(
        `deadlock in block (${w.block.id.join(', ')}) of ${m.kernelName}: ${waiting(m, w).join('; ')}`,
        'deadlock',
      );
    }
  }
}

/** Lets lanes at a matrix operation execute it alone when the warp's other lanes never arrive. @returns whether there were any */
function goOnAlone(m: Simulation, w: Warp): boolean {
  const p = w.paths.find((x) => x.wait?.until === 'members' && x.wait.d.matrix);
  if (p === undefined) return false;
  const { d } = p.wait!;
  p.wait = null;
  p.pc++;
  execute(m, w, p.frame, d, p.mask & ~w.exited);
  return true;
}

/** Describes for messages which live lanes of a warp wait at which instruction, and for which lanes. */
export function waiting(m: Simulation, w: Warp): string[] {
  const out: string[] = [];
  for (const p of w.paths) {
    const mask = p.mask & ~w.exited;
    if (p.wait === null || mask === 0) continue;
    const who = mask === ~w.exited ? `warp ${w.index} waits` : `${lanes(mask)} of warp ${w.index} wait`;
    const named = p.wait.until === 'members' || p.wait.until === 'region';
    const absent = named ? p.wait.members & ~w.exited & ~mask : 0;
    const whom = absent === 0 ? '' : ` for ${lanes(absent)}`;
    out.push(`${who} at ${m.describe(p.wait.d, p.frame)}${whom}`);
  }
  return out;
}

/** Formats a lane mask, e.g. `lanes 0-3, 7`. */
function lanes(mask: number): string {
  const parts: string[] = [];
  for (let l = 0; l < 32; l++) {
    if (((mask >>> l) & 1) === 0) continue;
    let end = l;
    while (end < 31 && ((mask >>> (end + 1)) & 1) === 1) end++;
    parts.push(end === l ? String(l) : `${l}-${end}`);
    l = end;
  }
  return `lane${/^\d+$/.test(parts.join()) ? '' : 's'} ${parts.join(', ')}`;
}

/**
 * Executes one operation for lanes that are at different instructions: their operands are copied into temporary registers, and the results
 * back.
 */
function executeTogether(m: Simulation, w: Warp, group: readonly Path[]): void {
  const { d } = group[0].wait!;
  const { op, mods } = d.ins;
  const nd = d.ins.dst.length;
  const widths = [...op.dsts, ...op.srcs.slice(0, d.ins.src.length)].map((s) => slotWidth(op, mods, s));
  const buffer = new ArrayBuffer(widths.length * 256);
  const regs: LaneRegs = {
    i32: new Int32Array(buffer),
    f32: new Float32Array(buffer),
    f64: new Float64Array(buffer),
    p: new Int32Array(widths.length),
  };
  const copy = (p: Path, i: number, back: boolean): void => {
    const place = p.frame.code.operands[p.wait!.d.k + i];
    if (place < 0) return;
    const lanes = p.mask & ~w.exited;
    const [from, to] = back ? [regs, p.frame.regs] : [p.frame.regs, regs];
    if (widths[i] === 1) {
      const [at, into] = back ? [i, place] : [place, i];
      const inverted = !back && i >= nd && p.wait!.d.ins.src[i - nd].mods !== 0;
      to.p[into] = (to.p[into] & ~lanes) | ((inverted ? ~from.p[at] : from.p[at]) & lanes);
      return;
    }
    const words = widths[i] === 64 ? 2 : 1;
    const [at, into] = back ? [64 * i, place] : [place, 64 * i];
    for (let r = lanes; r !== 0; r &= r - 1)
      for (let k = 0, l = words * lowest(r); k < words; k++) to.i32[into + l + k] = from.i32[at + l + k];
  };
  let all = 0;
  for (const p of group) {
    all |= p.mask & ~w.exited;
    for (let i = nd; i < widths.length; i++) copy(p, i, false);
  }
  const operands = Int32Array.from(widths, (width, i) => (width === 1 ? i : 64 * i));
  const first = group[0].frame;
  const frame: Frame = { ...first, code: { ...first.code, operands }, regs };
  const src = d.ins.src.map((o) => withOperandMods(o, 0));
  const ins = { ...d.ins, src };
  execute(m, w, frame, { ...d, ins, k: 0 }, all);
  for (const p of group) {
    for (let i = 0; i < nd; i++) if (p.wait!.d.ins.dst[i] !== NO_REG) copy(p, i, true);
    shareResults(p.frame, p.wait!.d, p.mask & ~w.exited);
    p.pc++;
    p.wait = null;
  }
}
