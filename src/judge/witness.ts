import type { Fn, Instr, Param } from '../ir/program.ts';
import type { Launch, LaunchParam } from '../sim/launch.ts';
import { type RunOptions, runIn, type Subject, VARIABLES } from './run.ts';
import type { First } from './trial.ts';

/*
 * Shows a difference that a judge found: which thread stores what, by which instruction, and a launch that reproduces it.
 */

/** A store of a thread to global memory. */
export interface Stored {
  readonly block: readonly [number, number, number];
  /** Number of the thread in its block. */
  readonly thread: number;
  readonly ins: Instr;
  /** Address and size in bytes of the access, and the value it leaves in memory (little-endian). */
  readonly address: number;
  readonly bytes: number;
  readonly value: bigint;
}

/** Budget multiplier of a run that looks for a store: differences may show only beyond the world's budget. */
const LONGER = 16;

/** The last store to a byte of memory in the world that shows a difference; null if there is none. */
export function lastStoreTo(s: Subject, first: First, byte: number, opts: RunOptions = {}): Stored | null {
  let last: Omit<Stored, 'value'> | null = null;
  const run = runIn(s, first.world, first.used, {
    budget: first.world.budget * LONGER,
    ...opts,
    traced: ({ w, d, lane, address, bytes }, stores) => {
      if (!stores || byte < address || byte >= address + bytes) return;
      const [x, y, z] = w.block.id;
      last = { block: [x, y, z], thread: w.index * 32 + lane, ins: d.ins, address, bytes };
    },
  });
  if (last === null) return null;
  const found: Omit<Stored, 'value'> = last;
  let value = 0n;
  for (let k = found.bytes - 1; k >= 0; k--) {
    const p = run.memory.place(found.address + k, 1, false);
    value = (value << 8n) | BigInt(p.view.getUint8(p.at));
  }
  return { ...found, value };
}

/** Maximum number of threads of a launch, and of bytes in one of its buffers. */
const MOST_THREADS = 4096;
const MOST_BYTES = 1 << 20;

/**
 * A launch with the arguments and memory of a world, without expected results. Null if no launch can reproduce the world: only some of its
 * threads run, or it accesses memory that no argument points to.
 *
 * @param kernel the kernel as its module has it
 */
export function launchFrom(s: Subject, kernel: Fn, first: First): Launch | null {
  const { shape } = first.world;
  const product = (t: readonly [number, number, number]): number => t[0] * t[1] * t[2];
  if (shape.only !== null || product(shape.grid) * product(shape.block) > MOST_THREADS) return null;
  const spans = new Map<number, { from: number; to: number }>();
  const bases = pointersOf(s, kernel, first);
  let isElsewhere = false;
  const run = runIn(s, first.world, first.used, {
    traced: ({ address, bytes }) => {
      if (address >= VARIABLES) return;
      let own = -1;
      bases.forEach((b, k) => {
        if (b !== null && b <= address && (own < 0 || b > bases[own]!)) own = k;
      });
      if (own < 0 || address + bytes - bases[own]! > MOST_BYTES) {
        isElsewhere = true;
        return;
      }
      const span = spans.get(own) ?? { from: bases[own]!, to: bases[own]! };
      spans.set(own, { from: span.from, to: Math.max(span.to, address + bytes) });
    },
  });
  if (isElsewhere || run.status !== 'done') return null;
  const before = runIn(s, first.world, first.used, { budget: 0 }).memory;
  const params = kernel.params.map((p, k): LaunchParam => {
    const at = s.paramBase + p.offset;
    const bank = run.bank;
    const base = bases[k];
    if (base === null || p.array) return valueParam(p, bank, at);
    const span = spans.get(k) ?? { from: base, to: base + 4 };
    const bytes = Uint8Array.from({ length: Math.ceil((span.to - span.from) / 4) * 4 }, (_, i) => {
      const place = before.place(span.from + i, 1, false);
      return place.view.getUint8(place.at);
    });
    return { kind: 'buffer', type: 'u32', length: bytes.length / 4, bytes, expect: null, tolerance: 0 };
  });
  return {
    name: first.world.name,
    kernel: s.kernel,
    grid: shape.grid,
    block: shape.block,
    ...(shape.cluster === null ? {} : { cluster: shape.cluster }),
    dynamicShared: 4096,
    params,
  };
}

/** The launch parameter for an argument that is not a buffer, read from the constant bank at offset `at`. */
export function valueParam(p: Param, bank: DataView, at: number): LaunchParam {
  if (!p.array && SCALARS[p.type] !== undefined)
    return { kind: 'scalar', type: p.type, value: SCALARS[p.type](bank, at) };
  return { kind: 'bytes', bytes: Uint8Array.from({ length: p.size }, (_, i) => bank.getUint8(at + i)) };
}

const SCALARS: Readonly<Record<string, (v: DataView, at: number) => number | bigint>> = {
  u8: (v, at) => v.getUint8(at),
  s8: (v, at) => v.getInt8(at),
  b8: (v, at) => v.getUint8(at),
  u16: (v, at) => v.getUint16(at, true),
  s16: (v, at) => v.getInt16(at, true),
  b16: (v, at) => v.getUint16(at, true),
  u32: (v, at) => v.getUint32(at, true),
  s32: (v, at) => v.getInt32(at, true),
  b32: (v, at) => v.getUint32(at, true),
  f32: (v, at) => v.getFloat32(at, true),
  u64: (v, at) => v.getBigUint64(at, true),
  s64: (v, at) => v.getBigInt64(at, true),
  b64: (v, at) => v.getBigUint64(at, true),
  f64: (v, at) => v.getFloat64(at, true),
};

/** For each parameter: the address it holds, if the kernel uses it as an address; otherwise null. */
function pointersOf(s: Subject, kernel: Fn, first: First): (number | null)[] {
  const bank = runIn(s, first.world, first.used, { budget: 0 }).bank;
  return kernel.params.map((p) =>
    first.used.parameters.has(p.offset) && p.size === 8 && !p.array
      ? Number(bank.getBigUint64(s.paramBase + p.offset, true))
      : null,
  );
}
