import { mapped } from '../clusters.ts';
import { completeTx, settle } from '../mbarriers.ts';
import type { Location } from '../memory.ts';
import { mbarrierAt } from './barrier.ts';
import { atomicBits, eachLane, lastTypeOf, placeFor } from './foreign-memory.ts';
import type { ForeignCall } from './foreign-operands.ts';

/*
 * Bulk copies and reductions between global and shared memory, and operations on barrier objects, as carried instructions (PTX ISA 9.0,
 * 9.7.9.25 and 9.7.13.15). A copy is performed at once and its bytes arrive with it: one of the orders that PTX allows.
 */

/** The first two modifiers that name spaces: those of destination and source. */
const spacesOf = (c: ForeignCall): string[] =>
  c.mods.filter((x) => /^(global|shared(::cta|::cluster)?)$/.test(x)).slice(0, 2);

/** Log2 of the bytes whose copy costs as much as one instruction. */
const BYTES_LOG2 = 4;

const REDUCTIONS = ['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor'];

/** `cp.async.bulk` and `cp.reduce.async.bulk` without tensors. Since copies are performed at once, waiting for groups does nothing. */
function copy(c: ForeignCall): boolean {
  if (c.has('commit_group') || c.has('wait_group') || c.has('prefetch')) return true;
  const [to, from] = spacesOf(c);
  if (from === undefined || c.has('tensor')) return false;
  const reduces = c.has('reduce');
  const op = reduces ? c.oneOf(REDUCTIONS)?.toUpperCase() : '';
  const type = reduces ? lastTypeOf(c) : { name: 'b8', bits: 8 };
  if (op === undefined || type === null) return false;
  const signals = c.has('mbarrier::complete_tx::bytes');
  const extra = signals ? 4 : 3;
  const chosen = c.has('cp_mask');
  return eachLane(c, (l) => {
    const bytes = Number(BigInt.asUintN(32, c.value(2, l)));
    const [a, b] = [c.address(0, l), c.address(1, l)];
    if (a % 16 !== 0 || b % 16 !== 0 || bytes % 16 !== 0)
      c.m.fault(
        `a bulk copy of ${bytes} bytes from 0x${b.toString(16)} to 0x${a.toString(16)}: size and addresses must be multiples of 16`,
        c.d,
        c.w,
        l,
      );
    // Checks the last byte first, so that a size beyond the buffer faults before an array of that size is allocated.
    if (bytes > 0) placeFor(c, from !== 'global', b + bytes - 1, l, 1, false);
    c.m.spend(bytes >> BYTES_LOG2);
    const source = new Uint8Array(bytes);
    for (let k = 0; k < bytes; k++) {
      const p = placeFor(c, from !== 'global', b + k, l, 1, false);
      source[k] = p.view.getUint8(p.at);
    }
    const mask = chosen ? Number(BigInt.asUintN(16, c.value(c.operands.length - 1, l))) : 0xffff;
    const write = (base: number) => {
      for (let k = 0; k < bytes; k += type.bits / 8)
        if (reduces || (mask >>> (k % 16)) & 1)
          put(placeFor(c, to !== 'global', base + k, l, type.bits / 8, true), source, k, op, type);
    };
    c.m.changes++;
    const ranks = c.has('multicast::cluster') ? ranksIn(Number(BigInt.asUintN(16, c.value(extra, l)))) : null;
    if (ranks === null) write(a);
    else for (const r of ranks) write(mapped(c.w.block, a, r));
    if (!signals) return;
    const bar = c.address(3, l);
    if (ranks === null) completeTx(mbarrierAt(c.m, c.w, c.d, l, bar), bytes);
    else for (const r of ranks) completeTx(mbarrierAt(c.m, c.w, c.d, l, mapped(c.w.block, bar, r)), bytes);
  });
}

const ranksIn = (mask: number): number[] =>
  Array.from({ length: 16 }, (_, r) => r).filter((r) => (mask >>> r) & 1);

/** Writes one element, or combines it with the current value. */
function put(
  p: Location,
  source: Uint8Array,
  at: number,
  op: string,
  type: { readonly name: string; readonly bits: number },
): void {
  const n = type.bits / 8;
  let v = 0n;
  let old = 0n;
  for (let k = n - 1; k >= 0; k--) {
    v = (v << 8n) | BigInt(source[at + k]);
    old = (old << 8n) | BigInt(p.view.getUint8(p.at + k));
  }
  const now = op === '' ? v : atomicBits(op, type.name, type.bits, old, v, 0n);
  for (let k = 0; k < n; k++) p.view.setUint8(p.at + k, Number((now >> BigInt(8 * k)) & 0xffn));
}

/** Forms of `mbarrier` without an opcode of their own: on barriers of other blocks of the cluster, with semantics and scopes. */
function mbarrier(c: ForeignCall): boolean {
  const at = c.operands.findIndex((o) => o.address);
  if (c.has('pending_count'))
    return eachLane(c, (l) => c.give(0, l, BigInt.asUintN(32, c.value(1, l) >> 32n)));
  if (at < 0) return false;
  const arrives = c.has('arrive') || c.has('arrive_drop');
  const waits = c.has('test_wait') || c.has('try_wait');
  const bytes = c.has('expect_tx') || c.has('complete_tx');
  if (!arrives && !waits && !bytes) return false;
  let over = !waits;
  eachLane(c, (l) => {
    const b = mbarrierAt(c.m, c.w, c.d, l, c.address(at, l));
    const n = c.operands[at + 1] === undefined ? 1 : c.word(at + 1, l);
    if (waits) {
      const state = c.value(at + 1, l);
      const done = c.has('parity')
        ? (b.phase & 1) !== Number(state & 1n)
        : b.phase > Number(BigInt.asIntN(32, state));
      over ||= done;
      c.give(0, l, done ? 1n : 0n);
      return;
    }
    c.m.changes++;
    const before = (BigInt(b.pending) << 32n) | BigInt(b.phase);
    if (c.has('complete_tx')) return completeTx(b, n);
    if (bytes) b.tx += n;
    if (arrives) {
      const count = bytes ? 1 : n;
      b.pending -= count;
      if (c.has('arrive_drop')) b.expected -= count;
      settle(b);
    }
    if (at === 1) c.give(0, l, before);
  });
  if (!over) c.m.yieldTurn = true;
  return true;
}

/** Fences and hints, which have no effect in a simulator that performs every access at once. */
const SILENT = new Set([
  'fence',
  'membar',
  'prefetch',
  'prefetchu',
  'discard',
  'applypriority',
  'setmaxnreg',
  'cctl',
  'cctlu',
]);

/**
 * Runs a carried bulk copy, operation on a barrier object, fence or hint.
 *
 * @returns false if the instruction is none of these
 */
export function runBulk(c: ForeignCall): boolean {
  if (SILENT.has(c.opcode)) return true;
  if (c.opcode === 'cp') return copy(c);
  return c.opcode === 'mbarrier' && mbarrier(c);
}
