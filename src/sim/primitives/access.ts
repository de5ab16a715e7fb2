import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { LOCAL_WINDOW, type Location, MemoryFault, PARAM_WINDOW, SHARED_WINDOW } from '../memory.ts';
import type { Followed, Simulation } from '../simulation.ts';
import type { Frame } from '../state.ts';
import { logOf, noteStore } from './log.ts';

import { addressOf, opnd, type Primitive, resolve } from './primitive.ts';

function read(p: Location, at: number, type: string, f: Frame, to: number, lane: number): void {
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

function write(p: Location, at: number, type: string, f: Frame, from: number, lane: number): void {
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
function transactions(m: Simulation, d: Decoded, addresses: readonly number[], bytes: number): void {
  const c = m.opts.counters;
  if (c === null) return;
  const sectors = new Set<number>();
  for (const a of addresses)
    for (let s = Math.floor(a / 32); s <= Math.floor((a + bytes - 1) / 32); s++) sectors.add(s);
  const space = d.ins.op.space ?? 'generic';
  c.transactions[space] = (c.transactions[space] ?? 0) + sectors.size;
}

/** Byte offset in the frame's parameter memory of a lane's LDPRM or STPRM access. */
function paramAt(m: Simulation, f: Frame, d: Decoded, lane: number, size: number): number {
  const o = d.ins.src[0];
  const a = o.sym !== '' ? (f.code.params.get(o.sym) ?? 0) + o.lo : addressOf(m, f, d, 0, lane);
  if (a + size > f.code.paramBytes || a < 0)
    throw new MemoryFault(`parameter byte ${a} is outside of ${f.code.paramBytes} bytes`);
  return lane * f.code.paramBytes + a;
}

/** Reports the addresses of all lanes before the first of them is accessed: neighbours share their line. */
function follow(m: Simulation, followed: Followed, f: Frame, d: Decoded, mask: number): void {
  const { ins } = d;
  if (ins.op.space === 'param' || ins.src[0].kind === Kind.CBank) return;
  for (let r = mask; r !== 0; r &= r - 1) {
    const a = addressOf(m, f, d, 0, lowest(r));
    if (a < SHARED_WINDOW) followed.note(ins, a);
  }
}

/** LD, LDG, LDS, LDL, LDC and LDPRM. */
export const load: Primitive = (m, w, f, d, mask) => {
  const { ins } = d;
  const { type, size, n } = d.access!;
  const touched: number[] = [];
  const counting = m.opts.counters !== null;
  if (m.followed?.wants(ins) === true) follow(m, m.followed, f, d, mask);
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
    let p: Location;
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
      p = resolve(m, w, f, d, a, l, size * n, false);
      if (m.watch !== null) p = m.watch.load(w, d, l, a, size * n, p);
    }
    for (let k = 0; k < n; k++)
      if (ins.dst[k] !== NO_REG) read(p, p.at + k * size, type, f, opnd(f, d, k), l);
  }
  if (counting && touched.length > 0) transactions(m, d, touched, size * n);
};

/** ST, STG, STS, STL and STPRM. */
export const store: Primitive = (m, w, f, d, mask) => {
  const { ins } = d;
  const { type, size, n } = d.access!;
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
    // Only the thread itself sees local memory.
    if (ins.op.space !== 'local' && (a < LOCAL_WINDOW || a >= PARAM_WINDOW)) m.changes++;
    for (let k = 0; k < n; k++) {
      write(p, p.at + k * size, type, f, opnd(f, d, 1 + k), l);
      if (log !== null) noteStore(log, a + k * size, size, f.regs.i32, opnd(f, d, 1 + k), l);
    }
    if (m.watch !== null) m.watch.store(w, d, l, a, size * n, p);
  }
  if (touched.length > 0) transactions(m, d, touched, size * n);
};
