import { match } from 'ts-pattern';
import type { Gate } from './plan.ts';

/** One condition of a gate. */
export type GateCondition =
  | { readonly asks: 'levels'; readonly levels: readonly number[] }
  | { readonly asks: 'unset' | 'set' | 'nonzero' | 'budget'; readonly knob: string }
  | { readonly asks: 'fact'; readonly path: string; readonly equals: unknown };

/**
 * The conditions for a gate to be open, in the order of evaluation. Budgets come last because testing one takes a unit of it: a gate that
 * another condition closes must not consume any.
 */
export function conditionsOf(gate: Gate): readonly GateCondition[] {
  let conditions = cached.get(gate);
  if (conditions === undefined) {
    conditions = [
      ...(gate.levels === null ? [] : [{ asks: 'levels', levels: gate.levels } as const]),
      ...gate.unset.map((knob) => ({ asks: 'unset', knob }) as const),
      ...gate.set.map((knob) => ({ asks: 'set', knob }) as const),
      ...gate.nonzero.map((knob) => ({ asks: 'nonzero', knob }) as const),
      ...gate.facts.map((f) => ({ asks: 'fact', ...f }) as const),
      ...gate.budget.map((knob) => ({ asks: 'budget', knob }) as const),
    ];
    cached.set(gate, conditions);
  }
  return conditions;
}

/** Gates are evaluated once for each phase and program. */
const cached = new WeakMap<Gate, readonly GateCondition[]>();

/** A condition in short form, for tables. */
export const conditionText = (condition: GateCondition): string =>
  match(condition)
    .with({ asks: 'levels' }, (c) => `level ${rangeText(c.levels)}`)
    .with({ asks: 'unset' }, (c) => `${c.knob} unset`)
    .with({ asks: 'set' }, (c) => `${c.knob} set`)
    .with({ asks: 'nonzero' }, (c) => `${c.knob} not 0`)
    .with({ asks: 'fact' }, (c) => `${c.path} ${JSON.stringify(c.equals)}`)
    .with({ asks: 'budget' }, (c) => `budget ${c.knob}`)
    .exhaustive();

/** Levels in short form: `2..5` if they are contiguous, `1, 3` otherwise. */
export function rangeText(levels: readonly number[]): string {
  const s = [...levels].sort((a, b) => a - b);
  const contiguous = s.every((v, i) => i === 0 || v === s[i - 1] + 1);
  return contiguous && s.length > 1 ? `${s[0]}..${s[s.length - 1]}` : s.join(', ');
}
