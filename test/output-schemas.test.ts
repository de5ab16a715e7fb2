import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';

/* What commands print for scripts has a published form, and so has what they print when they fail. */
const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-output-'));
afterAll(() => rmSync(dir, { recursive: true }));
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

function orrery(...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

function faults(schema: string, text: string) {
  const validate = ajv.compile(
    JSON.parse(readFileSync(join(root, 'schemas', 'output', `${schema}.schema.json`), 'utf8')) as object,
  );
  validate(JSON.parse(text));
  ajv.removeSchema();
  return validate.errors ?? [];
}

const saxpy = 'test/kernels/saxpy/saxpy.sm_90.ptx';
const bad = join(dir, 'bad.ptx');
writeFileSync(bad, '.version 9.0\n.target sm_90\n.visible .entry k() { foo; ret; }\n');

describe('what is printed has its form', () => {
  it.each([
    ['check', ['check', saxpy, 'pipelines/orders/seed.yaml', '--json'], 0],
    ['check', ['check', bad, '--json'], 1],
    ['trace', ['trace', saxpy, '--json'], 0],
    ['phases', ['phases', '--json'], 0],
    ['why', ['opt', saxpy, '--why', 'saxpy.cu:6', '--json'], 0],
    ['plan', ['plan', '--json'], 0],
    ['rules-list', ['rules', 'list', '--json'], 0],
    ['rules-explain', ['rules', 'explain', saxpy, '--json'], 0],
    ['rules-coverage', ['rules', 'coverage', 'test/kernels/saxpy', '--json'], 0],
    ['rules-prove', ['rules', 'prove', '--group', 'shifts', '--json'], 0],
    ['run', ['run', 'test/kernels/saxpy/launch.yaml', '--counters', '--json'], 0],
  ])('%s: %s', (schema, args, code) => {
    const r = orrery(...args);
    expect([r.code, faults(schema, r.out)]).toEqual([code, []]);
  });
});

describe('a command that fails', () => {
  const wrong = join(dir, 'nothing.ptx');
  it.each([
    [['opt', wrong, '--stat', '--json']],
    [['plan', '--order', 'nowhere', '--json']],
    [['phases', '--sm', 'sm_1', '--json']],
    [['measure', wrong, '--json']],
    [['rules', 'explain', wrong, '--json']],
    [['rules', 'coverage', join(dir, 'none'), '--json']],
    [['rules', 'prove', '--rule', 'nothing', '--json']],
    [['run', join(dir, 'none.yaml'), '--json']],
    [['bisect', wrong, '--json']],
    [['reduce', wrong, '--json']],
    [['repro', join(dir, 'none.json'), '--json']],
    [['ab', 'base', 'X=1', '--kernels', wrong, '--json']],
    [['plan', '--nonsense', '--json']],
  ])('%s says so in JSON', (args) => {
    const r = orrery(...args);
    expect([r.code, faults('errors', r.out)]).toEqual([1, []]);
    expect((JSON.parse(r.out) as { errors: unknown[] }).errors.length).toBeGreaterThan(0);
  });
  it('and each form is named as its file is', () => {
    for (const f of readdirSync(join(root, 'schemas', 'output')))
      expect(JSON.parse(readFileSync(join(root, 'schemas', 'output', f), 'utf8'))).toMatchObject({
        $id: `output/${f}`,
      });
  });
});
