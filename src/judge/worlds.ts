import { dimensions } from '../ir/directives.ts';
import type { Fn } from '../ir/program.ts';
import { blocksOfCluster, statedCluster } from '../sim/clusters.ts';
import type { Effort } from './effort.ts';
import type { Features } from './features.ts';
import {
  isOneThread,
  oneThread,
  oneWarp,
  oneWarpgroup,
  type Shape,
  type Triple,
  type World,
  worldOf,
} from './world.ts';

/** Minimum number of threads that a multiprocessor holds: sm_75 has the fewest (`pipelines/backends/turing.yaml`). */
export const FEWEST_THREADS = 1024;

/** A block of this shape, shrunk to at most `threads` threads. */
function shrunk([x, y, z]: Triple, threads: number): [number, number, number] {
  const across = Math.min(x, threads);
  const down = Math.min(y, Math.floor(threads / across));
  return [across, down, Math.min(z, Math.floor(threads / (across * down)))];
}

/** The block size that a kernel requires; null if it requires none. */
const requiredBlock = (fn: Fn): [number, number, number] | null => dimensions(fn, '.reqntid');

/** Maximum number of threads in a block of a kernel. */
function mostThreads(fn: Fn, threadsPerSm: number): number {
  const together = Math.max(1, dimensions(fn, '.minnctapersm')?.[0] ?? 1);
  const bound = dimensions(fn, '.maxntid');
  return Math.max(
    1,
    Math.min(
      1024,
      Math.floor(threadsPerSm / together),
      bound === null ? 1024 : bound[0] * bound[1] * bound[2],
    ),
  );
}

/** Threads of a usual block, and of one with a warpgroup. */
const USUAL_THREADS = 64;
const WARPGROUP_THREADS = 128;

/**
 * Block size of a usual world: what the kernel requires, otherwise up to 64 threads, or a warpgroup, in a shape that it allows. The product
 * of .maxntid bounds a block, and .minnctapersm blocks must fit a multiprocessor together (PTX ISA 9.0, 11.4).
 */
export function blockOf(fn: Fn, threadsPerSm: number, warpgroups = false): [number, number, number] {
  const required = requiredBlock(fn);
  if (required !== null) return required;
  const n = warpgroups ? WARPGROUP_THREADS : USUAL_THREADS;
  return shrunk(dimensions(fn, '.maxntid') ?? [n, 1, 1], Math.min(n, mostThreads(fn, threadsPerSm)));
}

/** Maximum threads of a block, and blocks of a cluster, in any launch (CUDA C Programming Guide, "Compute Capabilities"). */
const MOST_THREADS = 1024;
const MOST_BLOCKS = 16;

/** True if a kernel can be launched at all: its directives may require more than the hardware has. */
export function canBeLaunched(fn: Fn): boolean {
  const count = (n: readonly number[] | null): number => (n === null ? 1 : n[0] * n[1] * n[2]);
  const within = (n: number, most: number): boolean => n >= 1 && n <= most;
  return (
    within(count(requiredBlock(fn)), MOST_THREADS) &&
    within(count(statedCluster(fn.attrs.directives)), MOST_BLOCKS) &&
    count(dimensions(fn, '.maxntid')) >= 1
  );
}

/** Minimum and maximum budget of a run, in warp instructions. */
const LEAST_BUDGET = 6_000;
const MOST_BUDGET = 60_000;
/** Number of times that each warp may execute each instruction of the kernel. */
const ROUNDS = 4;

const budgetFor = (instructions: number, warps: number): number =>
  Math.min(
    Math.max(MOST_BUDGET, 3 * ROUNDS * instructions),
    Math.max(LEAST_BUDGET, ROUNDS * instructions * warps),
  );

/** A grid given in clusters, converted to blocks. */
const gridOf = ([x, y, z]: Triple, cluster: Triple | null): Triple =>
  cluster === null ? [x, y, z] : [x * cluster[0], y * cluster[1], z * cluster[2]];

/** Blocks of the first cluster of a grid given in clusters. */
const firstCluster = (clusters: Triple, cluster: Triple): readonly number[] =>
  blocksOfCluster(gridOf(clusters, cluster), cluster, 0);

/** What determines the worlds for a kernel. */
export interface Look {
  readonly kernel: Fn;
  readonly features: Features;
  readonly threadsPerSm: number;
  /** Seeds of the usual worlds, with plain or rough values. */
  readonly seeds: readonly number[];
  readonly block: Triple | null;
  readonly grid: Triple | null;
  readonly budget: number | null;
  readonly effort: Effort;
}

/** Trip counts around which unrolled and vectorized loops behave differently, and a few of them. */
const COUNTS: readonly bigint[] = [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 13n, 16n, 17n];
const FEW_COUNTS: readonly bigint[] = [0n, 1n, 2n, 3n, 5n, 7n, 8n, 17n];

/** Worlds of whole blocks in a fixed order: first the usual ones with plain and rough values, then other values and shapes. */
export function blockWorlds(look: Look): World[] {
  const { kernel, features } = look;
  const { all } = look.effort;
  const cluster = statedCluster(kernel.attrs.directives) ?? (features.clusters ? [2, 1, 1] : null);
  const budget = (block: Triple, blocks: number): number =>
    look.budget ??
    budgetFor(features.instructions, blocks * Math.ceil((block[0] * block[1] * block[2]) / 32));
  const races = features.communicates;
  const block = look.block ?? blockOf(kernel, look.threadsPerSm, features.warpgroups);
  const grid = look.grid ?? gridOf([2, 1, 1], cluster);
  const shape = (grid: Triple, block: Triple, blocks: readonly number[] | null = null): Shape => ({
    grid,
    block,
    cluster,
    only: blocks === null ? null : { blocks, warps: null, lanes: -1 },
  });
  const out = look.seeds.map((seed, k) =>
    worldOf({
      name: `seed ${seed}`,
      seed,
      shape: shape(grid, block),
      budget: look.budget ?? Math.max(budget(block, grid[0] * grid[1] * grid[2]), look.effort.usual),
      races: races && k === 0,
      shuffled: all,
      usual: true,
      copies: k === 0 ? 'late' : 'early',
    }),
  );
  if (look.block !== null || look.grid !== null) return out;
  const most = mostThreads(kernel, look.threadsPerSm);
  const required = requiredBlock(kernel);
  const deep = required ?? shrunk(features.deep || features.warpgroups ? [8, 8, 2] : [8, 4, 2], most);
  const one = gridOf([1, 1, 1], cluster);
  const blocks = one[0] * one[1] * one[2];
  // Sizes that reach all threads, and small ones, with words that are often equal or neighbours.
  for (const [k, n] of [100n, 3n, null].entries()) {
    if (k === 1 && !all) continue;
    out.push(
      worldOf({
        name: `a block of near values ${k + 1}`,
        seed: 500 + k,
        profile: 'near',
        scalars: n,
        shape: shape(one, block),
        budget: budget(block, blocks),
        races: races && k === 0,
        shuffled: all || k === 0,
      }),
    );
  }
  out.push(
    worldOf({
      name: 'a block of ascending values',
      seed: 504,
      profile: 'ascending',
      scalars: 64n,
      shape: shape(one, block),
      budget: budget(block, blocks),
      shuffled: all,
    }),
    worldOf({
      name: 'blocks along y and z',
      seed: 6,
      shape: shape(
        gridOf([3, 2, 2], cluster),
        deep,
        cluster !== null ? firstCluster([3, 2, 2], cluster) : all ? [0, 5, 11] : [0, 11],
      ),
      budget: budget(deep, 3),
      races: races && features.instructions < 3000,
      shuffled: all,
    }),
  );
  const flats: readonly Triple[] = features.rows
    ? [
        [16, 16, 1],
        [32, 8, 1],
      ]
    : features.sizes.map((n): Triple => [n, 1, 1]);
  if (features.communicates && features.instructions < 3000)
    for (const [k, size] of (required === null ? flats : [required]).slice(0, look.effort.large).entries()) {
      const flat = required ?? shrunk(size, most);
      out.push(
        worldOf({
          name: `a block of ${flat[0]}${flat[1] > 1 ? ` by ${flat[1]}` : ''} threads`,
          seed: 7 + 2 * k,
          // A few iterations are enough to find races.
          scalars: k === 1 ? 3n : null,
          shape: shape(one, flat),
          budget: Math.max(budget(flat, blocks), look.effort.usual),
          races: true,
          shuffled: all,
        }),
      );
    }
  if (required === null && most >= 37 && !features.warpgroups)
    out.push(
      worldOf({
        name: 'a block of 37 threads',
        seed: 5,
        shape: shape(gridOf([3, 1, 1], cluster), [37, 1, 1], cluster === null ? [2] : null),
        budget: budget([37, 1, 1], 1),
      }),
    );
  return out;
}

/** Warp instructions for all worlds of one kind together, so that small kernels get more of them, and the minimum number of worlds. */
const SHARE = 24_000;
const FEWEST = 8;

/** Kernels up to this many instructions, without loops, are so cheap that they get twice as many extreme worlds. */
const SHORT = 64;

/** A grid in clusters with more blocks than 16 bits can count. */
const LARGE: Triple = [70_000, 5, 3];
/** Blocks of that grid, and threads of a block, that single-thread worlds use in turn. */
const BLOCKS: readonly number[] = [
  0,
  1,
  69_999,
  2,
  65_537,
  3 * 70_000 + 17,
  300,
  2 * 5 * 70_000 + 70_000 + 69_998,
];
const THREADS: readonly number[] = [0, 1, 65, 31, 201, 5, 257, 1023, 33, 100];

/**
 * Worlds of a single thread of a large launch, or of a warp if lanes exchange values: trip counts, limits and special values, and pointers
 * near each other.
 */
export class ThreadWorlds {
  private readonly look: Look;
  private readonly cluster: Triple | null;
  private readonly grid: Triple;
  private readonly shapes: readonly Triple[];
  private readonly budget: number;
  /** Budget of runs that are compared only if they end. */
  private readonly budgetToEnd: number;

  constructor(look: Look) {
    this.look = look;
    const { kernel, features } = look;
    const most = mostThreads(kernel, look.threadsPerSm);
    const required = requiredBlock(kernel);
    this.cluster = statedCluster(kernel.attrs.directives);
    this.grid = gridOf(LARGE, this.cluster);
    this.shapes = required !== null ? [required] : [shrunk([1024, 1, 1], most), shrunk([32, 4, 2], most)];
    const within = (budget: number): number => Math.min(look.budget ?? Number.POSITIVE_INFINITY, budget);
    this.budget = within(budgetFor(features.instructions, 1));
    this.budgetToEnd = look.effort.all
      ? this.budget
      : within(Math.max(LEAST_BUDGET / 2, Math.min(this.budget, ROUNDS * features.instructions)));
  }

  private at(k: number, block: number, thread: number, grid = this.grid): Shape {
    const shape = this.shapes[k % this.shapes.length];
    const t = thread % (shape[0] * shape[1] * shape[2]);
    const { exchanges, warpgroups } = this.look.features;
    const few = warpgroups ? oneWarpgroup : exchanges ? oneWarp : oneThread;
    const only = few(block, t);
    return { grid, block: shape, cluster: this.cluster, only };
  }

  private one(of: Partial<World> & Pick<World, 'name' | 'seed' | 'shape'>): World {
    return worldOf({
      budget: this.budget,
      orders: this.look.features.orders && isOneThread(of.shape),
      ...of,
    });
  }

  /** All worlds but the long ones. */
  all(): World[] {
    const rest = this.look.features.exchanges ? [] : this.aliases();
    return [...this.sizes(), ...this.near(), ...this.extreme(), ...rest];
  }

  /** How many worlds of a kind there are: of a small kernel more. */
  private get share(): number {
    const fitting = Math.floor(SHARE / Math.max(this.look.features.instructions, 20));
    return Math.min(this.look.effort.worlds, Math.max(FEWEST, fitting));
  }

  /** Worlds in which all integer arguments have the same value. */
  private sizes(): World[] {
    const out = (this.look.effort.all ? COUNTS : FEW_COUNTS).map((n, k) =>
      this.one({ name: `sizes ${n}`, seed: 20 + k, shape: this.at(k, k % 2, k % 3), scalars: n }),
    );
    const large = { endless: false, budget: this.budgetToEnd };
    out.push(
      this.one({
        name: 'sizes 1000',
        seed: 40,
        shape: this.at(0, 1, 2),
        scalars: 1000n,
        ...large,
        budget: Math.max(this.budget, this.look.budget ?? THOUSAND_ROUNDS),
      }),
      this.one({ name: 'sizes -1', seed: 41, shape: this.at(0, 0, 3), scalars: -1n, ...large }),
      this.one({
        name: 'sizes 300000000',
        seed: 42,
        shape: this.at(1, 65_537, 70),
        scalars: 300_000_000n,
        ...large,
      }),
    );
    return out;
  }

  /** Worlds with small arguments and words, so that many are equal or neighbours; in every other one the grid is small too. */
  private near(): World[] {
    return Array.from({ length: Math.ceil(this.share / 3) }, (_, k) =>
      this.one({
        name: `near values ${k + 1}`,
        seed: 300 + k,
        profile: 'near',
        shape: this.at(
          k,
          k % 3,
          k % 5 === 4 ? 1 : 0,
          k % 2 === 0 ? this.grid : gridOf([3, 1, 1], this.cluster),
        ),
      }),
    );
  }

  private extreme(): World[] {
    const { loops, instructions } = this.look.features;
    const often = loops || instructions > SHORT ? 1 : 2;
    return Array.from({ length: often * this.share }, (_, k) =>
      this.one({
        name: `extreme values ${k + 1}`,
        seed: 100 + 2 * k,
        profile: 'extreme',
        shape: this.at(k, BLOCKS[k % BLOCKS.length], THREADS[k % THREADS.length]),
        endless: false,
        budget: this.budgetToEnd,
      }),
    );
  }

  private aliases(): World[] {
    const out: World[] = [];
    const { all } = this.look.effort;
    for (const apart of [0, 4, 8, 16, -4, -8])
      for (const [k, n] of [null, 8n].entries()) {
        if (k === 1 && !all && apart !== 0 && apart !== 4) continue;
        out.push(
          this.one({
            name: `pointers ${apart} bytes apart`,
            seed: 70 + k,
            shape: this.at(0, 0, 1),
            scalars: n,
            apart,
            alignment: apart === 0 ? 4 : lowestBit(apart),
          }),
        );
      }
    out.push(
      this.one({
        name: 'pointers with the alignment of elements',
        seed: 80,
        shape: this.at(0, 0, 2),
        alignment: 4,
      }),
    );
    // An argument of eight bytes may be a pointer, and so may several in an array.
    const { params } = this.look.kernel;
    const pointers = params.some((p) => p.array) ? MOST_NULL : params.filter((p) => p.size === 8).length;
    for (let k = 0; k < Math.min(MOST_NULL, pointers); k++)
      out.push(
        this.one({ name: `pointer ${k + 1} is null`, seed: 90 + k, shape: this.at(0, 0, k), nullPointer: k }),
      );
    return out;
  }

  /**
   * Worlds with trip counts beyond 12 and 16 bits, if the kernel ends soon enough there.
   *
   * @param thousand warp instructions of the run with a trip count of 1000
   */
  long(thousand: number): World[] {
    return [5001n, 70_001n].flatMap((n) => {
      const needed = Math.ceil((thousand * Number(n)) / 1000);
      if (needed > this.look.effort.long) return [];
      return [
        this.one({
          name: `sizes ${n}`,
          seed: 44,
          shape: this.at(0, 0, 1),
          scalars: n,
          budget: 2 * needed,
          endless: false,
        }),
      ];
    });
  }
}

/** Warp instructions for a thousand iterations of a small loop. */
const THOUSAND_ROUNDS = 20_000;
/** Number of pointers that are null in a world of their own. */
const MOST_NULL = 4;

const lowestBit = (n: number): number => Math.abs(n) & -Math.abs(n);
