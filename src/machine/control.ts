import { bitsOf, type MutableWord, setBits, type Word } from './word.ts';

/* The control part of an instruction word, which says how it is issued; the same on all targets from Volta on. */

/** Decoded control part of an instruction word. */
export interface Control {
  /** Cycles until the next instruction of the warp is issued. */
  readonly stall: number;
  /** Bit 109, whose meaning is unknown: ptxas sets it with stalls of 1, and never with stalls of 12 or more. */
  readonly yield: boolean;
  /** Scoreboard barrier that is signalled when a variable-latency result is available, 0 to 5; 7: none. */
  readonly write: number;
  /** Scoreboard barrier that is signalled when the operands have been read, 0 to 5; 7: none. */
  readonly read: number;
  /** Barriers to wait for before issue, as a bit mask. */
  readonly wait: number;
  /** Register operands cached for the next instruction, as a bit mask: those at bits 24, 32 and 64, and a fourth. */
  readonly reuse: number;
}

const PLACES = {
  stall: [{ at: 105, length: 4 }],
  yield: [{ at: 109, length: 1 }],
  write: [{ at: 110, length: 3 }],
  read: [{ at: 113, length: 3 }],
  wait: [{ at: 116, length: 6 }],
  reuse: [{ at: 122, length: 4 }],
} as const;

/** Value of `write` and `read` for no barrier. */
export const NO_BARRIER = 7;

/** Decodes the control part of a word. */
export const controlOf = (w: Word): Control => ({
  stall: bitsOf(w, PLACES.stall),
  yield: bitsOf(w, PLACES.yield) === 1,
  write: bitsOf(w, PLACES.write),
  read: bitsOf(w, PLACES.read),
  wait: bitsOf(w, PLACES.wait),
  reuse: bitsOf(w, PLACES.reuse),
});

/** Encodes the control part into a word. */
export function setControl(w: MutableWord, c: Control): void {
  setBits(w, PLACES.stall, c.stall);
  setBits(w, PLACES.yield, c.yield ? 1 : 0);
  setBits(w, PLACES.write, c.write);
  setBits(w, PLACES.read, c.read);
  setBits(w, PLACES.wait, c.wait);
  setBits(w, PLACES.reuse, c.reuse);
}

const barrier = (n: number): string => (n === NO_BARRIER ? '-' : String(n));

/**
 * `[B0----5:R1:W-:Y:S04]`: waits for barriers 0 and 5, signals barrier 1 when its operands have been read and none for its result; Y for
 * the `yield` bit; stalls four cycles. Reuse is shown at the operands.
 */
export function controlText(c: Control): string {
  const wait = [0, 1, 2, 3, 4, 5].map((k) => ((c.wait >> k) & 1 ? String(k) : '-')).join('');
  return `[B${wait}:R${barrier(c.read)}:W${barrier(c.write)}:${c.yield ? 'Y' : '-'}:S${String(c.stall).padStart(2, '0')}]`;
}

/** Parses the text of `controlText`, which does not include reuse; null for any other text. */
export function parseControl(text: string): Control | null {
  const m = /^\[B([0-5-]{6}):R([0-7-]):W([0-7-]):([Y-]):S(\d\d)\]$/.exec(text);
  if (m === null || [...m[1]].some((c, k) => c !== '-' && c !== String(k)) || Number(m[5]) > 15) return null;
  const number = (c: string): number => (c === '-' ? NO_BARRIER : Number(c));
  return {
    wait: [...m[1]].reduce((n, c, k) => n | (c === '-' ? 0 : 1 << k), 0),
    read: number(m[2]),
    write: number(m[3]),
    yield: m[4] === 'Y',
    stall: Number(m[5]),
    reuse: 0,
  };
}
