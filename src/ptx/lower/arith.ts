import { toOperands } from '../../ir/edit.ts';
import { Mod } from '../../ir/opcode.ts';
import { imm, immPair, NO_REG, type Operand, PF, PT, RZ, reg, withOperandMods } from '../../ir/operand.ts';
import { A, AND, OR, XOR } from '../../ir/truth-tables.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import type { FnLower } from './function.ts';
import { has, intMod, lastType, type PtxType, sizeMod, typesOf } from './types.ts';

/** Lowers one instruction of a family. @throws Unsupported if this form of it has no Ori opcodes */
export type Handler = (f: FnLower, i: PtxInstr) => void;

/** Requires at least `n` operands. @throws Unsupported otherwise */
export const need = (i: PtxInstr, n: number): void => {
  if (i.operands.length < n) throw new Unsupported(`it has ${i.operands.length} operands, ${n} are expected`);
};

/** The last type of an instruction. @throws Unsupported if it has none */
export function typeOf(i: PtxInstr): PtxType {
  const t = lastType(i.mods);
  if (t === null) throw new Unsupported('it has no type');
  return t;
}

/** Is it an integer or bit type? */
export const isInt = (t: PtxType): boolean =>
  t.kind === 'signed' || t.kind === 'unsigned' || t.kind === 'bits';
const neg = (o: Operand): Operand => withOperandMods(o, o.mods ^ Mod.Neg);
/** A source of an integer operation; signed values narrower than 32 bits are sign-extended. */
function intSrc(f: FnLower, i: PtxInstr, at: number, t: PtxType): Operand {
  const o = f.src(i.operands[at], t.bits);
  return t.bits < 32 && t.kind === 'signed' ? f.signed(o, t.bits) : o;
}

/** Emits `op` into the destination; results narrower than 32 bits are masked to their width. */
function into(
  f: FnLower,
  i: PtxInstr,
  t: PtxType,
  op: string,
  mods: readonly string[],
  src: readonly Operand[],
): void {
  const d = f.dst(i.operands[0], t.bits);
  if (t.bits >= 32) f.emit(op, mods, [d.reg], src);
  else f.maskInto(d.reg, f.value(op, mods, src), t.bits);
}

const add: Handler = (f, i) => {
  need(i, 3);
  const t = typeOf(i);
  const a = f.src(i.operands[1], t.bits);
  const b = f.src(i.operands[2], t.bits);
  const minus = i.opcode === 'sub';
  if (t.kind === 'other' || has(i, 'sat')) throw new Unsupported();
  if (has(i, 'cc')) return addCarry(f, i, t, a, b, PF, minus, true);
  into(f, i, t, 'IADD3', [sizeMod(t.bits)], [a, minus ? neg(b) : b, RZ]);
};

/** `addc`, `subc`: with carry in, and with carry out under `.cc`. */
const addc: Handler = (f, i) => {
  need(i, 3);
  const t = typeOf(i);
  addCarry(
    f,
    i,
    t,
    f.src(i.operands[1], t.bits),
    f.src(i.operands[2], t.bits),
    reg(f.carryReg()),
    i.opcode === 'subc',
    has(i, 'cc'),
  );
};

/**
 * d = a + b + carry, or a + ~b + carry for a difference, which begins with a carry of one. The PTX ISA calls the value that a subtraction
 * leaves in CC.CF a borrow. In machine code it is the carry of this sum, which is read in the same way after add.cc and after sub.cc (ptxas
 * 13.0.88, whose constant folding agrees).
 */
function addCarry(
  f: FnLower,
  i: PtxInstr,
  t: PtxType,
  a: Operand,
  b: Operand,
  ci: Operand,
  minus: boolean,
  cc: boolean,
): void {
  const d = f.dst(i.operands[0], t.bits);
  const carryIn = minus && ci.reg === NO_REG ? PT : ci;
  // The carry goes to a temporary first, since the sum reads the carry register.
  const co = cc ? f.tempPred() : NO_REG;
  f.emit(
    'IADDX',
    [sizeMod(t.bits)],
    [d.reg, co],
    [a, minus ? withOperandMods(b, b.mods ^ Mod.Not) : b, carryIn],
  );
  if (cc) f.emit('PLOP3', [], [f.carryReg()], [reg(co), PT, PT, imm(A)]);
}

const mul: Handler = (f, i) => {
  need(i, 3);
  multiply(f, i, RZ);
};

const mad: Handler = (f, i) => {
  need(i, 4);
  const t = typeOf(i);
  if (has(i, 'cc') || i.opcode === 'madc') {
    const product = f.value(
      'IMAD',
      [has(i, 'hi') ? 'HI' : 'LO', intMod(t)],
      [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits), RZ],
      t.bits,
    );
    return addCarry(
      f,
      i,
      t,
      product,
      f.src(i.operands[3], t.bits),
      i.opcode === 'madc' ? reg(f.carryReg()) : PF,
      false,
      has(i, 'cc'),
    );
  }
  if (has(i, 'sat')) throw new Unsupported();
  multiply(f, i, f.src(i.operands[3], has(i, 'wide') ? t.bits * 2 : t.bits));
};

function multiply(f: FnLower, i: PtxInstr, c: Operand): void {
  const t = typeOf(i);
  const a = intSrc(f, i, 1, t);
  const b = intSrc(f, i, 2, t);
  if (has(i, 'wide')) {
    const d = f.dst(i.operands[0], t.bits * 2);
    if (t.bits === 16) f.emit('IMAD', ['LO', 'S32'], [d.reg], [a, b, c]);
    else f.emit('IMAD_WIDE', [intMod(t)], [d.reg], [a, b, c]);
    return;
  }
  if (!has(i, 'hi')) return into(f, i, t, 'IMAD', ['LO', intMod(t)], [a, b, c]);
  if (t.bits >= 32) return into(f, i, t, 'IMAD', ['HI', intMod(t)], [a, b, c]);
  const product = f.value('IMAD', ['LO', 'S32'], [a, b, RZ]);
  const high = f.value('SHR', ['U32'], [product, imm(16)]);
  into(f, i, t, 'IADD3', ['B32'], [high, c, RZ]);
}

/** 24-bit products: the low 24 bits of each factor, extended according to the type. */
const mul24: Handler = (f, i) => {
  const t = typeOf(i);
  if (has(i, 'sat')) throw new Unsupported();
  const cut = (at: number) => f.value('SGXT', [intMod(t)], [f.src(i.operands[at], 32), imm(24)]);
  if (has(i, 'hi')) {
    const p = f.value('IMAD_WIDE', [intMod(t)], [cut(1), cut(2), RZ], 64);
    const h = f.value('SHR', [t.kind === 'signed' ? 'S64' : 'U64'], [p, imm(16)], 64);
    const lo = f.temp();
    f.emit('UNPAIR', [], [lo, NO_REG], [h]);
    f.emit(
      'IADD3',
      [],
      [f.dst(i.operands[0], 32).reg],
      [reg(lo), i.opcode === 'mad24' ? f.src(i.operands[3], 32) : RZ, RZ],
    );
    return;
  }
  into(
    f,
    i,
    t,
    'IMAD',
    ['LO', intMod(t)],
    [cut(1), cut(2), i.opcode === 'mad24' ? f.src(i.operands[3], 32) : RZ],
  );
};

const divide: Handler = (f, i) => {
  const t = typeOf(i);
  into(f, i, t, i.opcode === 'rem' ? 'IREM' : 'IDIV', [intMod(t)], [intSrc(f, i, 1, t), intSrc(f, i, 2, t)]);
};

const minmax: Handler = (f, i) => {
  const t = typeOf(i);
  if (has(i, 'relu') || t.kind === 'other') throw new Unsupported();
  into(f, i, t, 'IMNMX', [i.opcode.toUpperCase(), intMod(t)], [intSrc(f, i, 1, t), intSrc(f, i, 2, t)]);
};

const absNeg: Handler = (f, i) => {
  const t = typeOf(i);
  const a = intSrc(f, i, 1, t);
  if (i.opcode === 'abs') into(f, i, t, 'IABS', [sizeMod(t.bits)], [a]);
  else into(f, i, t, 'IADD3', [sizeMod(t.bits)], [neg(a), RZ, RZ]);
};

const LUT: Readonly<Record<string, number>> = { and: AND, or: OR, xor: XOR };

const logic: Handler = (f, i) => {
  const t = typeOf(i);
  const lut = LUT[i.opcode];
  if (t.kind === 'pred') {
    f.emit(
      'PLOP3',
      [],
      [f.dst(i.operands[0], 1).reg],
      [f.pred(i.operands[1]), f.pred(i.operands[2]), PT, imm(lut)],
    );
    return;
  }
  const d = f.dst(i.operands[0], t.bits);
  f.emit(
    'LOP3',
    [sizeMod(t.bits)],
    [d.reg],
    [f.src(i.operands[1], t.bits), f.src(i.operands[2], t.bits), RZ, imm(lut)],
  );
};

const not: Handler = (f, i) => {
  const t = typeOf(i);
  const d = f.dst(i.operands[0], t.bits);
  if (t.kind === 'pred') f.emit('PLOP3', [], [d.reg], [f.pred(i.operands[1]), PT, PT, imm(0x0f)]);
  else if (t.bits < 32)
    f.emit('LOP3', [], [d.reg], [f.src(i.operands[1], t.bits), imm(0xffff), RZ, imm(0x0c)]);
  else f.emit('LOP3', [sizeMod(t.bits)], [d.reg], [f.src(i.operands[1], t.bits), RZ, RZ, imm(0x0f)]);
};

const cnot: Handler = (f, i) => {
  const t = typeOf(i);
  const p = f.tempPred();
  f.emit('ISETP', ['EQ', t.bits === 64 ? 'U64' : 'U32'], [p, NO_REG], [f.src(i.operands[1], t.bits), RZ, PT]);
  f.emit('SEL', [sizeMod(t.bits)], [f.dst(i.operands[0], t.bits).reg], [immPair(1, 0), RZ, reg(p)]);
};

const shift: Handler = (f, i) => {
  const t = typeOf(i);
  const n = f.src(i.operands[2], 32);
  if (i.opcode === 'shl') into(f, i, t, 'SHL', [sizeMod(t.bits)], [f.src(i.operands[1], t.bits), n]);
  else into(f, i, t, 'SHR', [intMod(t)], [intSrc(f, i, 1, t), n]);
};

const shf: Handler = (f, i) => {
  const [a, b, c] = toOperands([1, 2, 3], (k) => f.src(i.operands[k], 32));
  f.emit(
    'SHF',
    [has(i, 'l') ? 'L' : 'R', has(i, 'wrap') ? 'W' : 'CLAMP'],
    [f.dst(i.operands[0], 32).reg],
    [a, c, b],
  );
};

const PRMT_MODES: Readonly<Record<string, string>> = {
  f4e: 'F4E',
  b4e: 'B4E',
  rc8: 'RC8',
  ecl: 'ECL',
  ecr: 'ECR',
  rc16: 'RC16',
};

const prmt: Handler = (f, i) => {
  const mode = i.mods.map((m) => PRMT_MODES[m]).find((m) => m !== undefined) ?? 'IDX';
  f.emit(
    'PRMT',
    [mode],
    [f.dst(i.operands[0], 32).reg],
    [f.src(i.operands[1], 32), f.src(i.operands[3], 32), f.src(i.operands[2], 32)],
  );
};

const lop3: Handler = (f, i) => {
  const [to] = i.operands;
  const src = toOperands([1, 2, 3, 4], (k) => f.src(i.operands[k], 32));
  if (to.kind !== 'pair') return f.emit('LOP3', [], [f.dst(to, 32).reg], src);
  // The predicate is whether the word is not zero, combined with another one. Both results are written after all sources are read.
  const bool = LUT[i.mods.find((m) => m === 'and' || m === 'or') ?? ''];
  if (bool === undefined || i.operands.length < 6) throw new Unsupported();
  const test = f.tempPred();
  const word = f.temp();
  f.emit('LOP3_P', [], [test, NO_REG], src);
  f.emit('LOP3', [], [word], src);
  f.emit('PLOP3', [], [f.dst(to.second, 1).reg], [reg(test), f.pred(i.operands[5]), PT, imm(bool)]);
  if (to.first.kind !== 'sink') f.emit('MOV', [], [f.dst(to.first, 32).reg], [reg(word)]);
};

const bfe: Handler = (f, i) => {
  const t = typeOf(i);
  f.emit(
    'BFE',
    [intMod(t)],
    [f.dst(i.operands[0], t.bits).reg],
    [f.src(i.operands[1], t.bits), f.src(i.operands[2], 32), f.src(i.operands[3], 32)],
  );
};

const bfi: Handler = (f, i) => {
  const t = typeOf(i);
  f.emit(
    'BFI',
    [sizeMod(t.bits)],
    [f.dst(i.operands[0], t.bits).reg],
    [
      f.src(i.operands[1], t.bits),
      f.src(i.operands[2], t.bits),
      f.src(i.operands[3], 32),
      f.src(i.operands[4], 32),
    ],
  );
};

const bits: Handler = (f, i) => {
  const t = typeOf(i);
  const a = f.src(i.operands[1], t.bits);
  const wide = i.opcode === 'brev' ? t.bits : 32;
  const d = f.dst(i.operands[0], wide);
  switch (i.opcode) {
    case 'popc':
      return f.emit('POPC', [sizeMod(t.bits)], [d.reg], [a]);
    case 'brev':
      return f.emit('BREV', [sizeMod(t.bits)], [d.reg], [a]);
    case 'bfind':
      return f.emit('FLO', has(i, 'shiftamt') ? [intMod(t), 'SH'] : [intMod(t)], [d.reg], [a]);
    default: {
      // clz = width - 1 - FLO, and FLO of zero is -1.
      const top = f.value('FLO', [t.bits === 64 ? 'U64' : 'U32'], [a]);
      return f.emit('IADD3', [], [d.reg], [imm(t.bits - 1), neg(top), RZ]);
    }
  }
};

const bmsk: Handler = (f, i) =>
  f.emit(
    'BMSK',
    [has(i, 'wrap') ? 'W' : 'CLAMP'],
    [f.dst(i.operands[0], 32).reg],
    [f.src(i.operands[1], 32), f.src(i.operands[2], 32)],
  );

/** Extension of the low n bits; `.wrap` takes n modulo 32, and n = 0 gives 0. */
const szext: Handler = (f, i) => {
  const n = f.src(i.operands[2], 32);
  const count = has(i, 'wrap') ? f.value('LOP3', [], [n, imm(31), RZ, imm(AND)]) : n;
  f.emit('SGXT', [intMod(typeOf(i))], [f.dst(i.operands[0], 32).reg], [f.src(i.operands[1], 32), count]);
};

const sad: Handler = (f, i) => {
  const t = typeOf(i);
  const a = intSrc(f, i, 1, t);
  const b = intSrc(f, i, 2, t);
  const hi = f.value('IMNMX', ['MAX', intMod(t)], [a, b], t.bits);
  const lo = f.value('IMNMX', ['MIN', intMod(t)], [a, b], t.bits);
  into(f, i, t, 'IADD3', [sizeMod(t.bits)], [hi, neg(lo), f.src(i.operands[3], t.bits)]);
};

const dp: Handler = (f, i) => {
  const [at, bt] = typesOf(i.mods);
  if (at === undefined || bt === undefined) throw new Unsupported('it has not two types');
  const part = i.opcode === 'dp4a' ? '4A' : has(i, 'hi') ? '2A_HI' : '2A_LO';
  f.emit(
    'IDP',
    [part, at.kind === 'signed' ? 'SA' : 'UA', bt.kind === 'signed' ? 'SB' : 'UB'],
    [f.dst(i.operands[0], 32).reg],
    toOperands([1, 2, 3], (k) => f.src(i.operands[k], 32)),
  );
};

/** Handlers by opcode: families of integers and predicates, and the integer forms of families that floats have too. */
export const integerHandlers: Readonly<Record<string, Handler>> = {
  add,
  sub: add,
  addc,
  subc: addc,
  mul,
  mad,
  madc: mad,
  mul24,
  mad24: mul24,
  div: divide,
  rem: divide,
  min: minmax,
  max: minmax,
  abs: absNeg,
  neg: absNeg,
  and: logic,
  or: logic,
  xor: logic,
  not,
  cnot,
  shl: shift,
  shr: shift,
  shf,
  prmt,
  lop3,
  bfe,
  bfi,
  popc: bits,
  brev: bits,
  bfind: bits,
  clz: bits,
  bmsk,
  szext,
  sad,
  dp4a: dp,
  dp2a: dp,
};
