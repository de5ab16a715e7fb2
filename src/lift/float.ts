import { imm, Mod, NO_REG, type Operand, PT, RegFile, RZ, reg, withOperandMods } from '../ir/operand.ts';
import type { Builder, Meaning } from './builder.ts';
import { combine } from './integer.ts';

/* 32- and 64-bit floats, and conversions. */

const roundOf = (b: Builder): string => b.mod('round') || 'RN';
/** The modifier that flushes subnormal numbers, of 32-bit floats and of pairs; '' for none. */
export const flush = (b: Builder): string => {
  if (b.mod('denormal') === 'FMZ') b.fail('.FMZ is not supported yet');
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

/**
 * FMNMX: minimum if p is true, otherwise maximum. With XORSIGN, of magnitudes with the sign of the product; absolute-value modifiers of the
 * sources are then irrelevant.
 */
const minmax: Meaning = (b) => {
  const p = b.truth('p');
  const source = (name: string): Operand => {
    if (!b.has('XORSIGN')) return b.float(name);
    if (b.signsOf(b.slot(name)).negative) b.fail('a minus under .XORSIGN');
    return b.word(b.slot(name));
  };
  const mods = [b.mod('FTZ'), b.mod('NAN'), b.mod('XORSIGN')];
  const compute = (op: string): Operand => reg(b.pure('FMNMX', [op, ...mods], [source('a'), source('b')]));
  if (p.reg !== NO_REG) b.write('SEL', [], [b.to('d')], [compute('MIN'), compute('MAX'), p]);
  else b.give('d', compute(p === PT ? 'MIN' : 'MAX'));
};

/** FMNMX3: minimum or maximum of three. */
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

/** The result of a comparison before it is combined with a predicate. */
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

/** MUFU functions on doubles, which read and write only the high word. */
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
  if (op.endsWith('.F16')) {
    // Of a half, which is the lower one.
    const half = b.pure('LOP3', [], [b.float('b'), imm(0xffff), RZ, imm(0xc0)]);
    const [fn] = op.split('.');
    if (fn !== 'TANH' && fn !== 'EX2') b.fail(`.${op} is not supported yet`);
    const y = b.pure('HTANH2', [fn, 'F16'], [reg(half)]);
    return b.give('d', reg(b.pure('LOP3', [], [reg(y), imm(0xffff), RZ, imm(0xc0)])));
  }
  if (op === 'SIN' || op === 'COS') return b.write('MUFU_TURNS', [`${op}_TURNS`], [d], [b.float('b')]);
  // All but TANH flush subnormal inputs and results; where PTX requires subnormals, ptxas scales before and after.
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
 * Compares doubles for minimum or maximum: d tells that the first is chosen, q that both are NaN. ptxas' code for `min.f64` and `max.f64`
 * uses them to select the words of the result or, if q holds, a NaN made from the second.
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

/** Source operand of a conversion, by type: 64 bits, or the part that the suffix selects. */
function source(b: Builder, type: string): Operand {
  if (type === 'F64') return b.float('b', true);
  const slot = b.slot('b');
  if (type === 'U64' || type === 'S64') {
    // A 64-bit immediate holds the upper word, as for doubles (confirmed by results of an H200).
    const isNumber = slot.atom?.kind === 'u' || slot.atom?.kind === 's';
    return isNumber ? reg(b.pure('PAIR', [], [RZ, b.word(slot)], RegFile.RD)) : b.wide('b');
  }
  const part = b.suffix(slot);
  const s = b.signsOf(slot);
  const mods = (s.negative ? Mod.Neg : 0) | (s.absolute ? Mod.Abs : 0);
  if (part === '') return withOperandMods(b.word(slot), mods);
  const by = part === 'H1' || part === 'H1_H1' ? 16 : part.startsWith('B') ? 8 * Number(part[1]) : 0;
  return withOperandMods(reg(b.pure('SHR', ['U32'], [b.word(slot), imm(by)])), mods);
}

/** Writes a 32- or 64-bit result. */
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

/** Largest finite number of a 16-bit format, in both halves. */
const LARGEST: Readonly<Record<string, number>> = { F16: 0x7bff7bff, BF16: 0x7f7f7f7f };

/** F2FP: packs two floats to a pair of 16-bit floats, or converts one to the lower half with a half of c above it. */
const pack: Meaning = (b) => {
  const type = b.mod('type').startsWith('BF16') ? 'BF16' : 'F16';
  const alone = b.mod('pack') === 'MERGE_C';
  const sources = [alone ? RZ : b.float('a'), b.float('b')];
  let both = reg(b.pure('F2FP', [type, roundOf(b)], sources));
  // Infinities become the largest finite number of their sign; NaN is kept.
  if (b.has('SATFINITE')) {
    const least = reg(b.pure('HMNMX2', ['MIN', type, 'NAN'], [both, imm(LARGEST[type])]));
    both = reg(b.pure('HMNMX2', ['MAX', type, 'NAN'], [least, imm(LARGEST[type] | 0x80008000)]));
  }
  if (b.has('RELU')) both = reg(b.pure('HMNMX2', ['MAX', type, 'NAN'], [both, RZ]));
  b.give('d', alone ? above(b, both) : both);
};

/** A word with `low` in the lower half and the half of c that its suffix selects in the upper. */
function above(b: Builder, low: Operand): Operand {
  const c = b.slot('c');
  const table = b.suffix(c) === 'H1' ? 0x7610 : 0x5410;
  return reg(b.pure('PRMT', [], [low, imm(table), b.word(c)]));
}

/** Packs two floats, or a pair of 16-bit floats, to two 8-bit floats in the lower half, with a half of c above. */
const to8: Meaning = (b) => {
  // Without it, an overflow would give an infinity.
  if (!b.has('SATFINITE')) b.fail('floats of 8 bits without .SATFINITE are not supported yet');
  const mods = [b.mod('type'), b.mod('RELU')];
  const low = b.mod('pack').startsWith('F16')
    ? b.pure('F2FP_PACK8_F16', mods, [b.float('b')])
    : b.pure('F2FP_PACK8', mods, [b.float('a'), b.float('b')]);
  b.give('d', above(b, reg(low)));
};

/** Unpacks two 8-bit floats to a pair of 16-bit floats. */
const from8: Meaning = (b) => {
  if (b.mod('type') !== 'F16') b.fail(`floats of 8 bits to ${b.mod('type')} are not supported yet`);
  const slot = b.slot('b');
  const word = b.word(slot);
  const x = b.suffix(slot) === 'H1' ? reg(b.pure('SHR', ['U32'], [word, imm(16)])) : word;
  b.write('F2FP_UNPACK8', [b.mod('from').split('.')[0], b.mod('RELU')], [b.to('d')], [x]);
};

/** Converts two floats to bytes, the second in the lowest, with the half of c that its suffix selects above. */
const packBytes: Meaning = (b) => {
  const to = b.mod('to').split('.')[0];
  const mods = [`dt=${to}`, 'st=F32', b.mod('round') === 'TRUNC' ? 'RZ' : 'RN'];
  b.without('RELU');
  const [high, low] = ['a', 'b'].map((n) => reg(b.pure('F2I', mods, [b.float(n)])));
  b.give('d', above(b, reg(b.pure('PRMT', [], [low, imm(0x0040), high]))));
};

/** Translators by row of the form. */
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
  'UFRND.half.i': round,
  UF2F: narrow,
  'UF2F.i': narrow,
  UF2I: floatToInteger,
  'UF2I.i': floatToInteger,
  'UF2I.half.i': floatToInteger,
  UI2F: integerToFloat,
  'UI2F.i': integerToFloat,
  'UI2F.ui': integerToFloat,
  'UI2F.half': integerToFloat,
  'UI2F.byte': integerToFloat,
  UI2FP: integerToFloat,
  'UI2FP.i': integerToFloat,
  'UI2FP.ui': integerToFloat,
  'UF2FP.to8': to8,
  UF2IP: packBytes,
  UFSET: setOne,
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
  'F2I.i': floatToInteger,
  'F2I.half.i': floatToInteger,
  'F2I.wide': floatToInteger,
  'F2I.wide.i': floatToInteger,
  'F2I.wide.half.i': floatToInteger,
  I2F: integerToFloat,
  'I2F.i': integerToFloat,
  'I2F.ui': integerToFloat,
  I2FP: integerToFloat,
  'I2FP.i': integerToFloat,
  'I2FP.ui': integerToFloat,
  'I2F.half': integerToFloat,
  'I2F.byte': integerToFloat,
  'I2F.wide': integerToFloat,
  'I2F.wide.i': integerToFloat,
  'I2F.wide.ui': integerToFloat,
  'I2F.wide.half': integerToFloat,
  'I2F.wide.byte': integerToFloat,
  FRND: round,
  'FRND.i': round,
  'FRND.half.i': round,
  'FRND.wide': round,
  F2F: narrow,
  'F2F.i': narrow,
  'F2F.half.i': narrow,
  'F2F.wide': wideFloat,
  'F2F.wide.i': narrow,
  F2FP: pack,
  'F2FP.to8': to8,
  'F2FP.from8': from8,
  F2IP: packBytes,
};
