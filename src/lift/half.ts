import { imm, isZero, Mod, NO_REG, type Operand, PT, reg, withOperandMods } from '../ir/operand.ts';
import type { Builder, Meaning } from './builder.ts';
import { flush } from './float.ts';

/* Pairs of 16-bit floats. */

const formatOf = (b: Builder): string => (b.mod('type') === 'BF16_V2' ? 'BF16' : 'F16');

/** A packed pair: a register with the halves that its suffix selects, or the immediates h and l. */
function pair(b: Builder, name: string): Operand {
  const slot = b.find(name);
  if (slot === undefined || name === 'h') {
    const half = (n: string): number => b.word(b.slot(n)).lo & 0xffff;
    return imm((half('h') << 16) | half('l'));
  }
  const s = b.signsOf(slot);
  const mods = (s.negative ? Mod.Neg : 0) | (s.absolute ? Mod.Abs : 0);
  const w = b.word(slot);
  switch (b.suffix(slot)) {
    case '':
      return withOperandMods(w, mods);
    case 'H0_H0':
      return withOperandMods(reg(b.pure('PRMT', [], [w, imm(0x1010), w])), mods);
    case 'H1_H1':
      return withOperandMods(reg(b.pure('PRMT', [], [w, imm(0x3232), w])), mods);
    case 'H0_NH1': {
      // The suffix lists the upper half first: the result is the lower half above the negated upper half. This is how ptxas 13.0.88 makes
      // 0x58158000 of 0x5815. The operand's own signs apply to both halves.
      const magnitude = s.absolute ? reg(b.pure('LOP3', [], [w, imm(0x7fff7fff), imm(0), imm(0xc0)])) : w;
      const swapped = reg(b.pure('PRMT', [], [magnitude, imm(0x1032), magnitude]));
      const turned = b.pure('LOP3', [], [swapped, imm(0x8000), imm(0), imm(0x3c)]);
      return reg(turned, s.negative ? Mod.Neg : 0);
    }
    default:
      return b.fail(`a source that is .${b.suffix(slot)}`);
  }
}

/** Packed source operands in order; immediates take the place of the operand without a register. */
function pairs(b: Builder, ...names: readonly string[]): Operand[] {
  return names.map((n) => (b.find(n) === undefined ? pair(b, 'h') : pair(b, n)));
}

/** Fused operations in Ori accept a minus but no absolute value, which is computed here. */
function onlyMinus(b: Builder, o: Operand): Operand {
  if ((o.mods & Mod.Abs) === 0) return o;
  const magnitude = b.pure('LOP3', [], [withOperandMods(o, 0), imm(0x7fff7fff), imm(0), imm(0xc0)]);
  return reg(magnitude, o.mods & Mod.Neg);
}

/** The low half as a 32-bit float: with the type F32 the operation is done on those. */
function wide(b: Builder, name: string): Operand {
  const o = b.find(name) === undefined ? pair(b, 'h') : pair(b, name);
  return reg(b.pure('F2F', ['dt=F32', 'st=F16'], [o]));
}

/**
 * Translates a sum with a 32-bit float source. With a zero it is a conversion, for which ptxas uses it on sm_75. @returns false if it has
 * no such source
 */
function narrowed(b: Builder): boolean {
  const isFloat = (n: string): boolean => b.find(n) !== undefined && b.suffix(b.slot(n)) === 'F32';
  const name = ['a', 'b'].find(isFloat);
  if (name === undefined) return false;
  const other = name === 'a' ? 'b' : 'a';
  if (b.find(other) === undefined || !isZero(b.word(b.slot(other)))) b.fail('a sum of a float and a half');
  const x = b.float(name);
  const both = reg(b.pure('F2FP', ['F16', 'RN'], [x, x]));
  b.write('HADD2', ['F16', 'RN', flush(b), b.mod('SAT')], [b.to('d')], [both, pair(b, other)]);
  return true;
}

const add: Meaning = (b) => {
  if (narrowed(b)) return;
  if (b.mod('type') === 'F32')
    return b.write('FADD', ['RN', flush(b), b.mod('SAT')], [b.to('d')], [wide(b, 'a'), wide(b, 'b')]);
  b.write('HADD2', [formatOf(b), 'RN', flush(b), b.mod('SAT')], [b.to('d')], pairs(b, 'a', 'b'));
};

const multiply: Meaning = (b) => {
  if (b.mod('type') === 'F32')
    return b.write('FMUL', ['RN', flush(b), b.mod('SAT')], [b.to('d')], [wide(b, 'a'), wide(b, 'b')]);
  b.write('HMUL2', [formatOf(b), 'RN', flush(b), b.mod('SAT')], [b.to('d')], pairs(b, 'a', 'b'));
};

const fused: Meaning = (b) => {
  if (b.mod('type') === 'F32') b.fail('.F32 is not supported yet');
  const format = b.has('type') ? 'BF16' : 'F16';
  b.write(
    'HFMA2',
    [format, flush(b), b.mod('SAT'), b.mod('RELU')],
    [b.to('d')],
    pairs(b, 'a', 'b', 'c').map((o) => onlyMinus(b, o)),
  );
};

/** Minimum or maximum of two or three; for XORSIGN see `minmax` in float.ts. */
const minmax: Meaning = (b) => {
  if (b.mod('type') === 'F32') b.fail('.F32 is not supported yet');
  const p = b.truth('p');
  const mods = [formatOf(b), b.mod('FTZ'), b.mod('NAN'), b.mod('XORSIGN')];
  const source = (o: Operand): Operand => {
    if (!b.has('XORSIGN')) return o;
    if ((o.mods & Mod.Neg) !== 0) b.fail('a minus under .XORSIGN');
    return withOperandMods(o, 0);
  };
  const compute = (op: string): Operand => {
    const [first, ...others] = pairs(b, ...(b.find('c') === undefined ? ['a', 'b'] : ['a', 'b', 'c'])).map(
      source,
    );
    return others.reduce((x, y) => reg(b.pure('HMNMX2', [op, ...mods], [x, y])), first);
  };
  if (p.reg !== NO_REG) b.write('SEL', [], [b.to('d')], [compute('MIN'), compute('MAX'), p]);
  else b.give('d', compute(p === PT ? 'MIN' : 'MAX'));
};

const BF16_OR_F16 = (b: Builder): string => (b.mod('type').startsWith('BF16') ? 'BF16' : 'F16');

const set: Meaning = (b) =>
  b.write(
    'HSET2',
    [b.mod('cmp'), BF16_OR_F16(b), b.mod('FTZ'), b.mod('bool'), 'PACKED', b.mod('BF')],
    [b.to('d')],
    [...pairs(b, 'a', 'b'), b.truth('p')],
  );

/** HSETP2: d and q are the results for the low and high halves; with H_AND, d is their conjunction and q its negation. */
const setPredicates: Meaning = (b) => {
  const [lo, hi] = [b.temporary(2), b.temporary(2)];
  const mods = [b.mod('cmp'), BF16_OR_F16(b), b.mod('FTZ'), 'PACKED'];
  const p = b.truth('p');
  const bool = b.mod('bool');
  const table = imm(bool === 'AND' ? 0xc0 : bool === 'OR' ? 0xfc : 0x3c);
  b.emit('HSETP2', mods, [lo, hi], [...pairs(b, 'a', 'b'), PT]);
  let answers: Operand[] = [reg(lo), reg(hi)];
  if (b.has('H_AND')) {
    const both = b.test('PLOP3', [], [reg(lo), reg(hi), PT, imm(0xc0)]);
    answers = [reg(both), reg(both, Mod.Not)];
  }
  const [first, second] = answers.map((x) => reg(b.test('PLOP3', [], [x, p, PT, table])));
  b.giveTruth('d', first);
  b.giveTruth('q', second);
};

/** Translators by row of the form. */
export const HALF: Readonly<Record<string, Meaning>> = {
  HADD2: add,
  'HADD2.i': add,
  HMUL2: multiply,
  'HMUL2.i': multiply,
  HFMA2: fused,
  'HFMA2.i': fused,
  'HFMA2.ci': fused,
  'HFMA2.MMA': fused,
  'HFMA2.MMA.i': fused,
  'HFMA2.MMA.ci': fused,
  HMNMX2: minmax,
  'HMNMX2.i': minmax,
  VHMNMX: minmax,
  HSET2: set,
  'HSET2.i': set,
  HSETP2: setPredicates,
  'HSETP2.i': setPredicates,
};
