import { hasMod, modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, Mod, NO_REG, type Operand } from '../ir/operand.ts';
import { address } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';
import { emit, number, PT } from './operands.ts';

/*
 * Memory barrier objects, as ptxas 13.0.88 writes them. An object for n arrivals is a word of 64 bits. From sm_90 on the hardware counts up
 * in it: it begins with MOST_ARRIVALS - n in bits 1 and 43. Before, the lower half begins with 2^30 - n, and the upper one with 2^31 - n,
 * which counts up to the phase in its highest bit. The state that an arrival gives has the phase there too.
 */

const MOST_ARRIVALS = 0x100000;
/** Bits of the two counts in their words. */
const COUNTS = [1, 11] as const;
/** Beginnings of the halves before sm_90. */
const BEGINNINGS = [0x40000000, -0x80000000] as const;
/** Bit of the phase in the upper word. */
const PHASE = 31;
/** `(a ^ c) & b`, by the bits of a truth table. */
const DIFFERS_IN = 0x48;

/** Whether the hardware has instructions for such objects. */
const isNative = (s: Emitter): boolean => s.around.machine.byName.has('SYNCS');

/** A source as a register; RZ for zero. */
function registerOf(s: Emitter, k: number): Arg {
  const o: Operand = s.ins.src[k];
  if (o.kind === Kind.Imm && o.lo === 0 && o.hi === 0) return RZ;
  const a = s.operand(o, srcSlot(s.ins.op, k)!);
  return a.kind === 'register' ? a : s.loaded(a);
}

/** Half of the object. */
const plus = (ad: Arg & { readonly kind: 'address' }, bytes: number): Arg => ({
  ...ad,
  offset: ad.offset + bytes,
});

export function initialize(s: Emitter): void {
  const ad = address(s, s.ins.src[0], false);
  const count = { ...registerOf(s, 1), mods: Mod.Neg };
  if (isNative(s)) return exchange(s, ad, count);
  const words = s.make('R', 2);
  BEGINNINGS.forEach((from, k) => {
    emit(s, ['IADD3'], { d: s.wordOf(words, k), a: count, b: number(from), c: RZ });
  });
  emit(s, ['STS', '64'], { ad, b: s.register(words) });
}

/** The object is exchanged for its beginning. All operands are uniform registers, so lanes with other addresses take another turn. */
function exchange(s: Emitter, { base, offset }: Arg & { readonly kind: 'address' }, negated: Arg): void {
  s.inBlocks((after) => {
    const loop = s.newId();
    const [at, left] = [0, 1].map(() => s.register(s.make('R', 1)));
    emit(s, ['IADD3'], { d: left, a: negated, b: number(MOST_ARRIVALS), c: RZ });
    const counts = COUNTS.map((by) => {
      const d = s.register(s.make('R', 1));
      emit(s, ['SHF', 'L', 'U32'], { d, a: left, b: number(by), c: RZ });
      return d;
    });
    emit(s, ['IADD3'], { d: at, a: base ?? RZ, b: number(offset), c: RZ });
    s.cut(loop, [loop]);
    const [place, words, differs] = [s.register(s.make('UR', 1)), s.make('UR', 2), s.make('P', 1)];
    emit(s, ['R2UR'], { d: place, a: at });
    counts.forEach((a, k) => {
      emit(s, ['R2UR'], { d: s.wordOf(words, k), a });
    });
    emit(s, ['ISETP', 'NE', 'U32', 'AND'], { d: s.register(differs), a: at, b: place, p: PT });
    emit(s, ['SYNCS', 'EXCH', '64'], {
      d: { kind: 'fixed', file: 'UR', number: null, mods: 0 },
      ad: { kind: 'address', base: place, offset: 0, descriptor: null, mods: 0 },
      b: s.register(words),
    });
    s.branchIf(differs, false, loop);
    s.cut(s.newId(), [loop, after]);
  });
}

export function invalidate(s: Emitter): void {
  if (isNative(s)) emit(s, ['SYNCS', 'CCTL', 'IV'], { ad: address(s, s.ins.src[0], false) });
}

/** Arrivals: of one thread, of several, and such as expect bytes. */
export function arrive(s: Emitter): void {
  const ad = address(s, s.ins.src[0], false);
  const [d = NO_REG] = s.ins.dst;
  const to: Arg = d === NO_REG ? RZ : s.register(s.of(d));
  const n = s.ins.src[1];
  const isOne = n === undefined || (n.kind === Kind.Imm && n.lo === 1);
  const op = modOf(s.ins.op, s.ins.mods, 'op');
  const completes = !hasMod(s.ins.op, s.ins.mods, 'NOCOMPLETE');
  const drops = op === 'ARRIVE_DROP';
  if (!isNative(s)) {
    if ((op !== 'ARRIVE' && !drops) || !isOne || !completes)
      throw s.unsupported('it has no machine code yet');
    emit(s, ['MEMBAR', 'ALL', 'CTA'], {});
    if (drops) emit(s, ['ATOMS', 'POPC', 'INC', '32'], { d: RZ, ad });
    return emit(s, ['ATOMS', 'ARRIVE', '64'], { d: to, ad });
  }
  const name = ['SYNCS', 'ARRIVE', 'TRANS64'];
  const given = (): Arg => (isOne ? RZ : registerOf(s, 1));
  if (completes && (op === 'ARRIVE' || drops))
    return emit(s, [...name, drops ? 'OPTOUT' : '', isOne ? 'A1T0' : 'ART0'], { d: to, ad, b: given() });
  if (completes && op === 'ARRIVE_EXPECT_TX') return emit(s, name, { d: to, ad, b: registerOf(s, 1) });
  if (completes && op === 'EXPECT_TX')
    return emit(s, [...name, 'RED', 'A0TR'], { d: RZ, ad, b: registerOf(s, 1) });
  throw s.unsupported('it has no machine code yet');
}

/** Tests the phase. How long it may wait is a hint, which is dropped. */
export function wait(s: Emitter): void {
  const ad = address(s, s.ins.src[0], false);
  let phase = s.partOf(registerOf(s, 1), 1);
  if (modOf(s.ins.op, s.ins.mods, 'by') === 'PARITY') {
    phase = s.register(s.make('R', 1));
    emit(s, ['SHF', 'L', 'U32'], { d: phase, a: registerOf(s, 1), b: number(PHASE), c: RZ });
  }
  const [d = NO_REG] = s.ins.dst;
  const to = d === NO_REG ? PT : s.register(s.of(d));
  if (isNative(s)) {
    const tries = modOf(s.ins.op, s.ins.mods, 'mode') === 'TRY' ? 'TRYWAIT' : '';
    return emit(s, ['SYNCS', 'PHASECHK', 'TRANS64', tries], { p: to, ad, b: phase });
  }
  const now = s.register(s.make('R', 1));
  emit(s, ['LDS'], { d: now, ad: plus(ad, 4) });
  emit(s, ['LOP3', 'LUT'], {
    p: to,
    d: RZ,
    a: now,
    b: number(1 << PHASE),
    c: phase,
    t: number(DIFFERS_IN),
    q: { ...PT, mods: Mod.Not },
  });
}
