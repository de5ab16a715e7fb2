// Writes a static site: the explorer with the gallery, which runs entirely in the browser, and below `docs` the documentation as pages
// with a search. Any static file host can serve it.
// Usage: npm run site [-- FOLDER]; the default folder is dist/site.
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { galleryEntry, galleryRows } from '../cli/explore/gallery.ts';
import { PAGE_POLICY, WEB, webFile, withPolicy } from '../cli/explore/page.ts';
import { ROOT } from '../spec/node-cache.ts';
import type { Start } from '../web/protocol.ts';
import { writePages } from './site-pages.ts';

const out = resolve(process.argv[2] ?? join(ROOT, 'dist', 'site'));
rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'gallery'), { recursive: true });
cpSync(WEB, out, { recursive: true });
// Static hosts send no content security policy, so it is embedded in the page. The worker then has none, and needs none: it may load what
// its site may.
writeFileSync(join(out, 'index.html'), withPolicy(webFile('index.html'), PAGE_POLICY));
const start: Start = { files: [], request: {}, documents: {}, live: false, ptxas: false };
writeFileSync(join(out, 'start.json'), JSON.stringify(start));
const rows = galleryRows();
writeFileSync(join(out, 'gallery', 'index.json'), JSON.stringify(rows));
for (const { name } of rows)
  writeFileSync(join(out, 'gallery', `${name}.json`), JSON.stringify(galleryEntry(name)));
const docs = join(out, 'docs');
const pages = join(ROOT, 'src', 'web', 'pages');
mkdirSync(docs);
copyFileSync(join(pages, 'pages.css'), join(docs, 'pages.css'));
const script = await rolldown({ input: join(pages, 'page.ts') });
await script.write({ file: join(docs, 'page.js'), format: 'es', minify: true });
await script.close();
const written = writePages(ROOT, docs);
process.stdout.write(`${out}: the explorer with ${rows.length} kernels, and ${written.pages} pages\n`);
