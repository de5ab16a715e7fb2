import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { command } from '../support/commands.ts';

const BIN = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));
const orrery = (...args: string[]) => command(process.execPath, [BIN, ...args], { cwd: dir });

/* Instructions that PTX does not have, from a user's file: the example of pipelines/isa/README.md. */
const dir = mkdtempSync(join(tmpdir(), 'orrery-own-'));
afterAll(() => rmSync(dir, { recursive: true }));

const readme = readFileSync(fileURLToPath(new URL('../../pipelines/isa/README.md', import.meta.url)), 'utf8');
const EXAMPLE = readme
  .slice(readme.indexOf('    # yaml-language-server'), readme.indexOf('Passes then move, merge'))
  .replace(/^ {4}/gm, '');

const kernel = (body: readonly string[]): string =>
  [
    '.version 8.0\n.target sm_80\n.address_size 64',
    '.visible .entry k(.param .u64 o, .param .u64 scene)\n{',
    '.reg .b32 %r<9>;\n.reg .b64 %rd<9>;',
    'ld.param.u64 %rd1, [o];\nld.param.u64 %rd2, [scene];\nmov.u32 %r1, %tid.x;',
    ...body,
    'st.global.u32 [%rd1], %r4;\nret;\n}\n',
  ].join('\n');
const RAYS = kernel([
  'add.s32 %r2, %r1, 3;\nadd.s32 %r3, %r1, 3;\ntrace_ray %rd2, %r2, %r3;',
  'ray_hit.closest.b32 %r4, [%rd2+8];\nray_hit.any.b32 %r5, [%rd2];',
]);
const file = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};
const ptx = file('rays.ptx', RAYS);
const isa = file('mine.yaml', EXAMPLE);

describe('instructions that a file of the user declares', () => {
  it('are known where it is named, and unknown where it is not, with the option that names it', async () => {
    expect((await orrery('check', ptx, '--isa', isa)).code).toBe(0);
    const without = await orrery('check', ptx);
    expect(without.code).toBe(1);
    expect(without.err).toMatch(/unknown instruction 'trace_ray'[\s\S]*--isa mine\.yaml/);
  });

  it('are written back; passes do with them what their opcode allows', async () => {
    const r = await orrery('opt', ptx, '--isa', isa, '--emit', 'ptx', '--lowest-version', '--check', 'auto');
    expect(r.code).toBe(0);
    expect(r.out).toMatch(/^\.version 7\.0$/m);
    // Equal operands become one register.
    expect(r.out).toMatch(/trace_ray %rd\d+, (%r\d+), \1;/);
    expect(r.out).toMatch(/ray_hit\.closest\.b32 %r\d+, \[%rd\d+\+8\];/);
    // A load whose result nobody needs goes.
    expect(r.out).not.toMatch(/ray_hit\.any/);
    expect(r.err).toMatch(/equal: 1 kernel/);
  });

  it('are what the files of their users make of them', async () => {
    const writes = file(
      'writes.yaml',
      EXAMPLE.replace('FOREIGN_LOAD.GLOBAL', 'FOREIGN_MEMORY\n    results: 1'),
    );
    const r = await orrery('opt', ptx, '--isa', writes, '--emit', 'ptx');
    expect(r.out).toMatch(/ray_hit\.any/);
  });

  it('may be called as a shipped file is', async () => {
    mkdirSync(join(dir, 'own'), { recursive: true });
    const same = file('own/foreign.yaml', EXAMPLE);
    expect((await orrery('opt', ptx, '--isa', same, '--stat')).code).toBe(0);
    expect((await orrery('check', same)).code).toBe(0);
  });

  it('are in experiments, comparisons and recordings', async () => {
    const ab = await orrery(
      'ab',
      'base',
      'disable:GvnCse',
      '--kernels',
      ptx,
      '--isa',
      isa,
      '--repeat',
      '0',
      '--no-ptxas',
    );
    expect(ab.err).toBe('');
    expect(ab.out).toMatch(/results equal/);
    const sweep = file(
      'e.yaml',
      "kind: experiment\nbase: { isa: [mine.yaml] }\nkernels: [rays.ptx]\narms: ['disable:GvnCse']\n",
    );
    expect((await orrery('sweep', sweep)).out).toMatch(/^2 arms/m);
    const recorded = await orrery('trace', ptx, '--isa', isa, '--json');
    expect(recorded.out).toContain('FOREIGN_MEMORY');
  });

  it('need an opcode that carries PTX', async () => {
    const wrong = file('wrong.yaml', EXAMPLE.replace('FOREIGN_MEMORY', 'FOREIGN_MEMROY'));
    for (const words of [
      ['check', wrong],
      ['opt', ptx, '--isa', wrong],
    ]) {
      const r = await orrery(...words);
      expect(r.code).toBe(1);
      expect(r.err).toMatch(
        /there is no opcode FOREIGN_MEMROY\s+--> .*wrong\.yaml:6:9[\s\S]*did you mean 'FOREIGN_MEMORY'/,
      );
    }
  });
});
