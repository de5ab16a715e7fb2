import { popc } from '../../isa/ints.ts';
import { tryRelease } from '../barriers.ts';
import { arriveAtCluster, inCluster, throughCluster } from '../clusters.ts';
import type { Decoded } from '../decode.ts';
import { lowest } from '../masks.ts';
import { expect, newMBarrier, settle } from '../mbarriers.ts';
import { mix } from '../memory.ts';
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
  // A warp that arrives as a whole counts as 32 threads, even if some have exited; at an aligned barrier it always does.
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
  m.watch?.arrive(w, bar, mask);
  const path = m.arriving!;
  if (mode === 'ARRIVE') path.wait = null;
  else bar.waiting.push({ warp: w, path });
  tryRelease(b, bar);
};

/** Block and shared offset of the barrier object that a lane's operand addresses. */
const placeOf = (m: Simulation, w: Warp, f: Frame, d: Decoded, lane: number) =>
  inCluster(w.block, addressOf(m, f, d, 0, lane));

/** The barrier object at a shared address; in an open world every address holds one. @throws SimFault if there is none */
export function mbarrierAt(m: Simulation, w: Warp, d: Decoded, lane: number, address: number): MBarrier {
  const { block, at } = inCluster(w.block, address);
  let b = block.mbarriers.get(at);
  if (b === undefined) {
    if (!m.opts.open)
      m.fault(`no memory barrier was initialised at shared address 0x${at.toString(16)}`, d, w, lane);
    b = newMBarrier(32);
    block.mbarriers.set(at, b);
  }
  return b;
}

const objectOf = (m: Simulation, w: Warp, f: Frame, d: Decoded, lane: number): MBarrier =>
  mbarrierAt(m, w, d, lane, addressOf(m, f, d, 0, lane));

/** The value of the `k`-th source; the address is source 0. */
const source = (f: Frame, d: Decoded, k: number, lane: number): number =>
  f.regs.i32[opnd(f, d, d.ins.dst.length + k) + lane];

/**
 * In an open world, shows the bytes that a phase has waited for as one word of the block: which threads expected them, and in how many
 * operations, does not matter.
 */
export function showPhase(m: Simulation, w: Warp, at: number, b: MBarrier): void {
  if (isElsewhere(m)) return;
  m.showOnce(w.block, mix(at, b.phase), b.announced);
  b.announced = 0;
}

/** Tag of the word that a thread shows, with address and count, when it initialises a barrier object in an open world. */
const INITIALISED = 0x696e6974;

/** True if a barrier object may have another address in the program compared with: machine code may place it elsewhere, or have none. */
const isElsewhere = (m: Simulation): boolean => m.opts.blank === true;

/** mbarrier.init: initialises a barrier object in shared memory. */
export const mbarrierInit: Primitive = (m, w, f, d, mask) => {
  m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) {
    const l = lowest(r);
    const { block, at } = placeOf(m, w, f, d, l);
    const count = source(f, d, 1, l);
    if (m.opts.open && !isElsewhere(m)) m.show(w, l, mix(mix(at, count), INITIALISED));
    block.mbarriers.set(at, newMBarrier(count));
  }
};

/** mbarrier.inval: removes a barrier object. */
export const mbarrierInval: Primitive = (m, w, f, d, mask) => {
  m.changes++;
  for (let r = mask; r !== 0; r &= r - 1) {
    const { block, at } = placeOf(m, w, f, d, lowest(r));
    block.mbarriers.delete(at);
  }
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
    const pending = m.opts.open ? 0 : b.pending;
    if (op.startsWith('ASYNC')) {
      completePending(m, w);
      if (op === 'ASYNC_NOINC') b.pending--;
    } else if (op === 'EXPECT_TX') expect(b, source(f, d, 1, l));
    else if (op === 'ARRIVE_EXPECT_TX') {
      expect(b, source(f, d, 1, l));
      b.pending--;
    } else {
      b.pending -= source(f, d, 1, l);
      if (op === 'ARRIVE_DROP') b.expected -= source(f, d, 1, l);
    }
    settle(b);
    if (m.opts.open && b.phase !== before) showPhase(m, w, placeOf(m, w, f, d, l).at, b);
    const to = opnd(f, d, 0);
    if (to < 0) continue;
    i[to + 2 * l] = before;
    i[to + 2 * l + 1] = pending;
  }
};

/** mbarrier.test_wait and try_wait: tests whether the phase that a state or a parity identifies has completed. */
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

/**
 * barrier.cluster: lanes arrive, or wait until all threads of the cluster have arrived since they did. A waiting lane executes the
 * instruction again, after its warp has given up its turn.
 */
export const clusterBarrier: Primitive = (m, w, f, d, mask) => {
  if (mod(d, 'mode') === 'ARRIVE') {
    m.changes++;
    arriveAtCluster(w, mask);
    return;
  }
  if (throughCluster(w, mask) === mask) return;
  const path = w.paths[w.paths.length - 1];
  if (path.frame === f) path.pc--;
  m.yieldTurn = true;
};
