import { inCluster, mapped, rankOf } from '../clusters.ts';
import { lowest } from '../masks.ts';
import { completeTx } from '../mbarriers.ts';
import type { Location } from '../memory.ts';
import { atomic32, atomic64 } from './atomic-value.ts';
import { mbarrierAt } from './barrier.ts';
import type { ForeignCall } from './foreign-operands.ts';
import { sharedPlace } from './primitive.ts';

/*
 * Carried memory instructions in a launch: accesses to the shared memory of a cluster, 128-bit and vector accesses and atomic operations,
 * asynchronous stores (PTX ISA 9.0, 9.7.9 and 9.7.13). Asynchronous operations are performed at once, which is one of the orders that
 * PTX allows.
 */

const TYPE = /^(?:([bus])(8|16|32|64|128)|(b?f16)(x2)?|f(32|64))$/;

/** The last type modifier of an instruction: its name in PTX, its width in bits and its signedness; null if there is none. */
export function lastTypeOf(c: ForeignCall): { name: string; bits: number; signed: boolean } | null {
  const name = c.mods.findLast((x) => TYPE.test(x));
  if (name === undefined) return null;
  const bits = /^b?f16$/.test(name) ? 16 : /16x2$/.test(name) ? 32 : Number(/\d+$/.exec(name)![0]);
  return { name, bits, signed: name[0] === 's' };
}

/** Calls `f` for each executing lane. @returns true, so that callers can return the call */
export function eachLane(c: ForeignCall, f: (lane: number) => void): true {
  for (let r = c.mask; r !== 0; r &= r - 1) {
    c.m.lane = lowest(r);
    f(c.m.lane);
  }
  return true;
}

/** Resolves an access: in shared memory if `shared`, otherwise by its generic address. @throws MemoryFault */
export function placeFor(
  c: ForeignCall,
  shared: boolean,
  address: number,
  lane: number,
  bytes: number,
  write: boolean,
): Location {
  return shared ? sharedPlace(c.w, address, bytes, write) : c.m.generic(c.w, lane, address, bytes, write);
}

const isShared = (c: ForeignCall): boolean => c.mods.some((x) => x.startsWith('shared'));

function bitsAt(p: Location, at: number, bytes: number): bigint {
  let v = 0n;
  for (let k = bytes - 1; k >= 0; k--) v = (v << 8n) | BigInt(p.view.getUint8(p.at + at + k));
  return v;
}

function setBits(p: Location, at: number, bytes: number, value: bigint): void {
  for (let k = 0; k < bytes; k++) p.view.setUint8(p.at + at + k, Number((value >> BigInt(8 * k)) & 0xffn));
}

/** `mapa` and `getctarank`. */
function addresses(c: ForeignCall): boolean {
  const { block } = c.w;
  if (block.cluster === null) return false;
  return eachLane(c, (l) => {
    const a = c.address(1, l);
    if (c.opcode === 'mapa') c.give(0, l, BigInt(mapped(block, a, c.word(2, l))));
    else c.give(0, l, BigInt(rankOf(inCluster(block, a).block)));
  });
}

function load(c: ForeignCall): boolean {
  const type = lastTypeOf(c);
  if (type === null) return false;
  const bytes = type.bits / 8;
  const n = c.operands[0].parts.length;
  return eachLane(c, (l) => {
    const p = placeFor(c, isShared(c), c.address(1, l), l, bytes * n, false);
    const values = Array.from({ length: n }, (_, k) => bitsAt(p, k * bytes, bytes));
    for (const [k, v] of values.entries()) c.give(0, l, type.signed ? BigInt.asIntN(type.bits, v) : v, k);
  });
}

function store(c: ForeignCall): boolean {
  const type = lastTypeOf(c);
  if (type === null) return false;
  const bytes = type.bits / 8;
  const n = c.operands[1].parts.length;
  return eachLane(c, (l) => {
    const values = Array.from({ length: n }, (_, k) => c.value(1, l, k));
    const p = placeFor(c, isShared(c), c.address(0, l), l, bytes * n, true);
    c.m.changes++;
    for (const [k, v] of values.entries()) setBits(p, k * bytes, bytes, v);
  });
}

const OPERATIONS = ['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor', 'exch', 'cas'];

/** New bits of an atomic operation `op` on a value of the given type and width; `c` is the third operand of CAS. */
export function atomicBits(
  op: string,
  type: string,
  bits: number,
  old: bigint,
  b: bigint,
  c: bigint,
): bigint {
  if (bits === 128) return op === 'EXCH' ? b : old === b ? c : old;
  const name = type.toUpperCase();
  if (bits === 64) return BigInt.asUintN(64, atomic64(op, name, old, b, c));
  const word = (v: bigint) => Number(BigInt.asIntN(32, v));
  const known = /^B\d/.test(name) ? 'U32' : name;
  return BigInt.asUintN(bits, BigInt(atomic32(op, known, word(old), word(b), word(c))));
}

/** `atom` and `red`: each element of a vector is a separate atomic operation. */
function atomic(c: ForeignCall): boolean {
  const type = lastTypeOf(c);
  const op = c.oneOf(OPERATIONS)?.toUpperCase();
  if (type === null || op === undefined) return false;
  const bytes = type.bits / 8;
  const at = c.operands.findIndex((o) => o.address);
  const n = c.operands[at + 1].parts.length;
  return eachLane(c, (l) => {
    const p = placeFor(c, isShared(c), c.address(at, l), l, bytes * n, true);
    const b = Array.from({ length: n }, (_, k) => BigInt.asUintN(type.bits, c.value(at + 1, l, k)));
    const third = c.operands[at + 2] === undefined ? 0n : BigInt.asUintN(type.bits, c.value(at + 2, l));
    const old = b.map((_, k) => bitsAt(p, k * bytes, bytes));
    for (const [k, o] of old.entries()) {
      const now = atomicBits(op, type.name, type.bits, o, b[k], third);
      if (now !== o) c.m.changes++;
      setBits(p, k * bytes, bytes, now);
    }
    if (at === 1) for (const [k, o] of old.entries()) c.give(0, l, o, k);
  });
}

/** `st.async` and `red.async`: one access, whose bytes arrive at the barrier object if there is one. */
function asynchronous(c: ForeignCall): boolean {
  const type = lastTypeOf(c);
  const op = c.opcode === 'red' ? c.oneOf(OPERATIONS)?.toUpperCase() : '';
  if (type === null || op === undefined) return false;
  const counted = c.has('mbarrier::complete_tx::bytes');
  const bytes = type.bits / 8;
  const n = c.operands[1].parts.length;
  return eachLane(c, (l) => {
    const p = placeFor(c, isShared(c) || counted, c.address(0, l), l, bytes * n, true);
    for (let k = 0; k < n; k++) {
      const v = BigInt.asUintN(type.bits, c.value(1, l, k));
      const now = op === '' ? v : atomicBits(op, type.name, type.bits, bitsAt(p, k * bytes, bytes), v, 0n);
      setBits(p, k * bytes, bytes, now);
    }
    c.m.changes++;
    if (counted) completeTx(mbarrierAt(c.m, c.w, c.d, l, c.address(2, l)), bytes * n);
  });
}

/** `st.bulk`: stores zeros. */
const clear = (c: ForeignCall): boolean =>
  eachLane(c, (l) => {
    const n = Number(c.value(1, l));
    c.m.changes++;
    for (let k = 0; k < n; k += 8)
      setBits(placeFor(c, isShared(c), c.address(0, l) + k, l, 8, true), 0, 8, 0n);
  });

/** `createpolicy`: gives 0, since no simulated access reads a policy. */
const policy = (c: ForeignCall): boolean => eachLane(c, (l) => c.give(0, l, 0n));

/** `mov.b128`: moves a 128-bit value, whole or as two 64-bit halves with the low half first. */
function move(c: ForeignCall): boolean {
  if (!c.has('b128')) return false;
  const [to, from] = c.operands;
  return eachLane(c, (l) => {
    let v = 0n;
    for (const [k] of from.parts.entries()) v |= c.value(1, l, k) << BigInt(64 * k);
    for (const [k] of to.parts.entries()) c.give(0, l, to.parts.length === 1 ? v : v >> BigInt(64 * k), k);
  });
}

/**
 * Runs a carried memory instruction.
 *
 * @returns false if the instruction is none of these
 */
export function runMemory(c: ForeignCall): boolean {
  if (c.mods.some((x) => x.startsWith('multimem') || x === 'tensor')) return false;
  switch (c.opcode) {
    case 'mapa':
    case 'getctarank':
      return addresses(c);
    case 'ld':
      return load(c);
    case 'st':
      if (c.has('async')) return asynchronous(c);
      return c.has('bulk') ? clear(c) : store(c);
    case 'atom':
      return atomic(c);
    case 'red':
      return c.has('async') ? asynchronous(c) : atomic(c);
    case 'mov':
      return move(c);
    case 'createpolicy':
      return policy(c);
    default:
      return false;
  }
}
