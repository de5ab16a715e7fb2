// Writes a static site: the explorer with the gallery, all of it run by the browser. Any host of files can serve it.
// Usage: npm run site [-- FOLDER]; the folder is dist/site unless it is named.
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
// Hosts of files send no policy with a page, so that it stands in the page. The worker then has none, and needs none: what it may
// load is what its site may.
writeFileSync(join(out, 'index.html'), withPolicy(webFile('index.html'), PAGE_POLICY));
const start: Start = { files: [], request: {}, documents: {}, live: false };
writeFileSync(join(out, 'start.json'), JSON.stringify(start));
const rows = galleryRows();
writeFileSync(join(out, 'gallery', 'index.json'), JSON.stringify(rows));
for (const { name } of rows)
  writeFileSync(join(out, 'gallery', `${name}.json`), JSON.stringify(galleryEntry(name)));
process.stdout.write(`${out}: the explorer with ${rows.length} kernels\n`);
