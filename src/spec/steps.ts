import { match, P } from 'ts-pattern';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import type { Origin, PassStep, RulesStep, Step } from './plan.ts';
import type { PhasesSpec } from './types.generated.ts';

/** A step as written in a phase row, a step list or a recipe's hook. */
export type StepSpec = PhasesSpec.Step;
type Lists = Readonly<Record<string, readonly StepSpec[]>>;

/** Named step lists of the phase table. */
export const stepLists = (phases: SpecFile): Lists => (phases.data.stepLists ?? {}) as Lists;

/** Every pass and rule step of a list, in order, with named lists and repetitions expanded. */
export function eachStep(list: readonly StepSpec[], phases: SpecFile, visit: (s: StepSpec) => void): void {
  const lists = stepLists(phases);
  const walk = (steps: readonly StepSpec[], open: readonly string[]): void => {
    for (const s of steps) {
      if (s.use !== undefined) {
        if (!open.includes(s.use)) walk(lists[s.use] ?? [], [...open, s.use]);
      } else if (s.repeat !== undefined) walk(s.repeat, open);
      else visit(s);
    }
  };
  walk(list, []);
}

/**
 * The steps of a list, with named lists expanded. Reports to `issues` a name that is not a step list, a list that contains itself, and
 * a repetition inside a repetition.
 *
 * @param phases the phase table, which defines the named lists
 * @param at where the list stands
 * @param source what kind of spec that is, for the origin of each step
 */
export function stepsOf(
  list: readonly StepSpec[],
  phases: SpecFile,
  at: Spot,
  source: string,
  issues: Issues,
): Step[] {
  const originOf = (spot: Spot): Origin => ({ source, file: spot.file?.file ?? '', path: spot.path });
  const lists = stepLists(phases);
  const open: string[] = [];
  const named = (name: string, spot: Spot, repeated: boolean): Step[] => {
    const steps = lists[name];
    if (steps === undefined) {
      const known = Object.keys(lists);
      const what = `there is no step list '${name}'`;
      issues.unknown(spot, 'unknown-steps', what, name, known, `step lists are ${known.join(', ')}`);
      return [];
    }
    if (open.includes(name)) {
      issues.error(spot, 'steps-cycle', `step list '${name}' uses itself`);
      return [];
    }
    open.push(name);
    const out = flat(steps, { file: phases, path: ['stepLists', name] }, repeated);
    open.pop();
    return out;
  };
  const nested = (spot: Spot): Step[] => {
    issues.error(spot, 'repeat-nested', 'steps that are repeated cannot repeat steps', {
      key: true,
      notes: ['put the inner steps beside the others: all of them run in every round'],
    });
    return [];
  };
  const flat = (steps: readonly StepSpec[], here: Spot, repeated: boolean): Step[] =>
    steps.flatMap((s, i): Step[] => {
      const spot = below(here, i);
      const origin = originOf(spot);
      return match<StepSpec, Step[]>(s)
        .with({ use: P.string }, ({ use }) => named(use, below(spot, 'use'), repeated))
        .with({ repeat: P.nonNullable }, (x) => {
          if (repeated) return nested(below(spot, 'repeat'));
          const inner = flat(x.repeat, below(spot, 'repeat'), true) as (PassStep | RulesStep)[];
          return [{ kind: 'repeat', rounds: x.rounds ?? 1, steps: inner, origin }];
        })
        .with({ pass: P.string }, (x) => [{ kind: 'pass', pass: x.pass, params: x.params ?? {}, origin }])
        .otherwise((x) => [{ kind: 'rules', groups: x.rules ?? [], origin }]);
    });
  return flat(list, at, false);
}

/**
 * Adds rule groups to steps. They join the first step that runs rules, so that all are tried together; without such a step they become
 * one of their own at the end.
 */
export function withGroups(steps: readonly Step[], groups: readonly string[], origin: Origin): Step[] {
  if (groups.length === 0) return [...steps];
  let left = true;
  const joined = <S extends Step>(s: S): S => {
    if (!left) return s;
    if (s.kind === 'repeat') return { ...s, steps: s.steps.map(joined) };
    if (s.kind !== 'rules') return s;
    left = false;
    return { ...s, groups: [...new Set([...s.groups, ...groups])] };
  };
  const out = steps.map(joined);
  return left ? [...out, { kind: 'rules', groups, origin }] : out;
}
