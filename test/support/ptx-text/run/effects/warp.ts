import type { Modifiers } from '../../table/case.ts';
import {
  canonicalNaN,
  compare,
  decode,
  type Format,
  isNegative,
  isNotANumber,
  withSign,
} from '../../values/floats.ts';
import { B32, bitsOfNumber, numberOf, PREDICATE, type Type, U32 } from '../../values/types.ts';
import type { Effect, Effects } from '../effects.ts';
import type { Combine, Lane } from '../lane.ts';
import type { Operands, Read, Write } from '../operands.ts';

/*
 * Instructions across the lanes of a warp: PTX ISA, 9.7.9.6 and 9.7.13.
 */

/** The same results for every lane. */
const toAll = (
  inputs: ReadonlyMap<number, readonly bigint[]>,
  results: readonly bigint[],
): ReadonlyMap<number, readonly bigint[]> => new Map([...inputs.keys()].map((k) => [k, results]));

/** The two destinations of a result `d|p`; the second is null if it is not written. */
function twoWrites(o: Operands, first: Type): [Write, Write | null] {
  const d = o.at(0);
  return d.kind === 'pair'
    ? [o.writer(d.first, first), o.writer(d.second, PREDICATE)]
    : [o.writer(d, first), null];
}

/** An instruction at which all lanes of a mask synchronize; lanes match if opcode and modifiers are the same. */
function meeting(
  o: Operands,
  reads: readonly Read[],
  mask: Read,
  combine: (lane: Lane) => Combine,
  writes: readonly (Write | null)[],
) {
  const key = [o.ins.opcode, ...o.ins.modifiers].join('.');
  return (lane: Lane) =>
    ({
      kind: 'warp',
      key,
      mask: Number(mask(lane)) | 0,
      inputs: reads.map((r) => r(lane)),
      combine: combine(lane),
      resume: (results: readonly bigint[]) => {
        writes.forEach((w, k) => {
          w?.(lane, results[k]);
        });
      },
    }) as const;
}

/** The lane that a shuffle reads, and whether it is in range (PTX ISA, shfl.sync). */
function sourceLane(mode: string, lane: number, b: number, c: number): { from: number; inRange: boolean } {
  const [bval, cval, segment] = [b & 31, c & 31, (c >> 8) & 31];
  const most = (lane & segment) | (cval & ~segment & 31);
  const least = lane & segment;
  switch (mode) {
    case 'up':
      return { from: lane - bval, inRange: lane - bval >= most };
    case 'down':
      return { from: lane + bval, inRange: lane + bval <= most };
    case 'bfly':
      return { from: lane ^ bval, inRange: (lane ^ bval) <= most };
    default: {
      const from = least | (bval & ~segment & 31);
      return { from, inRange: from <= most };
    }
  }
}

const shfl: Effect = (m, o) => {
  m.need(['sync']);
  const mode = m.need(['up', 'down', 'bfly', 'idx']);
  m.need(['b32']);
  const writes = twoWrites(o, B32);
  const reads = [o.read(1, B32), o.read(2, U32), o.read(3, U32)];
  const combine =
    (lane: Lane): Combine =>
    (inputs) =>
      new Map(
        [...inputs].map(([k, [a, b, c]]) => {
          const { from, inRange } = sourceLane(mode, k, Number(b & 0xffffn), Number(c & 0xffffn));
          // The value of a lane that does not participate is not specified.
          const value = inRange ? (inputs.get(from)?.[0] ?? lane.machine.choices.unspecified(B32)) : a;
          return [k, [value, inRange ? 1n : 0n]];
        }),
      );
  return meeting(o, reads, o.read(4, B32), combine, writes);
};

const VOTES: Readonly<Record<string, (votes: readonly bigint[]) => boolean>> = {
  all: (v) => v.every((x) => x === 1n),
  any: (v) => v.some((x) => x === 1n),
  uni: (v) => v.every((x) => x === v[0]),
};

const vote: Effect = (m, o) => {
  m.need(['sync']);
  const mode = m.need(['all', 'any', 'uni', 'ballot']);
  const t = mode === 'ballot' ? m.type() : (m.need(['pred']), PREDICATE);
  const combine = (): Combine => (inputs) => {
    if (mode !== 'ballot')
      return toAll(inputs, [VOTES[mode]([...inputs.values()].map(([p]) => p)) ? 1n : 0n]);
    return toAll(inputs, [[...inputs].reduce((sum, [k, [p]]) => sum | (p << BigInt(k)), 0n)]);
  };
  return meeting(o, [o.read(1, PREDICATE)], o.read(2, B32), combine, [o.write(0, t)]);
};

const laneBits = (lanes: Iterable<number>): bigint =>
  [...lanes].reduce((sum, k) => sum | (1n << BigInt(k)), 0n);

const match: Effect = (m, o) => {
  const all = m.need(['any', 'all']) === 'all';
  m.need(['sync']);
  const t = m.type();
  const combine = (): Combine => (inputs) => {
    const same = (x: bigint): number[] => [...inputs].filter(([, [a]]) => a === x).map(([k]) => k);
    const equal = [...inputs.values()].every(([a]) => same(a).length === inputs.size);
    if (all) return toAll(inputs, equal ? [laneBits(inputs.keys()), 1n] : [0n, 0n]);
    return new Map([...inputs].map(([k, [a]]) => [k, [laneBits(same(a)), 0n]]));
  };
  return meeting(o, [o.read(1, t)], o.read(2, B32), combine, twoWrites(o, B32));
};

const REDUCTIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  add: (a, b) => a + b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

/** The minimum or maximum of floats; NaNs are ignored unless `keepsNaN`. */
function extremeOf(f: Format, values: readonly bigint[], greater: boolean, keepsNaN: boolean): bigint {
  const numbers = values.filter((x) => !isNotANumber(f, x));
  if (numbers.length === 0 || (keepsNaN && numbers.length < values.length)) return canonicalNaN(f);
  return numbers.reduce((a, b) => {
    const order = compare(decode(f, a), decode(f, b))!;
    const less = order === 0 ? isNegative(f, a) : order < 0;
    return less !== greater ? a : b;
  });
}

const redux: Effect = (m, o) => {
  m.need(['sync']);
  const op = m.need(Object.keys(REDUCTIONS));
  const [abs, keepsNaN] = [m.flag('abs'), m.flag('NaN')];
  const t = m.type();
  const combine = (): Combine => (inputs) => {
    const values = [...inputs.values()].map(([x]) => x);
    if (t.format !== undefined) {
      const f = t.format;
      return toAll(inputs, [
        extremeOf(f, abs ? values.map((x) => withSign(f, x, false)) : values, op === 'max', keepsNaN),
      ]);
    }
    return toAll(inputs, [bitsOfNumber(t, values.map((x) => numberOf(t, x)).reduce(REDUCTIONS[op]))]);
  };
  return meeting(o, [o.read(1, t)], o.read(2, B32), combine, [o.write(0, t)]);
};

/** The elected leader is the lowest lane of the mask; which one it is, is implementation-defined. */
const elect: Effect = (m, o) => {
  m.need(['sync']);
  const combine = (): Combine => (inputs) => {
    const leader = Math.min(...inputs.keys());
    return new Map([...inputs.keys()].map((k) => [k, [BigInt(leader), k === leader ? 1n : 0n]]));
  };
  return meeting(o, [], o.read(1, B32), combine, twoWrites(o, B32));
};

const activemask: Effect = (m, o) => {
  m.need(['b32']);
  const write = o.write(0, B32);
  return (lane) => ({
    kind: 'active',
    resume: (mask) => write(lane, BigInt(mask >>> 0)),
  });
};

/** bar.warp.sync; the words `bar` and `warp` are already consumed. */
export const warpBarrier = (m: Modifiers, o: Operands) => {
  m.need(['sync']);
  return meeting(o, [], o.read(0, B32), () => (inputs) => toAll(inputs, []), []);
};

export const warps: Effects = { shfl, vote, match, redux, elect, activemask };
