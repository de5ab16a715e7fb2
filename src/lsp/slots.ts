import type { Category } from './names.ts';

/*
 * Where names stand in specs. A pattern is a path in the data of a kind, with `*` for any element of a list or value of a map, and `{}` for
 * the keys of a map. Completion, hover, definition, renaming and the schemas with names are derived from it.
 */

/** Steps of hooks and of rows of the phase table, whose repetitions hold further steps. */
const steps = (at: string): readonly Slot[] => [
  [`${at}/*/pass`, 'pass'],
  [`${at}/*/rules/*`, 'group'],
  [`${at}/*/use`, 'step-list'],
  [`${at}/*/leastCost`, 'knob'],
  [`${at}/*/repeat/*/pass`, 'pass'],
  [`${at}/*/repeat/*/rules/*`, 'group'],
  [`${at}/*/repeat/*/use`, 'step-list'],
];

/** A pattern, and what the names there stand for. */
export type Slot = readonly [pattern: string, category: Category];

const recipePart = (at: string): readonly Slot[] => [
  [`${at}sm/*`, 'target'],
  [`${at}knobs/{}`, 'knob'],
  [`${at}hooks/{}`, 'hook'],
  ...steps(`${at}hooks/*`),
  [`${at}phases/disable/*`, 'phase'],
  [`${at}phases/enable/*`, 'phase'],
];

export const SLOTS: Readonly<Record<string, readonly Slot[]>> = {
  order: [
    ['extends', 'order'],
    ['phases/*', 'phase'],
    ['phases/*/phase', 'phase'],
    ...['move', 'replace', 'with', 'drop', 'repeat', 'through', 'insert', 'before', 'after'].map(
      (k): Slot => [`edits/*/${k}`, 'phase'],
    ),
    ['edits/*/insertPass', 'pass'],
    ['edits/*/insertRules', 'group'],
  ],
  recipe: [
    ['extends', 'recipe'],
    ['extends/*', 'recipe'],
    ...recipePart(''),
    ...recipePart('parts/*/'),
    ['measured/kernels/*/values/{}', 'metric'],
  ],
  'knob-set': [['knobs/{}', 'knob']],
  constraints: [
    ['constraints/*/before', 'phase'],
    ['constraints/*/after', 'phase'],
  ],
  knobs: [['knobs/*/readers/*', 'phase']],
  rules: [
    ['owner/*', 'phase'],
    ['rules/*/owner/*', 'phase'],
  ],
  experiment: [
    ['base/sm', 'target'],
    ['base/order', 'order'],
    ['base/recipe', 'recipe'],
    ['base/recipe/*', 'recipe'],
    ['base/knob-sets/*', 'knob-set'],
    ['base/set/{}', 'knob'],
    ['base/disable/*', 'phase'],
    ['base/rules/*', 'group'],
    ['factors/knobs/{}', 'knob'],
    ['factors/switches/*', 'phase'],
    ['factors/positions/{}', 'phase'],
    ['factors/positions/*/*/before', 'phase'],
    ['factors/positions/*/*/after', 'phase'],
    ['metrics/*', 'metric'],
    ['constraints/*/metric', 'metric'],
  ],
  budget: [
    ['limits/*/metric', 'metric'],
    ['limits/*/unless', 'metric'],
  ],
  phases: [
    ...steps('stepLists/*'),
    ...steps('phases/*/steps'),
    ['phases/*/knobs/*', 'knob'],
    ...['unset', 'set', 'nonzero', 'budget'].map((k): Slot => [`phases/*/gate/${k}/*`, 'knob']),
    ['phases/*/gate/only/knob', 'knob'],
    ['phases/*/gate/also/knob', 'knob'],
    ['phases/*/gate/facts/*/path', 'fact'],
    ['phases/*/ruleBudget', 'knob'],
    ['phases/*/facts/*', 'fact'],
    ...['requires', 'provides', 'destroys'].map((k): Slot => [`phases/*/${k}/*`, 'property']),
    ['phases/*/worker', 'phase'],
  ],
  backend: [
    ['extends', 'backend'],
    ['knobs/{}', 'knob'],
    ['hooks/{}', 'hook'],
    ...steps('hooks/*'),
    ['recipe/default', 'recipe'],
    ['uniform/operations/*', 'opcode'],
    ['uniform/readers/*', 'opcode'],
    ['operations/{}', 'opcode'],
    ['sources/{}', 'fact'],
    ['doubts/{}', 'fact'],
  ],
  'ptxas-faults': [['faults/*/targets/*', 'target']],
  ptx: [['opcodes/{}', 'opcode']],
};

/** Places where a spec defines a name: pattern, and what it stands for. */
export const DEFINES: Readonly<Record<string, readonly Slot[]>> = {
  phases: [
    ['phases/*/name', 'phase'],
    ['properties/{}', 'property'],
    ['stepLists/{}', 'step-list'],
  ],
  knobs: [['knobs/{}', 'knob']],
  isa: [['opcodes/{}', 'opcode']],
  backend: [['name', 'backend']],
  rules: [['group', 'group']],
};

export type Path = readonly (string | number)[];

/**
 * Whether a path fits a pattern.
 *
 * @param isKey whether the last step of the path is meant as a key, not as the value behind it
 */
export function fits(pattern: string, path: Path, isKey: boolean): boolean {
  const parts = pattern.split('/');
  if (parts.length !== path.length) return false;
  if ((parts.at(-1) === '{}') !== isKey) return false;
  return parts.every((p, i) => p === '*' || p === '{}' || p === String(path[i]));
}

/** The slots of a kind; a text may call its kind anything. */
export const slotsOf = (kind: string, table: Readonly<Record<string, readonly Slot[]>>): readonly Slot[] =>
  Object.hasOwn(table, kind) ? table[kind] : [];

/** What the name at a path stands for; undefined if no name is expected there. */
export const categoryAt = (
  kind: string,
  path: Path,
  isKey: boolean,
  table: Readonly<Record<string, readonly Slot[]>> = SLOTS,
): Category | undefined => slotsOf(kind, table).find(([pattern]) => fits(pattern, path, isKey))?.[1];
