/**
 * Cross-reference check: every name used in phases, constraints, the knob catalog and back ends must be defined. Plans find undefined names
 * that they use; this looks at every row.
 */

import { match } from 'ts-pattern';
import { isMap } from '../ir/data.ts';
import { type Isa, SPACES } from '../ir/opcode.ts';
import { buildIsa } from '../isa/build.ts';
import { isFact } from './backend.ts';
import { stemOf } from './collect.ts';
import type { SpecFile } from './document.ts';
import { LISTS_PHASES } from './entries.ts';
import type { Issues, SpecPath, Spot } from './issues.ts';
import { isaDocs } from './plan-skeleton.ts';
import type { Specs } from './specs.ts';

type Data = Readonly<Record<string, unknown>>;

const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : []);
const mapOf = (v: unknown): Data => (isMap(v) ? v : {});

/** Reports each name in a spec that is not defined, and each that is defined twice. */
export function checkReferences(spec: SpecFile, shipped: Specs, issues: Issues): void {
  match(spec.kind)
    .with('phases', () => checkPhases(spec, shipped, issues))
    .with('constraints', () => checkConstraints(spec, shipped, issues))
    .with('knobs', () => checkCatalog(spec, shipped, issues))
    .with('backend', () => checkBackend(spec, shipped, issues))
    .with('rules', () => checkOwners(spec, shipped, issues))
    .otherwise(() => {});
}

/** Names and aliases of knobs by their lower-case form, since look-up ignores case. */
function knobNames(catalog: SpecFile): Map<string, string> {
  const out = new Map<string, string>();
  for (const [name, k] of Object.entries(mapOf(catalog.data.knobs)))
    for (const n of [name, ...listOf(mapOf(k).aliases)]) out.set(String(n).toLowerCase(), String(n));
  return out;
}

const phaseNames = (phases: SpecFile): Set<string> =>
  new Set(listOf(phases.data.phases).map((p) => String(mapOf(p).name)));

/** Paths of the facts of back ends, inner maps included, each with the values that back ends have there. */
export function factPaths(backends: Iterable<SpecFile>): Map<string, unknown[]> {
  const out = new Map<string, unknown[]>();
  const walk = (v: unknown, path: string): void => {
    out.set(path, [...(out.get(path) ?? []), v]);
    if (isMap(v)) for (const [k, x] of Object.entries(v)) walk(x, `${path}.${k}`);
  };
  for (const f of backends) for (const [k, v] of Object.entries(f.data)) if (isFact(k)) walk(v, k);
  return out;
}

function checkPhases(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const knobs = knobNames(shipped.knobs);
  const values = factPaths(shipped.backends.values());
  const facts = new Set(values.keys());
  const properties = Object.keys(mapOf(spec.data.properties));
  const names = phaseNames(spec);
  const rows = listOf(spec.data.phases).map(mapOf);
  const named = (
    path: SpecPath,
    word: unknown,
    known: ReadonlySet<string> | readonly string[],
    code: string,
    what: string,
    otherwise: string,
  ): void => {
    const has = Array.isArray(known)
      ? known.includes(String(word))
      : (known as ReadonlySet<string>).has(String(word));
    if (!has)
      issues.unknown(
        { file: spec, path },
        code,
        `there is no ${what} '${word}'`,
        String(word),
        known,
        otherwise,
      );
  };
  rows.forEach((row, i) => {
    const gate = mapOf(row.gate);
    const at: SpecPath = ['phases', i];
    const only = mapOf(gate.only);
    const also = mapOf(gate.also);
    const knobLists: [SpecPath, unknown][] = [
      [[...at, 'knobs'], row.knobs],
      ...['unset', 'set', 'nonzero', 'budget'].map((k): [SpecPath, unknown] => [[...at, 'gate', k], gate[k]]),
      [[...at, 'gate', 'only', 'knob'], only.knob === undefined ? [] : [only.knob]],
      [[...at, 'gate', 'also', 'knob'], also.knob === undefined ? [] : [also.knob]],
      [[...at, 'ruleBudget'], row.ruleBudget === undefined ? [] : [row.ruleBudget]],
      ...listOf(row.steps).flatMap((s, n) =>
        ['leastCost', 'roundsBy'].map((k): [SpecPath, unknown] => {
          const knob = mapOf(s)[k];
          return [[...at, 'steps', n, k], knob === undefined ? [] : [knob]];
        }),
      ),
    ];
    for (const [path, list] of knobLists)
      listOf(list).forEach((k, n) => {
        if (!knobs.has(String(k).toLowerCase()))
          issues.unknown(
            {
              file: spec,
              path: ['ruleBudget', 'leastCost', 'roundsBy', 'knob'].includes(String(path.at(-1)))
                ? path
                : [...path, n],
            },
            'unknown-knob',
            `there is no knob '${k}'`,
            String(k),
            knobs.values(),
            '`orrery plan --all` prints every knob',
          );
      });
    listOf(row.facts).forEach((f, n) =>
      named(
        [...at, 'facts', n],
        f,
        facts,
        'unknown-fact',
        'fact',
        'back ends in pipelines/backends have them',
      ),
    );
    listOf(gate.facts).forEach((f, n) => {
      const { path, equals } = mapOf(f);
      const where: SpecPath = [...at, 'gate', 'facts', n];
      named([...where, 'path'], path, facts, 'unknown-fact', 'fact', 'back ends have them');
      const known = values.get(String(path));
      if (known !== undefined && equals !== undefined && !known.includes(equals))
        issues.unknown(
          { file: spec, path: [...where, 'equals'] },
          'fact-value',
          `'${path}' is '${equals}' on no back end, so the gate never opens`,
          String(equals),
          new Set(known.map(String)),
          `it is ${[...new Set(known.map(String))].join(' or ')}`,
        );
    });
    for (const key of ['requires', 'provides', 'destroys'])
      listOf(row[key]).forEach((p, n) =>
        named(
          [...at, key, n],
          p,
          properties,
          'unknown-property',
          'IR property',
          `'properties' of this table names them`,
        ),
      );
    if (row.worker !== undefined)
      named([...at, 'worker'], row.worker, names, 'unknown-phase', 'phase', '`orrery phases` lists them');
  });
  checkNumbers(spec, rows, issues);
  checkPhaseNames(spec, rows, issues);
}

/** Reports phase names that occur twice. Only rows with a `slot` may share the name of another row. */
function checkPhaseNames(spec: SpecFile, rows: readonly Data[], issues: Issues): void {
  const seen = new Map<string, number>();
  rows.forEach((row, i) => {
    if (row.slot !== undefined) return;
    const name = String(row.name);
    const other = seen.get(name.toLowerCase());
    if (other === undefined) seen.set(name.toLowerCase(), i);
    else
      issues.error(
        { file: spec, path: ['phases', i, 'name'] },
        'phase-name',
        `there are two phases '${name}'`,
        {
          notes: ['orders, recipes and knobs refer to phases by name, so names must be unique'],
          see: { what: 'the other', file: spec, path: ['phases', other, 'name'] },
        },
      );
  });
}

/** Reports owners of a rule group, or of its rules, that are not phases. */
function checkOwners(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const names = phaseNames(shipped.phases);
  const owners = (list: unknown, path: SpecPath): void =>
    listOf(list).forEach((name, n) =>
      unknownPhase({ file: spec, path: [...path, n] }, String(name), names, issues),
    );
  owners(spec.data.owner, ['owner']);
  listOf(spec.data.rules).forEach((r, i) => owners(mapOf(r).owner, ['rules', i, 'owner']));
}

function unknownPhase(at: Spot, name: string, names: ReadonlySet<string>, issues: Issues): void {
  if (!names.has(name))
    issues.unknown(at, 'unknown-phase', `there is no phase '${name}'`, name, names, LISTS_PHASES);
}

/** Reports duplicate numbers. A seed number belongs to one row, a true index to one row or to a slot and its worker. */
function checkNumbers(spec: SpecFile, rows: readonly Data[], issues: Issues): void {
  for (const key of ['index', 'trueIndex']) {
    const seen = new Map<number, Data>();
    rows.forEach((row, i) => {
      const n = row[key];
      if (typeof n !== 'number') return;
      const other = seen.get(n);
      if (other === undefined) seen.set(n, row);
      else if (
        key === 'index' ||
        (row.slot === undefined &&
          other.slot === undefined &&
          row.name !== other.name &&
          row.worker === undefined &&
          other.worker === undefined)
      )
        issues.error(
          { file: spec, path: ['phases', i, key] },
          'phase-number',
          `${key} ${n} already belongs to '${other.name}'`,
          {
            notes: ['traces refer to phases by number, so numbers must be unique'],
          },
        );
    });
  }
}

function checkConstraints(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const names = phaseNames(shipped.phases);
  listOf(spec.data.constraints).forEach((c, i) => {
    for (const key of ['before', 'after']) {
      unknownPhase({ file: spec, path: ['constraints', i, key] }, String(mapOf(c)[key]), names, issues);
    }
  });
}

function checkCatalog(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const names = phaseNames(shipped.phases);
  const indices = new Map<string, string>();
  const owners = new Map<string, string>();
  const knobs = Object.entries(mapOf(spec.data.knobs));
  for (const [name] of knobs) owners.set(name.toLowerCase(), name);
  for (const [name, value] of knobs) {
    const k = mapOf(value);
    listOf(k.readers).forEach((r, n) =>
      unknownPhase({ file: spec, path: ['knobs', name, 'readers', n] }, String(r), names, issues),
    );
    listOf(k.aliases).forEach((a, n) => {
      const owner = owners.get(String(a).toLowerCase());
      if (owner !== undefined)
        issues.error(
          { file: spec, path: ['knobs', name, 'aliases', n] },
          'knob-name',
          `'${a}' already names knob '${owner}'`,
        );
      else owners.set(String(a).toLowerCase(), name);
    });
    if (typeof k.index !== 'number') continue;
    const key = `${k.space ?? 'OCG'} ${k.index}`;
    const other = indices.get(key);
    if (other === undefined) indices.set(key, name);
    else
      issues.error(
        { file: spec, path: ['knobs', name, 'index'] },
        'knob-index',
        `index ${k.index} already belongs to knob '${other}'`,
      );
  }
}

/** Parts of a back end that may only have keys that a shipped back end has. */
const MAPS = ['slots', 'capabilities', 'limits', 'encoding'];

function checkBackend(spec: SpecFile, shipped: Specs, issues: Issues): void {
  checkBackendName(spec, issues);
  const others = [...shipped.backends.values()];
  const declaring = declarersFor(spec, shipped);
  for (const part of MAPS) {
    const known = new Map<string, unknown>();
    for (const f of declaring)
      for (const [k, v] of Object.entries(mapOf(f.data[part]))) known.set(k, known.get(k) ?? v);
    for (const [key, value] of Object.entries(mapOf(spec.data[part]))) {
      const at = { file: spec, path: [part, key] };
      const model = known.get(key);
      if (!known.has(key))
        issues.unknown(
          at,
          'unknown-fact',
          `no phase knows '${part}.${key}'`,
          key,
          known.keys(),
          `${part} are ${[...known.keys()].join(', ')}`,
          {
            key: true,
          },
        );
      else if (Array.isArray(value) !== Array.isArray(model))
        issues.error(
          at,
          'fact-shape',
          `'${part}.${key}' is ${Array.isArray(model) ? 'a list' : 'one value, not a list'}`,
        );
    }
  }
  const handlers = new Set(others.flatMap((f) => Object.values(mapOf(f.data.slots)).map(String)));
  for (const [slot, handler] of Object.entries(mapOf(spec.data.slots)))
    if (!handlers.has(String(handler)))
      issues.unknown(
        { file: spec, path: ['slots', slot] },
        'unknown-handler',
        `there is no handler '${handler}'`,
        String(handler),
        handlers,
        `handlers are ${[...handlers].join(', ')}`,
      );
  checkOperations(spec, shipped, issues);
  checkExplained(spec, shipped, issues);
  if (spec.data.sm === undefined) return;
  const doubtful = (f: SpecFile, key: string): boolean => mapOf(f.data.doubts)[key] !== undefined;
  for (const key of ['sm', 'code']) {
    const value = spec.data[key];
    const same = others.find((f) => f.data.name !== spec.data.name && f.data[key] === value);
    // Sources disagree on the codes of some targets; `doubts` marks these.
    if (value === undefined || same === undefined || doubtful(spec, key) || doubtful(same, key)) continue;
    issues.error(
      { file: spec, path: [key] },
      'backend-twice',
      `${key} ${value} already belongs to back end '${same.data.name}'`,
      { notes: [`where that is meant, 'doubts.${key}' says why`] },
    );
  }
  for (const key of ['code', 'class'])
    if (inherited(spec, key, shipped) === undefined)
      issues.error(
        { file: spec, path: ['sm'] },
        'backend-lacks',
        `the back end of '${spec.data.sm}' has no '${key}'`,
        {
          notes: [`give it here, or in what it extends`],
        },
      );
}

/**
 * The back ends that define which keys `spec` may have. They exclude `spec` itself, unless it is the base of all targets and so the one
 * that declares the keys. Shipped back ends are checked too, and must not vouch for themselves.
 */
function declarersFor(spec: SpecFile, shipped: Specs): SpecFile[] {
  const all = [...shipped.backends.values()];
  const isIt = (f: SpecFile): boolean => f.file === spec.file || f.data.name === spec.data.name;
  const targets = all.filter((f) => f.data.sm !== undefined && !isIt(f));
  if (targets.every((f) => familyOf(f, shipped).some(isIt))) return [...all, spec];
  return all.filter((f) => !isIt(f));
}

/** Reports a back end whose name differs from that of its file. */
function checkBackendName(spec: SpecFile, issues: Issues): void {
  const stem = stemOf(spec.file);
  const { name } = spec.data;
  if (name !== stem)
    issues.error(
      { file: spec, path: ['name'] },
      'backend-name',
      `back end '${name}' is in the file '${stem}.yaml'`,
      {
        notes: [`call the file ${name}.yaml, or the back end ${stem}`],
      },
    );
}

/** Reports operations, costs and latencies of a back end with unknown opcodes, modifiers, units, memory spaces or phases. */
function checkOperations(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const { isa } = buildIsa(isaDocs(shipped));
  const phases = phaseNames(shipped.phases);
  for (const [name, support] of Object.entries(mapOf(spec.data.operations))) {
    const at: Spot = { file: spec, path: ['operations', name] };
    const [opcode, ...mods] = name.split('.');
    unknownOpcode(at, opcode, isa, issues, true);
    const known = isa.byName.get(opcode)?.modByName;
    for (const m of known === undefined ? [] : mods)
      if (!known!.has(m))
        issues.unknown(at, 'unknown-modifier', `${opcode} has no modifier '.${m}'`, m, known!.keys(), '', {
          key: true,
        });
    if (support !== 'native' && support !== 'none') unknownPhase(at, String(support), phases, issues);
  }
  for (const key of ['operations', 'readers'])
    listOf(mapOf(spec.data.uniform)[key]).forEach((name, n) =>
      unknownOpcode({ file: spec, path: ['uniform', key, n] }, String(name), isa, issues),
    );
  const opcodes = [...isa.byName.keys()];
  const units = isa.opcodes.map((op) => op.unit);
  // A cost may be for the 64-bit form of an opcode (`instrCost`).
  const timed = {
    costs: new Set<string>([...units, ...opcodes, ...opcodes.map((n) => `${n}_64`)]),
    latencies: new Set<string>([...units, ...SPACES, ...opcodes]),
  };
  for (const [part, known] of Object.entries(timed))
    for (const name of Object.keys(mapOf(spec.data[part])))
      if (!known.has(name))
        issues.unknown(
          { file: spec, path: [part, name] },
          'unknown-fact',
          `'${part}.${name}' names no unit, ${part === 'latencies' ? 'no memory space, ' : ''}and no opcode`,
          name,
          known,
          `units are ${[...new Set(units)].join(', ')}`,
          { key: true },
        );
}

function unknownOpcode(at: Spot, name: string, isa: Isa, issues: Issues, key = false): void {
  if (!isa.byName.has(name))
    issues.unknown(
      at,
      'unknown-opcode',
      `there is no opcode '${name}'`,
      name,
      isa.byName.keys(),
      'pipelines/isa has them',
      { key },
    );
}

/** Reports sources and doubts about facts that the back end neither has nor inherits. */
function checkExplained(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const family = familyOf(spec, shipped);
  // A missing base might have any fact.
  if (family.at(-1)!.data.extends !== undefined) return;
  const facts = new Set(factPaths(family).keys());
  for (const key of ['sources', 'doubts'])
    for (const path of Object.keys(mapOf(spec.data[key])))
      if (!facts.has(path))
        issues.unknown(
          { file: spec, path: [key, path] },
          'unknown-fact',
          `the back end has no fact '${path}'`,
          path,
          facts,
          'a path names a fact, or the part above it',
          { key: true },
        );
}

/** The `extends` chain of a back end, itself first. */
function familyOf(spec: SpecFile, shipped: Specs): SpecFile[] {
  const out: SpecFile[] = [];
  for (let f: SpecFile | undefined = spec; f !== undefined && !out.includes(f); ) {
    out.push(f);
    f = shipped.backends.get(String(f.data.extends));
  }
  return out;
}

const inherited = (spec: SpecFile, key: string, shipped: Specs): unknown =>
  familyOf(spec, shipped).find((f) => f.data[key] !== undefined)?.data[key];
