import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers } from '../../src/ir/glob.ts';
import { KINDS, placeOf, readSpec, type SpecKind } from '../../src/spec/document.ts';
import { ROOT, schemaOf, shippedFiles } from '../../src/spec/node.ts';
import { generatedTypes } from '../../src/tools/generate-types.ts';
import { runs } from '../support/size.ts';
import { rendered } from '../support/specs.ts';

/** The diagnostics of a text. */
const faults = (text: string, expect?: SpecKind): string =>
  rendered(readSpec('mine.yaml', text, schemaOf, expect).diagnostics, text);

describe('a document that would never end', () => {
  it('an alias that is inside of the node that it names is an error at its place', () => {
    expect(faults('kind: order\na: &a [*a]\n')).toMatch(
      /^error: the alias '\*a' is inside of the node that it names\n {2}--> mine.yaml:2:8\n/,
    );
    expect(faults('kind: order\na: &a { b: &b [*a, *b] }\n').match(/^error: the alias/gm)).toHaveLength(2);
  });
  it('maps have a limit', () => {
    const keys = (n: number) => Array.from({ length: n }, (_, i) => `  Nope${i}: 1\n`).join('');
    expect(faults(`kind: knob-set\ntitle: t\nknobs:\n${keys(5001)}`)).toContain(
      '5001 elements: more than 5000 are not read',
    );
  });
});

describe('text that is not YAML', () => {
  it('a key twice', () => {
    expect(faults('kind: knob-set\nknobs: {}\nkind: order\n')).toMatchInlineSnapshot(`
      "error: the key 'kind' occurs twice in one map
        --> mine.yaml:3:1
          3 | kind: order
            | ^^^^
        join the two, or rename one"
    `);
  });
  it('tabs, brackets, quotes, colons, indents', () => {
    expect(faults('kind: knob-set\nknobs:\n\tA: 1\n')).toMatchInlineSnapshot(`
      "error: a tab cannot be used for indentation
        --> mine.yaml:3:1
          3 |  A: 1
            | ^
        use spaces"
    `);
    expect(faults('kind: knob-set\nknobs: { A: 1\n')).toMatchInlineSnapshot(`
      "error: a '{' that was opened before is not closed
        --> mine.yaml:3:1
          3 | 
            | ^"
    `);
    expect(faults('kind: knob-set\nknobs: { A: "x }\n')).toMatchInlineSnapshot(`
      "error: a quoted text is not closed
        --> mine.yaml:3:1
          3 | 
            | ^"
    `);
    expect(faults('kind: knob-set\ntitle: a: b\nknobs: {}\n')).toMatchInlineSnapshot(`
      "error: a second ': ' in one line: quote a text that holds one
        --> mine.yaml:2:8
          2 | title: a: b
            |        ^"
    `);
    expect(faults('kind: knob-set\nknobs:\n  A: 1\n   B: 2\n')).toMatchInlineSnapshot(`
      "error: this line has its value already, but the next one is indented under it
        --> mine.yaml:3:6
          3 |   A: 1
            |      ^
        the next line is indented by 3 spaces; indent it by 2 as 'A', or by 0 as 'knobs'"
    `);
  });
  it.each([
    ['phases:\n- A\n B\n- C\nB', /^error: /],
    [
      'phases:\n  - A: 1\n  B: 2',
      /^error: (an element of this list has no dash|the indentation does not fit)\n/,
    ],
    ['phases: [A, , B]', /^error: there is nothing before this ','\n/],
    ['phases: }', /^error: this bracket closes nothing\n/],
    ['title: "a" b', /^error: the value has ended before this\n/],
    ['title: |a\n  b', /^error: nothing may follow '\|' or '>' in its line\n/],
    ['title: "a"#b', /^error: a space is missing before '#'\n/],
    ['title: &a &b c', /^error: a value has one anchor at most\n/],
    ['phases: ["A" "B"]', /^error: a ',' is missing between two elements\n/],
  ])('what the reader says is reported in our words: %j', (text, said) => {
    const found = faults(`kind: order\n${text}\n`);
    expect(found).toMatch(said);
    expect(found).not.toMatch(/Unexpected|Missing|indicator|Sequence|scalar|Implicit/);
  });

  it('a line that begins where nothing does', () => {
    expect(faults('kind: recipe\nparts:\n- when: { kernel: a }\n   knobs: {}\n')).toMatchInlineSnapshot(`
      "error: the indentation does not fit
        --> mine.yaml:4:1
          4 |    knobs: {}
            | ^
        the line is indented by 3 spaces; indent it by 2 as 'when', or by 0 as '-'"
    `);
  });
  it('aliases, tags, several documents, nesting', () => {
    expect(faults('kind: knob-set\nknobs: *x\n')).toMatchInlineSnapshot(`
      "error: the alias '*x' names no anchor
        --> mine.yaml:2:8
          2 | knobs: *x
            |        ^^
        quote a text that starts with '*'"
    `);
    expect(faults('kind: knob-set\nknobs: !mine { A: 1 }\n')).toMatchInlineSnapshot(`
      "error: this tag is not known
        --> mine.yaml:2:8
          2 | knobs: !mine { A: 1 }
            |        ^^^^^
        quote a text that starts with '!'"
    `);
    expect(faults('kind: knob-set\nknobs: {}\n---\na: 1\n')).toMatchInlineSnapshot(`
      "error: a spec is one document: '---' starts another
        --> mine.yaml:3:1
          3 | ---
            | ^^^
        put it into a file of its own"
    `);
    const nested = (n: number): string => `kind: recipe\ntitle: ${'['.repeat(n)}${']'.repeat(n)}\n`;
    const rows = (n: number, step: string) =>
      Array.from({ length: n }, (_, i) => `${' '.repeat(i)}${step}`).join('\n');
    for (const text of [
      '['.repeat(30_000),
      nested(30_000),
      nested(501),
      '- '.repeat(30_000),
      rows(3_000, 'a:'),
    ])
      expect(faults(text)).toMatch(/^error: the text is nested too deeply\n/);
    // What stands in texts is not nested, nor is what only stands far to the right.
    for (const text of [
      nested(400),
      `kind: recipe\ntitle: '${'['.repeat(2_000)}'\n`,
      `kind: recipe\ntitle: ${' '.repeat(2_000)}x\n`,
      rows(100, 'a:'),
    ])
      expect(faults(text)).not.toContain('too deeply');
    const bomb = `a: &x [1,1,1,1,1,1]\nb: &y [${'*x,'.repeat(30)}]\nc: &z [${'*y,'.repeat(30)}]\nd: [${'*z,'.repeat(30)}]\n`;
    expect(faults(bomb)).toMatch(/^error: aliases expand to more than 100 copies/);
  });
});

describe('a spec of no kind', () => {
  it('says which kinds there are', () => {
    expect(faults('')).toMatchInlineSnapshot(`
      "error: a spec is a map with a 'kind'
        --> mine.yaml:1:1
          1 | 
            | ^
        kinds are phases, order, constraints, knobs, knob-set, backend, recipe, rules, isa, ptx, ptx-syntax, launch, experiment, budget, reviews, machine, selection, ptxas-faults"
    `);
    expect(faults('edits: []\n')).toMatchInlineSnapshot(`
      "error: 'kind' is missing
        --> mine.yaml:1:1
          1 | edits: []
            | ^^^^^^^^^
        kinds are phases, order, constraints, knobs, knob-set, backend, recipe, rules, isa, ptx, ptx-syntax, launch, experiment, budget, reviews, machine, selection, ptxas-faults"
    `);
    expect(faults('edits: []\n', 'order')).toMatchInlineSnapshot(`
      "error: 'kind' is missing
        --> mine.yaml:1:1
          1 | edits: []
            | ^^^^^^^^^
        kind: order"
    `);
    expect(faults('kind: ordr\n')).toMatchInlineSnapshot(`
      "error: unknown kind 'ordr'
        --> mine.yaml:1:7
          1 | kind: ordr
            |       ^^^^
        did you mean 'order'?"
    `);
    expect(faults('kind: order\nphases: [A]\n', 'recipe')).toMatchInlineSnapshot(`
      "error: this is a spec of kind 'order', expected 'recipe'
        --> mine.yaml:1:7
          1 | kind: order
            |       ^^^^^"
    `);
  });
});

describe('a spec that its schema refuses', () => {
  it('reports every fault at once, in the order of the file, with near misses', () => {
    expect(
      faults(`kind: order
extend: seed
edits:
  - { mov: A, after: B }
  - { move: A }
  - { move: A, drop: B, after: C }
  - { move: A, before: B, after: C }
  - { replace: A }
  - {}
  - 3
  - { drop: A, levels: [7] }
`),
    ).toMatchInlineSnapshot(`
      "error: unknown key 'extend' in the top level
        --> mine.yaml:2:1
          2 | extend: seed
            | ^^^^^^
        did you mean 'extends'?
      error: unknown key 'mov' in 'edits.0'
        --> mine.yaml:4:7
          4 |   - { mov: A, after: B }
            |       ^^^
        did you mean 'move'?
      error: 'move' requires before or after
        --> mine.yaml:5:7
          5 |   - { move: A }
            |       ^^^^
      error: 'edits.2' has both move and drop
        --> mine.yaml:6:16
          6 |   - { move: A, drop: B, after: C }
            |                ^^^^
        exactly one of move, replace, drop, insert, insertPass, insertRules, repeat with rounds
      error: 'after' cannot be combined with 'drop'
        --> mine.yaml:6:25
          6 |   - { move: A, drop: B, after: C }
            |                         ^^^^^
      error: 'after' cannot be combined with 'before'
        --> mine.yaml:7:27
          7 |   - { move: A, before: B, after: C }
            |                           ^^^^^
      error: 'replace' requires 'with'
        --> mine.yaml:8:7
          8 |   - { replace: A }
            |       ^^^^^^^
      error: 'edits.5' has none of move, replace, drop, insert, insertPass, insertRules, repeat with rounds
        --> mine.yaml:9:5
          9 |   - {}
            |     ^^
      error: 'edits.6' is the number 3, expected a map
        --> mine.yaml:10:5
         10 |   - 3
            |     ^
        Exactly one of move, replace, drop, insert, insertPass, insertRules, repeat. All but replace, drop and repeat need one of before and after; replace needs with, repeat needs rounds.
      error: 'edits.7.levels.0' is 7, but must be <= 5
        --> mine.yaml:11:25
         11 |   - { drop: A, levels: [7] }
            |                         ^"
    `);
  });

  it('tells the forms of a union apart', () => {
    expect(
      faults(`kind: launch
module: a.ptx
kernel: k
grid: [0, 1, 1, 1]
block: 3
params:
  - { scalar: s32 }
  - { scalar: s33, value: 1 }
  - { buffer: f32, length: 4, fill: iot }
  - { buffer: f32, length: 4, fill: { random: { seed: 1, min: 0 } } }
  - { buffer: f32, length: 4, fill: { randm: 1 } }
  - { buffer: f32, length: 4, data: a.bin, fill: zero }
  - { bufer: f32, length: 4 }
  - { value: 3 }
`),
    ).toMatchInlineSnapshot(`
      "error: 'grid' has 4 elements, at most 3 are read
        --> mine.yaml:4:7
          4 | grid: [0, 1, 1, 1]
            |       ^^^^^^^^^^^^
        Blocks in x, y, z; missing ones are 1.
      error: 'grid.0' is 0, but must be >= 1
        --> mine.yaml:4:8
          4 | grid: [0, 1, 1, 1]
            |        ^
      error: 'block' is the number 3, expected a list
        --> mine.yaml:5:8
          5 | block: 3
            |        ^
        Threads of a block in x, y, z; missing ones are 1.
      error: 'scalar' requires 'value'
        --> mine.yaml:7:7
          7 |   - { scalar: s32 }
            |       ^^^^^^
      error: 's33' is not allowed for 'params.1.scalar'
        --> mine.yaml:8:15
          8 |   - { scalar: s33, value: 1 }
            |               ^^^
        did you mean 's32'?
      error: 'params.2.fill' is the text "iot", expected zero, iota or a map
        --> mine.yaml:9:37
          9 |   - { buffer: f32, length: 4, fill: iot }
            |                                     ^^^
        did you mean 'iota'?
      error: 'max' is missing in 'params.3.fill.random'
        --> mine.yaml:10:47
         10 |   - { buffer: f32, length: 4, fill: { random: { seed: 1, min: 0 } } }
            |                                               ^^^^^^^^^^^^^^^^^^^
        All values are below it.
      error: unknown key 'randm' in 'params.4.fill'
        --> mine.yaml:11:39
         11 |   - { buffer: f32, length: 4, fill: { randm: 1 } }
            |                                       ^^^^^
        did you mean 'random'?
      error: 'data' cannot be combined with 'fill'
        --> mine.yaml:12:31
         12 |   - { buffer: f32, length: 4, data: a.bin, fill: zero }
            |                               ^^^^
      error: unknown key 'bufer' in 'params.6'
        --> mine.yaml:13:7
         13 |   - { bufer: f32, length: 4 }
            |       ^^^^^
        did you mean 'buffer'?
      error: 'value' requires 'scalar'
        --> mine.yaml:14:7
         14 |   - { value: 3 }
            |       ^^^^^"
    `);
  });

  it('numbers where only some are allowed, or where a text was meant', () => {
    expect(faults('kind: recipe\nmode: 6\n')).toContain('one of 0, 1, 2, 3, 4, 5, 7');
    expect(faults('kind: recipe\ntitle: 12\n')).toContain('in quotes it is text');
    expect(faults('kind: recipe\nsm: [90]\n')).not.toContain('in quotes');
  });

  it('a value of the wrong type where only some are allowed', () => {
    expect(faults('kind: experiment\ndesign: { a: 1 }\nkernels: [x]\n')).toMatchInlineSnapshot(`
      "error: a map is not allowed for 'design'
        --> mine.yaml:2:9
          2 | design: { a: 1 }
            |         ^^^^^^^^
        one of grid, one-at-a-time, random, latin-hypercube"
    `);
  });
  it('names, numbers and types', () => {
    expect(
      faults(`kind: recipe
sm: [90, sm_90, sm_90]
level: 9
title: ''
knobs: { A: { b: 1 }, 'b c': 1, C: .inf }
when: {}
hooks: { A: [{ pass: x, rules: y }, {}], B: [] }
`),
    ).toMatchInlineSnapshot(`
      "error: 'sm' has duplicates (elements 2 and 1, counted from 0)
        --> mine.yaml:2:5
          2 | sm: [90, sm_90, sm_90]
            |     ^^^^^^^^^^^^^^^^^^
        Targets that it is meant for; on any other it is applied with a warning. Missing: all.
      error: 'sm.0' is the number 90, expected text
        --> mine.yaml:2:6
          2 | sm: [90, sm_90, sm_90]
            |      ^^
        sm_NN.
      error: 'level' is 9, but must be <= 5
        --> mine.yaml:3:8
          3 | level: 9
            |        ^
        Optimization level, unless the command line names one.
      error: 'title' is empty
        --> mine.yaml:4:8
          4 | title: ''
            |        ^^
        One line for readers.
      error: 'knobs.A' is a map, expected nothing, true or false, a number, text or a list
        --> mine.yaml:5:13
          5 | knobs: { A: { b: 1 }, 'b c': 1, C: .inf }
            |             ^^^^^^^^
        Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
      error: 'b c' is not a valid name in 'knobs'
        --> mine.yaml:5:23
          5 | knobs: { A: { b: 1 }, 'b c': 1, C: .inf }
            |                       ^^^^^
        form: ^[A-Za-z][A-Za-z0-9]*$
      error: 'knobs.C' is the number Infinity, expected nothing, true or false, a number, text or a list
        --> mine.yaml:5:36
          5 | knobs: { A: { b: 1 }, 'b c': 1, C: .inf }
            |                                    ^^^^
        Of the type of the knob. Flag: true or false. Range: [lo, hi] or text lo..hi. List: integers. null: unset.
      error: 'when' is empty
        --> mine.yaml:6:7
          6 | when: {}
            |       ^^
        Functions that this applies to; all conditions must hold. Missing: all.
      error: 'hooks.A.0' has both pass and rules
        --> mine.yaml:7:25
          7 | hooks: { A: [{ pass: x, rules: y }, {}], B: [] }
            |                         ^^^^^
        exactly one of pass, rules, use, inherited, repeat with rounds
      error: 'hooks.A.0.rules' is the text "y", expected a list
        --> mine.yaml:7:32
          7 | hooks: { A: [{ pass: x, rules: y }, {}], B: [] }
            |                                ^
        Rule groups that are tried together as one set: by descending priority, then in the order given here.
      error: 'hooks.A.1' has none of pass, rules, use, inherited, repeat with rounds
        --> mine.yaml:7:37
          7 | hooks: { A: [{ pass: x, rules: y }, {}], B: [] }
            |                                     ^^
      error: 'hooks.B' has 0 elements, needs at least 1
        --> mine.yaml:7:45
          7 | hooks: { A: [{ pass: x, rules: y }, {}], B: [] }
            |                                             ^^
        Passes and rule groups."
    `);
  });
});

describe('properties of the reader', () => {
  const samples = ['pipelines/orders/late-branches.yaml', 'knobs/sets/one-rewrite.yaml'].map((f) =>
    readFileSync(join(ROOT, f), 'utf8'),
  );

  it('never throws, and either gives a spec or says why not, with a place', () => {
    const text = fc.oneof(
      fc
        .tuple(fc.constantFrom(...samples), fc.nat(), fc.string({ maxLength: 5 }), fc.nat(3))
        .map(([s, at, junk, cut]) => {
          const k = at % (s.length + 1);
          return s.slice(0, k) + junk + s.slice(k + cut);
        }),
      fc.string({ unit: fc.constantFrom(...'{}[]:,-#&*!|>\'"%@` \n\tab1'), maxLength: 60 }),
    );
    fc.assert(
      fc.property(text, (t) => {
        const { spec, diagnostics } = readSpec('x.yaml', t, schemaOf);
        expect(spec !== null).toBe(diagnostics.length === 0);
        for (const d of diagnostics) {
          expect(d.line).toBeGreaterThan(0);
          expect(d.column).toBeGreaterThan(0);
          expect(d.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: runs(400), seed: 5 },
    );
  });

  it('an invalid launch never passes, whatever keys and values its parameters have', () => {
    const keys = [
      'scalar',
      'value',
      'buffer',
      'length',
      'data',
      'fill',
      'expect',
      'tolerance',
      'bytes',
      'lenght',
    ];
    const value = fc.constantFrom<unknown>(
      's32',
      'f32',
      3,
      -1,
      'iota',
      'a.bin',
      null,
      [],
      {},
      { random: {} },
    );
    const row = fc.uniqueArray(fc.tuple(fc.constantFrom(...keys), value), {
      selector: (x) => x[0],
      maxLength: 4,
    });
    fc.assert(
      fc.property(row, (entries) => {
        const p = Object.fromEntries(entries) as Record<string, unknown>;
        const text = `kind: launch\nmodule: a\nkernel: k\ngrid: [1]\nblock: [1]\nparams: [${JSON.stringify(p)}]\n`;
        const { spec, diagnostics } = readSpec('x.yaml', text, schemaOf);
        const forms = ['scalar', 'buffer', 'bytes'].filter((k) => k in p);
        const whole =
          forms.length === 1 &&
          !('lenght' in p) &&
          'scalar' in p === 'value' in p &&
          'buffer' in p === 'length' in p &&
          (!('fill' in p) || 'buffer' in p) &&
          (!('expect' in p) || 'buffer' in p);
        if (!whole) expect([spec, diagnostics.length > 0]).toEqual([null, true]);
      }),
      { numRuns: runs(300), seed: 7 },
    );
  });

  it('reads back any valid knob set, and finds the place of every value', () => {
    const value = fc.oneof(
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.integer(), { maxLength: 3 }),
    );
    const key = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,8}$/);
    const set = fc.dictionary(key, value, { maxKeys: 6, noNullPrototype: true });
    fc.assert(
      fc.property(set, (knobs) => {
        const rows = Object.entries(knobs).map(([k, v]) => `  "${k}": ${JSON.stringify(v)}\n`);
        const text = `kind: knob-set\nknobs:${rows.length === 0 ? ' {}' : ''}\n${rows.join('')}`;
        const { spec, diagnostics } = readSpec('x.yaml', text, schemaOf);
        expect(diagnostics).toEqual([]);
        expect(spec!.data.knobs).toEqual(knobs);
        Object.keys(knobs).forEach((k, i) => {
          const p = placeOf(text, ['knobs', k]);
          const line = text.split('\n')[p.line - 1];
          expect(p.line).toBe(i + 3);
          expect(line.slice(p.column - 1, p.column - 1 + p.length)).toBe(JSON.stringify(knobs[k]));
        });
      }),
      { numRuns: runs(100), seed: 6 },
    );
  });
});

describe('what ships', () => {
  it('has one schema for each kind, and each explains itself', () => {
    const files = readdirSync(join(ROOT, 'schemas'))
      .filter((f) => f !== 'output')
      .sort();
    expect(files).toEqual(KINDS.map((k) => `${k}.schema.json`).sort());
    for (const kind of KINDS) {
      const schema = schemaOf(kind) as Record<string, unknown>;
      expect([kind, schema.$schema, schema.additionalProperties]).toEqual([
        kind,
        'http://json-schema.org/draft-07/schema#',
        false,
      ]);
      expect((schema.properties as { kind: { const: string } }).kind.const).toBe(kind);
      expect(unexplained(schema, kind)).toEqual([]);
    }
  });

  it('names its schema in the first line, by a path that leads there', () => {
    for (const f of shippedFiles()) {
      const text = readFileSync(f, 'utf8');
      const named = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1];
      const kind = /^kind: (\S+)$/m.exec(text)?.[1];
      expect([f, named === undefined ? undefined : join(f, '..', named)]).toEqual([
        f,
        join(ROOT, 'schemas', `${kind}.schema.json`),
      ]);
    }
  });

  it('is known to editors by its path, each file under one schema', () => {
    const settings = JSON.parse(readFileSync(join(ROOT, '.vscode', 'settings.json'), 'utf8')) as {
      'yaml.schemas': Record<string, string | string[]>;
    };
    const forms = Object.entries(settings['yaml.schemas']).map(([schema, globs]) => {
      const all = [globs].flat();
      const no = all.filter((g) => g.startsWith('!')).map((g) => g.slice(1));
      return { schema, yes: all.filter((g) => !g.startsWith('!')), no };
    });
    for (const f of shippedFiles()) {
      const path = f.slice(ROOT.length).replace(/^\//, '');
      const kind = /^kind: (\S+)$/m.exec(readFileSync(f, 'utf8'))?.[1];
      const found = forms.filter((x) => x.yes.some((g) => covers(g, path)) && !x.no.includes(path));
      expect([path, found.map((x) => x.schema)]).toEqual([path, [`./schemas/${kind}.schema.json`]]);
    }
  });

  it('has types that are current', async () => {
    expect(readFileSync(join(ROOT, 'src', 'spec', 'types.generated.ts'), 'utf8')).toBe(
      await generatedTypes(),
    );
  });
});

/** Keys of maps that have neither a description of their own nor one that they refer to. */
function unexplained(schema: unknown, path: string): string[] {
  if (schema === null || typeof schema !== 'object') return [];
  const s = schema as Record<string, unknown>;
  const out: string[] = [];
  for (const [key, p] of Object.entries((s.properties ?? {}) as Record<string, Record<string, unknown>>)) {
    if (typeof p !== 'object') continue;
    if (p.description === undefined && p.$ref === undefined) out.push(`${path}.${key}`);
    out.push(...unexplained(p, `${path}.${key}`));
  }
  for (const key of ['items', 'additionalProperties']) out.push(...unexplained(s[key], `${path}.${key}`));
  for (const [key, d] of Object.entries((s.definitions ?? {}) as Record<string, unknown>))
    out.push(...unexplained(d, `${path}#${key}`));
  return out;
}
