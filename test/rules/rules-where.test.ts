import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseFn, printFn, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { applyRules } from '../../src/rules/driver.ts';
import { compileGroup } from '../../src/rules/group.ts';
import { Matcher } from '../../src/rules/matcher.ts';
import { makePlan } from '../../src/spec/node.ts';
import type { PlanRequest, Specs } from '../../src/spec/resolve.ts';
import { testIsa } from '../support/isa.ts';
import { passNames, plain, rendered, shipped, specOf } from '../support/specs.ts';

const HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n';
const REGS =
  '.reg .f32 %f<9>; .reg .b64 %d<9>; .reg .b32 %r<9>;\nld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\nld.global.f32 %f2, [%d1+4];\n';
const kernel = (body: string): string => `${HEAD}${REGS}${body}\nst.global.f32 [%d1+8], %f9;\nret;\n}\n`;
const PRODUCT = kernel('.reg .f32 %f9; mul.f32 %f4, %f1, %f2; add.f32 %f9, %f4, %f1;');
const ROUNDED = PRODUCT.replaceAll(/(mul|add)\./g, '$1.rn.');
const SINE = kernel('.reg .f32 %f9; sin.approx.f32 %f3, 0f3F800000; add.f32 %f9, %f1, %f3;');
const SUM = kernel('.reg .f32 %f9; mov.f32 %f3, 0f3F800000; add.f32 %f4, %f3, %f3; add.f32 %f9, %f1, %f4;');

async function optimized(
  text: string,
  change: Partial<PlanRequest>,
  specs: Specs = shipped,
): Promise<string> {
  const { plan, diagnostics } = await makePlan({ ...plain, ...change }, passNames, specs);
  expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
  const { module } = parsePtx(text, 'k.ptx');
  const low = lowerPtx(module, { isa: plan!.isa, paramBase: 0x160, sm: 'sm_80' });
  return printProgram(runPipeline(low.program, plan!).last);
}

const says = async (change: Partial<PlanRequest>, specs: Specs): Promise<string> =>
  rendered((await makePlan({ ...plain, ...change }, passNames, specs)).diagnostics, '');

/** The shipped specs with other text in one rule group. */
function withGroup(text: string): Specs {
  const f = specOf('mine.yaml', text);
  return { ...shipped, rules: new Map([...shipped.rules!, [String(f.data.group), f]]) };
}

describe('where rules run', () => {
  it('sums are folded into offsets of global memory, and not into those of local memory', async () => {
    const through = (space: string): Promise<string> =>
      optimized(
        kernel(
          `.reg .f32 %f9; .local .align 4 .b8 a[64]; cvt.rzi.u32.f32 %r1, %f1; mul.wide.u32 %d2, %r1, 4; ${space === 'local' ? 'mov.u64 %d3, a;' : 'mov.u64 %d3, %d1;'}
add.s64 %d4, %d3, %d2; add.s64 %d5, %d4, 20; st.${space}.f32 [%d4], %f2; ld.${space}.f32 %f9, [%d5+4];`,
        ),
        { order: 'binary' },
      );
    expect(await through('global')).toMatch(/LDG \S+, \[RD\d+\+0x18\]/);
    expect(await through('local')).toMatch(/LDL \S+, \[RD\d+\+0x4\]/);
  });

  it('products are contracted where the switch is on, and only there', async () => {
    expect(await optimized(PRODUCT, {})).not.toContain('FFMA');
    expect(await optimized(PRODUCT, { set: ['ContractProducts'] })).toContain('FFMA');
    expect(await optimized(PRODUCT, { knobSets: ['fused-products'] })).toContain('FFMA');
    expect(await optimized(ROUNDED, { knobSets: ['fused-products'] })).toContain('FFMA');
    expect(
      await optimized(ROUNDED.replace('mul.rn', 'mul.rz'), { knobSets: ['fused-products'] }),
    ).not.toContain('FFMA');
    expect(await says({ rules: ['contraction'] }, shipped)).toContain(
      "rule group 'contraction' has a switch, which is off: knob(ContractProducts)",
    );
    expect(await says({ rules: ['contraction'], set: ['ContractProducts'] }, shipped)).toBe('');
  });

  it('floats fold unless forbidden, approximate functions if allowed', async () => {
    expect(await optimized(SUM, {})).toContain('0x40000000');
    expect(await optimized(SUM, { set: ['FPFoldDisable'] })).not.toContain('0x40000000');
    // limit-fold-fp concerns the bundles alone.
    expect(await optimized(SUM, { set: ['LimitFoldFp'] })).toContain('0x40000000');
    expect(await optimized(SINE, {})).toContain('MUFU.SIN');
    expect(await optimized(SINE, { set: ['FoldApproximate'] })).not.toContain('MUFU');
  });

  it('a recipe runs a group at a hook that no phase runs', async () => {
    const index = kernel(
      '.reg .f32 %f9; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; ld.global.f32 %f9, [%d3];',
    );
    const recipe = specOf(
      'wide.yaml',
      'kind: recipe\nhooks:\n  AdvancedPhaseBeforeConvUnSup: [{ rules: [wide-mad] }]\n',
    );
    const specs: Specs = { ...shipped, recipes: new Map([...shipped.recipes, ['wide', recipe]]) };
    const disable = ['LateArchOptimizeSecond'];
    const wide = /IMAD_WIDE.*RD\d+, R\d+, 4, RD/;
    expect(await optimized(index, {})).toMatch(wide);
    expect(await optimized(index, { disable })).not.toMatch(wide);
    expect(await optimized(index, { disable, recipes: ['wide'] }, specs)).toMatch(wide);
  });

  const rule =
    "{ id: mine-one, title: t, match: 'IADD3 $d, $a, #k, 0', rewrite: 'LOP3 $d, $a, _, _, 0xf0', inexact: nonsense, source: s }";
  it('a phase refuses rules that change results and have no switch', async () => {
    const text = (when: string) => `kind: rules\ngroup: identities\n${when}rules:\n  - ${rule}\n`;
    expect(await says({}, withGroup(text('')))).toContain(
      "runs rule group 'identities', whose rule 'mine-one' changes results: nonsense",
    );
    expect(await says({}, withGroup(text('when: knob(LimitFoldFp)\n')))).toBe('');
    expect(await says({}, withGroup(text('when: knob(LimitFoldFq)\n')))).toContain(
      "group 'identities' reads knob 'LimitFoldFq', which is not in the catalog",
    );
  });

  it('of equal priorities the first group of the phase wins, or the first by name in the mode of bands', async () => {
    const group = (name: string, to: string) =>
      specOf(
        `${name}.yaml`,
        `kind: rules\ngroup: ${name}\nrules:\n  - { id: in-${name}, title: t, match: 'BREV.B32 $d, $a', rewrite: '${to}.B32 $d, $a', inexact: nonsense, source: s }\n`,
      );
    const specs: Specs = {
      ...shipped,
      rules: new Map([...shipped.rules!, ['zz', group('zz', 'POPC')], ['aa', group('aa', 'IABS')]]),
    };
    const text = kernel(
      '.reg .f32 %f9; ld.global.u32 %r1, [%d1]; brev.b32 %r2, %r1; st.global.u32 [%d1], %r2; mov.f32 %f9, %f1;',
    );
    const rules = ['zz', 'aa'];
    expect(await optimized(text, { rules }, specs)).toContain('POPC');
    expect(await optimized(text, { rules, set: ['RulePriorityBands'] }, specs)).toContain('IABS');
  });

  it('a step list that is not there, or uses itself, is an error', async () => {
    const withLists = (stepLists: object) => ({
      ...shipped,
      phases: { ...shipped.phases, data: { ...shipped.phases.data, stepLists } },
    });
    const { clean, ...others } = shipped.phases.data.stepLists as Record<string, object[]>;
    expect(await says({}, withLists({ ...others, cleam: clean }))).toContain(
      "there is no step list 'clean'\n  --> ",
    );
    expect(await says({}, withLists({ ...others, clean: [{ use: 'clean' }] }))).toContain(
      "step list 'clean' uses itself",
    );
    const nested = [{ repeat: [{ pass: 'dead-results' }], rounds: 2 }];
    expect(await says({}, withLists({ ...others, clean: nested }))).toContain(
      'steps that are repeated cannot repeat steps',
    );
  });
});

describe("the group's condition", () => {
  const isa = testIsa();
  const group = (when: string) =>
    compileGroup(
      {
        group: 'g',
        when,
        rules: [{ id: 'r', title: 't', match: 'IADD3 $d, $a, 0, 0', rewrite: 'MOV $d, $a', source: 's' }],
      },
      isa,
    );
  it('asks about target, level and knobs', () => {
    expect(group('sm >= 80 && knob(X) && level > 1').issues).toEqual([]);
    expect(group('uses(d) == 1').issues.map((i) => i.message)).toContain(
      "the group's condition can read only level, sm and knob(Name)",
    );
    expect(group('type == S32').issues).not.toEqual([]);
  });
});

describe('loop depth', () => {
  const isa = testIsa();
  it('is that of the blocks of the root and of what it uses', () => {
    const ori = `.func f
  .param b32 p0 size 4 align 4 at 0 reg R0
{
BB0:
  IADD3 R1, R0, 7, 0
BB1:
  IADD3 R2, R1, R0, 0
  ISETP.LT.S32.AND P9, _, R2, R0, PT
  @P9 BRA BB1
BB2:
  IADD3 R3, R1, R0, 0
  STG [RD4], R3
  RET
}`;
    const after = (when: string): number => {
      const { rules, issues } = compileGroup(
        {
          group: 'g',
          rules: [
            {
              id: 'r',
              title: 't',
              match: 'IADD3 $t, $a, #k, 0\nIADD3 $d, $t, $b, 0',
              when,
              rewrite: 'IADD3 $d, $a, $b, #k',
              source: 's',
            },
          ],
        },
        isa,
      );
      expect(issues).toEqual([]);
      const out = applyRules(parseFn(ori, isa), Matcher.of(rules, isa), {
        level: 3,
        sm: 80,
        knob: () => null,
        mode: 'precedence',
      });
      return printFn(out).match(/IADD3 R[23], R0, R0, 7/g)?.length ?? 0;
    };
    expect(after('isreg(b)')).toBe(2);
    expect(after('rootdepth() <= depth(t)')).toBe(1);
    expect(after('rootdepth() > 0')).toBe(1);
    expect(after('depth(t) > 0')).toBe(0);
  });
});
