import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { checkOne } from '../../src/cli/check/check.ts';
import { host } from '../../src/engine/pipeline.ts';
import type { PassNeeds } from '../../src/ir/pass.ts';
import { withSpec } from '../../src/spec/collect.ts';
import type { Host } from '../../src/spec/host.ts';
import { loadShipped, loadSpec } from '../../src/spec/node.ts';
import { checkFile } from '../../src/spec/node-check.ts';

/*
 * A table that names something undefined is an error, whether or not a plan uses that row. Each case changes one word of a shipped file,
 * and the error is reported at its line.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-names-'));
afterAll(() => rmSync(dir, { recursive: true }));
const specs = await loadShipped();

async function errorsOf(
  text: string | Buffer,
  name = 'mine.yaml',
  by: Host = host,
): Promise<{ line: number; said: string }[]> {
  const file = join(dir, name);
  writeFileSync(file, text);
  const found = await checkFile(file, by, specs);
  return found
    .filter((d) => d.severity === 'error')
    .map((d) => ({ line: d.line, said: [d.message, d.notes?.[0] ?? ''].join('; ') }));
}

const PHASES = 'pipelines/phases.yaml';
const CATALOG = 'knobs/catalog.yaml';
const HOPPER = 'pipelines/backends/hopper.yaml';
const CASES: readonly (readonly [what: string, file: string, from: string, to: string, said: string])[] = [
  [
    'a default that is no value of its type',
    CATALOG,
    'GeneralOptimizationBudget: { index: 487, type: BDGT, default: null',
    'GeneralOptimizationBudget: { index: 487, type: BDGT, default: lots',
    'knob GeneralOptimizationBudget cannot be "lots": it must be a budget: an integer that says how often it may be taken',
  ],
  [
    'a knob of a phase',
    PHASES,
    'knobs: [OptBudget, AnalyzeAtLevelOneOnly,',
    'knobs: [OptBudgett, AnalyzeAtLevelOneOnly,',
    "there is no knob 'OptBudgett'; did you mean 'OptBudget' or 'HoistBudget'?",
  ],
  [
    'a knob of a gate',
    PHASES,
    'unset: [DisableSourceOrder]',
    'unset: [DisableSourceOrderr]',
    "there is no knob 'DisableSourceOrderr'; did you mean 'DisableSourceOrder'?",
  ],
  [
    'the knob that adds levels',
    PHASES,
    'also: { knob: AllowReassociateCSE,',
    'also: { knob: AllowReasociateCSE,',
    "there is no knob 'AllowReasociateCSE'; did you mean 'AllowReassociateCSE'?",
  ],
  [
    'the knob under which levels are left',
    PHASES,
    'only: { knob: AnalyzeAtLevelOneOnly,',
    'only: { knob: AnalyzeAtLevelOneOny,',
    "there is no knob 'AnalyzeAtLevelOneOny'; did you mean 'AnalyzeAtLevelOneOnly'?",
  ],
  [
    'a fact of a phase',
    PHASES,
    'facts: [capabilities.uniform-registers]',
    'facts: [capabilities.uniform-register]',
    "there is no fact 'capabilities.uniform-register'; did you mean 'capabilities.uniform-registers'",
  ],
  ['a slot of a phase', PHASES, 'facts: [slots.208,', 'facts: [slots.999,', "there is no fact 'slots.999'"],
  [
    'a seed number twice',
    PHASES,
    'index:   2, trueIndex:   2',
    'index:   1, trueIndex:   2',
    "index 1 already belongs to 'ApplyNvOptRecipes'",
  ],
  [
    'a true index twice',
    PHASES,
    'index:   2, trueIndex:   2',
    'index:   2, trueIndex:   1',
    "trueIndex 1 already belongs to 'ApplyNvOptRecipes'",
  ],
  [
    'a phase of a constraint',
    'pipelines/constraints.yaml',
    'before: OriCheckInitialProgram',
    'before: OriCheckInitialProgramm',
    "there is no phase 'OriCheckInitialProgramm'; did you mean 'OriCheckInitialProgram'?",
  ],
  [
    'a reader of a knob',
    CATALOG,
    'readers: [ApplyNvOptRecipes], source: reference opt',
    'readers: [ApplyNvOptRecipess], source: reference opt',
    "there is no phase 'ApplyNvOptRecipess'; did you mean 'ApplyNvOptRecipes'?",
  ],
  [
    'an index of a knob twice',
    CATALOG,
    'index: 185',
    'index: 499',
    "index 499 already belongs to knob 'DisablePhases'",
  ],
  [
    'an alias of a knob twice',
    CATALOG,
    'aliases: [PhaseTiming]',
    'aliases: [OptBudget]',
    "'OptBudget' already names knob 'OptBudget'",
  ],
  [
    'a handler of a slot',
    HOPPER,
    "'136': sync-restructuring",
    "'136': sync-restructuringg",
    "there is no handler 'sync-restructuringg'; did you mean 'sync-restructuring'?",
  ],
  [
    'a slot of a back end',
    HOPPER,
    "'136': sync-restructuring",
    "'1367': sync-restructuring",
    "no phase knows 'slots.1367'",
  ],
  [
    'a capability',
    HOPPER,
    'fp8: true',
    'fp88: true',
    "no phase knows 'capabilities.fp88'; did you mean 'fp8'?",
  ],
  [
    'a back end that is called otherwise than its file',
    HOPPER,
    'name: hopper',
    'name: hoper',
    "back end 'hoper' is in the file 'hopper.yaml'; call the file hoper.yaml, or the back end hopper",
  ],
  [
    'a list for a limit',
    HOPPER,
    'warps-per-sm: 64',
    'warps-per-sm: [64, 32]',
    "'limits.warps-per-sm' is one value, not a list",
  ],
  [
    'an opcode of an operation',
    HOPPER,
    'ELECT: native',
    'ELEKT: native',
    "there is no opcode 'ELEKT'; did you mean 'ELECT'",
  ],
  [
    'a modifier of an operation',
    'pipelines/backends/turing.yaml',
    'MUFU.TANH: native',
    'MUFU.TANHH: native',
    "MUFU has no modifier '.TANHH'; did you mean 'TANH'",
  ],
  [
    'a phase that expands an operation',
    'pipelines/backends/common.yaml',
    'IDP: LateExpansionUnsupportedOps #',
    'IDP: LateExpansionUnsuportedOps #',
    "there is no phase 'LateExpansionUnsuportedOps'; did you mean 'LateExpansionUnsupportedOps'",
  ],
  [
    'an opcode of the uniform datapath',
    'pipelines/backends/turing.yaml',
    'operations: [IADD3,',
    'operations: [IADD33,',
    "there is no opcode 'IADD33'; did you mean 'IADD3'",
  ],
  [
    'a reader of uniform registers',
    'pipelines/backends/turing.yaml',
    'readers: [IADD3,',
    'readers: [IADD33,',
    "there is no opcode 'IADD33'; did you mean 'IADD3'",
  ],
  [
    'a latency',
    'pipelines/backends/common.yaml',
    '  fp16: 6\n',
    '  fp61: 6\n',
    "'latencies.fp61' names no unit, no memory space, and no opcode; did you mean 'fp16'",
  ],
  [
    'a cost',
    'pipelines/backends/common.yaml',
    'IDIV_64: 320',
    'IDIVV_64: 320',
    "'costs.IDIVV_64' names no unit, and no opcode; did you mean 'IDIV_64'",
  ],
  [
    'a source',
    HOPPER,
    '  slots.136: seed',
    '  slots.137: seed',
    "the back end has no fact 'slots.137'; did you mean 'slots.136'",
  ],
  [
    'a doubt',
    HOPPER,
    '  latencies.cluster: an',
    '  latencies.clusters: an',
    "the back end has no fact 'latencies.clusters'; did you mean 'latencies.cluster'",
  ],
  [
    'the code of another back end',
    'pipelines/backends/sm_90.yaml',
    'code: 32768',
    'code: 36864',
    "code 36864 already belongs to back end 'sm_100'; where that is meant, 'doubts.code' says why",
  ],
  [
    'a pass of a phase',
    PHASES,
    'pass: early-dead-code',
    'pass: early-dead-cod',
    "there is no pass 'early-dead-cod'; did you mean 'early-dead-code'",
  ],
  [
    'a handler of a gate',
    PHASES,
    'slots.448, equals: light-reoptimize',
    'slots.448, equals: light-reoptimise',
    "'slots.448' is 'light-reoptimise' on no back end, so the gate never opens; did you mean 'light-reoptimize'",
  ],
  [
    'a name of a phase twice',
    PHASES,
    'trueIndex:  10, name: ReportInitialRepresentation',
    'trueIndex:  10, name: OriCreateMacroInsts',
    "there are two phases 'OriCreateMacroInsts'",
  ],
  [
    'an owner of a rule group',
    'pipelines/rules/shifts.yaml',
    'owner: [OriStrengthReduce,',
    'owner: [OriStrengthReduc,',
    "there is no phase 'OriStrengthReduc'; did you mean 'OriStrengthReduce'",
  ],
  [
    'a back end without code',
    'pipelines/backends/sm_90.yaml',
    'code: 32768',
    '# code: 32768',
    "the back end of 'sm_90' has no 'code'",
  ],
  [
    'a back end without class',
    'pipelines/backends/sm_90.yaml',
    'extends: hopper',
    '# extends: hopper',
    "the back end of 'sm_90' has no 'class'",
  ],
];

describe('check says where a table names what is not there', () => {
  for (const [what, file, from, to, said] of CASES)
    it(what, async () => {
      const text = readFileSync(join(root, file), 'utf8');
      expect(text).toContain(from);
      const mine = text.replace(from, () => to);
      const errors = await errorsOf(mine, basename(file));
      expect(errors.map((e) => e.said)).toContainEqual(expect.stringContaining(said));
      const line = mine.slice(0, mine.indexOf(to)).split('\n').length;
      const at = errors.find((e) => e.said.includes(said))!.line;
      // An index that comes twice is told of where it comes again; what a file lacks, at what it is for.
      if (!/ already (belongs to|names) (knob )?'\w+'$|has no/.test(said)) expect(at).toBe(line);
      else expect(at).toBeGreaterThan(0);
    });
  it('and takes all that ship', async () => {
    for (const file of [
      PHASES,
      CATALOG,
      HOPPER,
      'pipelines/constraints.yaml',
      ...['sm_75', 'sm_90', 'common'].map((n) => `pipelines/backends/${n}.yaml`),
    ])
      expect([file, await errorsOf(readFileSync(join(root, file)), basename(file))]).toEqual([file, []]);
  });
});

it('a back end that ships does not vouch for its own capabilities', async () => {
  const text = `kind: backend\nname: sm_72\nextends: volta\nsm: sm_72\ncode: 24578\ncapabilities: { dp4: true }\n`;
  writeFileSync(join(dir, 'sm_72.yaml'), text);
  const own = await loadSpec(join(dir, 'sm_72.yaml'));
  const found = await checkFile(join(dir, 'sm_72.yaml'), host, withSpec(specs, own));
  expect(found.map((d) => [d.severity, d.line, d.message, d.notes?.[0]])).toEqual([
    ['error', 6, "no phase knows 'capabilities.dp4'", "did you mean 'dp4a'?"],
  ]);
});

it('a recipe that names a metric which nothing measures, or which is another in every run', async () => {
  const kernel = '{ file: k.ptx, kernel: k, values: { instructionss: [3, 4], compile-time: [1, 2] } }';
  const text = `kind: recipe\ntitle: t\nknobs: { OptBudget: 3 }\nmeasured:\n  kernels:\n    - ${kernel}\n`;
  writeFileSync(join(dir, 'measured.yaml'), text);
  const found = await checkOne(join(dir, 'measured.yaml'));
  expect(found.map((d) => [d.severity, d.line, d.message])).toEqual([
    ['error', 6, "there is no metric 'instructionss'"],
    ['error', 6, "'compile-time' differs from run to run, so it cannot be reproduced"],
  ]);
  expect(found[0].notes?.[0]).toContain("did you mean 'instructions'");
});

describe('what a pass needs', () => {
  /** The engine, with one pass that needs what is not there. */
  const needing = (needs: PassNeeds): Host => ({
    ...host,
    passNeeds: (pass) => (pass === 'late-commoning' ? needs : host.passNeeds!(pass)),
  });
  const recipe = 'kind: recipe\ntitle: t\nhooks:\n  AdvancedPhasePreSched: [{ pass: late-commoning }]\n';
  const CASES: readonly (readonly [PassNeeds, string])[] = [
    [
      { knobs: ['OptBudgt'] },
      "pass 'late-commoning' needs the knob 'OptBudgt', which does not exist; did you mean 'OptBudget'?",
    ],
    [
      { facts: ['capabilities.reduxx'] },
      "pass 'late-commoning' needs the fact 'capabilities.reduxx', which does not exist; did you mean 'capabilities.redux'",
    ],
    [
      { requires: ['saa'] },
      "pass 'late-commoning' needs the IR property 'saa', which does not exist; did you mean 'ssa'?",
    ],
  ];
  for (const [needs, said] of CASES) {
    it(`is reported in a hook: ${Object.keys(needs)[0]}`, async () => {
      const found = await errorsOf(recipe, 'mine.yaml', needing(needs));
      expect(found).toContainEqual({ line: 4, said: expect.stringContaining(said) });
    });
    it(`is reported in an inserted step: ${Object.keys(needs)[0]}`, async () => {
      const order =
        'kind: order\ntitle: t\nextends: seed\nedits:\n  - { insertPass: late-commoning, before: SinkRemat }\n';
      expect(await errorsOf(order, 'mine.yaml', needing(needs))).toContainEqual({
        line: 5,
        said: expect.stringContaining(said),
      });
    });
  }
  it('exists for every pass that there is', async () => {
    for (const pass of host.passes) {
      const found = await errorsOf(recipe.replace('late-commoning', pass));
      expect([pass, found.filter((e) => e.said.startsWith('pass '))]).toEqual([pass, []]);
    }
  });
});

describe('bytes that are no text', () => {
  const recipe = 'kind: recipe\n# note\nknobs: { OptBudget: 3 }\n';
  it('are reported: NUL, and what is no UTF-8', async () => {
    expect(await errorsOf(recipe)).toEqual([]);
    expect((await errorsOf(recipe.replace('note', '\0')))[0].said).toContain(
      'byte 15 is 0: this is not text',
    );
    expect((await errorsOf(Buffer.from(recipe.replace('note', '\xff\xfe'), 'latin1')))[0].said).toContain(
      'byte 0xff in line 2 is not UTF-8: write the file in UTF-8',
    );
  });
});

describe('rules', () => {
  const rules = (rewrite: string, more = ''): string => `kind: rules
group: mine
${more}rules:
  - id: mine-one
    title: t
    match: IADD3 $d, $x, 1, 0
    rewrite: ${rewrite}
    source: s
`;
  it('that are wrong on some values are refuted at their line, with the smallest values', async () => {
    expect(await errorsOf(rules('IADD3 $d, $x, 2, 0'))).toEqual([
      { line: 7, said: "rule 'mine-one' is wrong: its sides differ; for" },
    ]);
    const file = join(dir, 'mine.yaml');
    const notes = (await checkFile(file, host, specs))[0].notes!;
    expect(notes).toContain('    $x    = 0x00000000 (32 bits)');
  });
  it('that are wrong beside a number that they name are refuted too', async () => {
    // x ^ 0x7abc73d2 is 0 for one x in 2^32: only values near the numbers of a rule find it.
    const one = rules('MOV $d, 5').replace('IADD3 $d, $x, 1, 0', 'SEL $d, 5, $x, PT');
    expect(await errorsOf(one)).toEqual([]);
    const rare = `kind: rules
group: mine
rules:
  - id: rare
    title: t
    match: ISETP.EQ.U32 $p, _, $x, 0x7abc73d2, PT
    rewrite: ISETP.NE.U32 $p, _, $x, $x, PT
    source: s
`;
    expect((await errorsOf(rare)).map((e) => e.said)).toContainEqual(
      expect.stringContaining("'rare' is wrong"),
    );
  });
  it('with one id are reported beside other faults', async () => {
    const two = rules('IADD3 $d, $x, 1, 0') + rules('MOV $d, $x').split('rules:\n')[1];
    const said = (
      await errorsOf(
        two.replace(/( {2}- id: mine-one\n.*\n.*\n)( {4}rewrite: MOV)/, '$1    when: nosuch(x)\n$2'),
      )
    ).map((e) => `${e.line} ${e.said}`);
    expect(said).toContainEqual(expect.stringContaining("12 unknown function 'nosuch'"));
    expect(said).toContainEqual(
      expect.stringContaining("9 rule id 'mine-one' is taken by a rule of group 'mine'"),
    );
  });
  it('with an unknown value in a table', async () => {
    const found = await errorsOf(
      rules('IADD3 $d, $x, 1, 0', 'tables:\n  swap: { EQ: NOSUCH }\n').replace(
        'match: IADD3 $d, $x, 1, 0\n    rewrite: IADD3 $d, $x, 1, 0',
        "match: 'ISETP.$cmp.$type.$bool $p, _, $x, 0, $c'\n    rewrite: 'ISETP.swap(cmp).$type.$bool $p, _, $x, 0, $c'",
      ),
    );
    expect(found.map((e) => e.said).join('\n')).toContain("ISETP has no modifier 'swap(cmp)' here");
  });
});
