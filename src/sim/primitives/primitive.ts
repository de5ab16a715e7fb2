import { modOf } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import { inCluster } from '../clusters.ts';
import type { Decoded } from '../decode.ts';
import { LOCAL_WINDOW, type Location, SHARED_WINDOW } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';

/** Executes, for the lanes `mask`, one instruction whose meaning is not an expression. */
export type Primitive = (m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number) => void;

/** The modifier of an instruction in a modifier group. */
export const mod = (d: Decoded, group: string): string => modOf(d.ins.op, d.ins.mods, group);

/** Place of the `i`-th operand in its register file, counting destinations before sources; negative if there is none. */
export const opnd = (f: Frame, d: Decoded, i: number): number => f.code.operands[d.k + i];

/** Sets a predicate to `bits` in the lanes `mask`; a negative place is ignored. */
export function setPred(f: Frame, at: number, bits: number, mask: number): void {
  if (at >= 0) f.regs.p[at] = (f.regs.p[at] & ~mask) | (bits & mask);
}

/** Lanes in which a predicate source is true, its negation applied. */
export const predOf = (f: Frame, d: Decoded, src: number): number => {
  const v = f.regs.p[opnd(f, d, d.ins.dst.length + src)];
  return d.ins.src[src].mods !== 0 ? ~v : v;
};

/** Byte address of an Addr operand in a lane: base register plus symbol plus offset. */
export function addressOf(m: Simulation, f: Frame, d: Decoded, srcIndex: number, lane: number): number {
  const o = d.ins.src[srcIndex];
  const at = opnd(f, d, d.ins.dst.length + srcIndex);
  let a = o.lo;
  if (o.sym !== '') a += m.symbolAddress(o.sym, f.code);
  if (o.reg !== NO_REG) {
    // 64-bit registers have two words per lane; the register's low bits encode its file.
    if ((o.reg & 7) === 1 || (o.reg & 7) === 4) {
      // Large addresses are reduced to 48 bits: all 64 do not fit a JavaScript number exactly, so neighbours would coincide.
      const high = f.regs.i32[at + 2 * lane + 1];
      a +=
        (high === (high << 15) >> 15 ? high : high & 0xffff) * 4294967296 + (f.regs.i32[at + 2 * lane] >>> 0);
    }
    // 32-bit addresses wrap: a negative array base plus an offset leads back into memory.
    else a = (a + f.regs.i32[at + lane]) >>> 0;
  } else if (o.sym === '') a = o.lo >>> 0;
  // High words are signed, so a frame-relative local address below its frame stays a small negative number.
  return Math.abs(a) >= 281474976710656 ? a % 281474976710656 : a;
}

/** Resolves a shared-memory address, in the executing block or another block of its cluster. @throws MemoryFault */
export function sharedPlace(w: Warp, address: number, size: number, write: boolean): Location {
  const { block, at } = inCluster(w.block, address);
  return block.shared.place(at, size, write);
}

/** Resolves an address in the space of the instruction. @throws MemoryFault */
export function resolve(
  m: Simulation,
  w: Warp,
  f: Frame,
  d: Decoded,
  a: number,
  lane: number,
  size: number,
  write: boolean,
): Location {
  m.lane = lane;
  switch (d.ins.op.space) {
    case 'global':
      return a < SHARED_WINDOW || m.opts.open
        ? m.global.place(a, size, write)
        : m.generic(w, lane, a, size, write);
    case 'shared':
      return sharedPlace(w, a, size, write);
    case 'local':
      return m.localOf(w, lane).place((a >= LOCAL_WINDOW ? a - LOCAL_WINDOW : a) + f.localBase, size, write);
    case 'const':
      return m.generic(w, lane, a, size, write);
    default:
      return m.generic(w, lane, a, size, write);
  }
}
