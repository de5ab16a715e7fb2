import { SimFault } from './faults.ts';
import { LOCAL_WINDOW, MemoryFault, SHARED_WINDOW } from './memory.ts';
import type { BlockState, ClusterState, Warp } from './state.ts';

/*
 * Clusters of a launch: blocks that run together, see each other's shared memory and share a barrier (PTX ISA 9.0, 2.2.2, 9.7.13.4).
 * In an open world each block is alone, unless the options give a cluster.
 */

/** A cluster without blocks, before its first barrier phase; `dims` are its blocks along x, y and z. */
export const newCluster = (dims: readonly [number, number, number]): ClusterState => ({
  dims,
  blocks: [],
  phase: 0,
  arrived: new Map(),
  arrivals: new Map(),
});

/**
 * Distance in bytes between the blocks' shared memories in the shared::cluster window. Rank r starts at r + 1 times this, so a block's own,
 * smaller addresses keep their values. No block has as much shared memory; PTX ISA 9.0 leaves the layout open.
 */
const STRIDE = 2 ** 24;

/** Offset in the shared window of a shared address, generic or not. */
const offsetOf = (address: number): number =>
  address >= SHARED_WINDOW && address < LOCAL_WINDOW ? address - SHARED_WINDOW : address;

/**
 * The block that holds a shared address, and its offset there.
 *
 * @throws MemoryFault if the cluster has no such block
 */
export function inCluster(block: BlockState, address: number): { block: BlockState; at: number } {
  const at = offsetOf(address);
  if (block.cluster === null || at < STRIDE) return { block, at };
  const peer = block.cluster.blocks[Math.floor(at / STRIDE) - 1];
  if (peer === undefined) throw new MemoryFault(`address 0x${at.toString(16)} is in no block of the cluster`);
  return { block: peer, at: at % STRIDE };
}

/** True if a shared address, generic or not, lies in another block's part of the cluster window, or in no block's. */
export function inOtherBlock(block: BlockState, address: number): boolean {
  const at = offsetOf(address);
  return block.cluster !== null && at >= STRIDE && Math.floor(at / STRIDE) - 1 !== rankOf(block);
}

/** `mapa`: the same shared-memory location in the block of rank `rank`; the result is generic if `address` is. */
export const mapped = (block: BlockState, address: number, rank: number): number =>
  (address >= SHARED_WINDOW ? SHARED_WINDOW : 0) + (rank + 1) * STRIDE + inCluster(block, address).at;

/** Rank of a block in its cluster, 0 for a block without one. */
export const rankOf = (block: BlockState): number => Math.max(0, block.cluster?.blocks.indexOf(block) ?? 0);

/** Records that `lanes` arrive at the barrier of their cluster, and opens it if they were the last. */
export function arriveAtCluster(w: Warp, lanes: number): void {
  const { cluster } = w.block;
  if (cluster === null) return;
  let phases = cluster.arrivals.get(w);
  if (phases === undefined) {
    phases = new Int32Array(32).fill(-1);
    cluster.arrivals.set(w, phases);
  }
  for (let l = 0; l < 32; l++) if ((lanes >>> l) & 1) phases[l] = cluster.phase;
  cluster.arrived.set(w, (cluster.arrived.get(w) ?? 0) | lanes);
  openCluster(cluster);
}

/** Opens a cluster's barrier once every thread that has not exited has arrived. */
export function openCluster(cluster: ClusterState): void {
  if (cluster.arrived.size === 0) return;
  for (const { warps } of cluster.blocks)
    for (const w of warps) if ((~w.exited & ~(cluster.arrived.get(w) ?? 0)) !== 0) return;
  cluster.arrived.clear();
  cluster.phase++;
}

/** The subset of `lanes` whose cluster barrier has opened since they arrived; all of them without a cluster or an arrival. */
export function throughCluster(w: Warp, lanes: number): number {
  const { cluster } = w.block;
  const phases = cluster?.arrivals.get(w);
  if (cluster === null || phases === undefined) return lanes;
  let through = 0;
  for (let l = 0; l < 32; l++) if ((lanes >>> l) & 1 && phases[l] < cluster.phase) through |= 1 << l;
  return through;
}

/** Number of clusters in a grid. @throws SimFault if the grid is not a multiple of the cluster */
export function clusterCount(
  grid: readonly [number, number, number],
  dims: readonly [number, number, number],
): number {
  if (grid.some((n, k) => n % dims[k] !== 0))
    throw new SimFault(`the grid ${grid.join(' x ')} is not a multiple of the cluster ${dims.join(' x ')}`);
  return grid.reduce((n, g, k) => n * (g / dims[k]), 1);
}

/** Linear block indices of the `k`-th cluster of a grid, ordered by rank. */
export function blocksOfCluster(
  grid: readonly [number, number, number],
  dims: readonly [number, number, number],
  k: number,
): number[] {
  const [gx, gy] = grid;
  const [cx, cy, cz] = dims;
  const [nx, ny] = [gx / cx, gy / cy];
  const [x, y, z] = [(k % nx) * cx, (Math.floor(k / nx) % ny) * cy, Math.floor(k / (nx * ny)) * cz];
  return Array.from({ length: cx * cy * cz }, (_, r) => {
    const [dx, dy, dz] = [r % cx, Math.floor(r / cx) % cy, Math.floor(r / (cx * cy))];
    return x + dx + gx * (y + dy + gy * (z + dz));
  });
}

/** Linear indices of the clusters that contain any of the given blocks, each once. */
export function clustersOf(
  blocks: readonly number[],
  grid: readonly [number, number, number],
  dims: readonly [number, number, number],
): number[] {
  const [gx, gy] = grid;
  const [nx, ny] = [gx / dims[0], gy / dims[1]];
  const clusterOf = (b: number): number => {
    const at = [b % gx, Math.floor(b / gx) % gy, Math.floor(b / (gx * gy))];
    const [x, y, z] = at.map((n, k) => Math.floor(n / dims[k]));
    return x + nx * (y + ny * z);
  };
  return [...new Set(blocks.map(clusterOf))];
}

/** Cluster dimensions from a kernel's `.reqnctapercluster`; null if it has none. */
export function statedCluster(directives: readonly string[]): readonly [number, number, number] | null {
  for (const d of directives) {
    const m = /^\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(d);
    if (m !== null) return [Number(m[1]), Number(m[2] ?? 1), Number(m[3] ?? 1)];
  }
  return null;
}
