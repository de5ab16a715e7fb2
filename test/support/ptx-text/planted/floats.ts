import { Modifiers } from '../table/case.ts';
import { TABLE } from '../table/index.ts';
import { canonicalNaN, type Format, flushed, isNegative, isNotANumber, withSign } from '../values/floats.ts';
import { type Change, type Fault, instead, numbers, ofKind, operands, results, where } from './fault.ts';

const magnitude = (f: Format, x: bigint): bigint => withSign(f, x, false);

/** Rounds the product before the sum, so that the result is rounded twice. */
const twoRoundings: Change =
  ({ words }) =>
  ([a, b, c], open) => {
    const of = (opcode: string, x: readonly bigint[]): bigint =>
      numbers(TABLE[`${opcode}.float`](new Modifiers(opcode, words, 2)).of(x, open))[0];
    return of('add', [of('mul', [a, b]), c]);
  };

/** A change of float-to-integer conversions. */
const toInteger =
  (of: (f: Format, a: bigint, d: bigint, width: number) => bigint): Change =>
  ({ computation: c }) => {
    const f = c.operands[0].format;
    const [t] = c.results;
    if (f === undefined || t.format !== undefined || c.operands[0].kind !== 'float') return null;
    return (a, open) => of(f, a[0], numbers(c.of(a, open))[0], t.width);
  };

/** Faults of floating-point instructions and conversions. */
export const FLOAT_FAULTS: readonly Fault[] = [
  {
    name: 'min gives NaN if one is',
    key: 'min.float',
    change: ofKind(
      'float',
      results(([d], a, { operands: [t] }) => [
        a.some((x) => isNotANumber(t.format!, x)) ? canonicalNaN(t.format!) : d,
      ]),
    ),
  },
  {
    name: 'max takes the first of two zeros',
    key: 'max.float',
    change: ofKind(
      'float',
      results(([d], a, { operands: [t] }) => [a.every((x) => magnitude(t.format!, x) === 0n) ? a[0] : d]),
    ),
  },
  { name: 'add rounds toward zero where it rounds down', key: 'add.float', change: instead('rm', 'rz') },
  { name: 'mul does not flush', key: 'mul.float', change: instead('ftz', null) },
  { name: 'fma rounds the product', key: 'fma', change: where(/^r[nzmp]\.f\d+$/, twoRoundings) },
  { name: 'fma.sat does not saturate', key: 'fma', change: instead('sat', null) },
  { name: 'div rounds to nearest where it rounds up', key: 'div.float', change: instead('rp', 'rn') },
  {
    name: 'sqrt of a subnormal number is that of 0',
    key: 'sqrt',
    change: operands(([a], { operands: [t] }) => [flushed(t.format!, a)]),
  },
  {
    name: 'a zero is not normal',
    key: 'testp',
    change: where(
      /normal/,
      results(([d], [a], { operands: [t] }) => [magnitude(t.format!, a) === 0n ? 0n : d]),
    ),
  },
  {
    name: 'copysign takes its operands the other way',
    key: 'copysign',
    change: operands(([a, b]) => [b, a]),
  },
  {
    name: 'neg of +0 is +0',
    key: 'neg.float',
    change: ofKind(
      'float',
      results(([d], [a]) => [a === 0n ? 0n : d]),
    ),
  },
  {
    name: 'packed halves are added crosswise',
    key: 'add.float',
    change: where(
      /f16x2/,
      operands(([a, b]) => [a, ((b & 0xffffn) << 16n) | (b >> 16n)]),
    ),
  },
  {
    name: 'cvt extends signed numbers by zeros',
    key: 'cvt',
    change: where(
      /^[su]\d+\.s\d+$/,
      operands(([a], { operands: [t] }) => [BigInt.asUintN(t.width, a)]),
    ),
  },
  {
    name: 'cvt.sat of integers wraps',
    key: 'cvt',
    change: where(/^sat\.[su]\d+\.[su]\d+$/, instead('sat', null)),
  },
  { name: 'cvt.rni rounds toward zero', key: 'cvt', change: instead('rni', 'rzi') },
  { name: 'cvt.rmi rounds toward zero', key: 'cvt', change: instead('rmi', 'rzi') },
  { name: 'cvt.rz rounds to nearest', key: 'cvt', change: instead('rz', 'rn') },
  {
    name: 'NaN becomes the largest integer',
    key: 'cvt',
    change: toInteger((f, a, d, width) => (isNotANumber(f, a) ? (1n << BigInt(width - 1)) - 1n : d)),
  },
  {
    name: 'negative numbers do not become 0 as unsigned ones',
    key: 'cvt',
    change: where(
      /^r[nzmp]i\.(ftz\.)?u/,
      toInteger((f, a, d) => (isNegative(f, a) && !isNotANumber(f, a) ? d - 1n : d)),
    ),
  },
];
