import { popc } from '../../isa/ints.ts';
import { tryRelease } from '../barriers.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { SHARED_WINDOW } from '../memory.ts';
import type { Simulation } from '../simulation.ts';
import type { Barrier, Frame, MBarrier, Warp } from '../state.ts';
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
  // A warp that arrives as a whole counts as 32 threads, even if some have ended; at an aligned barrier it always
  // does.
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

/** Shared address of the memory barrier that a lane's operand names. */
function placeOf(m: Simulation, f: Frame, d: Decoded, lane: number): number {
  const raw = addressOf(m, f, d, 0, lane);
  return raw >= SHARED_WINDOW ? raw - SHARED_WINDOW : raw;
}

/** The memory barrier that a lane's operand names; in an open world every address holds one. */
function objectOf(m: Simulation, w: Warp, f: Frame, d: Decoded, lane: number): MBarrier {
  const table = w.block.mbarriers;
  const a = placeOf(m, f, d, lane);
  let b = table.get(a);
  if (b === undefined) {
    if (!m.opts.open)
      m.fault(`no memory barrier was initialised at shared address 0x${a.toString(16)}`, d, w, lane);
    b = { expected: 32, pending: 32, phase: 0, tx: 0 } satisfies MBarrier;
    table.set(a, b);
  }
  return b;
}

/** The value of the `k`-th source; the address is source 0. */
const source = (f: Frame, d: Decoded, k: number, lane: number): number =>
  f.regs.i32[opnd(f, d, d.ins.dst.length + k) + lane];

/** Initialises a memory barrier of shared memory (PTX ISA 9.0, mbarrier.init). */
export const mbarrierInit: Primitive = (m, w, f, d, mask) => {
  m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const n = source(f, d, 1, l);
    w.block.mbarriers.set(placeOf(m, f, d, l), { expected: n, pending: n, phase: 0, tx: 0 });
  }
};

/** mbarrier.inval. */
export const mbarrierInval: Primitive = (m, w, f, d, mask) => {
  m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) w.block.mbarriers.delete(placeOf(m, f, d, lowest(r)));
};

/** mbarrier.arrive, arrive_drop and expect_tx, and cp.async.mbarrier.arrive: the destination gets the previous state. */
export const mbarrierArrive: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const op = mod(d, 'op');
  m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const b = objectOf(m, w, f, d, l);
    const before = b.phase;
    if (op.startsWith('ASYNC')) {
      completePending(m, w);
      if (op === 'ASYNC_NOINC') b.pending--;
    } else if (op === 'EXPECT_TX') b.tx += source(f, d, 1, l);
    else if (op === 'ARRIVE_EXPECT_TX') {
      b.tx += source(f, d, 1, l);
      b.pending--;
    } else {
      b.pending -= source(f, d, 1, l);
      if (op === 'ARRIVE_DROP') b.expected -= source(f, d, 1, l);
    }
    if (b.unmeasured === true) b.tx = 0;
    if (b.pending <= 0 && b.tx === 0) {
      b.phase++;
      b.pending = b.expected;
    }
    const to = opnd(f, d, 0);
    if (to < 0) continue;
    i[to + 2 * l] = before;
    i[to + 2 * l + 1] = 0;
  }
};

/** mbarrier.test_wait and try_wait: has the phase completed, identified by a state or by parity? */
export const mbarrierWait: Primitive = (m, w, f, d, mask) => {
  const i = f.regs.i32;
  const parity = mod(d, 'by') === 'PARITY';
  let over = false;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const { phase } = objectOf(m, w, f, d, l);
    const done = parity
      ? (phase & 1) !== (source(f, d, 1, l) & 1)
      : phase > i[opnd(f, d, d.ins.dst.length + 1) + 2 * l];
    over ||= done;
    setPred(f, opnd(f, d, 0), done ? 1 << l : 0, 1 << l);
  }
  m.yieldTurn = !over;
};
