import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, extname, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Path of the browser for tests: `CHROMIUM`, or one on the PATH; undefined if there is none. */
export const browserPath: string | undefined =
  process.env['CHROMIUM'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));

if (browserPath === undefined)
  console.warn('Tests of the explorer in a browser are skipped: install chromium, or name one in CHROMIUM.');

/** Memory that processes of a browser share, in bytes; containers have 64 MB of it, with which pages break. */
const sharedMemory = (): number => {
  if (!existsSync('/dev/shm')) return 0;
  const { bavail, bsize } = statfsSync('/dev/shm');
  return bavail * bsize;
};

/** Sandboxes of browsers need privileges that build machines do not grant. Shared memory in files costs a seventh more CPU time. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath,
    args: ['--no-sandbox', ...(sharedMemory() < 2 ** 30 ? ['--disable-dev-shm-usage'] : [])],
    // The first start after installation reads 300 MB while other tests run.
    timeout: 100_000,
  });

/** Opens a page that records everything that must not happen: errors, failed loads, requests to other hosts. */
export interface Watched {
  readonly page: Page;
  readonly wrongs: string[];
}

export async function watchedPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  // Generous for busy machines: a wait ends as soon as its condition holds, so a long limit costs a passing test nothing.
  page.setDefaultTimeout(30_000);
  const wrongs: string[] = [];
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') wrongs.push(`console: ${m.text()}`);
  });
  page.on('pageerror', (e) => wrongs.push(`error: ${e.message}`));
  page.on('request', (r) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:|blob:)/.test(r.url())) wrongs.push(`request: ${r.url()}`);
  });
  return { page, wrongs };
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/** A plain file server, like any host of a static site. */
export async function hostOf(
  folder: string,
): Promise<{ readonly address: string; readonly close: () => void }> {
  const server = createServer((q, r) => {
    const path = join(folder, (q.url ?? '/').replace(/[?#].*/, '').replace(/\/$/, '/index.html'));
    if (!path.startsWith(folder) || !existsSync(path)) return r.writeHead(404).end();
    r.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' }).end(readFileSync(path));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
