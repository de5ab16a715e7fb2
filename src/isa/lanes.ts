import { type Opcode, slotWidth } from '../ir/opcode.ts';
import * as floats from './floats.ts';
import * as ints from './ints.ts';
import { type LaneCode, laneCode } from './lane-code.ts';
import { graphOf } from './meaning.ts';

/** Register storage of one warp: several views of one buffer. */
export interface LaneRegs {
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  /** Predicates, one mask of 32 lanes each. */
  readonly p: Int32Array;
}

/**
 * Executes one instruction for the lanes of `mask`. `o[k]`, `o[k + 1]`, ... are the offsets of the destinations, then
 * of the sources: 32-bit values at `i32[place + lane]`, 64-bit values at `i32[place + 2 * lane]` (low word first,
 * place even), predicates at `p[place]`. Every source has a place, even a constant; places of unwanted destinations
 * and of constant-only sources are not read.
 */
export type LaneFn = (r: LaneRegs, o: Int32Array, k: number, mask: number) => void;

/** The specialisation of a lane function. */
export interface LaneKey {
  readonly op: Opcode;
  readonly mods: number;
  /** `Mod` bits of each source. */
  readonly srcMods: readonly number[];
  /** Bit i: whether destination i is stored. */
  readonly wanted: number;
  /** Values of constant-only sources (`isConstantSlot`), by source index; null elsewhere. */
  readonly consts: readonly (number | null)[];
}

const HELPERS = { ...floats, ...ints };

const cache = new WeakMap<Opcode, Map<string, LaneFn>>();

/**
 * The generated function for a specialisation; equal keys give the same function.
 * @throws Error if the opcode is a primitive, TextError if its meaning has a fault
 */
export function compileLane(key: LaneKey): LaneFn {
  let known = cache.get(key.op);
  if (known === undefined) cache.set(key.op, (known = new Map()));
  const id = `${key.mods}|${key.srcMods.join()}|${key.wanted}|${key.consts.join()}`;
  let fn = known.get(id);
  if (fn === undefined) {
    const code = codeOf(key);
    const make = new Function(
      'H',
      `const{${code.helpers.join()}}=H;return function(r,o,k,mask){${code.body}}`,
    );
    fn = make(HELPERS) as LaneFn;
    known.set(id, fn);
  }
  return fn;
}

function codeOf(key: LaneKey): LaneCode {
  const { op, mods } = key;
  const widths = op.dsts.map((d) => slotWidth(op, mods, d));
  return laneCode(graphOf(key), widths, key.wanted);
}
