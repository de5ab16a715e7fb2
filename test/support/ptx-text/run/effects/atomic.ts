import type { Modifiers } from '../../table/case.ts';
import { Unsupported } from '../../table/case.ts';
import { finished } from '../../table/float.ts';
import { sum } from '../../values/arithmetic.ts';
import { decode, type Format, flushed } from '../../values/floats.ts';
import { bitsOf, bitsOfNumber, numberOf, type Type } from '../../values/types.ts';
import { after, memoryWords, place } from '../access.ts';
import type { Effect, Effects } from '../effects.ts';
import type { Lane, Step } from '../lane.ts';
import { load, type StateSpace, store } from '../memory.ts';
import type { Operands } from '../operands.ts';

/*
 * Atomic operations: PTX ISA, 9.7.13.5 and 9.7.13.6.
 */

/** The new contents of memory, from the old contents and the operands b and c. */
type Operation = (old: bigint, b: bigint, c: bigint) => bigint;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  and: (r, s) => r & s,
  or: (r, s) => r | s,
  xor: (r, s) => r ^ s,
  exch: (_, s) => s,
  cas: (r, s, t) => (r === s ? t : r),
  add: (r, s) => r + s,
  min: (r, s) => (r < s ? r : s),
  max: (r, s) => (r > s ? r : s),
  inc: (r, s) => (r >= s ? 0n : r + 1n),
  dec: (r, s) => (r === 0n || r > s ? s : r - 1n),
};

/** A sum of floating-point numbers; `ftz` flushes operands and result. */
function floatSum(lane: Lane, f: Format, ftz: boolean, a: bigint, b: bigint): bigint {
  const [x, y] = ftz ? [flushed(f, a), flushed(f, b)] : [a, b];
  const how = { mode: 'rn', ftz, sat: false, relu: false } as const;
  return finished(f, sum(decode(f, x), decode(f, y), 'rn'), how, lane.machine.choices);
}

/** Floating-point sum of a scalar, or of both elements of a packed number. */
function added(lane: Lane, t: Type, space: StateSpace, a: bigint, b: bigint): bigint {
  const f = t.format!;
  // f32 sums flush subnormals in global memory, but not in shared memory.
  const ftz = t.name === 'f32' && space === 'global';
  if (t.kind === 'float') return floatSum(lane, f, ftz, a, b);
  const element = (x: bigint, k: number): bigint => BigInt.asUintN(f.width, x >> BigInt(k * f.width));
  const of = (k: number): bigint => floatSum(lane, f, false, element(a, k), element(b, k));
  return of(0) | (of(1) << BigInt(f.width));
}

function atomicStep(m: Modifiers, o: Operands, returns: boolean): Step {
  const { space, policy } = memoryWords(m);
  const op = m.need(Object.keys(OPERATIONS));
  m.flag('noftz');
  const t = m.type();
  const bits = bitsOf(t);
  const first = returns ? 1 : 0;
  const write = returns ? o.write(0, bits) : null;
  const memory = o.memory(first, space);
  const b = o.read(first + 1, bits);
  const c = op === 'cas' ? o.read(first + 2, bits) : b;
  const operands = first + (op === 'cas' ? 3 : 2) + (policy ? 1 : 0);
  if (o.count !== operands) throw new Unsupported(`${m.opcode}.${op} with ${o.count} operands`);
  const size = t.width / 8;
  return (lane) => {
    const p = place(lane, memory.space, memory.read(lane), size);
    if (p.space !== 'global' && p.space !== 'shared')
      lane.machine.fail(lane, `an atomic operation on ${p.space} memory`);
    const old = load(p.region, p.at, size);
    const [x, y] = [b(lane), c(lane)];
    const made =
      t.format !== undefined && op === 'add'
        ? added(lane, t, p.space, old, x)
        : bitsOfNumber(t, OPERATIONS[op](numberOf(t, old), numberOf(t, x), numberOf(t, y)));
    store(p.region, p.at, size, made);
    write?.(lane, old);
    return after(lane, true);
  };
}

const atom: Effect = (m, o) => atomicStep(m, o, true);
const red: Effect = (m, o) => atomicStep(m, o, false);

export const atomics: Effects = { atom, red };
