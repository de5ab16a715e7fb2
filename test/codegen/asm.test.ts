import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readCubin } from '../../src/cubin/read.ts';
import { ptxLines } from '../../src/cubin/source-lines.ts';
import { listCode } from '../../src/machine/listing.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import { command } from '../support/commands.ts';
import { passNames } from '../support/specs.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-asm-'));
afterAll(() => rmSync(dir, { recursive: true }));
const orrery = (...args: string[]) =>
  command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1' },
  });
const kernel = (name: string, sm = 'sm_80'): string => join('test', 'kernels', name, `${name}.${sm}.ptx`);

describe.concurrent('orrery asm', () => {
  test('writes a cubin that disasm prints and verify calls equal', async () => {
    const file = join(dir, 'saxpy.cubin');
    const made = await orrery('asm', kernel('saxpy'), '--check', '-o', file, '--json');
    expect([made.code, made.err]).toEqual([0, '']);
    const { sm, kernels } = JSON.parse(made.out) as { sm: string; kernels: Record<string, unknown>[] };
    expect(sm).toBe('sm_80');
    expect(kernels.map((k) => [k.kernel, k.spills, k.check])).toEqual([
      ['saxpy', 0, 'equal'],
      ['saxpyStride', 0, 'equal'],
    ]);
    const shown = await orrery('disasm', file);
    expect(shown.out).toContain('24 bytes of parameters at c[0x0][0x160]');
    expect(shown.out).toMatch(/STG\.E desc\[UR4\]/);
    const verified = await orrery('verify', kernel('saxpy'), file);
    expect([verified.code, verified.out.match(/equal/g)?.length]).toEqual([0, 2]);
    const listed = await orrery('asm', kernel('saxpy'));
    expect(listed.out.trim()).toBe(shown.out.slice(shown.out.indexOf('\n\n')).trim());
  });

  test('names the lines that instructions come from', async () => {
    const file = join(dir, 'lines.cubin');
    expect((await orrery('asm', kernel('saxpy'), '-o', file)).code).toBe(0);
    const elf = readCubin(new Uint8Array(readFileSync(file)));
    const text = readFileSync(join(ROOT, kernel('saxpy')), 'utf8').split('\n');
    const stores = listCode(elf, (await loadMachine('sm_80'))!).flatMap(({ code }) =>
      code.filter((row) => row.instruction?.form.row === 'STG'),
    );
    expect(stores.length).toBe(2);
    for (const { places } of stores) {
      const { ptx, source } = places;
      expect(text[ptx!.line - 1]).toMatch(/^\s*st\.global\.f32/);
      const before = text.slice(0, ptx!.line).findLast((l) => /^\s*\.loc/.test(l))!;
      expect([source!.file, source!.line]).toEqual(['saxpy.cu', Number(before.trim().split(/\s+/)[2])]);
      expect(ptxLines(elf)[ptx!.line - 1]).toBe(text[ptx!.line - 1].trim());
    }
  });

  test.each(['0', '1', '5'])('lets lanes meet again, and warns of nothing, at level %s', async (level) => {
    const r = await orrery('asm', kernel('stencil'), '-O', level);
    expect([r.code, r.err]).toEqual([0, expect.not.stringContaining('warning')]);
    expect(r.out.match(/BSSY/g)?.length).toBeGreaterThan(0);
  });

  test('writes no file called -, and says nothing where that is asked for', async () => {
    const none = await orrery('asm', kernel('saxpy'), '-o', '-');
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('not written to standard output')]);
    const file = join(dir, 'quiet.cubin');
    expect(await orrery('opt', kernel('saxpy'), '-o', file, '-q')).toMatchObject({
      code: 0,
      out: '',
      err: '',
    });
  });

  test('says which line has no machine code, and writes nothing', async () => {
    const file = join(dir, 'none.cubin');
    const r = await orrery('asm', kernel('saturate-video'), '-o', file);
    expect(r.code).toBe(1);
    expect(r.err).toMatch(/error: \w+: VSIMD4\.ABSDIFF: it has no machine code yet/);
    expect(r.err).toMatch(/saturate-video\.sm_80\.ptx:\d+:2/);
    expect(r.err).toContain('orrery opt --ptxas');
    expect(() => readFileSync(file)).toThrow();
  });

  test('says for which targets code is written, and keeps its input', async () => {
    const other = await orrery('asm', kernel('saxpy', 'sm_75'));
    expect([other.code, other.err]).toEqual([
      1,
      expect.stringContaining('machine code is not written for sm_75 yet'),
    ]);
    expect(other.err).toContain('sm_80, sm_86');
    const own = join(dir, 'own.ptx');
    writeFileSync(own, readFileSync(join(ROOT, kernel('saxpy'))));
    const same = await orrery('asm', own, '-o', own);
    expect([same.code, same.err]).toEqual([1, expect.stringContaining('it is an input')]);
    const none = await orrery('asm', join('test', 'kernels', 'saxpy', 'launch.yaml'));
    expect([none.code, none.err.includes('not written for')]).toEqual([1, false]);
  });

  test('limits registers as the kernel states them', async () => {
    const text = readFileSync(join(ROOT, kernel('sha256')), 'utf8');
    const file = join(dir, 'sha256.ptx');
    writeFileSync(file, text.replace(/^\)\n\{/m, ')\n.maxntid 1024, 1, 1\n.maxnreg 20\n{'));
    const r = await orrery('asm', file, '--json', '-o', join(dir, 'sha256.cubin'), '--check');
    const [own] = (JSON.parse(r.out) as { kernels: { registers: number; spills: number; check: string }[] })
      .kernels;
    expect(own.registers).toBeLessThanOrEqual(20);
    expect(own.spills).toBeGreaterThan(0);
    expect(own.check).toBe('equal');
  });
});

describe.concurrent('the drop-in for ptxas', () => {
  const dropIn = (...args: string[]) =>
    command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'ptxas', '--orrery-own', ...args], {
      cwd: ROOT,
      env: { ...process.env, NO_COLOR: '1', ORRERY_PTXAS: join(dir, 'no-ptxas') },
    });

  test('makes the machine code itself where that is asked for, without ptxas', async () => {
    const [file, same] = ['drop-in.cubin', 'asm.cubin'].map((n) => join(dir, n));
    // As nvcc calls it.
    const as = ['-arch=sm_80', '-m64', '-v', '-O', '3'];
    const r = await dropIn(...as, kernel('saxpy'), '-o', file, '--orrery-verify');
    expect(r.code).toBe(0);
    expect(r.err).toMatch(
      /^orrery info {4}: Compiling entry function 'saxpy' for 'sm_80'\norrery info {4}: Used \d+ registers, used 0 barriers, 0 bytes/m,
    );
    expect((await orrery('asm', kernel('saxpy'), '-o', same)).code).toBe(0);
    expect(readFileSync(file).equals(readFileSync(same))).toBe(true);
    const bare = join(dir, 'bare.ptx');
    const text = readFileSync(join(ROOT, kernel('saxpy')), 'utf8');
    writeFileSync(bare, text.replace(/^\s*\.(?:loc|file)\b.*$/gm, ''));
    for (const [more, has] of [
      [[], false],
      [['-lineinfo'], true],
    ] as const) {
      expect(await dropIn('-arch=sm_80', ...more, bare, '-o', file)).toMatchObject({ code: 0, err: '' });
      expect(readFileSync(file).includes('.nv_debug_line_sass')).toBe(has);
    }
  });

  test.each([
    [['-g', kernel('saxpy')], /the option -g is for ptxas alone/],
    [['--maxrregcount=32', kernel('saxpy')], /the option --maxrregcount is for ptxas alone/],
    [['-m', '32', kernel('saxpy')], /'32' as the value of -m is for ptxas alone/],
    [['-fmad=maybe', kernel('saxpy')], /'maybe' as the value of -fmad is for ptxas alone/],
    [['-lineinfo=false', kernel('saxpy')], /'false' as the value of -lineinfo is for ptxas alone/],
    [['-O9', kernel('saxpy')], /'9' as the value of -O is for ptxas alone/],
    [['-arch=foosm_80', kernel('saxpy')], /'foosm_80' as the value of -arch is for ptxas alone/],
    [['-arch=sm_80', kernel('saxpy', 'sm_90')], /PTX for sm_90 and -arch sm_80 are for ptxas alone/],
    [['-optf', 'nosuch', kernel('saxpy')], /the option -optf is for ptxas alone/],
    [[kernel('saxpy'), kernel('sha256')], /code is made here of one file of PTX at a time/],
    [[kernel('saturate-video')], /line \d+: \w+: VSIMD4\.ABSDIFF: it has no machine code yet/],
  ])('says why ptxas has to make it: %j', async (args, why) => {
    const file = join(dir, 'none-of-ours.cubin');
    const r = await dropIn('-arch=sm_80', ...args, '-o', file);
    expect(r.err).toMatch(new RegExp(`warning: \\S+: ptxas makes the machine code: ${why.source}`));
    // There is none.
    expect([r.code, r.err]).toEqual([1, expect.stringContaining('cannot be run')]);
    const strict = await dropIn('-arch=sm_80', '--orrery-strict', ...args, '-o', file);
    expect([strict.code, strict.err]).toEqual([1, expect.stringMatching(/has no machine code from here/)]);
    expect(strict.err).toMatch(why);
    expect(() => readFileSync(file)).toThrow();
  });

  test('takes what ptxas makes where it does, and leaves an old output where none is made', async () => {
    const [fake, file] = ['fake-ptxas', 'by-ptxas.cubin'].map((n) => join(dir, n));
    writeFileSync(fake, '#!/bin/sh\nfor a; do last=$a; done\necho made > "$last"\n', { mode: 0o755 });
    writeFileSync(file, 'old');
    const with_ = (ptxas: string, ...args: string[]) =>
      command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'ptxas', '--orrery-own', ...args], {
        cwd: ROOT,
        env: { ...process.env, NO_COLOR: '1', ORRERY_PTXAS: ptxas },
      });
    const as = ['-arch=sm_80', '--maxrregcount=32', kernel('saxpy'), '-o', file];
    expect((await with_(join(dir, 'no-ptxas'), ...as)).code).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe('old');
    const made = await with_(fake, ...as);
    expect([made.code, made.err.match(/ptxas makes the machine code/g)?.length]).toEqual([0, 1]);
    expect(readFileSync(file, 'utf8')).toBe('made\n');
    // An output without a name is none.
    expect((await with_(join(dir, 'no-ptxas'), '-arch=sm_80', kernel('saxpy'), '-o')).code).toBe(1);
  });

  test('compares its code with no other', async () => {
    const r = await dropIn('--orrery-max-loss=5', kernel('saxpy'));
    expect([r.code, r.err]).toEqual([1, expect.stringContaining('--orrery-max-loss compares code of ptxas')]);
  });
});

describe('check of selection', () => {
  const wrong = (rows: string): Promise<string> => {
    const file = join(dir, `wrong-${rows.length}.yaml`);
    writeFileSync(file, `kind: selection\ntitle: wrong\nrows:\n${rows}`);
    return checkFile(file, passNames).then((list) => list.map((d) => `${d.line} ${d.message}`).join('; '));
  };
  test('finds names that are not there, and instructions that are not understood', async () => {
    expect(await wrong('  IADD4: [{ emit: EXIT }]\n')).toContain("there is no opcode 'IADD4'");
    expect(await wrong("  IADD3: [{ when: { size: B16 }, emit: 'IADD3 d=$d a=$a b=$b c=$c' }]\n")).toContain(
      "'size' is never 'B16'",
    );
    expect(await wrong("  IADD3: [{ when: { sise: B32 }, emit: 'IADD3 d=$d' }]\n")).toContain(
      "it has no modifier and no operand 'sise'",
    );
    expect(await wrong("  IADD3: [{ emit: 'IADD4 d=$d' }]\n")).toContain(
      'no target has an instruction IADD4',
    );
    expect(await wrong("  IADD3: [{ emit: 'IADD3.{szie} d=$d' }]\n")).toContain("it has no modifier 'szie'");
    expect(await wrong("  IADD3: [{ emit: 'IADD3 d=$e' }]\n")).toContain("it has no operand 'e'");
    expect(await wrong("  IADD3: [{ emit: 'IADD3 $d' }]\n")).toContain("'$d' is not an operand, as in d=$d");
    expect(await wrong("  IADD3: [{ emit: 'IADD3 d=d+1' }]\n")).toContain(
      'is no value of a machine instruction',
    );
  });
});
