import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { journalJson, lineText } from '../../src/cli/optimize/report.ts';
import { whyJson, whyText } from '../../src/cli/plan/why.ts';
import { LineHistory } from '../../src/debug/line-history.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { planWith, testFolder } from '../support/specs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const saxpy = join('test', 'kernels', 'saxpy', 'saxpy.sm_80.ptx');

function opt(...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), 'opt', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

const folder = testFolder();

describe('opt --why', () => {
  it('tells which phase and which rule changed what came of a line', () => {
    const r = opt(saxpy, '--why', '47');
    expect(r).toMatchObject({ code: 0, err: '' });
    expect(r.out).toBe(`${saxpy}:47  add.s64 \t%rd6, %rd4, %rd5;

saxpy
as read
    BB0    IADD3.64 RD19, RD17, RD18
SetControlFlowOpLastInBB
  - BB0    IADD3.64 RD19, RD17, RD18
  + BB2    IADD3.64 RD19, RD17, RD18
GeneralOptimizeEarly  1 copy-propagated
  - BB2    IADD3.64 RD19, RD17, RD18
  + BB2    IADD3.64 RD19, RD14, RD18
ConvertToUniformReg
  - BB2    IADD3.64 RD19, RD14, RD18
  + BB2    IADD3.64 RD19, URD14, RD18
LateArchOptimizeSecond  1 mad-wide
  - BB2    IADD3.64 RD19, URD14, RD18
  + BB2    IMAD_WIDE RD19, R8, 4, URD14
InsertPseudoUseDefForConvUR
  - BB2    IMAD_WIDE RD19, R8, 4, URD14
  + BB2    IMAD_WIDE RD19, R8, 4, RD14
at the end
    BB2    IMAD_WIDE RD19, R8, 4, RD14
`);
  });

  it('says where nothing is left of a line', () => {
    expect(opt(saxpy, '--why', '44').out).toMatch(
      /GeneralOptimizeEarly {2}1 dead-removed; where it was read: 1 copy-propagated\n.*\nat the end: nothing is left\n$/,
    );
  });

  it('names the rewrites of readers that took an instruction in', () => {
    expect(opt(saxpy, '--why', '46').out).toContain(
      'LateArchOptimizeSecond  1 dead-removed; where it was read: 1 mad-wide-shared, 1 mad-wide\n',
    );
  });

  it.each([
    ['41', 'the nearest that have some: 40, 43'],
    ['saxpy.cu:8', 'the nearest that have some: saxpy.cu:7, saxpy.cu:9'],
    ['other.cu:7', 'it names saxpy.cu'],
    ['everything', 'is a line of the input'],
  ])('a line %s without instructions: %s', (line, hint) => {
    const r = opt(saxpy, '--why', line);
    expect(r).toMatchObject({ code: 1, out: '' });
    expect(r.err).toContain(hint);
  });

  it('names a line of the PTX source of Ori text, and says if instructions name no lines', () => {
    const ori = join(folder.path, 'saxpy.ori');
    opt(saxpy, '-O0', '-o', ori);
    expect(opt(ori, '--why', '47').out).toMatch(/saxpy\.ori, line 47 of the PTX behind it\n[\s\S]*IMAD_WIDE/);
    const bare = folder.write('bare.ori', '.entry k\n{\nBB0:\n  EXIT\n}\n');
    expect(opt(bare, '--why', '3').err).toContain('instructions name no lines here');
  });

  it('goes beside the account of costs, and says what cannot be written', () => {
    const both = opt(saxpy, '--why', '44', '--stat');
    expect([both.out, both.err]).toEqual([
      expect.stringContaining('nothing is left'),
      expect.stringContaining('GeneralOptimizeEarly'),
    ]);
    expect(opt(saxpy, '--why', '44', '--json', '--emit', 'ori')).toMatchObject({ code: 1 });
    expect(opt(saxpy, '--why', '44', '-o', join(folder.path, 'o.txt'))).toMatchObject({ code: 1, out: '' });
  });

  it('is about one file', () => {
    expect(opt(saxpy, saxpy, '--why', '47', '--emit', 'none')).toMatchObject({ code: 1, out: '' });
  });
});

describe('the source line of a remark', async () => {
  // Three cases have too few comparisons for another form, which the pass says of the branch that begins them.
  const tests = [3, 8, 20].map(
    (v, k) => `.loc 1 ${21 + k} 5
setp.eq.s32 %p${k}, %r1, ${v};
@%p${k} bra $L${k};`,
  );
  const ends = [0, 1, 2].map((k) => `$L${k}: st.global.u32 [%rd1], ${k}; ret;`);
  const text = `.version 8.0
.target sm_80
.address_size 64
.file 1 "lexer.cu"
.visible .entry k(.param .u64 out, .param .u32 which)
{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [out];
ld.param.u32 %r1, [which];
${tests.join('\n')}
.loc 1 30 7
st.global.u32 [%rd1+4], %r1;
setp.eq.s32 %p8, %r1, 90;
@%p8 bra $L0;
ret;
${ends.join('\n')}
}`;
  const first = 11;
  const plan = (await planWith({ order: 'binary' })).plan!;
  const { program } = lowerPtx(parsePtx(text, 'k.ptx').module, {
    isa: plan.isa,
    paramBase: 0x160,
    sm: 'sm_80',
  });
  const at = program.locs.findIndex((l) => l.line === first + 1);
  const history = new LineHistory(program, new Set([at]));
  const journal = runPipeline(program, plan, { onRewrite: history.rewrite, onPhase: history.phase });
  const source = { file: 'lexer.cu', line: 21 };

  it('is beside the line of the PTX, in text and as data', () => {
    expect(lineText(program, at)).toBe('line 12 (lexer.cu:21)');
    expect(lineText(program, 0)).toBe('');
    const { phases } = journalJson(journal);
    const switchOpt = phases.find((p) => p.id === 'DoSwitchOptSecond')!;
    expect(switchOpt.remarks.find((m) => m.name === 'few-cases')).toMatchObject({ line: first + 1, source });
    const [{ steps }] = whyJson('k.ptx', '12', program, history.functions, []).functions;
    expect(steps.find((p) => p.phase === 'DoSwitchOptSecond')!.remarks).toMatchObject([
      { kind: 'missed', line: first + 1, source },
    ]);
    expect(whyText('k.ptx:12', program, history.functions)).toContain('missed line 12 (lexer.cu:21): ');
  });

  it('is that of the branch where a remark names only its block', () => {
    const remarks = journalJson(journal).phases.flatMap((p) => p.remarks);
    expect(remarks.filter((m) => m.block >= 0 && m.line === 0)).toEqual([]);
    expect(remarks.find((m) => m.name === 'chain-stopped')).toMatchObject({ source: { line: 30 } });
  });
});
