import { imm, Mod, NO_REG, type Operand, PT, RegFile, RZ, reg, withOperandMods } from '../ir/operand.ts';
import type { Builder } from './builder.ts';
import { combine } from './integer.ts';

/*
 * Floats of 32 and 64 bits, and conversions.
 */

type Meaning = (b: Builder) => void;

const roundOf = (b: Builder): string => b.mod('round') || 'RN';
const flush = (b: Builder): string => {
  if (b.mod('denormal') === 'FMZ') b.fail('.FMZ has no meaning here yet');
  return b.mod('denormal') || b.mod('FTZ');
};

const two =
  (name: string): Meaning =>
  (b) => {
    b.without('scale');
    b.write(name, [roundOf(b), flush(b), b.mod('SAT')], [b.to('d')], [b.float('a'), b.float('b')]);
  };

const fused: Meaning = (b) =>
  b.write(
    'FFMA',
    [roundOf(b), flush(b), b.mod('SAT')],
    [b.to('d')],
    ['a', 'b', 'c'].map((n) => b.float(n, false, false)),
  );

/** Minimum where p is true, else maximum. */
const minmax: Meaning = (b) => {
  const p = b.truth('p');
  const compute = (op: string): Operand =>
    reg(b.pure('FMNMX', [op, b.mod('FTZ'), b.mod('NAN')], [b.float('a'), b.float('b')]));
  if (p.reg !== NO_REG) b.write('SEL', [], [b.to('d')], [compute('MIN'), compute('MAX'), p]);
  else b.give('d', compute(p === PT ? 'MIN' : 'MAX'));
};

/** Of three. */
const minmax3: Meaning = (b) => {
  const mods = [b.mod('FTZ'), b.mod('NAN')];
  const p = b.truth('p');
  const compute = (op: string): Operand =>
    reg(
      b.pure(
        'FMNMX3',
        [op, ...mods],
        ['a', 'b', 'c'].map((n) => b.float(n)),
      ),
    );
  if (p.reg !== NO_REG) b.write('SEL', [], [b.to('d')], [compute('MIN'), compute('MAX'), p]);
  else b.give('d', compute(p === PT ? 'MIN' : 'MAX'));
};

const select: Meaning = (b) => {
  b.without('FTZ');
  const bits = (name: string): Operand => {
    const s = b.signsOf(b.slot(name));
    const w = b.word(b.slot(name));
    return s.negative || s.absolute ? reg(b.signed(w, s)) : w;
  };
  b.write('SEL', [], [b.to('d')], [bits('a'), bits('b'), b.truth('p')]);
};

/** A comparison of floats, and what it is combined with. */
function answerOf(b: Builder): Operand {
  const cmp = b.mod('cmp');
  if (cmp === 'F' || cmp === 'T') return cmp === 'T' ? PT : withOperandMods(PT, Mod.Not);
  return reg(b.test('FSETP', [cmp, b.mod('FTZ')], [b.float('a'), b.float('b'), PT]));
}

const setPredicate: Meaning = (b) => combine(b, answerOf(b), b.mod('bool'), b.truth('p'));

const setOne: Meaning = (b) => {
  const bool = b.mod('bool');
  const table = bool === 'AND' ? 0xc0 : bool === 'OR' ? 0xfc : 0x3c;
  const answer = reg(b.test('PLOP3', [], [answerOf(b), b.truth('p'), PT, imm(table)]));
  b.write('SEL', [], [b.to('d')], [imm(0x3f800000), RZ, answer]);
};

const check: Meaning = (b) => b.write('FCHK', [], [b.to('d')], [b.float('a'), b.float('b')]);

/** High words of the functions on doubles, of which the unit sees and gives no more. */
const HIGH: Readonly<Record<string, string>> = { RCP64H: 'RCP', RSQ64H: 'RSQ' };

const special: Meaning = (b) => {
  const op = b.mod('op');
  const d = b.to('d');
  if (HIGH[op] !== undefined) {
    const s = b.signsOf(b.slot('b'));
    const x = b.word(b.slot('b'), b.slot('b').atom?.kind === 'f64' ? 1 : 0);
    const whole = b.pure('PAIR', [], [RZ, s.negative || s.absolute ? reg(b.signed(x, s)) : x], RegFile.RD);
    const y = b.pure('MUFU_D', [HIGH[op], 'FTZ'], [reg(whole)], RegFile.RD);
    if (d !== NO_REG) b.write('UNPAIR', [], [NO_REG, d], [reg(y)]);
    return;
  }
  if (op.endsWith('.F16')) b.fail(`.${op} has no meaning here yet`);
  if (op === 'SIN' || op === 'COS') return b.write('MUFU_TURNS', [`${op}_TURNS`], [d], [b.float('b')]);
  // All but TANH take subnormals as zeros and give none: where PTX has them, ptxas scales before and after.
  b.write('MUFU', [op, op === 'TANH' ? '' : 'FTZ'], [d], [b.float('b')]);
};

const two64 =
  (name: string): Meaning =>
  (b) => {
    const d = b.pure(name, [roundOf(b)], [b.float('a', true), b.float('b', true)], RegFile.RD);
    b.giveWide('d', reg(d));
  };

const fused64: Meaning = (b) => {
  const d = b.pure(
    'DFMA',
    [roundOf(b)],
    ['a', 'b', 'c'].map((n) => b.float(n, true, false)),
    RegFile.RD,
  );
  b.giveWide('d', reg(d));
};

/**
 * Which of two doubles is the minimum or maximum: d says that it is the first one, q that both are NaN. So ptxas' code for `min.f64` and
 * `max.f64` uses them: the words of the chosen one, and where q holds a NaN made of the second.
 */
function choose64(b: Builder, cmp: 'MIN' | 'MAX'): void {
  if (b.truth('p') !== PT || b.mod('bool') !== 'AND') b.fail(`.${cmp} with another predicate`);
  const [x, y] = [b.float('a', true), b.float('b', true)];
  const chosen = reg(b.pure('DMNMX', [cmp], [x, y], RegFile.RD));
  const first = reg(b.pure('DADD', ['RN'], [x, withOperandMods(RZ, Mod.Neg)], RegFile.RD));
  const same = reg(b.test('ISETP', ['EQ', 'U64'], [chosen, first, PT]));
  const number = reg(b.test('DSETP', ['NUM'], [x, x, PT]));
  const other = reg(b.test('DSETP', ['NUM'], [y, y, PT]));
  b.giveTruth('d', reg(b.test('PLOP3', [], [same, number, PT, imm(0xc0)])));
  b.giveTruth('q', reg(b.test('PLOP3', [], [number, other, PT, imm(0x03)])));
}

const setPredicate64: Meaning = (b) => {
  const cmp = b.mod('cmp');
  if (cmp === 'MIN' || cmp === 'MAX') return choose64(b, cmp);
  const answer = reg(b.test('DSETP', [cmp], [b.float('a', true), b.float('b', true), PT]));
  combine(b, answer, b.mod('bool'), b.truth('p'));
};

// -------------------------------------------------------------------- conversions

const WHOLE: Readonly<Record<string, string>> = { '': 'RN', FLOOR: 'RM', CEIL: 'RP', TRUNC: 'RZ' };

/** A source of a conversion by its type: of 64 bits, or the half that its suffix names. */
function source(b: Builder, type: string): Operand {
  if (type === 'F64') return b.float('b', true);
  if (type === 'U64' || type === 'S64') return b.wide('b');
  const slot = b.slot('b');
  const part = b.suffix(slot);
  const s = b.signsOf(slot);
  const mods = (s.negative ? Mod.Neg : 0) | (s.absolute ? Mod.Abs : 0);
  if (part === '') return withOperandMods(b.word(slot), mods);
  const by = part === 'H1' || part === 'H1_H1' ? 16 : part.startsWith('B') ? 8 * Number(part[1]) : 0;
  return withOperandMods(reg(b.pure('SHR', ['U32'], [b.word(slot), imm(by)])), mods);
}

/** Gives a result of either width. */
function result(
  b: Builder,
  type: string,
  name: string,
  mods: readonly string[],
  src: readonly Operand[],
): void {
  if (/64$/.test(type)) b.giveWide('d', reg(b.pure(name, mods, src, RegFile.RD)));
  else b.write(name, mods, [b.to('d')], src);
}

const floatToInteger: Meaning = (b) => {
  const from = b.mod('from') || 'F32';
  const to = b.mod('to') || 'S32';
  result(b, to, 'F2I', [`dt=${to}`, `st=${from}`, WHOLE[b.mod('round')], b.mod('FTZ')], [source(b, from)]);
};

const integerToFloat: Meaning = (b) => {
  const from = b.mod('from') || 'S32';
  const to = b.mod('to') || 'F32';
  result(b, to, 'I2F', [`dt=${to}`, `st=${from}`, roundOf(b)], [source(b, from)]);
};

const round: Meaning = (b) => {
  const type = b.mod('type') || 'F32';
  result(b, type, 'FRND', [type, WHOLE[b.mod('round')], b.mod('FTZ')], [source(b, type)]);
};

function floatToFloat(b: Builder, to: string, from: string): void {
  result(b, to, 'F2F', [`dt=${to}`, `st=${from}`, roundOf(b), b.mod('FTZ')], [source(b, from)]);
}

const narrow: Meaning = (b) => floatToFloat(b, b.mod('to'), b.mod('from'));
const wideFloat: Meaning = (b) => {
  const [to, from] = b.mod('types').split('.');
  floatToFloat(b, to, from);
};

/** Two floats to a pair of halves. */
const pack: Meaning = (b) => {
  if (b.mod('pack') !== 'PACK_AB') b.fail(`.${b.mod('pack')} has no meaning here yet`);
  b.without('SATFINITE');
  const type = b.mod('type').startsWith('BF16') ? 'BF16' : 'F16';
  b.write('F2FP', [type, roundOf(b), b.mod('RELU')], [b.to('d')], [b.float('a'), b.float('b')]);
};

/** Meanings by the row of the form. */
export const FLOAT: Readonly<Record<string, Meaning>> = {
  FADD: two('FADD'),
  FMUL: two('FMUL'),
  FFMA: fused,
  FMNMX: minmax,
  FMNMX3: minmax3,
  UFADD: two('FADD'),
  UFMUL: two('FMUL'),
  UFFMA: fused,
  UFSEL: select,
  UFSETP: setPredicate,
  UFRND: round,
  UF2I: floatToInteger,
  UI2F: integerToFloat,
  UI2FP: integerToFloat,
  FSEL: select,
  FSET: setOne,
  FSETP: setPredicate,
  FCHK: check,
  MUFU: special,
  'MUFU.i': special,
  DADD: two64('DADD'),
  DMUL: two64('DMUL'),
  DFMA: fused64,
  DSETP: setPredicate64,
  F2I: floatToInteger,
  'F2I.wide': floatToInteger,
  I2F: integerToFloat,
  I2FP: integerToFloat,
  'I2F.half': integerToFloat,
  'I2F.byte': integerToFloat,
  'I2F.wide': integerToFloat,
  'I2F.wide.half': integerToFloat,
  'I2F.wide.byte': integerToFloat,
  FRND: round,
  'FRND.wide': round,
  F2F: narrow,
  'F2F.wide': wideFloat,
  F2FP: pack,
};
