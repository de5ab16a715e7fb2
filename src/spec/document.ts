import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { type Diagnostic, nearest } from '../ir/diagnostic.ts';

/** Kinds of specs; each has a schema of its name. */
export const KINDS = [
  'phases',
  'order',
  'constraints',
  'knobs',
  'knob-set',
  'backend',
  'recipe',
  'isa',
  'launch',
] as const;
export type SpecKind = (typeof KINDS)[number];

/** A spec as read: plain data, and places on demand. */
export interface SpecFile {
  readonly file: string;
  readonly text: string;
  readonly kind: SpecKind;
  readonly data: Readonly<Record<string, unknown>>;
}

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, verbose: true });
const validators = new Map<string, ValidateFunction>();

/** Place of a path in a document: line and column from 1, and the length of what stands there. */
export interface SpecPlace {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

interface Parsed {
  readonly doc: Document.Parsed;
  readonly lines: LineCounter;
}

const parsedTexts = new Map<string, Parsed>();

function parseText(text: string): Parsed {
  let p = parsedTexts.get(text);
  if (p === undefined) {
    const lines = new LineCounter();
    p = { doc: parseDocument(text, { lineCounter: lines, prettyErrors: false }), lines };
    if (parsedTexts.size > 64) parsedTexts.clear();
    parsedTexts.set(text, p);
  }
  return p;
}

/** Where a path stands in a YAML text; the key of the last step if `key` is asked, else its value. */
export function placeOf(text: string, path: readonly (string | number)[], key = false): SpecPlace {
  const { doc, lines } = parseText(text);
  let node: unknown = doc.contents;
  let range: readonly number[] | null | undefined = (doc.contents as { range?: readonly number[] } | null)
    ?.range;
  path.forEach((step, i) => {
    const last = i === path.length - 1;
    if (isMap(node)) {
      const pair = (node as YAMLMap).items.find(
        (x) => isPair(x) && isScalar(x.key) && String(x.key.value) === String(step),
      );
      if (pair === undefined) return;
      range = (((last && key ? pair.key : pair.value) ?? pair.key) as { range?: readonly number[] }).range;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      range = (node as { range?: readonly number[] } | undefined)?.range ?? range;
    }
  });
  const start = range?.[0] ?? 0;
  const end = range?.[1] ?? start + 1;
  const pos = lines.linePos(start);
  const eol = text.indexOf('\n', start);
  return { line: pos.line, column: pos.col, length: Math.max(1, Math.min(end, eol < 0 ? end : eol) - start) };
}

/** Builds a diagnostic at a path of a spec. */
export function specError(
  f: { readonly file: string; readonly text: string },
  path: readonly (string | number)[],
  code: string,
  message: string,
  more: {
    readonly key?: boolean;
    readonly label?: string;
    readonly notes?: readonly string[];
    readonly severity?: 'error' | 'warning';
  } = {},
): Diagnostic {
  const place = placeOf(f.text, path, more.key);
  return {
    severity: more.severity ?? 'error',
    code,
    message,
    file: f.file,
    ...place,
    label: more.label,
    notes: more.notes,
  };
}

/**
 * Reads and validates one YAML spec. All that is wrong is reported at once, each with its place.
 *
 * @param schemaOf the JSON Schema of a kind
 * @param expect the kind that must stand there; any kind if absent
 */
export function readSpec(
  file: string,
  text: string,
  schemaOf: (kind: string) => object,
  expect?: SpecKind,
): { spec: SpecFile | null; diagnostics: Diagnostic[] } {
  const { doc, lines } = parseText(text);
  const diagnostics: Diagnostic[] = [];
  for (const e of doc.errors) {
    const pos = lines.linePos(e.pos[0]);
    diagnostics.push({
      severity: 'error',
      code: 'yaml',
      message: e.message.split('\n')[0],
      file,
      line: pos.line,
      column: pos.col,
      length: Math.max(1, e.pos[1] - e.pos[0]),
    });
  }
  if (diagnostics.length > 0) return { spec: null, diagnostics };
  const data = doc.toJS({ maxAliasCount: 100 }) as Record<string, unknown> | null;
  const f = { file, text };
  if (data === null || typeof data !== 'object' || Array.isArray(data))
    return {
      spec: null,
      diagnostics: [
        specError(f, [], 'spec', "a spec is a map with a 'kind'", {
          notes: [`kinds are ${KINDS.join(', ')}`],
        }),
      ],
    };
  const kind = data.kind;
  if (typeof kind !== 'string' || !(KINDS as readonly string[]).includes(kind)) {
    const near = typeof kind === 'string' ? nearest(kind, KINDS) : [];
    return {
      spec: null,
      diagnostics: [
        specError(
          f,
          ['kind'],
          'spec-kind',
          kind === undefined ? "'kind' is missing" : `unknown kind '${String(kind)}'`,
          { notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `kinds are ${KINDS.join(', ')}`] },
        ),
      ],
    };
  }
  if (expect !== undefined && kind !== expect)
    return {
      spec: null,
      diagnostics: [
        specError(f, ['kind'], 'spec-kind', `this is a spec of kind '${kind}', expected '${expect}'`),
      ],
    };
  const errors = validate(kind, data, schemaOf);
  for (const e of errors) diagnostics.push(fromAjv(f, e));
  return { spec: diagnostics.length > 0 ? null : { file, text, kind: kind as SpecKind, data }, diagnostics };
}

/** Errors of a value against the schema of its kind; those that a closer one explains are left out. */
function validate(kind: string, data: unknown, schemaOf: (kind: string) => object): ErrorObject[] {
  let v = validators.get(kind);
  if (v === undefined) {
    v = ajv.compile(schemaOf(kind));
    validators.set(kind, v);
  }
  if (v(data)) return [];
  const all = v.errors ?? [];
  const exact = all.filter(
    (e) =>
      e.keyword !== 'oneOf' &&
      e.keyword !== 'anyOf' &&
      e.keyword !== 'propertyNames' &&
      !/\/oneOf\/|\/anyOf\//.test(e.schemaPath),
  );
  const chosen = exact.length > 0 ? exact : all.filter((e) => e.keyword === 'oneOf' || e.keyword === 'anyOf');
  const seen = new Set<string>();
  return (chosen.length > 0 ? chosen : all).filter((e) => {
    const k = `${e.instancePath} ${e.keyword} ${JSON.stringify(e.params)}`;
    return seen.has(k) ? false : (seen.add(k), true);
  });
}

function fromAjv(f: { file: string; text: string }, e: ErrorObject): Diagnostic {
  const path = e.instancePath
    .split('/')
    .slice(1)
    .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));
  const at = path.length === 0 ? 'the top level' : `'${path.join('.')}'`;
  const parent = e.parentSchema as { properties?: Record<string, unknown>; description?: string } | undefined;
  const notes =
    parent?.description !== undefined && e.keyword !== 'additionalProperties' && e.keyword !== 'required'
      ? [parent.description]
      : [];
  switch (e.keyword) {
    case 'additionalProperties': {
      const key = String(e.params.additionalProperty);
      const known = Object.keys(parent?.properties ?? {});
      const near = nearest(key, known);
      return specError(f, [...path, key], 'spec-key', `unknown key '${key}' in ${at}`, {
        key: true,
        notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `keys are ${known.join(', ')}`],
      });
    }
    case 'required':
      return specError(f, path, 'spec-missing', `'${e.params.missingProperty}' is missing in ${at}`);
    case 'enum': {
      const allowed = (e.params.allowedValues as unknown[]).map(String);
      const near = nearest(String(e.data), allowed);
      return specError(f, path, 'spec-value', `'${String(e.data)}' is not allowed for ${at}`, {
        notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `one of ${allowed.join(', ')}`],
      });
    }
    case 'type':
      return specError(
        f,
        path,
        'spec-type',
        `${at} is ${typeName(e.data)}, expected ${([] as string[]).concat(e.params.type).join(' or ')}`,
        { notes },
      );
    case 'oneOf':
      return specError(
        f,
        path,
        'spec-form',
        `${at} is none of the forms that may stand here, or more than one`,
        {
          notes: [
            `exactly one of: ${((e.schema as { required?: string[] }[]) ?? []).map((s) => (s.required ?? []).join(' with ')).join('; ')}`,
          ],
        },
      );
    default:
      return specError(f, path, 'spec-value', `${at} ${e.message ?? 'is not allowed'}`, { notes });
  }
}

const typeName = (v: unknown): string =>
  v === null
    ? 'empty'
    : Array.isArray(v)
      ? 'a list'
      : typeof v === 'object'
        ? 'a map'
        : `the ${typeof v} ${JSON.stringify(v)}`;
