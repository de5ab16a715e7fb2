import type { MBarrier } from './state.ts';

// Operations on a memory barrier object in shared memory (PTX ISA 9.0, 9.7.13.15).

/** A barrier object that expects `count` arrivals in each phase. */
export const newMBarrier = (count: number): MBarrier => ({
  expected: count,
  pending: count,
  phase: 0,
  tx: 0,
  announced: 0,
});

/** `expect_tx`: this phase also waits for `bytes` more bytes. */
export function expect(b: MBarrier, bytes: number): void {
  b.tx += bytes;
  b.announced += bytes;
}

/** Starts the next phase once all arrivals and all expected bytes of this one are there. */
export function settle(b: MBarrier): void {
  if (b.unmeasured === true) b.tx = 0;
  if (b.pending > 0 || b.tx !== 0) return;
  b.phase++;
  b.pending = b.expected;
}

/** `complete_tx`: `bytes` bytes arrive. The count is negative while bytes arrive before they are expected. */
export function completeTx(b: MBarrier, bytes: number): void {
  b.tx -= bytes;
  settle(b);
}
