import { modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, Mod } from '../ir/operand.ts';
import { address, SIZES, sum } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import { emit, type Handler, mod, number, PT } from './operands.ts';

/* Copies that go on while the thread does, and waiting for them. */

/**
 * Copies from global to shared memory. If fewer bytes than the size are copied and zeros written for the rest, the low bits of the address
 * say how many are missing; none are copied if the predicate is false (seen in code of ptxas 13.0.88 for sm_80 and sm_90).
 */
export const copy: Handler = (s) => {
  const { ins } = s;
  const bytes = { B4: 4, B8: 8, B16: 16 }[modOf(ins.op, ins.mods, 'size')]!;
  const [to, from] = [address(s, ins.src[0], false), address(s, ins.src[1], true)];
  const n = ins.src[2];
  const fetch = mod(s, 'fetch');
  const name = (isPart: boolean): string[] => [
    'LDGSTS',
    'E',
    ...(mod(s, 'cache') === 'CG' ? ['BYPASS'] : []),
    ...(['', 'NONE'].includes(fetch) ? [] : [`LTC${fetch.replace(/^L2_/, '')}`]),
    ...(bytes === 4 ? [] : [SIZES[bytes]]),
    ...(isPart ? ['ZFILL'] : []),
  ];
  const write = (isPart: boolean, ad: Arg, isAny: Arg): void => emit(s, name(isPart), { to, ad, q: isAny });
  if (n === undefined || (n.kind === Kind.Imm && (n.lo === -1 || n.lo >= bytes)))
    return write(false, from, PT);
  if (n.kind === Kind.Imm && n.lo === 0) return write(false, from, { ...PT, mods: Mod.Not });
  if (n.kind === Kind.Imm) return write(true, { ...from, offset: from.offset + bytes - n.lo }, PT);
  const count = s.operand(n, srcSlot(ins.op, 2)!);
  const missing = s.make('R', 1);
  emit(s, ['IADD3'], {
    d: s.register(missing),
    a: { ...(count.kind === 'register' ? count : s.loaded(count)), mods: Mod.Neg },
    b: number(bytes),
    c: RZ,
  });
  emit(s, ['LOP3', 'LUT'], {
    d: s.register(missing),
    a: s.register(missing),
    b: number(bytes - 1),
    c: RZ,
    t: number(0xc0),
    q: { ...PT, mods: Mod.Not },
  });
  const isAny = s.make('P', 1);
  emit(s, ['ISETP', 'NE', 'U32', 'AND'], {
    d: s.register(isAny),
    a: count.kind === 'register' ? count : s.loaded(count),
    b: RZ,
    p: PT,
  });
  write(true, { ...from, base: sum(s, from.base!, [s.register(missing), RZ], true) }, s.register(isAny));
};

/** Waits until so many groups of copies are left. */
export const waitForCopies: Handler = (s) => {
  const all = mod(s, 'all') === 'ALL';
  if (all) emit(s, ['LDGDEPBAR']);
  emit(s, ['DEPBAR', 'LE'], {
    b: { kind: 'fixed', file: 'SB', number: 0, mods: 0 },
    n: number(all ? 0 : s.ins.src[0].lo),
  });
};
