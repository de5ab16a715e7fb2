/** Selects the forms that match an instruction's opcode and modifiers, for the version and target of its module. */

import { didYouMean } from '../ir/diagnostic.ts';
import type { PtxInstr } from './ast.ts';
import {
  formsOf,
  type Group,
  type InstructionForm,
  mayRepeat,
  type Need,
  needOfDirective,
  needOfWord,
  type Sizes,
  sizesOf,
} from './forms.ts';

/** PTX version and target of a module. */
export interface Home {
  /** As `versionNumber` gives it; infinite for versions newer than all known ones. */
  readonly version: number;
  /** Is the version newer than all known ones? */
  readonly newer: boolean;
  readonly sm: number;
  /** Does the target have a suffix, as sm_90a? */
  readonly suffix: boolean;
  /** In bits; 0 if the module does not state it. */
  readonly addressSize: number;
}

/** A fault without its position. */
export interface Fault {
  readonly message: string;
  readonly notes: readonly string[];
}

/** A form that matches the modifiers, with the types that they name. */
export interface Fitting {
  readonly form: InstructionForm;
  readonly types: readonly string[];
  /** Number of elements by `.v2`, `.v4` or `.v8`; 0 without such a modifier. */
  readonly elements: number;
  readonly sizes: Sizes;
}

/** The result of checking an opcode and its modifiers. */
export interface Spelling {
  readonly opcode: string;
  /** The fault of the spelling; null if it is correct. */
  readonly fault: Fault | null;
  /** No form has these modifiers or this combination of them, and the version is newer than all known ones. */
  readonly unknown: boolean;
  readonly fitting: readonly Fitting[];
}

/** The result of matching modifiers against a form. */
interface Match {
  readonly form: InstructionForm;
  /** Version and target that the form and the modifiers need. */
  readonly since: Need;
  readonly types: readonly string[];
  /** Modifiers that the form does not accept. */
  readonly strangers: readonly string[];
  /** Required groups without a modifier. */
  readonly missing: readonly Group[];
  /** Number of types that are missing. */
  readonly untyped: number;
}

const SPACES: ReadonlySet<string> = new Set(['global', 'shared', 'shared::cta', 'shared::cluster']);

function match(form: InstructionForm, mods: readonly string[]): Match {
  const { groups } = form;
  const taken: (string | undefined)[] = [];
  const types: string[] = [];
  const strangers: string[] = [];
  /** Number of modifiers of leading groups so far; they must precede all others. */
  let leads = 0;
  /** The group of the last space: the first space of a copy is its destination, the second its source. */
  let space = -1;
  /** The first group that the next leading modifier may belong to: leading groups have a fixed order. */
  let next = 0;
  for (const [at, m] of mods.entries()) {
    if (types.length < form.types.length && form.types[types.length].includes(m)) {
      types.push(m);
      continue;
    }
    const g = groups.findIndex(
      (x, k) =>
        taken[k] === undefined &&
        x.words.includes(m) &&
        (!x.leading || (at === leads && k >= next)) &&
        (k > space || !SPACES.has(m)),
    );
    if (SPACES.has(m)) space = g;
    if (g >= 0 && groups[g].leading) {
      leads++;
      next = g + 1;
    }
    if (g >= 0) taken[g] = m;
    else if (!taken.includes(m) || !mayRepeat(m)) strangers.push(m);
  }
  const missing = groups.filter((g, k) => g.required && taken[k] === undefined);
  const since = mods.map(needOfWord).reduce(both, form.since);
  return { form, since, types, strangers, missing, untyped: form.types.length - types.length };
}

const isType = (form: InstructionForm, word: string): boolean => form.types.some((t) => t.includes(word));

/**
 * Checks an opcode and its modifiers against the syntax table.
 * @returns null if the table has no forms of the opcode
 */
export function spell(opcode: string, mods: readonly string[], home: Home): Spelling | null {
  const forms = formsOf(opcode);
  if (forms === undefined) return null;
  const matches = forms.map((f) => match(f, mods));
  const right = matches.filter((m) => m.strangers.length + m.missing.length + m.untyped === 0);
  const wrong = (fault: Fault, unknown = false): Spelling => ({ opcode, fault, unknown, fitting: [] });
  if (right.length === 0)
    return wrong(
      misspelt(opcode, mods, forms, matches),
      home.newer && matches.every((m) => m.strangers.length > 0),
    );
  const had = right.filter((m) => has(m, home));
  if (had.length === 0) return wrong(unknownHere(opcode, mods, right, matches, home));
  const elements = Number(/^v([248])$/.exec(mods.find((m) => /^v[248]$/.test(m)) ?? '')?.[1] ?? 0);
  const sizes = sizesOf(mods);
  return {
    opcode,
    fault: null,
    unknown: false,
    fitting: had.map(({ form, types }) => ({ form, types, elements, sizes })),
  };
}

/** Does an instruction with a known opcode have unknown modifiers, in a module of a PTX version newer than all known ones? */
export const isUnknown = ({ opcode, mods }: PtxInstr, home: Home): boolean =>
  home.newer && spell(opcode, mods, home)?.unknown === true;

const both = (a: Need, b: Need): Need => ({
  version: Math.max(a.version, b.version),
  sm: Math.max(a.sm, b.sm),
  suffix: a.suffix || b.suffix,
});

const has = ({ since, form: { until } }: Match, home: Home): boolean =>
  home.version >= since.version &&
  home.sm >= since.sm &&
  (home.suffix || !since.suffix) &&
  (until === null || (until.version > 0 && home.version <= until.version) || home.sm < until.sm);

const written = (opcode: string, mods: readonly string[]): string => [opcode, ...mods].join('.');

function misspelt(
  opcode: string,
  mods: readonly string[],
  forms: readonly InstructionForm[],
  matches: readonly Match[],
): Fault {
  const types = [...new Set(forms.flatMap((f) => f.types.flat()))];
  const words = [...new Set(forms.flatMap((f) => f.groups.flatMap((g) => g.words)))];
  const stranger = mods.find((m) => !types.includes(m) && !words.includes(m));
  const typeList = types.map((t) => `.${t}`).join(', ');
  if (stranger !== undefined) {
    const near = didYouMean(stranger, [...types, ...words]);
    const notes =
      near.length > 0 ? near : types.length > 0 ? [`types of '${opcode}' are ${typeList}`] : offers(words);
    return { message: `'${opcode}' has no modifier '.${stranger}'`, notes };
  }
  const best = nearestOf(matches, mods);
  const { strangers, missing } = best[0];
  if (strangers.length > 0) {
    const displaced = best.find((m) => m.missing.some((g) => g.leading && g.words.includes(m.strangers[0])));
    return misfit(opcode, mods, displaced ?? best[0], (displaced ?? best[0]).strangers[0]);
  }
  if (missing.length > 0) {
    const list = [...new Set(best.flatMap((m) => m.missing[0]?.words ?? []))].map((w) => `.${w}`);
    const of = list.length === 1 ? list[0] : `one of ${list.join(', ')}`;
    return { message: `'${written(opcode, best[0].types)}' needs ${of}`, notes: [] };
  }
  if (best[0].types.length === 0)
    return { message: `'${opcode}' needs a type`, notes: [`it is one of ${typeList}`] };
  const want = best[0].form.types.length;
  const found = best[0].types.map((t) => `.${t}`).join(', ');
  return { message: `'${opcode}' needs ${want === 2 ? 'two' : want} types, found ${found}`, notes: [] };
}

const offers = (words: readonly string[]): string[] =>
  words.length === 0 ? ['it has none'] : [`it has ${words.map((w) => `.${w}`).join(', ')}`];

/** The forms nearest to the spelling: a wrong or missing type weighs more than another modifier. */
function nearestOf(matches: readonly Match[], mods: readonly string[]): Match[] {
  const cost = (m: Match): number =>
    // A repeated modifier is one slip, not a modifier of another form.
    m.strangers.reduce(
      (n, s) => n + (isTypeAnywhere(matches, s) ? 3 : mods.indexOf(s) < mods.lastIndexOf(s) ? 1 : 2),
      0,
    ) +
    3 * m.untyped +
    // `.L2::cache_hint` comes with an operand of its own, so it is unlikely that only the modifier was forgotten.
    m.missing.reduce((n, g) => n + (g.words[0] === 'L2::cache_hint' ? 10 : 1), 0);
  const least = Math.min(...matches.map(cost));
  return matches.filter((m) => cost(m) === least);
}

const isTypeAnywhere = (matches: readonly Match[], word: string): boolean =>
  matches.some((m) => isType(m.form, word));

/** The fault of a modifier that the opcode has, but not in this place, with another of its group, or with this type. */
function misfit(opcode: string, mods: readonly string[], m: Match, word: string): Fault {
  if (m.missing.some((g) => g.leading && g.words.includes(word)))
    return { message: `'.${word}' of '${opcode}' must precede its other modifiers`, notes: [] };
  const rival = m.form.groups
    .find((g) => g.words.includes(word))
    ?.words.find((w) => w !== word && mods.includes(w));
  if (rival !== undefined)
    return { message: `'.${word}' and '.${rival}' of '${opcode}' exclude each other`, notes: [] };
  if (m.form.types.some((t) => t.includes(word)))
    return { message: `'${opcode}' has one type too many: '.${word}'`, notes: [] };
  const beside = m.types.length > 0 ? m.types : mods.filter((x) => x !== word);
  const what = beside.map((t) => `.${t}`).join('');
  return { message: `'.${word}' of '${opcode}' does not go with '${what}'`, notes: [] };
}

/** The fault of a correct form that this version or target does not have. */
function unknownHere(
  opcode: string,
  mods: readonly string[],
  right: readonly Match[],
  all: readonly Match[],
  home: Home,
): Fault {
  const name = written(opcode, mods);
  const ended = right.find(({ form: { until } }) => until !== null && home.sm >= until.sm);
  if (ended !== undefined) {
    const { until } = ended.form;
    const from = until!.version === 0 ? '' : ` after PTX ${text(until!.version)}`;
    const on = until!.sm === 0 ? '' : ` for sm_${until!.sm} and newer`;
    const successor = all.find(
      (m) => m.missing.length > 0 && m.strangers.length + m.untyped === 0 && has(m, home),
    );
    if (successor === undefined) return { message: `'${name}' was removed${from}${on}`, notes: [] };
    const words = successor.missing.map((g) => `.${g.words[0]}`).join('');
    return { message: `'${name}' needs ${words}`, notes: [`the form without it was removed${from}${on}`] };
  }
  const since = right.map((m) => m.since).reduce((a, b) => (distance(b, home) < distance(a, home) ? b : a));
  const wants = [
    ...(home.version < since.version ? [`PTX ${text(since.version)} or newer`] : []),
    ...(home.sm < since.sm || (since.suffix && !home.suffix)
      ? [`a target from sm_${since.sm}${since.suffix ? 'a' : ''} on`]
      : []),
  ].join(' and ');
  const notes = [`this is PTX ${text(home.version)} for sm_${home.sm}${home.suffix ? ' with a suffix' : ''}`];
  return { message: `'${name}' needs ${wants}`, notes };
}

const distance = (need: Need, home: Home): number =>
  Math.max(0, need.sm - home.sm) + Math.max(0, need.version - home.version);

/** The fault of a directive that the version or target of the module does not have; null if there is none. */
export const directiveFault = (name: string, home: Home): Fault | null =>
  needFault(name, needOfDirective(name), home);

/** The same for the type of a variable. */
export const wordFault = (name: string, home: Home): Fault | null => needFault(name, needOfWord(name), home);

function needFault(name: string, { version, sm }: Need, home: Home): Fault | null {
  const wants = [
    ...(home.version < version ? [`PTX ${text(version)} or newer`] : []),
    ...(home.sm < sm ? [`a target from sm_${sm} on`] : []),
  ];
  if (wants.length === 0) return null;
  const notes = [`this is PTX ${text(home.version)} for sm_${home.sm}`];
  return { message: `'.${name}' needs ${wants.join(' and ')}`, notes };
}

const text = (version: number): string => `${Math.floor(version / 1000)}.${version % 1000}`;
