import { memoByText } from '../../ir/text-memo.ts';
import { fma64, halfToNumber, num64, numberToHalf, words64 } from '../../isa/floats.ts';
import { BITS, matricesMoved, productOf } from '../matrix-names.ts';
import { SHARED_WINDOW } from '../memory.ts';
import { foreignOperands } from './foreign-operands.ts';
import { lastBits, type MatrixCall, spendElements, spendProducts } from './matrix-call.ts';
import { element } from './matrix-elements.ts';
import { opnd } from './primitive.ts';
import { runWmma } from './wmma.ts';

const LANES = 32;

/**
 * The `k`-th register or constant after the results, in textual order: its words for all lanes; the two words of a 64-bit value are
 * adjacent.
 */
function source(c: MatrixCall, k: number): Int32Array {
  const { operands, words } = sourcesOf(c.d.ins.src[0].sym);
  const part = operands[k];
  if (part.kind === 'constant') return words[k];
  return c.f.regs.i32.subarray(
    opnd(c.f, c.d, c.d.ins.dst.length + 1 + (part.kind === 'source' ? part.at : k)),
  );
}

/** The register and constant operands after the results in a text; constants are expanded to one value per lane. */
const sourcesOf = memoByText((text) => {
  const operands = foreignOperands(text)
    .flatMap((o) => o.parts)
    .filter((p) => p.kind === 'source' || p.kind === 'constant');
  const wide = text.includes('.f64');
  const words = operands.map((p) => {
    if (p.kind !== 'constant') return NONE;
    const [lo, hi] = [p.value, p.value >> 32n].map((v) => Number(BigInt.asIntN(32, v)));
    return Int32Array.from({ length: wide ? 2 * LANES : LANES }, (_, i) => (wide && i % 2 === 1 ? hi : lo));
  });
  return { operands, words };
});
const NONE = new Int32Array(0);

/** Register-file place of result `k`. */
const result = (c: MatrixCall, k: number): number => opnd(c.f, c.d, k);

/**
 * Executes warp-matrix PTX. The fragments held by the lanes of a warp are assembled into one matrix, and the result is distributed again.
 * All 32 lanes take part, as `.sync.aligned` requires. Fragment layouts: PTX ISA 9.0, 9.7.14.
 *
 * @returns false if the simulator does not support the instruction
 */
export function runMatrix(c: MatrixCall): boolean {
  const [opcode, ...mods] = c.name.split('.');
  switch (opcode) {
    case 'ldmatrix':
      return moveRows(c, mods, false);
    case 'stmatrix':
      return moveRows(c, mods, true);
    case 'movmatrix':
      return transpose(c);
    case 'mma':
      return multiply(c, mods);
    case 'wmma':
      return runWmma(c, mods);
    default:
      return false;
  }
}

/** `ldmatrix` and `stmatrix` of 8 x 8 matrices of 16-bit elements: lanes 8 i to 8 i + 7 hold the row addresses of matrix i. */
function moveRows(c: MatrixCall, mods: readonly string[], store: boolean): boolean {
  const count = matricesMoved(mods);
  if (count === 0) return false;
  spendElements(c, 64 * count);
  const trans = mods.includes('trans');
  const half = (matrix: number, row: number, column: number): { view: DataView; at: number } => {
    const lane = 8 * matrix + row;
    const a = c.address(lane);
    c.m.lane = lane;
    if (a % 16 !== 0) c.m.fault(`row address 0x${a.toString(16)} is not a multiple of 16`, c.d, c.w, lane);
    return c.w.block.shared.place((a >= SHARED_WINDOW ? a - SHARED_WINDOW : a) + 2 * column, 2, store);
  };
  // All addresses are read before results are written, since a register may hold both.
  const values = new Int32Array(LANES * count);
  for (let k = 0; k < count; k++) {
    const from = store ? source(c, k + 1) : NONE;
    for (let lane = 0; lane < LANES; lane++)
      for (let j = 0; j < 2; j++) {
        const [row, column] = [lane >> 2, 2 * (lane & 3) + j];
        const p = trans ? half(k, column, row) : half(k, row, column);
        if (store) p.view.setUint16(p.at, (from[lane] >>> (16 * j)) & 0xffff, true);
        else values[k * LANES + lane] |= p.view.getUint16(p.at, true) << (16 * j);
      }
  }
  if (store) c.m.changes++;
  else for (let k = 0; k < count; k++) put(c, k, values.subarray(k * LANES, (k + 1) * LANES));
  return true;
}

/** Writes a 32-bit result to all lanes. */
function put(c: MatrixCall, k: number, values: Int32Array): void {
  const at = result(c, k);
  if (at >= 0) c.f.regs.i32.set(values, at);
}

/** `movmatrix`: transposes an 8 x 8 matrix of 16-bit elements, of which each row is held by four lanes. */
function transpose(c: MatrixCall): boolean {
  const from = source(c, 0).slice(0, LANES);
  const half = (row: number, column: number): number =>
    (from[4 * row + (column >> 1)] >>> (16 * (column & 1))) & 0xffff;
  const to = new Int32Array(LANES);
  for (let lane = 0; lane < LANES; lane++) {
    const [row, column] = [lane >> 2, 2 * (lane & 3)];
    to[lane] = half(column, row) | (half(column + 1, row) << 16);
  }
  put(c, 0, to);
  return true;
}

/**
 * `mma.sync` of floats with f32, f16 or f64 accumulators, and of integers. PTX leaves order and precision of float accumulation open, at
 * least for f32: here products are summed in double precision from the first column to the last, the addend is added, and the result is
 * rounded once. f64 sums use fused multiply-adds in the same order. Integers wrap, or saturate with `.satfinite`; for single bits the sum
 * counts the bits set in both factors (`.and.popc`) or in exactly one (`.xor.popc`).
 */
function multiply(c: MatrixCall, mods: readonly string[]): boolean {
  const p = productOf(mods);
  if (p === null) return false;
  const { m, k, td, ta, tb, tc, isInteger, differing } = p;
  spendProducts(c, m * 8 * k);
  const a = fragment(c, 0, m, k, ta);
  const b = fragment(c, a.registers, 8, k, tb);
  const first = a.registers + b.registers;
  const old = sums(c, first, m, tc);
  const saturate = mods.includes('satfinite');
  const inexact = lastBits(c, td);
  const out = new Float64Array(m * 8);
  for (let row = 0; row < m; row++)
    for (let column = 0; column < 8; column++) {
      const at = row * 8 + column;
      if (isInteger) {
        let sum = old[at];
        for (let j = 0; j < k; j++) {
          const [x, y] = [a.values[row * k + j], b.values[column * k + j]];
          sum += differing ? x ^ y : x * y;
        }
        out[at] = saturate ? Math.max(-2147483648, Math.min(2147483647, sum)) : sum | 0;
      } else if (ta === 'f64') {
        let sum = old[at];
        for (let j = 0; j < k; j++) sum = fma64(a.values[row * k + j], b.values[column * k + j], sum);
        out[at] = sum;
      } else {
        let sum = 0;
        let size = Math.abs(old[at]);
        for (let j = 0; j < k; j++) {
          const term = a.values[row * k + j] * b.values[column * k + j];
          sum += term;
          size += Math.abs(term);
        }
        out[at] = sum + old[at] + inexact * size;
      }
    }
  give(c, out, m, td);
  return true;
}

/** Assembles a matrix from the registers of a fragment, as rows of `k` elements; for the second factor these are the columns. */
function fragment(
  c: MatrixCall,
  first: number,
  rows: number,
  k: number,
  type: string,
): { registers: number; values: Float64Array } {
  const bits = BITS[type];
  const width = Math.max(32, bits);
  const each = width / bits;
  const registers = (rows * k * bits) / (LANES * width);
  // With sixteen rows, the two registers of a pair hold rows that are eight apart.
  const halves = rows / 8;
  const step = (k * halves) / registers;
  const values = new Float64Array(rows * k);
  for (let r = 0; r < registers; r++) {
    const words = source(c, first + r);
    for (let lane = 0; lane < LANES; lane++) {
      const row = (lane >> 2) + 8 * (r % halves);
      const column = Math.floor(r / halves) * step + (lane & 3) * each;
      if (bits === 64) {
        values[row * k + column] = num64(words[2 * lane], words[2 * lane + 1]);
        continue;
      }
      for (let j = 0; j < each; j++) values[row * k + column + j] = element(words[lane], j, type);
    }
  }
  return { registers, values };
}

const float = new Float32Array(1);
const word = new Int32Array(float.buffer);

/** Index of the first of two adjacent elements that a lane holds, for the given pair of elements. */
const place = (lane: number, pair: number): number => ((lane >> 2) + 8 * pair) * 8 + 2 * (lane & 3);

/** The addend, row by row. */
function sums(c: MatrixCall, first: number, m: number, type: string): Float64Array {
  const out = new Float64Array(m * 8);
  for (let pair = 0; pair < m / 8; pair++)
    for (let j = 0; j < 2; j++) {
      const words = source(c, first + (type === 'f16' ? pair : 2 * pair + j));
      for (let lane = 0; lane < LANES; lane++) {
        const to = place(lane, pair) + j;
        if (type === 'f16') out[to] = halfToNumber((words[lane] >>> (16 * j)) & 0xffff, type);
        else if (type === 'f64') out[to] = num64(words[2 * lane], words[2 * lane + 1]);
        else {
          word[0] = words[lane];
          out[to] = type === 'f32' ? float[0] : word[0];
        }
      }
    }
  return out;
}

const words = new Int32Array(2);

/** Distributes the results to the lanes. */
function give(c: MatrixCall, values: Float64Array, m: number, type: string): void {
  const { i32 } = c.f.regs;
  for (let pair = 0; pair < m / 8; pair++)
    for (let lane = 0; lane < LANES; lane++) {
      const from = place(lane, pair);
      if (type === 'f16') {
        const at = result(c, pair);
        if (at >= 0)
          i32[at + lane] = numberToHalf(values[from], type) | (numberToHalf(values[from + 1], type) << 16);
        continue;
      }
      for (let j = 0; j < 2; j++) {
        const at = result(c, 2 * pair + j);
        if (at < 0) continue;
        if (type === 'f64') {
          words64(values[from + j], words);
          i32[at + 2 * lane] = words[0];
          i32[at + 2 * lane + 1] = words[1];
        } else if (type === 'f32') {
          float[0] = values[from + j];
          // NaN of f32 is 0x7fffffff (PTX ISA 9.0, 9.7.3).
          i32[at + lane] = Number.isNaN(values[from + j]) ? 0x7fffffff : word[0];
        } else i32[at + lane] = values[from + j];
      }
    }
}
