import { factOf } from '../spec/backend.ts';
import { type Plan, stepData } from '../spec/plan.ts';
import { knobValueText } from './why.ts';

/** One thing in which two plans differ. */
export interface PlanDifference {
  readonly kind: 'knob' | 'phase' | 'order' | 'level' | 'target' | 'fact' | 'rules' | 'opcodes';
  /** Knob, phase, fact or rule group; '' where there is only one of it. */
  readonly name: string;
  readonly a: string;
  readonly b: string;
}

/** Everything in which two plans differ that can make a difference. */
export function planDifferences(a: Plan, b: Plan): PlanDifference[] {
  if (a.hash === b.hash) return [];
  const out: PlanDifference[] = [];
  const say = (kind: PlanDifference['kind'], name: string, x: string, y: string): void => {
    if (x !== y) out.push({ kind, name, a: x, b: y });
  };
  say('level', '', `-O${a.level}`, `-O${b.level}`);
  say('target', '', a.sm, b.sm);
  for (const name of new Set([...a.knobs.keys(), ...b.knobs.keys()]))
    say('knob', name, knobValueText(a, name), knobValueText(b, name));
  if (a.sm === b.sm)
    for (const path of new Set([...a.backend.origins.keys(), ...b.backend.origins.keys()]))
      say('fact', path, factText(a, path), factText(b, path));
  const others = new Map(b.phases.map((p) => [p.id, p]));
  const state = (p: Plan['phases'][number] | undefined): string =>
    p === undefined
      ? 'not in the order'
      : p.disabled !== null
        ? 'off'
        : `on${JSON.stringify([p.steps.map(stepData), p.gate, p.noOp])}`;
  for (const p of a.phases) {
    const [x, y] = [state(p), state(others.get(p.id))];
    if (x !== y)
      say(
        'phase',
        p.id,
        shortly(x),
        x.startsWith('on') && y.startsWith('on') ? 'bound otherwise' : shortly(y),
      );
  }
  const here = new Set(a.phases.map((p) => p.id));
  for (const p of b.phases) if (!here.has(p.id)) say('phase', p.id, 'not in the order', shortly(state(p)));
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
  return out;
}

/** Where a phase stands: its position, and the phase before it. */
function placeText(p: Plan, id: string): string {
  const at = p.phases.findIndex((x) => x.id === id);
  return at === 0 ? 'first' : `${at}, after ${p.phases[at - 1].id}`;
}

/**
 * The fewest phases that have to be moved to make the order of one plan that of the other: those outside of a longest run of
 * phases that both have in the same order (patience sorting).
 */
function movedPhases(a: Plan, b: Plan): string[] {
  const place = new Map(b.phases.map((p, i) => [p.id, i]));
  const common = a.phases.map((p) => p.id).filter((id) => place.has(id));
  const at = common.map((id) => place.get(id)!);
  const tails: number[] = [];
  const before = new Int32Array(at.length).fill(-1);
  for (let i = 0; i < at.length; i++) {
    let lo = 0;
    for (let hi = tails.length; lo < hi; ) {
      const mid = (lo + hi) >> 1;
      if (at[tails[mid]] < at[i]) lo = mid + 1;
      else hi = mid;
    }
    if (lo > 0) before[i] = tails[lo - 1];
    tails[lo] = i;
  }
  const kept = new Set<number>();
  for (let i = tails.at(-1) ?? -1; i >= 0; i = before[i]) kept.add(i);
  return common.filter((_, i) => !kept.has(i));
}

const factText = (p: Plan, path: string): string => {
  const v = factOf(p.backend, path);
  return v === undefined ? 'unset' : JSON.stringify(v);
};

const shortly = (state: string): string => (state.startsWith('on') ? 'on' : state);
