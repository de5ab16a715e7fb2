import { Pool } from '../analysis/registers/liveness.ts';
import { pressureOf } from '../analysis/registers/pressure.ts';
import type { Journal } from '../engine/journal.ts';
import { hashText } from '../ir/hash.ts';
import { memo } from '../ir/memo.ts';
import type { Fn, Program } from '../ir/program.ts';
import { baseTarget } from '../ir/target.ts';
import { printProgram } from '../ir/text.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import type { PtxTable } from '../ptx/emit/table.ts';
import { mostShared, paramBase } from '../read.ts';
import type { Counters } from '../sim/counters.ts';
import { expectsAnything, type LaunchResult, largeTolerance, runLaunch } from '../sim/launch.ts';
import { fitLaunch, type LoadedLaunch } from '../spec/node-launch.ts';
import type { Plan } from '../spec/plan.ts';
import type { Profile } from '../spec/profile.ts';
import { withoutSsa } from '../ssa/program.ts';
import { occupancyOf } from './backend-occupancy.ts';
import { estimateCycles, timingOf } from './estimate.ts';
import type { Lowered, Module } from './kernels.ts';
import { MEMORY, type Values } from './metrics.ts';
import { blockUse, functionsOf, type LaunchShape, residentPercent, staticValues } from './statics.ts';

/** Resources of a function as reported by ptxas. */
export interface PtxasUse {
  readonly name: string;
  /** 0: ptxas does not report it for a function that others call. */
  readonly registers: number;
  /** Bytes stored and loaded because registers ran out. */
  readonly spillStores: number;
  readonly spillLoads: number;
  /** Bytes of the stack frame. */
  readonly stack: number;
  /** Bytes of machine code, including padding; 0 if not reported. */
  readonly code: number;
  /** Machine instructions, without padding. */
  readonly instructions: number;
}

/** What ptxas made of a module. */
export interface AssembledModule {
  readonly functions: readonly PtxasUse[];
  readonly cubin: Uint8Array;
}

/** Assembles PTX with the real ptxas; returns its message if it rejects the text. */
export type Assembler = (text: string, arch: string, level: number) => AssembledModule | string;

/** A launch to run with machine code. */
export interface MachineRun {
  readonly cubin: Uint8Array;
  readonly target: string;
  /** The module as it was lowered from PTX: its parameters and variables are those of the machine code. */
  readonly input: Program;
  readonly plan: Plan;
  readonly launch: LoadedLaunch;
  /** Maximum number of warp instructions. */
  readonly budget: number;
}

/** What a launch did in machine code; `why` says how it failed, or is ''. */
export interface MachineCounts {
  readonly executed: number;
  readonly stalls: number;
  readonly why: string;
}

/** Runs a launch with machine code; null if some of the code that it may reach has no meaning yet. */
export type MachineRunner = (run: MachineRun) => Promise<MachineCounts | null>;

/** What is measured besides the program itself. */
export interface MeasureOptions {
  readonly profile?: Profile;
  /** Whether to run the launches of the module. Default: true. */
  readonly launches?: boolean;
  /** How programs are written as PTX; absent: ptxas is not called. */
  readonly table?: PtxTable;
  /** Absent: ptxas is not called. */
  readonly ptxas?: {
    readonly assemble: Assembler;
    readonly version: string;
    readonly level: number;
    /** Absent: machine code is not run. */
    readonly machine?: MachineRunner;
  };
  /** Called with what is done next, for displays of progress: one kernel may take seconds. */
  readonly tell?: (text: string) => void;
}

/** The outcome of a kernel's launch. */
export interface LaunchOutcome {
  readonly file: string;
  readonly ok: boolean;
  /** The fault; '' if there is none. */
  readonly why: string;
  /** True if the launch states expected results for any buffer. */
  readonly expects: boolean;
  /** The tolerance of that comparison, in words; '' if it is small. */
  readonly tolerance: string;
  /** Number of executed warp instructions. */
  readonly executed: number;
}

/** A launch may take this many times the instructions that it took with the other version, but always at least `LEAST_BUDGET`. */
const MOST_TIMES = 20;
const LEAST_BUDGET = 1_000_000;

/** One kernel of a module, measured. */
export interface KernelMeasure {
  readonly kernel: string;
  readonly values: Values;
  readonly launches: readonly LaunchOutcome[];
  /** The message of ptxas if it rejects the PTX written for the module; '' if it accepts it or was not called. */
  readonly refused: string;
}

/** Measures programs of one module. Equal programs are measured once, whichever plan produced them. */
export class Measurer {
  private readonly module: Module;
  private readonly ptx: PtxModule | null;
  private readonly input: Program;
  private readonly opts: MeasureOptions;
  private readonly measuredByKey = new Map<string, readonly KernelMeasure[]>();
  private readonly assembled = new Map<string, AssembledModule | string>();

  constructor(module: Module, input: Lowered, opts: MeasureOptions) {
    this.module = module;
    this.ptx = input.ptx;
    this.input = input.program;
    this.opts = opts;
  }

  /**
   * Metrics of every kernel of a program that a plan produced.
   *
   * @param like measures of another version: a launch that takes more than `MOST_TIMES` as many instructions as there is stopped and counts
   *   as not terminating
   * @throws DiagnosticError if a launch does not fit the program
   */
  async kernels(
    program: Program,
    plan: Plan,
    like: readonly KernelMeasure[] = [],
  ): Promise<readonly KernelMeasure[]> {
    const key = `${worldOf(plan)}|${hashText(printProgram(program))}`;
    let found = this.measuredByKey.get(key);
    if (found === undefined) {
      found = await this.measure(program, plan, like);
      this.measuredByKey.set(key, found);
    }
    return found;
  }

  private async measure(
    program: Program,
    plan: Plan,
    like: readonly KernelMeasure[],
  ): Promise<readonly KernelMeasure[]> {
    const made = this.assemble(program, plan);
    const refused = typeof made === 'string' ? made : '';
    const uses = new Map(
      made === null || typeof made === 'string' ? [] : made.functions.map((u) => [u.name, u]),
    );
    const out: KernelMeasure[] = [];
    for (const fn of program.functions) {
      if (fn.kind !== 'entry') continue;
      this.opts.tell?.(fn.name);
      const other = like.find((x) => x.kernel === fn.name)?.launches ?? [];
      const runs = await this.launches(program, fn, plan, other);
      const start: LaunchShape = runs[0]?.start ?? {};
      const use = uses.get(fn.name);
      const machine = use === undefined ? [] : await this.machineRuns(made as AssembledModule, plan, runs);
      out.push({
        kernel: fn.name,
        values: {
          ...staticValues(program, fn, plan.backend, start, this.opts.profile),
          ...dynamicValues(program, fn, plan, runs),
          ...(use !== undefined && {
            ...ptxasValues(use),
            'ptxas.occupancy': residentPercent(plan.backend, blockUse(program, fn, use.registers, start)),
          }),
          ...machineValues(machine),
        },
        launches: [
          ...runs.map((r) => r.outcome),
          ...machine.flatMap((m) => (m.outcome.ok ? [] : [m.outcome])),
        ],
        refused,
      });
    }
    return out;
  }

  /** The launches that ran as they should, run again with machine code; empty unless all of them can be. */
  private async machineRuns(
    made: AssembledModule,
    plan: Plan,
    runs: readonly Run[],
  ): Promise<MachineOutcome[]> {
    const machine = this.opts.ptxas?.machine;
    if (machine === undefined || this.ptx === null || runs.some((r) => !r.outcome.ok)) return [];
    const target = baseTarget(assembledFor(this.ptx, plan));
    const out: MachineOutcome[] = [];
    for (const { launch, outcome } of runs) {
      const budget = Math.max(LEAST_BUDGET, MOST_TIMES * outcome.executed);
      const counts = await machine({ cubin: made.cubin, target, input: this.input, plan, launch, budget });
      if (counts === null) return [];
      const { why, executed } = counts;
      const file = `${outcome.file}, machine code`;
      out.push({ counts, outcome: { ...outcome, file, ok: why === '', why, executed } });
    }
    return out;
  }

  private assemble(program: Program, plan: Plan): AssembledModule | string | null {
    const { ptxas, table } = this.opts;
    if (ptxas === undefined || table === undefined || this.ptx === null) return null;
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
        launch,
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

/** The target for ptxas: that of the plan if the module's PTX may run on it, otherwise that of the module. */
function assembledFor({ target: [named] }: PtxModule, plan: Plan): string {
  if (named === undefined) return plan.sm;
  const portable = /^sm_(\d+)$/.exec(named);
  const wanted = Number(plan.sm.slice('sm_'.length));
  return portable !== null && wanted > Number(portable[1]) ? plan.sm : named;
}

/** Hash of everything that measurements depend on besides the program: the facts of the target and the meanings of opcodes. */
const worldOf = memo((plan: Plan): string =>
  hashText(JSON.stringify(plan.backend.facts), `${plan.sm}|${plan.isa.hash}`),
);

interface Run {
  readonly launch: LoadedLaunch;
  readonly start: LaunchShape;
  /** Number of thread blocks. */
  readonly grid: number;
  readonly result: LaunchResult;
  readonly outcome: LaunchOutcome;
}

interface MachineOutcome {
  readonly counts: MachineCounts;
  readonly outcome: LaunchOutcome;
}

/** Counts of machine code over all launches of a kernel; empty if there are none. */
function machineValues(runs: readonly MachineOutcome[]): Values {
  if (runs.length === 0) return {};
  const sum = (of: (c: MachineCounts) => number): number => runs.reduce((n, r) => n + of(r.counts), 0);
  return { 'machine.executed': sum((c) => c.executed), 'machine.stalls': sum((c) => c.stalls) };
}

/** Event counts over all launches of a kernel; empty if there are none. */
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

/** Compile-time metrics of a run: time in milliseconds and memory in KB. Both are absent if a result came from a cache. */
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
