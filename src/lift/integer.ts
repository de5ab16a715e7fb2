import { imm, Mod, NO_REG, type Operand, PF, PT, RegFile, RZ, reg, withOperandMods } from '../ir/operand.ts';
import type { Builder, Meaning } from './builder.ts';

/* Integer arithmetic, logic and moves. Uniform forms have the same meaning on other registers. */

/** The type modifier; S32 if it has no name. */
const typeOf = (b: Builder): 'U32' | 'S32' | 'U64' | 'S64' => {
  const type = b.mod('type');
  return type === 'U32' || type === 'U64' || type === 'S64' ? type : 'S32';
};

/**
 * An addend, and whether its minus contributes a carry: a - b is a + ~b + 1. Under X, minus means complement and the carry is an operand.
 */
function addend(b: Builder, name: string): { value: Operand; one: boolean } {
  const s = b.signsOf(b.slot(name));
  const w = b.word(b.slot(name));
  if (s.complement) return { value: b.not(w), one: false };
  return s.negative ? { value: b.not(w), one: true } : { value: w, one: false };
}

/** IADD3: d = a + b + c with two carries in and two out. p is set if the sum carries at least once, q if twice. */
const add3: Meaning = (b) => {
  const [d, p, q] = [b.to('d'), b.to('p'), b.to('q')];
  if (p === NO_REG && q === NO_REG && !b.has('X'))
    return b.write(
      'IADD3',
      [],
      [d],
      ['a', 'b', 'c'].map((n) => b.integer(n, true)),
    );
  const parts = ['a', 'b', 'c'].map((n) => addend(b, n));
  const ones = parts.filter((x) => x.one).length;
  if (ones > 2) b.fail('three addends with a minus and a carry');
  const carries = b.has('X') ? [b.truth('ci'), b.truth('di')] : [ones > 0 ? PT : PF, ones > 1 ? PT : PF];
  b.write('IADD3_CARRY', [], [d, p, q], [...parts.map((x) => x.value), ...carries]);
};

/** IMAD: low word of a * b + c, with a carry in under X. */
const multiplyAdd: Meaning = (b) => {
  const [x, y] = [b.plain('a'), b.plain('b')];
  if (!b.has('X')) return b.write('IMAD', [typeOf(b)], [b.to('d')], [x, y, b.integer('c', true)]);
  const product = reg(b.pure('IMAD', [], [x, y, RZ]));
  b.write('IADDX', [], [b.to('d'), NO_REG], [product, b.integer('c'), b.truth('ci')]);
};

/** The 64-bit addend of a wide product, with its complement or minus. */
function widePart(b: Builder): { value: Operand; negative: boolean; complement: boolean } {
  return { value: b.wide('c'), ...b.signsOf(b.slot('c')) };
}

/** a * b + c in 64 bits: the sum, and its carry if the instruction needs one. */
function wideSum(b: Builder): { sum: Operand; carry: Operand | null } {
  const c = widePart(b);
  const [x, y] = [b.plain('a'), b.plain('b')];
  if (!b.has('X') && b.to('p') === NO_REG)
    return {
      sum: reg(
        b.pure(
          'IMAD_WIDE',
          [typeOf(b)],
          [x, y, c.negative ? withOperandMods(c.value, Mod.Neg) : c.value],
          RegFile.RD,
        ),
      ),
      carry: null,
    };
  const product = reg(b.pure('IMAD_WIDE', [typeOf(b)], [x, y, RZ], RegFile.RD));
  const inverted = c.negative || c.complement;
  const value = inverted ? reg(b.pure('LOP3', ['64'], [c.value, RZ, RZ, imm(0x0f)], RegFile.RD)) : c.value;
  const sum = b.temporary(RegFile.RD);
  const carry = b.temporary(RegFile.P);
  b.emit('IADDX', ['64'], [sum, carry], [product, value, b.has('X') ? b.truth('ci') : c.negative ? PT : PF]);
  return { sum: reg(sum), carry: reg(carry) };
}

const multiplyWide: Meaning = (b) => {
  const { sum, carry } = wideSum(b);
  b.giveWide('d', sum);
  if (carry !== null) b.giveTruth('p', carry);
};

/** IMAD.HI: high word of a * b + c, where c has 64 bits. */
const multiplyHigh: Meaning = (b) => {
  const { sum, carry } = wideSum(b);
  const d = b.to('d');
  if (d !== NO_REG) b.write('UNPAIR', [], [NO_REG, d], [sum]);
  if (carry !== null) b.giveTruth('p', carry);
};

/** a + b (+ c) with carries in and out, in 32 or 64 bits. */
const addWide: Meaning = (b) => {
  const wide = b.mod('type') === '64' || b.i.form.row === 'UIADD3.64';
  const part = (name: string): { value: Operand; one: boolean } => {
    const s = b.signsOf(b.slot(name));
    const x = wide ? b.wide(name) : b.word(b.slot(name));
    if (!s.negative && !s.complement) return { value: x, one: false };
    const not = b.pure('LOP3', wide ? ['64'] : [], [x, RZ, RZ, imm(0x0f)], wide ? RegFile.RD : RegFile.R);
    return { value: reg(not), one: s.negative };
  };
  const parts = ['a', 'b', ...(b.find('c') === undefined ? [] : ['c'])].map(part);
  const size = wide ? ['64'] : [];
  const file = wide ? RegFile.RD : RegFile.R;
  const ones = parts.filter((x) => x.one).length;
  const [x, y, z] = parts.map((v) => v.value);
  const carries = [
    b.has('X') ? b.truth('ci') : ones > 0 ? PT : PF,
    b.has('X') && b.find('di') !== undefined ? b.truth('di') : ones > 1 ? PT : PF,
  ];
  const [first, carry] = [b.temporary(file), b.temporary(RegFile.P)];
  b.emit('IADDX', size, [first, carry], [x, y, carries[0]]);
  let [sum, out] = [first, reg(carry)];
  if (z !== undefined || carries[1] !== PF) {
    const [again, other] = [b.temporary(file), b.temporary(RegFile.P)];
    b.emit('IADDX', size, [again, other], [reg(first), z ?? RZ, carries[1]]);
    const both = reg(b.test('PLOP3', [], [reg(carry), reg(other), PT, imm(0xc0)]));
    if (b.find('q') !== undefined) b.giveTruth('q', both);
    out = reg(b.test('PLOP3', [], [reg(carry), reg(other), PT, imm(0xfc)]));
    sum = again;
  } else if (b.find('q') !== undefined && b.to('q') !== NO_REG) b.giveTruth('q', PF);
  if (wide) b.giveWide('d', reg(sum));
  else b.give('d', reg(sum));
  b.giveTruth('p', out);
};

const absolute: Meaning = (b) => b.write('IABS', [], [b.to('d')], [b.plain('b')]);

/** Selects minimum (true) or maximum by a predicate; computes both unless the predicate is constant. */
function eitherWay(b: Builder, compute: (op: 'MIN' | 'MAX') => Operand): void {
  // From sm_100 on there are two predicate results, and the selecting operand is named r.
  const isLater = b.find('r') !== undefined;
  if (isLater && (b.to('p') !== NO_REG || b.to('q') !== NO_REG)) b.fail('a predicate result of a minimum');
  if (b.truthOr('x', PF) !== PF) b.fail('a fourth predicate');
  const p = b.truth(isLater ? 'r' : 'p');
  if (p.kind !== PT.kind || p.reg !== NO_REG) {
    const [least, most] = [compute('MIN'), compute('MAX')];
    b.write('SEL', [], [b.to('d')], [least, most, p]);
  } else b.give('d', compute(p === PT ? 'MIN' : 'MAX'));
}

/** Types of minima in Ori, by modifier of the form. */
const MINMAX: Readonly<Record<string, string>> = {
  '': 'S32',
  S32: 'S32',
  U32: 'U32',
  U16x2: 'U16X2',
  S16x2: 'S16X2',
};

/** Minimum or maximum of two; with `relu` at least zero. */
function least(b: Builder, op: 'MIN' | 'MAX', x: Operand, y: Operand, relu = b.has('RELU')): Operand {
  const type = MINMAX[b.mod('type')];
  if (type === undefined) b.fail(`the type ${b.mod('type')}`);
  if (type === 'U32' || (type === 'S32' && !relu)) return reg(b.pure('IMNMX', [op, type], [x, y]));
  return reg(b.pure('VIMNMX', [op, type, relu ? 'RELU' : ''], [x, y]));
}

const minmax: Meaning = (b) => {
  const type = b.mod('type');
  if (!/64$/.test(type)) return eitherWay(b, (op) => least(b, op, b.plain('a'), b.integer('b')));
  const p = b.truth('r');
  if (p.reg !== NO_REG || b.to('p') !== NO_REG || b.to('q') !== NO_REG) b.fail('a predicate of a minimum');
  const d = b.pure('IMNMX', [p === PT ? 'MIN' : 'MAX', type], [b.wide('a'), b.wide('b')], RegFile.RD);
  b.giveWide('d', reg(d));
};

/** Minimum or maximum of three; RELU applies to the result. */
const minmax3: Meaning = (b) =>
  eitherWay(b, (op) => least(b, op, least(b, op, b.plain('a'), b.plain('b'), false), b.plain('c')));

/** Minimum or maximum of a + b and c. */
const addMinmax: Meaning = (b) => {
  const type = b.mod('type');
  noMinusOfPairs(b, type);
  const [x, y] = [b.plain('a'), b.integer('b')];
  const sum = /16x2$/.test(type) ? reg(b.pure('VIADD2', [], [x, y])) : reg(b.pure('IADD3', [], [x, y, RZ]));
  const c = b.integer('c');
  eitherWay(b, (op) => least(b, op, sum, c));
};

/** A minus of a packed pair would apply to both halves, which is not supported. @throws Unsupported if there is one */
function noMinusOfPairs(b: Builder, type: string): void {
  if (
    /16x2$/.test(type) &&
    ['a', 'b', 'c'].some((n) => b.find(n) !== undefined && b.signsOf(b.slot(n)).negative)
  )
    b.fail('a minus of a pair');
}

const add2: Meaning = (b) => {
  const type = b.mod('type');
  if (b.has('ISAT')) {
    if (type !== 'S32') b.fail(`.ISAT of ${type} is not supported yet`);
    const [x, y] = ['a', 'b'].map((n) => ({ minus: b.signsOf(b.slot(n)).negative, word: b.word(b.slot(n)) }));
    if (x.minus && y.minus) b.fail('a saturating sum of two operands with a minus');
    // Negation would wrap for the least integer, so the sum becomes a saturating difference.
    const [first, second] = x.minus ? [y, x] : [x, y];
    const op = x.minus || y.minus ? 'SUB' : 'ADD';
    return b.write('IADD_SAT', [op], [b.to('d')], [first.word, second.word]);
  }
  if (!['', '32', '16x2', 'S32', 'S16x2'].includes(type)) b.fail(`the type ${type}`);
  noMinusOfPairs(b, type);
  if (/16x2$/.test(type)) return b.write('VIADD2', [], [b.to('d')], [b.integer('a'), b.integer('b')]);
  b.write('IADD3', [], [b.to('d')], [b.integer('a', true), b.integer('b', true), RZ]);
};

/** ISETP; with EX it compares high words, and x is the result for the low words. */
const compare: Meaning = (b) => {
  const [cmp, bool, type] = [b.mod('cmp'), b.mod('bool'), typeOf(b)];
  const [d, q] = [b.to('d'), b.to('q')];
  const p = b.truth('p');
  if (/64$/.test(type)) return compareWide(b, cmp, type, bool, p);
  const [x, y] = [b.plain('a'), b.plain('b')];
  if (cmp === 'F' || cmp === 'T') return constantAnswer(b, cmp === 'T', bool, p);
  if (!b.has('EX')) return b.write('ISETP', [cmp, type, bool], [d, q], [x, y, p]);
  const own = b.test('ISETP', [cmp, type], [x, y, PT]);
  const same = b.test('ISETP', ['EQ', type], [x, y, PT]);
  const answer = reg(b.test('PLOP3', [], [reg(same), b.truth('x'), reg(own), imm(0xca)]));
  combine(b, answer, bool, p);
};

/** A 64-bit comparison. */
function compareWide(b: Builder, cmp: string, type: string, bool: string, p: Operand): void {
  if (cmp === 'F' || cmp === 'T') return constantAnswer(b, cmp === 'T', bool, p);
  b.without('EX');
  b.write('ISETP', [cmp, type, bool], [b.to('d'), b.to('q')], [b.wide('a'), b.wide('b'), p]);
}

/** Writes d = answer BOOL p and q = !answer BOOL p. @param bool AND, OR or XOR */
export function combine(b: Builder, answer: Operand, bool: string, p: Operand): void {
  const table = bool === 'AND' ? 0xc0 : bool === 'OR' ? 0xfc : 0x3c;
  const opposite = withOperandMods(answer, answer.mods ^ Mod.Not);
  const first = reg(b.test('PLOP3', [], [answer, p, PT, imm(table)]));
  const second = reg(b.test('PLOP3', [], [opposite, p, PT, imm(table)]));
  b.giveTruth('d', first);
  b.giveTruth('q', second);
}

/** `combine` for a comparison that is always true or always false. */
export const constantAnswer = (b: Builder, answer: boolean, bool: string, p: Operand): void =>
  combine(b, answer ? PT : PF, bool, p);

/** LEA: d = (a << n) + b; with HI, the high word of {c, a} << n is added. With carries. */
const shiftAdd: Meaning = (b) => {
  const n = b.raw(b.slot('n').atom!);
  const s = b.signsOf(b.slot('a'));
  const a = b.word(b.slot('a'));
  let shifted: Operand;
  if (b.has('HI')) {
    const high =
      b.mod('SX32') === 'SX32'
        ? reg(b.pure('SHR', ['S32'], [a, imm(31)]))
        : b.find('c') === undefined
          ? RZ
          : b.plain('c');
    shifted = reg(b.pure('SHF', ['L'], [a, imm(n), high]));
  } else shifted = reg(b.pure('SHL', [], [a, imm(n)]));
  const inverted = s.negative || s.complement;
  const x = inverted ? b.not(shifted) : shifted;
  const y = addend(b, 'b');
  const ones = [s.negative, y.one].filter((on) => on).length;
  const carries = b.has('X') ? [b.truth('ci'), PF] : [ones > 0 ? PT : PF, ones > 1 ? PT : PF];
  b.write('IADD3_CARRY', [], [b.to('d'), b.to('p'), NO_REG], [x, y.value, RZ, ...carries]);
};

/** SHF: a shift of the 64 bits {c, a}; gives the low word, or with HI the high one. */
const shift: Meaning = (b) =>
  b.write(
    'SHF_WIDE',
    [b.mod('way'), b.mod('type'), b.mod('W'), b.mod('HI')],
    [b.to('d')],
    [b.plain('a'), b.plain('b'), b.plain('c')],
  );

/** LOP3; p tells whether the result is non-zero, or q holds (with PAND: and q holds). */
const logic: Meaning = (b) => {
  const sources = [b.plain('a'), b.plain('b'), b.plain('c'), imm(b.raw(b.slot('t').atom!))];
  const p = b.to('p');
  if (p !== NO_REG) {
    const any = b.temporary(RegFile.P);
    b.emit('LOP3_P', [], [any, NO_REG], sources);
    const answer = b.test('PLOP3', [], [reg(any), b.truth('q'), PT, imm(b.has('PAND') ? 0xc0 : 0xfc)]);
    if (b.to('d') !== NO_REG) b.write('LOP3', [], [b.to('d')], sources);
    b.giveTruth('p', reg(answer));
  } else b.write('LOP3', [], [b.to('d')], sources);
};

/** PLOP3: two tables of three predicates. */
const predicates: Meaning = (b) => {
  const sources = [b.truth('a'), b.truth('b'), b.truth('c')];
  const table = (name: string): Operand => imm(b.raw(b.slot(name).atom!));
  const first = reg(b.test('PLOP3', [], [...sources, table('t')]));
  const second = reg(b.test('PLOP3', [], [...sources, table('s')]));
  b.giveTruth('d', first);
  b.giveTruth('q', second);
};

/** Two tables over the signs of three words. */
const signs: Meaning = (b) => {
  const sign = (name: string): Operand => reg(b.test('ISETP', ['LT', 'S32'], [b.plain(name), RZ, PT]));
  const sources = [sign('a'), sign('b'), sign('c')];
  const table = (name: string): Operand => imm(b.raw(b.slot(name).atom!));
  const first = reg(b.test('PLOP3', [], [...sources, table('t')]));
  const second = reg(b.test('PLOP3', [], [...sources, table('s')]));
  b.giveTruth('d', first);
  b.giveTruth('q', second);
};

const permute: Meaning = (b) =>
  b.write('PRMT', [b.mod('mode')], [b.to('d')], [b.plain('a'), b.plain('b'), b.plain('c')]);

const select: Meaning = (b) => b.write('SEL', [], [b.to('d')], [b.plain('a'), b.plain('b'), b.truth('p')]);

const extend: Meaning = (b) => {
  const n = b.plain('b');
  const size = b.has('W') ? reg(b.pure('LOP3', [], [n, imm(31), RZ, imm(0xc0)])) : n;
  b.write('SGXT', [typeOf(b)], [b.to('d')], [b.plain('a'), size]);
};

const mask: Meaning = (b) => b.write('BMSK', [b.mod('W')], [b.to('d')], [b.plain('a'), b.plain('b')]);

const move: Meaning = (b) => {
  if (b.find('m') !== undefined && b.raw(b.slot('m').atom!) !== 15) b.fail('a move of some bytes');
  if (b.mod('type') === '64' || /64$/.test(b.i.form.name)) {
    const slot = b.slot('b');
    return b.give('d', b.word(slot), b.word(slot, 1));
  }
  b.give('d', b.plain('b'));
};

const selectWide: Meaning = (b) => {
  const d = b.pure('SEL', ['64'], [b.wide('a'), b.wide('b'), b.truth('p')], RegFile.RD);
  b.giveWide('d', reg(d));
};

/** VABSDIFF: |a - b| + c. */
const difference: Meaning = (b) => {
  if (b.to('p') !== NO_REG) b.fail('a carry');
  const [x, y, type] = [b.plain('a'), b.plain('b'), typeOf(b)];
  const [lo, hi] = [b.pure('IMNMX', ['MIN', type], [x, y]), b.pure('IMNMX', ['MAX', type], [x, y])];
  b.write('IADD3', [], [b.to('d')], [reg(hi), reg(lo, Mod.Neg), b.plain('c')]);
};

/** VABSDIFF4: absolute differences of four bytes, each in its place (c is ignored); with ACC, their sum plus c. */
const differences: Meaning = (b) => {
  if (b.to('p') !== NO_REG) b.fail('a carry');
  const sums = b.has('ACC');
  const c = b.plain('c');
  const [x, y] = [b.plain('a'), b.plain('b')];
  const type = b.mod('type') === 'U8' ? 'U32' : 'S32';
  let all = sums ? c : RZ;
  for (let k = 0; k < 4; k++) {
    const byte = (v: Operand): Operand => reg(b.pure('BFE', [type], [v, imm(8 * k), imm(8)]));
    const [u, v] = [byte(x), byte(y)];
    const [lo, hi] = [b.pure('IMNMX', ['MIN', type], [u, v]), b.pure('IMNMX', ['MAX', type], [u, v])];
    const difference = reg(b.pure('IADD3', [], [reg(hi), reg(lo, Mod.Neg), sums ? all : RZ]));
    all = sums ? difference : reg(b.pure('BFI', [], [difference, all, imm(8 * k), imm(8)]));
  }
  b.give('d', all);
};

const leading: Meaning = (b) => {
  if (b.to('p') !== NO_REG) b.fail('a predicate of the highest bit');
  b.write('FLO', [typeOf(b), b.mod('SH')], [b.to('d')], [b.integer('b')]);
};
const population: Meaning = (b) => b.write('POPC', [], [b.to('d')], [b.integer('b')]);
const reversed: Meaning = (b) => b.write('BREV', [], [b.to('d')], [b.plain('b')]);

/** Dot product of bytes. */
const dot =
  (part: (b: Builder) => string): Meaning =>
  (b) => {
    const type = (name: string): string => (b.mod(name).startsWith('S') ? 'S' : 'U');
    b.write(
      'IDP',
      [part(b), `${type('ta')}A`, `${type('tb')}B`],
      [b.to('d')],
      [b.plain('a'), b.plain('b'), b.integer('c')],
    );
  };

/** P2R: byte `byte` of a with the masked bits replaced by predicates. */
const fromPredicates: Meaning = (b) => {
  const shiftBy = 8 * ['', 'B1', 'B2', 'B3'].indexOf(b.mod('byte'));
  const wanted = b.raw(b.slot('m').atom!);
  let d = b.plain('a');
  for (let k = 0; k < 7; k++) {
    if (((wanted >> k) & 1) === 0) continue;
    const bit = imm(1 << (k + shiftBy));
    const set = reg(b.pure('LOP3', [], [d, bit, RZ, imm(0xfc)]));
    const clear = reg(b.pure('LOP3', [], [d, bit, RZ, imm(0x30)]));
    d = reg(b.pure('SEL', [], [set, clear, reg(b.predicate(k))]));
  }
  b.give('d', d);
};

/** R2P: sets the masked predicates to bits of a byte. */
const toPredicates: Meaning = (b) => {
  const slot = b.slot('a');
  const shiftBy = 8 * ['', 'B1', 'B2', 'B3'].indexOf(b.suffix(slot));
  const wanted = b.raw(b.slot('m').atom!);
  const word = b.word(slot);
  const bits: [number, Operand][] = [];
  for (let k = 0; k < 7; k++) {
    if (((wanted >> k) & 1) === 0) continue;
    const bit = reg(b.pure('LOP3', [], [word, imm(1 << (k + shiftBy)), RZ, imm(0xc0)]));
    bits.push([k, reg(b.test('ISETP', ['NE', 'U32'], [bit, RZ, PT]))]);
  }
  for (const [k, bit] of bits) b.write('PLOP3', [], [b.predicate(k)], [bit, PT, PT, imm(0xf0)]);
};

const saturate: Meaning = (b) => {
  const [to] = b.mod('to').split('.');
  b.write('I2I', [`dt=${to}`, 'st=S32', 'SAT'], [b.to('d')], [b.plain('b')]);
};

/** Clamps two signed words to fewer bits: those of b lowest, then those of a, then the low bits of c. */
const pack: Meaning = (b) => {
  const [to, , saturated] = `${b.mod('to')}.${b.mod('sat')}`.split('.');
  if (saturated !== 'SAT') b.fail(`.${saturated || to} without .SAT is not supported yet`);
  const word = b.word(b.slot('c'));
  const c = b.suffix(b.slot('c')) === 'H1' ? reg(b.pure('SHR', ['U32'], [word, imm(16)])) : word;
  b.write('I2IP', [`dt=${to}`], [b.to('d')], [b.plain('a'), b.plain('b'), c]);
};

/** Translators by row of the form. */
export const INTEGER: Readonly<Record<string, Meaning>> = {
  IADD3: add3,
  UIADD3: add3,
  IMAD: multiplyAdd,
  UIMAD: multiplyAdd,
  'IMAD.WIDE': multiplyWide,
  'UIMAD.WIDE': multiplyWide,
  'IMAD.HI': multiplyHigh,
  'UIMAD.HI': multiplyHigh,
  IABS: absolute,
  IMNMX: minmax,
  VIMNMX: minmax,
  UIMNMX: minmax,
  UVIMNMX: minmax,
  VIMNMX3: minmax3,
  VIADDMNMX: addMinmax,
  VIADD: add2,
  UVIADD: add2,
  ISETP: compare,
  UISETP: compare,
  'IDP.4A': dot(() => '4A'),
  'IDP.2A': dot((b) => (b.mod('half') === 'HI' ? '2A_HI' : '2A_LO')),
  I2I: saturate,
  UI2I: saturate,
  I2IP: pack,
  'I2IP.small': pack,
  UI2IP: pack,
  'UI2IP.small': pack,
  LEA: shiftAdd,
  ULEA: shiftAdd,
  SHF: shift,
  USHF: shift,
  LOP3: logic,
  ULOP3: logic,
  PLOP3: predicates,
  UPLOP3: predicates,
  'PLOP3.sign': signs,
  'UPLOP3.sign': signs,
  PRMT: permute,
  UPRMT: permute,
  SEL: select,
  USEL: select,
  SGXT: extend,
  USGXT: extend,
  BMSK: mask,
  UBMSK: mask,
  MOV: move,
  UMOV: move,
  'UMOV.r': move,
  'MOV.64': move,
  'UMOV.64': move,
  'SEL.64': selectWide,
  'SEL.64.i': selectWide,
  'SEL.64.u': selectWide,
  'USEL.64': selectWide,
  'USEL.64.i': selectWide,
  IADD: addWide,
  'UIADD3.64': addWide,
  VABSDIFF: difference,
  VABSDIFF4: differences,
  FLO: leading,
  UFLO: leading,
  POPC: population,
  UPOPC: population,
  BREV: reversed,
  UBREV: reversed,
  P2R: fromPredicates,
  R2P: toPredicates,
};
