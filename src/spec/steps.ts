import { match, P } from 'ts-pattern';
import { entryOf } from '../ir/entry-of.ts';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import {
  flatSteps,
  type Origin,
  type PassStep,
  type RoundWeights,
  type RulesStep,
  type Step,
} from './plan.ts';
import type { PhasesSpec } from './types.generated.ts';

/** A step as written in a phase row, a step list or a recipe's hook. */
export type StepSpec = PhasesSpec.Step & { readonly inherited?: true };
type Lists = Readonly<Record<string, readonly StepSpec[]>>;

/** Named step lists of the phase table. */
export const stepLists = (phases: SpecFile): Lists => (phases.data.stepLists ?? {}) as Lists;

/** Every pass and rule step of a list, in order, with named lists and repetitions expanded. */
export function eachStep(list: readonly StepSpec[], phases: SpecFile, visit: (s: StepSpec) => void): void {
  const lists = stepLists(phases);
  const walk = (steps: readonly StepSpec[], open: readonly string[]): void => {
    for (const s of steps)
      match(s)
        .with({ use: P.string }, ({ use }) => {
          if (!open.includes(use)) walk(entryOf(lists, use) ?? [], [...open, use]);
        })
        .with({ repeat: P.nonNullable }, ({ repeat }) => walk(repeat, open))
        .otherwise(visit);
  };
  walk(list, []);
}

/** Weights for rows that state none, such as those of older commits. */
const PLAIN_WEIGHTS: RoundWeights = { full: 1, cheap: ['MOV', 'PLOP3'], 'many-uses': 4 };

/**
 * Expands a list of steps with its named lists. Reports to `issues` unknown step lists, lists that contain themselves, and nested
 * repetitions.
 *
 * @param phases the phase table, which defines the named lists
 * @param at the location of the list
 * @param source the kind of its spec, for the origin of each step
 * @param inherited the steps that replace a step `inherited`, which only hooks may have
 */
export function stepsOf(
  list: readonly StepSpec[],
  phases: SpecFile,
  at: Spot,
  source: string,
  issues: Issues,
  inherited: readonly Step[] = [],
): Step[] {
  const originOf = (spot: Spot): Origin => ({ source, file: spot.file?.file ?? '', path: spot.path });
  const lists = stepLists(phases);
  const open: string[] = [];
  const named = (use: string, spot: Spot, repeated: boolean): Step[] => {
    const steps = entryOf(lists, use);
    if (steps === undefined) {
      issues.unknown(
        below(spot, 'use'),
        'unknown-steps',
        `there is no step list '${use}'`,
        use,
        Object.keys(lists),
        `step lists are ${Object.keys(lists).join(', ')}`,
      );
      return [];
    }
    if (open.includes(use)) {
      issues.error(below(spot, 'use'), 'steps-cycle', `step list '${use}' uses itself`);
      return [];
    }
    open.push(use);
    const out = flat(steps, { file: phases, path: ['stepLists', use] }, repeated);
    open.pop();
    return out;
  };
  const ofHook = (spot: Spot, repeated: boolean): readonly Step[] => {
    if (inherited.length === 0)
      issues.warning(
        below(spot, 'inherited'),
        'hook-inherited',
        'there is nothing to inherit: no recipe before this one fills the hook, nor does the back end',
        { key: true },
      );
    return repeated ? flatSteps(inherited) : inherited;
  };
  const rounds = (x: StepSpec, spot: Spot, repeated: boolean): Step[] => {
    if (repeated) {
      issues.error(below(spot, 'repeat'), 'repeat-nested', 'steps that are repeated cannot repeat steps', {
        key: true,
        notes: ['put the inner steps beside the others: all of them run in every round'],
      });
      return [];
    }
    const steps = flat(x.repeat ?? [], below(spot, 'repeat'), true) as (PassStep | RulesStep)[];
    const { roundsBy = null, rounds: most = roundsBy === null ? 1 : null, leastCost = null } = x;
    const weights = leastCost === null ? null : (x.weights ?? PLAIN_WEIGHTS);
    return [{ kind: 'repeat', rounds: most, roundsBy, leastCost, weights, steps, origin: originOf(spot) }];
  };
  const flat = (steps: readonly StepSpec[], here: Spot, repeated: boolean): Step[] =>
    steps.flatMap((s, i): readonly Step[] => {
      const spot = below(here, i);
      const origin = originOf(spot);
      return match(s)
        .returnType<readonly Step[]>()
        .with({ use: P.string }, ({ use }) => named(use, spot, repeated))
        .with({ inherited: true }, () => ofHook(spot, repeated))
        .with({ repeat: P.nonNullable }, (x) => rounds(x, spot, repeated))
        .with({ pass: P.string }, ({ pass, params }) => [
          { kind: 'pass', pass, params: params ?? {}, origin },
        ])
        .otherwise(({ rules }) => [{ kind: 'rules', groups: rules ?? [], origin }]);
    });
  return flat(list, at, false);
}

/**
 * Adds rule groups to steps. They join the first step that runs rules, so that all are matched together. If there is no such step, they
 * form a step of their own at the end.
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
