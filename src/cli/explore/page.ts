import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../../spec/node-cache.ts';
import type { Recording } from '../../web/recording.ts';
import { failWith } from '../terminal/ui.ts';

/** The built page of the explorer. */
export const WEB = join(ROOT, 'dist', 'web');

/** Content security policy of the page: it may load only itself. The icon is embedded in the page as a data URL. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'";

/**
 * Content security policy of the worker. Rules, lanes and constant folding are compiled to functions, which needs 'unsafe-eval'; only the
 * worker has it, which has no document and can send requests only to its origin.
 */
export const WORKER_POLICY = "default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src 'self'";

/** A file of the page; if the page was not built, the command ends with one error. */
export function webFile(name: string): string {
  const file = join(WEB, name);
  if (!existsSync(file)) failWith('the page of the explorer is not built', '`npm run build` builds it');
  return readFileSync(file, 'utf8');
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page with a policy in its head, for hosts that send no headers. */
export const withPolicy = (html: string, policy: string): string =>
  html.replace(
    '<meta charset="utf-8" />',
    `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`,
  );

/**
 * A single file that shows a recording: page, styles, script and data, with a policy that names the styles and the script by their hashes
 * and lets nothing else run or load.
 */
export function recordingPage(recording: Recording): string {
  const data = gzipSync(JSON.stringify(recording), { level: 9 }).toString('base64');
  const style = webFile('index.css');
  // The text of a script ends at the first text that looks like its end tag.
  const script = webFile('index.js').replaceAll('</script', '<\\/script');
  const policy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
  return withPolicy(webFile('index.html'), policy)
    .replace(/ *<script [^>]*><\/script>\n/, '')
    .replace(/ *<link rel="stylesheet"[^>]*>\n/, () => `    <style>${style}</style>\n`)
    .replace(
      '</body>',
      () =>
        `  <script type="application/octet-stream" id="recording">${data}</script>\n    <script type="module">${script}</script>\n  </body>`,
    );
}
