import { Kind, NO_REG, type Operand, type Reg, RegFile, RZ, reg, text } from '../ir/operand.ts';
import { BITS } from '../sim/matrix-names.ts';
import type { Builder, Meaning } from './builder.ts';
import { sharedAddress } from './memory.ts';
import { physical } from './registers.ts';

/*
 * Matrix products and data movement by whole warps. Each becomes one PTX instruction; PTX fragments have the hardware's layout: the
 * registers of a fragment are consecutive, in PTX's order.
 */

/** Number of 32-bit registers per lane for a matrix. */
const registersOf = (rows: number, columns: number, type: string): number =>
  (rows * columns * BITS[type]) / (32 * 32);

/** A matrix product in PTX terms. */
interface Product {
  readonly m: number;
  readonly k: number;
  /** Types of the result, both factors and the addend. */
  readonly types: readonly [d: string, a: string, b: string, c: string];
  readonly before?: string;
  readonly after?: string;
}

/** Number of columns of every product. */
const N = 8;

/** Rows, and length of the sums, from a shape modifier such as 16816, 8832, 168256 or 16x8x4. */
function shapeOf(b: Builder): { m: number; k: number } {
  const found = /^(16|8)x?8x?(\d+)$/.exec(b.mod('shape'));
  if (found === null) return b.fail(`the shape ${b.mod('shape')}`);
  return { m: Number(found[1]), k: Number(found[2]) };
}

/** Consecutive words of an operand. */
const words = (b: Builder, name: string, count: number): Operand[] =>
  Array.from({ length: count }, (_, k) => {
    const w = b.word(b.slot(name), k);
    return w === RZ ? reg(b.pure('MOV', [], [RZ])) : w;
  });

/** Consecutive 64-bit values of an operand, each from two registers. */
const pairs = (b: Builder, name: string, count: number): Operand[] =>
  Array.from({ length: count }, (_, k) => {
    const slot = b.slot(name);
    return reg(b.pure('PAIR', [], [b.word(slot, 2 * k), b.word(slot, 2 * k + 1)], RegFile.RD));
  });

function product(b: Builder, { m, k, types, before = '', after = '' }: Product): void {
  const wide = types[0] === 'f64';
  const [nd, na, nb, nc] = [
    registersOf(m, N, types[0]),
    registersOf(m, k, types[1]),
    registersOf(k, N, types[2]),
    registersOf(m, N, types[3]),
  ].map((n) => (wide ? n / 2 : n));
  for (const name of ['a', 'b', 'c']) {
    const s = b.signsOf(b.slot(name));
    if (s.negative || s.absolute || s.complement) b.fail(`a sign of the operand ${name}`);
  }
  const fragment = wide ? pairs : words;
  const sources = [...fragment(b, 'a', na), ...fragment(b, 'b', nb), ...fragment(b, 'c', nc)];
  // Destinations may overlap sources, so results are written after all have been computed.
  const made = Array.from({ length: nd }, () => b.temporary(wide ? RegFile.RD : RegFile.R));
  const size = wide ? ':64' : '';
  const listed = (letter: string, from: number, n: number): string =>
    `{${Array.from({ length: n }, (_, i) => `<${letter}${from + i}${size}>`).join(', ')}}`;
  const name = `mma.sync.aligned.m${m}n${N}k${k}.row.col${before}.${types.join('.')}${after}`;
  const operands = [
    listed('d', 0, nd),
    listed('s', 0, na),
    listed('s', na, nb),
    listed('s', na + nb, nc),
  ].join(', ');
  b.write('FOREIGN_LANES', [], made, [text(`${name} ${operands}`), ...sources]);
  if (!wide) b.give('d', ...made.map((r) => reg(r)));
  else
    made.forEach((r, i) => {
      b.write('UNPAIR', [], [b.to('d', 2 * i), b.to('d', 2 * i + 1)], [reg(r)]);
    });
}

const half: Meaning = (b) => {
  const type = b.mod('type').toLowerCase();
  const factor = b.mod('in').toLowerCase() || 'f16';
  product(b, { ...shapeOf(b), types: [type, factor, factor, type] });
};

const small: Meaning = (b) => {
  const type = b.mod('type').toLowerCase();
  product(b, { ...shapeOf(b), types: [type, b.mod('ta').toLowerCase(), b.mod('tb').toLowerCase(), type] });
};

const integer: Meaning = (b) =>
  product(b, {
    ...shapeOf(b),
    types: ['s32', b.mod('ta').toLowerCase(), b.mod('tb').toLowerCase(), 's32'],
    before: b.has('SAT') ? '.satfinite' : '',
  });

const bits: Meaning = (b) =>
  product(b, {
    ...shapeOf(b),
    types: ['s32', 'b1', 'b1', 's32'],
    after: `.${b.mod('bool').toLowerCase()}.popc`,
  });

const double: Meaning = (b) => {
  if (!['', 'RN'].includes(b.mod('round'))) b.fail(`.${b.mod('round')} is not supported yet`);
  // Before Hopper there is a single shape, which the modifiers omit.
  const shape = b.mod('shape') === '' ? { m: 8, k: 4 } : shapeOf(b);
  product(b, { ...shape, types: ['f64', 'f64', 'f64', 'f64'] });
};

/** Count and PTX modifiers of a matrix move: `m8n8`, transposed for MT88. */
function partsOf(b: Builder): { count: number; name: string } {
  const shape = b.mod('shape');
  if (shape !== 'M88' && shape !== 'MT88') b.fail(`.${shape} is not supported yet`);
  const count = Number(b.mod('count') || '1');
  return { count, name: `.sync.aligned.m8n8.x${count}${shape === 'MT88' ? '.trans' : ''}.shared.b16` };
}

const placesOf = (letter: string, from: number, count: number): string =>
  `{${Array.from({ length: count }, (_, i) => `<${letter}${from + i}>`).join(', ')}}`;

const loadParts: Meaning = (b) => {
  const { count, name } = partsOf(b);
  const made: Reg[] = Array.from({ length: count }, () => b.temporary());
  const how = text(`ldmatrix${name} ${placesOf('d', 0, count)}, [<s0>]`);
  b.write('FOREIGN_LOAD_LANES', ['SHARED'], made, [how, reg(sharedAddress(b, 'ad'))]);
  b.give('d', ...made.map((r) => reg(r)));
};

const storeParts: Meaning = (b) => {
  const { count, name } = partsOf(b);
  const how = text(`stmatrix${name} [<s0>], ${placesOf('s', 1, count)}`);
  b.write('FOREIGN_STORE_LANES', ['SHARED'], [], [how, reg(sharedAddress(b, 'ad')), ...words(b, 'b', count)]);
};

const transpose: Meaning = (b) => {
  const d = b.temporary();
  b.write(
    'FOREIGN_LANES',
    [],
    [d],
    [text('movmatrix.sync.aligned.m8n8.trans.b16 <d0>, <s0>'), ...words(b, 'a', 1)],
  );
  b.give('d', reg(d));
};

// -------------------------------------------------------------------- products of a warpgroup

/** A warpgroup product in PTX terms. */
interface GroupProduct {
  /** Types of the accumulator and of both factors. */
  readonly types: readonly [d: string, a: string, b: string];
  readonly before?: string;
  readonly after?: string;
  /** True if the instruction has operands for signs, and for transpositions. */
  readonly signs: boolean;
  readonly transposes: boolean;
}

/** Rows of a warpgroup product per warp. */
const GROUP_ROWS = 16;
/** Registers of a first factor. */
const GROUP_FACTOR = 4;

/** Offset of the second factor's descriptor among the four uniform registers of both, even if the first factor has none (measured). */
const SECOND_FACTOR = 2;

/** A matrix descriptor: two uniform registers, `skip` registers after the named one. */
function descriptorOf(b: Builder, name: string, skip: number): Operand {
  const atom = b.slot(name).prefix?.term.atom;
  if (atom === undefined) return b.fail('a descriptor that is not a register');
  const [low, high] = [0, 1].map((k) => reg(physical('UR', b.raw(atom) + skip + k)));
  return reg(b.pure('PAIR', [], [low, high], RegFile.RD));
}

/**
 * A warpgroup product, and the commit of its group if it signals the scoreboard. Sums accumulate in place: PTX has no form with a separate
 * addend.
 */
function groupProduct(b: Builder, p: GroupProduct): void {
  const shape = /^64x(\d+)x(\d+)$/.exec(b.mod('shape'));
  if (shape === null) return b.fail(`the shape ${b.mod('shape')}`);
  const [n, k] = shape.slice(1).map(Number);
  const sums = Array.from({ length: registersOf(GROUP_ROWS, n, p.types[0]) }, (_, i) => b.to('d', i));
  const inRegisters = b.find('b') !== undefined;
  const adds = b.truth('p');
  const old = b.word(b.slot('c'));
  const alone = adds.kind === Kind.Imm && (adds.lo & 1) === 0;
  if (sums[0] === NO_REG) return b.fail('a result that is discarded');
  if (!alone && old.reg !== sums[0]) return b.fail('an accumulator that is not the destination');
  const first = inRegisters ? words(b, 'a', GROUP_FACTOR) : [descriptorOf(b, 'a', 0)];
  const second = descriptorOf(b, inRegisters ? 'b' : 'a', SECOND_FACTOR);
  const sources = [...sums.map((r) => reg(r)), ...first, second, adds];
  const at = sums.length;
  const negative = (name: string): number => (b.has(name) ? -1 : 1);
  const signA = inRegisters && b.signsOf(b.slot('a')).negative ? -1 : negative('na');
  const operands = [
    `{${sums.map((_, i) => `<d${i}=s${i}>`).join(', ')}}`,
    inRegisters ? placesOf('s', at, GROUP_FACTOR) : `<s${at}:64>`,
    `<s${at + first.length}:64>`,
    `<s${at + first.length + 1}:p>`,
    ...(p.signs ? [signA, negative('nb')] : []),
    ...(p.transposes ? (inRegisters ? ['tb'] : ['ta', 'tb']).map((name) => (b.has(name) ? 1 : 0)) : []),
  ];
  const name = `wgmma.mma_async.sync.aligned.m64n${n}k${k}${p.before ?? ''}.${p.types.join('.')}${p.after ?? ''}`;
  b.write('FOREIGN', ['BEGINS'], sums, [text(`${name} ${operands.join(', ')}`), ...sources]);
  const signal = b.slot('g').atom!;
  if (b.i.form.fields[signal.field].names?.[b.raw(signal)] === 'gsb0')
    b.write('FOREIGN', ['COMMITS'], [], [text('wgmma.commit_group.sync.aligned')]);
}

const groupHalves: Meaning = (b) => {
  const factor = b.mod('from').toLowerCase() || 'f16';
  groupProduct(b, {
    types: [b.mod('to').toLowerCase(), factor, factor],
    signs: true,
    transposes: factor !== 'tf32',
  });
};

const groupSmall: Meaning = (b) =>
  groupProduct(b, {
    types: [b.mod('to').toLowerCase(), b.mod('ta').toLowerCase(), b.mod('tb').toLowerCase()],
    signs: true,
    transposes: false,
  });

const groupIntegers: Meaning = (b) =>
  groupProduct(b, {
    types: ['s32', b.mod('ta').toLowerCase(), b.mod('tb').toLowerCase()],
    before: b.has('SAT') ? '.satfinite' : '',
    signs: false,
    transposes: false,
  });

const groupBits: Meaning = (b) =>
  groupProduct(b, {
    types: ['s32', 'b1', 'b1'],
    after: `.${b.mod('bool').toLowerCase()}.popc`,
    signs: false,
    transposes: false,
  });

const groupArrive: Meaning = (b) => b.write('FOREIGN', ['ORDERS'], [], [text('wgmma.fence.sync.aligned')]);

const groupWait: Meaning = (b) => {
  const left = b.raw(b.slot('n').atom!);
  b.write('FOREIGN', ['ENDS'], [], [text(`wgmma.wait_group.sync.aligned ${left}`)]);
};

/** Translators by row of the form. */
export const MATRIX: Readonly<Record<string, Meaning>> = {
  HMMA: half,
  QMMA: small,
  IMMA: integer,
  BMMA: bits,
  DMMA: double,
  LDSM: loadParts,
  STSM: storeParts,
  MOVM: transpose,
  HGMMA: groupHalves,
  'HGMMA.r': groupHalves,
  QGMMA: groupSmall,
  'QGMMA.r': groupSmall,
  IGMMA: groupIntegers,
  'IGMMA.r': groupIntegers,
  BGMMA: groupBits,
  'BGMMA.r': groupBits,
  'WARPGROUP.ARRIVE': groupArrive,
  'WARPGROUP.DEPBAR': groupWait,
};
