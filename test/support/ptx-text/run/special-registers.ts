import type { Lane } from './lane.ts';

/*
 * Special registers: PTX ISA, 10.
 */

type Value = (lane: Lane) => bigint;
type Vector = (lane: Lane) => readonly [number, number, number];

const div = (a: number, b: number): number => Math.floor(a / b);

const VECTORS: Readonly<Record<string, Vector>> = {
  tid: (l) => {
    const [x, y] = l.machine.shape.block;
    return [l.thread % x, div(l.thread, x) % y, div(l.thread, x * y)];
  },
  ntid: (l) => l.machine.shape.block,
  ctaid: (l) => l.block.index,
  nctaid: (l) => l.machine.shape.grid,
  clusterid: (l) => perAxis(l, (k, size) => div(l.block.index[k], size)),
  nclusterid: (l) => perAxis(l, (k, size) => Math.ceil(l.machine.shape.grid[k] / size)),
  cluster_ctaid: (l) => perAxis(l, (k, size) => l.block.index[k] % size),
  cluster_nctaid: (l) => l.machine.shape.cluster,
};

function perAxis(l: Lane, of: (axis: number, size: number) => number): [number, number, number] {
  const [x, y, z] = l.machine.shape.cluster;
  return [of(0, x), of(1, y), of(2, z)];
}

/** A mask of the lanes whose number has a relation to the lane's own. */
const mask =
  (of: (other: number, lane: number) => boolean): Value =>
  (l) => {
    let m = 0n;
    for (let k = 0; k < 32; k++) if (of(k, l.laneId)) m |= 1n << BigInt(k);
    return m;
  };

const SCALARS: Readonly<Record<string, Value>> = {
  laneid: (l) => BigInt(l.laneId),
  warpid: (l) => BigInt(l.warp.index),
  nwarpid: (l) => BigInt(l.block.warps.length),
  smid: () => 0n,
  nsmid: () => 1n,
  gridid: () => 1n,
  is_explicit_cluster: (l) => (l.machine.shape.cluster.some((n) => n > 1) ? 1n : 0n),
  cluster_ctarank: (l) => BigInt(l.block.rank),
  cluster_nctarank: (l) => BigInt(l.block.cluster.blocks.length),
  lanemask_eq: mask((k, lane) => k === lane),
  lanemask_le: mask((k, lane) => k <= lane),
  lanemask_lt: mask((k, lane) => k < lane),
  lanemask_ge: mask((k, lane) => k >= lane),
  lanemask_gt: mask((k, lane) => k > lane),
  // The clock counts executed instructions.
  clock: (l) => BigInt(l.machine.steps),
  clock_hi: () => 0n,
  clock64: (l) => BigInt(l.machine.steps),
  globaltimer: (l) => BigInt(l.machine.steps),
  globaltimer_lo: (l) => BigInt(l.machine.steps),
  globaltimer_hi: () => 0n,
  dynamic_smem_size: (l) => BigInt(l.machine.shape.dynamicShared),
  total_smem_size: (l) => BigInt(l.machine.sharedBytes),
};

const AXES: Readonly<Record<string, number>> = { x: 0, y: 1, z: 2, r: 0, g: 1, b: 2 };

/** The value of a special register, by a name such as `%tid.x`; null if there is none with this name. */
export function specialRegister(name: string): Value | null {
  const m = /^%(\w+?)(?:\.(\w))?$/.exec(name);
  if (m === null) return null;
  const [, register, axis] = m;
  if (axis === undefined) return SCALARS[register] ?? null;
  const vector = VECTORS[register];
  if (vector === undefined) return null;
  if (axis === 'w' || axis === 'a') return () => 0n;
  return AXES[axis] === undefined ? null : (lane) => BigInt(vector(lane)[AXES[axis]]);
}
