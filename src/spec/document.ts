import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type { Automaton } from '../rules/automaton.ts';
import { schemaFaults } from './faults.ts';
import { parseYaml, placeAt, specError } from './places.ts';
import { type Parts, type Pruned, prune } from './prune.ts';
import { textFaults } from './texts.ts';
import { yamlFaults } from './yaml-faults.ts';

export { placeOf, type SpecPlace, specError } from './places.ts';

/** Kinds of specs; each has a schema of its name. */
export const KINDS = [
  'phases',
  'order',
  'constraints',
  'knobs',
  'knob-set',
  'backend',
  'recipe',
  'rules',
  'isa',
  'ptx',
  'ptx-syntax',
  'launch',
  'experiment',
  'budget',
  'reviews',
  'machine',
  'ptxas-faults',
] as const;
export type SpecKind = (typeof KINDS)[number];

/** What is kept of a valid spec. */
export interface CachedSpec {
  readonly kind: SpecKind;
  readonly data: Readonly<Record<string, unknown>>;
  /** Of a spec that ships: the hash of its data (`dataHash`). */
  readonly hash?: string;
  /**
   * Of rules that the build found whole: the hash of the instruction set that they were tried with, and the automaton
   * that finds them in its instructions.
   */
  readonly rules?: { readonly wholeFor: string; readonly automaton: Automaton };
}

/** A spec as read: plain data, and the text, in which lines are looked up when needed. */
export interface SpecFile {
  readonly file: string;
  readonly text: string;
  readonly kind: SpecKind;
  readonly data: Readonly<Record<string, unknown>>;
  /** What the build found out about exactly this data; meaningless on a copy whose data was changed. */
  readonly built?: CachedSpec;
  /** What was taken out, of a spec whose schema rejects some of its entries. */
  readonly pruned?: Pruned;
}

/** Kinds whose lists hold parts that can be judged one by one. */
const PARTS: Readonly<Partial<Record<SpecKind, Parts>>> = {
  order: { elements: true, whole: 'edits' },
  recipe: { elements: true },
  constraints: { elements: true },
  rules: { elements: true, whole: 'rules' },
};

/** Most alias expansions in one document; a file that needs more is a mistake or an attack. */
const MOST_ALIASES = 100;

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, verbose: true });
const validators = new Map<string, ValidateFunction>();

interface Read {
  readonly spec: SpecFile | null;
  readonly diagnostics: Diagnostic[];
  /** If the schema rejects the spec: what remains without the rejected entries. */
  readonly rest?: SpecFile;
}

/**
 * Reads and validates one YAML spec. Reports all faults at once, each with its place; never throws, whatever the input.
 *
 * @param schemaOf the JSON Schema of a kind
 * @param expect the kind that the spec must have; absent: any
 */
export function readSpec(
  file: string,
  text: string,
  schemaOf: (kind: string) => object,
  expect?: SpecKind,
): Read {
  let data: unknown;
  try {
    const parsed = parseYaml(text);
    const faults = yamlFaults(file, text, parsed);
    if (faults.length > 0) return { spec: null, diagnostics: faults };
    data = parsed.doc.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (e) {
    return { spec: null, diagnostics: [givenUp(file, text, e)] };
  }
  const f = { file, text };
  if (data === null || typeof data !== 'object' || Array.isArray(data)) {
    const notes = [`kinds are ${KINDS.join(', ')}`];
    return {
      spec: null,
      diagnostics: [specError(f, [], 'spec', "a spec is a map with a 'kind'", { notes })],
    };
  }
  const map = data as Record<string, unknown>;
  const wrong = kindFault(f, map.kind, expect);
  if (wrong !== null) return { spec: null, diagnostics: [wrong] };
  const kind = map.kind as SpecKind;
  const acting = textFaults(f, map, schemaOf(kind));
  if (acting.length > 0) return { spec: null, diagnostics: acting };
  const errors = validate(kind, map, schemaOf);
  const diagnostics = schemaFaults(f, errors);
  if (diagnostics.length === 0) return { spec: { file, text, kind, data: map }, diagnostics };
  const parts = PARTS[kind] ?? { elements: false };
  const rest = prune(map, (d) => validate(kind, d, schemaOf), parts);
  return { spec: null, diagnostics, ...(rest !== null && { rest: { file, text, kind, ...rest } }) };
}

/** The YAML reader gave up: excessive nesting or aliases, or an alias without an anchor. */
function givenUp(file: string, text: string, e: unknown): Diagnostic {
  const said = e instanceof Error ? e.message.split('\n')[0] : String(e);
  const fault = { severity: 'error', code: 'yaml', file, line: 1, column: 1, length: 1 } as const;
  const alias = /^Unresolved alias[^:]*: (.*)/.exec(said)?.[1];
  if (alias !== undefined) {
    const at = Math.max(0, text.indexOf(`*${alias}`));
    const place = placeAt(text, parseYaml(text).lines, at, at + alias.length + 1);
    const notes = ["a text that starts with '*' is quoted"];
    return { ...fault, ...place, message: `the alias '*${alias}' names no anchor`, notes };
  }
  if (e instanceof RangeError) return { ...fault, message: 'the text is nested too deeply' };
  if (/alias count/i.test(said))
    return { ...fault, message: `aliases expand to more than ${MOST_ALIASES} copies` };
  return { ...fault, message: `the text cannot be read: ${said}` };
}

function kindFault(
  f: { readonly file: string; readonly text: string },
  kind: unknown,
  expect: SpecKind | undefined,
): Diagnostic | null {
  if (kind === undefined)
    return specError(f, [], 'spec-kind', "'kind' is missing", {
      notes: [expect === undefined ? `kinds are ${KINDS.join(', ')}` : `kind: ${expect}`],
    });
  if (!(KINDS as readonly unknown[]).includes(kind)) {
    const near = nearest(String(kind), KINDS);
    return specError(f, ['kind'], 'spec-kind', `unknown kind '${String(kind)}'`, {
      notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `kinds are ${KINDS.join(', ')}`],
    });
  }
  if (expect !== undefined && kind !== expect)
    return specError(f, ['kind'], 'spec-kind', `this is a spec of kind '${kind}', expected '${expect}'`);
  return null;
}

function validate(kind: SpecKind, data: unknown, schemaOf: (kind: string) => object): readonly ErrorObject[] {
  let v = validators.get(kind);
  if (v === undefined) {
    v = ajv.compile(schemaOf(kind));
    validators.set(kind, v);
  }
  return v(data) ? [] : (v.errors ?? []);
}
