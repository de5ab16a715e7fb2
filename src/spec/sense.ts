/**
 * Names that tables give each other: what a phase, a constraint, the catalog or a back end names has to be there. Plans find out
 * what they use; this looks at every row, used or not.
 */
import { match } from 'ts-pattern';
import type { SpecFile } from './document.ts';
import type { Issues, SpecPath } from './issues.ts';
import type { Specs } from './specs.ts';

type Data = Readonly<Record<string, unknown>>;

const isMap = (v: unknown): v is Data => v !== null && typeof v === 'object' && !Array.isArray(v);
const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : []);
const mapOf = (v: unknown): Data => (isMap(v) ? v : {});

/** Everything in a table that names nothing, or names something twice. */
export function checkSense(spec: SpecFile, shipped: Specs, issues: Issues): void {
  match(spec.kind)
    .with('phases', () => checkPhases(spec, shipped, issues))
    .with('constraints', () => checkConstraints(spec, shipped, issues))
    .with('knobs', () => checkCatalog(spec, shipped, issues))
    .with('backend', () => checkBackend(spec, shipped, issues))
    .otherwise(() => {});
}

/** Knobs by every name that finds them, in lower case as look-up has it. */
function knobNames(catalog: SpecFile): Map<string, string> {
  const out = new Map<string, string>();
  for (const [name, k] of Object.entries(mapOf(catalog.data.knobs)))
    for (const n of [name, ...listOf(mapOf(k).aliases)]) out.set(String(n).toLowerCase(), String(n));
  return out;
}

const phaseNames = (phases: SpecFile): Set<string> =>
  new Set(listOf(phases.data.phases).map((p) => String(mapOf(p).name)));

/** Paths that facts of back ends have, those above leaves included. */
function factPaths(backends: Specs['backends']): Set<string> {
  const out = new Set<string>();
  const walk = (v: unknown, path: string): void => {
    if (path !== '') out.add(path);
    if (isMap(v)) for (const [k, x] of Object.entries(v)) walk(x, path === '' ? k : `${path}.${k}`);
  };
  for (const f of backends.values()) walk(f.data, '');
  return out;
}

function checkPhases(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const knobs = knobNames(shipped.knobs);
  const facts = factPaths(shipped.backends);
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
    const knobLists: [SpecPath, unknown][] = [
      [[...at, 'knobs'], row.knobs],
      ...['unset', 'set', 'nonzero', 'budget'].map((k): [SpecPath, unknown] => [[...at, 'gate', k], gate[k]]),
      [[...at, 'ruleBudget'], row.ruleBudget === undefined ? [] : [row.ruleBudget]],
      ...listOf(row.steps).map((s, n): [SpecPath, unknown] => {
        const { leastCost } = mapOf(s);
        return [[...at, 'steps', n, 'leastCost'], leastCost === undefined ? [] : [leastCost]];
      }),
    ];
    for (const [path, list] of knobLists)
      listOf(list).forEach((k, n) => {
        if (!knobs.has(String(k).toLowerCase()))
          issues.unknown(
            {
              file: spec,
              path: path.at(-1) === 'ruleBudget' || path.at(-1) === 'leastCost' ? path : [...path, n],
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
    listOf(gate.facts).forEach((f, n) =>
      named(
        [...at, 'gate', 'facts', n, 'path'],
        mapOf(f).path,
        facts,
        'unknown-fact',
        'fact',
        'back ends have them',
      ),
    );
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
}

/** A seed number is one row's; a true index is one row's, or that of a slot and its worker. */
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
          `${key} ${n} is that of '${other.name}' already`,
          {
            notes: ['numbers name phases in traces: each belongs to one'],
          },
        );
    });
  }
}

function checkConstraints(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const names = phaseNames(shipped.phases);
  listOf(spec.data.constraints).forEach((c, i) => {
    for (const key of ['before', 'after']) {
      const name = String(mapOf(c)[key]);
      if (!names.has(name))
        issues.unknown(
          { file: spec, path: ['constraints', i, key] },
          'unknown-phase',
          `there is no phase '${name}'`,
          name,
          names,
          '`orrery phases` lists them',
        );
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
    listOf(k.readers).forEach((r, n) => {
      if (!names.has(String(r)))
        issues.unknown(
          { file: spec, path: ['knobs', name, 'readers', n] },
          'unknown-phase',
          `there is no phase '${r}'`,
          String(r),
          names,
          '`orrery phases` lists them',
        );
    });
    listOf(k.aliases).forEach((a, n) => {
      const owner = owners.get(String(a).toLowerCase());
      if (owner !== undefined)
        issues.error(
          { file: spec, path: ['knobs', name, 'aliases', n] },
          'knob-name',
          `'${a}' names knob '${owner}' already`,
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
        `index ${k.index} is that of knob '${other}' already`,
      );
  }
}

/** Parts of a back end whose keys are those that shipped ones have. */
const MAPS = ['slots', 'capabilities', 'limits', 'encoding'];

function checkBackend(spec: SpecFile, shipped: Specs, issues: Issues): void {
  const others = [...shipped.backends.values()];
  for (const part of MAPS) {
    const known = new Map<string, unknown>();
    for (const f of others)
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
  if (spec.data.sm === undefined) return;
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

function inherited(spec: SpecFile, key: string, shipped: Specs): unknown {
  const seen = new Set<SpecFile>();
  for (let f: SpecFile | undefined = spec; f !== undefined && !seen.has(f); ) {
    if (f.data[key] !== undefined) return f.data[key];
    seen.add(f);
    f = shipped.backends.get(String(f.data.extends));
  }
  return undefined;
}
