import { readdirSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { passes } from '../../src/passes/registry.ts';

// Shipped data, read straight from the files without src/spec, so that a mistake in the data and a mistake in the loader cannot hide each
// other.

interface StepRow {
  pass?: string;
  rules?: string[];
  use?: string;
  repeat?: StepRow[];
}

interface Row {
  index: number | null;
  trueIndex: number;
  name: string;
  stage: number;
  category: string;
  status: string;
  note?: string;
  steps?: StepRow[];
  gate?: {
    levels?: number[];
    asksLevel?: boolean;
    only?: { knob: string; levels: number[] };
    also?: { knob: string; levels: number[] };
    unset?: string[];
    set?: string[];
    budget?: string[];
    facts?: { path: string; equals: unknown }[];
  };
  knobs?: string[];
  facts?: string[];
  requires?: string[];
  provides?: string[];
  destroys?: string[];
  hook?: string;
  worker?: string;
  slot?: number;
  progress?: number;
  noOp?: boolean;
  required?: boolean;
}
interface Knob {
  index: number | null;
  space?: string;
  type: string;
  default: unknown;
  range?: [number | null, number | null];
  aliases?: string[];
  readers?: string[];
  decoded?: boolean;
  unread?: boolean;
  ours?: boolean;
}
interface Constraint {
  before: string;
  after: string;
  why: string;
  orders?: string[];
}
type Plain = Record<string, unknown>;

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const yaml = (path: string): unknown => parse(readFileSync(at(path), 'utf8'));
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const validators = new Map<string, ReturnType<typeof ajv.compile>>();
function schemaErrors(kind: string, data: unknown): string[] {
  let validate = validators.get(kind);
  if (validate === undefined) {
    validate = ajv.compile(JSON.parse(readFileSync(at(`schemas/${kind}.schema.json`), 'utf8')));
    validators.set(kind, validate);
  }
  validate(data);
  return (validate.errors ?? []).map((e) => `${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}
const namesIn = (dir: string) =>
  readdirSync(at(dir))
    .filter((f) => f.endsWith('.yaml'))
    .map((f) => f.slice(0, -5));

const table = yaml('pipelines/phases.yaml') as {
  properties: Record<string, { initial?: boolean }>;
  stepLists: Record<string, StepRow[]>;
  phases: Row[];
};
const rows = table.phases;
/** Passes that steps come to. */
const passesIn = (steps: readonly StepRow[] = []): string[] =>
  steps.flatMap((s) => [
    ...(s.pass === undefined ? [] : [s.pass]),
    ...passesIn(s.repeat),
    ...(s.use === undefined ? [] : passesIn(table.stepLists[s.use])),
  ]);
const passNames = (r: Row): string[] => passesIn(r.steps);
const knobs = (yaml('knobs/catalog.yaml') as { knobs: Record<string, Knob> }).knobs;
const orders = new Map(
  ['seed', 'binary'].map((n) => [n, (yaml(`pipelines/orders/${n}.yaml`) as { phases: string[] }).phases]),
);
const constraints = (yaml('pipelines/constraints.yaml') as { constraints: Constraint[] }).constraints;

/** Row of each id: `name`, `name#2` for the second row of that name. */
const byId = new Map<string, Row>();
for (const r of rows) byId.set(byId.has(r.name) ? `${r.name}#2` : r.name, r);

describe('files', () => {
  const files: [string, string][] = [
    ['pipelines/phases.yaml', 'phases'],
    ['pipelines/constraints.yaml', 'constraints'],
    ['knobs/catalog.yaml', 'knobs'],
    ['pipelines/orders/seed.yaml', 'order'],
    ['pipelines/orders/binary.yaml', 'order'],
    ...namesIn('pipelines/backends').map((n): [string, string] => [
      `pipelines/backends/${n}.yaml`,
      'backend',
    ]),
  ];
  test.each(files)('%s is valid and names its schema', (path, kind) => {
    expect(schemaErrors(kind, yaml(path))).toEqual([]);
    const up = '../'.repeat(path.split('/').length - 1);
    const first = readFileSync(at(path), 'utf8').split('\n', 1)[0];
    expect(first).toBe(`# yaml-language-server: $schema=${up}schemas/${kind}.schema.json`);
  });

  test('the schemas refuse what is wrong', () => {
    expect(schemaErrors('knobs', { kind: 'knobs', knobs: { A: { index: 1, type: 'BOOL' } } })).not.toEqual(
      [],
    );
    expect(schemaErrors('phases', { kind: 'phases', properties: {}, phases: [{ name: 'X' }] })).not.toEqual(
      [],
    );
    expect(schemaErrors('backend', { kind: 'backend', name: 'x', limits: { 'warp-size': -1 } })).not.toEqual(
      [],
    );
    expect(schemaErrors('order', { kind: 'order' })).not.toEqual([]);
    expect(schemaErrors('order', { kind: 'order', phases: ['A'], extends: 'seed', edits: [] })).not.toEqual(
      [],
    );
    const edit = (e: Plain) =>
      schemaErrors('order', { kind: 'order', extends: 'seed', edits: [e] }).length === 0;
    expect(edit({ move: 'A', after: 'B', why: 'x' })).toBe(true);
    expect(edit({ replace: 'A', with: 'B' })).toBe(true);
    expect(edit({ drop: 'A', levels: [2] })).toBe(true);
    expect(edit({ move: 'A', after: 'B', levels: [1] })).toBe(true);
    expect(edit({ repeat: 'A', through: 'B', rounds: 2 })).toBe(true);
    expect(edit({ insert: 'A', before: 'B#2' })).toBe(true);
    expect(edit({ insertPass: 'live-dead', params: { x: 1 }, after: 'B' })).toBe(true);
    for (const bad of [
      { move: 'A' },
      { move: 'A', before: 'B', after: 'C' },
      { move: 'A', drop: 'B', after: 'C' },
      { replace: 'A' },
      { drop: 'A', before: 'B' },
      { repeat: 'A' },
      { repeat: 'A', rounds: 1 },
      { repeat: 'A', rounds: 2, after: 'B' },
      { move: 'A', after: 'B', through: 'C' },
      { insert: 'A', after: 'B', params: {} },
      {},
    ])
      expect(edit(bad), JSON.stringify(bad)).toBe(false);
  });
});

describe('phases', () => {
  test('seed numbers 0..158 stand once each, in order, and 16 workers follow', () => {
    expect(rows.slice(0, 159).map((r) => r.index)).toEqual(Array.from({ length: 159 }, (_, i) => i));
    expect(rows.slice(159).map((r) => r.index)).toEqual(Array(16).fill(null));
  });

  test('true indices are a permutation; a worker shares that of its slot', () => {
    const own = rows.filter((r) => r.slot === undefined).map((r) => r.trueIndex);
    expect([...own].sort((a, b) => a - b)).toEqual(Array.from({ length: 159 }, (_, i) => i));
    for (const r of rows) if (r.slot !== undefined) expect(r.trueIndex).toBe(rows[r.slot].trueIndex);
  });

  test('a name stands twice only for a slot and its worker; nothing is bound to the worker row', () => {
    const count = new Map<string, number>();
    for (const r of rows) count.set(r.name, (count.get(r.name) ?? 0) + 1);
    const workers = rows.filter((r) => r.slot !== undefined);
    expect(workers).toHaveLength(16);
    expect([...count].filter(([, n]) => n > 1).map(([n]) => n)).toEqual(workers.map((r) => r.name));
    for (const r of workers) {
      expect(rows[r.slot as number].name).toBe(r.name);
      expect(r.steps).toBeUndefined();
      expect(r.status).toBe('marker');
    }
  });

  test('the stages are the groups of seed 004', () => {
    const last = [12, 36, 58, 95, 105, 131, 158];
    for (const r of rows)
      if (r.index !== null)
        expect(r.stage, r.name).toBe(1 + last.findIndex((end) => (r.index as number) <= end));
  });

  test('categories are counted as in the reference', () => {
    const n: Record<string, number> = {};
    for (const r of rows) if (r.index !== null) n[r.category] = (n[r.category] ?? 0) + 1;
    expect(n).toEqual({
      Optimization: 56,
      Lowering: 22,
      Cleanup: 15,
      Encoding: 15,
      Analysis: 9,
      Reporting: 9,
      RegAlloc: 7,
      Scheduling: 6,
      Validation: 3,
      Hook: 17,
    });
  });

  test('there are the 16 hooks of seed 004, each a no-op marker', () => {
    const hooks = rows.filter((r) => r.hook !== undefined);
    expect(hooks.map((r) => r.index)).toEqual([
      4, 7, 47, 77, 82, 89, 92, 97, 101, 104, 106, 111, 115, 127, 134, 135,
    ]);
    for (const h of hooks) {
      expect([h.noOp, h.status, h.category], h.name).toEqual([true, 'marker', 'Hook']);
      if (h.worker !== undefined) expect(byId.has(h.worker), h.worker).toBe(true);
      expect(h.worker !== undefined, `${h.name}: kind A dispatches`).toBe(h.hook === 'A');
      if (h.hook === 'C') expect(h.progress, h.name).toBeTypeOf('number');
    }
  });

  test('the progress counter is written as settled', () => {
    const written = rows.filter((r) => r.progress !== undefined).map((r) => [r.index, r.progress]);
    expect(written).toEqual([
      [4, 1],
      [7, 2],
      [54, 4],
      [55, 7],
      [83, 9],
      [95, 12],
      [106, 14],
      [111, 20],
      [127, 21],
      [134, 3],
    ]);
  });

  test('status tells the truth about bindings', () => {
    for (const r of rows) {
      const bound = (r.steps?.length ?? 0) > 0;
      expect(bound, r.name).toBe(r.status === 'implemented' || r.status === 'partial');
      if (r.status === 'partial' || r.status === 'not-applicable')
        expect(r.note, r.name).toBeTypeOf('string');
      for (const p of passNames(r)) expect([...passes.keys()], r.name).toContain(p);
      // A knob that nothing reads is something that is missing.
      if (r.status === 'implemented')
        expect([r.name, (r.knobs ?? []).filter((k) => knobs[k].unread)]).toEqual([r.name, []]);
    }
  });

  test('every registered pass has a place in the table', () => {
    // What fills hooks alone is bound by recipes.
    const bound = new Set([
      ...rows.flatMap(passNames),
      'back-copy-propagation',
      'control-words',
      'inline-functions',
      'order-shared-variables',
    ]);
    expect([...bound].sort()).toEqual([...passes.keys()].sort());
  });

  test('level gates follow the settled readings', () => {
    const above = (n: number) => [0, 1, 2, 3, 4, 5].filter((l) => l > n);
    for (const [index, n] of [
      [13, 0],
      [14, 1],
      [15, 1],
      [29, 1],
      [30, 1],
      [37, 1],
      [38, 1],
      [46, 0],
      [58, 2],
      [65, 1],
      [71, 1],
      [72, 2],
      [3, 0],
      [110, 1],
    ])
      expect(rows[index].gate?.levels, rows[index].name).toEqual(above(n));
    expect(rows[116].gate?.levels).toEqual([0]);
    expect(rows[115].gate?.levels).toEqual(above(0));
  });

  test('knobs exist, and a row lists those of its gate', () => {
    for (const r of rows) {
      const g = r.gate ?? {};
      const gate = [...(g.unset ?? []), ...(g.set ?? []), ...(g.budget ?? [])];
      if (g.asksLevel === true) gate.push('OptBudget');
      for (const x of [g.only, g.also]) if (x !== undefined) gate.push(x.knob);
      for (const k of [...gate, ...(r.knobs ?? [])]) expect(knobs[k], `${r.name}: ${k}`).toBeDefined();
      for (const k of gate) expect(r.knobs, r.name).toContain(k);
      for (const k of g.budget ?? []) expect(knobs[k].type, `${r.name}: ${k}`).toBe('BDGT');
      if (g.facts !== undefined) expect(r.facts).toEqual(expect.arrayContaining(g.facts.map((f) => f.path)));
    }
  });

  test('IR properties are in the vocabulary, and each of these is used', () => {
    const used = new Set(
      rows.flatMap((r) => [...(r.requires ?? []), ...(r.provides ?? []), ...(r.destroys ?? [])]),
    );
    expect([...used].sort()).toEqual(Object.keys(table.properties).sort());
  });
});

describe('orders', () => {
  test('seed has every seed number in order', () => {
    expect(orders.get('seed')?.map((id) => byId.get(id)?.index)).toEqual(
      Array.from({ length: 159 }, (_, i) => i),
    );
  });

  test('binary has every true index in order, each name once', () => {
    const ids = orders.get('binary') as string[];
    expect(ids.map((id) => byId.get(id)?.trueIndex)).toEqual(Array.from({ length: 159 }, (_, i) => i));
    expect(new Set(ids.map((id) => byId.get(id)?.name)).size).toBe(159);
    // Positions of the late-numbered rows and of the named workers, from the reference.
    const place = (n: string) => ids.indexOf(n);
    expect([132, 133, 134, 135, 136, 137, 138].map((i) => place(rows[i].name))).toEqual([
      8, 15, 52, 83, 91, 93, 98,
    ]);
    expect(
      ['OriCopyProp', 'Vectorization', 'SinkCodeIntoBlock', 'ScheduleInstructions', 'AllocateRegisters'].map(
        place,
      ),
    ).toEqual([22, 41, 77, 114, 122]);
  });

  test.each(['seed', 'binary'])('%s gives every phase the IR properties that it requires', (name) => {
    const holds = new Set(Object.keys(table.properties).filter((p) => table.properties[p].initial === true));
    for (const id of orders.get(name) as string[]) {
      const r = byId.get(id) as Row;
      for (const p of r.requires ?? []) expect(holds.has(p), `${id} needs ${p}`).toBe(true);
      for (const p of r.destroys ?? []) holds.delete(p);
      for (const p of r.provides ?? []) holds.add(p);
    }
  });

  test('constraints name phases, give a reason, and hold exactly where they say', () => {
    expect(constraints.length).toBeGreaterThanOrEqual(40);
    const pairs = constraints.map((c) => `${c.before} < ${c.after}`);
    expect(new Set(pairs).size).toBe(pairs.length);
    for (const c of constraints) {
      const holdsIn = [...orders]
        .filter(([, ids]) => ids.includes(c.before) && ids.includes(c.after))
        .filter(([, ids]) => ids.indexOf(c.before) < ids.indexOf(c.after))
        .map(([n]) => n);
      expect(holdsIn, `${c.before} before ${c.after}`).toEqual(c.orders ?? [...orders.keys()]);
    }
  });

  test('no ring of constraints', () => {
    const next = new Map<string, string[]>();
    for (const c of constraints) next.set(c.before, [...(next.get(c.before) ?? []), c.after]);
    const state = new Map<string, 'open' | 'done'>();
    const visit = (n: string): void => {
      if (state.get(n) === 'done') return;
      expect(state.get(n), `ring through ${n}`).toBeUndefined();
      state.set(n, 'open');
      for (const m of next.get(n) ?? []) visit(m);
      state.set(n, 'done');
    };
    for (const n of next.keys()) visit(n);
  });
});

describe('knobs', () => {
  test('an index stands once in its table; names and aliases are unique without case', () => {
    const seen = new Set<string>();
    for (const [name, k] of Object.entries(knobs)) {
      const keys = [name, ...(k.aliases ?? [])].map((n) => n.toLowerCase());
      if (k.index !== null) keys.push(`${k.space ?? 'OCG'}:${k.index}`);
      for (const key of keys) {
        expect(seen.has(key), key).toBe(false);
        seen.add(key);
      }
      const undecoded = /^(Dag)?Knob(\d+)$/.exec(name);
      expect(undecoded !== null, name).toBe(k.decoded === false);
      if (undecoded !== null) expect(Number(undecoded[2])).toBe(k.index);
    }
  });

  test('the indices that the sources decode', () => {
    const named: Record<string, number> = {
      AllowReassociateCSE: 31,
      ConvertMemoryToRegIndexedSizeLimit: 135,
      DisablePhases: 185,
      DisableMergeEquivalentConditionalFlow: 214,
      DisableRedundantBarrierRemoval: 231,
      DisableSourceOrder: 235,
      NamedPhases: 298,
      MembarFlowControl: 461,
      MergeEquivalentConditionalFlowBudget: 464,
      MovWeightForConvertMemToReg: 474,
      GeneralOptimizationBudget: 487,
      OptBudget: 499,
      ReassociateCSEWindow: 605,
    };
    for (const [n, i] of Object.entries(named)) expect(knobs[n]?.index, n).toBe(i);
    const indices = new Set(Object.values(knobs).map((k) => (k.space === undefined ? k.index : null)));
    const ranges = [
      [343, 349],
      [569, 574],
      [613, 699],
      [702, 728],
      [738, 811],
      [824, 831],
      [894, 903],
    ];
    for (const [lo, hi] of ranges)
      for (let i = lo; i <= hi; i++) expect(indices.has(i), `knob ${i}`).toBe(true);
    for (const i of [
      91, 136, 228, 232, 249, 257, 260, 351, 358, 381, 391, 402, 416, 427, 429, 437, 456, 472, 510,
    ])
      expect(indices.has(i), `knob ${i}`).toBe(true);
  });

  test('defaults have the type and lie in the range', () => {
    for (const [name, k] of Object.entries(knobs)) {
      if (k.default === null) continue;
      const kind = typeof k.default;
      if (k.type === 'NONE') expect(kind, name).toBe('boolean');
      else if (k.type === 'STR') expect(kind, name).toBe('string');
      else expect(kind, name).toBe('number');
      if (k.type === 'INT' || k.type === 'BDGT') expect(Number.isInteger(k.default), name).toBe(true);
      if (k.range !== undefined) {
        expect(k.default, name).toBeGreaterThanOrEqual(k.range[0] ?? -Infinity);
        expect(k.default, name).toBeLessThanOrEqual(k.range[1] ?? Infinity);
      }
    }
  });

  test('readers are phases', () => {
    for (const [name, k] of Object.entries(knobs))
      for (const r of k.readers ?? []) expect(byId.has(r), `${name}: ${r}`).toBe(true);
  });
});

describe('back ends', () => {
  const files = new Map(
    namesIn('pipelines/backends').map((n) => [n, yaml(`pipelines/backends/${n}.yaml`) as Plain]),
  );
  const isMap = (v: unknown): v is Plain => typeof v === 'object' && v !== null && !Array.isArray(v);
  const merge = (base: Plain, over: Plain): Plain => {
    const out: Plain = { ...base };
    for (const [k, v] of Object.entries(over)) out[k] = isMap(v) && isMap(out[k]) ? merge(out[k], v) : v;
    return out;
  };
  const resolve = (name: string, seen: readonly string[] = []): Plain => {
    expect(seen, 'a ring of extends').not.toContain(name);
    const f = files.get(name);
    if (f === undefined) throw new Error(`no back end ${name}`);
    return f['extends'] === undefined ? f : merge(resolve(f['extends'] as string, [...seen, name]), f);
  };
  const fact = (v: unknown, path: string): unknown =>
    path.split('.').reduce<unknown>((x, key) => (isMap(x) ? x[key] : undefined), v);
  const sms = [...files.keys()].filter((n) => n.startsWith('sm_'));
  const resolved = new Map(sms.map((n) => [n, resolve(n)]));

  test('every target is there, and each file is named after what it holds', () => {
    const numbers = [30, 50, 60, 70, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];
    expect([...sms].sort()).toEqual(numbers.map((n) => `sm_${n}`).sort());
    for (const [n, f] of files) expect(f['name']).toBe(n);
    for (const [n, b] of resolved) expect(b['sm']).toBe(n);
  });

  test('codes are as settled', () => {
    const codes = Object.fromEntries([...resolved].map(([n, b]) => [n, b['code']]));
    expect(codes).toMatchObject({
      sm_30: 12288,
      sm_50: 16385,
      sm_60: 20481,
      sm_70: 24576,
      sm_75: 24577,
      sm_80: 28673,
      sm_86: 28674,
      sm_87: 28675,
      sm_88: 28676,
      sm_89: 28677,
      sm_90: 32768,
      sm_100: 36864,
      sm_103: 36867,
      sm_110: 36868,
      sm_120: 36869,
      sm_121: 36869,
    });
  });

  test('the handler of phase 14 follows the slot table of seed 003', () => {
    const handler = (sm: string) => fact(resolved.get(sm), 'slots.136');
    for (const sm of ['sm_30', 'sm_50']) expect(handler(sm)).toBe('none');
    for (const sm of ['sm_60', 'sm_70', 'sm_75', 'sm_90', 'sm_100', 'sm_121'])
      expect(handler(sm)).toBe('sync-restructuring');
    for (const sm of ['sm_80', 'sm_86', 'sm_88', 'sm_89']) expect(handler(sm)).toBe('branch-distance');
  });

  test('the slots that the folds of seed 001 call are in every back end', () => {
    const handlers = {
      '1312': 'mark-predicates',
      '1320': 'none',
    };
    for (const [n, b] of resolved) {
      expect(fact(b, 'slots'), n).toMatchObject(handlers);
      // Promotion of memory begins with generation 5.
      const early = ['SM30', 'SM50'].includes(fact(b, 'class') as string);
      expect(fact(b, 'slots.392'), n).toBe(early ? 'none' : 'promote-memory');
    }
  });

  test('every number has a source, and sources and doubts name values that exist', () => {
    for (const [n, b] of resolved) {
      const sources = Object.keys(b['sources'] as Plain);
      const walk = (v: unknown, path: string): void => {
        if (typeof v === 'number' || Array.isArray(v))
          expect(
            sources.some((s) => path === s || path.startsWith(`${s}.`)),
            `${n}: ${path} has no source`,
          ).toBe(true);
        else if (isMap(v)) for (const [k, x] of Object.entries(v)) walk(x, path === '' ? k : `${path}.${k}`);
      };
      walk(b, '');
      for (const path of [...sources, ...Object.keys((b['doubts'] ?? {}) as Plain)])
        expect(fact(b, path), `${n}: ${path}`).toBeDefined();
    }
  });

  test('every target has the same facts, and each fact that a phase names is one', () => {
    const paths = (v: Plain, prefix = ''): string[] =>
      Object.entries(v).flatMap(([k, x]) => (isMap(x) ? paths(x, `${prefix}${k}.`) : [`${prefix}${k}`]));
    const keysOf = (b: Plain) =>
      paths(
        Object.fromEntries(
          Object.entries(b).filter(([k]) => !['sources', 'doubts', 'legacy', 'recipe', 'hooks'].includes(k)),
        ),
      ).sort();
    const first = keysOf(resolved.get('sm_90') as Plain);
    for (const [n, b] of resolved) {
      expect(keysOf(b), n).toEqual(first);
      for (const r of rows)
        for (const f of r.facts ?? []) expect(fact(b, f), `${r.name}: ${f}`).toBeDefined();
    }
    // A gate that no target opens would be a slip of the pen.
    for (const r of rows)
      for (const f of r.gate?.facts ?? [])
        expect(
          [...resolved.values()].some((b) => fact(b, f.path) === f.equals),
          `${r.name}: ${f.path}`,
        ).toBe(true);
  });

  test('each slot is asked by a phase, or by a pass that it runs', () => {
    const asked = new Set([
      ...rows.flatMap((r) => [...(r.facts ?? []), ...(r.gate?.facts ?? []).map((f) => f.path)]),
      ...[...passes.values()].flatMap((p) => p.needs?.facts ?? []),
    ]);
    const slots = Object.keys(fact(resolved.get('sm_90'), 'slots') as Plain);
    expect(slots.filter((s) => !asked.has(`slots.${s}`))).toEqual([]);
  });

  test('limits fit together', () => {
    for (const [n, b] of resolved) {
      const limit = (k: string) => fact(b, `limits.${k}`) as number;
      expect(limit('threads-per-sm'), n).toBe(limit('warps-per-sm') * limit('warp-size'));
      expect(limit('threads-per-cta'), n).toBeLessThanOrEqual(limit('threads-per-sm'));
      const shared = fact(b, 'limits.shared-kb') as number[];
      expect(shared, n).toEqual([...shared].sort((x, y) => x - y));
      const most = shared[shared.length - 1] * 1024;
      expect(limit('shared-per-cta') + limit('reserved-shared-per-cta'), n).toBeLessThanOrEqual(most);
      expect(limit('static-shared-per-cta'), n).toBeLessThanOrEqual(limit('shared-per-cta'));
      const uniform = fact(b, 'capabilities.uniform-registers') as boolean;
      expect(limit('max-uniform-registers') > 0, n).toBe(uniform);
    }
  });
});
