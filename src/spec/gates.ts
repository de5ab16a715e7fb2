import { match } from 'ts-pattern';
import type { Gate, GatePart } from './plan.ts';

/** One condition of a gate. */
export type GateCondition =
  | { readonly asks: 'levels'; readonly levels: readonly number[]; readonly also: Gate['also'] }
  | { readonly asks: 'only'; readonly knob: string; readonly levels: readonly number[] }
  | { readonly asks: 'unset' | 'set' | 'nonzero' | 'budget'; readonly knob: string }
  | { readonly asks: 'fact'; readonly path: string; readonly equals: unknown };

/** The parts of a gate in the order in which they are tested, unless the gate's `order` names some first. */
const PARTS = ['levels', 'only', 'unset', 'set', 'nonzero', 'facts', 'budget'] as const;

/**
 * The conditions for a gate to be open, in the order of evaluation. Budgets come last by default because testing one takes a unit of it: a
 * gate that another condition closes must not consume any, unless the original asks the budget first.
 */
export function conditionsOf(gate: Gate): readonly GateCondition[] {
  let conditions = cached.get(gate);
  if (conditions === undefined) {
    conditions = [...new Set([...gate.order, ...PARTS])].flatMap((part) => conditionsIn(gate, part));
    cached.set(gate, conditions);
  }
  return conditions;
}

const conditionsIn = (gate: Gate, part: GatePart): readonly GateCondition[] =>
  match(part)
    .returnType<readonly GateCondition[]>()
    .with('levels', () =>
      gate.levels === null ? [] : [{ asks: 'levels', levels: gate.levels, also: gate.also }],
    )
    .with('only', (asks) => (gate.only === null ? [] : [{ asks, ...gate.only }]))
    .with('facts', () => gate.facts.map((f) => ({ asks: 'fact', ...f })))
    .with('unset', 'set', 'nonzero', 'budget', (asks) => gate[asks].map((knob) => ({ asks, knob })))
    .exhaustive();

/** Gates are evaluated once for each phase and program. */
const cached = new WeakMap<Gate, readonly GateCondition[]>();

/** A condition in short form, for tables. */
export const conditionText = (condition: GateCondition): string =>
  match(condition)
    .with({ asks: 'levels' }, ({ levels, also }) => {
      const added = also === null ? '' : `, ${rangeText(also.levels)} if ${also.knob} is ${also.equals}`;
      return `level ${rangeText(levels)}${added}`;
    })
    .with({ asks: 'only' }, (c) => `level ${rangeText(c.levels)} if ${c.knob} is set`)
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
