import type { MBarrier } from './state.ts';

/** A memory barrier object in shared memory (PTX ISA 9.0, 9.7.13.15): what happens to it. */

export const newMBarrier = (count: number): MBarrier => ({
  expected: count,
  pending: count,
  phase: 0,
  tx: 0,
  said: 0,
});

/** Waits for so many bytes more in this phase. */
export function expect(b: MBarrier, bytes: number): void {
  b.tx += bytes;
  b.said += bytes;
}

/** Starts the next phase when all arrivals and all bytes of this one have come. */
export function settle(b: MBarrier): void {
  if (b.unmeasured === true) b.tx = 0;
  if (b.pending > 0 || b.tx !== 0) return;
  b.phase++;
  b.pending = b.expected;
}

/** Bytes that arrive. Before they are expected the count may be below zero. */
export function completeTx(b: MBarrier, bytes: number): void {
  b.tx -= bytes;
  settle(b);
}
