import { DiagnosticError } from '../ir/diagnostic.ts';
import { factOf } from '../spec/backend.ts';
import { conditionsOf, conditionText } from '../spec/gates.ts';
import { MANAGER_KNOB } from '../spec/knobs.ts';
import {
  flatSteps,
  groupsOf,
  type Plan,
  type PlanPhase,
  roundsText,
  type Step,
  stepData,
} from '../spec/plan.ts';
import { testSets } from '../spec/test-sets.ts';
import { movedPhases } from './moved-phases.ts';
import { paramDifferences } from './step-differences.ts';
import { knobValueText } from './why.ts';

/** One difference between two plans. */
export interface PlanDifference {
  readonly kind: 'knob' | 'phase' | 'order' | 'level' | 'target' | 'fact' | 'rules' | 'opcodes' | 'profile';
  /** Name of the knob, phase, fact or rule group; '' if the plan has only one of the kind. */
  readonly name: string;
  readonly a: string;
  readonly b: string;
}

/** A difference together with its context, from which its location in the specs can be found. */
export interface PlacedDifference {
  readonly difference: PlanDifference;
  /** The plans of the functions to which it applies, on both sides. */
  readonly plans: readonly [Plan, Plan];
  /**
   * For the kind 'phase': the phase in both plans (undefined if the order does not have it), and what differs: whether it is on, its steps,
   * or its gate. Null for all other kinds.
   */
  readonly phase: {
    readonly about: 'state' | 'steps' | 'gate';
    readonly a: PlanPhase | undefined;
    readonly b: PlanPhase | undefined;
  } | null;
}

/** All differences between two plans that can have an effect. */
export const planDifferences = (a: Plan, b: Plan): PlanDifference[] =>
  placedDifferences(a, b).map((d) => d.difference);

/** All differences between two plans that can have an effect, with their context. */
export function placedDifferences(a: Plan, b: Plan): PlacedDifference[] {
  if (a.hash === b.hash) return [];
  const out = differencesOf(a, b);
  /** For each difference, the sets of tests for which it is listed already. */
  const listed = new Map<string, (readonly string[])[]>(
    out.map(({ difference: d }) => [JSON.stringify(d), [[]]]),
  );
  // Differences for some functions only are listed if they are not implied by those for all functions, or for a superset.
  for (const texts of casesOf(a, b)) {
    const [x, y] = [planWhere(a, texts), planWhere(b, texts)];
    if (x === null || y === null) continue;
    const which = texts.join(', ');
    for (const { difference: d, phase } of differencesOf(x, y, [which, ...texts])) {
      const key = JSON.stringify(d);
      const known = listed.get(key) ?? [];
      if (known.some((c) => c.every((t) => texts.includes(t)))) continue;
      listed.set(key, [...known, texts]);
      out.push({
        difference: { ...d, a: `${d.a} (${which})`, b: `${d.b} (${which})` },
        plans: [x, y],
        phase,
      });
    }
  }
  return out;
}

/**
 * Sets of tests that may hold together, as texts: the cases of both plans, and compatible combinations, in which the order of recipes
 * matters.
 */
function casesOf(a: Plan, b: Plan): readonly (readonly string[])[] {
  const tests = [...new Map([...a.tests, ...b.tests].map((t) => [t.text, t])).values()];
  const place = new Map(tests.map((t, i) => [t.text, i]));
  const cases = [a, b].flatMap((p) => p.cases.map((c) => c.map((t) => place.get(p.tests[t].text)!)));
  return testSets(tests, cases).map((set) => set.map((t) => tests[t].text));
}

/** The plan of functions for which these tests hold; tests that the plan does not have are ignored. Null: that plan is illegal. */
function planWhere(p: Plan, texts: readonly string[]): Plan | null {
  try {
    return p.variant(p.tests.flatMap((t, i) => (texts.includes(t.text) ? [i] : [])));
  } catch (e) {
    if (e instanceof DiagnosticError) return null;
    throw e;
  }
}

/** @param which texts for the functions that both plans apply to; none: all functions */
function differencesOf(a: Plan, b: Plan, which: readonly string[] = []): PlacedDifference[] {
  const out: PlacedDifference[] = [];
  const say = (
    kind: PlanDifference['kind'],
    name: string,
    x: string,
    y: string,
    phase: PlacedDifference['phase'] = null,
  ): void => {
    if (x !== y) out.push({ difference: { kind, name, a: x, b: y }, plans: [a, b], phase });
  };
  say('level', '', `-O${a.level}`, `-O${b.level}`);
  say('target', '', a.sm, b.sm);
  // Knob 391 identifies recipes, which have an effect only by what they set.
  for (const name of new Set([...a.knobs.keys(), ...b.knobs.keys()]))
    if (name !== MANAGER_KNOB)
      say('knob', name, knobValueText(a, name, which), knobValueText(b, name, which));
  if (a.sm === b.sm)
    for (const path of new Set([...a.backend.origins.keys(), ...b.backend.origins.keys()]))
      say('fact', path, factText(a, path), factText(b, path));
  const others = new Map(b.phases.map((p) => [p.id, p]));
  for (const p of a.phases) {
    const q = others.get(p.id);
    if (q === undefined || p.disabled !== null || q.disabled !== null)
      say('phase', p.id, stateText(p), stateText(q), { about: 'state', a: p, b: q });
    else
      for (const [about, [x, y]] of bindingDifferences(p, q)) say('phase', p.id, x, y, { about, a: p, b: q });
  }
  const here = new Set(a.phases.map((p) => p.id));
  for (const p of b.phases)
    if (!here.has(p.id))
      say('phase', p.id, stateText(undefined), `${stateText(p)}, ${placeText(b, p.id)}`, {
        about: 'state',
        a: undefined,
        b: p,
      });
  for (const id of movedPhases(a, b)) say('order', id, placeText(a, id), placeText(b, id));
  for (const g of new Set([...a.rules.keys(), ...b.rules.keys()])) {
    const [x, y] = [a.rules.get(g)?.hash, b.rules.get(g)?.hash];
    if (x !== y)
      say(
        'rules',
        g,
        x === undefined ? 'not run' : 'run',
        y === undefined ? 'not run' : x === undefined ? 'run' : 'changed',
      );
  }
  say('opcodes', '', 'these', a.isa.hash === b.isa.hash ? 'these' : 'changed');
  const [x, y] = [profileText(a), profileText(b)];
  if (x === y && JSON.stringify(a.profile) !== JSON.stringify(b.profile)) say('profile', '', x, 'another');
  else say('profile', '', x, y);
  return out;
}

const profileText = ({ profile }: Plan): string =>
  profile === null ? 'none' : `of ${Object.keys(profile).length} functions`;

/** An order that drops a phase keeps it in the plan, switched off. */
const stateText = (p: PlanPhase | undefined): string =>
  p === undefined || p.disabled?.origin.source === 'order'
    ? 'not in the order'
    : p.disabled === null
      ? 'on'
      : 'off';

/** Texts for the steps, if they differ, and the gates of two phases with the same id. */
function bindingDifferences(
  p: PlanPhase,
  q: PlanPhase,
): (readonly ['steps' | 'gate', readonly [string, string]])[] {
  const steps = (x: PlanPhase) => JSON.stringify(x.steps.map(stepData));
  return [...(steps(p) === steps(q) ? [] : [['steps', stepTexts(p, q)] as const]), ['gate', gateTexts(p, q)]];
}

/** Texts for the steps of two phases. Only rule groups that the other lacks are named, because most phases run a dozen. */
function stepTexts(p: PlanPhase, q: PlanPhase): readonly [string, string] {
  const params = paramDifferences(flatSteps(p.steps), flatSteps(q.steps));
  if (params !== null) return params;
  const [x, y] = [p.steps.map(outline), q.steps.map(outline)];
  if (x.join('; ') !== y.join('; ')) return [x.join('; ') || 'nothing', y.join('; ') || 'nothing'];
  const only = (a: PlanPhase, b: PlanPhase) => {
    const own = groupsOf(a).filter((g) => !groupsOf(b).includes(g));
    return own.length === 0 ? 'without' : `rules ${own.join(', ')}`;
  };
  const [a, b] = [only(p, q), only(q, p)];
  return a === b ? ['its rule groups in one order', 'in another'] : [a, b];
}

/** A step as one line. */
export const outline = (s: Step): string =>
  s.kind === 'repeat'
    ? `${roundsText(s)} times (${s.steps.map(outline).join(', ')})`
    : s.kind === 'rules'
      ? 'rules'
      : `${s.pass}${Object.keys(s.params).length > 0 ? JSON.stringify(s.params) : ''}`;

/** The gates of two phases as texts; if only one of them has its hook filled, that it is. */
function gateTexts(p: PlanPhase, q: PlanPhase): readonly [string, string] {
  const [a, b] = [gateText({ ...p, noOp: false }), gateText({ ...q, noOp: false })];
  if (p.hook === null || p.noOp === q.noOp || a !== b) return [gateText(p), gateText(q)];
  const text = (x: PlanPhase) => (x.noOp ? 'skipped, its hook is empty' : `hook filled, runs ${a}`);
  return [text(p), text(q)];
}

/** The condition under which a phase runs, as text: 'always', or 'if' followed by the conditions. */
export function gateText({
  gate,
  noOp,
  roundAfter,
}: Pick<PlanPhase, 'gate' | 'noOp' | 'roundAfter'>): string {
  const parts = [
    ...conditionsOf(gate).map(conditionText),
    ...(noOp ? ['no-op'] : []),
    ...(roundAfter === null
      ? []
      : [`a change by ${[...new Set([roundAfter[0], roundAfter.at(-1)])].join(' to ')}`]),
  ];
  return parts.length === 0 ? 'always' : `if ${parts.join(' and ')}`;
}

/** The position of a phase as text: 'first' or 'after PHASE'. */
function placeText(p: Plan, id: string): string {
  const at = p.phases.findIndex((x) => x.id === id);
  return at === 0 ? 'first' : `after ${p.phases[at - 1].id}`;
}

const factText = (p: Plan, path: string): string => {
  const v = factOf(p.backend, path);
  return v === undefined ? 'unset' : JSON.stringify(v);
};
