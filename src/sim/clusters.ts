import { SimFault } from './faults.ts';
import { LOCAL_WINDOW, MemoryFault, SHARED_WINDOW } from './memory.ts';
import type { BlockState, ClusterState, Warp } from './state.ts';

/*
 * Clusters of a launch: blocks that run together, see each other's shared memory and meet at a barrier of their own (PTX ISA 9.0,
 * 2.2.2, 9.7.13.4). In an open world each block is alone.
 */

export const newCluster = (dims: readonly [number, number, number]): ClusterState => ({
  dims,
  blocks: [],
  phase: 0,
  arrived: new Map(),
  arrivals: new Map(),
});

/**
 * Distance of the shared memories of a cluster in the window of shared::cluster: rank r begins at r + 1 times this, so that a
 * block's own addresses, which are smaller, stay what they are. More than any block has (PTX ISA 9.0 leaves the layout open).
 */
const STRIDE = 2 ** 24;

/** The offset in the shared window of an address, generic or not. */
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

/** Is a shared address, generic or not, in the part of the cluster's window that other blocks, or none, have? */
export function inOtherBlock(block: BlockState, address: number): boolean {
  const at = offsetOf(address);
  return block.cluster !== null && at >= STRIDE && Math.floor(at / STRIDE) - 1 !== rankOf(block);
}

/** `mapa`: the same place of shared memory in the block of a rank, generic where the address was. */
export const mapped = (block: BlockState, address: number, rank: number): number =>
  (address >= SHARED_WINDOW ? SHARED_WINDOW : 0) + (rank + 1) * STRIDE + inCluster(block, address).at;

/** Rank of a block in its cluster. */
export const rankOf = (block: BlockState): number => Math.max(0, block.cluster?.blocks.indexOf(block) ?? 0);

/** Lanes arrive at the barrier of their cluster. */
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

/** Opens the barrier of a cluster when all of its threads that have not ended have arrived. */
export function openCluster(cluster: ClusterState): void {
  if (cluster.arrived.size === 0) return;
  for (const { warps } of cluster.blocks)
    for (const w of warps) if ((~w.exited & ~(cluster.arrived.get(w) ?? 0)) !== 0) return;
  cluster.arrived.clear();
  cluster.phase++;
}

/** Lanes among these for which the barrier of the cluster has opened since they arrived. */
export function throughCluster(w: Warp, lanes: number): number {
  const { cluster } = w.block;
  const phases = cluster?.arrivals.get(w);
  if (cluster === null || phases === undefined) return lanes;
  let through = 0;
  for (let l = 0; l < 32; l++) if ((lanes >>> l) & 1 && phases[l] < cluster.phase) through |= 1 << l;
  return through;
}

/** How many clusters a grid has. @throws SimFault if the grid is no multiple of the cluster */
export function clusterCount(
  grid: readonly [number, number, number],
  dims: readonly [number, number, number],
): number {
  if (grid.some((n, k) => n % dims[k] !== 0))
    throw new SimFault(`the grid ${grid.join(' x ')} is no multiple of the cluster ${dims.join(' x ')}`);
  return grid.reduce((n, g, k) => n * (g / dims[k]), 1);
}

/** Numbers of the blocks of the `k`-th cluster of a grid, by rank. */
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

/** Numbers of the clusters that some blocks of a grid are in, each once. */
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

/** What `.reqnctapercluster` of a kernel says; null without it. */
export function statedCluster(directives: readonly string[]): readonly [number, number, number] | null {
  for (const d of directives) {
    const m = /^\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(d);
    if (m !== null) return [Number(m[1]), Number(m[2] ?? 1), Number(m[3] ?? 1)];
  }
  return null;
}
