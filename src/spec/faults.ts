import type { ErrorObject } from 'ajv';
import { match, P } from 'ts-pattern';
import { isMap } from '../ir/data.ts';
import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import { enumerated } from '../ir/listed.ts';
import { specError } from './places.ts';

interface Text {
  readonly file: string;
  readonly text: string;
}

type Schema = {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly type?: string | readonly string[];
};

/**
 * Turns the validator's errors into diagnostics, one per mistake, in file order. If a value may take several forms, the errors of the
 * single forms are replaced by one message about the choice.
 */
export function schemaFaults(f: Text, errors: readonly ErrorObject[]): Diagnostic[] {
  const out: Diagnostic[] = [];
  const seen = new Set<string>();
  for (const e of withoutAlternatives(errors)) {
    for (const d of expanded(e, errors).map((x) => faultOf(f, x, errors))) {
      if (d === null) continue;
      const key = `${d.line}:${d.column}:${d.message}`;
      if (!seen.has(key)) out.push(d);
      seen.add(key);
    }
  }
  // Filtering must never let an invalid spec pass.
  if (out.length === 0)
    for (const e of errors)
      out.push(
        specError(f, pathOf(e), 'spec-value', `${nameOf(pathOf(e))} ${e.message ?? 'is not allowed'}`),
      );
  return out.sort((a, b) => a.line - b.line || a.column - b.column);
}

const isChoice = (e: ErrorObject): boolean => e.keyword === 'oneOf' || e.keyword === 'anyOf';

/**
 * True if an error was found while trying one alternative of a choice. An alternative that is a `$ref` has a schema path of its own.
 */
const isInside = (e: ErrorObject, choice: ErrorObject): boolean => {
  if (e.instancePath !== choice.instancePath && !e.instancePath.startsWith(`${choice.instancePath}/`))
    return false;
  const besides = choice.schemaPath.slice(0, choice.schemaPath.lastIndexOf('/') + 1);
  const refers = formsOf(choice).some((s) => s.$ref !== undefined);
  return e.schemaPath.startsWith(`${choice.schemaPath}/`) || (refers && !e.schemaPath.startsWith(besides));
};

const formsOf = (choice: ErrorObject): readonly Schema[] => (choice.schema ?? []) as readonly Schema[];

/** Drops errors inside the alternatives of a choice that failed as a whole, and type errors where an enum error says more. */
function withoutAlternatives(errors: readonly ErrorObject[]): ErrorObject[] {
  const choices = errors.filter(isChoice);
  const listed = new Set(errors.filter((e) => e.keyword === 'enum').map((e) => e.parentSchema));
  return errors.filter(
    (e) => !choices.some((c) => isInside(e, c)) && !(e.keyword === 'type' && listed.has(e.parentSchema)),
  );
}

/** True if the value itself has the wrong type for an alternative, rather than something inside it being wrong. */
const isWrongKind = (x: ErrorObject, choice: ErrorObject): boolean =>
  x.instancePath === choice.instancePath && ['type', 'enum', 'const'].includes(x.keyword);

/** A map must have been meant as an alternative that accepts maps, so only the errors of such alternatives are reported. */
function expanded(e: ErrorObject, all: readonly ErrorObject[]): ErrorObject[] {
  if (!isChoice(e) || e.data === null || typeof e.data !== 'object' || isKeyed(e)) return [e];
  const inside = all.filter((x) => isInside(x, e) && !isChoice(x) && !isWrongKind(x, e));
  return inside.length > 0 ? inside : [e];
}

/** True if the alternatives differ only in the keys that they require. */
const isKeyed = (e: ErrorObject): boolean =>
  formsOf(e).every((s) => Object.keys(s).length === 1 && s.required !== undefined);

/** True if the same map has an unknown key that is nearly one of these keys; the error about that key is enough. */
const isMisspelt = (e: ErrorObject, keys: readonly string[], all: readonly ErrorObject[]): boolean =>
  all.some(
    (x) =>
      x.keyword === 'additionalProperties' &&
      x.instancePath === e.instancePath &&
      nearest(String(x.params.additionalProperty), keys).length > 0,
  );

const pathOf = (e: ErrorObject): string[] =>
  e.instancePath
    .split('/')
    .slice(1)
    .map((s) => s.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A path as shown in messages: `'edits.0'`, or `the top level`. */
const nameOf = (path: readonly string[]): string =>
  path.length === 0 ? 'the top level' : `'${path.join('.')}'`;

function faultOf(f: Text, e: ErrorObject, all: readonly ErrorObject[]): Diagnostic | null {
  const path = pathOf(e);
  const at = nameOf(path);
  const schema = (e.parentSchema ?? {}) as Schema;
  const described = schema.description === undefined ? [] : [schema.description];
  return (
    match<ErrorObject, Diagnostic | null>(e)
      .with({ keyword: 'additionalProperties', params: { additionalProperty: P.string.select() } }, (key) => {
        const known = Object.keys(schema.properties ?? {});
        const near = nearest(key, known);
        return specError(f, [...path, key], 'spec-key', `unknown key '${key}' in ${at}`, {
          key: true,
          notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `keys are ${known.join(', ')}`],
        });
      })
      .with({ keyword: 'required', params: { missingProperty: P.string.select() } }, (key) =>
        missing(f, e, path, key, all),
      )
      .with(
        { keyword: 'dependencies', params: { property: P.string, missingProperty: P.string } },
        ({ params: { property, missingProperty } }) =>
          isMisspelt(e, [missingProperty], all)
            ? null
            : specError(
                f,
                [...path, property],
                'spec-missing',
                `'${property}' requires '${missingProperty}'`,
                { key: true },
              ),
      )
      .with({ keyword: 'false schema' }, () => {
        const key = path[path.length - 1] ?? '';
        const other = /\/dependencies\/([^/]+)\/properties\//.exec(e.schemaPath)?.[1];
        const message =
          other === undefined
            ? `'${key}' is not allowed here`
            : `'${key}' cannot be combined with '${other}'`;
        return specError(f, path, 'spec-key', message, { key: true });
      })
      .with({ keyword: 'const', params: { allowedValue: P.select() } }, (one) =>
        notAllowed(f, path, e.data, [String(one)]),
      )
      .with({ keyword: 'enum', params: { allowedValues: P.array().select() } }, (several) =>
        notAllowed(f, path, e.data, several.map(String)),
      )
      .with({ keyword: 'type' }, () =>
        specError(
          f,
          path,
          'spec-type',
          `${at} is ${typeName(e.data)}, expected ${enumerated(([] as string[]).concat(e.params.type).map(typeWord), 'or')}`,
          { notes: [...described, ...(isQuotable(e) ? ['in quotes it is text'] : [])] },
        ),
      )
      .with({ keyword: P.union('oneOf', 'anyOf') }, () => choice(f, e, path, all))
      .with({ keyword: 'propertyNames', params: { propertyName: P.string.select() } }, (key) =>
        specError(f, [...path, key], 'spec-key', `'${key}' is not a valid name in ${at}`, {
          key: true,
          notes: patternNote(e, all),
        }),
      )
      // The `propertyNames` error already reports this.
      .with({ keyword: 'pattern', propertyName: P.string }, { keyword: 'if' }, () => null)
      .with({ keyword: 'pattern', params: { pattern: P.string.select() } }, (form) =>
        specError(
          f,
          path,
          'spec-value',
          `${at} is ${typeName(e.data)}, which does not have the required form`,
          {
            notes: [...described, `form: ${form}`],
          },
        ),
      )
      .otherwise(() => specError(f, path, 'spec-value', `${at} ${limitText(e)}`, { notes: described }))
  );
}

/** The diagnostic for a missing key; null if a misspelling of the key is reported already. */
function missing(
  f: Text,
  e: ErrorObject,
  path: readonly string[],
  key: string,
  all: readonly ErrorObject[],
): Diagnostic | null {
  if (isMisspelt(e, [key], all)) return null;
  const because = /\/dependencies\/([^/]+)\//.exec(e.schemaPath)?.[1];
  const property = ((e.parentSchema ?? {}) as Schema).properties?.[key] as Schema | undefined;
  const notes = property?.description === undefined ? [] : [property.description];
  if (because !== undefined)
    return specError(f, [...path, because], 'spec-missing', `'${because}' requires '${key}'`, {
      key: true,
    });
  return specError(f, path, 'spec-missing', `'${key}' is missing in ${nameOf(path)}`, { notes });
}

/**
 * The diagnostic for a value that fits none of several forms. If the forms differ in required keys, the present keys tell what was meant.
 */
function choice(
  f: Text,
  e: ErrorObject,
  path: readonly string[],
  all: readonly ErrorObject[],
): Diagnostic | null {
  const forms = formsOf(e);
  if (isKeyed(e)) return keyedChoice(f, e, path, forms, all);
  const values = forms.flatMap((s) => (s.enum ?? []).map(String));
  const referred = all.filter(
    (x) => x.keyword === 'type' && x.instancePath === e.instancePath && isInside(x, e),
  );
  const types = [...forms.map((s) => s.type), ...referred.map((x) => x.params.type as Schema['type'])];
  const kinds = [...new Set(types.flatMap((t) => ([] as string[]).concat(t ?? [])).map(typeWord))];
  const near = typeof e.data === 'string' ? nearest(e.data, values) : [];
  return specError(
    f,
    path,
    'spec-form',
    `${nameOf(path)} is ${typeName(e.data)}, expected ${enumerated([...values, ...kinds], 'or')}`,
    { notes: near.length > 0 ? [`did you mean '${near[0]}'?`] : [] },
  );
}

function keyedChoice(
  f: Text,
  e: ErrorObject,
  path: readonly string[],
  forms: readonly Schema[],
  all: readonly ErrorObject[],
): Diagnostic | null {
  if (!isMap(e.data)) return null;
  const keys = forms.map((s) => (s.required as string[]).join(' with '));
  const present = keys.filter((k) => k.split(' with ').every((x) => Object.hasOwn(e.data as object, x)));
  const at = nameOf(path);
  if (present.length > 1)
    return specError(
      f,
      [...path, present[1].split(' with ')[0]],
      'spec-form',
      `${at} has both ${enumerated(present, 'and')}`,
      {
        key: true,
        notes: [`exactly one of ${keys.join(', ')}`],
      },
    );
  const parts = keys.flatMap((k) => k.split(' with '));
  if (isMisspelt(e, parts, all)) return null;
  const because = /\/dependencies\/([^/]+)\/(anyOf|oneOf)$/.exec(e.schemaPath)?.[1];
  if (because !== undefined)
    return specError(
      f,
      [...path, because],
      'spec-missing',
      `'${because}' requires ${enumerated(keys, 'or')}`,
      {
        key: true,
      },
    );
  const wanted = all.some(
    (x) =>
      x.keyword === 'dependencies' &&
      x.instancePath === e.instancePath &&
      parts.includes(String(x.params.missingProperty)),
  );
  return wanted ? null : specError(f, path, 'spec-form', `${at} has none of ${keys.join(', ')}`);
}

function notAllowed(f: Text, path: readonly string[], data: unknown, allowed: readonly string[]): Diagnostic {
  // The edit distance between two numbers says nothing about which one was meant.
  const near = typeof data === 'number' ? [] : nearest(String(data), allowed);
  const shown = data !== null && typeof data === 'object' ? typeName(data) : `'${String(data)}'`;
  return specError(f, path, 'spec-value', `${shown} is not allowed for ${nameOf(path)}`, {
    notes: [near.length > 0 ? `did you mean '${near[0]}'?` : `one of ${allowed.join(', ')}`],
  });
}

/** True for a number or boolean where text of that form is required: YAML read an unquoted text as another type, perhaps losing digits. */
function isQuotable(e: ErrorObject): boolean {
  const types = ([] as unknown[]).concat(e.params.type);
  const { pattern } = (e.parentSchema ?? {}) as Schema;
  return (
    types.includes('string') &&
    !types.includes('number') &&
    ['number', 'boolean'].includes(typeof e.data) &&
    (pattern === undefined || new RegExp(pattern).test(String(e.data)))
  );
}

/** A note with the pattern for keys of a map, taken from the validator's error about the key itself. */
function patternNote(e: ErrorObject, all: readonly ErrorObject[]): string[] {
  const inner = all.find((x) => x.propertyName === e.params.propertyName && x.keyword === 'pattern');
  return inner === undefined ? [] : [`form: ${inner.params.pattern}`];
}

/** The validator's message about a limit of a number or a list, worded to follow the name of the value. */
function limitText(e: ErrorObject): string {
  const p = e.params as { limit?: number; comparison?: string; i?: number; j?: number };
  switch (e.keyword) {
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `is ${String(e.data)}, but must be ${p.comparison} ${p.limit}`;
    case 'minLength':
      return 'is empty';
    case 'minItems':
      return `has ${(e.data as unknown[]).length} elements, needs at least ${p.limit}`;
    case 'minProperties':
      return 'is empty';
    case 'maxItems':
      return `has ${(e.data as unknown[]).length} elements, at most ${p.limit} are read`;
    case 'uniqueItems':
      return `has duplicates (elements ${p.j} and ${p.i}, counted from 0)`;
    default:
      return e.message ?? 'is not allowed';
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  object: 'a map',
  array: 'a list',
  string: 'text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  null: 'nothing',
};
const typeWord = (t: string): string => TYPE_WORDS[t] ?? t;

function typeName(v: unknown): string {
  if (v === null || v === undefined) return 'empty';
  if (Array.isArray(v)) return 'a list';
  if (typeof v === 'object') return 'a map';
  const shown = typeof v === 'string' ? JSON.stringify(v) : String(v);
  return `${typeof v === 'string' ? 'the text' : typeof v === 'number' ? 'the number' : 'the value'} ${shown.length > 60 ? `${shown.slice(0, 57)}...` : shown}`;
}
