import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { anchorOf, writePages } from '../../src/tools/site-pages.ts';
import { excerpt, found, type Section } from '../../src/web/pages/search.ts';
import { testFolder } from '../support/specs.ts';

/* The documentation as pages: links, what may stand in a page, and the search. */

const FOLDERS = ['docs', 'pipelines', 'knobs', 'schemas', 'src', 'test'];

/** Writes the pages of a repository with the given files. @returns the folder of the pages */
function pagesOf(files: Readonly<Record<string, string>>): string {
  const { path: dir } = testFolder();
  for (const folder of [...FOLDERS, 'out']) mkdirSync(join(dir, folder));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text);
  writePages(dir, join(dir, 'out'));
  return join(dir, 'out');
}

const read = (dir: string, file: string): string => readFileSync(join(dir, file), 'utf8');

describe('pages of the documentation', () => {
  it('are all there, with a search that finds a section', () => {
    const { path: dir } = testFolder();
    const { pages, copied } = writePages(ROOT, dir);
    expect(pages).toBeGreaterThan(60);
    expect(copied).toBeGreaterThan(10);
    expect(read(dir, 'docs/add-an-opcode.html')).toContain('<h2 id="3-its-lowering">3. Its lowering</h2>');
    const sections = JSON.parse(read(dir, 'search.json')) as Section[];
    expect(found(sections, 'LOWERING form of the ptx').map((s) => s.at)).toContain(
      'pipelines/isa/index.html#lowering',
    );
    for (const { at } of sections) {
      const [file, anchor] = at.split('#');
      expect(existsSync(join(dir, file)), at).toBe(true);
      if (anchor !== undefined) expect(read(dir, file), at).toContain(`id="${anchor}"`);
    }
  });

  it('link to each other, to files that are copied, and to other sites', () => {
    const out = pagesOf({
      'README.md':
        '# Top\n[guide](docs/guide.md#a-part), [data](docs/data.yaml), [folder](docs), [web](https://example.org)\n',
      'docs/guide.md': '# Guide\n## A part\n[back](../README.md) [here](#a-part)\n',
      'docs/data.yaml': 'a: 1\n',
    });
    const top = read(out, 'index.html');
    for (const href of ['docs/guide.html#a-part', 'docs/data.yaml', 'https://example.org'])
      expect(top).toContain(`href="${href}"`);
    expect(top).toContain(', folder, ');
    expect(read(out, 'docs/data.yaml')).toBe('a: 1\n');
    const guide = read(out, 'docs/guide.html');
    expect(guide).toContain('href="../index.html"');
    expect(guide).toContain('href="guide.html#a-part"');
    expect(guide).toContain('data-root="../"');
  });

  it('name every link that leads nowhere', () => {
    const files = {
      'README.md': '# Top\n[a](docs/no.md) [b](#nowhere) [c](../outside.md) [d](docs/x.md#no)\n',
      'docs/x.md': '# X\n',
    };
    expect(() => pagesOf(files)).toThrow(
      /nowhere:\nREADME.md: docs\/no.md\nREADME.md: #nowhere\nREADME.md: ..\/outside.md\nREADME.md: docs\/x.md#no$/,
    );
  });

  it('show HTML as text, and have a policy without inline scripts', () => {
    const out = pagesOf({
      'README.md': '# A <b>title</b> & more\n<script>alert(1)</script>\n\n`<img>` <!-- hidden -->\n',
    });
    const page = read(out, 'index.html');
    expect(page).not.toContain('<script>');
    expect(page).not.toContain('<b>');
    expect(page).toContain('&lt;script&gt;');
    expect(page).toContain("script-src 'self'");
    expect(page).not.toContain('hidden');
  });
});

describe('the search', () => {
  const section = (heading: string, text: string): Section => ({ at: heading, page: 'Page', heading, text });
  const sections = [
    section('Knobs', 'What a budget does.'),
    section('Budgets', 'What a knob does.'),
    section('Rules', ''),
  ];

  it('wants every word, in any case, and puts headings first', () => {
    expect(found(sections, 'KNOB budget').map((s) => s.heading)).toEqual(['Knobs', 'Budgets']);
    expect(found(sections, 'budget').map((s) => s.heading)).toEqual(['Budgets', 'Knobs']);
    expect(found(sections, 'budget nothing')).toEqual([]);
    expect(found(sections, '  ')).toEqual([]);
  });

  it('shows the text around the first word that occurs', () => {
    const text = `${'a '.repeat(200)}needle ${'b '.repeat(200)}`;
    expect(excerpt(text, 'needle')).toMatch(/^… (a )+needle (b )+ ?…$/);
    expect(excerpt('short', 'none')).toBe('short');
  });

  it('uses the anchors of GitHub', () => {
    expect(anchorOf('`opt`: what it *does*, 1st')).toBe('opt-what-it-does-1st');
  });
});
