import { Mod } from '../../ir/opcode.ts';
import { imm, immOf, immPair, NO_REG, type Operand, PT, RZ, reg, withOperandMods } from '../../ir/operand.ts';
import { AND } from '../../ir/truth-tables.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import type { FnLower } from './function.ts';
import type { Handler } from './handler.ts';
import { has, type PtxType, typesOf } from './types.ts';

/**
 * Scalar video instructions (PTX ISA 9.0, 9.7.18): bytes, halves or words of a and b are extended, combined exactly, clamped under `.sat`,
 * and then combined with c or merged into it. All steps use 64 bits, which hold every exact result.
 */

const isSigned = (t: PtxType | undefined): boolean => t?.kind === 'signed';
const signed64 = (t: PtxType): string => (isSigned(t) ? 'S64' : 'U64');

/** First bit and width of a byte (`b0` to `b3`), a half (`h0`, `h1`) or the whole word. */
function lane(part: string): readonly [number, number] {
  const m = /^([bh])([0-3])$/.exec(part);
  if (m === null) return [0, 32];
  const bits = m[1] === 'b' ? 8 : 16;
  return [Number(m[2]) * bits, bits];
}

const partOf = (o: PtxOperand): string => (o.kind === 'reg' ? o.part : '');
const negated = (o: PtxOperand): boolean => o.kind === 'reg' && o.neg;
const bare = (o: PtxOperand): PtxOperand => (o.kind === 'reg' ? { ...o, part: '', neg: false } : o);

/** A bound beyond every range, even after `.shr15` and an addition, so that values limited to it saturate like larger ones. */
const HUGE = 1n << 62n;

const word64 = (v: bigint): Operand => immOf(v, 64);
const add64 = (f: FnLower, x: Operand, y: Operand): Operand => f.value('IADD3', ['64'], [x, y, RZ], 64);
const not64 = (f: FnLower, x: Operand): Operand => f.value('LOP3', ['64'], [x, RZ, RZ, imm(0x0f)], 64);
const clamp = (f: FnLower, x: Operand, low: bigint, high: bigint): Operand =>
  f.value(
    'IMNMX',
    ['MIN', 'S64'],
    [f.value('IMNMX', ['MAX', 'S64'], [x, word64(low)], 64), word64(high)],
    64,
  );

/** The selected part of a source, extended to 64 bits according to its type. */
function source(f: FnLower, o: PtxOperand, t: PtxType): Operand {
  const [at, bits] = lane(partOf(o));
  const word = f.src(bare(o), 32);
  const part = bits === 32 ? word : f.value('BFE', [isSigned(t) ? 'S32' : 'U32'], [word, imm(at), imm(bits)]);
  return f.value('I2I', ['dt=S64', isSigned(t) ? 'st=S32' : 'st=U32'], [part], 64);
}

const low32 = (f: FnLower, x: Operand): Operand => {
  const r = f.temp();
  f.emit('UNPAIR', [], [r, NO_REG], [x]);
  return reg(r);
};

/** Range of the destination, or of the part of it that is selected. */
function range(type: PtxType, bits: number): readonly [bigint, bigint] {
  const n = BigInt(bits);
  return isSigned(type) ? [-(1n << (n - 1n)), (1n << (n - 1n)) - 1n] : [0n, (1n << n) - 1n];
}

/** Clamps the exact result, combines it with c or merges it into c, and writes the destination. */
function finish(f: FnLower, i: PtxInstr, type: PtxType, exact: Operand, sat: boolean): void {
  const to = i.operands[0];
  const [at, bits] = lane(partOf(to));
  const x = low32(f, sat ? clamp(f, exact, ...range(type, bits)) : exact);
  const op = i.mods.find((m) => m === 'add' || m === 'min' || m === 'max');
  const c = (): Operand => {
    if (i.operands.length < 4) throw new Unsupported('it has no third source');
    return f.src(i.operands[3], 32);
  };
  const d = f.dst(bare(to), 32).reg;
  if (op === 'add') f.emit('IADD3', [], [d], [x, c(), RZ]);
  else if (op !== undefined)
    f.emit('IMNMX', [op.toUpperCase(), isSigned(type) ? 'S32' : 'U32'], [d], [x, c()]);
  else if (bits < 32) f.emit('BFI', [], [d], [x, c(), imm(at), imm(bits)]);
  else f.emit('MOV', [], [d], [x]);
}

/** The three types of an instruction: destination and two sources. */
function types(i: PtxInstr): readonly [PtxType, PtxType, PtxType] {
  const [d, a, b] = typesOf(i.mods);
  if (b === undefined) throw new Unsupported('it has not three types');
  return [d, a, b];
}

const sum: Handler = (f, i) => {
  const [dt, at, bt] = types(i);
  const a = source(f, i.operands[1], at);
  const b = source(f, i.operands[2], bt);
  let exact: Operand;
  if (i.opcode === 'vmin' || i.opcode === 'vmax')
    exact = f.value('IMNMX', [i.opcode.slice(1).toUpperCase(), 'S64'], [a, b], 64);
  else if (i.opcode === 'vadd') exact = add64(f, a, b);
  else {
    exact = add64(f, a, withOperandMods(b, Mod.Neg));
    if (i.opcode === 'vabsdiff') exact = f.value('IABS', ['64'], [exact], 64);
  }
  finish(f, i, dt, exact, has(i, 'sat'));
};

/** Shifts by at most 32 (`.clamp`) or by the amount modulo 32 (`.wrap`). */
const shift: Handler = (f, i) => {
  const [dt, at, bt] = types(i);
  const a = source(f, i.operands[1], at);
  const n = low32(f, source(f, i.operands[2], bt));
  const amount = has(i, 'wrap')
    ? f.value('LOP3', [], [n, imm(31), RZ, imm(AND)])
    : f.value('IMNMX', ['MIN', 'U32'], [n, imm(32)]);
  const sat = has(i, 'sat');
  let exact =
    i.opcode === 'vshl'
      ? f.value('SHL', ['64'], [a, amount], 64)
      : f.value('SHR', [signed64(at)], [a, amount], 64);
  // An unsigned word shifted left by 32 would be negative for the signed clamp.
  if (sat && !isSigned(at)) exact = f.value('IMNMX', ['MIN', 'U64'], [exact, word64(HUGE)], 64);
  finish(f, i, dt, exact, sat);
};

/** The type of the result and of c in `vset`, for operands of any type. */
const UNSIGNED: PtxType = { name: 'u32', bits: 32, kind: 'unsigned' };

const set: Handler = (f, i) => {
  const [at, bt] = typesOf(i.mods);
  const relation = i.mods.find((m) => /^(eq|ne|lt|le|gt|ge)$/.test(m));
  if (bt === undefined || relation === undefined) throw new Unsupported();
  const p = f.tempPred();
  f.emit(
    'ISETP',
    [relation.toUpperCase(), 'S64'],
    [p, NO_REG],
    [source(f, i.operands[1], at), source(f, i.operands[2], bt), PT],
  );
  finish(f, i, UNSIGNED, f.value('SEL', ['64'], [immPair(1, 0), RZ, reg(p)], 64), false);
};

const mad: Handler = (f, i) => {
  const [, at, bt] = types(i);
  const [, a, b, c] = i.operands;
  if (c === undefined) throw new Unsupported('it has no third source');
  const minus = negated(a) !== negated(b);
  const isPlus = has(i, 'po');
  const result = isSigned(at) || isSigned(bt) || minus || negated(c);
  const sat = has(i, 'sat');
  let product = f.value('IMAD', ['LO', 'U64'], [source(f, a, at), source(f, b, bt), RZ], 64);
  if (sat && result && !isSigned(at) && !isSigned(bt))
    product = f.value('IMNMX', ['MIN', 'U64'], [product, word64(HUGE)], 64);
  let addend = f.value('I2I', ['dt=S64', result ? 'st=S32' : 'st=U32'], [f.src(bare(c), 32)], 64);
  if (!isPlus && minus) product = not64(f, product);
  else if (!isPlus && negated(c)) addend = not64(f, addend);
  let total = add64(f, product, addend);
  if (isPlus || minus || negated(c)) total = add64(f, total, immPair(1, 0));
  const scale = has(i, 'shr7') ? 7 : has(i, 'shr15') ? 15 : 0;
  if (scale > 0) total = f.value('SHR', [result ? 'S64' : 'U64'], [total, imm(scale)], 64);
  if (sat)
    total = result
      ? clamp(f, total, -(1n << 31n), (1n << 31n) - 1n)
      : f.value('IMNMX', ['MIN', 'U64'], [total, word64(0xffffffffn)], 64);
  f.emit('UNPAIR', [], [f.dst(bare(i.operands[0]), 32).reg, NO_REG], [total]);
};

/** Handlers by opcode: scalar video instructions. */
export const videoHandlers: Readonly<Record<string, Handler>> = {
  vadd: sum,
  vsub: sum,
  vabsdiff: sum,
  vmin: sum,
  vmax: sum,
  vshl: shift,
  vshr: shift,
  vset: set,
  vmad: mad,
};

/** The bytes of {b, a} that a lane selector selects, lowest first: `.b7654`, or `.h32` for halves; null for other texts. */
function selected(part: string): number[] | null {
  if (/^b[0-7]{4}$/.test(part)) return [...part.slice(1)].reverse().map(Number);
  if (!/^h[0-3]{2}$/.test(part)) return null;
  return [...part.slice(1)].reverse().flatMap((h) => [2 * Number(h), 2 * Number(h) + 1]);
}

/**
 * Replaces lane selectors of a SIMD video instruction (PTX ISA 9.0, 9.7.18, `.asel` and `.bsel`) by permutations of its source words, which
 * are emitted before it. Other instructions are returned unchanged.
 *
 * @throws Unsupported if a selector is invalid
 */
export function withSelectors(f: FnLower, i: PtxInstr): PtxInstr {
  if (!/^v\w+[24]$/.test(i.opcode)) return i;
  const [d, a, b] = i.operands;
  if (b === undefined) return i;
  const to = /^(?:b3210|h10)$/.test(partOf(d)) ? bare(d) : d;
  if (partOf(a) === '' && partOf(b) === '') return { ...i, operands: [to, ...i.operands.slice(1)] };
  const words = [f.src(bare(a), 32), f.src(bare(b), 32)];
  const permuted = [a, b].map((o, k): PtxOperand => {
    const part = partOf(o);
    if (part === '') return o;
    const bytes = selected(part);
    if (bytes === null) throw new Unsupported(`'.${part}' selects no lanes`);
    const selector = bytes.reduce((s, byte, at) => s | (byte << (4 * at)), 0);
    const name = f.unique(`lanes${k}`);
    const r = f.temp();
    f.scope.regs.set(name, { reg: r, bits: 32 });
    f.emit('PRMT', [], [r], [words[0], imm(selector), words[1]]);
    return { kind: 'reg', name, neg: false, not: false, part: '', span: i.span };
  });
  return { ...i, operands: [to, ...permuted, ...i.operands.slice(3)] };
}
