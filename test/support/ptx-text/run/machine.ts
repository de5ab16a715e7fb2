import type { Table } from '../table/case.ts';
import type { Module, PtxFunction, Variable } from '../text/syntax.ts';
import { Block, Cluster } from './block.ts';
import { generator, SeededChoices } from './choices.ts';
import { type Code, placed } from './code.ts';
import { RunFault } from './faults.ts';
import { initialBytes } from './initial.ts';
import type { Lane, Wait } from './lane.ts';
import { functionAddress, type Region, Regions, region, toGeneric } from './memory.ts';
import { prepared } from './prepare.ts';

export interface Shape {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly cluster: readonly [number, number, number];
  readonly dynamicShared: number;
}

export interface Options {
  /**
   * Determines the order of lanes and everything that the PTX ISA leaves open. With 0, lanes are scheduled round robin. Unspecified bits
   * are complementary for 1 and 2.
   */
  readonly seed: number;
  /** Maximum number of instructions, summed over all lanes. */
  readonly budget: number;
}

/** New clusters start while fewer blocks than this are resident. */
const RESIDENT = 8;
/** First address of global memory. */
const GLOBAL = { 64: 0x7_0000_0000, 32: 0x1000_0000 } as const;

/** A module with its memory, and one launch of one of its kernels. */
export class Machine {
  readonly module: Module;
  readonly table: Table;
  readonly shape: Shape;
  readonly choices: SeededChoices;
  readonly global: Regions;
  readonly constants: Region;
  readonly params: Region;
  /** Whether an approximate instruction was executed. */
  approximate = false;
  /** What the kernel printed. */
  readonly output: string[] = [];
  /** Number of executed instructions. */
  steps = 0;
  readonly sharedBytes: number;
  readonly #addresses = new Map<Variable, bigint>();
  readonly #functions = new Map<string, number>();
  readonly #codes = new Map<PtxFunction, Code>();
  readonly #random: () => number;
  readonly #seed: number;
  readonly #budget: number;

  constructor(module: Module, table: Table, shape: Shape, options: Options, paramBytes: number) {
    this.module = module;
    this.table = table;
    this.shape = shape;
    this.choices = new SeededChoices(options.seed);
    this.#seed = options.seed;
    this.#random = generator(options.seed ^ 0x51ed270b);
    this.#budget = options.budget;
    this.global = new Regions(module.addressBits === 32 ? GLOBAL[32] : GLOBAL[64]);
    this.params = region('parameter', 0, new Uint8Array(paramBytes));
    module.functions.forEach((f, k) => this.#functions.set(f.name, k));
    const constants = placed(module.variables.filter((v) => v.space === 'const'));
    this.constants = region('constant', 0, new Uint8Array(constants.end));
    for (const [v, at] of constants.offsets) this.#addresses.set(v, BigInt(at));
    const globals = module.variables.filter((v) => v.space === 'global');
    const regions = globals.map((v) =>
      this.global.add(v.name, new Uint8Array(Math.max(1, (v.length ?? 0) * v.elementBytes))),
    );
    globals.forEach((v, k) => this.#addresses.set(v, BigInt(regions[k].base)));
    this.sharedBytes = this.#placeShared();
    globals.forEach((v, k) => initialBytes(this, v, regions[k], 0));
    for (const [v, at] of constants.offsets) initialBytes(this, v, this.constants, at);
  }

  /** Lays out the shared variables of the module and of all bodies; those without a size come last, all at the same address. */
  #placeShared(): number {
    const all = [
      ...this.module.variables,
      ...this.module.functions.flatMap((f) => f.body?.variables ?? []),
    ].filter((v) => v.space === 'shared');
    const { offsets, end } = placed(all.filter((v) => v.length !== null));
    const dynamic = all.filter((v) => v.length === null);
    const first = Math.ceil(end / 128) * (dynamic.length > 0 ? 128 : 0);
    for (const [v, at] of offsets) this.#addresses.set(v, BigInt(at));
    for (const v of dynamic) this.#addresses.set(v, BigInt(first));
    return dynamic.length > 0 ? first + this.shape.dynamicShared : end + this.shape.dynamicShared;
  }

  /** The address of a variable in its space; undefined if lanes have different ones. */
  addressOf(v: Variable): bigint | undefined {
    return this.#addresses.get(v);
  }

  /** The address that a module-level name denotes in initial values. */
  symbol(name: string, generic: boolean): bigint {
    const entity = this.module.scope.find(name);
    if (entity?.kind === 'function') return this.functionAddress(name);
    const address = entity?.kind === 'variable' ? this.addressOf(entity) : undefined;
    if (entity?.kind !== 'variable' || address === undefined) throw new RunFault(`'${name}' has no address`);
    return generic && entity.space !== 'param' ? toGeneric(entity.space, address) : address;
  }

  functionAddress(name: string): bigint {
    return functionAddress(this.#functions.get(name)!);
  }

  /** A function, prepared for execution. */
  code(fn: PtxFunction): Code {
    let code = this.#codes.get(fn);
    if (code === undefined) this.#codes.set(fn, (code = prepared(this, fn, (c) => this.#codes.set(fn, c))));
    return code;
  }

  /** Counts an instruction. @throws RunFault if the budget is exhausted */
  count(lane: Lane): void {
    if (++this.steps > this.#budget) this.fail(lane, `${this.#budget} instructions are used up`);
  }

  /** Whether a lane yields at a point where others may observe it. */
  turn(): boolean {
    return this.#seed !== 0 && this.#random() < 0.25;
  }

  /** Whether something that may happen now or later happens now. */
  now(): boolean {
    return this.#seed === 0 || this.#random() < 0.5;
  }

  fail(lane: Lane, message: string): never {
    const { frame } = lane;
    const line = frame.code.items[frame.pc - 1]?.line ?? 0;
    const [x, y, z] = lane.block.index;
    throw new RunFault(
      `${message} (${frame.code.fn.name}, line ${line}, block ${x},${y},${z}, thread ${lane.thread})`,
    );
  }

  /** Runs a kernel to completion. @throws RunFault if its behaviour is undefined, if it traps, or if it never ends */
  run(kernel: PtxFunction): void {
    const code = this.code(kernel);
    const waiting = this.#clusters(code);
    let resident: Block[] = [];
    const runnable: Lane[] = [];
    for (;;) {
      resident = resident.filter((b) => !b.done);
      while (resident.length < RESIDENT) {
        const cluster = waiting.next();
        if (cluster.done === true) break;
        resident.push(...cluster.value.blocks);
        runnable.push(...cluster.value.blocks.flatMap((b) => b.lanes));
      }
      if (resident.length === 0) return;
      this.#untilBlocksEnd(runnable, resident);
    }
  }

  /** The clusters of the grid, created on demand. */
  *#clusters(code: Code): Generator<Cluster, void, void> {
    const { grid, cluster, block } = this.shape;
    const sizes = { threads: block[0] * block[1] * block[2], sharedBytes: this.sharedBytes };
    for (let z = 0; z < grid[2]; z += cluster[2])
      for (let y = 0; y < grid[1]; y += cluster[1])
        for (let x = 0; x < grid[0]; x += cluster[0]) {
          const c = new Cluster();
          for (let k = 0; k < cluster[2]; k++)
            for (let j = 0; j < cluster[1]; j++)
              for (let i = 0; i < cluster[0]; i++) new Block(this, [x + i, y + j, z + k], c, code, sizes);
          yield c;
        }
  }

  /**
   * Runs lanes until a block ends. When all lanes are blocked, lanes whose condition holds are resumed, or else a group that waits at
   * activemask.
   */
  #untilBlocksEnd(runnable: Lane[], resident: readonly Block[]): void {
    const blocked = (): Lane[] => resident.flatMap((b) => b.lanes).filter((l) => l.waiting !== null);
    for (;;) {
      while (runnable.length > 0) {
        const lane = this.#next(runnable);
        const turn = lane.life.next();
        if (turn.done === true) {
          this.#ended(lane, runnable);
          if (lane.block.done) return;
        } else this.#wait(lane, turn.value, runnable);
      }
      const free = blocked().filter((l) => holds(l.waiting!));
      const group = free.length > 0 ? free : this.#together(blocked());
      if (group.length === 0) this.#stuck(blocked());
      this.#release(group, runnable);
    }
  }

  /** Removes the next lane to be scheduled. */
  #next(runnable: Lane[]): Lane {
    if (this.#seed === 0) return runnable.shift()!;
    const k = Math.floor(this.#random() * runnable.length);
    const lane = runnable[k];
    runnable[k] = runnable.at(-1)!;
    runnable.pop();
    return lane;
  }

  #wait(lane: Lane, wait: Wait, runnable: Lane[]): void {
    if (wait.kind === 'turn') {
      runnable.push(lane);
      return;
    }
    lane.waiting = wait;
    if (wait.kind === 'warp') this.#release(lane.warp.meet(lane, wait), runnable);
    else if (wait.kind === 'barrier') this.#release(lane.block.barriers.arrive(lane, wait), runnable);
    else if (wait.kind === 'until' && wait.holds()) this.#release([lane], runnable);
  }

  #ended(lane: Lane, runnable: Lane[]): void {
    this.#release([...lane.warp.lose(), ...lane.block.barriers.lose()], runnable);
    lane.block.cluster.check();
  }

  #release(lanes: readonly Lane[], runnable: Lane[]): void {
    for (const l of lanes) {
      l.waiting = null;
      runnable.push(l);
    }
  }

  /** Lanes of one warp that execute the same activemask together: all of them, or a random subset. Each gets the mask of the subset. */
  #together(blocked: readonly Lane[]): readonly Lane[] {
    const first = blocked.find((l) => l.waiting!.kind === 'active');
    if (first === undefined) return [];
    const same = blocked.filter(
      (l) =>
        l.warp === first.warp &&
        l.waiting!.kind === 'active' &&
        l.frame.code === first.frame.code &&
        l.frame.pc === first.frame.pc,
    );
    const group = same.filter((l) => l === first || this.#seed === 0 || this.#random() < 0.8);
    const mask = group.reduce((m, l) => m | (1 << l.laneId), 0);
    for (const l of group) if (l.waiting?.kind === 'active') l.waiting.resume(mask);
    return group;
  }

  #stuck(blocked: readonly Lane[]): never {
    const [first] = blocked;
    const item = first.frame.code.items[first.frame.pc - 1];
    this.fail(first, `${blocked.length} lanes wait forever, this one at ${item.opcode}`);
  }
}

const holds = (wait: Wait): boolean => wait.kind === 'until' && wait.holds();
