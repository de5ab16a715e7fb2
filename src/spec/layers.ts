import { type Tests, testOfMode, testOfWhen, type When } from './conditions.ts';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import type { Origin } from './plan.ts';
import type { StepSpec } from './steps.ts';

/** What a recipe, a part of one, or a knob set says. */
export interface LayerData {
  readonly level?: number;
  readonly knobs?: Readonly<Record<string, unknown>>;
  readonly hooks?: Readonly<Record<string, readonly StepSpec[]>>;
  readonly phases?: { readonly enable?: readonly string[]; readonly disable?: readonly string[] };
}

/** Settings from one place, and the functions that they are for. A plan has several; later ones win. */
export interface Layer {
  readonly source: 'recipe' | 'knob-set' | 'command-line';
  /** Name of the recipe or knob set. */
  readonly name: string;
  readonly at: Spot;
  readonly data: LayerData;
  /** Tests that must all hold, by their places in the plan; none: all functions. */
  readonly tests: readonly number[];
}

/** Origin of what a layer says at a path below it. */
export const originIn = (layer: Layer, ...path: (string | number)[]): Origin => ({
  source: layer.source,
  file: layer.at.file?.file ?? '',
  path: [...layer.at.path, ...path],
});

/** Layers of which all tests are among these. */
export const holding = (layers: readonly Layer[], tests: ReadonlySet<number>): readonly Layer[] =>
  layers.every((l) => l.tests.length === 0)
    ? layers
    : layers.filter((l) => l.tests.every((t) => tests.has(t)));

/** The tests of a `when`. */
export const testsOfWhen = (when: When | undefined, tests: Tests): readonly number[] =>
  when === undefined ? [] : [tests.add(testOfWhen(when))];

/** The tests of an application mode. */
export const testsOfMode = (mode: number, tests: Tests): readonly number[] => {
  const test = testOfMode(mode);
  return test === null ? [] : [tests.add(test)];
};

/** The layer of a knob set. */
export const knobSetLayer = (file: SpecFile, name: string, tests: Tests): Layer => ({
  source: 'knob-set',
  name,
  at: { file, path: [] },
  data: { knobs: file.data.knobs as LayerData['knobs'] },
  tests: testsOfWhen(file.data.when as When | undefined, tests),
});

const WHEN = /^\s*WHEN\s*=/i;
const HASH = /^[0-9a-f]{32}$/;

/** Whether a text of the command line is a record of knobs for functions of a hash. */
export const isWhenText = (text: string): boolean => WHEN.test(text);

/** Assignments of the command line for functions of a hash. */
export interface WhenRecord {
  readonly hash: string | null;
  readonly assignments: readonly string[];
}

/**
 * `WHEN=SH=<hash>;A=1~B=2`: records between `~`. One that begins with `SH=<hash>;` is for functions of that hash, as are those after it up
 * to the next; `K=` begins those that are for all (reference knobs, sources).
 */
export function whenRecords(text: string, at: Spot, issues: Issues): WhenRecord[] {
  const out: { hash: string | null; assignments: string[] }[] = [];
  let said = false;
  for (const part of text.replace(WHEN, '').split('~')) {
    let rest = part.trim();
    const head = /^(SH|IH|K)\s*=\s*/i.exec(rest);
    if (head !== null) {
      const kind = head[1].toUpperCase();
      rest = rest.slice(head[0].length);
      if (kind === 'IH') {
        issues.error(
          at,
          'knob-when',
          `'${text}' asks for the hash of an instruction, which no knob here has`,
          {
            notes: ['SH= names the hash of a function: `orrery recipes FILE` prints it'],
          },
        );
        return [];
      }
      if (kind === 'K') out.push({ hash: null, assignments: [] });
      else {
        const end = rest.indexOf(';');
        const hash = (end < 0 ? rest : rest.slice(0, end)).trim().toLowerCase().replace(/^0x/, '');
        if (!HASH.test(hash) || end < 0) {
          issues.error(
            at,
            'knob-when',
            end < 0 ? `'${text}' sets no knob` : `'${hash}' in '${text}' is no hash of a function`,
            {
              notes: [
                '--set "WHEN=SH=<32 hexadecimal digits>;NAME=VALUE~NAME=VALUE"; `orrery recipes FILE` prints hashes',
              ],
            },
          );
          return [];
        }
        out.push({ hash, assignments: [] });
        rest = rest.slice(end + 1).trim();
      }
      said = true;
    }
    if (!said) {
      issues.error(at, 'knob-when', `'${text}' does not say for what: it begins with SH=<hash>; or K=`, {
        notes: ['--set "WHEN=SH=<32 hexadecimal digits>;NAME=VALUE~NAME=VALUE"'],
      });
      return [];
    }
    if (rest !== '') out.at(-1)!.assignments.push(rest);
  }
  return out;
}

/** Place of a part of a layer. */
export const inLayer = (layer: Layer, ...path: (string | number)[]): Spot => below(layer.at, ...path);
