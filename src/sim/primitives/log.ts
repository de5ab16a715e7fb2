import type { Decoded } from '../decode.ts';
import { mix, SHARED_WINDOW } from '../memory.ts';
import type { Warp } from '../state.ts';

/** Maximum length of a thread's log, which takes two numbers per changed word. */
export const LOG = 1 << 13;

/** The log in which a thread's change of global memory at `address` is recorded; null if there is none or it is full. */
export function logOf(w: Warp, d: Decoded, address: number, lane: number): number[] | null {
  if (w.logs === null) return null;
  const { space } = d.ins.op;
  if (space !== 'global' && (space !== 'generic' || address >= SHARED_WINDOW)) return null;
  const log = w.logs[lane];
  return log.length < LOG ? log : null;
}

/** Times its size in bytes, this is added to the logged address of a 1- or 2-byte store, so that sizes stay distinct. */
export const NARROW = 1 / 8;

/** Logs a store word by word, so that a wide store equals several narrow ones. */
export function noteStore(
  log: number[],
  address: number,
  size: number,
  i32: Int32Array,
  from: number,
  lane: number,
): void {
  if (size < 4) log.push(address + NARROW * size, i32[from + lane] & (size === 1 ? 0xff : 0xffff));
  else for (let k = 0; k < size; k += 4) log.push(address + k, i32[from + (size >> 2) * lane + (k >> 2)]);
}

const ATOMICS = ['ADD', 'MIN', 'MAX', 'INC', 'DEC', 'AND', 'OR', 'XOR', 'EXCH', 'CAS'];

/** Logs the operation and operands of an atomic, not its result, which depends on the order of threads. */
export function noteAtomic(log: number[], a: number, op: string, b: number, c: number): void {
  log.push(a, mix(mix(ATOMICS.indexOf(op), b), op === 'CAS' ? c : 0));
}
