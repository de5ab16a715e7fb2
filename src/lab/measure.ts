import { Pool } from '../analysis/registers/liveness.ts';
import { pressureOf } from '../analysis/registers/pressure.ts';
import type { Journal } from '../engine/journal.ts';
import { hashText } from '../ir/hash.ts';
import type { Fn, Program } from '../ir/program.ts';
import { printProgram } from '../ir/text.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import type { PtxTable } from '../ptx/emit/table.ts';
import { mostShared, paramBase } from '../read.ts';
import type { Counters } from '../sim/counters.ts';
import { expectsAnything, type LaunchResult, largeTolerance, runLaunch } from '../sim/launch.ts';
import { fitLaunch } from '../spec/node-launch.ts';
import type { Plan } from '../spec/plan.ts';
import type { Profile } from '../spec/profile.ts';
import { withoutSsa } from '../ssa/program.ts';
import { occupancyOf } from './backend-occupancy.ts';
import { estimateCycles, timingOf } from './estimate.ts';
import type { Lowered, Module } from './kernels.ts';
import { MEMORY, type Values } from './metrics.ts';
import { blockUse, functionsOf, type LaunchShape, residentPercent, staticValues } from './statics.ts';

/** What ptxas reports for a function. */
export interface PtxasUse {
  readonly name: string;
  readonly registers: number;
  readonly spillStores: number;
  readonly spillLoads: number;
  readonly stack: number;
  readonly code: number;
  readonly instructions: number;
}

/** Assembles PTX with the real ptxas; what it says if it rejects the text. */
export type Assembler = (text: string, arch: string, level: number) => readonly PtxasUse[] | string;

/** Measurements besides those of the program itself. */
export interface MeasureOptions {
  readonly profile?: Profile;
  /** Run the launches of the module. Default: true. */
  readonly launches?: boolean;
  /** How programs are written as PTX; absent: they are not, and ptxas is not called. */
  readonly table?: PtxTable;
  /** Absent: ptxas is not called. */
  readonly ptxas?: {
    readonly assemble: Assembler;
    readonly version: string;
    readonly level: number;
  };
}

/** The outcome of a kernel's launch. */
export interface LaunchOutcome {
  readonly file: string;
  readonly ok: boolean;
  /** The fault; '' if there is none. */
  readonly why: string;
  /** Whether it says what any buffer holds afterwards; without that it only runs. */
  readonly expects: boolean;
  /** The tolerance with which that is compared, in words; '' where it is small. */
  readonly tolerance: string;
  /** Warp instructions that it took. */
  readonly executed: number;
}

/** How many times the instructions of one version another may take, and how many any may. */
const MOST_TIMES = 20;
const LEAST_BUDGET = 1_000_000;

/** One kernel of a module, measured. */
export interface KernelMeasure {
  readonly kernel: string;
  readonly values: Values;
  readonly launches: readonly LaunchOutcome[];
  /** What ptxas says against the PTX that is written for its module; '' if it takes it, or was not asked. */
  readonly refused: string;
}

/** Measures programs of one module; equal programs are measured once, whichever plan made them. */
export class Measurer {
  private readonly module: Module;
  private readonly ptx: PtxModule | null;
  private readonly opts: MeasureOptions;
  private readonly known = new Map<string, readonly KernelMeasure[]>();
  private readonly assembled = new Map<string, readonly PtxasUse[] | string>();

  constructor(module: Module, input: Lowered, opts: MeasureOptions) {
    this.module = module;
    this.ptx = input.ptx;
    this.opts = opts;
  }

  /**
   * Metrics of every kernel of a program made by a plan for `plan.sm`.
   *
   * @param like measures of another version: a launch that takes `MOST_TIMES` as many instructions as it did there ends as one that has
   *   no end
   */
  async kernels(
    program: Program,
    plan: Plan,
    like: readonly KernelMeasure[] = [],
  ): Promise<readonly KernelMeasure[]> {
    const key = `${worldOf(plan)}|${hashText(printProgram(program))}`;
    let found = this.known.get(key);
    if (found === undefined) {
      found = await this.measure(program, plan, like);
      this.known.set(key, found);
    }
    return found;
  }

  private async measure(
    program: Program,
    plan: Plan,
    like: readonly KernelMeasure[],
  ): Promise<readonly KernelMeasure[]> {
    const made = this.uses(program, plan);
    const uses = new Map(typeof made === 'string' ? [] : made.map((u) => [u.name, u]));
    const out: KernelMeasure[] = [];
    for (const fn of program.functions) {
      if (fn.kind !== 'entry') continue;
      const other = like.find((x) => x.kernel === fn.name)?.launches ?? [];
      const runs = await this.launches(program, fn, plan, other);
      const start: LaunchShape = runs[0]?.start ?? {};
      const use = uses.get(fn.name);
      out.push({
        kernel: fn.name,
        values: {
          ...staticValues(program, fn, plan.backend, start, this.opts.profile),
          ...dynamicValues(program, fn, plan, runs),
          ...(use !== undefined && {
            ...ptxasValues(use),
            'ptxas.occupancy': residentPercent(plan.backend, blockUse(program, fn, use.registers, start)),
          }),
        },
        launches: runs.map((r) => r.outcome),
        refused: typeof made === 'string' ? made : '',
      });
    }
    return out;
  }

  private uses(program: Program, plan: Plan): readonly PtxasUse[] | string {
    const { ptxas, table } = this.opts;
    if (ptxas === undefined || table === undefined || this.ptx === null) return [];
    const { text } = emitPtx(withoutSsa(program, plan.isa), {
      table,
      paramBase: paramBase(plan),
      module: this.ptx,
      target: null,
    });
    let found = this.assembled.get(text);
    if (found === undefined) {
      found = ptxas.assemble(text, assembledFor(this.ptx, plan), ptxas.level);
      this.assembled.set(text, found);
    }
    return found;
  }

  private async launches(
    program: Program,
    fn: Fn,
    plan: Plan,
    like: readonly LaunchOutcome[],
  ): Promise<Run[]> {
    if (this.opts.launches === false) return [];
    const out: Run[] = [];
    for (const launch of this.module.launches) {
      if (launch.kernel !== fn.name) continue;
      await fitLaunch(launch, program, mostShared(plan));
      const other = like.find((x) => x.file === launch.file && x.ok);
      const result = runLaunch(program, plan.isa, launch, paramBase(plan), {
        counters: true,
        ...(other !== undefined && { budget: Math.max(LEAST_BUDGET, MOST_TIMES * other.executed) }),
      });
      const [x, y, z] = launch.block;
      const [gx, gy, gz] = launch.grid;
      const first = result.mismatches[0];
      const why =
        result.error ??
        (first === undefined
          ? ''
          : `parameter ${first.param}[${first.index}] is ${first.got}, expected ${first.expected}`);
      out.push({
        start: { threads: x * y * z, dynamicShared: launch.dynamicShared },
        grid: gx * gy * gz,
        result,
        outcome: {
          file: launch.file,
          ok: result.status === 'ok',
          why,
          expects: expectsAnything(launch),
          tolerance: largeTolerance(launch),
          executed: result.warpInstructions,
        },
      });
    }
    return out;
  }
}

/** The target for ptxas: the plan's if the module's PTX may run on it, else the module's. */
function assembledFor({ target: [named] }: PtxModule, plan: Plan): string {
  if (named === undefined) return plan.sm;
  const portable = /^sm_(\d+)$/.exec(named);
  const wanted = Number(plan.sm.slice('sm_'.length));
  return portable !== null && wanted > Number(portable[1]) ? plan.sm : named;
}

const worlds = new WeakMap<Plan, string>();

/** What measurements of a program depend on besides its text: the facts of the target, and the meanings of the opcodes. */
function worldOf(plan: Plan): string {
  let world = worlds.get(plan);
  if (world === undefined)
    worlds.set(plan, (world = hashText(JSON.stringify(plan.backend.facts), `${plan.sm}|${plan.isa.hash}`)));
  return world;
}

interface Run {
  readonly start: LaunchShape;
  /** Blocks of the grid. */
  readonly grid: number;
  readonly result: LaunchResult;
  readonly outcome: LaunchOutcome;
}

/** Event counts of all launches of a kernel together; empty if there are none. */
function dynamicValues(program: Program, fn: Fn, plan: Plan, runs: readonly Run[]): Values {
  const v: Record<string, number> = {};
  const timing = timingOf(plan.backend);
  const registers = Math.max(...functionsOf(program, fn).map((f) => pressureOf(f).most[Pool.R]));
  for (const run of runs) {
    const { counters } = run.result;
    if (counters === null) continue;
    const add = (name: string, n: number) => {
      v[name] = (v[name] ?? 0) + n;
    };
    count(counters, add, v);
    if (timing === null) continue;
    const o = occupancyOf(plan.backend, blockUse(program, fn, registers, run.start));
    const warps = Math.ceil((run.start.threads ?? 1) / 32);
    const resident = Math.min(Math.max(1, o.blocks), run.grid) * warps;
    add(
      'cycles',
      estimateCycles({ functions: program.functions, blocks: counters.blocks, resident }, timing),
    );
  }
  return v;
}

function count(c: Counters, add: (name: string, n: number) => void, v: Record<string, number>): void {
  add('warp-instructions', c.warpInstructions);
  add('thread-instructions', c.threadInstructions);
  add('divergent-branches', c.divergentBranches);
  v['deepest-divergence'] = Math.max(v['deepest-divergence'] ?? 0, c.deepestStack);
  for (const s of MEMORY) add(`transactions.${s}`, c.transactions[s] ?? 0);
  add('barrier-waits', c.barrierWaits);
}

const ptxasValues = (u: PtxasUse): Values => ({
  'ptxas.registers': u.registers,
  'ptxas.spill-stores': u.spillStores,
  'ptxas.spill-loads': u.spillLoads,
  'ptxas.stack': u.stack,
  'ptxas.instructions': u.instructions,
  'ptxas.code-bytes': u.code,
});

/** The cost of running the phases; without time and memory if some results came from a cache. */
export function compileValues(j: Journal): Values {
  let ms = 0;
  let bytes = 0;
  let ran = 0;
  for (const r of j.records) {
    ms += r.ms;
    bytes += Math.max(0, r.bytes);
    if (r.outcome === 'ran') ran++;
  }
  if (j.records.some((r) => r.cached)) return { 'phases-run': ran };
  return { 'phases-run': ran, 'compile-time': ms, 'compile-memory': Math.round(bytes / 1024) };
}
