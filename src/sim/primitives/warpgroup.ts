import { tiesOf } from '../../ir/foreign-text.ts';
import { Kind } from '../../ir/operand.ts';
import { halfToNumber, numberToHalf } from '../../isa/floats.ts';
import { CHUNK, chunkAcrossRows, chunkOfRow, type MatrixInShared, matrixAt } from '../matrix-descriptor.ts';
import { BITS, type GroupProduct, groupProductOf } from '../matrix-names.ts';
import type { MatrixFlight, MatrixFlights, Warp, Warpgroup } from '../state.ts';
import type { ForeignCall } from './foreign-operands.ts';
import { lastBits, spendProducts } from './matrix-call.ts';
import { element } from './matrix-elements.ts';
import { opnd } from './primitive.ts';
import { keep } from './ties.ts';

/*
 * Asynchronous matrix products of a warpgroup, that is four warps of which each computes 16 of the 64 rows (PTX ISA 9.0, 9.7.15). The
 * simulation exposes what is undefined: before the wait the registers do not hold the sums; a product ignores register writes after the
 * last fence; and a product reads shared memory and the registers of its first factor when the warp starts it, whatever the other warps
 * do, or, with late copies, when the warp waits. A wait lasts until all four warps have started the product.
 */

const LANES = 32;
const WARPS = 4;
const ROWS = 16;

/**
 * Executes a `wgmma` instruction of a whole warp: starts a product, fences registers, commits a group of products or waits for groups.
 *
 * @returns false if it is another instruction
 * @throws SimFault in a launch if the warps of a group, or the lanes of a warp, disagree
 */
export function runWarpgroup(c: ForeignCall): boolean {
  if (c.opcode !== 'wgmma') return false;
  c.w.flights ??= { begun: 0, pending: [], groups: [], fenced: null };
  const { flights } = c.w;
  switch (c.mods[0]) {
    case 'fence':
      carry(c, flights);
      flights.fenced = { frame: c.f, words: c.f.regs.i32.slice() };
      return true;
    case 'commit_group':
      flights.groups.push(flights.pending.splice(0));
      return true;
    case 'wait_group':
      if (wait(c, flights)) carry(c, flights);
      return true;
    default: {
      const product = groupProductOf(c.mods);
      if (product === null) return false;
      begin(c, flights, product);
      return true;
    }
  }
}

/** Reports a violation of PTX's rules: a fault in a launch; in an open world the rest of the run no longer counts. */
function broken(c: ForeignCall, message: string): void {
  if (!c.m.opts.open) c.m.fault(message, c.d, c.w, 0);
  c.m.unpromised = true;
}

/**
 * Applies the instruction's ties: registers keep their values under the new names, and products in flight are redirected to the new
 * registers.
 */
function carry(c: ForeignCall, flights: MatrixFlights): void {
  const moved = new Map<number, number>();
  for (const t of tiesOf(c.d.ins)) {
    const [to, from] = [opnd(c.f, c.d, t.dst), opnd(c.f, c.d, c.d.ins.dst.length + t.src)];
    if (to >= 0 && from !== to) moved.set(from, to);
  }
  if (moved.size > 0)
    for (const x of [...flights.groups.flat(), ...flights.pending])
      if (x.frame === c.f) for (const [k, at] of x.to.entries()) x.to[k] = moved.get(at) ?? at;
  keep(c.f, c.d, tiesOf(c.d.ins), c.mask);
}

/** Waits until at most the given number of groups is in flight. @returns false if other warps must start a product first */
function wait(c: ForeignCall, flights: MatrixFlights): boolean {
  const left = c.word(0, 0);
  const group = groupOf(c.w);
  while (flights.groups.length > left) {
    if (flights.groups[0].some((x) => group.begun.has(x.number))) {
      const path = c.w.paths.findLast((p) => p.frame === c.f && p.wait === null && (c.mask & ~p.mask) === 0)!;
      path.pc--;
      path.wait = { d: c.d, until: 'barrier', members: 0 };
      group.waiting.push({ warp: c.w, path });
      return false;
    }
    for (const x of flights.groups.shift()!) finish(flights, x);
  }
  return true;
}

/** Writes the sums of a finished product to their registers. */
function finish({ fenced }: MatrixFlights, x: MatrixFlight): void {
  const sums = x.sums();
  for (const [k, at] of x.to.entries()) {
    if (at < 0) continue;
    const words = sums.subarray(k * LANES, (k + 1) * LANES);
    x.frame.regs.i32.set(words, at);
    if (fenced?.frame === x.frame) fenced.words.set(words, at);
  }
}

function groupOf(w: Warp): Warpgroup {
  const { warpgroups } = w.block;
  const number = Math.floor(w.index / WARPS);
  let g = warpgroups.get(number);
  if (g === undefined) {
    g = { begun: new Map(), waiting: [] };
    warpgroups.set(number, g);
  }
  return g;
}

/** Starts a product of a warp. */
function begin(c: ForeignCall, flights: MatrixFlights, product: GroupProduct): void {
  const { m, w } = c;
  spendProducts(c, ROWS * product.n * product.k);
  const others = w.block.warps.filter((x) => Math.floor(x.index / WARPS) === Math.floor(w.index / WARPS));
  if (others.length < WARPS) broken(c, 'a product of a warpgroup needs four warps');
  const x = flight(c, flights, product);
  flights.pending.push(x);
  for (const at of x.to) if (at >= 0) c.f.regs.i32.fill(m.opts.undefined ?? 0, at, at + LANES);
  if (m.opts.copies === 'early') x.sums();
  const group = groupOf(w);
  const what = sharedBy(c);
  const known = group.begun.get(x.number);
  if (known !== undefined && known.what !== what)
    broken(c, 'the warps of a warpgroup execute different products');
  const warps = (known?.warps ?? 0) + 1;
  group.begun.set(x.number, { what, warps });
  if (warps < others.length) return;
  group.begun.delete(x.number);
  m.changes++;
  for (const { warp, path } of group.waiting.splice(0)) {
    path.wait = null;
    warp.state = 'ready';
  }
}

/** Key of everything that must be the same in all threads of a warpgroup: the modifiers and the scalar operands of lane 0. */
function sharedBy(c: ForeignCall): string {
  const of = (lane: number): string =>
    c.operands
      .slice(1)
      .map((o, k) => {
        if (o.parts.length > 1) return '';
        return String(k + 1 === SCALE ? c.truth(SCALE, lane) : c.value(k + 1, lane));
      })
      .join();
  const first = of(0);
  for (let lane = 1; lane < LANES; lane++)
    if (of(lane) !== first) {
      broken(c, 'the lanes of a warp have different operands for a product');
      break;
    }
  return `${c.mods.join('.')} ${first}`;
}

/** Operand index, after both factors, of the predicate that says whether the old sums are added. */
const SCALE = 3;

/** Reads a 32-bit register in each lane, when called. */
type Words = () => Int32Array;

/** Describes a warp's part of a product; its sums are computed on demand. */
function flight(c: ForeignCall, flights: MatrixFlights, product: GroupProduct): MatrixFlight {
  const { m, w, f, d } = c;
  const { fenced } = flights;
  const nd = d.ins.dst.length;
  const inOrder = fenced?.frame === f ? fenced.words : null;
  const unknown = new Int32Array(LANES).fill(m.opts.undefined ?? 0);
  /** A register as of the last fence; later writes are not ordered before the product. */
  const ordered = (at: number): Int32Array => {
    const words = inOrder?.slice(at, at + LANES) ?? unknown;
    if (inOrder === null || differs(words, f.regs.i32, at)) m.unpromised = true;
    return words;
  };
  const early = m.opts.copies === 'early';
  const inRegisters = c.operands[1].parts.length > 1 ? c.operands[1].parts : [];
  const factor = inRegisters.map((p, k): Words => {
    if (p.kind !== 'source' || d.ins.src[1 + p.at].kind !== Kind.Reg) {
      const same = Int32Array.from({ length: LANES }, (_, lane) => c.word(1, lane, k));
      return () => same;
    }
    const at = opnd(f, d, nd + 1 + p.at);
    const words = ordered(at);
    return () => {
      if (differs(words, f.regs.i32, at)) m.unpromised = true;
      return early ? words : f.regs.i32.subarray(at, at + LANES);
    };
  });
  const flying = [...flights.groups.flat(), ...flights.pending].filter((x) => x.frame === f);
  const tied = new Map(tiesOf(d.ins).map((t) => [t.dst, opnd(f, d, nd + t.src)]));
  const results = c.operands[0].parts.map((p) => (p.kind === 'result' ? p.at : -1));
  const adds = c.truth(SCALE, 0);
  const old = results.map((r): Words => {
    const at = tied.get(r) ?? -1;
    if (!adds || at < 0) return () => unknown;
    const before = flying.findLast((x) => x.to.includes(at));
    if (before !== undefined) {
      const k = before.to.indexOf(at);
      return () => before.sums().subarray(k * LANES, (k + 1) * LANES);
    }
    const words = ordered(at);
    return () => words;
  });
  const [a, b] = [1, 2].map((k) => (c.operands[k].parts.length > 1 ? null : matrixAt(c.value(k, 0))));
  const constant = (k: number): number => (c.operands[k] === undefined ? 0 : c.word(k, 0));
  const scales = product.td === 's32' ? 1 : constant(4) * constant(5);
  const [transA, transB] = a === null ? [false, constant(6) === 1] : [constant(6) === 1, constant(7) === 1];
  let sums: Int32Array | null = null;
  return {
    number: flights.begun++,
    frame: f,
    to: Int32Array.from(results, (r) => (r < 0 ? -1 : opnd(f, d, r))),
    sums() {
      if (sums !== null) return sums;
      // Before the factors are read: an addend may be the sum of another product, which uses the same buffers.
      const before = adds ? old.map((x) => x()) : null;
      sums = multiply({
        product,
        a:
          a === null
            ? rowsInRegisters(factor, product)
            : rowsInShared(c, a, FIRST, ROWS * (w.index % WARPS), ROWS, product.ta, product.k, transA),
        b: rowsInShared(c, b!, SECOND, 0, product.n, product.tb, product.k, transB),
        scale: scales,
        old: before,
        inexact: lastBits(c, product.td),
      });
      return sums;
    },
  };
}

const differs = (words: Int32Array, regs: Int32Array, at: number): boolean =>
  words.some((x, lane) => x !== regs[at + lane]);

/** Buffers for the factors and sums of one product, for the maximum number of columns and of elements in a row (PTX ISA 9.0, 9.7.15.2). */
const FIRST = new Float64Array(ROWS * 256);
const SECOND = new Float64Array(256 * 256);
const SUMS = new Float64Array(ROWS * 256);

/** The first factor from registers, row by row: the four words of a lane hold two rows and two groups of columns. */
function rowsInRegisters(factor: readonly Words[], { ta, k }: GroupProduct): Float64Array {
  const each = 32 / BITS[ta];
  const values = FIRST;
  for (const [r, read] of factor.entries()) {
    const words = read();
    for (let lane = 0; lane < LANES; lane++) {
      const row = (lane >> 2) + 8 * (r & 1);
      const column = (r >> 1) * (k / 2) + (lane & 3) * each;
      for (let j = 0; j < each; j++) values[row * k + column + j] = element(words[lane], j, ta);
    }
  }
  return values;
}

/** Reads `count` rows of a matrix in shared memory, of `k` elements each and starting with row `first`, into `values`. */
function rowsInShared(
  c: ForeignCall,
  matrix: MatrixInShared,
  values: Float64Array,
  first: number,
  count: number,
  type: string,
  k: number,
  across: boolean,
): Float64Array {
  const bits = BITS[type];
  const each = 32 / bits;
  const inChunk = (8 * CHUNK) / bits;
  const read = (address: number, place: (e: number) => number): void => {
    const p = c.w.block.shared.place(address, CHUNK, false);
    for (let word = 0; word < CHUNK / 4; word++) {
      const v = p.view.getInt32(p.at + 4 * word, true);
      for (let j = 0; j < each; j++) values[place(word * each + j)] = element(v, j, type);
    }
  };
  c.m.lane = 0;
  if (across)
    for (let row = 0; row < count; row += inChunk)
      for (let j = 0; j < k; j++)
        read(chunkAcrossRows(matrix, (first + row) / inChunk, j), (e) => (row + e) * k + j);
  else
    for (let row = 0; row < count; row++)
      for (let chunk = 0; chunk < k / inChunk; chunk++)
        read(chunkOfRow(matrix, first + row, chunk), (e) => row * k + chunk * inChunk + e);
  return values;
}

interface Factors {
  readonly product: GroupProduct;
  /** Rows of the first factor, columns of the second. */
  readonly a: Float64Array;
  readonly b: Float64Array;
  readonly scale: number;
  /** Registers of the addend; null if nothing is added. */
  readonly old: readonly Int32Array[] | null;
  readonly inexact: number;
}

const float = new Float32Array(1);
const word = new Int32Array(float.buffer);

/**
 * The sums of a warp, by register and lane. As in `mma`, floats are summed in double precision and rounded once (PTX leaves order and
 * precision open); integers wrap or saturate.
 */
function multiply({ product, a, b, scale, old, inexact }: Factors): Int32Array {
  const { n, k, td, saturates } = product;
  const packed = td === 'f16';
  const out = new Int32Array((packed ? n / 4 : n / 2) * LANES);
  const sums = products(a, b, n, k, SUMS);
  // The buffers have room for the largest factors, most of which is not in use.
  const used = (values: Float64Array, rows: number): Float64Array =>
    values.subarray(0, rows * k).map(Math.abs);
  const sizes = inexact === 0 ? null : products(used(a, ROWS), used(b, n), n, k, new Float64Array(ROWS * n));
  for (let i = 0; i < n / 2; i++)
    for (let lane = 0; lane < LANES; lane++) {
      const row = (lane >> 2) + 8 * ((i >> 1) & 1);
      const place = row * n + 8 * (i >> 2) + 2 * (lane & 3) + (i & 1);
      const register = packed ? i >> 1 : i;
      const before = old === null ? 0 : oldSum(old[register][lane], i & 1, td);
      const at = register * LANES + lane;
      const all = scale * sums[place] + before;
      const open = sizes === null ? 0 : inexact * (Math.abs(before) + sizes[place]);
      if (td === 's32') out[at] = saturates ? Math.max(-2147483648, Math.min(2147483647, all)) : all;
      else if (packed) out[at] |= numberToHalf(all + open, td) << (16 * (i & 1));
      else {
        float[0] = all + open;
        // NaN of f32 is 0x7fffffff (PTX ISA 9.0, 9.7.3).
        out[at] = Number.isNaN(float[0]) ? 0x7fffffff : word[0];
      }
    }
  return out;
}

/** Rows times columns, each sum in order of the elements. Four columns are interleaved, because each addition depends on the one before. */
function products(a: Float64Array, b: Float64Array, n: number, k: number, out: Float64Array): Float64Array {
  for (let row = 0; row < ROWS; row++)
    for (let column = 0; column < n; column += 4) {
      const x = row * k;
      const y = column * k;
      let s0 = 0;
      let s1 = 0;
      let s2 = 0;
      let s3 = 0;
      for (let j = 0; j < k; j++) {
        const v = a[x + j];
        s0 += v * b[y + j];
        s1 += v * b[y + k + j];
        s2 += v * b[y + 2 * k + j];
        s3 += v * b[y + 3 * k + j];
      }
      const to = row * n + column;
      out[to] = s0;
      out[to + 1] = s1;
      out[to + 2] = s2;
      out[to + 3] = s3;
    }
  return out;
}

function oldSum(register: number, half: number, type: string): number {
  if (type === 's32') return register;
  if (type === 'f16') return halfToNumber((register >>> (16 * half)) & 0xffff, type);
  word[0] = register;
  return float[0];
}
