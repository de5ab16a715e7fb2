import type { Decoded } from '../decode.ts';
import { mix, SHARED_WINDOW } from '../memory.ts';
import type { Warp } from '../state.ts';

/** Numbers of a thread's log, two for each word that it changes. */
const LOG = 1 << 13;

/** Where a thread notes a change of global memory; null if it does not or has noted enough. */
export function logOf(w: Warp, d: Decoded, address: number, lane: number): number[] | null {
  if (w.logs === null) return null;
  const { space } = d.ins.op;
  if (space !== 'global' && (space !== 'generic' || address >= SHARED_WINDOW)) return null;
  const log = w.logs[lane];
  return log.length < LOG ? log : null;
}

/** Notes a store word by word, so that a wide one says the same as narrow ones. */
export function noteStore(
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
export function noteAtomic(log: number[], a: number, op: string, b: number, c: number): void {
  log.push(a, mix(mix(ATOMICS.indexOf(op), b), op === 'CAS' ? c : 0));
}
