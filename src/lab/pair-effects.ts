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

/** One side of a comparison: its plan, and what is measured of its programs. */
export interface Side {
  readonly plan: Plan;
  readonly measure: MeasureOptions;
}

/** What is to be found out beside measurements. */
export interface Asked {
  /** Rules whose applications are counted. */
  readonly rules: readonly string[];
  /** Opcodes of which it is asked whether a kernel has them. */
  readonly opcodes: readonly string[];
  /** A recipe of which it is asked to which kernels it applies. */
  readonly recipe: string | null;
  /** Whether kernels with the same code are measured too. */
  readonly all: boolean;
}

/** One kernel at base and head. */
export interface KernelEffect {
  readonly kernel: string;
  /** Whether both sides have the same code for it. */
  readonly same: boolean;
  /** Base and head; empty if it was not measured, because its code and everything that measurements depend on is the same. */
  readonly values: Readonly<Record<string, Pair<number>>>;
  /** Whether it does what it did before any phase; null if it was not run. */
  readonly equal: Pair<Equality> | null;
  /** The first difference between what its instructions mean at the base and at the head; '' if there is none. */
  readonly meaning: string;
  readonly why: Why | null;
  /** Rules and opcodes among those asked for that act on it. */
  readonly has: readonly string[];
  /** Whether the recipe asked for applies to it, or to a function that it calls, on either side; true if none is asked for. */
  readonly applied: boolean;
}

/** A module at base and head. */
export interface ModuleEffect {
  readonly kernels: readonly KernelEffect[];
  /** Why a side gives no result; '' if it does. */
  readonly fault: Pair<string>;
  /** Whether ptxas refuses what both sides make, and what it says. */
  readonly refused: string;
}

/** A module under one comparison after another; what they have in common is done once. */
export class EffectBench {
  readonly module: Module;
  private readonly bench: PairBench;

  constructor(module: Module) {
    this.module = module;
    this.bench = new PairBench(module);
  }

  /** What the module's kernels are under both sides. What a side makes of it may be a fault, which is part of the result. */
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

/** Do the same instructions mean and cost the same on both sides? */
const sameWorld = ([a, b]: Pair<Side>): boolean =>
  a.plan.sm === b.plan.sm &&
  a.plan.isa.hash === b.plan.isa.hash &&
  dataHash(a.plan.backend.facts) === dataHash(b.plan.backend.facts);

/** Have both sides as much room for warps, registers and shared memory? */
const sameLimits = ([a, b]: Pair<Side>): boolean =>
  dataHash(a.plan.backend.facts.limits ?? null) === dataHash(b.plan.backend.facts.limits ?? null);

/** Without shares of a multiprocessor: of two that hold more or less, such shares do not compare. */
const withoutShares = (values: KernelEffect['values']): KernelEffect['values'] =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !/(^|\.)occupancy$/.test(name)));

/** By kernel, what its instructions do otherwise where the sides differ in what opcodes mean. */
function meanings({ inputs: [a, b], plans }: Trial): (kernel: string) => string {
  if (plans[0].isa.hash === plans[1].isa.hash || paramBase(plans[0]) !== paramBase(plans[1])) return () => '';
  return (kernel) => {
    const found = judgeKernel(a.program, b.program, kernel, paramBase(plans[0]));
    return found.same ? '' : found.differences[0];
  };
}

/** By kernel, what is wrong with the PTX that the head's table gives, read back; null if nothing is. */
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
    const note = `the PTX that is written is no PTX: ${e.diagnostics[0].message}`;
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

/** By kernel, which of the rules and opcodes that are asked for act on it, on either side. */
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

/** Which opcodes occur in any of several programs, in functions with these names. */
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

/** By kernel, whether a side applies a recipe to it, or to a function that it calls. */
function receivers(t: Trial, recipe: string): (kernel: string) => boolean {
  const plans = [0, 1].map((i) => new FunctionPlans(t.plans[i], t.inputs[i].program));
  return (kernel) => {
    const names = [...namesOf(t, kernel)];
    return plans.some((p) =>
      names.some((name) => recipesFor(p, name).some((r) => r.name === recipe && r.holds)),
    );
  };
}

/** One side's numbers of a kernel. */
export const sideValues = ({ values }: KernelEffect, side: 0 | 1): Values =>
  Object.fromEntries(Object.entries(values).map(([name, pair]) => [name, pair[side]]));
