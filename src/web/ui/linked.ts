import { isMap } from '../../ir/data.ts';
import type { Source } from '../recording.ts';

export const VIEWS = [
  'source',
  'code',
  'levels',
  'phases',
  'film',
  'graph',
  'registers',
  'compare',
  'run',
  'specs',
] as const;
export type View = (typeof VIEWS)[number];

/** Content of a pane: input PTX, output PTX, or a snapshot by number. */
export type Pane = 'ptx' | 'out' | number;

/** Content of a link. */
export interface Linked {
  readonly source?: Source;
  readonly view?: View;
  /** Id of the selected phase. */
  readonly phase?: string;
  readonly fn?: string;
  readonly panes?: readonly [Pane, Pane];
}

type Test = (x: unknown) => boolean;

const isText: Test = (x) => typeof x === 'string';
const areTexts: Test = (x) => Array.isArray(x) && x.every(isText);
const isWhole: Test = (x) => Number.isSafeInteger(x) && (x as number) >= 0;
const orNone =
  (test: Test): Test =>
  (x) =>
    x === null || test(x);
const maybe =
  (test: Test): Test =>
  (x) =>
    x === undefined || test(x);
const having =
  (parts: Readonly<Record<string, Test>>): Test =>
  (x) =>
    isMap(x) && Object.entries(parts).every(([key, test]) => test(x[key]));

const isPane: Test = (x) => x === 'ptx' || x === 'out' || isWhole(x);

const isLinked = having({
  source: maybe(
    having({
      file: isText,
      text: isText,
      documents: (x) => isMap(x) && Object.values(x).every(isText),
      request: having({
        level: orNone(isWhole),
        sm: orNone(isText),
        order: isText,
        recipes: areTexts,
        knobSets: areTexts,
        set: areTexts,
        disable: areTexts,
        rules: areTexts,
        nvopt: maybe(isWhole),
      }),
    }),
  ),
  view: maybe((x) => VIEWS.includes(x as View)),
  phase: maybe(isText),
  fn: maybe(isText),
  panes: maybe((x) => Array.isArray(x) && x.length === 2 && x.every(isPane)),
});

/**
 * Decodes the word of a link, which may come from anybody.
 *
 * @throws Error if it is not a valid link
 */
export function linkedIn(value: unknown): Linked {
  if (!isLinked(value)) throw new Error('this is not a link of the explorer');
  return value as Linked;
}
