import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', 'kernels');
const folders = readdirSync(root).filter((name) => existsSync(join(root, name, `${name}.cu`)));
const bytes: Record<string, number> = {
  s8: 1,
  u8: 1,
  s16: 2,
  u16: 2,
  f16: 2,
  bf16: 2,
  s32: 4,
  u32: 4,
  f32: 4,
  s64: 8,
  u64: 8,
  f64: 8,
};

interface Param {
  scalar?: string;
  value?: number;
  buffer?: string;
  length?: number;
  data?: string;
  fill?: string;
  expect?: string;
  bytes?: number;
}

/** The bytes of each parameter as the entry declares them in PTX. */
function parameterBytes(ptx: string, kernel: string): number[] {
  const start = ptx.indexOf(`.entry ${kernel}(`);
  const list = ptx.slice(start, ptx.indexOf(')', start));
  return [...list.matchAll(/\.param (?:\.align \d+ )?\.([a-z])(\d+)[^,\n]*?(?:\[(\d+)\])?(?=[,\n])/g)].map(
    ([, , bits, count]) => (Number(bits) / 8) * Number(count ?? 1),
  );
}

test('there are enough kernels, small enough', () => {
  expect(folders.length).toBeGreaterThanOrEqual(60);
  const sizes = folders.flatMap((f) =>
    readdirSync(join(root, f)).map((file) => statSync(join(root, f, file)).size),
  );
  expect(sizes.reduce((a, b) => a + b)).toBeLessThan(6 << 20);
});

test('the table lists every kernel', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  for (const name of folders) expect(readme).toContain(`| ${name} |`);
});

describe.each(folders)('%s', (name) => {
  const folder = join(root, name);
  const modules = readdirSync(folder).filter((file) => file.endsWith('.ptx'));
  const launches = readdirSync(folder).filter((file) => /^launch.*\.yaml$/.test(file));

  test('PTX for sm_90 at least, for every SM unless the source says what it needs, without absolute paths', () => {
    const needs = /^\/\/ needs sm_(\d+)/m.exec(readFileSync(join(folder, `${name}.cu`), 'utf8'));
    const expected = [75, 80, 90]
      .filter((sm) => sm >= Number(needs?.[1] ?? 0))
      .map((sm) => `${name}.sm_${sm}.ptx`);
    expect(modules.sort()).toEqual(expected);
    for (const module of modules) {
      const text = readFileSync(join(folder, module), 'utf8');
      expect(text).not.toMatch(/"[^"]*\/(home|tmp|work|root|usr)\//);
      expect(text).toContain(`.target ${/sm_\d+/.exec(module)?.[0]}`);
    }
  });

  test('launches agree with the entries and with their data', () => {
    expect(launches.length).toBeGreaterThan(0);
    for (const file of launches) {
      const text = readFileSync(join(folder, file), 'utf8');
      expect(text.startsWith('# yaml-language-server: $schema=../../../schemas/launch.schema.json\n')).toBe(
        true,
      );
      const launch = parse(text) as { kind: string; module: string; kernel: string; params: Param[] };
      expect(launch.kind).toBe('launch');
      expect(launch.params.some((p) => p.expect !== undefined)).toBe(true);
      for (const module of modules) {
        const declared = parameterBytes(readFileSync(join(folder, module), 'utf8'), launch.kernel);
        const given = launch.params.map((p) => (p.buffer ? 8 : p.scalar ? bytes[p.scalar] : p.bytes));
        expect(given, `${file} against ${module}`).toEqual(declared);
      }
      for (const p of launch.params) {
        const size = p.buffer ? (p.length ?? 0) * (bytes[p.buffer] ?? 0) : (p.bytes ?? 0);
        if (p.data) expect(statSync(join(folder, p.data)).size).toBe(size);
        if (p.expect) expect(statSync(join(folder, p.expect)).size).toBe(size);
        if (p.buffer) expect(p.data !== undefined || p.fill !== undefined).toBe(true);
      }
    }
  });

  test('something comes out: no expected buffer is as it went in', () => {
    for (const file of launches) {
      const { params } = parse(readFileSync(join(folder, file), 'utf8')) as { params: Param[] };
      const changed = params.filter((p) => {
        if (!p.expect) return false;
        const after = readFileSync(join(folder, p.expect));
        return p.data ? !after.equals(readFileSync(join(folder, p.data))) : after.some((b) => b !== 0);
      });
      expect(changed.length, file).toBeGreaterThan(0);
    }
  });
});
