import { Mod, NO_REG } from '../ir/operand.ts';
import { sum } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';
import { emit, number, PT } from './operands.ts';

/*
 * Atomic operations that the hardware does not have: a loop computes the new value from the old one, and swaps it in if the old one is
 * still there.
 *
 *     ATOMS.ADD.F32 R4, [R2], R3             LDS R5, [R2]
 *                                       L:   FADD R6, R5, R3
 *                                            ATOMS.CAS R7, [R2], R5, R6
 *                                            ISETP.NE P0, R7, R5
 *                                            MOV R5, R7
 *                                        @P0 BRA L
 *                                            MOV R4, R5
 *
 * A value of 16 bits is swapped with the rest of its word.
 */

/** The place that is accessed, and the names of instructions that load from it and swap. */
export interface Place {
  readonly ad: Arg & { readonly kind: 'address' };
  readonly load: readonly string[];
  readonly swap: readonly string[];
  /** The memory order, in parts of a name that follow the size. */
  readonly order: readonly string[];
  /** Whether addresses have 64 bits. */
  readonly isWide: boolean;
}

/** Names of instructions that compute the new value, by operation and type in machine code. */
const SUMS: Readonly<Record<string, readonly string[]>> = {
  'ADD F32': ['FADD'],
  'ADD F64': ['DADD'],
  'ADD F16x2': ['HADD2'],
  'ADD BF16x2': ['HADD2', 'BF16_V2'],
  'ADD F16': ['HADD2'],
  'ADD BF16': ['HADD2', 'BF16_V2'],
};
const TABLES: Readonly<Record<string, number>> = { AND: 0xc0, OR: 0xfc, XOR: 0x3c };
const ORDERS: Readonly<Record<string, string>> = { MIN: 'LT', MAX: 'GT' };

const isHalf = (type: readonly string[]): boolean => ['B16', 'F16', 'BF16'].includes(type[0]);
const isLong = (type: readonly string[]): boolean => ['64', 'S64', 'F64'].includes(type[0]);

/** Whether an operation has no instruction of its own. @param isWide whether it is on global or generic memory, else on shared memory */
export const needsLoop = (op: string, type: readonly string[], isWide: boolean): boolean =>
  isHalf(type) ||
  (!isWide && (type.length > 1 || (['64', 'S64'].includes(type[0]) && !['EXCH', 'CAS'].includes(op))));

/**
 * Writes the loop.
 *
 * @param type the type in machine code, in parts: `F32`, `FTZ`, `RN`
 * @param swapped what a CAS puts in the place of `value`
 * @throws Unsupported for other operations
 */
export function swapUntilDone(
  s: Emitter,
  place: Place,
  op: string,
  type: readonly string[],
  value: Arg,
  swapped: Arg | null,
): void {
  const [d = NO_REG] = s.ins.dst;
  s.inBlocks(() => {
    const [loop, done] = [s.newId(), s.newId()];
    const words = isLong(type) ? 2 : 1;
    const size = words === 2 ? ['64'] : [];
    const part = isHalf(type) ? halfOf(s, place, op, type, value, swapped) : null;
    const ad = part?.ad ?? place.ad;
    const [old, next, found] = [s.make('R', words), s.make('R', words), s.make('R', words)];
    emit(s, [...place.load, ...size], { d: s.register(old), ad });
    s.cut(loop, [loop]);
    let expected = s.register(old);
    if (part !== null) expected = part.next(next, s.register(old));
    else compute(s, op, type, next, old, value);
    emit(s, [...place.swap, ...size, ...place.order], {
      d: s.register(found),
      ad,
      b: expected,
      c: s.register(next),
    });
    const differs =
      part === null
        ? difference(s, words, (k) => [s.wordOf(found, k), s.wordOf(old, k)])
        : difference(s, 1, () => [part.rest(s.register(found)), part.rest(expected)]);
    for (let k = 0; k < words; k++) s.move(s.wordOf(old, k), s.wordOf(found, k));
    s.branchIf(differs, false, loop);
    s.cut(done, [loop, done]);
    if (d !== NO_REG && part !== null) part.result(s.register(s.of(d)), s.register(old));
    else if (d !== NO_REG) for (let k = 0; k < words; k++) s.move(s.wordOf(s.of(d), k), s.wordOf(old, k));
  });
}

/** A predicate that tells whether any of two values' words differ. */
function difference(s: Emitter, words: number, pair: (word: number) => readonly [Arg, Arg]): number {
  let before: number | null = null;
  for (let k = 0; k < words; k++) {
    const p = s.make('P', 1);
    const [a, b] = pair(k);
    emit(s, ['ISETP', 'NE', 'U32', before === null ? 'AND' : 'OR'], {
      d: s.register(p),
      a,
      b,
      ...(before !== null && { p: s.register(before) }),
    });
    before = p;
  }
  return before!;
}

/** The word with a value of 16 bits, and what is done with it. */
interface Half {
  readonly ad: Arg;
  /** Computes the new word; gives the one that has to be there. */
  next(d: number, old: Arg): Arg;
  /** The other half of a word. */
  rest(word: Arg): Arg;
  result(d: Arg, word: Arg): void;
}

/** Selectors of PRMT that replace a half by the same one of another word, that clear it, and that take it out. */
const REPLACE = [0x3254, 0x7610] as const;
const CLEAR = [0x3244, 0x4410] as const;
const TAKE = [0x4410, 0x4432] as const;
const BOTH = 0x1010;

function halfOf(
  s: Emitter,
  place: Place,
  op: string,
  type: readonly string[],
  value: Arg,
  swapped: Arg | null,
): Half {
  const { base, offset } = place.ad;
  const whole = sum(s, base ?? RZ, [number(offset), number(offset >> 31)], place.isWide);
  const [low, isLow] = [s.partOf(whole, 0), s.make('P', 1)];
  const bit = s.register(s.make('R', 1));
  const masked = (d: Arg, mask: number): void =>
    emit(s, ['LOP3', 'LUT'], {
      d,
      a: low,
      b: number(mask),
      c: RZ,
      t: number(0xc0),
      q: { ...PT, mods: Mod.Not },
    });
  masked(bit, 2);
  masked(low, ~3);
  emit(s, ['ISETP', 'EQ', 'U32', 'AND'], { d: s.register(isLow), a: bit, b: RZ, p: PT });
  const selector = ([forLow, forHigh]: readonly [number, number]): Arg => {
    const d = s.register(s.make('R', 1));
    emit(s, ['SEL'], { d, a: s.loaded(number(forLow)), b: number(forHigh), p: s.register(isLow) });
    return d;
  };
  const permuted = (a: Arg, sel: Arg, c: Arg): Arg => {
    const d = s.register(s.make('R', 1));
    emit(s, ['PRMT'], { d, a, b: sel, c });
    return d;
  };
  const register = (a: Arg): Arg => (a.kind === 'register' || a.kind === 'fixed' ? a : s.loaded(a));
  const twice = (a: Arg): Arg => permuted(register(a), number(BOTH), RZ);
  const [replace, clear, take] = [selector(REPLACE), selector(CLEAR), selector(TAKE)];
  const [given, other] = [twice(value), swapped === null ? null : twice(swapped)];
  return {
    ad: { ...place.ad, base: whole, offset: 0 },
    next(d, old) {
      let changed = other ?? given;
      if (op !== 'CAS' && op !== 'EXCH') {
        const name = SUMS[`${op} ${type[0]}`];
        if (name === undefined) throw s.unsupported('no loop is written for this operation');
        changed = s.register(s.make('R', 1));
        emit(s, name, { d: changed, a: old, b: given });
      }
      emit(s, ['PRMT'], { d: s.register(d), a: old, b: replace, c: changed });
      return op === 'CAS' ? permuted(old, replace, given) : old;
    },
    // Another thread may have changed the other half alone.
    rest: (word) => (op === 'CAS' ? permuted(word, clear, RZ) : word),
    result: (d, word) => emit(s, ['PRMT'], { d, a: word, b: take, c: RZ }),
  };
}

/** The new value. */
function compute(
  s: Emitter,
  op: string,
  type: readonly string[],
  next: number,
  old: number,
  value: Arg,
): void {
  const name = SUMS[`${op} ${type[0]}`];
  if (name !== undefined) return emit(s, name, { d: s.register(next), a: s.register(old), b: value });
  if (value.kind !== 'register' && value.kind !== 'fixed') throw s.unsupported('its value is in no register');
  const word = (k: number): Arg => s.partOf(value, k);
  const isLongInteger = ['64', 'S64'].includes(type[0]);
  const table = TABLES[op];
  if (table !== undefined && isLongInteger) {
    for (const k of [0, 1])
      emit(s, ['LOP3', 'LUT'], {
        d: s.wordOf(next, k),
        a: s.wordOf(old, k),
        b: word(k),
        c: RZ,
        t: number(table),
        q: number(0),
      });
    return;
  }
  const order = ORDERS[op];
  if (order !== undefined && isLongInteger) {
    const [low, first] = [s.make('P', 1), s.make('P', 1)];
    emit(s, ['ISETP', order, 'U32', 'AND'], { d: s.register(low), a: s.wordOf(old, 0), b: word(0), p: PT });
    emit(s, ['ISETP', order, ...(type[0] === '64' ? ['U32'] : []), 'AND', 'EX'], {
      d: s.register(first),
      a: s.wordOf(old, 1),
      b: word(1),
      p: PT,
      x: s.register(low),
    });
    for (const k of [0, 1])
      emit(s, ['SEL'], { d: s.wordOf(next, k), a: s.wordOf(old, k), b: word(k), p: s.register(first) });
    return;
  }
  if (op !== 'ADD' || !isLongInteger) throw s.unsupported('no loop is written for this operation');
  const carry = s.make('P', 1);
  emit(s, ['IADD3'], { d: s.wordOf(next, 0), p: s.register(carry), a: s.wordOf(old, 0), b: word(0), c: RZ });
  emit(s, ['IADD3', 'X'], {
    d: s.wordOf(next, 1),
    a: s.wordOf(old, 1),
    b: word(1),
    c: RZ,
    ci: s.register(carry),
  });
}
