import { match, P } from 'ts-pattern';
import { isMap } from '../ir/data.ts';
import { fileError, nearest } from '../ir/diagnostic.ts';
import { ARM_PARTS, ARM_WORDS } from './arm-words.ts';

/** A change of a phase's position in the order. */
export interface Move {
  readonly phase: string;
  readonly at: 'before' | 'after';
  readonly anchor: string;
}

/** A variant to try, given by its differences from the base plan. */
export interface Arm {
  /** Its name in output. */
  readonly name: string;
  readonly level?: number;
  readonly sm?: string;
  readonly order?: string;
  /** Recipes, instead of those of the base; later ones win. */
  readonly recipe?: readonly string[];
  /** Knob sets; later ones win. */
  readonly knobs?: readonly string[];
  /** Knob settings of the form `NAME=VALUE`. */
  readonly set?: readonly string[];
  readonly disable?: readonly string[];
  readonly rules?: readonly string[];
  readonly moves?: readonly Move[];
  /** A profile file with execution counts of blocks. */
  readonly profile?: string;
  /** Commit or folder whose specs replace the shipped ones. */
  readonly ref?: string;
}

const { base: _, ...PARTS } = ARM_PARTS;
const HELP = [
  `an arm is made of: ${Object.values(PARTS)
    .map(([form]) => form)
    .join(', ')}; or 'base' for no change. Quote an arm of several words`,
];

const wrong = (message: string, notes: readonly string[] = HELP): never => {
  throw fileError('', message, notes);
};

/**
 * Parses an arm as written on the command line: `--set X=1`, `recipe:mine.yaml level:2`, `ref:HEAD~1`, `base`.
 * @throws DiagnosticError that lists the parts of an arm
 */
export function parseArm(text: string): Arm {
  const words = text
    .trim()
    .split(/\s+/)
    .filter((w) => w !== '');
  let arm: Arm = { name: text.trim() === '' ? 'base' : text.trim() };
  for (let i = 0; i < words.length; i++) {
    const long = /^--([a-z]+)(?:=(.*))?$/.exec(words[i]);
    if (long !== null) {
      const value = long[2] ?? words[++i];
      if (value === undefined) wrong(`'--${long[1]}' of the arm '${text}' has no value`);
      arm = withWord(arm, long[1], value, text);
      continue;
    }
    const at = /^([a-z]+):(.+)$/.exec(words[i]);
    const equals = /^([a-z]+)=(.*)$/.exec(words[i]);
    if (equals !== null && ARM_WORDS.includes(equals[1]))
      wrong(`there is no knob '${equals[1]}': that part of an arm has a colon`, [
        `write ${equals[1]}:${equals[2]}`,
      ]);
    if (at !== null) arm = withWord(arm, at[1], at[2], text);
    else if (/^[A-Za-z][A-Za-z0-9]*=/.test(words[i])) arm = withWord(arm, 'set', words[i], text);
    else if (/^sm_\d+/.test(words[i])) arm = withWord(arm, 'sm', words[i], text);
    else if (/^-?O\d$/.test(words[i])) arm = withWord(arm, 'level', words[i].slice(-1), text);
    else if (words[i] !== 'base') unknownWord(words[i], text);
  }
  return arm;
}

function unknownWord(word: string, text: string): never {
  if (word === '--force-rules')
    return wrong(`'--force-rules' is for all arms (in '${text}')`, [
      'give it to the command, outside of the arms',
    ]);
  const near = nearest(word.replace(/^-+/, '').split(/[:=]/)[0], ARM_WORDS);
  return wrong(`'${word}' is not part of an arm${word === text ? '' : ` (in '${text}')`}`, [
    ...(near.length > 0 ? [`did you mean '${near[0]}:'?`] : []),
    ...HELP,
  ]);
}

const more = <T>(list: readonly T[] | undefined, x: T): readonly T[] => [...(list ?? []), x];

const withWord = (arm: Arm, word: string, value: string, text: string): Arm =>
  match<string, Arm>(word)
    .with('set', () => ({ ...arm, set: more(arm.set, value) }))
    .with('knobs', () => ({ ...arm, knobs: more(arm.knobs, value) }))
    .with('disable', () => ({ ...arm, disable: more(arm.disable, value) }))
    .with('rules', () => ({ ...arm, rules: more(arm.rules, value) }))
    .with('move', () => ({ ...arm, moves: more(arm.moves, moveOf(value)) }))
    .with('recipe', () => ({ ...arm, recipe: more(arm.recipe, value) }))
    .with('order', 'sm', 'profile', 'ref', (key) => ({ ...arm, [key]: value }))
    .with('level', () => ({ ...arm, level: levelOf(value) }))
    .otherwise(() => unknownWord(`${word}:${value}`, text));

function levelOf(text: string): number {
  const n = Number(text);
  return Number.isInteger(n) && n >= 0 && n <= 5
    ? n
    : wrong(`'${text}' is not a level`, ['levels are 0 to 5']);
}

function moveOf(text: string): Move {
  const m = /^([^@]+)@(before|after):(.+)$/.exec(text);
  if (m === null)
    return wrong(`'move:${text}' gives no place`, [
      'move:PHASE@after:PHASE, or @before:; `orrery phases` lists them',
    ]);
  return { phase: m[1], at: m[2] as Move['at'], anchor: m[3] };
}

/** A move in the form that `parseArm` reads. */
export const moveText = (m: Move): string => `move:${m.phase}@${m.at}:${m.anchor}`;

/** An arm as one line in the form that `parseArm` reads. */
export function armText(a: Arm): string {
  const words = [
    ...(a.ref === undefined ? [] : [`ref:${a.ref}`]),
    ...(a.level === undefined ? [] : [`level:${a.level}`]),
    ...(a.sm === undefined ? [] : [`sm:${a.sm}`]),
    ...(a.order === undefined ? [] : [`order:${a.order}`]),
    ...(a.recipe ?? []).map((r) => `recipe:${r}`),
    ...(a.knobs ?? []).map((k) => `knobs:${k}`),
    ...(a.set ?? []).map((s) => `set:${s}`),
    ...(a.disable ?? []).map((p) => `disable:${p}`),
    ...(a.rules ?? []).map((r) => `rules:${r}`),
    ...(a.profile === undefined ? [] : [`profile:${a.profile}`]),
    ...(a.moves ?? []).map(moveText),
  ];
  return words.length === 0 ? 'base' : words.join(' ');
}

/** Two arms written as `main..branch`; null for any other text. */
export function armsOfRange(text: string): readonly [Arm, Arm] | null {
  const m = /^(?:ref:)?(\S+?)\.\.(\S*)$/.exec(text.trim());
  if (m === null || text.includes('=') || text.includes('/..')) return null;
  return [parseArm(`ref:${m[1]}`), parseArm(`ref:${m[2] === '' ? 'HEAD' : m[2]}`)];
}

const isText = (v: unknown): v is string => typeof v === 'string';
const isTexts = (v: unknown): v is readonly string[] => Array.isArray(v) && v.every(isText);

/**
 * Converts data to an arm: a text for `parseArm`, or a map with `set` (knob -> value), `knobs`, `recipe`, `order`, `level`, `sm`,
 * `disable`, `rules`, `move`, `profile`, `ref` and `name`.
 *
 * @throws DiagnosticError if the data are not an arm
 */
export function armOfData(data: unknown): Arm {
  if (isText(data)) return parseArm(data);
  if (!isMap(data))
    return wrong('an arm is a text or a map', ['{ "set": { "NAME": 1 }, "disable": ["PHASE"] }']);
  let arm: Arm = { name: '' };
  for (const [key, value] of Object.entries(data))
    arm = match<[string, unknown], Arm>([key, value])
      .with(['set', P.when(isMap)], ([, v]) => ({
        ...arm,
        set: Object.entries(v).map(([k, x]) => `${k}=${knobText(x)}`),
      }))
      .with([P.union('set', 'knobs', 'recipe', 'disable', 'rules'), P.when(isTexts)], ([k, v]) => ({
        ...arm,
        [k]: v,
      }))
      .with(['recipe', P.string], ([, v]) => ({ ...arm, recipe: [v] }))
      .with([P.union('order', 'sm', 'profile', 'ref', 'name'), P.string], ([k, v]) => ({
        ...arm,
        [k]: v,
      }))
      .with(['level', P.number], ([, v]) => ({ ...arm, level: levelOf(String(v)) }))
      .with(['move', P.array(P.string)], ([, v]) => ({ ...arm, moves: v.map(moveOf) }))
      .otherwise(() => {
        const known = [...ARM_WORDS, 'name'].includes(key);
        const near = nearest(key, ARM_WORDS);
        return wrong(
          known ? `'${key}' of an arm cannot be ${JSON.stringify(value)}` : `an arm has no '${key}'`,
          !known && near.length > 0
            ? [`did you mean '${near[0]}'?`]
            : [
                'set: a map; knobs, disable, rules, move: lists of texts; level: a number; recipe: a text or a list; the others: a text',
              ],
        );
      });
  return { ...arm, name: arm.name === '' ? armText(arm) : arm.name };
}

/** A knob's value in command-line form. */
export const knobText = (v: unknown): string =>
  v === null ? 'unset' : Array.isArray(v) ? v.join(',') : String(v);
