import { writtenPart } from '../ir/foreign-text.ts';
import { Kind, Mod, NO_REG, type Operand } from '../ir/operand.ts';
import { address, sum } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import type { Emitter } from './emitter.ts';
import { emit, number } from './operands.ts';

/*
 * Products of matrices and moves of their parts, by whole warps. Ori carries these instructions as PTX text. The fragments of PTX are runs
 * of consecutive registers in machine code, in PTX's order, so they are put together before and taken apart behind.
 */

/** A word of a fragment: a register of Ori by its number among results or sources, a half of a pair of registers, or a number. */
type Word =
  | { readonly kind: 'result' | 'source'; readonly at: number; readonly half: 0 | 1 }
  | { readonly kind: 'number'; readonly value: number };

/** An instruction as its text has it. */
interface Carried {
  /** Name with modifiers, in parts. */
  readonly name: readonly string[];
  /** Operands: the words of fragments in braces, or of a single register. */
  readonly operands: readonly (readonly Word[])[];
  /** Numbers that are added to addresses, by operand. */
  readonly offsets: readonly number[];
}

const HEX = /^0[fFdDxX]/;

/** Words of one element: `<d0>`, `<s3:64>`, `0f3F800000`, `0d3FF0000000000000`, `7`. */
function wordsOf(s: Emitter, text: string): Word[] {
  const place = /^<([ds])(\d+)(?::(\d+|sym))?>$/.exec(text);
  if (place !== null) {
    const [, letter, at, bits = '32'] = place;
    const kind = letter === 'd' ? 'result' : 'source';
    return Array.from({ length: bits === '64' ? 2 : 1 }, (_, half) => ({
      kind,
      at: Number(at),
      half: half as 0 | 1,
    }));
  }
  if (/^0[dD][0-9a-fA-F]{16}$/.test(text))
    return [10, 2].map((at) => ({ kind: 'number', value: Number.parseInt(text.slice(at, at + 8), 16) | 0 }));
  const value = HEX.test(text) ? Number.parseInt(text.slice(2), 16) : Number(text);
  if (!Number.isInteger(value)) throw s.unsupported(`it has no machine code yet: '${text}'`);
  return [{ kind: 'number', value: value | 0 }];
}

/** Takes the text of the instruction at hand apart. */
function carried(s: Emitter): Carried {
  const how = writtenPart(s.ins.src[0].sym).trim();
  const [name, ...rest] = how.split(/\s+(.*)/s);
  const operands = (rest[0] ?? '').match(/\{[^}]*\}|\[[^\]]*\]|[^\s,{}[\]]+/g) ?? [];
  const offsets: number[] = [];
  const words = operands.map((text, k) => {
    const inner = text.replace(/^[{[]|[}\]]$/g, '').trim();
    const sum = /^(<[^>]*>)\+(-?\d+)$/.exec(inner);
    offsets[k] = sum === null ? 0 : Number(sum[2]);
    return (sum?.[1] ?? inner).split(/\s*,\s*/).flatMap((one) => wordsOf(s, one));
  });
  return { name: name.split('.'), operands: words, offsets };
}

const sourceOf = (s: Emitter, at: number): Operand => s.ins.src[1 + at];

/** The value of a word that is read. */
function value(s: Emitter, w: Word): Arg {
  if (w.kind === 'number') return w.value === 0 ? RZ : { kind: 'number', lo: w.value, hi: null, mods: 0 };
  if (w.kind === 'result') throw s.unsupported('it reads a result');
  const o = sourceOf(s, w.at);
  if (o.kind === Kind.Reg) return s.wordOf(s.of(o.reg), w.half);
  if (o.kind === Kind.Imm) return { kind: 'number', lo: w.half === 0 ? o.lo : o.hi, hi: null, mods: 0 };
  throw s.unsupported('an operand of this kind has no machine code yet');
}

const isZero = (s: Emitter, w: Word): boolean => {
  const v = value(s, w);
  return (v.kind === 'fixed' && v.number === null) || (v.kind === 'number' && v.lo === 0);
};

/** The fragment as a run of registers; RZ if all of it is zero. */
function gathered(s: Emitter, words: readonly Word[]): Arg {
  if (words.every((w) => isZero(s, w))) return RZ;
  if (words.length === 1) {
    const v = value(s, words[0]);
    return v.kind === 'register' ? v : s.loaded(v);
  }
  const v = s.make('R', words.length);
  words.forEach((w, k) => s.move(s.wordOf(v, k), value(s, w)));
  return s.register(v);
}

/** Hands the words of a run on to the results that a fragment names. */
function scattered(s: Emitter, words: readonly Word[], run: Arg): void {
  words.forEach((w, k) => {
    if (w.kind !== 'result') throw s.unsupported('its result is no register');
    const d = s.ins.dst[w.at];
    if (d !== NO_REG) s.move(s.wordOf(s.of(d), w.half), s.partOf(run, k));
  });
}

/** Before the first such instruction of a block, lanes that have parted meet. */
function meet(s: Emitter): void {
  if (s.metIn === s.id) return;
  // Under a guard that is false nobody meets.
  if (s.ins.guard === NO_REG) s.metIn = s.id;
  const all: Arg = { kind: 'number', lo: -1, hi: null, mods: 0 };
  if (!s.emit(['WARPSYNC'], new Map([['b', all]]))) emit(s, ['WARPSYNC', 'ALL'], {});
}

// -------------------------------------------------------------------- products

/** A product in PTX terms. */
interface Product {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Types of the result, both factors and the addend. */
  readonly types: readonly [d: string, a: string, b: string, c: string];
  readonly saturates: boolean;
  /** `and` or `xor` of single bits; '' for other types. */
  readonly bits: string;
}

/** Types of elements. */
const TYPE = /^(?:b?f16|tf32|f32|f64|[su][48]|s32|b1|e4m3|e5m2)$/;

/** Reads `mma.sync.aligned.m16n8k16.row.col{.satfinite}.f32.f16.f16.f32{.and.popc}`; null for others. */
function productOf(name: readonly string[]): Product | null {
  const found =
    /^mma\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.row\.col(\.satfinite)?((?:\.\w+){4}?)(?:\.(and|xor)\.popc)?$/.exec(
      name.join('.'),
    );
  if (found === null) return null;
  const [m, n, k] = found.slice(1, 4).map(Number);
  const types = found[5].slice(1).split('.') as [string, string, string, string];
  if (types.some((t) => !TYPE.test(t))) return null;
  return { m, n, k, types, saturates: found[4] !== undefined, bits: found[6] ?? '' };
}

/** Hopper multiplies neither elements of four bits, nor differences of single bits, nor floats of eight bits with its warps. */
const LACKING_ON_HOPPER = /^(?:[su]4|e4m3|e5m2)$/;

/** The name of the machine instruction; null if there is none. */
function nameOf(s: Emitter, { m, n, k, types: [d, a, b, c], saturates, bits }: Product): string[] | null {
  const { family } = s.around.machine;
  if (n !== 8 || d !== c) return null;
  if (family === 'hopper' && (LACKING_ON_HOPPER.test(a) || bits === 'xor')) return null;
  const shape = `${m}8${k}`;
  const [to, ta, tb] = [d, a, b].map((t) => t.toUpperCase());
  switch (a) {
    case 'f16':
    case 'bf16':
    case 'tf32':
      return a === b && m === 16 ? ['HMMA', shape, to, a === 'f16' ? '' : ta] : null;
    case 'f64':
      return family === 'hopper' ? ['DMMA', `${m}x8x${k}`] : m === 8 ? ['DMMA', '884'] : null;
    case 'e4m3':
    case 'e5m2':
      return ['QMMA', shape, to, ta, tb];
    case 'b1':
      return ['BMMA', shape, bits.toUpperCase(), 'POPC'];
    default:
      return ['IMMA', shape, ta, tb, saturates ? 'SAT' : ''];
  }
}

function multiply(s: Emitter, product: Product, operands: readonly (readonly Word[])[]): void {
  const name = nameOf(s, product);
  if (name === null) throw s.unsupported('it has no machine code yet');
  const [d, a, b, c] = operands;
  const [first, second, addend] = [a, b, c].map((words) => gathered(s, words));
  meet(s);
  const run = s.register(s.make('R', d.length));
  emit(s, name, { d: run, a: first, b: second, c: addend });
  scattered(s, d, run);
}

// -------------------------------------------------------------------- moves

/** `ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16`, `stmatrix`: shape and count of the machine instruction. */
function partsOf(s: Emitter, name: readonly string[]): [shape: string, count: string] {
  const found = /^\w+\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(?:::cta)?\.b16$/.exec(name.join('.'));
  if (found === null) throw s.unsupported('it has no machine code yet');
  return [found[2] === undefined ? 'M88' : 'MT88', found[1] === '1' ? '' : found[1]];
}

/** The address that a register or a symbol in brackets gives: in shared memory, or one of 64 bits. */
function placeOf(
  s: Emitter,
  words: readonly Word[],
  offset: number,
  isWide = false,
): Arg & { readonly kind: 'address' } {
  const [w] = words;
  const o = w.kind === 'source' ? sourceOf(s, w.at) : null;
  if (o === null || words.length > 2) throw s.unsupported('an address of this kind has no machine code yet');
  if (o.kind === Kind.Reg) return address(s, { ...o, kind: Kind.Addr, lo: offset, sym: '' }, isWide);
  return address(s, { ...o, kind: Kind.Addr, lo: o.lo + offset }, isWide);
}

function loadParts(s: Emitter, { name, operands, offsets }: Carried): void {
  const [shape, count] = partsOf(s, name);
  const [d, at] = operands;
  const ad = placeOf(s, at, offsets[1]);
  meet(s);
  const run = s.register(s.make('R', d.length));
  emit(s, ['LDSM', '16', shape, count], { d: run, ad });
  scattered(s, d, run);
}

function storeParts(s: Emitter, { name, operands, offsets }: Carried): void {
  const [shape, count] = partsOf(s, name);
  const [at, b] = operands;
  const ad = placeOf(s, at, offsets[0]);
  const run = gathered(s, b);
  meet(s);
  emit(s, ['STSM', '16', shape, count], { ad, b: run });
}

function transpose(s: Emitter, { operands: [d, a] }: Carried): void {
  const run = gathered(s, a);
  meet(s);
  const to = s.register(s.make('R', 1));
  emit(s, ['MOVM', '16', 'MT88'], { d: to, a: run });
  scattered(s, d, to);
}

// -------------------------------------------------------------------- fragments whose layout PTX leaves open

/*
 * wmma with factors of 16 bits. PTX leaves open which lane holds which element; here fragments consist of those of mma.m16n8k16, so that a
 * product is some of these: one for each 16 rows and 8 columns. Lane 4g + t holds pairs of neighbours: in row g or g + 8 of the first
 * factor and of sums, from column 2t on; of the second factor in column g, from row 2t on.
 */

/** Row and column of the first pair of lane 0, and whether a pair lies in a row, else in a column. */
interface Pair {
  readonly row: number;
  readonly column: number;
  readonly isInRow: boolean;
}

const steps = (to: number, by: number): number[] => Array.from({ length: to / by }, (_, k) => k * by);

/** Pairs of a fragment, in the order of its words. */
function pairsOf(part: string, m: number, n: number): Pair[] {
  switch (part) {
    case 'a':
      return steps(m, 16).flatMap((row) =>
        [0, 8].flatMap((column) => [0, 8].map((r) => ({ row: row + r, column, isInRow: true }))),
      );
    case 'b':
      return steps(n, 8).flatMap((column) => [0, 8].map((row) => ({ row, column, isInRow: false })));
    default:
      return steps(m, 16).flatMap((row) =>
        steps(n, 8).flatMap((column) => [0, 8].map((r) => ({ row: row + r, column, isInRow: true }))),
      );
  }
}

/** `wmma.load.a.sync.aligned.row.m16n16k16.global.f16`, `wmma.store.d`. */
interface Move {
  readonly part: string;
  readonly isRowMajor: boolean;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly space: string;
  /** Bytes of an element. */
  readonly size: 2 | 4;
}

const SHAPE = 'm(16|32)n(16|8)k(16)';
const SPACES: Readonly<Record<string, readonly [load: string, store: string]>> = {
  global: ['LDG.E', 'STG.E'],
  shared: ['LDS', 'STS'],
  '': ['LD.E', 'ST.E'],
};

function moveOf(name: readonly string[]): Move | null {
  const found = new RegExp(
    `^wmma\\.(?:load\\.([abc])|store\\.(d))\\.sync\\.aligned\\.(row|col)\\.${SHAPE}(?:\\.(global|shared)(?:::cta)?)?\\.(f16|bf16|f32)$`,
  ).exec(name.join('.'));
  if (found === null) return null;
  const [, loaded, stored, layout, m, n, k, space = '', type] = found;
  const part = loaded ?? stored;
  if ((type === 'f32') !== (part === 'c' || part === 'd') && type !== 'f16') return null;
  return {
    part,
    isRowMajor: layout === 'row',
    m: Number(m),
    n: Number(n),
    k: Number(k),
    space,
    size: type === 'f32' ? 4 : 2,
  };
}

/** Addresses of the elements that a lane holds: of its first pair, with rows (or columns) of the matrix added on demand. */
class Elements {
  private readonly s: Emitter;
  private readonly move: Move;
  /** The address of the first row (or column), at the elements of this lane. */
  private readonly base: Arg;
  /** Row (or column) of the first pair, times the size of an element. */
  private readonly lane: Arg;
  private readonly stride: Arg;
  private readonly offset: number;
  private readonly known = new Map<number, Arg>();
  /** Whether both elements of a pair are neighbours in memory. */
  readonly isTogether: boolean;

  /** @param at address of the matrix @param stride elements from a row (or column) to the next, of 32 bits */
  constructor(s: Emitter, move: Move, at: Arg & { readonly kind: 'address' }, stride: Arg) {
    this.s = s;
    this.move = move;
    this.offset = at.offset;
    this.stride = stride;
    const isInRow = move.part !== 'b';
    this.isTogether = isInRow === move.isRowMajor;
    const word = (name: readonly string[], args: Record<string, Arg>): Arg => {
      const d = s.register(s.make('R', 1));
      emit(s, name, { d, ...args });
      return d;
    };
    const lane = word(['S2R'], { s: { kind: 'word', name: 'SR_LANEID', mods: 0 } });
    const g = word(['SHF', 'R', 'U32', 'HI'], { a: RZ, b: number(2), c: lane });
    const no: Arg = { kind: 'fixed', file: 'P', number: null, mods: Mod.Not };
    const t = word(['LOP3', 'LUT'], { a: lane, b: number(3), c: RZ, t: number(0xc0), q: no });
    const twice = word(['SHF', 'L', 'U32'], { a: t, b: number(1), c: RZ });
    const [outer, inner] = (this.isTogether ? [g, twice] : [twice, g]).map((a) =>
      word(['IMAD'], { a, b: number(move.size), c: RZ }),
    );
    this.lane = outer;
    this.base = sum(s, at.base ?? RZ, [inner, RZ], this.isWide);
  }

  private get isWide(): boolean {
    return this.move.space !== 'shared';
  }

  /** The address of the first element of a pair, or of its second. */
  of({ row, column }: Pair, isSecond: boolean): Arg {
    const { s, move, isWide } = this;
    const [outer, inner] = move.isRowMajor ? [row, column] : [column, row];
    const step = outer + (isSecond && !this.isTogether ? 1 : 0);
    let base = this.known.get(step);
    if (base === undefined) {
      let a = this.lane;
      if (step > 0) {
        a = s.register(s.make('R', 1));
        emit(s, ['IADD3'], { d: a, a: this.lane, b: number(step * move.size), c: RZ });
      }
      // The product needs more than 32 bits.
      base = s.register(s.make('R', isWide ? 2 : 1));
      emit(s, isWide ? ['IMAD', 'WIDE', 'U32'] : ['IMAD'], { d: base, a, b: this.stride, c: this.base });
      this.known.set(step, base);
    }
    const at = this.offset + inner * move.size + (isSecond && this.isTogether ? move.size : 0);
    const descriptor = isWide && s.around.machine.driver.has('descriptor') ? s.around.descriptor : null;
    return { kind: 'address', base, offset: at, descriptor, mods: 0 };
  }
}

/** The elements that an instruction moves; stride: its last operand, or else the size of the matrix. */
function elementsOf(
  s: Emitter,
  move: Move,
  at: readonly Word[],
  offset: number,
  stride: readonly Word[] | undefined,
): Elements {
  const { part, m, n, k, isRowMajor, space } = move;
  const ad = placeOf(s, at, offset, space !== 'shared');
  const [rows, columns] = part === 'a' ? [m, k] : part === 'b' ? [k, n] : [m, n];
  const given = stride === undefined ? number(isRowMajor ? columns : rows) : value(s, stride[0]);
  return new Elements(s, move, ad, given.kind === 'register' ? given : s.loaded(given));
}

/** Loads a fragment; its words beyond those that a product reads repeat these. */
function loadFragment(s: Emitter, move: Move, { operands: [d, at, stride], offsets }: Carried): void {
  const elements = elementsOf(s, move, at, offsets[1], stride);
  const load = SPACES[move.space][0].split('.');
  const words = pairsOf(move.part, move.m, move.n).flatMap((pair): Arg[] => {
    const [x, y] = [0, 1].map(() => s.register(s.make('R', 1)));
    if (elements.isTogether) {
      const run = s.make('R', move.size / 2);
      emit(s, [...load, move.size === 4 ? '64' : ''], { d: s.register(run), ad: elements.of(pair, false) });
      return move.size === 4 ? [0, 1].map((k) => s.wordOf(run, k)) : [s.register(run)];
    }
    const part = move.size === 4 ? '' : 'U16';
    emit(s, [...load, part], { d: x, ad: elements.of(pair, false) });
    emit(s, [...load, part], { d: y, ad: elements.of(pair, true) });
    if (move.size === 4) return [x, y];
    const both = s.register(s.make('R', 1));
    emit(s, ['PRMT'], { d: both, a: x, b: number(0x5410), c: y });
    return [both];
  });
  d.forEach((w, k) => {
    if (w.kind !== 'result') throw s.unsupported('its result is no register');
    const to = s.ins.dst[w.at];
    if (to !== NO_REG) s.move(s.register(s.of(to)), words[k % words.length]);
  });
}

function storeFragment(s: Emitter, move: Move, { operands: [at, b, stride], offsets }: Carried): void {
  const elements = elementsOf(s, move, at, offsets[0], stride);
  const store = SPACES[move.space][1].split('.');
  const isLong = move.size === 4;
  pairsOf(move.part, move.m, move.n).forEach((pair, k) => {
    const words = isLong ? [b[2 * k], b[2 * k + 1]] : [b[k]];
    if (elements.isTogether)
      return emit(s, [...store, isLong ? '64' : ''], { ad: elements.of(pair, false), b: gathered(s, words) });
    const [x, y] = words.map((w) => gathered(s, [w]));
    let second = y;
    if (!isLong) {
      second = s.register(s.make('R', 1));
      emit(s, ['SHF', 'R', 'U32', 'HI'], { d: second, a: RZ, b: number(16), c: x });
    }
    const part = isLong ? '' : 'U16';
    emit(s, [...store, part], { ad: elements.of(pair, false), b: x });
    emit(s, [...store, part], { ad: elements.of(pair, true), b: second });
  });
}

/** `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32`, or with the types of the factors between; false for others. */
function multiplyFragments(s: Emitter, { name, operands: [d, a, b, c] }: Carried): boolean {
  const found = new RegExp(
    `^wmma\\.mma\\.sync\\.aligned\\.(?:row|col)\\.(?:row|col)\\.${SHAPE}\\.(f16|f32)(?:\\.(bf16|f16)\\.(?:bf16|f16))?\\.(f16|f32)$`,
  ).exec(name.join('.'));
  if (found === null) return false;
  const [, rows, columns, , to, factor = 'f16', from] = found;
  if (to !== from) return false;
  const per = to === 'f32' ? 4 : 2;
  const [m, n] = [Number(rows), Number(columns)];
  const sums: Arg[] = [];
  meet(s);
  const second = steps(n, 8).map((_, j) => gathered(s, b.slice(2 * j, 2 * j + 2)));
  steps(m, 16).forEach((_, i) => {
    const first = gathered(s, a.slice(4 * i, 4 * i + 4));
    for (const y of second) {
      const at = per * sums.length;
      const addend = gathered(s, c.slice(at, at + per));
      const run = s.register(s.make('R', per));
      const type = factor === 'bf16' ? 'BF16' : '';
      emit(s, ['HMMA', '16816', to.toUpperCase(), type], { d: run, a: first, b: y, c: addend });
      sums.push(run);
    }
  });
  sums.forEach((run, k) => {
    scattered(s, d.slice(per * k, per * k + per), run);
  });
  return true;
}

/** Instructions of whole warps on matrices. @throws Unsupported for others that Ori carries as text */
export function matrices(s: Emitter): void {
  const how = carried(s);
  const product = productOf(how.name);
  if (product !== null) return multiply(s, product, how.operands);
  const move = moveOf(how.name);
  if (move !== null) return (move.part === 'd' ? storeFragment : loadFragment)(s, move, how);
  switch (how.name[0]) {
    case 'ldmatrix':
      return loadParts(s, how);
    case 'stmatrix':
      return storeParts(s, how);
    case 'movmatrix':
      return transpose(s, how);
  }
  if (!multiplyFragments(s, how)) throw s.unsupported(`${how.name.join('.')} has no machine code yet`);
}
