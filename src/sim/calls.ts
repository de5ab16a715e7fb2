import { isPredReg, Kind, type Operand } from '../ir/operand.ts';
import { type Decoded, decode, roomOf } from './decode.ts';
import { stackUse, topOf } from './frames.ts';
import { lowest } from './masks.ts';
import { FUNCTION_WINDOW, hex, MemoryFault } from './memory.ts';
import { insertPath, newPath } from './paths.ts';
import { primitives } from './primitives/index.ts';
import { unknownCall } from './primitives/unknown-call.ts';
import type { Simulation } from './simulation.ts';
import type { Frame, Warp } from './state.ts';

/** Executes a call for the lanes `mask`; an indirect call enters each distinct target once, with the lanes that chose it. */
export function call(m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number): void {
  const target = d.ins.src[0];
  if (target.kind === Kind.Sym) return enter(m, w, f, d, mask, target.sym);
  const at = f.code.operands[d.k + d.ins.dst.length];
  const groups = new Map<string, number>();
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a =
      (f.regs.i32[at + 2 * l + 1] >>> 0) * 4294967296 + (f.regs.i32[at + 2 * l] >>> 0) - FUNCTION_WINDOW;
    const fn = m.functionList[a / 16];
    if (fn === undefined && m.opts.open) unknownCall(m, w, f, d, r & -r);
    else if (fn === undefined)
      m.fault(`indirect call to ${hex(a + FUNCTION_WINDOW)}, which is not a function`, d, w, l);
    else groups.set(fn.name, (groups.get(fn.name) ?? 0) | (r & -r));
  }
  for (const [name, lanes] of groups) enter(m, w, f, d, lanes, name);
}

function enter(m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number, name: string): void {
  const fn = m.functions.get(name);
  if (fn === undefined) {
    try {
      primitives.builtin(m, w, f, d, mask);
    } catch (e) {
      if (e instanceof MemoryFault) m.fault(e.message, d, w, m.lane, 'access');
      throw e;
    }
    return;
  }
  const code = decode(fn);
  const localBase = f.localBase + (m.opts.open ? f.code.localBytes : topOf(f, mask));
  const end = localBase + code.localBytes;
  if (stackUse(end, f.depth + 1) > m.stackLimit)
    m.fault(
      `the stack of ${m.stackLimit} bytes is full: calls are nested ${f.depth + 1} deep (--stack gives a launch more)`,
      d,
      w,
      lowest(mask),
    );
  m.growLocals(w, mask, end);
  const g = m.newFrame(code, f.depth + 1, localBase, (lanes) => leave(f, g, d, lanes));
  const first = d.ins.dst.length;
  const args = d.ins.src;
  let k = 2;
  for (const p of fn.params) {
    const o = args[k];
    const at = f.code.operands[d.k + first + k];
    k++;
    if (o === undefined) continue;
    if (p.reg >= 0 && isPredReg(p.reg)) {
      const given = o.kind === Kind.Imm ? -(o.lo & 1) : at >= 0 ? f.regs.p[at] : 0;
      passPredicate(g, code.placeOf(p.reg), given, o.mods !== 0, mask);
      continue;
    }
    if (p.reg >= 0 && o.kind === Kind.Imm) fillRegister(g, code.placeOf(p.reg), o, p.size > 4);
    else if (p.reg >= 0) copyRegister(f, at, g, code.placeOf(p.reg), p.size > 4);
    else if (o.kind === Kind.Sym) {
      const given = p.size > 0 ? p.size : (f.code.fn.variables.find((v) => v.name === o.sym)?.size ?? 0);
      const size = Math.min(given, roomOf(p));
      copyParam(f, f.code.params.get(o.sym) ?? 0, g, code.params.get(p.name) ?? 0, size, mask);
    }
  }
  insertPath(w, newPath(g, 0, mask, -1));
}

function leave(f: Frame, g: Frame, d: Decoded, mask: number): void {
  const fn = g.code.fn;
  let reg = 0;
  let k = 2 + fn.params.length;
  for (const p of fn.returns) {
    if (p.reg >= 0) {
      const to = f.code.operands[d.k + reg++];
      if (to < 0) continue;
      const from = g.code.placeOf(p.reg);
      if (isPredReg(p.reg)) {
        passPredicate(f, to, g.regs.p[from], false, mask);
        continue;
      }
      const wide = p.size > 4;
      for (let r = mask; r !== 0; r &= r - 1) {
        const l = lowest(r);
        if (wide) {
          f.regs.i32[to + 2 * l] = g.regs.i32[from + 2 * l];
          f.regs.i32[to + 2 * l + 1] = g.regs.i32[from + 2 * l + 1];
        } else f.regs.i32[to + l] = g.regs.i32[from + l];
      }
    } else {
      const o = d.ins.src[k++];
      if (o !== undefined && o.kind === Kind.Sym)
        copyParam(g, g.code.params.get(p.name) ?? 0, f, f.code.params.get(o.sym) ?? 0, p.size, mask);
    }
  }
}

/** Copies the predicate `bits`, inverted if `not`, to a predicate of another frame, in the lanes of `mask`. */
function passPredicate(to: Frame, at: number, bits: number, not: boolean, mask: number): void {
  to.regs.p[at] = (to.regs.p[at] & ~mask) | ((not ? ~bits : bits) & mask);
}

function copyRegister(f: Frame, from: number, g: Frame, to: number, wide: boolean): void {
  const n = wide ? 64 : 32;
  for (let i = 0; i < n; i++) g.regs.i32[to + i] = f.regs.i32[from + i];
}

/** Passes a constant argument: an immediate has no width of its own, so the parameter's width determines its layout. */
function fillRegister(g: Frame, to: number, o: Operand, wide: boolean): void {
  for (let l = 0; l < 32; l++)
    if (wide) {
      g.regs.i32[to + 2 * l] = o.lo;
      g.regs.i32[to + 2 * l + 1] = o.hi;
    } else g.regs.i32[to + l] = o.lo;
}

/** Copies the bytes of a call parameter, clipped to both frames: an indirect call may pass other parameters than the callee declares. */
function copyParam(a: Frame, from: number, b: Frame, to: number, wanted: number, mask: number): void {
  const size = Math.min(wanted, a.code.paramBytes - from, b.code.paramBytes - to);
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const s = l * a.code.paramBytes + from;
    b.params.set(a.params.subarray(s, s + size), l * b.code.paramBytes + to);
  }
}
