import { srcSlot } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';
import { emit, number } from './operands.ts';
import { STACK } from './stack.ts';

/* Addresses as instructions take them, and the names of accesses by space and size. */

/** How accesses to a space are written. */
export interface SpaceCode {
  readonly load: readonly string[];
  readonly store: readonly string[];
  /** Whether addresses have 64 bits. */
  readonly isWide: boolean;
}

export const SPACES: Readonly<Record<string, SpaceCode>> = {
  global: { load: ['LDG', 'E'], store: ['STG', 'E'], isWide: true },
  generic: { load: ['LD', 'E'], store: ['ST', 'E'], isWide: true },
  shared: { load: ['LDS'], store: ['STS'], isWide: false },
  local: { load: ['LDL'], store: ['STL'], isWide: false },
};

/** Names of access sizes by bytes. */
export const SIZES: Readonly<Record<number, string>> = { 1: 'U8', 2: 'U16', 4: '', 8: '64', 16: '128' };

/** The address of an access. */
export function address(s: Emitter, o: Operand, isWide: boolean): Arg & { readonly kind: 'address' } {
  const descriptor = isWide && s.around.machine.driver.has('descriptor') ? s.around.descriptor : null;
  let base: Arg | null = o.reg === NO_REG ? null : s.register(s.of(o.reg));
  // Addresses of shared and local memory are the lower halves of pairs.
  if (!isWide && base?.kind === 'register') base = { ...base, words: 1 };
  let offset = o.lo;
  if (o.sym !== '') {
    const at = s.around.address(o.sym);
    if (at.kind === 'bank' || base !== null) {
      const whole = s.operand(
        { ...o, kind: Kind.Sym, reg: NO_REG },
        { ...srcSlot(s.ins.op, 0)!, widthFrom: null, width: isWide ? 64 : 32 },
      );
      const loaded = whole.kind === 'register' ? whole : s.loaded(whole);
      offset = 0;
      base = base === null ? loaded : sum(s, base, [s.partOf(loaded, 0), s.partOf(loaded, 1)], isWide);
    } else if (at.kind === 'frame') {
      base = { kind: 'fixed', file: 'R', number: STACK, mods: 0 };
      offset += at.offset;
    } else offset += at.offset;
  }
  if (isWide && base === null) {
    base = s.loaded({ kind: 'number', lo: offset, hi: offset >> 31, mods: 0 });
    offset = 0;
  } else if (offset < -0x800000 || offset > 0x7fffff) {
    base = sum(s, base ?? RZ, [number(offset), number(offset >> 31)], isWide);
    offset = 0;
  }
  return { kind: 'address', base, offset, descriptor, mods: 0 };
}

/** The sum of a base, a word or a pair, and the words of a number or another register. */
export function sum(s: Emitter, base: Arg, addend: readonly [Arg, Arg], isWide: boolean): Arg {
  const t = s.make('R', isWide ? 2 : 1);
  const carry = isWide ? s.make('P', 1) : -1;
  emit(s, ['IADD3'], {
    d: s.wordOf(t, 0),
    ...(isWide && { p: s.register(carry) }),
    a: s.partOf(base, 0),
    b: addend[0],
    c: RZ,
  });
  if (isWide)
    emit(s, ['IADD3', 'X'], {
      d: s.wordOf(t, 1),
      a: s.partOf(base, 1),
      b: addend[1],
      c: RZ,
      ci: s.register(carry),
    });
  return s.register(t);
}
