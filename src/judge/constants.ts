import { slotWidth, srcSlot } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { mix } from '../sim/memory.ts';

/** Values at which programs tend to change behaviour: 64-bit integers, and bit patterns of f32 and f64. */
export interface Pool {
  readonly integers: readonly bigint[];
  readonly singles: readonly number[];
  readonly doubles: readonly bigint[];
}

/** Limits of every integer width and their neighbours; sizes that need more than 16 bits. */
const LIMITS: readonly bigint[] = [
  0n,
  1n,
  -1n,
  2n,
  -2n,
  ...[7n, 8n, 15n, 16n, 31n, 32n, 63n].flatMap((b) => [
    (1n << b) - 1n,
    1n << b,
    (1n << b) + 1n,
    -(1n << b),
    -(1n << b) - 1n,
  ]),
  70_001n,
  (1n << 64n) - 1n,
];

/**
 * Both zeros, infinities, NaNs with payloads (one signalling), subnormals, largest and smallest normal numbers, and halves between
 * integers.
 */
const SINGLES: readonly number[] = [
  0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7fc12345, 0xffc00001, 0x7f812345, 1, 0x80000001,
  0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000,
  0xc0200000, 0x4b000000, 0x3f801000, 0x3f801001, 0x3f800fff, 0x3f808000, 0x3f808001, 0x33800000, 0x33800001,
  0x3f7ffffe, 0x38800000, 0x477fefff, 0x477ff000, 0x4b7fffff, 0x4f000000, 0xcf000000, 0x4effffff, 0x3f7fffff,
  0x3f800001, 0x33000000, 0x47800000,
];

const view = new DataView(new ArrayBuffer(8));

/** Bits of the f64 with the value of an f32; a NaN keeps its payload. */
function doubleOf(single: number): bigint {
  view.setUint32(0, single);
  const value = view.getFloat32(0);
  if (value !== value)
    return (BigInt(single >>> 31) << 63n) | (0x7ffn << 52n) | (BigInt(single & 0x7fffff) << 29n);
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

/** Midpoints between neighbours in narrower formats (bf16, f16, f32), and doubles next to them. */
const HALVES: readonly bigint[] = [8n, 11n, 24n].flatMap((below) => {
  const half = 0x3ff0000000000000n + (1n << (52n - below));
  return [half, half + 4096n, half - 4096n, half + 1n];
});

/** Maximum number of program constants of each kind, chosen by a hash if there are more; each is used with its neighbours. */
const MOST = 96;

/** The pool for some functions: limits of the number formats, and the functions' constants with their neighbours. */
export function poolOf(functions: readonly Fn[]): Pool {
  const integers = new Map<string, bigint>();
  const floats = new Map<string, bigint>();
  for (const f of functions)
    for (const b of f.blocks)
      for (const x of b.ins)
        x.src.forEach((o, k) => {
          if (o.kind !== Kind.Imm) return;
          const slot = srcSlot(x.op, k);
          if (slot === undefined) return;
          const wide = slotWidth(x.op, x.mods, slot) === 64;
          const v = wide ? (BigInt(o.hi) << 32n) | BigInt(o.lo >>> 0) : BigInt(o.lo);
          (x.op.class === 'float' ? floats : integers).set(`${v} ${wide}`, v);
        });
  const some = (all: ReadonlyMap<string, bigint>): bigint[] =>
    [...all.values()]
      .map((v) => ({ v, rank: mix(Number(BigInt.asIntN(32, v ^ (v >> 32n))), 7) >>> 0 }))
      .sort((a, b) => a.rank - b.rank)
      .slice(0, MOST)
      .map((x) => x.v);
  const around = (v: bigint): bigint[] => [v - 1n, v, v + 1n];
  // Values that coincide when truncated to 16 or 32 bits, and the last multiples below limits, where divisions by constants fail first.
  const alike = (v: bigint): bigint[] => [
    v + 0x10000n,
    v + 0x100000000n,
    ...(v > 1n && v < 0x10000n
      ? [1n << 31n, 1n << 32n].flatMap((top) => [
          (top / v) * v - 1n,
          (top / v) * v,
          ((top - 1n) / v) * v - 1n,
        ])
      : []),
  ];
  const bits = some(floats);
  return {
    integers: [
      ...new Set(
        [...LIMITS, ...some(integers).flatMap((v) => [...around(v), ...alike(v)])].map((v) =>
          BigInt.asIntN(64, v),
        ),
      ),
    ],
    singles: [
      ...new Set([
        ...SINGLES,
        ...bits
          .filter((v) => v === BigInt.asIntN(32, v))
          .flatMap((v) => around(v).map((x) => Number(BigInt.asUintN(32, x)))),
      ]),
    ],
    doubles: [
      ...new Set([
        ...SINGLES.map(doubleOf),
        0x000fffffffffffffn,
        ...HALVES,
        1n,
        0x43e0000000000000n,
        0xc3e0000000000000n,
        ...bits
          .filter((v) => v !== BigInt.asIntN(32, v))
          .flatMap((v) => around(v).map((x) => BigInt.asUintN(64, x))),
      ]),
    ],
  };
}
