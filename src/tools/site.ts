// Writes a static site: the explorer with the gallery, which runs entirely in the browser. Any static file host can serve it.
// Usage: npm run site [-- FOLDER]; the default folder is dist/site.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { galleryEntry, galleryRows } from '../cli/explore/gallery.ts';
import { PAGE_POLICY, WEB, webFile, withPolicy } from '../cli/explore/page.ts';
import { ROOT } from '../spec/node-cache.ts';
import type { Start } from '../web/protocol.ts';

const out = resolve(process.argv[2] ?? join(ROOT, 'dist', 'site'));
rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'gallery'), { recursive: true });
cpSync(WEB, out, { recursive: true });
// Static hosts send no content security policy, so it is embedded in the page. The worker then has none, and needs none: it may load what
// its site may.
writeFileSync(join(out, 'index.html'), withPolicy(webFile('index.html'), PAGE_POLICY));
const start: Start = { files: [], request: {}, documents: {}, live: false };
writeFileSync(join(out, 'start.json'), JSON.stringify(start));
const rows = galleryRows();
writeFileSync(join(out, 'gallery', 'index.json'), JSON.stringify(rows));
for (const { name } of rows)
  writeFileSync(join(out, 'gallery', `${name}.json`), JSON.stringify(galleryEntry(name)));
process.stdout.write(`${out}: the explorer with ${rows.length} kernels\n`);
