import { NO_REG } from '../ir/operand.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';

/*
 * Atomic operations on shared memory that the hardware does not have: a loop computes the new value from the old one, and swaps it in if
 * the old one is still there.
 *
 *     ATOMS.ADD.F32 R4, [R2], R3             LDS R5, [R2]
 *                                       L:   FADD R6, R5, R3
 *                                            ATOMS.CAS R7, [R2], R5, R6
 *                                            ISETP.NE P0, R7, R5
 *                                            MOV R5, R7
 *                                        @P0 BRA L
 *                                            MOV R4, R5
 */

/** Names of instructions that compute the new value, by operation and type in machine code. */
const SUMS: Readonly<Record<string, readonly string[]>> = {
  'ADD F32': ['FADD'],
  'ADD F64': ['DADD'],
  'ADD F16x2': ['HADD2'],
};
const TABLES: Readonly<Record<string, number>> = { AND: 0xc0, OR: 0xfc, XOR: 0x3c };

/** Whether an operation on shared memory has no instruction of its own. */
export const needsLoop = (op: string, type: readonly string[]): boolean =>
  type.length > 1 || (['64', 'S64'].includes(type[0]) && !['EXCH', 'CAS'].includes(op));

/**
 * Writes the loop.
 *
 * @param type the type in machine code, in parts: `F32`, `FTZ`, `RN`
 * @throws Unsupported for other operations
 */
export function swapUntilDone(s: Emitter, ad: Arg, op: string, type: readonly string[], value: Arg): void {
  const { ins } = s;
  const isWide = ['64', 'S64', 'F64'].includes(type[0]);
  const words = isWide ? 2 : 1;
  const [loop, done, after] = [s.newId(), s.newId(), s.newId()];
  if (ins.guard !== NO_REG) s.branchIf(s.of(ins.guard), !ins.guardNot, after);
  s.ins = { ...ins, guard: NO_REG, guardNot: false };
  const [old, next, found] = [s.make('R', words), s.make('R', words), s.make('R', words)];
  const size = isWide ? ['64'] : [];
  const emit = (name: readonly string[], args: Readonly<Record<string, Arg>>): void =>
    s.emitNamed(name, new Map(Object.entries(args)));
  emit(['LDS', ...size], { d: s.register(old), ad });
  s.cut(loop, [loop, ...(ins.guard === NO_REG ? [] : [after])]);
  compute(s, op, type, next, old, value, emit);
  emit(['ATOMS', 'CAS', ...size], { d: s.register(found), ad, b: s.register(old), c: s.register(next) });
  const differs = s.make('P', 1);
  const compare = (word: number, isLast: boolean, before: number | null): number => {
    const p = isLast ? differs : s.make('P', 1);
    emit(['ISETP', 'NE', 'U32', before === null ? 'AND' : 'OR'], {
      d: s.register(p),
      a: s.wordOf(found, word),
      b: s.wordOf(old, word),
      ...(before !== null && { p: s.register(before) }),
    });
    return p;
  };
  let before: number | null = null;
  for (let k = 0; k < words; k++) before = compare(k, k === words - 1, before);
  for (let k = 0; k < words; k++) s.move(s.wordOf(old, k), s.wordOf(found, k));
  s.branchIf(differs, false, loop);
  s.cut(done, [loop, done]);
  const [d = NO_REG] = ins.dst;
  if (d !== NO_REG) for (let k = 0; k < words; k++) s.move(s.wordOf(s.of(d), k), s.wordOf(old, k));
  s.cut(after, [after]);
  s.ins = ins;
}

/** The new value. */
function compute(
  s: Emitter,
  op: string,
  type: readonly string[],
  next: number,
  old: number,
  value: Arg,
  emit: (name: readonly string[], args: Readonly<Record<string, Arg>>) => void,
): void {
  const sum = SUMS[`${op} ${type[0]}`];
  if (sum !== undefined) return emit(sum, { d: s.register(next), a: s.register(old), b: value });
  if (value.kind !== 'register' && value.kind !== 'fixed') throw s.unsupported('its value is in no register');
  const word = (k: number): Arg =>
    value.kind === 'register' ? { ...value, word: value.word + k, words: 1 } : RZ;
  const table = TABLES[op];
  if (table !== undefined && ['64', 'S64'].includes(type[0])) {
    for (const k of [0, 1])
      emit(['LOP3', 'LUT'], {
        d: s.wordOf(next, k),
        a: s.wordOf(old, k),
        b: word(k),
        c: RZ,
        t: { kind: 'number', lo: table, hi: null, mods: 0 },
        q: { kind: 'number', lo: 0, hi: null, mods: 0 },
      });
    return;
  }
  if (op !== 'ADD' || !['64', 'S64'].includes(type[0]))
    throw s.unsupported('shared memory has no such operation, and no loop is written for it');
  const carry = s.make('P', 1);
  emit(['IADD3'], { d: s.wordOf(next, 0), p: s.register(carry), a: s.wordOf(old, 0), b: word(0), c: RZ });
  emit(['IADD3', 'X'], {
    d: s.wordOf(next, 1),
    a: s.wordOf(old, 1),
    b: word(1),
    c: RZ,
    ci: s.register(carry),
  });
}
