import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import type { Section } from '../web/pages/search.ts';

/*
 * The documentation as pages: every Markdown file of the repository becomes one, with the same address but `.html`; a `README.md` becomes
 * `index.html`. Files that pages link to are copied beside them. A link that leads nowhere is an error.
 */

/** Folders with Markdown files; the first are the files of the repository's own folder. */
const FOLDERS = ['', 'docs', 'pipelines', 'knobs', 'schemas', 'src', 'test'];

/** Groups of the menu by the folders that they begin with. */
const GROUPS: readonly (readonly [title: string, holds: (file: string) => boolean])[] = [
  ['Start', (f) => !f.includes('/')],
  ['Guides', (f) => f.startsWith('docs/')],
  ['Pipelines', (f) => /^(pipelines|knobs|schemas)\//.test(f)],
  ['Source', (f) => f.startsWith('src/')],
  ['Tests', (f) => f.startsWith('test/')],
];

/** Address of the page of a Markdown file. */
const pageOf = (file: string): string =>
  file.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');

/** The anchor of a heading, as GitHub makes it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

/** Markdown files below the folders, sorted. */
function markdownIn(root: string): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: folder !== '', encoding: 'utf8' })
      .filter((f) => f.endsWith('.md'))
      .map((f) => posix.join(folder, f.replaceAll('\\', '/'))),
  ).sort();
}

/** The plain text of inline tokens. */
const plainText = (tokens: readonly Token[]): string =>
  tokens
    .map((t) =>
      'tokens' in t && t.tokens !== undefined ? plainText(t.tokens) : 'text' in t ? String(t.text) : '',
    )
    .join('');

/** A page: its file, its title, its tokens and the anchors of its headings. */
interface Page {
  readonly file: string;
  readonly title: string;
  readonly tokens: readonly Token[];
  readonly anchors: ReadonlySet<string>;
}

function readPage(root: string, file: string): Page {
  const tokens = new Marked({ gfm: true }).lexer(readFileSync(join(root, file), 'utf8'));
  const headings = tokens.filter((t): t is Tokens.Heading => t.type === 'heading');
  const texts = headings.map((h) => plainText(h.tokens));
  return { file, title: texts[0] ?? basename(file, '.md'), tokens, anchors: new Set(texts.map(anchorOf)) };
}

/** Sections of a page for the search: each heading with the text below it. */
function sectionsOf({ file, title, tokens }: Page): Section[] {
  const out: { at: string; page: string; heading: string; text: string }[] = [];
  for (const t of tokens) {
    if (t.type === 'heading') {
      const heading = plainText((t as Tokens.Heading).tokens);
      out.push({ at: `${pageOf(file)}#${anchorOf(heading)}`, page: title, heading, text: '' });
    } else if (t.type !== 'space' && t.type !== 'html') {
      if (out.length === 0) out.push({ at: pageOf(file), page: title, heading: title, text: '' });
      out[out.length - 1].text += `${t.raw
        .replace(/[`*|#]+/g, ' ')
        .replace(/\]\([^)]*\)/g, ' ')
        .replace(/\s+/g, ' ')} `;
    }
  }
  return out;
}

/** What the pages were made of. */
export interface Pages {
  readonly pages: number;
  readonly copied: number;
}

/**
 * Writes the documentation of a repository.
 *
 * @param root the repository's folder
 * @param out a folder that exists; `page.js` and `pages.css` have to be written there by the caller
 * @throws Error with every link that leads nowhere
 */
export function writePages(root: string, out: string): Pages {
  const pages = new Map(markdownIn(root).map((file) => [file, readPage(root, file)]));
  const broken: string[] = [];
  const copies = new Set<string>();
  /** The address of a link in a page, relative to that page. */
  const address = (from: string, href: string): string => {
    if (/^[a-z]+:/i.test(href)) return href;
    const [path, anchor] = href.split('#', 2);
    let to = path === '' ? from : posix.join(posix.dirname(from), decodeURI(path));
    if (!pages.has(to) && pages.has(posix.join(to, 'README.md'))) to = posix.join(to, 'README.md');
    const page = pages.get(to);
    const isFile = existsSync(join(root, to)) && !to.startsWith('..');
    if (!isFile || (anchor !== undefined && page !== undefined && !page.anchors.has(anchor)))
      broken.push(`${from}: ${href}`);
    if (page === undefined && isFile) {
      // A folder without a page of its own is shown by its name alone.
      if (statSync(join(root, to)).isDirectory()) return '';
      copies.add(to);
    }
    const target = page === undefined ? to : pageOf(to);
    const relative = posix.relative(posix.dirname(pageOf(from)), target);
    return `${relative === '' ? basename(target) : relative}${anchor === undefined ? '' : `#${anchor}`}`;
  };
  for (const page of pages.values()) {
    const html = bodyOf(page, (href) => address(page.file, href));
    const to = join(out, pageOf(page.file));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, document(page, html, [...pages.values()]));
  }
  if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`);
  for (const file of copies) {
    mkdirSync(join(out, dirname(file)), { recursive: true });
    copyFileSync(join(root, file), join(out, file));
  }
  writeFileSync(join(out, 'search.json'), JSON.stringify([...pages.values()].flatMap(sectionsOf)));
  return { pages: pages.size, copied: copies.size };
}

/** The HTML of a page's text. HTML in Markdown is shown as text: only comments and images are left out or kept. */
function bodyOf(page: Page, address: (href: string) => string): string {
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const id = anchorOf(plainText(tokens));
        return `<h${depth} id="${escaped(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const to = address(href);
        return to === '' ? text : `<a href="${escaped(to)}">${text}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escaped(address(href))}" alt="${escaped(text)}">`;
      },
      html({ text }) {
        return text.startsWith('<!--') ? '' : escaped(text);
      },
    },
  });
  return marked
    .parser([...page.tokens])
    .replaceAll('<table>', '<div class="table"><table>')
    .replaceAll('</table>', '</table></div>');
}

/** Content security policy of the pages: their own script, style and search index, and nothing else. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'";

function document(page: Page, body: string, all: readonly Page[]): string {
  const here = pageOf(page.file);
  const root = '../'.repeat(here.split('/').length - 1);
  const menu = GROUPS.map(([title, holds]) => {
    const items = all
      .filter((p) => holds(p.file))
      .map((p) => {
        const current = p === page ? ' aria-current="page"' : '';
        return `<li><a href="${root}${escaped(pageOf(p.file))}"${current}>${escaped(p.title)}</a></li>`;
      });
    return items.length === 0 ? '' : `<h2>${title}</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
  });
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${POLICY}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(page.title)} · Orrery</title>
    <link rel="stylesheet" href="${root}pages.css" />
    <script type="module" src="${root}page.js"></script>
  </head>
  <body data-root="${root}">
    <nav aria-label="Documentation">
      <input id="search" type="search" placeholder="Search" aria-label="Search the documentation" />
      <ul id="found" aria-live="polite"></ul>
      ${menu.filter((m) => m !== '').join('\n')}
    </nav>
    <main>
${body}
    </main>
  </body>
</html>
`;
}
