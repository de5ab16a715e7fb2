import { type Tests, testOfMode, testOfWhen, type When } from './conditions.ts';
import type { SpecFile } from './document.ts';
import { below, type Issues, type Spot } from './issues.ts';
import type { Origin } from './plan.ts';
import type { StepSpec } from './steps.ts';

/** The settings of a recipe, of a part of one, or of a knob set. */
export interface LayerData {
  readonly level?: number;
  readonly knobs?: Readonly<Record<string, unknown>>;
  readonly hooks?: Readonly<Record<string, readonly StepSpec[]>>;
  readonly phases?: { readonly enable?: readonly string[]; readonly disable?: readonly string[] };
}

/** Settings from one source, and the functions that they apply to. A plan has several layers; later ones win. */
export interface Layer {
  readonly source: 'recipe' | 'knob-set' | 'command-line';
  /** Name of the recipe or knob set. */
  readonly name: string;
  readonly at: Spot;
  readonly data: LayerData;
  /** Indices of the plan's tests that must all hold for a function; empty: all functions. */
  readonly tests: readonly number[];
}

/** The origin of a setting at a path inside a layer. */
export const originIn = (layer: Layer, ...path: (string | number)[]): Origin => ({
  source: layer.source,
  file: layer.at.file?.file ?? '',
  path: [...layer.at.path, ...path],
});

/** The layers whose tests are all in a set. */
export const holding = (layers: readonly Layer[], tests: ReadonlySet<number>): readonly Layer[] =>
  layers.every((l) => l.tests.length === 0)
    ? layers
    : layers.filter((l) => l.tests.every((t) => tests.has(t)));

/** Indices of the tests of a `when`; they are added to `tests`. */
export const testsOfWhen = (when: When | undefined, tests: Tests): readonly number[] =>
  when === undefined ? [] : [tests.add(testOfWhen(when))];

/** Indices of the tests of an application mode; they are added to `tests`. */
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

/** True if a `--set` text is a WHEN record, which sets knobs for functions with a given hash. */
export const isWhenText = (text: string): boolean => WHEN.test(text);

/** Assignments for the functions with a hash; null: for all functions. */
export interface WhenRecord {
  readonly hash: string | null;
  readonly assignments: readonly string[];
}

/**
 * Parses `WHEN=SH=<hash>;A=1~B=2`, where `~` separates records. A record that begins with `SH=<hash>;` applies to functions with that hash,
 * as do the records after it up to the next such prefix. `K=` begins records for all functions (reference knobs, sources).
 *
 * @returns empty, with an issue, if the text is malformed
 */
export function whenRecords(text: string, at: Spot, issues: Issues): WhenRecord[] {
  const out: { hash: string | null; assignments: string[] }[] = [];
  let hasPrefix = false;
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
          `'${text}' names the hash of an instruction, which no knob here supports`,
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
            end < 0 ? `'${text}' sets no knob` : `'${hash}' in '${text}' is not the hash of a function`,
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
      hasPrefix = true;
    }
    if (!hasPrefix) {
      issues.error(at, 'knob-when', `'${text}' names no functions: it must begin with SH=<hash>; or K=`, {
        notes: ['--set "WHEN=SH=<32 hexadecimal digits>;NAME=VALUE~NAME=VALUE"'],
      });
      return [];
    }
    if (rest !== '') out.at(-1)!.assignments.push(rest);
  }
  return out;
}

/** The location of a path inside a layer. */
export const inLayer = (layer: Layer, ...path: (string | number)[]): Spot => below(layer.at, ...path);
