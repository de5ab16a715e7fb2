import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import type { Program } from '../../src/ir/program.ts';
import { numberToHalf } from '../../src/isa/floats.ts';
import { scalarValue } from '../../src/spec/launch-data.ts';
import { loadSpec, ROOT, shippedFiles } from '../../src/spec/node.ts';
import { schemasHash, sha256, writeChecked } from '../../src/spec/node-cache.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { fitLaunch, loadLaunch } from '../../src/spec/node-launch.ts';
import { runs } from '../support/size.ts';
import { passNames, rendered, shipped, testFolder } from '../support/specs.ts';

const { path: dir, write } = testFolder();
const cacheBefore = process.env.XDG_CACHE_HOME;
process.env.XDG_CACHE_HOME = join(dir, 'cache');
// Other test files of this worker have their own.
afterAll(() => {
  if (cacheBefore === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheBefore;
});
const kept = join(dir, 'cache', 'orrery', 'specs');
const cached = () => readdirSync(kept);

/** What is said when a file is loaded. */
async function refused(load: () => Promise<unknown>, text: string): Promise<string> {
  try {
    await load();
  } catch (e) {
    if (e instanceof DiagnosticError) return rendered(e.diagnostics, text);
    throw e;
  }
  throw new Error('nothing was refused');
}

describe('the cache', () => {
  const set = (n: number) => `kind: knob-set\nknobs: { OptBudget: ${n} }\n`;

  it('keeps what was valid, by its text, and never a verdict on another text', async () => {
    const file = write('cached.yaml', set(1));
    const a = await loadSpec(file);
    expect(cached().length).toBe(1);
    const b = await loadSpec(file, 'knob-set');
    expect([b.data, b.kind, b.text]).toEqual([a.data, 'knob-set', set(1)]);
    write('cached.yaml', set(2));
    expect((await loadSpec(file)).data.knobs).toEqual({ OptBudget: 2 });
    expect(cached().length).toBe(2);
    write('cached.yaml', 'kind: knob-set\nknob: 1\n');
    await expect(loadSpec(file)).rejects.toBeInstanceOf(DiagnosticError);
    expect(cached().length).toBe(2);
    write('cached.yaml', set(1));
    expect(await refused(() => loadSpec(file, 'order'), set(1))).toMatch(/kind 'knob-set', expected 'order'/);
  });

  /** The path of the entry of a spec that was not there before. */
  async function entryOf(name: string, n: number): Promise<string> {
    const before = new Set(cached());
    await loadSpec(write(name, set(n)));
    return join(kept, cached().find((f) => !before.has(f))!);
  }

  it('is read in place of the text', async () => {
    const path = await entryOf('read.yaml', 4);
    // The same data in another order, under its own checksum: what is kept is what is given.
    writeChecked(
      path,
      sha256(set(4)) + schemasHash(),
      '{"data":{"knobs":{"OptBudget":99},"kind":"knob-set"},"kind":"knob-set"}',
    );
    expect((await loadSpec(join(dir, 'read.yaml'))).data.knobs).toEqual({ OptBudget: 99 });
  });

  it('is believed as it was written alone', async () => {
    const path = await entryOf('believed.yaml', 31);
    const [text, other] = [readFileSync(path, 'utf8'), readFileSync(await entryOf('other.yaml', 32), 'utf8')];
    expect(text).toContain('"OptBudget":31');
    const changed = [
      text.replace('31', '99'),
      // Another's, whose checksum is right for that.
      other,
      text.slice(0, -1),
      ...['', '{', 'null', '{"kind":1}', '[]', '\n'.repeat(70)],
    ];
    for (const damage of changed) {
      writeFileSync(path, damage);
      expect((await loadSpec(join(dir, 'believed.yaml'))).data.knobs).toEqual({ OptBudget: 31 });
    }
  });

  it.skipIf(process.platform === 'win32')('is no folder that others write into, and no link', async () => {
    const path = await entryOf('folder.yaml', 41);
    const text = readFileSync(path, 'utf8');
    chmodSync(kept, 0o777);
    rmSync(path);
    await loadSpec(join(dir, 'folder.yaml'));
    expect(existsSync(path)).toBe(false);
    chmodSync(kept, 0o700);
    writeFileSync(`${path}.elsewhere`, text);
    symlinkSync(`${path}.elsewhere`, path);
    expect((await loadSpec(join(dir, 'folder.yaml'))).data.knobs).toEqual({ OptBudget: 41 });
    expect(lstatSync(path).isSymbolicLink()).toBe(false);
    rmSync(`${path}.elsewhere`);
  });

  it('holds a limited amount, drops the oldest, and removes what earlier versions left', async () => {
    const path = await entryOf('oldest.yaml', 51);
    const old = new Date(Date.now() - 7_200_000);
    utimesSync(path, old, old);
    const name = (i: number) => `${i.toString(16).padStart(64, '0')}.json`;
    for (let i = 0; i < 500; i++) writeFileSync(join(kept, name(i)), '');
    const left = join(kept, '..', name(1));
    writeFileSync(left, '{}');
    await entryOf('newest.yaml', 52);
    expect(cached().length).toBe(500);
    expect([path, left].filter((f) => existsSync(f))).toEqual([]);
    for (let i = 0; i < 500; i++) rmSync(join(kept, name(i)), { force: true });
  });

  it.skipIf(!existsSync('/proc/self'))(
    'ends where the system takes no folder, and takes full paths alone',
    () => {
      const file = write('nowhere.yaml', set(6));
      for (const XDG_CACHE_HOME of ['/proc', 'no-full-path']) {
        const r = spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'check', file], {
          cwd: dir,
          encoding: 'utf8',
          timeout: 20_000,
          env: { ...process.env, ORRERY_SERVER: 'off', HOME: join(dir, 'home'), XDG_CACHE_HOME },
        });
        expect([XDG_CACHE_HOME, r.status, r.stderr]).toEqual([XDG_CACHE_HOME, 0, '']);
      }
      expect(existsSync(join(dir, 'no-full-path'))).toBe(false);
    },
  );

  it('that cannot be written only costs time', async () => {
    const home = process.env.XDG_CACHE_HOME;
    const blocked = write('blocked', 'a file where a folder should be');
    process.env.XDG_CACHE_HOME = blocked;
    expect((await loadSpec(write('x.yaml', set(5)))).data.knobs).toEqual({ OptBudget: 5 });
    process.env.XDG_CACHE_HOME = home;
  });
});

describe('a file that cannot be read', () => {
  it('is missing, is a folder, is nowhere', async () => {
    write('near.yaml', 'kind: knob-set\nknobs: {}\n');
    const at = (name: string) => refused(() => loadSpec(join(dir, name)), '');
    expect(await at('neer.yaml')).toBe(
      "error: there is no such file\n  --> neer.yaml\n  did you mean 'near.yaml'?",
    );
    expect(await at('.')).toMatch(/^error: this is a folder, not a file/);
    expect(await at('no/such/file.yaml')).toMatch(/^error: there is no folder '/);
  });
});

describe('checking any file', () => {
  const check = async (name: string, text: string) =>
    rendered(await checkFile(write(name, text), passNames, shipped), { [name]: text });

  it('a group of rules that a row may not run, or that is not there, is reported in the row', async () => {
    const text = shipped.phases.text.replace(
      '{ rules: [predicates, compare] }',
      '{ rules: [predicatez, logic] }',
    );
    const line = text.split('\n').findIndex((l) => l.includes('predicatez')) + 1;
    const found = await checkFile(write('phases.yaml', text), passNames, shipped);
    expect(found.map((d) => [d.code, d.line])).toEqual([
      ['unknown-rules', line],
      ['rules-owner', line],
    ]);
  });

  it('a warning that every trial gives is one warning, though each trial has a reason of its own', async () => {
    const hook = 'AdvancedPhaseAfterConvUnSup';
    const rows = (shipped.phases.data.phases as readonly { name: string }[]).map((r) =>
      r.name === hook ? { ...r, gate: { levels: [] } } : r,
    );
    const base = {
      ...shipped,
      phases: { ...shipped.phases, data: { ...shipped.phases.data, phases: rows } },
    };
    const text = `kind: recipe\ntitle: t\nhooks: { ${hook}: [{ pass: live-dead }] }\n`;
    const found = await checkFile(write('idle.yaml', text), passNames, base);
    expect(found.map((d) => [d.code, d.line])).toEqual([['hook-idle', 3]]);
  });

  it('says nothing about what ships', async () => {
    for (const f of shippedFiles()) expect([f, await checkFile(f, passNames, shipped)]).toEqual([f, []]);
  });

  it('looks at rules that no phase runs: knobs that are not there, ids that are taken', async () => {
    const file = write(
      'mine.yaml',
      `kind: rules
group: mine
title: rules of a group that no phase runs
rules:
  - id: of-a-knob
    title: reads a knob that is not there
    match: 'IADD3 $d, $a, #k, 0'
    rewrite: 'IADD3 $d, #k, $a, 0'
    when: knob(ContractProduct) && k == 12345
    source: test
  - id: mad
    title: has the id of a rule that ships
    match: 'ISETP.LT $d, $a, 77'
    rewrite: 'ISETP.GE $d, 76, $a'
    source: test
`,
    );
    expect((await checkFile(file, passNames)).map((d) => [d.line, d.message])).toEqual([
      [9, "rule 'of-a-knob' reads knob 'ContractProduct', which is not in the catalog"],
      [11, "rule id 'mad' is taken by a rule of group 'fusion'"],
    ]);
  });
  it('tries an order at every level', async () => {
    expect(
      await check(
        'o.yaml',
        'kind: order\nextends: seed\nedits:\n  - { drop: SetControlFlowOpLastInBB, levels: [5] }\n',
      ),
    ).toMatchInlineSnapshot(`
      "error: phase 'SetControlFlowOpLastInBB' is required and cannot be switched off (dropped by the order)
        --> o.yaml:4:5
          4 |   - { drop: SetControlFlowOpLastInBB, levels: [5] }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        'EarlyOriSimpleLiveDead', 'OriSanitize', 'GeneralOptimizeEarly' and 65 more need the IR property 'control-last', which it provides: a control operation is always the last of its block"
    `);
  });

  it('warns of a knob only if it is idle at every level', async () => {
    expect(
      await check('k.yaml', 'kind: knob-set\nknobs: { MergeEquivalentConditionalFlowBudget: 1 }\n'),
    ).toBe('');
    expect(await check('k.yaml', 'kind: knob-set\nknobs: { SchedTexLatency: 1 }\n')).toMatch(
      /^warning: knob Sched/,
    );
  });

  it('puts a phase table, a constraint, a catalog, a back end, an instruction set in force', async () => {
    const constraint =
      'kind: constraints\nconstraints:\n  - { before: FinalInspectionPass, after: OriSanitize, why: a test, source: none }\n';
    expect(await check('c.yaml', constraint)).toMatch(
      /^error: OriSanitize comes before FinalInspectionPass[\s\S]*the constraint: .*c\.yaml:3/,
    );
    expect(await check('p.yaml', shipped.phases.text.replace('provides: [control-last],', ''))).toMatch(
      /needs the IR property 'control-last'/,
    );
    for (const known of ['leastCost: MovWeightForConvertMemToReg', 'nonzero: [MembarFlowControl]'])
      expect(
        await check('p.yaml', shipped.phases.text.replace(known, known.replace(/(\w)(\]?)$/, 'X$2'))),
      ).toMatch(/^error: there is no knob '\w+X'\n {2}--> p.yaml:/);
    const knobs =
      'kind: knobs\nknobs:\n  OptBudget: { index: 499, type: INT, default: null, effect: x, source: x }\n';
    expect(await check('n.yaml', knobs)).toContain(
      "group 'contraction' reads knob 'ContractProducts', which is not in the catalog",
    );
    expect(await check('n.yaml', shipped.knobs.text)).toBe('');
    const backend = 'kind: backend\nname: sm_90\nsm: sm_90\nextends: hopper\nknobs: { OptBuget: 1 }\n';
    expect(await check('sm_90.yaml', backend)).toMatchInlineSnapshot(`
      "error: there is no knob 'OptBuget'
        --> sm_90.yaml:5:10
          5 | knobs: { OptBuget: 1 }
            |          ^^^^^^^^
        did you mean 'OptBudget'?
        \`orrery plan --all\` prints every knob
      error: the back end of 'sm_90' has no 'code'
        --> sm_90.yaml:3:5
          3 | sm: sm_90
            |     ^^^^^
        give it here, or in what it extends"
    `);
    const isa =
      'kind: isa\nopcodes:\n  FOO:\n    title: x\n    form: d:r32 = a:r32\n    props: []\n    unit: alu\n    means: d = nosuch(a)\n';
    expect(await check('i.yaml', isa)).toMatch(/^error: .*nosuch[\s\S]*i\.yaml:\d+/);
  });

  it('tries a recipe for some kernels on one of them', async () => {
    const text = (hook: string) =>
      `kind: recipe\nsm: [sm_90]\nlevel: 2\nwhen: { kernel: 'gemm_*' }\nhooks: { ${hook}: [{ pass: live-dead }] }\n`;
    expect(await check('r.yaml', text('AdvancedPhaseAfterConvUnSup'))).toBe('');
    expect(await check('r.yaml', text('OriBranchOpt'))).toMatch(/^error: phase 'OriBranchOpt' is not a hook/);
    expect(await check('s.yaml', 'kind: recipe\nsm: [sm_90, sm_9]\n')).toMatch(
      /^error: there is no back end for 'sm_9'[\s\S]*s\.yaml:2:13\n/,
    );
  });
});

describe('faults of form and of values come together', () => {
  const said = async (name: string, text: string) =>
    (await checkFile(write(name, text), passNames, shipped)).map((d) => `${d.line} ${d.message}`);

  it('of a knob set, in the order of the file', async () => {
    const text = `kind: knob-set
name: x
knobs:
  OptBudget: -3
  FenceCode: XX=3
  RegAllocRegTargetList: [1, a]
  NoSuchKnob: 1
bogus: 3
`;
    expect(await said('together.yaml', text)).toEqual([
      "2 unknown key 'name' in the top level",
      '4 knob OptBudget cannot be -3: a budget must not be negative',
      expect.stringMatching(/^5 knob FenceCode cannot be "XX=3"/),
      expect.stringMatching(/^6 'knobs.RegAllocRegTargetList.1' is the text "a"/),
      "7 there is no knob 'NoSuchKnob'",
      "8 unknown key 'bogus' in the top level",
    ]);
  });

  it('of a launch', async () => {
    const text = `kind: launch
module: none.ptx
kernel: k
grid: [1, 1, 1]
block: [2048, 1, 1]
params: [{ scalar: u8, value: 1000 }]
bogus: 1
`;
    expect(await said('together-launch.yaml', text)).toEqual([
      "2 there is no module 'none.ptx'",
      '5 a block of 2048 threads: at most 1024 are possible',
      '6 1000 does not fit u8: 0 to 255',
      "7 unknown key 'bogus' in the top level",
    ]);
  });

  it('of an order, edit by edit', async () => {
    const text = `kind: order
extends: binary
edits:
  - { drop: GvnCse, whyy: x }
  - { move: OriCommoning }
  - { drop: GvnCsee }
  - { move: LateOriCommonin, after: OriCommonin }
  - { move: LateOriCommoning, after: LateOriCommoning }
  - { insertPass: gvn-cse, after: OriCommoning, params: { nothing: 1 } }
`;
    expect(await said('order.yaml', text)).toEqual([
      "4 unknown key 'whyy' in 'edits.0'",
      "5 'move' requires before or after",
      "6 there is no phase 'GvnCsee' in the order",
      "7 there is no phase 'LateOriCommonin' in the order",
      "7 there is no phase 'OriCommonin' in the order",
      "8 'LateOriCommoning' cannot be placed after itself",
      "9 pass 'gvn-cse' has no parameter 'nothing'",
    ]);
    const list = 'kind: order\nphases:\n  - GvnCsee\n  - 5\n  - GvnCse\n  - GvnCse\n  - OriCommonin\n';
    expect(await said('list.yaml', list)).toEqual([
      expect.stringMatching(/^3 'phases' has duplicates/),
      "3 there is no phase 'GvnCsee'",
      "4 'phases.1' is the number 5, expected text or a map",
      "7 there is no phase 'OriCommonin'",
    ]);
  });

  it('of rules, rule by rule', async () => {
    const text = `kind: rules
group: mine
rules:
  - { id: a, title: t, match: 5, rewrite: 'MOV $d, $a', source: s }
  - { id: b, title: t, match: 'IADDX3 $d, $a, 0, 0', rewrite: 'MOV $d, $a', source: s }
  - { id: c, title: t, match: 'IADD3 $d, $a, 1, 0', rewrite: 'MOV $d, $q', source: s }
  - { id: d, title: t, match: 'IADD3 $d, $a, #k, 0', rewrite: 'MOV $d, $a', whn: k == 0, source: s }
  - { id: b, title: t, match: 'IADD3 $d, $a, 2, 0', rewrite: 'IADD3 $d, $a, 3, 0', source: s }
`;
    expect(await said('rules.yaml', text)).toEqual([
      expect.stringMatching(/^4 'rules.0.match' is the number 5/),
      "5 unknown opcode 'IADDX3'",
      "6 'q' is not defined by the match",
      "7 unknown key 'whn' in 'rules.3'",
      "8 rule id 'b' is taken by a rule of group 'mine'",
      "8 rule 'b' is wrong: its sides differ",
    ]);
  });

  it('of a recipe, part by part', async () => {
    const text = `kind: recipe
sm: [sm_90]
parts:
  - 5
  - { when: { kernel: 'k*', hash: 7 }, knobs: { Nothing: 1 } }
  - { nvopt: [4], hooks: { AdvancedPhaseLateConvUnSup: [{ pss: live-dead }, { pass: live-ded }] } }
`;
    expect(await said('parts.yaml', text)).toEqual([
      expect.stringMatching(/^4 'parts.0' is the number 5/),
      expect.stringMatching(/^5 .*hash/),
      "5 there is no knob 'Nothing'",
      expect.stringMatching(/^6 .*pss/),
      "6 there is no pass 'live-ded'",
    ]);
  });

  it('but nothing is said that follows from what is left out', async () => {
    expect(
      await said('order-rest.yaml', 'kind: order\nextends: seed\nedits:\n  - { mov: OriBranchOpt }\n'),
    ).toEqual([expect.stringMatching(/^4 /)]);
    const text = `kind: order
extends: binary
edits:
  - { insertPass: gvn-cse, after: GvnCse, levles: [3] }
  - { move: gvn-cse, after: OriCommoning }
  - { replace: LateOriCommoning, with: OriBranchOpt, levels: [9] }
  - { drop: 'OriBranchOpt#2' }
  - { repeat: OriCommoning, rounds: 99 }
  - { drop: 'OriCommoning#2' }
  - { move: ConvertAllMovPhiToMov, befor: OriHoistInvariantsLate3 }
  - { move: OriHoistInvariantsLate3, after: ConvertAllMovPhiToMov }
`;
    expect((await said('follows.yaml', text)).map((m) => m.split(' ')[0])).toEqual(['4', '6', '8', '10']);
    const rules = `kind: rules
group: mine
tables: { swap: { LT: 5 } }
rules:
  - { id: a, title: t, match: 'ISETP.$cmp $d, $a, $b', rewrite: 'ISETP.swap(cmp) $d, $b, $a', source: s }
`;
    expect((await said('tables.yaml', rules)).map((m) => m.split(' ')[0])).toEqual(['3']);
  });
});

describe('launch files', () => {
  const launch = (params: string, more = '') =>
    `kind: launch\nmodule: m.ptx\nkernel: k\ngrid: [2]\nblock: [32, 2]\n${more}params:\n${params}\n`;
  const load = (params: string, more = '') => loadLaunch(write('l.yaml', launch(params, more)));

  it('become plain data', async () => {
    write('in.bin', new Uint8Array([1, 0, 0, 0, 2, 0, 0, 0]));
    const l = await load(
      `  - { scalar: s32, value: -3 }
  - { scalar: u64, value: '0xffffffffffffffff' }
  - { scalar: f32, value: '-inf' }
  - { scalar: f16, value: 1.5 }
  - { buffer: u32, length: 2, data: in.bin, expect: in.bin, tolerance: 0.01 }
  - { buffer: s16, length: 3, fill: iota }
  - { bytes: 2 }`,
      'dynamic-shared: 64\ntitle: a test\n',
    );
    expect([l.name, l.grid, l.block, l.dynamicShared, l.modulePath]).toEqual([
      'a test',
      [2, 1, 1],
      [32, 2, 1],
      64,
      join(dir, 'm.ptx'),
    ]);
    expect(l.params).toEqual([
      { kind: 'scalar', type: 's32', value: -3 },
      { kind: 'scalar', type: 'u64', value: 0xffffffffffffffffn },
      { kind: 'scalar', type: 'f32', value: Number.NEGATIVE_INFINITY },
      { kind: 'scalar', type: 'b16', value: numberToHalf(1.5, 'f16') },
      {
        kind: 'buffer',
        type: 'u32',
        length: 2,
        bytes: new Uint8Array([1, 0, 0, 0, 2, 0, 0, 0]),
        expect: new Uint8Array([1, 0, 0, 0, 2, 0, 0, 0]),
        tolerance: 0.01,
      },
      {
        kind: 'buffer',
        type: 's16',
        length: 3,
        bytes: new Uint8Array([0, 0, 1, 0, 2, 0]),
        expect: null,
        tolerance: 0,
      },
      { kind: 'bytes', bytes: new Uint8Array(2) },
    ]);
  });

  it('say everything that is wrong with values and data at once', async () => {
    const text = launch(
      `  - { scalar: u8, value: 300 }
  - { scalar: s32, value: 1.5 }
  - { scalar: u64, value: 18446744073709551615 }
  - { scalar: f64, value: many }
  - { buffer: f32, length: 4, data: in.bin }
  - { buffer: f32, length: 2, data: in.bin, expect: out.bin }
  - { buffer: f64, length: 9000000000 }
  - { bytes: 3, data: in.bin }`,
    ).replace('[32, 2]', '[64, 32]');
    write('in.bin', new Uint8Array(8));
    expect(await refused(() => loadLaunch(write('l.yaml', text)), text)).toMatchInlineSnapshot(`
      "error: a block of 2048 threads: at most 1024 are possible
        --> l.yaml:5:8
          5 | block: [64, 32]
            |        ^^^^^^^^
      error: 300 does not fit u8: 0 to 255
        --> l.yaml:7:26
          7 |   - { scalar: u8, value: 300 }
            |                          ^^^
      error: s32 takes an integer, not '1.5'
        --> l.yaml:8:27
          8 |   - { scalar: s32, value: 1.5 }
            |                           ^^^
      error: 18446744073709552000 is beyond 2^53 and lost its last digits: write it as text, in quotes
        --> l.yaml:9:27
          9 |   - { scalar: u64, value: 18446744073709551615 }
            |                           ^^^^^^^^^^^^^^^^^^^^
      error: 'many' is not a number
        --> l.yaml:10:27
         10 |   - { scalar: f64, value: many }
            |                           ^^^^
      error: cannot read 'in.bin': it has 8 bytes, expected 16
        --> l.yaml:11:37
         11 |   - { buffer: f32, length: 4, data: in.bin }
            |                                     ^^^^^^
        data files are relative to the launch file
      error: cannot read 'out.bin': there is no such file
        --> l.yaml:12:53
         12 |   - { buffer: f32, length: 2, data: in.bin, expect: out.bin }
            |                                                     ^^^^^^^
        data files are relative to the launch file
      error: 72000000000 bytes are more than the 268435456 of the largest buffer
        --> l.yaml:13:28
         13 |   - { buffer: f64, length: 9000000000 }
            |                            ^^^^^^^^^^
      error: cannot read 'in.bin': it has 8 bytes, expected 3
        --> l.yaml:14:23
         14 |   - { bytes: 3, data: in.bin }
            |                       ^^^^^^
        data files are relative to the launch file"
    `);
  });

  it('fit the sizes of the parameters, each at its line', async () => {
    const file = write(
      'fit.yaml',
      `kind: launch
module: k.ptx
kernel: k
grid: [1, 1, 1]
block: [1, 1, 1]
params:
  - { buffer: s32, length: 1, fill: zero }
  - { scalar: u64, value: 1 }
  - { scalar: s32, value: 1 }
`,
    );
    const params = ['a', 'b', 'c'].map((name) => ({ name, size: 4 }));
    const program = {
      name: 'k.ptx',
      version: '9.0',
      addressSize: 64,
      functions: [{ kind: 'entry', name: 'k', params }],
      variables: [],
    } as unknown as Program;
    const said = await fitLaunch(await loadLaunch(file), program).catch((e: DiagnosticError) =>
      e.diagnostics.map((d) => `${d.line} ${d.message}`),
    );
    expect(said).toEqual([
      "7 parameter 0 (a) of 'k' has 4 bytes, a pointer has 8",
      "8 parameter 1 (b) of 'k' has 4 bytes, u64 has 8",
    ]);
  });

  it('name a module that is there, if the caller needs it', async () => {
    const text = launch('  - { scalar: s32, value: 1 }');
    const file = write('n.yaml', text);
    expect(rendered(await checkFile(file, passNames, shipped), text)).toMatchInlineSnapshot(`
      "error: there is no module 'm.ptx'
        --> n.yaml:2:9
          2 | module: m.ptx
            |         ^^^^^
        it is relative to the launch file"
    `);
    expect((await loadLaunch(file)).modulePath).toBe(join(dir, 'm.ptx'));
  });

  it('scalars of integer types take exactly what fits', () => {
    const type = fc.constantFrom(
      's8',
      'u8',
      'b8',
      's16',
      'u16',
      'b16',
      's32',
      'u32',
      'b32',
      's64',
      'u64',
      'b64',
    );
    fc.assert(
      fc.property(type, fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), (t, v) => {
        const bits = BigInt(t.slice(1));
        const fits =
          t[0] === 'u'
            ? v === BigInt.asUintN(Number(bits), v)
            : t[0] === 's'
              ? v === BigInt.asIntN(Number(bits), v)
              : v >= -(1n << (bits - 1n)) && v < 1n << bits;
        const got = scalarValue(t, String(v));
        expect(typeof got === 'object' ? null : BigInt(got)).toBe(fits ? v : null);
      }),
      { numRuns: runs(400), seed: 9 },
    );
  });

  it('of the test kernels all load', async () => {
    const kernels = join(ROOT, 'test', 'kernels');
    let files = 0;
    for (const d of readdirSync(kernels, { withFileTypes: true })) {
      if (!d.isDirectory()) continue;
      for (const f of readdirSync(join(kernels, d.name)))
        if (/^launch.*\.yaml$/.test(f)) {
          files++;
          expect(await checkFile(join(kernels, d.name, f), passNames, shipped)).toEqual([]);
        }
    }
    expect(files).toBeGreaterThan(30);
  });
});
