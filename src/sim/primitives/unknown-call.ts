import { Kind } from '../../ir/operand.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { mix } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Frame, Warp } from '../state.ts';
import { opnd } from './primitive.ts';

/** Hash of a text, from which open worlds derive values. */
export function hashOf(text: string): number {
  let h = text.length;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

/**
 * In an open world: a call of a function that the module does not define. Its arguments are recorded for comparison; its results are small
 * values hashed from the arguments and from the function's name or address. The name of a prototype is irrelevant.
 */
export function unknownCall(m: Simulation, w: Warp, f: Frame, d: Decoded, mask: number): void {
  const [target, declared] = d.ins.src;
  const name = declared?.sym || target.sym;
  const proto = m.program.prototypes.find((p) => p.name === name);
  if (proto === undefined) return;
  const first = d.ins.dst.length + 2;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    /** Word at byte offset `byte` of argument `k`, from registers or from the bytes of a call parameter. */
    const word = (k: number, byte: number, size: number): number => {
      const o = d.ins.src[2 + k];
      if (o === undefined) return 0;
      if (o.kind !== Kind.Sym) return f.regs.i32[opnd(f, d, first + k) + (size > 4 ? 2 * l + byte / 4 : l)];
      const inSlots = (f.code.params.get(o.sym) ?? 0) + byte;
      const at = l * f.code.paramBytes + inSlots;
      if (inSlots + Math.min(size, 4) > f.code.paramBytes) return 0;
      return size === 1
        ? f.paramView.getUint8(at)
        : size === 2
          ? f.paramView.getUint16(at, true)
          : f.paramView.getInt32(at, true);
    };
    let h = hashOf(target.sym);
    if (target.kind === Kind.Reg)
      for (const part of [0, 1]) h = mix(h, f.regs.i32[opnd(f, d, d.ins.dst.length) + 2 * l + part]);
    proto.params.forEach((p, k) => {
      for (let byte = 0; byte < p.size; byte += 4) {
        const x = word(k, byte, p.size);
        m.show(w, l, x);
        h = mix(h, x);
      }
    });
    proto.returns.forEach((p, k) => {
      const o = d.ins.src[2 + proto.params.length + k];
      if (o === undefined || o.kind !== Kind.Sym) return;
      const inSlots = f.code.params.get(o.sym) ?? 0;
      const at = l * f.code.paramBytes + inSlots;
      for (
        let byte = 0;
        byte < p.size && inSlots + byte + Math.min(p.size, 4) <= f.code.paramBytes;
        byte += 4
      ) {
        const v = mix(h + k + byte, m.opts.seed) & 15;
        if (p.size < 4) f.paramView.setUint8(at, v);
        else f.paramView.setInt32(at + byte, v, true);
      }
    });
  }
}
