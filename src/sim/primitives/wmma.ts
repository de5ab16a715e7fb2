import { Kind } from '../../ir/operand.ts';
import { fma64, halfToNumber, num64, numberToHalf, words64 } from '../../isa/floats.ts';
import { BITS, taskOf } from '../matrix-names.ts';
import type { Location } from '../memory.ts';
import { SHARED_WINDOW } from '../memory.ts';
import { lastBits, type MatrixCall, spendElements, spendProducts } from './matrix-call.ts';
import { opnd } from './primitive.ts';

/*
 * `wmma`: PTX does not define which lane holds which element of a fragment (PTX ISA 9.0, 9.7.14); kernels may only apply an operation
 * uniformly to all elements. Here each lane holds an equal number of consecutive elements, row by row; further registers of a fragment
 * are zero.
 */

const LANES = 32;
/** Runs `wmma.load`, `wmma.mma` or `wmma.store`. @returns false if the simulator does not support the instruction */
export function runWmma(c: MatrixCall, mods: readonly string[]): boolean {
  const task = taskOf(mods);
  if (task === null) return false;
  return task.what === 'move'
    ? move(c, mods, task.rows, task.columns, task.type)
    : multiply(c, mods, task.shape, task.td, task.ta, task.tc);
}

/** Number of elements that each lane holds. */
const each = (elements: number): number => elements / LANES;

/** Moves a matrix between memory and a fragment. */
function move(c: MatrixCall, mods: readonly string[], rows: number, columns: number, type: string): boolean {
  const store = mods[0] === 'store';
  const row = mods.includes('row');
  const { i32 } = c.f.regs;
  const words = c.d.ins.src[0].sym;
  const given = /\](?:, \{[^}]*\})?, (?:<s(\d+)|(\d+))/.exec(words);
  const strides = given?.[1] === undefined ? -1 : opnd(c.f, c.d, c.d.ins.dst.length + 1 + Number(given[1]));
  const first = c.d.ins.src.findIndex((o, k) => k > 1 && o.kind === Kind.Reg) - 1;
  // Elements smaller than a byte are packed from its low bits on (PTX ISA 9.0, 9.7.14.4).
  const bits = BITS[type];
  const bytes = Math.max(1, bits / 8);
  const size = Math.min(4, bytes);
  const index = (lane: number, element: number): number => {
    const stride = strides >= 0 ? i32[strides + lane] : Number(given?.[2] ?? (row ? columns : rows));
    const [y, x] = [Math.floor(element / columns), element % columns];
    return row ? y * stride + x : x * stride + y;
  };
  // Rows, or columns, must start at multiples of 16 bytes and must not overlap (PTX ISA 9.0, 9.7.14.4, matrix storage).
  const apart = index(0, row ? columns : 1) - index(0, 0);
  if (apart < (row ? columns : rows) || (bits * apart) % 128 !== 0) c.m.unpromised = true;
  const at = (lane: number, element: number, part: number): Location => {
    const a = c.address(lane) + Math.floor((bits * index(lane, element)) / 8) + part;
    c.m.lane = lane;
    return mods.some((s) => s.startsWith('shared'))
      ? c.w.block.shared.place(a >= SHARED_WINDOW ? a - SHARED_WINDOW : a, size, store)
      : c.m.generic(c.w, lane, a, size, store);
  };
  spendElements(c, rows * columns);
  const count = each(rows * columns);
  const perWord = Math.max(1, 32 / bits);
  const width = Math.max(1, bytes / 4);
  // Loaded values are written to registers after everything has been read, since a register may hold the address.
  const loaded: Int32Array[] = c.d.ins.dst.map(() => new Int32Array(LANES * width));
  for (let lane = 0; lane < LANES; lane++)
    for (let e = 0; e < count; e++)
      for (let part = 0; part < bytes; part += size) {
        const p = at(lane, lane * count + e, part);
        const k = Math.floor(e / perWord);
        const shift = bits * (e % perWord);
        if (!store) {
          const v =
            size === 4
              ? p.view.getInt32(p.at, true)
              : size === 2
                ? p.view.getUint16(p.at, true)
                : (p.view.getUint8(p.at) >> ((bits * index(lane, lane * count + e)) % 8)) & (2 ** bits - 1);
          loaded[k][width * lane + part / 4] |= v << (size === 4 ? 0 : shift);
          continue;
        }
        const v = i32[opnd(c.f, c.d, c.d.ins.dst.length + 1 + first + k) + width * lane + part / 4];
        if (size === 4) p.view.setInt32(p.at, v, true);
        else if (size === 2) p.view.setUint16(p.at, (v >>> shift) & 0xffff, true);
        else p.view.setUint8(p.at, (v >>> shift) & 0xff);
      }
  if (store) c.m.changes++;
  else
    loaded.forEach((v, k) => {
      const to = opnd(c.f, c.d, k);
      if (to >= 0) i32.set(v, to);
    });
  return true;
}

/** Multiplies as `mma` does: float sums are in double precision and rounded once. */
function multiply(
  c: MatrixCall,
  mods: readonly string[],
  [m, n, k]: readonly number[],
  td: string,
  ta: string,
  tc: string,
): boolean {
  // An f16 factor fragment has eight registers, whatever its size.
  const registers = (elements: number, type: string): number =>
    (each(elements) * BITS[type]) / Math.max(32, BITS[type]);
  const total = c.d.ins.src.length - 1;
  const ra = ta === 'f16' ? 8 : registers(m * k, ta);
  const rb = ta === 'f16' ? 8 : registers(k * n, ta);
  if (ra + rb + registers(m * n, tc) !== total) return false;
  spendProducts(c, m * n * k);
  const base = c.d.ins.dst.length + 1;
  const a = values(c, base, m * k, ta);
  const b = values(c, base + ra, k * n, ta);
  const old = values(c, base + ra + rb, m * n, tc);
  const [differing, saturate] = [mods.includes('xor'), mods.includes('satfinite')];
  const inexact = lastBits(c, td);
  const out = new Float64Array(m * n);
  for (let y = 0; y < m; y++)
    for (let x = 0; x < n; x++) {
      let sum = ta === 'f64' ? old[y * n + x] : 0;
      let size = Math.abs(old[y * n + x]);
      for (let j = 0; j < k; j++)
        if (ta === 'f64') sum = fma64(a[y * k + j], b[j * n + x], sum);
        else if (differing) sum += a[y * k + j] ^ b[j * n + x];
        else {
          const term = a[y * k + j] * b[j * n + x];
          sum += term;
          size += Math.abs(term);
        }
      const all = ta === 'f64' ? sum : sum + old[y * n + x] + inexact * size;
      out[y * n + x] = saturate ? Math.max(-2147483648, Math.min(2147483647, all)) : all;
    }
  give(c, out, td);
  return true;
}

const float = new Float32Array(1);
const word = new Int32Array(float.buffer);
const pair = new Int32Array(2);

/** Elements of a fragment whose registers start at operand index `from`. */
function values(c: MatrixCall, from: number, elements: number, type: string): Float64Array {
  const { i32 } = c.f.regs;
  const count = each(elements);
  const bits = BITS[type];
  const out = new Float64Array(elements);
  for (let lane = 0; lane < LANES; lane++)
    for (let e = 0; e < count; e++) {
      const to = lane * count + e;
      if (bits === 64) {
        const at = opnd(c.f, c.d, from + e) + 2 * lane;
        out[to] = num64(i32[at], i32[at + 1]);
        continue;
      }
      const perWord = 32 / bits;
      const w = i32[opnd(c.f, c.d, from + Math.floor(e / perWord)) + lane] >> (bits * (e % perWord));
      if (bits === 16) out[to] = halfToNumber(w & 0xffff, type);
      else if (type === 's8') out[to] = (w << 24) >> 24;
      else if (type === 'u8') out[to] = w & 0xff;
      else if (type === 's4') out[to] = (w << 28) >> 28;
      else if (type === 'u4') out[to] = w & 0xf;
      else if (type === 'b1') out[to] = w & 1;
      else if (type === 's32') out[to] = w;
      else {
        word[0] = type === 'tf32' ? w & ~0x1fff : w;
        out[to] = float[0];
      }
    }
  return out;
}

/** Distributes the results to the lanes. */
function give(c: MatrixCall, sums: Float64Array, type: string): void {
  const { i32 } = c.f.regs;
  const count = each(sums.length);
  for (let lane = 0; lane < LANES; lane++)
    for (let e = 0; e < count; e++) {
      const v = sums[lane * count + e];
      const to = opnd(c.f, c.d, type === 'f16' ? e >> 1 : e);
      if (to < 0) continue;
      if (type === 'f16') {
        const h = numberToHalf(v, type) << (16 * (e & 1));
        i32[to + lane] = (e & 1) === 0 ? h : i32[to + lane] | h;
      } else if (type === 'f64') {
        words64(v, pair);
        i32[to + 2 * lane] = pair[0];
        i32[to + 2 * lane + 1] = pair[1];
      } else if (type === 'f32') {
        float[0] = v;
        i32[to + lane] = Number.isNaN(v) ? 0x7fffffff : word[0];
      } else i32[to + lane] = v;
    }
}
