import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';

/* What README.md says about ts-pattern, immer and rules. */
const section = /^## Where patterns are matched\n([\s\S]*?)^## /m.exec(
  readFileSync(join(ROOT, 'README.md'), 'utf8'),
)![1];
const [patterns, state] = section.split('State that is layered');
const linked = (text: string): string[] => [...text.matchAll(/\]\((src\/[^)]*\.ts)\)/g)].map((m) => m[1]);
const source = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const uses = (name: string) => (file: string) => source(file).includes(`from '${name}'`);

it('names files that match with ts-pattern', () => {
  expect(linked(patterns).length).toBeGreaterThan(3);
  expect(linked(patterns).filter((f) => !uses('ts-pattern')(f))).toEqual([]);
});

it('names files that edit state with immer', () => {
  const files = linked(state.split('Instructions are matched')[0]);
  expect(files.length).toBeGreaterThan(2);
  expect(files.filter((f) => !/\bproduce\(/.test(source(f)) || !/state\.ts'/.test(source(f)))).toEqual([]);
  expect(uses('immer')('src/spec/state.ts')).toBe(true);
});

it('no loop over instructions matches with ts-pattern', () => {
  const all = ['src/passes', 'src/analysis', 'src/ir', 'src/ssa', 'src/sim', 'src/engine'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((f) => f.endsWith('.ts'))
      .map((f) => join(folder, f)),
  );
  expect(all.filter(uses('ts-pattern'))).toEqual(['src/passes/flow/branch-opt.ts']);
});
