import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { LOCAL_WINDOW, SHARED_WINDOW } from '../memory.ts';
import { atomic32, atomic64, globalSum32 } from './atomic-value.ts';
import { logOf, noteAtomic } from './log.ts';

import { addressOf, mod, opnd, type Primitive, resolve } from './primitive.ts';

/** True if an address of the instruction's space lies in global memory. */
const inGlobal = (d: Decoded, a: number): boolean =>
  d.ins.op.space === 'global' || (d.ins.op.space === 'generic' && (a < SHARED_WINDOW || a >= LOCAL_WINDOW));

/** ATOM, ATOMG and ATOMS. */
export const atomic: Primitive = (m, w, f, d, mask) => {
  const op = mod(d, 'op');
  const type = mod(d, 'type');
  const wide = type.endsWith('64');
  const sum32 = type === 'F32' && op === 'ADD';
  const half = type === 'B16' || type === 'F16' || type === 'BF16';
  const i = f.regs.i32;
  const to = opnd(f, d, 0);
  const [pb, pc] = [opnd(f, d, 2), opnd(f, d, 3)];
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a = addressOf(m, f, d, 0, l);
    const p = resolve(m, w, f, d, a, l, wide ? 8 : half ? 2 : 4, true);
    if (m.watch !== null) m.watch.atomic(w, d, l, a, wide ? 8 : half ? 2 : 4, p);
    const log = logOf(w, d, a, l);
    if (log !== null) noteAtomic(log, a, op, i[pb + (wide ? 2 * l : l)], i[pc + (wide ? 2 * l : l)]);
    if (wide) {
      const old = p.view.getBigUint64(p.at, true);
      const value = (at: number) => (BigInt(i[at + 2 * l + 1] >>> 0) << 32n) | BigInt(i[at + 2 * l] >>> 0);
      const now = atomic64(op, type, old, value(pb), value(pc));
      if (now !== old) m.changes++;
      p.view.setBigUint64(p.at, now, true);
      if (to >= 0) {
        i[to + 2 * l] = Number(BigInt.asIntN(32, old));
        i[to + 2 * l + 1] = Number(BigInt.asIntN(32, old >> 32n));
      }
    } else if (half) {
      const old = p.view.getUint16(p.at, true);
      const [b, c] = [i[pb + l] & 0xffff, i[pc + l] & 0xffff];
      const now = atomic32(op, type === 'B16' ? 'U32' : type, old, b, c);
      if (now !== old) m.changes++;
      p.view.setUint16(p.at, now, true);
      if (to >= 0) i[to + l] = old;
    } else {
      const old = p.view.getInt32(p.at, true);
      const now =
        sum32 && inGlobal(d, a) ? globalSum32(old, i[pb + l]) : atomic32(op, type, old, i[pb + l], i[pc + l]);
      if (now !== old) m.changes++;
      p.view.setInt32(p.at, now, true);
      if (to >= 0) i[to + l] = old;
    }
  }
};
