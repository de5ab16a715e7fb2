import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';

/* Every source that YAML, comments and pages cite is listed in docs/sources.md. */

const PAGE = readFileSync(join(ROOT, 'docs/sources.md'), 'utf8');

/** Files of the folders by path, without kernels and what is generated from them. */
function filesOf(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((f) => f.isFile() && /\.(ts|tsx|md|yaml|json|ori)$/.test(f.name))
      .map((f) => relative(ROOT, join(f.parentPath, f.name))),
  );
}

const texts = filesOf('src', 'pipelines', 'knobs', 'schemas', 'test/ori').map(
  (file) =>
    [
      file,
      readFileSync(join(ROOT, file), 'utf8').replace(/\r?\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' '),
    ] as const,
);

/** The citations in texts, each with the first file that contains it. */
function cited(pattern: RegExp): Map<string, string> {
  const found = new Map<string, string>();
  for (const [file, text] of texts)
    for (const m of text.matchAll(pattern)) if (!found.has(m[1])) found.set(m[1], file);
  return found;
}

test('every seed and every page of the wiki has a row', () => {
  const seeds = cited(/\b(seeds? \d{3})\b/g);
  // A word behind 'reference' that is no verb: in `source` fields and parentheses keys stand alone.
  const pages = cited(
    /(?:source: ['"]?(?:[^'"]*[;,] )?|\(|; )(reference [a-z]+(?:-[a-z]+)*)(?= [0-9D(]|[,;.)'" ])/g,
  );
  expect(seeds.size).toBeGreaterThan(4);
  expect(pages.size).toBeGreaterThan(12);
  const missing = [...seeds, ...pages].filter(
    ([key]) => !PAGE.includes(`\`${key.replace('seeds', 'seed')}\``),
  );
  expect(missing).toEqual([]);
});

test('every topic that is cited by its number is named', () => {
  const topics = cited(/\b(reference [a-z]+(?:-[a-z]+)* [1-9])\b/g);
  expect(topics.size).toBeGreaterThan(10);
  const missing = [...topics.keys()].filter((topic) => {
    const [, key, number] = /^(.*) (\d)$/.exec(topic)!;
    const row = PAGE.split('\n').find((line) => line.startsWith(`| \`${key}\` |`)) ?? '';
    return !new RegExp(`[|,] ${number} `).test(row);
  });
  expect(missing).toEqual([]);
});

test('every paper that is cited with its title has a row', () => {
  const titles = cited(/["“]([A-Z][^"“”{}=;|]{12,120})["”](?=[^"]{0,40}\b(?:19[5-9]\d|20[0-2]\d)\b)/g);
  expect(titles.size).toBeGreaterThan(30);
  const missing = [...titles].filter(
    ([title, file]) => !file.endsWith('.json') && !PAGE.toLowerCase().includes(title.toLowerCase()),
  );
  expect(missing).toEqual([]);
});
