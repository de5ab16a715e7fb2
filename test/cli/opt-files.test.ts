import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { testFolder } from '../support/specs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const kernels = join('test', 'kernels');
const saxpy = join(kernels, 'saxpy', 'saxpy.sm_90.ptx');
const folder = testFolder();

const opt = (args: readonly string[], input = '', cwd = root) => orrery(['opt', ...args], input, cwd);
function orrery(args: readonly string[], input = '', cwd = root) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd,
    encoding: 'utf8',
    input,
    env: { ...process.env, NO_COLOR: '1' },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const filesIn = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((f) => /\.\w+$/.test(f))
      .sort()
      .map((f) => [f, readFileSync(join(dir, f), 'utf8')]),
  );

describe('advice on matrix products', () => {
  // The wait of the bundled kernel taken away: results are read in flight.
  const given = readFileSync(join(root, 'test', 'foreign', 'warpgroup-steps.sm_90a.ptx'), 'utf8');
  const text = given.replace(/^.*wgmma\.wait_group.*$/gm, '');
  const [waits, hurries] = [folder.write('waits.ptx', given), folder.write('hurries.ptx', text)];

  it('stands at its line of PTX, and is not printed with -q', () => {
    expect(text).not.toBe(given);
    expect(opt([waits, '--emit', 'none']).err).not.toContain('C75');
    const r = opt([hurries, '--emit', 'none']);
    expect(r.code).toBe(0);
    const at =
      /^warning: '\w+': ptxas will insert a wait in front of it: .* \(C7517\)\n +--> .*:(\d+):\d+$/m.exec(
        r.err,
      )!;
    const line = text.split('\n')[Number(at[1]) - 1];
    const accumulators = [...text.matchAll(/wgmma\.mma_async\S+\s+\{([^}]*)\}/g)].flatMap((m) =>
      m[1].split(/,\s*/),
    );
    // It reads a register that a product writes.
    expect(
      accumulators.some((r) =>
        line
          .split(',')
          .slice(1)
          .some((o) => o.trim().replace(';', '') === r),
      ),
      line,
    ).toBe(true);
    expect(opt([hurries, '--emit', 'none', '-q']).err).toBe('');
  });

  it('has no line where the input is Ori text, which names lines of other text', () => {
    const ori = opt([hurries, '-O0', '--emit', 'ori', '-q']).out;
    const r = opt([folder.write('hurries.ori', ori), '--sm', 'sm_90', '--emit', 'none']);
    expect(r.err).toMatch(/\(C7517\)$/m);
    expect(r.err).not.toMatch(/-->.*:\d+:\d+/);
  });
});

describe('opt of several files', () => {
  it('writes what it writes of each one, whatever the number of threads', () => {
    const one = opt([saxpy, '--emit', 'ptx', '-q']);
    const named = [join(kernels, 'saxpy'), join(kernels, 'histogram', '*.sm_80.ptx')];
    const [a, b] = [1, 2].map((jobs) => {
      const to = join(folder.path, `jobs-${jobs}`);
      const r = opt([...named, '--emit', 'ptx', '-o', to, '-j', String(jobs), '--check', 'auto']);
      expect([r.code, r.out]).toEqual([0, '']);
      expect(r.err).toMatch(/^file +instructions \(Ori\) +after +change +time/);
      expect(r.err.match(/ equal$/gm)).toHaveLength(4);
      expect(r.err).toMatch(/^4 files +\d+ +\d+ +-\d+\.\d+ % /m);
      return filesIn(to);
    });
    expect(Object.keys(a)).toEqual([
      'histogram.sm_80.ptx',
      'saxpy.sm_75.ptx',
      'saxpy.sm_80.ptx',
      'saxpy.sm_90.ptx',
    ]);
    expect(b).toEqual(a);
    expect(a['saxpy.sm_90.ptx']).toBe(one.out);
  });

  it('decides once which recipes apply to equal kernels', () => {
    const recipe = folder.write('some.yaml', "kind: recipe\nwhen: { kernel: 'sax*' }\nlevel: 1\n");
    const text = readFileSync(join(root, saxpy), 'utf8');
    const files = ['a.ptx', 'b.ptx', 'c.ptx'].map((name) => folder.write(name, text));
    const to = join(folder.path, 'decided');
    const r = opt([...files, '--recipe', recipe, '--emit', 'ptx', '-o', to, '--stat']);
    expect(r.code).toBe(0);
    expect(r.err).toMatch(/recipes decided for 2 functions, and taken over for 4 equal ones/);
    const alone = opt([files[0], '--recipe', recipe, '--emit', 'ptx', '-q']);
    expect(Object.values(filesIn(to))).toEqual([alone.out, alone.out, alone.out]);
    const { decisions } = JSON.parse(opt([files[0], '--recipe', recipe, '--stat', '--json', '-q']).out);
    expect(decisions).toEqual({ made: 2, shared: 0 });
  });

  it('continues after one that fails, and fails in the end', () => {
    const bad = folder.write('bad.ptx', '.version 9.0\n.target sm_80\n.bogus\n');
    const r = opt([bad, saxpy, '--emit', 'none']);
    expect(r.code).toBe(1);
    expect(r.err).toMatch(/bad\.ptx:3:1/);
    expect(r.err).toMatch(/bad\.ptx +failed$/m);
    expect(r.err).toMatch(/^1 of 2 files|saxpy\.sm_90\.ptx +\d+ +\d+/m);
  });

  it('says once what is wrong with the options', () => {
    const r = opt([join(kernels, 'saxpy'), '--emit', 'none', '--set', 'OptBudgte=1']);
    expect([r.code, r.err.match(/there is no knob/g)?.length]).toEqual([1, 1]);
  });

  it.each([
    [[saxpy, saxpy.replace('90', '80')], /several files need a folder for their results/],
    [[saxpy, saxpy, '-o', '-'], /need a folder for their results, not standard output \(-\)/],
    [['-', saxpy, '--emit', 'none'], /standard input \(-\) is one file/],
    [[saxpy, saxpy, '--ptxas'], /--ptxas compares one file/],
    [[saxpy, join(kernels, 'histogram'), '--emit', 'none', '-j', '0'], /--jobs 0 is not a number of workers/],
    [[saxpy, '--emit', 'none', '-j', '0'], /--jobs 0 is not a number of workers/],
    [['no-such-folder/*.ptx', '--emit', 'none'], /no kernel matches 'no-such-folder/],
  ])('refuses %j', (args, message) => {
    const r = opt(args);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(message);
    expect(existsSync(join(root, '-'))).toBe(false);
  });

  it('says once what an order is warned of, whatever the number of targets', () => {
    const order = folder.write(
      'early.yaml',
      'kind: order\nextends: binary\nedits:\n  - { move: GvnCse, after: GenerateMovPhi }\n',
    );
    const files = ['sm_75', 'sm_80', 'sm_90'].map((sm) => saxpy.replace('sm_90', sm));
    const { code, err } = opt([...files, '--order', order, '--emit', 'none']);
    expect([code, err.match(/^warning: .*$/gm)]).toEqual([
      0,
      ['warning: GvnCse comes before EnforceArgumentRestrictions'],
    ]);
  });

  it('refuses two results of one name', () => {
    for (const d of ['x', 'y']) {
      mkdirSync(join(folder.path, d));
      folder.write(`${d}/k.ptx`, readFileSync(join(root, saxpy)));
    }
    const r = opt([
      join(folder.path, 'x'),
      join(folder.path, 'y'),
      '--emit',
      'ptx',
      '-o',
      join(folder.path, 'z'),
    ]);
    expect([r.code, r.err]).toEqual([1, expect.stringMatching(/would both be written to .*k\.ptx/)]);
  });
});

describe('the form of a result', () => {
  const written = (name: string, ...args: string[]) => {
    const r = opt([saxpy, '-o', join(folder.path, name), '-q', ...args]);
    expect([r.code, r.err]).toEqual([0, '']);
    return readFileSync(join(folder.path, name), 'utf8');
  };
  it('is what its name ends in', () => {
    const ptx = opt([saxpy, '--emit', 'ptx', '-q']).out;
    const ori = opt([saxpy, '-q']).out;
    expect(written('form.ptx')).toBe(ptx);
    expect(written('form.ptx', '--why', '47')).toBe(ptx);
    expect(written('form.ori')).toBe(ori);
    expect(written('form')).toBe(ori);
    expect(JSON.parse(written('form.json'))).toMatchObject({ order: 'binary' });
  });
  it('is to be said where its name ends otherwise', () => {
    const r = opt([saxpy, '-o', join(folder.path, 'form.sass')]);
    expect([r.code, r.err]).toEqual([1, expect.stringContaining('a name that ends in .sass')]);
    expect(r.err).toContain('`orrery ptxas FILE.ptx -o FILE.cubin`');
    const several = opt([join(kernels, 'saxpy'), '-o', join(folder.path, 'all.ptx')]);
    expect([several.code, several.err]).toEqual([1, expect.stringMatching(/'\S+all\.ptx' names one file/)]);
    for (const name of ['form.sass', 'all.ptx']) expect(existsSync(join(folder.path, name))).toBe(false);
  });
  it('is machine code where it is a cubin, as asm makes it', () => {
    const [file, same] = ['form.cubin', 'same.cubin'].map((n) => join(folder.path, n));
    const r = opt([saxpy, '-o', file, '--check', 'auto']);
    expect([r.code, r.err]).toEqual([0, expect.stringMatching(/equal[\s\S]*written: \S+form\.cubin/)]);
    expect(orrery(['asm', saxpy, '-o', same]).code).toBe(0);
    expect(readFileSync(file).equals(readFileSync(same))).toBe(true);
    for (const [more, message] of [
      [['--retarget', '--sm', 'sm_90'], '--retarget does not go with a cubin'],
      [['--check', 'prove'], '--check prove does not go with a cubin'],
      [['--max-loss', '5'], '--max-loss does not go with a cubin'],
      [[saxpy], 'several files'],
    ] as const) {
      const refused = opt([saxpy, '-o', join(folder.path, 'no.cubin'), '--emit', 'cubin', ...more]);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(message)]);
      expect(existsSync(join(folder.path, 'no.cubin'))).toBe(false);
    }
  });
  it('is what --emit says, whatever its name', () => {
    expect(written('ori.txt', '--emit', 'ori')).toMatch(/^\.program /m);
    expect(written('ori.ptx', '--emit', 'ori')).toMatch(/^\.program /m);
  });
  it('is not asked for by the name of a folder', () => {
    mkdirSync(join(folder.path, 'there.ptx'));
    expect(opt([join(kernels, 'saxpy'), '-o', join(folder.path, 'there.ptx'), '-q']).code).toBe(0);
    expect(Object.keys(filesIn(join(folder.path, 'there.ptx')))).toContain('saxpy.sm_90.ori');
  });
  it('is to be said where there are other results', () => {
    const r = opt([saxpy, '--why', '47', '-o', join(folder.path, 'form')]);
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/^error: nothing is written to \S+form\n {2}--emit says what/),
    ]);
  });
});

describe('the account', () => {
  it('is of the file that was given, whatever Ori text names', () => {
    const ori = folder.write('middle.ori', opt([saxpy, '-q']).out);
    expect(opt([ori, '--emit', 'none']).err.split(' ')[0]).toBe(ori);
  });
  it('is left out with -q, and what was asked for by name is not', () => {
    expect(opt([saxpy, '-q', '--emit', 'none']).err).toBe('');
    const lines = /^(?:(?:note|passed|missed) +\w+ saxpy.*\n)+$/;
    const remarks = opt([saxpy, '-q', '--remarks', '--emit', 'none']).err;
    expect(remarks).toMatch(lines);
    expect(opt([saxpy, '--remarks', '--emit', 'none']).err).toContain(remarks);
    const several = opt([saxpy, saxpy.replace('90', '80'), '-q', '--remarks', '--emit', 'none']).err;
    expect(several.startsWith(`${saxpy}\n${remarks}`)).toBe(true);
    expect(opt([saxpy, '-q', '--stat', '--emit', 'none']).err).toMatch(/^phase +time +share/);
  });
  it('names recipes by the paths that other files are named by', () => {
    mkdirSync(join(folder.path, 'recipes'));
    folder.write('recipes/first.yaml', 'kind: recipe\nphases: { disable: [GvnCse] }\n');
    folder.write('recipes/second.yaml', 'kind: recipe\nextends: [first.yaml]\n');
    const args = ['--recipe', 'recipes/second.yaml', '--stat', '--emit', 'none'];
    const r = opt([join(root, saxpy), ...args], '', folder.path);
    expect([r.code, r.err]).toEqual([
      0,
      expect.stringMatching(/ 1 {2}disabled by recipe 'recipes\/first\.yaml'$/m),
    ]);
  });
});

describe('opt of standard input', () => {
  const text = readFileSync(join(root, saxpy), 'utf8');
  it('gives on standard output what the file gives', () => {
    const ori = opt([saxpy, '-q']).out;
    expect(opt(['-', '-o', '-', '-q'], text)).toEqual({
      code: 0,
      out: ori.replace(saxpy, '<stdin>'),
      err: '',
    });
    const again = opt(['-', '-q'], ori);
    expect([again.code, again.out.includes('.entry saxpy')]).toEqual([0, true]);
  });
  it('is meant by - where a folder has that name', () => {
    mkdirSync(join(folder.path, 'dash', '-'), { recursive: true });
    const r = opt(['-', '--emit', 'none', '-q'], text, join(folder.path, 'dash'));
    expect(r).toEqual({ code: 0, out: '', err: '' });
  });
  it('shows the place of a mistake', () => {
    const r = opt(['-'], text.replace('ld.param.u64', 'ld.parma.u64'));
    expect([r.code, r.err]).toEqual([1, expect.stringMatching(/<stdin>:\d+:\d+\n +\d+ \| .*ld\.parma\.u64/)]);
  });
});
