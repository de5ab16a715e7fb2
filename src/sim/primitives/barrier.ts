import { popc } from '../../isa/ints.ts';
import { tryRelease } from '../barriers.ts';
import { lowest } from '../masks.ts';
import { SHARED_WINDOW } from '../memory.ts';
import type { Barrier, MBarrier } from '../state.ts';
import { completePending } from './async.ts';

import { addressOf, mod, opnd, type Primitive, predOf, setPred } from './primitive.ts';

/** BAR: one of the numbered barriers of a block. */
export const barrier: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const l = lowest(mask);
  const id = i[opnd(f, d, 2) + l];
  if (id < 0 || id > 15) m.fault(`barrier ${id} does not exist (0 to 15)`, d, w, l);
  const n = i[opnd(f, d, 3) + l];
  const b = w.block;
  m.changes++;
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
  tryRelease(b, bar);
};

/** The memory barriers of shared memory (PTX ISA 9.0, mbarrier). */
export const mbarrier: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const table = w.block.mbarriers;
  const nd = d.ins.dst.length;
  let over = false;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const raw = addressOf(m, f, d, 0, l);
    const a = raw >= SHARED_WINDOW ? raw - SHARED_WINDOW : raw;
    const src = (k: number) => i[opnd(f, d, nd + k) + l];
    const name = d.ins.op.name;
    if (name !== 'MBAR_WAIT') m.changes++;
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
        completePending(m, w);
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
    over ||= done;
    setPred(f, opnd(f, d, 0), done ? 1 << l : 0, 1 << l);
  }
  m.askedInVain = d.ins.op.name === 'MBAR_WAIT' && !over;
};
