import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { testFolder } from './support/specs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
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
LateArchOptimizeSecond  1 mad-wide-shared
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
    ['saxpy.cu:8', 'the nearest that have some: 7, 9'],
    ['other.cu:7', 'it names saxpy.cu'],
    ['everything', 'is a line of the input'],
  ])('a line %s without instructions: %s', (line, hint) => {
    const r = opt(saxpy, '--why', line);
    expect(r).toMatchObject({ code: 1, out: '' });
    expect(r.err).toContain(hint);
  });

  it('names a line of the PTX behind Ori text, and says where instructions name no lines', () => {
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
    expect(opt(saxpy, '--why', '44', '-o', join(folder.path, 'o.ori'))).toMatchObject({ code: 1, out: '' });
  });

  it('is about one file', () => {
    expect(opt(saxpy, saxpy, '--why', '47', '--emit', 'none')).toMatchObject({ code: 1, out: '' });
  });
});
