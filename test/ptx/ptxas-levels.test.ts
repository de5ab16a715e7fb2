import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { COLUMNS, levelTable } from '../../src/tools/ptxas-levels.ts';

it('the table has each kernel, and geometric means of ours over the original of what is known of both', () => {
  const none = COLUMNS.slice(2).map(() => null);
  const text = levelTable([
    { kernel: 'a: a', pairs: [[4, 2], [8, 8], ...none] },
    { kernel: 'b: b', pairs: [[4, 8], null, ...none] },
  ]);
  expect(text.split('\n').slice(2)).toEqual([
    `| geometric mean | **1.000** of 2 | **1.000** of 1 | ${none.map(() => '').join(' | ')} |`,
    `| a: a | 4 → 2 | 8 | ${none.map(() => '').join(' | ')} |`,
    `| b: b | 4 → 8 |  | ${none.map(() => '').join(' | ')} |`,
  ]);
});

it('the page has a line for each column and kernel', () => {
  const page = readFileSync(new URL('../../src/ptx/emit/LEVELS.md', import.meta.url), 'utf8');
  expect(page).toContain(`| kernel | ${COLUMNS.join(' | ')} |`);
  expect(page.split('\n').filter((l) => /^\| [\w-]+: /.test(l)).length).toBeGreaterThan(100);
});
