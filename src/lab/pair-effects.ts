import { FunctionPlans } from '../engine/function-plans.ts';
import { inexactness } from '../engine/inexact.ts';
import type { Journal } from '../engine/journal.ts';
import { recipesFor } from '../engine/reads.ts';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import { dataHash } from '../ir/hash.ts';
import type { Program } from '../ir/program.ts';
import { judgeKernel } from '../judge/judge.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { paramBase, readPtx } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import { withoutSsa } from '../ssa/program.ts';
import type { Equality } from './equality.ts';
import type { Lowered, Module } from './kernels.ts';
import type { MeasureOptions } from './measure.ts';
import type { Values } from './metrics.ts';
import { comparedKernels, namesOf, type Pair, PairBench, type Trial, whyOf } from './pairs.ts';
import type { Why } from './why.ts';

/** One side of a comparison: its plan, and what to measure. */
export interface Side {
  readonly plan: Plan;
  readonly measure: MeasureOptions;
}

/** What to determine besides measurements. */
export interface Asked {
  /** Ids of rules; kernels to which one applies are marked. */
  readonly rules: readonly string[];
  /** Opcodes; kernels that contain one are marked. */
  readonly opcodes: readonly string[];
  /** A recipe; kernels to which it applies are marked. Null: none. */
  readonly recipe: string | null;
  /** True if kernels with the same code are measured too. */
  readonly all: boolean;
}

/** One kernel at base and head. */
export interface KernelEffect {
  readonly kernel: string;
  /** True if both sides have the same code for it. */
  readonly same: boolean;
  /** Values of base and head; empty if nothing that measurements depend on differs, so that it was not measured. */
  readonly values: Readonly<Record<string, Pair<number>>>;
  /** Whether it behaves as before any phase, for each side; null if it was not measured. */
  readonly equal: Pair<Equality> | null;
  /** The first difference in behaviour between the unoptimized kernel at base and at head, if opcodes changed their meaning; or ''. */
  readonly meaning: string;
  readonly why: Why | null;
  /** The requested rules that apply to it and the requested opcodes that it contains, on either side. */
  readonly has: readonly string[];
  /** True if the requested recipe applies to it or to a function that it calls, on either side, or if no recipe is requested. */
  readonly applied: boolean;
}

/** A module at base and head. */
export interface ModuleEffect {
  readonly kernels: readonly KernelEffect[];
  /** Why a side gives no result; '' if it gives one. */
  readonly fault: Pair<string>;
  /** The message of ptxas if it rejects the PTX of both sides; otherwise ''. */
  readonly refused: string;
}

/** Compares a module under several pairs of plans. Work that the pairs share is done once. */
export class EffectBench {
  readonly module: Module;
  private readonly bench: PairBench;

  constructor(module: Module) {
    this.module = module;
    this.bench = new PairBench(module);
  }

  /** Compares the module's kernels under both sides. An error of a side is part of the result and not thrown. */
  async run(sides: Pair<Side>, asked: Asked): Promise<ModuleEffect> {
    const base = this.attempt(sides[0].plan);
    const head = this.attempt(sides[1].plan);
    const fault = [faultOf(base), faultOf(head)] as const;
    if ('diagnostics' in base || 'diagnostics' in head) return { kernels: [], fault, refused: '' };
    const trial: Trial = {
      module: this.module,
      plans: [sides[0].plan, sides[1].plan],
      inputs: [base.input, head.input],
      journals: [base.journal, head.journal],
    };
    return { fault, ...(await this.effects(trial, sides, asked)) };
  }

  private attempt(plan: Plan): Attempt {
    try {
      const input = this.bench.input(plan);
      return { input, journal: this.bench.run(input, plan) };
    } catch (e) {
      if (e instanceof DiagnosticError) return { diagnostics: e.diagnostics };
      throw e;
    }
  }

  private async effects(t: Trial, sides: Pair<Side>, asked: Asked): Promise<Omit<ModuleEffect, 'fault'>> {
    const kernels = t.inputs[0].program.functions.filter((f) => f.kind === 'entry').map((f) => f.name);
    const whys = new Map(kernels.map((k) => [k, whyOf(t, k)]));
    const tables = sides.map((s) => s.measure.table);
    const otherTable = tables[0] !== tables[1];
    const run =
      asked.all || otherTable || !sameWorld(sides) || [...whys.values()].some((why) => why !== null);
    const measured = run ? await comparedKernels(t, [sides[0].measure, sides[1].measure]) : [];
    const meaning = meanings(t);
    const written = otherTable ? readBack(t, sides) : () => null;
    const has = actors(t, asked);
    const applied = asked.recipe === null ? () => true : receivers(t, asked.recipe);
    return {
      kernels: kernels.map((kernel) => {
        const m = measured.find((x) => x.kernel === kernel);
        const why = whys.get(kernel) ?? null;
        const wrong = written(kernel);
        return {
          kernel,
          same: why === null,
          values: sameLimits(sides) ? (m?.values ?? {}) : withoutShares(m?.values ?? {}),
          equal: m === undefined ? null : wrong === null || !m.equal[1].ok ? m.equal : [m.equal[0], wrong],
          meaning: meaning(kernel),
          why,
          has: has(kernel),
          applied: applied(kernel),
        };
      }),
      refused: measured.find((m) => m.refused !== '')?.refused ?? '',
    };
  }
}

type Attempt =
  | { readonly input: Lowered; readonly journal: Journal }
  | { readonly diagnostics: readonly Diagnostic[] };

function faultOf(a: Attempt): string {
  if (!('diagnostics' in a)) return '';
  const [first] = a.diagnostics.filter((d) => d.severity === 'error');
  const at = first.line > 0 ? ` (${first.file}:${first.line})` : '';
  return `${first.message}${at}`;
}

/** True if opcodes have the same meanings and costs on both sides. */
const sameWorld = ([a, b]: Pair<Side>): boolean =>
  a.plan.sm === b.plan.sm &&
  a.plan.isa.hash === b.plan.isa.hash &&
  dataHash(a.plan.backend.facts) === dataHash(b.plan.backend.facts);

/** True if both sides have the same limits on warps, registers and shared memory. */
const sameLimits = ([a, b]: Pair<Side>): boolean =>
  dataHash(a.plan.backend.facts.limits ?? null) === dataHash(b.plan.backend.facts.limits ?? null);

/** Values without occupancies, which are not comparable between targets with different limits. */
const withoutShares = (values: KernelEffect['values']): KernelEffect['values'] =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !/(^|\.)occupancy$/.test(name)));

/** For a kernel, the first difference in behaviour of the unoptimized programs of both sides; '' if the opcodes have the same meanings. */
function meanings({ inputs: [a, b], plans }: Trial): (kernel: string) => string {
  if (plans[0].isa.hash === plans[1].isa.hash || paramBase(plans[0]) !== paramBase(plans[1])) return () => '';
  return (kernel) => {
    const found = judgeKernel(a.program, b.program, kernel, paramBase(plans[0]));
    return found.same ? '' : found.differences[0];
  };
}

/** For a kernel, the difference if the PTX that the head writes is read back and compared with the input; null if there is none. */
function readBack(t: Trial, [, head]: Pair<Side>): (kernel: string) => Equality | null {
  const [, { program: input, ptx }] = t.inputs;
  const { plan, measure } = head;
  const { table } = measure;
  if (ptx === null || table === undefined) return () => null;
  const { text } = emitPtx(withoutSsa(t.journals[1].last, plan.isa), {
    table,
    paramBase: paramBase(plan),
    module: ptx,
    target: null,
  });
  let written: Program;
  try {
    written = readPtx(text, plan, t.module.file).program;
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    const note = `the PTX that is written is not PTX: ${e.diagnostics[0].message}`;
    return () => ({ ok: false, by: 'open world', note });
  }
  return (kernel) => {
    const found = judgeKernel(input, written, kernel, paramBase(plan), {
      inexact: inexactness(plan, input).length > 0,
    });
    return found.same
      ? null
      : { ok: false, by: 'open world', note: `as written in PTX: ${found.differences[0]}` };
  };
}

/** For a kernel, the requested rules that apply to it and the requested opcodes that it contains, on either side. */
function actors(t: Trial, { rules, opcodes }: Asked): (kernel: string) => string[] {
  if (rules.length === 0 && opcodes.length === 0) return () => [];
  const wanted = new Set(rules);
  const fired = new Map<string, Set<string>>();
  for (const j of t.journals)
    for (const r of j.records)
      for (const m of r.remarks)
        if (m.kind === 'passed' && wanted.has(m.name))
          fired.set(m.name, (fired.get(m.name) ?? new Set()).add(m.fn));
  const programs = new Set(t.journals.flatMap((j) => [j.input, ...j.records.map((r) => r.program)]));
  return (kernel) => {
    const names = namesOf(t, kernel);
    return [
      ...rules.filter((r) => [...(fired.get(r) ?? [])].some((fn) => names.has(fn))),
      ...opcodesOf(programs, names, opcodes),
    ];
  };
}

/** The opcodes of a list that occur in the named functions of any of the programs. */
function opcodesOf(
  programs: Iterable<Program>,
  names: ReadonlySet<string>,
  opcodes: readonly string[],
): string[] {
  const left = new Set(opcodes);
  const seen = new Set<object>();
  for (const p of programs)
    for (const f of p.functions)
      for (const b of left.size > 0 && names.has(f.name) ? f.blocks : []) {
        if (seen.has(b)) continue;
        seen.add(b);
        for (const i of b.ins) left.delete(i.op.name);
      }
  return opcodes.filter((o) => !left.has(o));
}

/** For a kernel, whether either side applies a recipe to it or to a function that it calls. */
function receivers(t: Trial, recipe: string): (kernel: string) => boolean {
  const plans = [0, 1].map((i) => new FunctionPlans(t.plans[i], t.inputs[i].program));
  return (kernel) => {
    const names = [...namesOf(t, kernel)];
    return plans.some((p) =>
      names.some((name) => recipesFor(p, name).some((r) => r.name === recipe && r.holds)),
    );
  };
}

/** The values of a kernel on one side. */
export const sideValues = ({ values }: KernelEffect, side: 0 | 1): Values =>
  Object.fromEntries(Object.entries(values).map(([name, pair]) => [name, pair[side]]));
