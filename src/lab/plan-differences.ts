import { factOf } from '../spec/backend.ts';
import { type Plan, stepData } from '../spec/plan.ts';
import { knobValueText } from './why.ts';

/** One thing in which two plans differ. */
export interface PlanDifference {
  readonly kind: 'knob' | 'phase' | 'order' | 'level' | 'target' | 'fact' | 'rules' | 'opcodes';
  /** Knob, phase or rule group; '' where there is only one of it. */
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
  const order = (p: Plan, q: Plan): string => {
    const both = new Set(q.phases.map((x) => x.id));
    return p.phases
      .map((x) => x.id)
      .filter((id) => both.has(id))
      .join(' ');
  };
  if (order(a, b) !== order(b, a))
    say('order', '', a.order, a.order === b.order ? `${b.order} (changed)` : b.order);
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

const factText = (p: Plan, path: string): string => {
  const v = factOf(p.backend, path);
  return v === undefined ? 'unset' : JSON.stringify(v);
};

const shortly = (state: string): string => (state.startsWith('on') ? 'on' : state);
