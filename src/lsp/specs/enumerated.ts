import { isMap } from '../../ir/data.ts';
import type { Specs } from '../../spec/specs.ts';
import { type Category, knobsOf, type Named, namesOf } from '../names.ts';
import { SLOTS, type Slot, slotsOf } from '../slots.ts';
import type { Schema } from './schema.ts';

/** A schema under construction. */
type Draft = Record<string, unknown>;

/** Categories of which users define no names of their own: any other name is wrong. */
const CLOSED: ReadonlySet<Category> = new Set([
  'phase',
  'hook',
  'pass',
  'knob',
  'target',
  'opcode',
  'metric',
]);

/** The n-th occurrence of a phase, which an order may have. */
const OCCURRENCE = '^[A-Za-z][A-Za-z0-9-]*#([2-9]|[1-9][0-9]+)$';

/**
 * The schema of a kind with the names that specs have: what editors that know JSON Schema alone complete and check. Names of phases,
 * passes, knobs, targets, opcodes and metrics are checked; orders, recipes and groups may be files of users.
 */
export function enumerated(kind: string, schema: Schema, specs: Specs): Schema {
  const root = structuredClone(schema) as Draft;
  for (const slot of slotsOf(kind, SLOTS)) put(root, slot, specs);
  return root as Schema;
}

function put(root: Draft, [pattern, category]: Slot, specs: Specs): void {
  const parts = pattern.split('/');
  const isKey = parts.at(-1) === '{}';
  const nodes = (isKey ? parts.slice(0, -1) : parts).reduce<Draft[]>(
    (at, step) => at.flatMap((node) => stepInto(root, node, step)),
    [root],
  );
  for (const node of nodes) {
    if (isKey) asKeys(root, node, category, specs);
    else if (node.type !== 'array' && node.type !== 'object') asValue(node, category, specs);
  }
}

/** Replaces a reference by a copy of what it names, so that only this place is changed. */
function ownCopy(root: Draft, holder: Draft, key: string): Draft | null {
  const node = holder[key];
  if (!isMap(node)) return null;
  const to = /^#\/definitions\/(.+)$/.exec(String(node.$ref ?? ''))?.[1];
  if (to === undefined) return node as Draft;
  const { $ref: _, ...rest } = node;
  const copy = { ...(structuredClone((root.definitions as Draft)[to]) as Draft), ...rest };
  holder[key] = copy;
  return copy;
}

/** The schemas below a schema by one step of a pattern, those of its alternatives included. */
function stepInto(root: Draft, node: Draft, step: string): Draft[] {
  const out: Draft[] = [];
  for (const list of [node.oneOf, node.anyOf])
    if (Array.isArray(list))
      for (const k of list.keys()) {
        const own = ownCopy(root, list as unknown as Draft, String(k));
        if (own !== null) out.push(...stepInto(root, own, step));
      }
  const next: (Draft | null)[] = [];
  if (step === '*') next.push(ownCopy(root, node, 'items'), ownCopy(root, node, 'additionalProperties'));
  else if (isMap(node.properties)) next.push(ownCopy(root, node.properties as Draft, step));
  return [...out, ...next.filter((n) => n !== null)];
}

function asValue(node: Draft, category: Category, specs: Specs): void {
  const names = namesOf(specs)[category].map((n) => n.name);
  const { title, description, pattern, minLength, oneOf, anyOf, ...rest } = node;
  // A name, or several: the alternatives for lists stay.
  const lists = [oneOf, anyOf]
    .flatMap((l) => (Array.isArray(l) ? l : []))
    .filter((x) => isMap(x) && x.type === 'array');
  const open = CLOSED.has(category)
    ? category === 'phase'
      ? [{ type: 'string', pattern: OCCURRENCE }]
      : []
    : [{ type: 'string', minLength: 1 }];
  for (const key of Object.keys(node)) delete node[key];
  Object.assign(node, {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(lists.length === 0 ? rest : {}),
    anyOf: [{ enum: names }, ...open, ...lists],
  });
}

function asKeys(root: Draft, node: Draft, category: Category, specs: Specs): void {
  const value = ownCopy(root, node, 'additionalProperties') ?? {};
  const property = (n: Named): [string, Draft] => [
    n.name,
    { ...structuredClone(value), description: n.about },
  ];
  const names = namesOf(specs)[category];
  const aliases =
    category === 'knob'
      ? Object.entries(knobsOf(specs)).flatMap(([name, k]) =>
          (k.aliases ?? []).map((a): Named => ({ name: a, about: `the knob ${name}` })),
        )
      : [];
  node.properties = {
    ...(isMap(node.properties) ? node.properties : {}),
    ...Object.fromEntries([...names, ...aliases].map(property)),
  };
  if (category === 'phase') node.patternProperties = { [OCCURRENCE]: value };
  else if (category === 'opcode') node.patternProperties = { '^[A-Z0-9_]+\\.': value };
  if (CLOSED.has(category)) node.additionalProperties = false;
  delete node.propertyNames;
}
