import type { Type } from '../values/types.ts';
import { type Fault, firstOf, instead, numbers, ofKind, operands, results, where } from './fault.ts';

const unsigned = (t: Type, x: bigint): bigint => BigInt.asUintN(t.width, x);
/** Reads the factors as unsigned. */
const unsignedFactors = operands(([a, b, ...c], { operands: [t] }) => [unsigned(t, a), unsigned(t, b), ...c]);

/** Faults of integer and bit instructions. */
export const INTEGER_FAULTS: readonly Fault[] = [
  { name: 'add wraps where it saturates', key: 'add', change: instead('sat', null) },
  { name: 'sub takes its operands the other way', key: 'sub', change: operands(([a, b]) => [b, a]) },
  {
    name: 'mul.hi of signed numbers is that of unsigned ones',
    key: 'mul',
    change: where(/hi\.s/, unsignedFactors),
  },
  {
    name: 'mul.wide of signed numbers is that of unsigned ones',
    key: 'mul',
    change: where(/wide\.s/, unsignedFactors),
  },
  {
    name: 'mad.wide loses the upper half of what it adds',
    key: 'mad',
    change: where(
      /wide/,
      operands(([a, b, c], { operands: [t] }) => [a, b, unsigned(t, c)]),
    ),
  },
  { name: 'mad.hi.sat wraps', key: 'mad', change: instead('sat', null) },
  {
    name: 'mul24 takes all 32 bits',
    key: 'mul24',
    change: where(
      /lo/,
      () =>
        ([a, b]) =>
          a * b,
    ),
  },
  {
    name: 'sad takes a difference for signed',
    key: 'sad',
    change: ofKind(
      'unsigned',
      ({
        computation: {
          operands: [t],
        },
      }) =>
        ([a, b, c]) => {
          const d = BigInt.asIntN(t.width, a - b);
          return c + (d < 0n ? -d : d);
        },
    ),
  },
  {
    name: 'div rounds down',
    key: 'div',
    change: results(([d], [a, b]) => [b !== 0n && a % b !== 0n && a < 0n !== b < 0n ? d - 1n : d]),
  },
  {
    name: 'rem has the sign of the divisor',
    key: 'rem',
    change: results(([d], [, b]) => [b !== 0n && d !== 0n && d < 0n !== b < 0n ? d + b : d]),
  },
  {
    name: 'abs is the number',
    key: 'abs',
    change:
      () =>
      ([a]) =>
        a,
  },
  {
    name: 'min compares signed numbers as unsigned ones',
    key: 'min',
    change: ofKind(
      'signed',
      ({
        computation: {
          operands: [t],
        },
      }) =>
        ([a, b]) =>
          unsigned(t, a) < unsigned(t, b) ? a : b,
    ),
  },
  { name: 'max.relu keeps negative numbers', key: 'max', change: instead('relu', null) },
  { name: 'clz of 0 is one less', key: 'clz', change: results(([d], [a]) => [a === 0n ? d - 1n : d]) },
  {
    name: 'bfind finds the sign',
    key: 'bfind',
    change: ofKind(
      'signed',
      results(([d], [a], { operands: [t] }) => [a < 0n ? BigInt(t.width - 1) : d]),
    ),
  },
  {
    name: 'bfe of no bits takes one',
    key: 'bfe',
    change: operands(([a, start, n]) => [a, start, (n & 0xffn) === 0n ? 1n : n]),
  },
  {
    name: 'bfe is never extended by the sign',
    key: 'bfe',
    change: ofKind(
      'signed',
      ({
        computation: {
          operands: [t],
        },
      }) =>
        ([a, start, n]) =>
          (unsigned(t, a) >> (start & 0xffn)) & ((1n << (n & 0xffn)) - 1n),
    ),
  },
  {
    name: 'bfi takes a bit less than its length',
    key: 'bfi',
    change: operands(([a, b, start, n]) => [a, b, start, n > 1n ? n - 1n : n]),
  },
  { name: 'szext clamps where it wraps', key: 'szext', change: instead('wrap', 'clamp') },
  { name: 'bmsk wraps where it clamps', key: 'bmsk', change: instead('clamp', 'wrap') },
  { name: 'dp4a takes signed bytes for unsigned ones', key: 'dp4a', change: instead('s32', 'u32') },
  { name: 'dp2a takes the other half', key: 'dp2a', change: instead('hi', 'lo') },
  { name: 'addc forgets the carry', key: 'addc', change: operands(([a, b]) => [a, b, 0n]) },
  { name: 'add.cc carries nothing out', key: 'add.cc', change: results(([d]) => [d, 0n]) },
  { name: 'subc borrows where it should not', key: 'subc', change: operands(([a, b, c]) => [a, b, 1n - c]) },
  {
    name: 'the table of lop3 is transposed',
    key: 'lop3',
    change: operands(([a, b, c, ...rest]) => [c, b, a, ...rest]),
  },
  {
    name: 'lop3.and forgets its predicate operand',
    key: 'lop3',
    change: where(
      /and/,
      operands((a) => [...a.slice(0, 4), 1n]),
    ),
  },
  {
    name: 'shl does not clamp',
    key: 'shl',
    change: operands(([a, n], { operands: [t] }) => [a, n & BigInt(t.width - 1)]),
  },
  {
    name: 'shr fills with zeros',
    key: 'shr',
    change: operands(([a, n], { operands: [t] }) => [unsigned(t, a), n]),
  },
  { name: 'shf.clamp wraps', key: 'shf', change: instead('clamp', 'wrap') },
  {
    name: 'prmt copies a byte where it should repeat its sign',
    key: 'prmt',
    change: where(
      /^b32$/,
      operands(([a, b, c]) => [a, b, c & 0x7777n]),
    ),
  },
  { name: 'prmt.b4e is f4e', key: 'prmt', change: instead('b4e', 'f4e') },
  { name: 'selp takes the other one', key: 'selp', change: operands(([a, b, p]) => [a, b, 1n - p]) },
  {
    name: 'slct takes -0 for negative',
    key: 'slct',
    change: where(
      /f32$/,
      operands(([a, b, c]) => [a, b, c === 0x80000000n ? 0xbf800000n : c]),
    ),
  },
  { name: 'the second predicate of setp is the first', key: 'setp', change: results(([p]) => [p, p]) },
  {
    name: 'setp forgets the predicate that it combines',
    key: 'setp',
    change: where(
      /\.(and|or|xor)\./,
      operands(([a, b]) => [a, b, 1n]),
    ),
  },
  {
    name: 'an unordered comparison is an ordered one',
    key: 'setp',
    change: firstOf(...['eq', 'ne', 'lt', 'le', 'gt', 'ge'].map((r) => instead(`${r}u`, r))),
  },
  {
    name: 'set writes 1',
    key: 'set',
    change: results(([d], _, { results: [t] }) => [t.format === undefined && numbers(d)[0] !== 0n ? 1n : d]),
  },
];
