import { modOf } from '../ir/opcode.ts';
import { Kind, NO_REG } from '../ir/operand.ts';
import { bitsToF32, f32ToBits, halfToNumber, numberToHalf } from '../isa/floats.ts';
import { popc } from '../isa/ints.ts';
import type { Decoded } from './decode.ts';
import type { AsyncCopy, Barrier, Frame, Machine, MBarrier, Warp } from './machine.ts';
import {
  BufferMemory,
  LOCAL_WINDOW,
  MemoryFault,
  mix,
  PARAM_WINDOW,
  type Place,
  SHARED_WINDOW,
} from './memory.ts';
import { formatPrintf } from './printf.ts';

/** Carries out one instruction that an expression cannot say, for the lanes of `mask`. */
export type Primitive = (m: Machine, w: Warp, f: Frame, d: Decoded, mask: number) => void;

const lowest = (m: number): number => 31 - Math.clz32(m & -m);
const mod = (d: Decoded, group: string): string => modOf(d.ins.op, d.ins.mods, group);
const opnd = (f: Frame, d: Decoded, i: number): number => f.code.operands[d.k + i];

/** Byte address in an Addr operand for a lane: base register, symbol, offset. */
function addressOf(m: Machine, f: Frame, d: Decoded, srcIndex: number, lane: number): number {
  const o = d.ins.src[srcIndex];
  const at = opnd(f, d, d.ins.dst.length + srcIndex);
  let a = o.lo;
  if (o.sym !== '') a += m.symbolAddress(o.sym, f.code);
  if (o.reg !== NO_REG) {
    // 64-bit registers have two words a lane; their file is in the low bits of the register.
    if ((o.reg & 7) === 1 || (o.reg & 7) === 4)
      a += f.regs.i32[at + 2 * lane + 1] * 4294967296 + (f.regs.i32[at + 2 * lane] >>> 0);
    // Addresses of 32 bits wrap: the base of an array at 0 may be taken below it, and the offset lead back.
    else a = (a + f.regs.i32[at + lane]) >>> 0;
  } else if (o.sym === '') a = o.lo >>> 0;
  // High words are signed, so that a frame-relative local address below its frame stays a small negative number.
  return Math.abs(a) >= 281474976710656 ? a % 281474976710656 : a;
}

/** Place of an access of an instruction's space. */
function resolve(
  m: Machine,
  w: Warp,
  f: Frame,
  d: Decoded,
  a: number,
  lane: number,
  size: number,
  write: boolean,
): Place {
  m.lane = lane;
  switch (d.ins.op.space) {
    case 'global':
      return a < SHARED_WINDOW || m.opts.open
        ? m.global.place(a, size, write)
        : m.generic(w, lane, a, size, write);
    case 'shared':
      return w.block.shared.place(
        a >= SHARED_WINDOW && a < LOCAL_WINDOW ? a - SHARED_WINDOW : a,
        size,
        write,
      );
    case 'local':
      return m.localOf(w, lane).place((a >= LOCAL_WINDOW ? a - LOCAL_WINDOW : a) + f.localBase, size, write);
    case 'const':
      return m.generic(w, lane, a, size, write);
    default:
      return m.generic(w, lane, a, size, write);
  }
}

const SIZE: Readonly<Record<string, number>> = { U8: 1, S8: 1, U16: 2, S16: 2, B32: 4, B64: 8, B128: 16 };
const COUNT: Readonly<Record<string, number>> = { V1: 1, V2: 2, V4: 4, V8: 8 };

function read(p: Place, at: number, type: string, f: Frame, to: number, lane: number): void {
  const { view } = p;
  const i = f.regs.i32;
  switch (type) {
    case 'B32':
      i[to + lane] = view.getInt32(at, true);
      return;
    case 'B64':
      i[to + 2 * lane] = view.getInt32(at, true);
      i[to + 2 * lane + 1] = view.getInt32(at + 4, true);
      return;
    case 'U8':
      i[to + lane] = view.getUint8(at);
      return;
    case 'S8':
      i[to + lane] = view.getInt8(at);
      return;
    case 'U16':
      i[to + lane] = view.getUint16(at, true);
      return;
    case 'S16':
      i[to + lane] = view.getInt16(at, true);
      return;
    default:
      for (let k = 0; k < 4; k++) i[to + 4 * lane + k] = view.getInt32(at + 4 * k, true);
  }
}

function write(p: Place, at: number, type: string, f: Frame, from: number, lane: number): void {
  const { view } = p;
  const i = f.regs.i32;
  switch (type) {
    case 'B32':
      view.setInt32(at, i[from + lane], true);
      return;
    case 'B64':
      view.setInt32(at, i[from + 2 * lane], true);
      view.setInt32(at + 4, i[from + 2 * lane + 1], true);
      return;
    case 'U8':
      view.setUint8(at, i[from + lane]);
      return;
    case 'U16':
      view.setUint16(at, i[from + lane], true);
      return;
    default:
      for (let k = 0; k < 4; k++) view.setInt32(at + 4 * k, i[from + 4 * lane + k], true);
  }
}

/** Counts the 32-byte sectors that one warp access touches. */
function transactions(m: Machine, d: Decoded, addresses: readonly number[], bytes: number): void {
  const c = m.opts.counters;
  if (c === null) return;
  const sectors = new Set<number>();
  for (const a of addresses)
    for (let s = Math.floor(a / 32); s <= Math.floor((a + bytes - 1) / 32); s++) sectors.add(s);
  const space = d.ins.op.space ?? 'generic';
  c.transactions[space] = (c.transactions[space] ?? 0) + sectors.size;
}

/** Parameter memory of a frame for LDPRM and STPRM: byte offset in a lane's part. */
function paramAt(m: Machine, f: Frame, d: Decoded, lane: number, size: number): number {
  const o = d.ins.src[0];
  const a = o.sym !== '' ? (f.code.params.get(o.sym) ?? 0) + o.lo : addressOf(m, f, d, 0, lane);
  if (a + size > f.code.paramBytes || a < 0)
    throw new MemoryFault(`parameter byte ${a} is outside of ${f.code.paramBytes} bytes`);
  return lane * f.code.paramBytes + a;
}

const load: Primitive = (m, w, f, d, mask) => {
  const { ins } = d;
  const type = mod(d, 'type');
  const size = SIZE[type];
  const n = COUNT[mod(d, 'vec')];
  const touched: number[] = [];
  const counting = m.opts.counters !== null;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    m.lane = l;
    if (ins.op.space === 'param') {
      const at = paramAt(m, f, d, l, size * n);
      for (let k = 0; k < n; k++)
        if (ins.dst[k] !== NO_REG) read({ view: f.paramView, at }, at + k * size, type, f, opnd(f, d, k), l);
      continue;
    }
    const o = ins.src[0];
    let p: Place;
    if (o.kind === Kind.CBank) {
      const reg = opnd(f, d, ins.dst.length);
      const base = o.reg === NO_REG ? 0 : f.regs.i32[(o.reg & 7) === 1 ? reg + 2 * l : reg + l];
      const at = base + o.lo;
      if (at < 0 || at + size * n > m.bank.byteLength) {
        if (!m.opts.open)
          throw new MemoryFault(`constant bank offset ${at} is outside of ${m.bank.byteLength} bytes`);
        p = m.global.place(PARAM_WINDOW / 4 + Math.abs(at), size * n, false);
      } else p = { view: m.bank, at };
    } else {
      const a = addressOf(m, f, d, 0, l);
      if (counting) touched.push(a);
      if (m.followed !== null && a < SHARED_WINDOW) m.followed.note(ins, a);
      p = resolve(m, w, f, d, a, l, size * n, false);
    }
    for (let k = 0; k < n; k++)
      if (ins.dst[k] !== NO_REG) read(p, p.at + k * size, type, f, opnd(f, d, k), l);
  }
  if (counting && touched.length > 0) transactions(m, d, touched, size * n);
};

const store: Primitive = (m, w, f, d, mask) => {
  const { ins } = d;
  const type = mod(d, 'type');
  const size = SIZE[type];
  const n = COUNT[mod(d, 'vec')];
  const touched: number[] = [];
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    m.lane = l;
    if (ins.op.space === 'param') {
      const at = paramAt(m, f, d, l, size * n);
      for (let k = 0; k < n; k++)
        write({ view: f.paramView, at }, at + k * size, type, f, opnd(f, d, 1 + k), l);
      continue;
    }
    const a = addressOf(m, f, d, 0, l);
    if (m.opts.counters !== null) touched.push(a);
    const p = resolve(m, w, f, d, a, l, size * n, true);
    const log = logOf(w, d, a, l);
    for (let k = 0; k < n; k++) {
      write(p, p.at + k * size, type, f, opnd(f, d, 1 + k), l);
      if (log !== null) noteStore(log, a + k * size, size, f.regs.i32, opnd(f, d, 1 + k), l);
    }
  }
  if (touched.length > 0) transactions(m, d, touched, size * n);
};

/** Numbers of a thread's log, two for each word that it changes. */
const LOG = 1 << 13;

/** Where a thread notes a change of global memory; null if it does not or has noted enough. */
function logOf(w: Warp, d: Decoded, address: number, lane: number): number[] | null {
  if (w.logs === null) return null;
  const { space } = d.ins.op;
  if (space !== 'global' && (space !== 'generic' || address >= SHARED_WINDOW)) return null;
  const log = w.logs[lane];
  return log.length < LOG ? log : null;
}

/** Notes a store word by word, so that a wide one says the same as narrow ones. */
function noteStore(
  log: number[],
  address: number,
  size: number,
  i32: Int32Array,
  from: number,
  lane: number,
): void {
  if (size < 4) log.push(address, i32[from + lane] & (size === 1 ? 0xff : 0xffff));
  else for (let k = 0; k < size; k += 4) log.push(address + k, i32[from + (size >> 2) * lane + (k >> 2)]);
}

const ATOMICS = ['ADD', 'MIN', 'MAX', 'INC', 'DEC', 'AND', 'OR', 'XOR', 'EXCH', 'CAS'];

/** Notes what an atomic operation asks for; what it finds depends on who comes first. */
function noteAtomic(log: number[], a: number, op: string, b: number, c: number): void {
  log.push(a, mix(mix(ATOMICS.indexOf(op), b), op === 'CAS' ? c : 0));
}

/** Integer arithmetic of one width, for what atomic operations do in all of them. */
interface Integers<T> {
  readonly zero: T;
  readonly one: T;
  readonly minusOne: T;
  sum(a: T, b: T): T;
  and(a: T, b: T): T;
  or(a: T, b: T): T;
  xor(a: T, b: T): T;
  below(a: T, b: T): boolean;
  signedBelow(a: T, b: T): boolean;
}

const WORDS: Integers<number> = {
  zero: 0,
  one: 1,
  minusOne: -1,
  sum: (a, b) => (a + b) | 0,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  below: (a, b) => a >>> 0 < b >>> 0,
  signedBelow: (a, b) => a < b,
};

const DOUBLE_WORDS: Integers<bigint> = {
  zero: 0n,
  one: 1n,
  minusOne: -1n,
  sum: (a, b) => BigInt.asUintN(64, a + b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  below: (a, b) => a < b,
  signedBelow: (a, b) => BigInt.asIntN(64, a) < BigInt.asIntN(64, b),
};

/** New value of an atomic operation on integers (PTX ISA 9.0, 9.7.13.5). */
function atomicInteger<T>(k: Integers<T>, op: string, signed: boolean, old: T, b: T, c: T): T {
  switch (op) {
    case 'ADD':
      return k.sum(old, b);
    case 'MIN':
    case 'MAX':
      return (signed ? k.signedBelow(old, b) : k.below(old, b)) === (op === 'MIN') ? old : b;
    case 'INC':
      return k.below(old, b) ? k.sum(old, k.one) : k.zero;
    case 'DEC':
      return old === k.zero || k.below(b, old) ? b : k.sum(old, k.minusOne);
    case 'AND':
      return k.and(old, b);
    case 'OR':
      return k.or(old, b);
    case 'XOR':
      return k.xor(old, b);
    case 'CAS':
      return old === b ? c : old;
    default:
      return b;
  }
}

/** What ADD, MIN and MAX make of two numbers, before rounding. */
const atomicNumber = (op: string, x: number, y: number): number =>
  op === 'ADD' ? x + y : op === 'MIN' ? Math.min(x, y) : Math.max(x, y);

/** New value of an atomic operation on 32 bits or less. */
function atomic32(op: string, type: string, old: number, b: number, c: number): number {
  const half = (shift: number): number =>
    numberToHalf(
      atomicNumber(
        op,
        halfToNumber((old >>> shift) & 0xffff, type),
        halfToNumber((b >>> shift) & 0xffff, type),
      ),
      type,
    ) << shift;
  switch (op === 'EXCH' ? '' : type) {
    case 'F32':
      return f32ToBits(Math.fround(atomicNumber(op, bitsToF32(old), bitsToF32(b))));
    case 'F16X2':
    case 'BF16X2':
      return half(0) | half(16);
    case 'F16':
    case 'BF16':
      return half(0);
  }
  return atomicInteger(WORDS, op, type[0] === 'S', old, b, c);
}

/** New value of an atomic operation on 64 bits. */
function atomic64(op: string, type: string, old: bigint, b: bigint, c: bigint): bigint {
  if (type !== 'F64' || op === 'EXCH') return atomicInteger(DOUBLE_WORDS, op, type[0] === 'S', old, b, c);
  conv.setBigUint64(0, old);
  const x = conv.getFloat64(0);
  conv.setBigUint64(0, b);
  conv.setFloat64(0, atomicNumber(op, x, conv.getFloat64(0)));
  return conv.getBigUint64(0);
}
const conv = new DataView(new ArrayBuffer(8));

const atomic: Primitive = (m, w, f, d, mask) => {
  const op = mod(d, 'op');
  const type = mod(d, 'type');
  const wide = type.endsWith('64');
  const half = type === 'B16' || type === 'F16' || type === 'BF16';
  const i = f.regs.i32;
  const to = opnd(f, d, 0);
  const [pb, pc] = [opnd(f, d, 2), opnd(f, d, 3)];
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a = addressOf(m, f, d, 0, l);
    const p = resolve(m, w, f, d, a, l, wide ? 8 : half ? 2 : 4, true);
    const log = logOf(w, d, a, l);
    if (log !== null) noteAtomic(log, a, op, i[pb + (wide ? 2 * l : l)], i[pc + (wide ? 2 * l : l)]);
    if (wide) {
      const old = p.view.getBigUint64(p.at, true);
      const value = (at: number) => (BigInt(i[at + 2 * l + 1] >>> 0) << 32n) | BigInt(i[at + 2 * l] >>> 0);
      p.view.setBigUint64(p.at, atomic64(op, type, old, value(pb), value(pc)), true);
      if (to >= 0) {
        i[to + 2 * l] = Number(BigInt.asIntN(32, old));
        i[to + 2 * l + 1] = Number(BigInt.asIntN(32, old >> 32n));
      }
    } else if (half) {
      const old = p.view.getUint16(p.at, true);
      p.view.setUint16(
        p.at,
        atomic32(op, type === 'B16' ? 'U32' : type, old, i[pb + l] & 0xffff, i[pc + l] & 0xffff),
        true,
      );
      if (to >= 0) i[to + l] = old;
    } else {
      const old = p.view.getInt32(p.at, true);
      p.view.setInt32(p.at, atomic32(op, type, old, i[pb + l], i[pc + l]), true);
      if (to >= 0) i[to + l] = old;
    }
  }
};

const special: Primitive = (m, w, f, d, mask) => {
  const sr = mod(d, 'sr');
  const to = opnd(f, d, 0);
  const i = f.regs.i32;
  const wide = d.ins.op.groups.some((g) => g.name === 'size') && mod(d, 'size') === '64';
  const [bx, by] = m.opts.block;
  const dims = { TID: null, NTID: m.opts.block, CTAID: w.block.id, NCTAID: m.opts.grid } as Readonly<
    Record<string, readonly number[] | null>
  >;
  const [name, axis] = sr.split('.');
  const at = 'XYZ'.indexOf(axis ?? '');
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const t = w.index * 32 + l;
    let v = 0;
    if (name === 'TID')
      v = at === 0 ? t % bx : at === 1 ? Math.floor(t / bx) % by : Math.floor(t / (bx * by));
    else if (dims[name] !== undefined && axis !== undefined) v = dims[name]![at];
    else
      switch (sr) {
        case 'LANEID':
          v = l;
          break;
        case 'WARPID':
          v = w.index;
          break;
        case 'NWARPID':
          v = w.block.warps.length;
          break;
        case 'LANEMASK_EQ':
          v = 1 << l;
          break;
        case 'LANEMASK_LT':
          v = (1 << l) - 1;
          break;
        case 'LANEMASK_LE':
          v = l === 31 ? -1 : (1 << (l + 1)) - 1;
          break;
        case 'LANEMASK_GT':
          v = l === 31 ? 0 : ~((1 << (l + 1)) - 1);
          break;
        case 'LANEMASK_GE':
          v = ~((1 << l) - 1);
          break;
        case 'DYNAMIC_SMEM_SIZE':
          v = m.opts.dynamicShared;
          break;
        case 'TOTAL_SMEM_SIZE':
          v = m.sharedBytes;
          break;
        case 'SMID':
          v = 0;
          break;
        case 'NSMID':
          v = 1;
          break;
        case 'CLOCK':
        case 'CLOCK64':
        case 'GLOBALTIMER':
        case 'GLOBALTIMER_LO':
          v = m.opts.open ? 0 : m.executed;
          break;
        default:
          // A block is a cluster of its own.
          v = /^(NCLUSTERID)/.test(sr)
            ? m.opts.grid[at]
            : /^CLUSTERID/.test(sr)
              ? w.block.id[at]
              : /N(CTAID|CTARANK)/.test(sr)
                ? 1
                : 0;
      }
    if (wide) {
      i[to + 2 * l] = v | 0;
      i[to + 2 * l + 1] = Math.floor(v / 4294967296);
    } else i[to + l] = v | 0;
  }
};

const WINDOW: Readonly<Record<string, number>> = {
  GLOBAL: 0,
  CONST: 0,
  SHARED: SHARED_WINDOW,
  CLUSTER: SHARED_WINDOW,
  LOCAL: LOCAL_WINDOW,
  PARAM: PARAM_WINDOW,
};

const cvta: Primitive = (m, _w, f, d, mask) => {
  const space = mod(d, 'space');
  const to = mod(d, 'to') === 'TO';
  const window = WINDOW[space] / 4294967296;
  const i = f.regs.i32;
  const [pd, ps] = [opnd(f, d, 0), opnd(f, d, 1)];
  // A thread's local addresses start at its frame.
  const base = space === 'LOCAL' ? f.localBase : 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const lo = i[ps + 2 * l];
    const hi = i[ps + 2 * l + 1];
    const sum = to ? (lo >>> 0) - base : (lo >>> 0) + base;
    i[pd + 2 * l] = sum | 0;
    i[pd + 2 * l + 1] = (hi + Math.floor(sum / 4294967296) + (to ? -window : window)) | 0;
  }
  void m;
};

const qspc: Primitive = (_m, _w, f, d, mask) => {
  const space = mod(d, 'space');
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let bits = 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const a = (i[ps + 2 * l + 1] >>> 0) * 4294967296 + (i[ps + 2 * l] >>> 0);
    const is =
      a < SHARED_WINDOW ? 'GLOBAL' : a < LOCAL_WINDOW ? 'SHARED' : a < PARAM_WINDOW ? 'LOCAL' : 'PARAM';
    if (is === space || (space === 'CLUSTER' && is === 'SHARED')) bits |= 1 << l;
  }
  setPred(f, opnd(f, d, 0), bits, mask);
};

function setPred(f: Frame, at: number, bits: number, mask: number): void {
  if (at >= 0) f.regs.p[at] = (f.regs.p[at] & ~mask) | (bits & mask);
}

const predOf = (f: Frame, d: Decoded, src: number): number => {
  const v = f.regs.p[opnd(f, d, d.ins.dst.length + src)];
  return d.ins.src[src].mods !== 0 ? ~v : v;
};

/**
 * Lane of a shuffle by PTX's rules (PTX ISA 9.0, 9.7.9 shfl). What a lane reads from one that does not take part is
 * undefined there; here it is 0, so that no result hangs on what happens to stand in a register.
 */
const shuffle: Primitive = (_m, _w, f, d, mask) => {
  const mode = mod(d, 'mode');
  const i = f.regs.i32;
  const [pd, pp, pa, pb, pc] = [0, 1, 2, 3, 4].map((k) => opnd(f, d, k));
  const old = new Int32Array(32);
  for (let r = mask; r !== 0; r &= r - 1) old[lowest(r)] = i[pa + lowest(r)];
  let ok = 0;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const b = i[pb + l] & 31;
    const c = i[pc + l];
    const seg = (c >> 8) & 31;
    const max = (l & seg) | (c & 31 & ~seg);
    const min = l & seg;
    let j: number;
    let good: boolean;
    switch (mode) {
      case 'UP':
        j = l - b;
        good = j >= max;
        break;
      case 'DOWN':
        j = l + b;
        good = j <= max;
        break;
      case 'BFLY':
        j = l ^ b;
        good = j <= max;
        break;
      default:
        j = min | (b & ~seg);
        good = j <= max;
    }
    if (!good) j = l;
    else ok |= 1 << l;
    if (pd >= 0) i[pd + l] = old[j & 31];
  }
  setPred(f, pp, ok, mask);
};

/** Member lanes of a warp-wide operation: those of the mask operand that are here. */
function members(f: Frame, d: Decoded, src: number, mask: number): number {
  const at = opnd(f, d, d.ins.dst.length + src);
  return f.regs.i32[at + lowest(mask)] & mask;
}

const vote: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const yes = predOf(f, d, 0) & who;
  const mode = mod(d, 'mode');
  const answer = mode === 'ANY' ? yes !== 0 : mode === 'ALL' ? yes === who : yes === who || yes === 0;
  setPred(f, opnd(f, d, 1), answer ? -1 : 0, mask);
  const to = opnd(f, d, 0);
  if (to >= 0) for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = yes;
};

const activemask: Primitive = (_m, _w, f, d, mask) => {
  const to = opnd(f, d, 0);
  for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = mask;
};

const match: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const wide = mod(d, 'size') === '64';
  const i = f.regs.i32;
  const ps = opnd(f, d, 2);
  const key = (l: number) => (wide ? `${i[ps + 2 * l]},${i[ps + 2 * l + 1]}` : String(i[ps + l]));
  const groups = new Map<string, number>();
  for (let r = who; r !== 0; r &= r - 1)
    groups.set(key(lowest(r)), (groups.get(key(lowest(r))) ?? 0) | (r & -r));
  const all = groups.size === 1;
  const to = opnd(f, d, 0);
  const keys = new Map<number, string>();
  for (let r = mask; r !== 0; r &= r - 1) keys.set(lowest(r), key(lowest(r)));
  for (const [l, k] of keys)
    if (to >= 0) i[to + l] = mod(d, 'mode') === 'ANY' ? (groups.get(k) ?? 0) : all ? who : 0;
  setPred(f, opnd(f, d, 1), all ? -1 : 0, mask);
};

const redux: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 1, mask);
  const op = mod(d, 'op');
  const type = mod(d, 'type');
  const i = f.regs.i32;
  const ps = opnd(f, d, 1);
  let v: number | null = null;
  for (let r = who; r !== 0; r &= r - 1) {
    const x = i[ps + lowest(r)];
    v = v === null ? x : atomic32(op, type, v, x, 0);
  }
  const to = opnd(f, d, 0);
  for (let r = mask; r !== 0; r &= r - 1) i[to + lowest(r)] = v ?? 0;
};

const elect: Primitive = (_m, _w, f, d, mask) => {
  const who = members(f, d, 0, mask);
  const leader = lowest(who);
  const to = opnd(f, d, 0);
  if (to >= 0) for (let r = mask; r !== 0; r &= r - 1) f.regs.i32[to + lowest(r)] = leader;
  setPred(f, opnd(f, d, 1), 1 << leader, mask);
};

const nothing: Primitive = () => {};

const barrier: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const l = lowest(mask);
  const id = i[opnd(f, d, 2) + l];
  if (id < 0 || id > 15) m.fault(`barrier ${id} does not exist (0 to 15)`, d, w, l);
  const n = i[opnd(f, d, 3) + l];
  const b = w.block;
  let bar = b.barriers.get(id);
  if (bar === undefined) {
    bar = {
      arrived: 0,
      expected: 0,
      lanes: new Map(),
      waiting: [],
      reductions: [],
      and: true,
      or: false,
      count: 0,
    } satisfies Barrier;
    b.barriers.set(id, bar);
  }
  if (n > 0) bar.expected = n;
  // A warp that stands here as a whole counts as 32 threads, whatever is left of it; at an aligned barrier it always does.
  const whole = d.aligned || (~w.exited & ~mask) === 0;
  if (n > 0) bar.arrived += whole ? 32 : popc(mask);
  else bar.lanes.set(w, (bar.lanes.get(w) ?? 0) | (whole ? ~w.exited : mask));
  const mode = mod(d, 'mode');
  if (m.opts.counters !== null) m.opts.counters.barrierWaits++;
  if (mode === 'RED') {
    const p = predOf(f, d, 2) & mask;
    bar.and &&= p === mask;
    bar.or ||= p !== 0;
    bar.count += popc(p);
    const op = mod(d, 'op');
    const [to, tp] = [opnd(f, d, 0), opnd(f, d, 1)];
    bar.reductions.push({
      finish: (and, or, count) => {
        if (op === 'POPC' && to >= 0) for (let r = mask; r !== 0; r &= r - 1) i[to + lowest(r)] = count;
        else setPred(f, tp, (op === 'AND' ? and : or) ? -1 : 0, mask);
      },
    });
  }
  const path = m.arriving!;
  if (mode === 'ARRIVE') path.wait = null;
  else bar.waiting.push({ warp: w, path });
  m.tryRelease(b, bar);
};

const asyncCopy: Primitive = (m, w, f, d, mask) => {
  const size = Number(mod(d, 'size').slice(1));
  const pn = opnd(f, d, 2);
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const n = mod(d, 'zfill') === 'ZFILL' ? Math.min(size, f.regs.i32[pn + l] >>> 0) : size;
    w.pending.push({ lane: l, to: addressOf(m, f, d, 0, l), from: addressOf(m, f, d, 1, l), size, n });
  }
};

/** Copies take place when they are waited for, so that a missing wait shows. */
function complete(m: Machine, w: Warp, copies: readonly AsyncCopy[]): void {
  for (const c of copies) {
    m.lane = c.lane;
    const bytes = new Uint8Array(c.size);
    if (c.n > 0) {
      const p = m.generic(w, c.lane, c.from, c.n === c.size ? c.size : 1, false);
      for (let k = 0; k < c.n; k++) bytes[k] = p.view.getUint8(p.at + k);
    }
    const q = w.block.shared.place(c.to >= SHARED_WINDOW ? c.to - SHARED_WINDOW : c.to, c.size, true);
    for (let k = 0; k < c.size; k++) q.view.setUint8(q.at + k, bytes[k]);
  }
}

const asyncCommit: Primitive = (_m, w) => {
  w.groups.push(w.pending.splice(0));
};

const asyncWait: Primitive = (m, w, f, d, mask) => {
  void f;
  void mask;
  if (mod(d, 'all') === 'ALL') {
    for (const g of w.groups.splice(0)) complete(m, w, g);
    complete(m, w, w.pending.splice(0));
    return;
  }
  while (w.groups.length > d.ins.src[0].lo) complete(m, w, w.groups.shift()!);
};

const mbarrier: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const table = w.block.mbarriers;
  const nd = d.ins.dst.length;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const raw = addressOf(m, f, d, 0, l);
    const a = raw >= SHARED_WINDOW ? raw - SHARED_WINDOW : raw;
    const src = (k: number) => i[opnd(f, d, nd + k) + l];
    const name = d.ins.op.name;
    if (name === 'MBAR_INIT') {
      table.set(a, { expected: src(1), pending: src(1), phase: 0, tx: 0 });
      continue;
    }
    if (name === 'MBAR_INVAL') {
      table.delete(a);
      continue;
    }
    let b = table.get(a);
    if (b === undefined) {
      if (!m.opts.open)
        m.fault(`no memory barrier was initialised at shared address 0x${a.toString(16)}`, d, w, l);
      b = { expected: 32, pending: 32, phase: 0, tx: 0 } satisfies MBarrier;
      table.set(a, b);
    }
    if (name === 'MBAR_ARRIVE') {
      const op = mod(d, 'op');
      const before = b.phase;
      if (op.startsWith('ASYNC')) {
        for (const g of w.groups.splice(0)) complete(m, w, g);
        complete(m, w, w.pending.splice(0));
        if (op === 'ASYNC_NOINC') b.pending--;
      } else if (op === 'EXPECT_TX') b.tx += src(1);
      else if (op === 'ARRIVE_EXPECT_TX') {
        b.tx += src(1);
        b.pending--;
      } else {
        b.pending -= src(1);
        if (op === 'ARRIVE_DROP') b.expected -= src(1);
      }
      if (b.pending <= 0 && b.tx === 0) {
        b.phase++;
        b.pending = b.expected;
      }
      const to = opnd(f, d, 0);
      if (to >= 0) {
        i[to + 2 * l] = before;
        i[to + 2 * l + 1] = 0;
      }
      continue;
    }
    const parity = mod(d, 'by') === 'PARITY';
    const s = parity ? src(1) : i[opnd(f, d, nd + 1) + 2 * l];
    const done = parity ? (b.phase & 1) !== (s & 1) : b.phase > s;
    setPred(f, opnd(f, d, 0), done ? 1 << l : 0, 1 << l);
  }
};

const trap: Primitive = (m, w, _f, d, mask) => {
  if (mod(d, 'op') !== 'TRAP') return;
  if (m.opts.open) m.endLanes(w, mask, 'trap');
  else m.fault('trap', d, w, lowest(mask), 'trap');
};

/** Most bytes of one malloc; more gives a null pointer, as an exhausted heap does (its default is 8 MB). */
const MOST_HEAP = 8 << 20;

/** Functions that the driver provides: vprintf, __assertfail, malloc, free. Others end the run with an error. */
const builtin: Primitive = (m, w, f, d, mask) => {
  const name = d.ins.src[0].sym;
  const param = (k: number, l: number, bytes: 4 | 8): number => {
    const o = d.ins.src[2 + k];
    if (o.kind === Kind.Sym) {
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0);
      return bytes === 4
        ? f.paramView.getUint32(at, true)
        : f.paramView.getUint32(at + 4, true) * 4294967296 + f.paramView.getUint32(at, true);
    }
    // A constant's slot has no width of its own.
    if (o !== undefined && o.kind === Kind.Imm)
      return bytes === 4 ? o.lo >>> 0 : (o.hi >>> 0) * 4294967296 + (o.lo >>> 0);
    const at = opnd(f, d, d.ins.dst.length + 2 + k);
    return bytes === 4
      ? f.regs.i32[at + l] >>> 0
      : (f.regs.i32[at + 2 * l + 1] >>> 0) * 4294967296 + (f.regs.i32[at + 2 * l] >>> 0);
  };
  const give = (args: number, l: number, lo: number, hi: number): void => {
    const o = d.ins.src[2 + args];
    if (o !== undefined && o.kind === Kind.Sym) {
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0);
      f.paramView.setInt32(at, lo, true);
      if (hi !== -1) f.paramView.setInt32(at + 4, hi, true);
    }
  };
  const text = (l: number, address: number): string => {
    let s = '';
    for (let k = 0; k < 4096; k++) {
      const p = m.generic(w, l, address + k, 1, false);
      const c = p.view.getUint8(p.at);
      if (c === 0) break;
      s += String.fromCharCode(c);
    }
    return s;
  };
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    m.lane = l;
    switch (name) {
      case 'vprintf': {
        if (m.opts.open || m.output.length < 10_000) {
          const args = param(1, l, 8);
          const at = (offset: number, size: 4 | 8): DataView => {
            const p = m.generic(w, l, args + offset, size, false);
            return new DataView(p.view.buffer, p.view.byteOffset + p.at, size);
          };
          const said = formatPrintf(text(l, param(0, l, 8)), at, (a) => text(l, a));
          if (m.opts.open) m.show(w, l, hashOf(said));
          else m.output.push(said);
        }
        give(2, l, 0, -1);
        break;
      }
      case '__assertfail':
        if (m.opts.open) m.endLanes(w, 1 << l, 'trap');
        else m.fault(`assertion failed: ${text(l, param(0, l, 8))}`, d, w, l, 'trap');
        break;
      case 'malloc': {
        const bytes = param(0, l, 8);
        let a = m.heap.next;
        if (m.global instanceof BufferMemory)
          a = bytes > MOST_HEAP ? 0 : m.global.add('malloc', new Uint8Array(bytes)).base;
        else m.heap.next += Math.ceil((bytes + 16) / 16) * 16;
        give(1, l, a | 0, Math.floor(a / 4294967296));
        break;
      }
      case 'free':
        break;
      default:
        if (!m.opts.open) m.fault(`call of '${name}', which is not defined in this module`, d, w, l);
        unknownCall(m, w, f, d, 1 << l);
    }
  }
};

function hashOf(text: string): number {
  let h = text.length;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

/**
 * A call in an open world of a function that the module does not have: what it is given is compared, and it gives small
 * values hashed from that and from which function it is: by its name, or its address. (What a prototype is called says nothing.)
 */
export function unknownCall(m: Machine, w: Warp, f: Frame, d: Decoded, mask: number): void {
  const [target, declared] = d.ins.src;
  const name = declared?.sym || target.sym;
  const proto = m.program.prototypes.find((p) => p.name === name);
  if (proto === undefined) return;
  const first = d.ins.dst.length + 2;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    /** Words of an argument: registers, or bytes of call parameters. */
    const word = (k: number, byte: number, size: number): number => {
      const o = d.ins.src[2 + k];
      if (o === undefined) return 0;
      if (o.kind !== Kind.Sym) return f.regs.i32[opnd(f, d, first + k) + (size > 4 ? 2 * l + byte / 4 : l)];
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0) + byte;
      return size === 1
        ? f.paramView.getUint8(at)
        : size === 2
          ? f.paramView.getUint16(at, true)
          : f.paramView.getInt32(at, true);
    };
    let h = hashOf(target.sym);
    if (target.kind === Kind.Reg)
      for (const part of [0, 1]) h = mix(h, f.regs.i32[opnd(f, d, d.ins.dst.length) + 2 * l + part]);
    proto.params.forEach((p, k) => {
      for (let byte = 0; byte < p.size; byte += 4) {
        const x = word(k, byte, p.size);
        m.show(w, l, x);
        h = mix(h, x);
      }
    });
    proto.returns.forEach((p, k) => {
      const o = d.ins.src[2 + proto.params.length + k];
      if (o === undefined || o.kind !== Kind.Sym) return;
      const at = l * f.code.paramBytes + (f.code.params.get(o.sym) ?? 0);
      for (let byte = 0; byte < p.size; byte += 4) {
        const v = mix(h + k + byte, m.opts.seed) & 15;
        if (p.size < 4) f.paramView.setUint8(at, v);
        else f.paramView.setInt32(at + byte, v, true);
      }
    });
  }
}

export const primitives: Readonly<Record<string, Primitive>> = {
  load,
  store,
  atomic,
  special,
  cvta,
  qspc,
  shuffle,
  vote,
  activemask,
  match,
  redux,
  elect,
  hint: nothing,
  fence: nothing,
  warpsync: nothing,
  convergence: nothing,
  'cluster-barrier': nothing,
  barrier,
  'async-copy': asyncCopy,
  'async-commit': asyncCommit,
  'async-wait': asyncWait,
  mbarrier,
  trap,
  builtin,
};
