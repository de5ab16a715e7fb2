import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelFilesOf, sideOptions } from '../../src/cli/review/review-setup.ts';
import { loadModules } from '../../src/lab/kernels.ts';
import { annotations } from '../../src/review/annotations.ts';
import { type Budget, budgetOf, needsAll } from '../../src/review/budget.ts';
import { ReviewRunner } from '../../src/review/cells.ts';
import { measured } from '../../src/review/measured.ts';
import { measuresOf } from '../../src/review/measures.ts';
import { reviewMarkdown } from '../../src/review/render-markdown.ts';
import type { Scope } from '../../src/review/requests.ts';
import { differences } from '../../src/review/review.ts';
import { exitCode, reviewed } from '../../src/review/reviewed.ts';
import { quicklyRefuted } from '../../src/rules/prove/prove.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { loadShipped, loadSpec, ROOT, specOf } from '../../src/spec/node.ts';
import type { Specs } from '../../src/spec/specs.ts';

// A fault of each kind is planted in the specs. The comment alone must show it: its name, its position, its effect in figures, and whether
// it may be merged.

const base = await loadShipped();
const shippedBudget = await loadSpec(join(ROOT, 'pipelines/budget.yaml'), 'budget');
const budget = await budgetOf(shippedBudget, false);
const scope = { sm: 'sm_90', level: 3 };

/** A spec with another text. */
async function edited(f: SpecFile, what: RegExp | string, by: string): Promise<SpecFile> {
  const text = f.text.replace(what, by);
  expect(text).not.toBe(f.text);
  return specOf(f.file, text, f.kind);
}

const lineOf = (f: SpecFile, what: RegExp): string => {
  const line = f.text.split('\n').findIndex((l) => what.test(l)) + 1;
  expect(line).toBeGreaterThan(0);
  return `${f.file}:${line}`;
};

/** The review of a head over some kernels, with no ptxas, as where there is none. */
async function review(
  head: Specs,
  kernels: readonly string[],
  limits: Budget = budget,
  within: Scope = scope,
  from: Specs = base,
) {
  const patterns = kernels.map((k) => join(ROOT, `test/kernels/${k}/${k}.sm_90.ptx`));
  const measure = { launches: true, ptxas: false } as const;
  const runner = new ReviewRunner(
    ...sideOptions(from, head, measure),
    async (file) => (await loadModules([file]))[0],
  );
  const checked = { ...limits, limits: limits.limits.filter((l) => l.metric.source !== 'ptxas') };
  const found = await differences(
    ['base', 'head'],
    from,
    head,
    within,
    {
      ask: async (rule) => ({ verdict: quicklyRefuted(rule) }),
      accepted: new Set(),
      stored: [{}, {}],
    },
    {
      base: budget,
      head: limits,
    },
  );
  const effect =
    found.faults.length > 0
      ? null
      : await measured(
          found,
          [from, head],
          within,
          await kernelFilesOf(patterns, undefined, head, needsAll(checked)),
          measuresOf(),
          async (comparisons, cells) => {
            const out = [];
            for (const c of cells) out.push(await runner.run(comparisons[c.comparison], c.file));
            return out;
          },
        );
  const r = reviewed(found, effect, checked, { none: '', ptxas: null, leftOut: 0, more: [] });
  return { r, comment: reviewMarkdown(r), code: exitCode(r), strict: exitCode(r, true) };
}

/** A row of the table of changes: kind, name, and what it says of the effect. */
const rowOf = (comment: string, kind: string, name: string): string => {
  const row = comment.split('\n').find((l) => l.startsWith(`| ${kind} | \`${name}`));
  expect(row, `${kind} ${name} in\n${comment}`).toBeDefined();
  return row!;
};

describe('planted faults are seen by the comment alone', () => {
  it('an order: what it does, against the order that it extends', async () => {
    const text = `kind: order
extends: binary
edits:
  - { drop: OriDoPredication, why: a mistake }
`;
    const order = await specOf('pipelines/orders/mine.yaml', text, 'order');
    const { comment, code } = await review({ ...base, orders: new Map(base.orders).set('mine', order) }, [
      'nested-conditions',
      'bit-tricks',
    ]);
    expect(code).toBe(2);
    expect(comment).toMatch(/^\*\*1 change; of 2 kernels 1 HURT, 0 helped by executed instructions/);
    const row = rowOf(comment, 'order', 'mine');
    expect(row).toContain('| nothing | new |');
    expect(row).toMatch(/order mine: 1 of 2 kernels changed; 1 HURT/);
    expect(row).toContain('`mine`<br>pipelines/orders/mine.yaml:1 |');
    expect(comment).toContain('- `mine`: differs from binary\n');
    expect(comment).toContain('phase OriDoPredication: on -> not in the order');
    expect(comment).toMatch(/\| `nested` \| order mine \| 8\d\d → 8\d\d \(\+\d/);
    expect(comment).not.toContain('no effect');
  });

  it('an illegal order: why, and that nothing was measured', async () => {
    const was = base.orders.get('late-branches')!;
    const order = await edited(
      was,
      /- \{ insert: OriBranchOpt, after: \w+,/,
      '- { insert: OriBranchOpt, before: ConvertUnsupportedOps,',
    );
    const head = { ...base, orders: new Map(base.orders).set('late-branches', order) };
    const { comment, code } = await review(head, ['saxpy']);
    expect(code).toBe(1);
    expect(comment).toMatch(/^\*\*\d errors? in the specs of the head: nothing is measured\*\*/);
    expect(comment).toMatch(/OriBranchOpt(#\d)? comes before SetControlFlowOpLastInBB/);
    expect(comment).toContain(lineOf(order, /insert: OriBranchOpt/));
  });

  it('a recipe, on the kernels of which it says what was measured', async () => {
    const was = base.recipes.get('few-registers')!;
    const recipe = await edited(was, /$/, '    - OriLoopUnrolling\n    - GeneralOptimize\n');
    const head = { ...base, recipes: new Map(base.recipes).set('few-registers', recipe) };
    const { comment, code } = await review(head, ['saxpy']);
    expect(code).toBe(1);
    const row = rowOf(comment, 'phase', 'GeneralOptimize');
    expect(row).toContain('| on | off | recipe few-registers |');
    expect(row).toMatch(
      /recipe few-registers, sm_80: (\d) of \d+ kernels changed, \1 of them first by it; [1-9]\d* HURT/,
    );
    expect(rowOf(comment, 'phase', 'OriLoopUnrolling')).toMatch(
      / changed, none of them first by it, together with 1/,
    );
    expect(comment).toMatch(/\| `runLengths` \| recipe few-registers, sm_80 \| 1,\d+ → 1,\d+ \(\+\d/);
    expect(comment).toContain(lineOf(recipe, /- OriLoopUnrolling/));
    expect(comment).toMatch(/limit warp-instructions never beyond both \+5 % and \+32\*\*: /);
  });

  it('a knob default that lets code grow by far', async () => {
    const knobs = await edited(base.knobs, /(UnrollFullInstLimit: .*default: )200/, '$12000');
    const { comment, code } = await review({ ...base, knobs }, ['aes-table', 'bit-tricks']);
    expect(code).toBe(1);
    expect(rowOf(comment, 'knob', 'UnrollFullInstLimit')).toContain('| 200 | 2000 | everywhere |');
    expect(comment).toMatch(/^\*\*1 change; 1 LIMIT broken; .*worst aesEncrypt: code size \+\d{3} %/);
    expect(comment).toMatch(
      /^\| code size \| [\d,]+ → [\d,]+ bytes \(\+\d+ %\), estimated \| 1 \| 0 \| aesEncrypt,/m,
    );
    expect(comment).toMatch(/limit code-bytes [^\n]*: aesEncrypt \(sm_90 -O3\) [\d,]+ → [\d,]+ \(\+\d+ %\)/);
    expect(comment).toContain(lineOf(knobs, /UnrollFullInstLimit:/));
  });

  it('a slot of a back end, on its target', async () => {
    const was = base.backends.get('hopper')!;
    const hopper = await edited(was, "'184': forward-progress", "'184': none");
    const head = { ...base, backends: new Map(base.backends).set('hopper', hopper) };
    const { comment, code } = await review(head, ['atomics-float', 'bit-tricks']);
    expect(code).toBe(2);
    const row = rowOf(comment, 'fact', 'slots.184');
    expect(row).toContain('"forward-progress" | "none"');
    expect(row).toMatch(/sm_90 -O3: 1 of 2 kernels changed/);
    expect(comment).toContain(lineOf(hopper, /'184': none/));
    expect(comment).toMatch(/^\| executed instructions \| 221 → 216 /m);
  });

  it('two at once: each is charged with the kernels that differ first because of it', async () => {
    const knobs = await edited(base.knobs, /(SwitchOptBudget: .*default: )null/, '$10');
    const phases = await edited(
      base.phases,
      /(name: OriHoistInvariantsEarly,[\s\S]*?max-pressure: )64/,
      '$14',
    );
    const { r, comment, code } = await review({ ...base, knobs, phases }, ['switch-sparse', 'string-search']);
    expect(code).toBe(1);
    const [hoist, budgeted] = [
      rowOf(comment, 'phase', 'OriHoistInvariantsEarly'),
      rowOf(comment, 'knob', 'SwitchOptBudget'),
    ];
    expect(hoist).toMatch(/kernels changed, 1 of them first by it; .*; worst editDistance: .*1 other change/);
    expect(hoist).not.toContain('switch');
    expect(budgeted).toMatch(
      /kernels changed, \d of them first by it; .*; worst switchLong: .*1 other change/,
    );
    expect(budgeted).not.toContain('editDistance');
    // The limit is broken by kernels of the second alone.
    const errors = annotations(r, '').filter((a) => a.startsWith('::error '));
    expect(errors.length).toBeGreaterThan(0);
    const at = `file=${knobs.file},line=${lineOf(knobs, /SwitchOptBudget:/).split(':')[1]}`;
    expect(errors.filter((a) => !a.startsWith(`::error ${at},title=broken limit::`))).toEqual([]);
  });

  it('a rule: values refute it, and a kernel is wrong', async () => {
    const was = base.rules!.get('shifts')!;
    const shifts = await edited(was, "'SGXT.S32 $d, $a, #(32 - k)'", "'SGXT.S32 $$d, $$a, #(31 - k)'");
    const { r, comment, code } = await review({ ...base, rules: new Map(base.rules).set('shifts', shifts) }, [
      'bit-tricks',
    ]);
    expect(code).toBe(1);
    expect(comment).toMatch(/^\*\*1 change; 1 ALARM; 1 rule REFUTED; 1 kernel WRONG; /);
    expect(rowOf(comment, '**ALARM** rules', 'shifts: shift-sign-extend')).toMatch(
      /1 of 1 kernel changed; 1 WRONG, as bitTricks/,
    );
    // ptxas, which was not run on a kernel that is wrong, is not missing.
    expect(comment).toMatch(/^\| spills \| not measured \|/m);
    expect(comment).toMatch(/- \*\*WRONG\*\* bitTricks, sm_90 -O3 .*is \d+, expected \d+/);
    expect(comment).toMatch(/<details open><summary>Reasons<[\s\S]*: refuted\n[\s\S]*\$d +=.*before.*after/);
    const at = lineOf(shifts, /id: shift-sign-extend/);
    expect(comment).toContain(at);
    expect(
      annotations(r, '').filter((a) => a.startsWith('::error ') && a.includes(`line=${at.split(':')[1]},`)),
    ).toHaveLength(2);
  });

  it('a rule that values refute, and that no kernel here needs', async () => {
    const was = base.rules!.get('identities')!;
    const identities = await edited(was, /(id: min-of-greater-max,[^}]*rewrite: 'MOV \$d, )#k'/, "$1#j'");
    const { comment, code } = await review(
      { ...base, rules: new Map(base.rules).set('identities', identities) },
      ['saxpy'],
    );
    expect(code).toBe(1);
    expect(comment).toMatch(/^\*\*1 change; 1 ALARM; 1 rule REFUTED; /);
    expect(comment).toMatch(/\*\*Still right\?\*\* rule identities: min-of-greater-max REFUTED by values/);
    expect(rowOf(comment, '**ALARM** rules', 'identities: min-of-greater-max')).toContain(
      'not measured: it is applied in none of the 2 kernels here',
    );
  });

  it('the meaning of an opcode: kernels mean something else, and launches refuse it', async () => {
    const isa = await Promise.all(
      base.isa.map((f) =>
        f.file.endsWith('integer.yaml') ? edited(f, 'means: d = brev(a)', 'means: d = ~brev(a)') : f,
      ),
    );
    const { r, comment, code } = await review({ ...base, isa }, ['bit-tricks']);
    expect(code).toBe(1);
    expect(annotations(r, '')).toContainEqual(
      expect.stringMatching(
        /^::error file=pipelines\/isa\/integer\.yaml,line=\d+,title=opcodes::BREV\.means/,
      ),
    );
    const row = rowOf(comment, '**ALARM** opcodes', 'BREV.means');
    expect(row).toMatch(
      /1 kernel then have another meaning, as bitTricks: seed 1: byte 0x\w+ is \d+ before and \d+ after/,
    );
    expect(row).toMatch(/1 WRONG, as bitTricks/);
    expect(comment).toContain(lineOf(isa.find((f) => f.file.endsWith('integer.yaml'))!, /means: d = ~brev/));
  });

  it('a constraint that is gone: what the orders do that it forbade', async () => {
    const name = 'ConvertUnsupportedOps before SetControlFlowOpLastInBB';
    const constraints = await edited(
      base.constraints,
      / {2}- before: ConvertUnsupportedOps\n {4}after: SetControlFlowOpLastInBB\n[\s\S]*?\n(?= {2}- before)/,
      '',
    );
    const { comment, code, strict } = await review({ ...base, constraints }, ['saxpy']);
    expect([code, strict]).toEqual([2, 1]);
    const row = rowOf(comment, '**ALARM** constraint', name);
    expect(row).toContain('| error | nothing |');
    expect(row).toMatch(
      /SetControlFlowOpLastInBB before ConvertUnsupportedOps, sm_90: the code of all 2 kernels is the same/,
    );
    expect(comment).toContain(
      `at the base: ${lineOf(base.constraints, /- before: ConvertUnsupportedOps/).split(':')[0]}:`,
    );
    expect(comment).toContain('conversion may put control operations into the middle of a block');
  });

  it('a gate, at the levels that it shuts', async () => {
    const phases = await edited(
      base.phases,
      /(name: OriDoPredication,[\s\S]*?levels: \[)2, 3, 4, 5\]/,
      '$15]',
    );
    const { comment, code } = await review({ ...base, phases }, ['nested-conditions']);
    expect(code).toBe(2);
    const row = rowOf(comment, 'phase', 'OriDoPredication');
    expect(row).toMatch(/if level 2\.\.5 .* \| if level 5 /);
    expect(row).toMatch(/sm_90 -O3: 1 of 1 kernel changed; 1 HURT/);
    expect(comment).toContain(`${base.phases.file}:`);
  });

  it('parameters of a pass: those that changed alone', async () => {
    const phases = await edited(base.phases, 'max-loss: 6, max-guarded: 1', 'max-loss: 0, max-guarded: 0');
    const { comment, code } = await review({ ...base, phases }, ['nested-conditions']);
    expect(code).toBe(2);
    const row = rowOf(comment, 'phase', 'OriDoPredication');
    expect(row).toContain(
      '| predication max-loss 6, max-guarded 1 | predication max-loss 0, max-guarded 0 |',
    );
    expect(row).toMatch(/[1-9] HURT, \d helped; worst \w+: [\w ]+ \+\d/);
    expect(comment).toContain(lineOf(phases, /max-loss: 0, max-guarded: 0/));
  });

  it('a budget that lets through what it refused before', async () => {
    const loose = await edited(shippedBudget, /(metric: code-bytes, .*percent: )\d+/, '$19000');
    const knobs = await edited(base.knobs, /(UnrollFullInstLimit: .*default: )200/, '$12000');
    const { comment, code } = await review({ ...base, knobs }, ['aes-table'], await budgetOf(loose, false));
    expect(code).toBe(2);
    const row = rowOf(comment, '**ALARM** budget', 'limit code-bytes');
    expect(row).toMatch(/\+25 % .* \| .*\+9000 %/);
    expect(row).toMatch(
      /as it was, the limit refuses 1 kernel, worst aesEncrypt \(sm_90 -O3\) [\d,]+ → [\d,]+ \(\+\d+ %\)/,
    );
    expect(comment).toContain(lineOf(loose, /metric: code-bytes,/));
  });
});

describe('a comment misleads nobody', () => {
  it('warnings on an order are reported, at the phase that moved in a full list', async () => {
    const was = base.orders.get('binary')!;
    const moved = was.text
      .replace(/ {2}- OriDoPredication .*\n/, '')
      .replace(/( {2}- OriPipelining .*\n)/, '$1  - OriDoPredication\n');
    const order = await specOf(was.file, moved, 'order');
    const { r, comment } = await review({ ...base, orders: new Map(base.orders).set('binary', order) }, [
      'saxpy',
    ]);
    const at = lineOf(order, /- OriDoPredication/);
    expect(comment).toMatch(/^\*\*1 change; 3 warnings; /);
    for (const name of ['OptimizeNestedCondBranches', 'MarkAdditionalColdBlocks', 'OriPropagateVaryingFirst'])
      expect(comment).toContain(`warning: OriDoPredication comes before ${name}\n  --> ${at}:5`);
    expect(comment).not.toContain('no place is legal');
    const places = annotations(r, '').filter((a) => a.startsWith('::warning '));
    expect(places).toHaveLength(3);
    for (const a of places) expect(a).toContain(`line=${at.split(':')[1]},`);
  });

  it('the worst figure of each measure has its row, among what is worse', async () => {
    const phases = await edited(
      base.phases,
      'max-loss: 6, max-guarded: 1, max-guarded-block: 1, max-guarded-chain: 1, max-from-loads: 0',
      'max-loss: 60, max-guarded: 9, max-guarded-block: 9, max-guarded-chain: 9, max-from-loads: 9',
    );
    const { comment } = await review({ ...base, phases }, ['scan-block', 'saxpy', 'switch-dense']);
    const worst = /^\| registers \|.* (\w+), sm_90 -O3: (\d+ → \d+ \(\+[\d.]+ %\))/m.exec(comment)!;
    const worse = comment.slice(comment.indexOf('**Worst first**'), comment.indexOf('**Still right?**'));
    const row = worse.split('\n').find((l) => l.startsWith(`| \`${worst[1]}\` | sm_90 -O3`));
    expect(row).toContain(worst[2]);
    // What differs is long, and the same for both kernels.
    expect(worse.split('max-guarded-chain 9')).toHaveLength(2);
    expect(worse).toContain('| OriDoPredication (as above) |');
    // Each kernel is in one class, and all are there.
    const [, all, ...parts] =
      /of (\d+) kernels (\d+) changed(?:, (\d+) with the same code run again)?(?:, (\d+) with the same code not run)?;/.exec(
        comment,
      )!;
    expect(parts.reduce((sum, n) => sum + Number(n ?? 0), 0)).toBe(Number(all));
    expect(comment).toMatch(new RegExp(`${parts[0]} of ${all} kernels changed`));
    // What is copied of it is a number.
    expect(comment).not.toContain('&#8203;');
  });

  it('what refutes rules stands before errors, which may follow from it', async () => {
    const isa = await Promise.all(
      base.isa.map((f) =>
        f.file.endsWith('integer.yaml')
          ? edited(
              f,
              '(lt(a, b, signed(type)) == (op == MIN)) ? a : b',
              '(lt(a, b, false) == (op == MIN)) ? a : b',
            )
          : f,
      ),
    );
    const late = await edited(
      base.orders.get('late-branches')!,
      /- \{ insert: OriBranchOpt, after: \w+,/,
      '- { insert: OriBranchOpt, before: ConvertUnsupportedOps,',
    );
    const head = { ...base, isa, orders: new Map(base.orders).set('late-branches', late) };
    const { comment, code } = await review(head, ['saxpy']);
    expect(code).toBe(1);
    expect(comment).toMatch(
      /^\*\*IMNMX changed: \d\d rules REFUTED; \d errors? in the specs of the head: nothing is measured/,
    );
    expect(comment.indexOf('`IMNMX.means`')).toBeLessThan(comment.indexOf('error: OriBranchOpt'));
  });
});

describe('what a review does not know', () => {
  it('a recipe whose condition no kernel satisfies is reported as not measured', async () => {
    const recipe = await specOf(
      'pipelines/recipes/mine.yaml',
      "kind: recipe\nwhen: { kernel: 'gemm*' }\nphases: { disable: [OriDoPredication] }\n",
      'recipe',
    );
    const { comment, code } = await review({ ...base, recipes: new Map(base.recipes).set('mine', recipe) }, [
      'saxpy',
    ]);
    expect(code).toBe(2);
    expect(rowOf(comment, 'recipe', 'mine')).toMatch(
      /not measured: it is applied to no function of the 1 file here/,
    );
    expect(comment).not.toContain('no effect');
    expect(comment).toMatch(/\*\*Not known\*\*\n\n- not measured, it is applied to no function/);
  });

  it('a recipe is measured on the kernels that its condition chooses', async () => {
    const recipe = await specOf(
      'pipelines/recipes/mine.yaml',
      "kind: recipe\nwhen: { kernel: 'nest*' }\nphases: { disable: [OriDoPredication] }\n",
      'recipe',
    );
    const { comment } = await review({ ...base, recipes: new Map(base.recipes).set('mine', recipe) }, [
      'nested-conditions',
      'bit-tricks',
    ]);
    expect(rowOf(comment, 'recipe', 'mine')).toMatch(/recipe mine, sm_90: 1 of 1 kernel changed; 1 HURT/);
  });

  it('a recipe that a kernel loses is measured on it', async () => {
    const recipe = async (pattern: string) =>
      specOf(
        'pipelines/recipes/mine.yaml',
        `kind: recipe\nwhen: { kernel: '${pattern}' }\nphases: { disable: [OriDoPredication] }\n`,
        'recipe',
      );
    const withRecipe = async (pattern: string) => ({
      ...base,
      recipes: new Map(base.recipes).set('mine', await recipe(pattern)),
    });
    const { comment } = await review(
      await withRecipe('nothing'),
      ['nested-conditions', 'bit-tricks'],
      budget,
      scope,
      await withRecipe('nest*'),
    );
    expect(comment).toMatch(/recipe mine, sm_90: 1 of 1 kernel changed; 0 HURT, 1 helped/);
  });

  it('a constraint that is gone, of phases whose order something else demands too', async () => {
    const name = 'GenerateMovPhi before OriPipelining';
    const constraints = await edited(
      base.constraints,
      / {2}- before: GenerateMovPhi\n {4}after: OriPipelining\n[\s\S]*?\n(?= {2}- before)/,
      '',
    );
    const { comment, code } = await review({ ...base, constraints }, ['saxpy']);
    expect(code).toBe(2);
    expect(rowOf(comment, '**ALARM** constraint', name)).toMatch(
      /not measured: such an order is still illegal: phase 'OriPipelining' .* needs the IR property 'ssa'/,
    );
  });

  it('a rule that fires nowhere', async () => {
    const was = base.rules!.get('shifts')!;
    const more = was.text.replace(
      /(\nrules:\n)/,
      "$1  - { id: never, title: t, match: 'SHL $d, $a, 0x7f', rewrite: 'MOV $d, 0', source: t }\n",
    );
    const rules = new Map(base.rules).set('shifts', await specOf(was.file, more, 'rules'));
    const { comment } = await review({ ...base, rules }, ['bit-tricks']);
    expect(rowOf(comment, '**ALARM** rules', 'shifts: never')).toContain(
      'not measured: it is applied in none of the 1 kernel here',
    );
  });

  it('a back end of a target that no kernel runs on', async () => {
    const backend = await edited(base.backends.get('sm_30')!, 'max-registers: 63', 'max-registers: 64');
    const head = { ...base, backends: new Map(base.backends).set('sm_30', backend) };
    const { comment, code } = await review(head, ['saxpy'], budget, { sm: null, level: 3 });
    expect(code).toBe(2);
    expect(rowOf(comment, 'fact', 'limits.max-registers')).toContain(
      'not measured: no kernel here runs on sm_30',
    );
  });
});

describe('what is wrong with the specs themselves', () => {
  it.each([
    [
      'a fact that nothing knows',
      'hopper',
      'warps-per-sm: 64',
      'warps-per-sn: 64',
      /did you mean 'warps-per-sm'/,
    ],
  ] as const)('%s is an error', async (_, name, from, to, said) => {
    const backend = await edited(base.backends.get(name)!, from, to);
    const { r, comment, code } = await review(
      { ...base, backends: new Map(base.backends).set(name, backend) },
      ['saxpy'],
    );
    expect(code).toBe(1);
    expect(comment).toMatch(/^\*\*1 error in the specs of the head: nothing is measured\*\*/);
    expect(comment).toMatch(said);
    expect(annotations(r, '')[0]).toContain(`line=${lineOf(backend, new RegExp(to)).split(':')[1]},`);
  });

  it('a rule that uses what it does not match is an error', async () => {
    const rules = await edited(
      base.rules!.get('identities')!,
      "'IADD3 $d, $a, -$a, $b', rewrite: 'MOV $d, $b'",
      "'IADD3 $$d, $$a, -$$a, $$b', rewrite: 'MOV $$d, $$q'",
    );
    const { comment, code } = await review({ ...base, rules: new Map(base.rules).set('identities', rules) }, [
      'saxpy',
    ]);
    expect(code).toBe(1);
    expect(comment).toContain("'q' is not defined by the match");
    expect(comment).toContain('not proved: its text has errors');
  });

  it('a meaning that names what is not there is an error, and not of Orrery', async () => {
    const isa = await Promise.all(
      base.isa.map((f) =>
        f.file.endsWith('integer.yaml') ? edited(f, 'means: d = a + b + c', 'means: d = a + b + q') : f,
      ),
    );
    const { comment, code } = await review({ ...base, isa }, ['saxpy']);
    expect(code).toBe(1);
    expect(comment).toContain("IADD3: unknown name 'q'");
    expect(comment).toContain(
      lineOf(isa.find((f) => f.file.endsWith('integer.yaml'))!, /means: d = a \+ b \+ q/),
    );
  });
});

describe('a review says no more than it knows', () => {
  it('of a wrong kernel it has no figures: it is neither helped nor hurt', async () => {
    const rules = await edited(
      base.rules!.get('identities')!,
      /(id: add-of-nothing,.*rewrite: 'MOV \$d, )\$a'/,
      "$10'",
    );
    const { r, comment } = await review({ ...base, rules: new Map(base.rules).set('identities', rules) }, [
      'iterative-quicksort',
      'sobel',
    ]);
    const wrong = r.effect!.rows.filter((x) => x.wrong[1] !== '');
    expect(wrong.length).toBeGreaterThan(1);
    for (const x of wrong) expect([x.severity, x.readings.every((y) => y === null)]).toEqual([0, true]);
    expect(comment).toMatch(/kernels? WRONG/);
    const told = /of \d+ kernels (\d+) HURT, (\d+) helped/.exec(comment);
    expect(told === null || told.slice(1).join() === '0,0').toBe(true);
    expect(comment).not.toContain('changed and not worse');
    // A message of several lines is one.
    expect(comment).not.toContain('\\n');
  });

  it('a kernel without an end costs no more than twenty of those with one', async () => {
    const rules = await edited(
      base.rules!.get('identities')!,
      /(id: add-of-nothing,.*rewrite: 'MOV \$d, )\$a'/,
      "$10'",
    );
    const { r } = await review({ ...base, rules: new Map(base.rules).set('identities', rules) }, [
      'iterative-quicksort',
    ]);
    expect(r.effect!.rows.map((x) => x.wrong[1]).join()).toMatch(
      /instruction budget of 1,?000,?000 is used up/,
    );
  });

  it('shares of a multiprocessor are not compared where it has room for more or fewer', async () => {
    const hopper = await edited(base.backends.get('hopper')!, 'warps-per-sm: 64', 'warps-per-sm: 48');
    const { comment } = await review({ ...base, backends: new Map(base.backends).set('hopper', hopper) }, [
      'sha256',
    ]);
    expect(comment).not.toMatch(/occupancy \| mean/);
    expect(comment).toContain('- occupancy: the limits of a multiprocessor differ between the two sides');
  });

  it('a fact of many parts is reported by the part that changed', async () => {
    const hopper = await edited(base.backends.get('hopper')!, 'warps-per-sm: 64', 'warps-per-sm: 48');
    const head = { ...base, backends: new Map(base.backends).set('hopper', hopper) };
    const { comment } = await review(head, ['string-search']);
    expect(comment).toMatch(/\(limits\.warps-per-sm: 64 → 48\)/);
  });

  it('what a changed opcode does to many rules follows it, the first in full and the others by name', async () => {
    const isa = await Promise.all(
      base.isa.map((f) =>
        f.file.endsWith('integer.yaml') ? edited(f, 'means: d = a + b + c', 'means: d = a + b - c') : f,
      ),
    );
    const { comment, code } = await review({ ...base, isa }, ['saxpy']);
    expect(code).toBe(1);
    expect(comment).toMatch(/^\*\*1 change; (1 ALARM; )?\d\d rules REFUTED; /);
    const rows = comment.split('\n').filter((l) => /^\| (\*\*ALARM\*\* )?(opcodes|rules) /.test(l));
    expect(rows[0]).toContain('IADD3.means');
    expect(rows).toHaveLength(4);
    expect(comment).toMatch(/^and \d\d more rules REFUTED, because the same changed: \w+: /m);
  });

  it('what a recipe switches off is one change, at its line', async () => {
    const was = base.recipes.get('turing')!;
    const more =
      "parts:\n  - when: { kernel: 'sax*' }\n    knobs: { UnrollInstLimit: 5 }\nphases: { disable: [OriDoPredication] }\n";
    const turing = await specOf(was.file, `${was.text.trimEnd()}\n${more}`, 'recipe');
    const head = { ...base, recipes: new Map(base.recipes).set('turing', turing) };
    const { r } = await review(head, ['saxpy'], budget, { sm: 'sm_75', level: 3 });
    expect(r.changes.map((c) => [c.kind, c.name, c.place])).toEqual([
      ['phase', 'OriDoPredication', lineOf(turing, /disable: \[OriDoPredication\]/)],
      ['knob', 'UnrollInstLimit', lineOf(turing, /UnrollInstLimit: 5/)],
    ]);
  });
});
