import { modOf, srcSlot } from '../ir/opcode.ts';
import { NO_REG } from '../ir/operand.ts';
import { address, SPACES } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';
import { acquire, release, SCOPES } from './memory-order.ts';
import { emit, type Handler, mod } from './operands.ts';
import { needsLoop, type Place, swapUntilDone } from './swap-loops.ts';

/* Atomic operations. */

/** Types of atomic operations by type of Ori: of sums, and of the others. */
const ATOMIC: Readonly<Record<string, string>> = {
  B16: 'B16',
  F16: 'F16',
  BF16: 'BF16',
  BF16X2: 'BF16x2.RN',
  U32: '',
  B32: '',
  S32: 'S32',
  U64: '64',
  S64: 'S64',
  F32: 'F32.FTZ.RN',
  F64: 'F64.RN',
  F16X2: 'F16x2.RN',
};

function atomicType(s: Emitter): string[] {
  const { op, mods } = s.ins;
  const name = ATOMIC[modOf(op, mods, 'type')];
  if (name === undefined) throw s.unsupported('an atomic operation of this type has no machine code yet');
  const isSigned = ['MIN', 'MAX'].includes(mod(s, 'op'));
  if (!isSigned && name.startsWith('S')) return name === 'S32' ? [] : ['64'];
  return name === '' ? [] : name.split('.');
}

/** An atomic operation on a space. */
export const atomic =
  (space: 'global' | 'generic' | 'shared'): Handler =>
  (s) => {
    const { ins } = s;
    const op = mod(s, 'op');
    const isWide = space !== 'shared';
    release(s);
    const ad = address(s, ins.src[0], isWide);
    const slot = srcSlot(ins.op, 1)!;
    const type = atomicType(s);
    const [d = NO_REG] = ins.dst;
    const isUnused = d === NO_REG || mod(s, 'rtn') === 'NORTN' || !s.isRead(d);
    const to: Arg = d === NO_REG ? RZ : s.register(s.of(d));
    const ordered = isWide ? ['STRONG', SCOPES[mod(s, 'scope')]] : [];
    const b = s.operand(ins.src[1], slot);
    const value =
      b.kind === 'register' ? b : b.kind === 'number' && b.lo === 0 && (b.hi ?? 0) === 0 ? RZ : s.loaded(b);
    if (needsLoop(op, type, isWide)) {
      const place: Place = {
        ad,
        load: SPACES[space].load,
        swap: [{ global: 'ATOMG', generic: 'ATOM', shared: 'ATOMS' }[space], ...(isWide ? ['E'] : []), 'CAS'],
        order: ordered,
        isWide,
      };
      const swapped = op === 'CAS' ? s.operand(ins.src[2], slot) : null;
      swapUntilDone(s, place, op, type, value, swapped);
      return acquire(s);
    }
    if (op === 'CAS') {
      const c = s.operand(ins.src[2], slot);
      const name = { global: 'ATOMG', generic: 'ATOM', shared: 'ATOMS' }[space];
      emit(s, [name, ...(isWide ? ['E'] : []), 'CAS', ...type.filter((t) => t === '64'), ...ordered], {
        d: to,
        ad,
        b: value,
        c: c.kind === 'register' ? c : s.loaded(c),
      });
    } else if (space === 'global' && isUnused && op !== 'EXCH') {
      const args = new Map<string, Arg>([
        ['ad', ad],
        ['b', value],
      ]);
      const rest = ['E', op, ...type, ...ordered];
      // From sm_90 on its name is REDG.
      if (!s.emit(['RED', ...rest], args)) s.emitNamed(['REDG', ...rest], args);
    } else
      emit(
        s,
        [
          ...{ global: ['ATOMG', 'E'], generic: ['ATOM', 'E'], shared: ['ATOMS'] }[space],
          op,
          ...type,
          ...ordered,
        ],
        { d: to, ad, b: value },
      );
    acquire(s);
  };
