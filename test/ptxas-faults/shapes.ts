/** Code of which ptxas 13.0.88 makes something wrong for sm_90, and code like it that it gets right. */

export interface Shape {
  /** Name of the fault. */
  readonly fault: string;
  readonly name: string;
  /** From %a, %b, %c and %e (64 bits: %a and %b) to %d. */
  readonly body: readonly string[];
  /** Width of these registers; 32 where absent. */
  readonly w?: 32 | 64;
  /** Lines of the body behind the one that is warned of; 0 where absent. */
  readonly line?: number;
}

const MIN_MAX = 'negation-lost-in-min-max';
const ROTATION = 'difference-made-rotation';
const PERMUTATION = 'permutation-loses-first-source';
const SHIFT = 'negative-shift-taken-for-positive';
const PRODUCT = 'product-bit-wraps';
const MINIMUM = 'signed-minimum-taken-for-zero';
const FIELD = 'signed-field-beyond-the-word';

const minMax = (name: string, ...body: string[]): Shape => ({ fault: MIN_MAX, name, body });
const rotation = (name: string, ...body: string[]): Shape => ({
  fault: ROTATION,
  name,
  body,
  w: 64,
});
const permutation = (name: string, ...body: string[]): Shape => ({
  fault: PERMUTATION,
  name,
  body,
});
const shift = (name: string, ...body: string[]): Shape => ({
  fault: SHIFT,
  name,
  body,
  line: 1,
});
const product = (name: string, ...body: string[]): Shape => ({
  fault: PRODUCT,
  name,
  body,
  line: 1,
});

const neg = 'neg.s32 %t1, %a;';

export const SHAPES: readonly Shape[] = [
  minMax('maximum', neg, 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax('minimum', neg, 'min.s32 %t2, %c, %t1;', 'min.s32 %d, %t2, %b;'),
  minMax('the inner one second', neg, 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %b, %t2;'),
  minMax('by a subtraction', 'sub.s32 %t1, 0, %a;', 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax('by a product', 'mul.lo.s32 %t1, %a, -1;', 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax('relu outside', neg, 'max.s32 %t2, %c, %t1;', 'max.s32.relu %d, %t2, %b;'),
  minMax('relu inside', neg, 'max.s32.relu %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax('relu twice', neg, 'min.s32.relu %t2, %c, %t1;', 'min.s32.relu %d, %t2, %b;'),
  minMax('selected', neg, 'max.s32 %t2, %c, %t1;', 'setp.ge.s32 %p1, %t2, %b;', 'selp.b32 %d, %t2, %b, %p1;'),
  minMax(
    'selected the other way',
    neg,
    'min.s32 %t2, %c, %t1;',
    'setp.gt.s32 %p1, %t2, %b;',
    'selp.b32 %d, %b, %t2, %p1;',
  ),
  {
    ...minMax('both negated', neg, 'neg.s32 %t3, %c;', 'max.s32 %t2, %t3, %t1;', 'max.s32 %d, %t2, %b;'),
  },
  {
    ...minMax(
      'both negated, relu outside',
      neg,
      'neg.s32 %t3, %c;',
      'max.s32 %t2, %t3, %t1;',
      'max.s32.relu %d, %t2, %b;',
    ),
  },
  {
    ...minMax(
      'a negation and a product',
      neg,
      'mul.lo.s32 %t3, %c, -1;',
      'max.s32 %t2, %t3, %t1;',
      'max.s32 %d, %t2, %b;',
    ),
  },
  {
    ...minMax(
      'of 16 bits',
      'cvt.u16.u32 %h1, %a; cvt.u16.u32 %h2, %b; cvt.u16.u32 %h3, %c;',
      'neg.s16 %h4, %h1; max.s16 %h5, %h2, %h4;',
      'max.s16 %h6, %h5, %h3;',
      'cvt.s32.s16 %d, %h6;',
    ),
    line: 1,
  },
  rotation('difference', 'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 56;', 'sub.s64 %d, %l1, %l2;'),
  rotation('by 40', 'shl.b64 %l1, %a, 40; shr.u64 %l2, %a, 24;', 'sub.s64 %d, %l1, %l2;'),
  rotation('by 32', 'shl.b64 %l1, %a, 32; shr.u64 %l2, %a, 32;', 'sub.s64 %d, %l1, %l2;'),
  rotation('arithmetic', 'shl.b64 %l1, %a, 8; shr.s64 %l2, %a, 56;', 'sub.s64 %d, %l1, %l2;'),
  rotation('reversed', 'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 56;', 'sub.s64 %d, %l2, %l1;'),
  rotation('sum with the sign', 'shl.b64 %l1, %a, 8; shr.s64 %l2, %a, 56;', 'add.s64 %d, %l2, %l1;'),
  rotation(
    'negated right',
    'shl.b64 %l1, %a, 63; shr.u64 %l2, %a, 1; neg.s64 %l3, %l2;',
    'add.s64 %d, %l3, %l1;',
  ),
  rotation(
    'negated left',
    'shl.b64 %l1, %a, 1; shr.u64 %l2, %a, 63; neg.s64 %l3, %l1;',
    'add.s64 %d, %l3, %l2;',
  ),
  rotation(
    'negated both',
    'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 56; neg.s64 %l3, %l1;',
    'sub.s64 %d, %l3, %l2;',
  ),
  permutation('bytes', 'prmt.b32 %t1, %a, %b, 0xba98;', 'and.b32 %d, %t1, 0xff00ff;'),
  permutation('the lowest', 'prmt.b32 %t1, %a, %b, 0x83c9;', 'and.b32 %d, %t1, 0xff;'),
  permutation('of both', 'prmt.b32 %t1, %a, %b, 0x115b;', 'and.b32 %d, %t1, 0xffff;'),
  permutation('first and last', 'prmt.b32 %t1, %a, %b, 0x4a98;', 'and.b32 %d, %t1, 0xff0000ff;'),
  permutation('converted', 'prmt.b32 %t1, %a, %b, 0xba98;', 'cvt.u32.u8 %d, %t1;'),
  permutation('half', 'prmt.b32 %t1, %a, %b, 0x88b9;', 'cvt.s32.u16 %d, %t1;'),
  shift('shifted down', 'or.b32 %t1, %a, 0x80000000;', 'shr.s32 %t2, %t1, 3;', 'shr.u32 %d, %t2, 29;'),
  shift('one more bit', 'or.b32 %t1, %a, 0xc0000000;', 'shr.s32 %t2, %t1, 2;', 'shr.u32 %d, %t2, 31;'),
  shift('masked', 'or.b32 %t1, %a, 0xbfffffff;', 'shr.s32 %t2, %t1, 3;', 'and.b32 %d, %t2, 0x80000000;'),
  {
    ...shift('compared', 'HFMA2.*1\\.19', 'or.b32 %t1, %a, 0x88888888;', 'shr.s32 %t2, %t1, 1;'),
    body: [
      'or.b32 %t1, %a, 0x88888888;',
      'shr.s32 %t2, %t1, 1;',
      'setp.lt.s32 %p1, %t2, 0; selp.b32 %d, 1, 2, %p1;',
    ],
  },
  product(
    'square',
    'or.b32 %t1, %a, 1; shl.b32 %t2, %t1, 17;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 4;',
  ),
  product(
    'just beyond',
    'or.b32 %t1, %a, 7; shl.b32 %t2, %t1, 16;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 1;',
  ),
  product(
    'of a sum',
    'shl.b32 %t1, %a, 18; xor.b32 %t2, %t1, 0x20000;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 4;',
  ),
  product(
    'of two',
    'or.b32 %t1, %a, 1; shl.b32 %t2, %t1, 10; or.b32 %t4, %b, 1; shl.b32 %t5, %t4, 23;',
    'mul.lo.u32 %t3, %t2, %t5;',
    'and.b32 %d, %t3, 2;',
  ),
  {
    fault: MINIMUM,
    name: 'plain',
    body: ['max.u32 %t1, %a, 0;', 'min.s32 %d, %t1, 0;'],
  },
  {
    fault: MINIMUM,
    name: 'the other way',
    body: ['max.u32 %t1, 0, %a;', 'min.s32 %d, 0, %t1;'],
  },
  { fault: FIELD, name: 'constants', body: ['bfe.s32 %d, %a, 32, 1;'] },
  { fault: FIELD, name: 'far beyond', body: ['bfe.s32 %d, %a, 255, 255;'] },
];

export const NEAR_MISSES: readonly Shape[] = [
  minMax('negated first', neg, 'max.s32 %t2, %t1, %c;', 'max.s32 %d, %t2, %b;'),
  minMax('negated outside', neg, 'max.s32 %t2, %c, %b;', 'max.s32 %d, %t2, %t1;'),
  minMax('unsigned', neg, 'max.u32 %t2, %c, %t1;', 'max.u32 %d, %t2, %b;'),
  minMax('minimum of maximum', neg, 'max.s32 %t2, %c, %t1;', 'min.s32 %d, %t2, %b;'),
  minMax('difference', 'sub.s32 %t1, %e, %a;', 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  {
    ...minMax('complement', 'not.b32 %t1, %a;', 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  },
  minMax('absolute value', 'abs.s32 %t1, %a;', 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax('with a constant', neg, 'max.s32 %t2, %c, %t1;', 'max.s32 %d, %t2, 5;'),
  minMax('with a constant inside', neg, 'max.s32 %t2, 5, %t1;', 'max.s32 %d, %t2, %b;'),
  minMax(
    'inner one used twice',
    neg,
    'max.s32 %t2, %c, %t1;',
    'max.s32 %t3, %t2, %b;',
    'xor.b32 %d, %t3, %t2;',
  ),
  minMax('relu of a minimum inside', neg, 'min.s32.relu %t2, %c, %t1;', 'min.s32 %d, %t2, %b;'),
  rotation('sum', 'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 56;', 'xor.b64 %d, %l1, %l2;'),
  rotation('other amounts', 'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 55;', 'sub.s64 %d, %l1, %l2;'),
  rotation('two values', 'shl.b64 %l1, %a, 8; shr.u64 %l2, %b, 56;', 'sub.s64 %d, %l1, %l2;'),
  rotation('a product', 'mul.lo.u64 %l1, %a, 256; shr.u64 %l2, %a, 56;', 'sub.s64 %d, %l1, %l2;'),
  rotation(
    'a term between',
    'shl.b64 %l1, %a, 8; shr.u64 %l2, %a, 56; add.s64 %l3, %l1, %b;',
    'sub.s64 %d, %l3, %l2;',
  ),
  { ...rotation('of 32 bits', 'shl.b32 %t1, %a, 8; shr.u32 %t2, %a, 24;', 'sub.s32 %d, %t1, %t2;'), w: 32 },
  permutation('byte of the first', 'prmt.b32 %t1, %a, %b, 0x3a98;', 'and.b32 %d, %t1, 0xff0000ff;'),
  permutation('without the lowest', 'prmt.b32 %t1, %a, %b, 0xba98;', 'and.b32 %d, %t1, 0xff00;'),
  permutation('part of a byte', 'prmt.b32 %t1, %a, %b, 0xba98;', 'and.b32 %d, %t1, 0x3ff;'),
  permutation('whole', 'prmt.b32 %t1, %a, %b, 0xba98;', 'add.s32 %d, %t1, 0xff;'),
  permutation('of a constant', 'prmt.b32 %t1, %a, 0, 0xba98;', 'and.b32 %d, %t1, 0xff;'),
  permutation('signed half', 'prmt.b32 %t1, %a, %b, 0x1198;', 'cvt.s32.s16 %d, %t1;'),
  shift('by 4', 'or.b32 %t1, %a, 0x80000000;', 'shr.s32 %t2, %t1, 4;', 'shr.u32 %d, %t2, 31;'),
  shift('known at its place', 'or.b32 %t1, %a, 0x90000000;', 'shr.s32 %t2, %t1, 1;', 'shr.u32 %d, %t2, 31;'),
  shift('unknown sign', 'or.b32 %t1, %a, 0x10000000;', 'shr.s32 %t2, %t1, 1;', 'shr.u32 %d, %t2, 31;'),
  product(
    'even',
    'or.b32 %t1, %a, 2; shl.b32 %t2, %t1, 17;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 4;',
  ),
  product(
    'within the word',
    'or.b32 %t1, %a, 1; shl.b32 %t2, %t1, 15;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 0x40000000;',
  ),
  product(
    'the sign alone',
    'or.b32 %t1, %a, 1; shl.b32 %t2, %t1, 31;',
    'mul.lo.u32 %t3, %t2, %t2;',
    'and.b32 %d, %t3, 0x40000000;',
  ),
  {
    fault: MINIMUM,
    name: 'with 5',
    body: ['max.u32 %t1, %a, 0;', 'min.s32 %d, %t1, 5;'],
  },
  {
    fault: MINIMUM,
    name: 'unsigned',
    body: ['max.s32 %t1, %a, 0;', 'min.s32 %d, %t1, %b;'],
  },
  { fault: FIELD, name: 'at the last bit', body: ['bfe.s32 %d, %a, 31, 8;'] },
  { fault: FIELD, name: 'of no bits', body: ['bfe.s32 %d, %a, 40, 0;'] },
  { fault: FIELD, name: 'unsigned', body: ['bfe.u32 %d, %a, 40, 8;'] },
  {
    fault: FIELD,
    name: 'of a length that is no constant',
    body: ['and.b32 %t1, %b, 255;', 'bfe.s32 %d, %a, 40, %t1;'],
  },
  { fault: FIELD, name: 'of 64 bits', body: ['bfe.s64 %d, %a, 70, 8;'], w: 64 },
];
