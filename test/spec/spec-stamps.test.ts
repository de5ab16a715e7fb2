import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadSpec, ROOT, shippedFiles } from '../../src/spec/node.ts';
import { fromBuild, sha256, stampOf, untouched } from '../../src/spec/node-cache.ts';
import { testFolder } from '../support/specs.ts';

it('a file that was written to has another stamp, though its size and time are as before', () => {
  const file = testFolder().write('x.yaml', 'kind: order\n');
  const { atime, mtime } = statSync(file);
  const before = stampOf(file);
  expect(stampOf(file)).toBe(before);
  writeFileSync(file, 'kind: orde2\n');
  utimesSync(file, atime, mtime);
  expect(statSync(file).size).toBe(12);
  expect(stampOf(file)).not.toBe(before);
});

it('unchanged shipped specs are what their texts say', async () => {
  for (const path of shippedFiles()) {
    const text = readFileSync(path, 'utf8');
    const known = untouched(path);
    if (known !== undefined) expect(known).toBe(fromBuild(sha256(text)));
    const spec = await loadSpec(path);
    expect([path, { ...spec }.text]).toEqual([path, text]);
  }
});

it('only files of the project are known by their stamp', () => {
  const file = testFolder().write(
    'phases.yaml',
    readFileSync(join(ROOT, 'pipelines', 'phases.yaml'), 'utf8'),
  );
  expect(untouched(file)).toBeUndefined();
});
