import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { isMap } from '../ir/data.ts';
import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type { Automaton } from '../rules/automaton.ts';
import { schemaFaults } from './faults.ts';
import { parseYaml, placeAt, specError } from './places.ts';
import { type Parts, type Pruned, prune } from './prune.ts';
import { textFaults } from './texts.ts';
import { yamlFaults } from './yaml-faults.ts';

export { placeOf, type SpecPlace, specError } from './places.ts';

/** Kinds of specs; each has a schema of the same name. */
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
  'selection',
  'ptxas-faults',
] as const;
export type SpecKind = (typeof KINDS)[number];

/** What the caches keep of a valid spec. */
export interface CachedSpec {
  readonly kind: SpecKind;
  readonly data: Readonly<Record<string, unknown>>;
  /** For shipped specs: the hash of the data (`dataHash`). */
  readonly hash?: string;
  /**
   * For rule groups that the build checked without finding faults: the hash of the instruction set that they were checked against, and the
   * matching automaton.
   */
  readonly rules?: { readonly wholeFor: string; readonly automaton: Automaton };
}

/** A spec as read: its data, and its text, in which line numbers are looked up on demand. */
export interface SpecFile {
  readonly file: string;
  readonly text: string;
  readonly kind: SpecKind;
  readonly data: Readonly<Record<string, unknown>>;
  /** Results that the build stored for exactly this data; not valid for a copy with other data. */
  readonly built?: CachedSpec;
  /** The entries that were removed because the schema rejects them. */
  readonly pruned?: Pruned;
}

/** Kinds whose lists hold elements that can be checked independently of each other. */
const PARTS: Readonly<Partial<Record<SpecKind, Parts>>> = {
  order: { elements: true, whole: 'edits' },
  recipe: { elements: true },
  constraints: { elements: true },
  rules: { elements: true, whole: 'rules' },
};

/** Maximum number of alias expansions in one document; a file that needs more is a mistake or an attack. */
const MOST_ALIASES = 100;

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, verbose: true });
const validators = new Map<string, ValidateFunction>();

interface Read {
  readonly spec: SpecFile | null;
  readonly diagnostics: Diagnostic[];
  /** If the schema rejects the spec: the spec without the rejected entries. */
  readonly rest?: SpecFile;
}

/**
 * Reads and validates one YAML spec. Reports all faults at once, each with its location. Never throws.
 *
 * @param schemaOf the JSON Schema of a kind
 * @param expect the kind that the spec must have; absent: any kind
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
    return { spec: null, diagnostics: [parserFault(file, text, e)] };
  }
  const f = { file, text };
  if (!isMap(data)) {
    const notes = [`kinds are ${KINDS.join(', ')}`];
    return {
      spec: null,
      diagnostics: [specError(f, [], 'spec', "a spec is a map with a 'kind'", { notes })],
    };
  }
  const map: Record<string, unknown> = data;
  const wrong = kindFault(f, map.kind, expect);
  if (wrong !== null) return { spec: null, diagnostics: [wrong] };
  const kind = map.kind as SpecKind;
  const badText = textFaults(f, map, schemaOf(kind));
  if (badText.length > 0) return { spec: null, diagnostics: badText };
  const errors = validate(kind, map, schemaOf);
  const diagnostics = schemaFaults(f, errors);
  if (diagnostics.length === 0) return { spec: { file, text, kind, data: map }, diagnostics };
  const parts = PARTS[kind] ?? { elements: false };
  const rest = prune(map, (d) => validate(kind, d, schemaOf), parts);
  return { spec: null, diagnostics, ...(rest !== null && { rest: { file, text, kind, ...rest } }) };
}

/** The diagnostic for a text that the YAML parser rejected with an exception: excessive nesting or aliases, or an undefined alias. */
function parserFault(file: string, text: string, e: unknown): Diagnostic {
  const reported = e instanceof Error ? e.message.split('\n')[0] : String(e);
  const fault = { severity: 'error', code: 'yaml', file, line: 1, column: 1, length: 1 } as const;
  const alias = /^Unresolved alias[^:]*: (.*)/.exec(reported)?.[1];
  if (alias !== undefined) {
    const at = Math.max(0, text.indexOf(`*${alias}`));
    const place = placeAt(text, parseYaml(text).lines, at, at + alias.length + 1);
    const notes = ["quote a text that starts with '*'"];
    return { ...fault, ...place, message: `the alias '*${alias}' names no anchor`, notes };
  }
  if (e instanceof RangeError) return { ...fault, message: 'the text is nested too deeply' };
  if (/alias count/i.test(reported))
    return { ...fault, message: `aliases expand to more than ${MOST_ALIASES} copies` };
  return { ...fault, message: `the text cannot be read: ${reported}` };
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
