import type { Journal, PhaseRecord } from '../engine/journal.ts';
import { counted } from '../ir/counts.ts';
import { isMap } from '../ir/data.ts';
import type { Fn, Program } from '../ir/program.ts';
import { printFn } from '../ir/text.ts';
import { factOf } from '../spec/backend.ts';
import { flatSteps, groupsOf, type Plan, type PlanPhase, stepData } from '../spec/plan.ts';
import { type DiffLine, diffLines } from './lines.ts';
import { movedPhases } from './moved-phases.ts';
import { paramDifferences } from './step-differences.ts';

/** The first phase after which two runs of one module have different programs. */
export interface Why {
  /** Id of the phase; 'lowering' if the programs differ before any phase. */
  readonly phase: string;
  /** What run A did there: 'changed 3 blocks', 'not run: disabled on the command line'. */
  readonly a: string;
  /** What run B did there. */
  readonly b: string;
  /** Differences of the plans that may be responsible: in the knobs and facts that the phase read, its steps, the level or its position. */
  readonly because: readonly string[];
  readonly diff: readonly DiffLine[];
}

/** Selects the functions of a kernel in a program. */
type View = (p: Program) => readonly Fn[];

const viewOf =
  (names: ReadonlySet<string>): View =>
  (p) =>
    p.functions.filter((f) => names.has(f.name));

/** Records of the phases that changed any of the functions, in order. */
const steps = (j: Journal, view: View): PhaseRecord[] => {
  const out: PhaseRecord[] = [];
  let before = j.input;
  for (const r of j.records) {
    if (r.program !== before && !same(view(r.program), view(before))) out.push(r);
    before = r.program;
  }
  return out;
};

/** Runs share results by contents, so that a function may be another object with the same code. */
const same = (a: readonly Fn[], b: readonly Fn[]): boolean =>
  a.length === b.length && a.every((f, i) => f === b[i] || onlyCounted(f, b[i]) || sameText(f, b[i]));

/** True if two functions differ only in profile counts. */
const onlyCounted = (f: Fn, g: Fn): boolean => f.blocks === g.blocks && f.attrs.counts !== g.attrs.counts;

/** Print options for comparing code only. */
const CODE = { locs: false, counts: false };

const sameText = (f: Fn, g: Fn): boolean => printFn(f, CODE) === printFn(g, CODE);

const equal = (a: readonly Fn[], b: readonly Fn[]): boolean =>
  a.length === b.length && a.every((f, i) => f === b[i] || sameText(f, b[i]));

/** True if two programs have the same code in the named functions. */
export const sameCode = (a: Program, b: Program, names: ReadonlySet<string>): boolean =>
  equal(viewOf(names)(a), viewOf(names)(b));

/**
 * Where two runs of a module first diverge for one kernel; null if the same phases change it in the same way.
 *
 * @param names names of the kernel's functions
 */
export function firstDifference(a: Journal, b: Journal, names: ReadonlySet<string>): Why | null {
  const view = viewOf(names);
  const [from, to] = [view(a.input), view(b.input)];
  if (!equal(from, to))
    return { phase: 'lowering', a: a.plan.sm, b: b.plan.sm, because: [], diff: diffOf(from, to) };
  const [x, y] = [steps(a, view), steps(b, view)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const [p, q] = [x[i], y[i]];
    if (
      p !== undefined &&
      q !== undefined &&
      p.phase.id === q.phase.id &&
      equal(view(p.program), view(q.program))
    )
      continue;
    const before = i === 0 ? a.input : x[i - 1].program;
    const phase = firstOf(p, q, a, b);
    const [u, v] = [phase === p?.phase.id ? p : null, phase === q?.phase.id ? q : null];
    const diff = diffOf(view(u?.program ?? before), view(v?.program ?? before));
    return whyOf(phase, u, v, diff, a, b, names);
  }
  return null;
}

/** Of two diverging steps, the phase that the other run skipped: the one that comes earlier in the other run's order. */
function firstOf(p: PhaseRecord | undefined, q: PhaseRecord | undefined, a: Journal, b: Journal): string {
  if (p === undefined) return q!.phase.id;
  if (q === undefined || p.phase.id === q.phase.id) return p.phase.id;
  const inB = b.records.findIndex((r) => r.phase.id === p.phase.id);
  const inA = a.records.findIndex((r) => r.phase.id === q.phase.id);
  if (inB >= 0 && inB < q.phase.position) return p.phase.id;
  if (inA >= 0 && inA < p.phase.position) return q.phase.id;
  // Each comes later in the other's order, so one of them was moved forward.
  return q.phase.position < p.phase.position ? q.phase.id : p.phase.id;
}

function whyOf(
  phase: string,
  p: PhaseRecord | null,
  q: PhaseRecord | null,
  diff: readonly DiffLine[],
  a: Journal,
  b: Journal,
  names: ReadonlySet<string>,
): Why {
  const inA = a.records.find((r) => r.phase.id === phase);
  const inB = b.records.find((r) => r.phase.id === phase);
  return {
    phase,
    a: did(p, inA, names),
    b: did(q, inB, names),
    because: reasons(inA, inB, a.plan, b.plan),
    diff,
  };
}

/** What a phase did to the functions of a kernel, as text. */
function did(step: PhaseRecord | null, there: PhaseRecord | undefined, names: ReadonlySet<string>): string {
  if (step !== null) return `changed ${counted(step.blocksChanged, 'block')}`;
  if (there === undefined) return 'not in the order';
  if (there.outcome === 'skipped') return `not run: ${there.why}`;
  const shut = there.shutFor.find((x) => names.has(x.fn));
  if (shut !== undefined) return `not run: ${shut.why}`;
  return there.blocksChanged === 0 ? 'changed nothing' : `at position ${there.phase.position}`;
}

/** The differences of two plans in what a phase read and in the phase itself. */
function reasons(x: PhaseRecord | undefined, y: PhaseRecord | undefined, a: Plan, b: Plan): string[] {
  const out: string[] = [];
  const names = (of: (r: PhaseRecord) => readonly string[]) => [
    ...new Set([...(x === undefined ? [] : of(x)), ...(y === undefined ? [] : of(y))]),
  ];
  for (const name of names((r) => r.knobsRead)) {
    const [u, v] = [knobValueText(a, name), knobValueText(b, name)];
    if (u !== v) out.push(`knob ${name}: ${u} -> ${v}`);
  }
  for (const path of names((r) => r.factsRead)) {
    out.push(...factChanges(path, factOf(a.backend, path), factOf(b.backend, path)));
  }
  if (x !== undefined && y !== undefined) out.push(...phaseReasons(x.phase, y.phase, a, b));
  return out;
}

/** The differing facts below a path, each with its full path. */
function factChanges(path: string, a: unknown, b: unknown): string[] {
  if (isMap(a) && isMap(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((k) =>
      factChanges(`${path}.${k}`, a[k], b[k]),
    );
  const [u, v] = [a, b].map((x) => (x === undefined ? 'unset' : JSON.stringify(x)));
  return u === v ? [] : [`${path}: ${u} -> ${v}`];
}

function phaseReasons(p: PlanPhase, q: PlanPhase, a: Plan, b: Plan): string[] {
  const out: string[] = [];
  const rules = (x: PlanPhase, plan: Plan) => groupsOf(x).map((g) => `${g}@${plan.rules.get(g)?.hash ?? ''}`);
  const [r, s] = [rules(p, a), rules(q, b)];
  const gone = r.filter((g) => !s.includes(g)).map((g) => g.split('@')[0]);
  const come = s.filter((g) => !r.includes(g)).map((g) => g.split('@')[0]);
  for (const g of gone) out.push(come.includes(g) ? `rule group ${g} changed` : `rule group ${g} left out`);
  for (const g of come) if (!gone.includes(g)) out.push(`rule group ${g} added`);
  const passes = (x: PlanPhase) =>
    JSON.stringify(flatSteps(x.steps).flatMap((t) => (t.kind === 'pass' ? [stepData(t)] : [])));
  const params = paramDifferences(flatSteps(p.steps), flatSteps(q.steps));
  if (passes(p) !== passes(q))
    out.push(params === null ? 'other passes are bound' : `parameters: ${params.join(' -> ')}`);
  else if (
    out.length === 0 &&
    JSON.stringify(p.steps.map(stepData)) !== JSON.stringify(q.steps.map(stepData))
  )
    out.push('its steps are in another order');
  if (a.level !== b.level) out.push(`level: ${a.level} -> ${b.level}`);
  // Phases that others pass have another position too, but have not moved.
  if (out.length === 0 && p.disabled === null && q.disabled === null && movedPhases(a, b).includes(p.id))
    out.push(`position: ${p.position} -> ${q.position}`);
  return out;
}

/**
 * A knob's value in a plan, for display.
 *
 * @param known texts for the functions that the plan applies to, which are then not repeated; none: all functions
 */
export function knobValueText(plan: Plan, name: string, known: readonly string[] = []): string {
  const k = plan.knobs.get(name);
  if (k === undefined || k.value === null) return 'unset';
  return `${JSON.stringify(k.value)}${k.when === null || known.includes(k.when) ? '' : ` for ${k.when}`}`;
}

/** The diffs of the functions that differ. */
function diffOf(a: readonly Fn[], b: readonly Fn[]): DiffLine[] {
  const out: DiffLine[] = [];
  for (const fn of a) {
    const other = b.find((f) => f.name === fn.name);
    if (other === fn) continue;
    out.push(
      ...diffLines(printFn(fn, { locs: false }), other === undefined ? '' : printFn(other, { locs: false })),
    );
  }
  return out;
}
