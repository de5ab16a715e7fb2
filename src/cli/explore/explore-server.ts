import { randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { reason } from '../../spec/node-files.ts';
import type { MachineCode } from '../../web/machine-code.ts';
import type { Start } from '../../web/protocol.ts';
import { failWith } from '../terminal/ui.ts';
import { galleryEntry, galleryRows } from './gallery.ts';
import { PAGE_POLICY, WEB, WORKER_POLICY } from './page.ts';
import { ptxasCode } from './ptxas-code.ts';

/** The explorer on a port of this machine. */
export interface Served {
  /** The address with the token, without which no request is answered: a local port is open to all users of the machine. */
  readonly address: string;
  /** Notifies open pages that the text of a file has changed. */
  readonly changed: (file: string, text: string) => void;
  readonly close: () => void;
}

/** The only address that the server listens on: other machines cannot reach it. */
const HOST = '127.0.0.1';

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'index.css': 'text/css; charset=utf-8',
  'index.js': 'text/javascript; charset=utf-8',
  'worker.js': 'text/javascript; charset=utf-8',
  'specs.json': 'application/json',
  'machine.json': 'application/json',
};

/**
 * Maximum number of connections, and the time in milliseconds in which one must send its request: any user of the machine can open them,
 * and each takes one of the files that this process may have open.
 */
const MOST_CONNECTIONS = 128;
const PATIENCE = 10_000;

/** Bytes of a token. */
const TOKEN = 24;

/** Compares two texts in a time that does not reveal where they differ. */
const isSame = (a: string, b: string): boolean => {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
};

/** The start data of a page as JSON; null if it is longer than a string can be. */
function startText(start: Start): string | null {
  try {
    return JSON.stringify(start);
  } catch (e) {
    if (e instanceof RangeError) return null;
    throw e;
  }
}

/** Serves the page. A port in use, or start data that are too long, end the command with one error. */
export async function serve(start: Start, port: number): Promise<Served> {
  const pages = new Set<ServerResponse>();
  // The token is part of the path, so that every request of the page has it; a cookie would be sent to other ports of this host too.
  const token = randomBytes(TOKEN).toString('base64url');
  let now = start;
  let text =
    startText(start) ??
    failWith('the files, with their launches, are more than the explorer can show', 'name fewer of them');
  const answer = (q: IncomingMessage, r: ServerResponse): void => {
    // A page of another site whose host name is made to resolve to this address must not read files: host names other than ours are
    // rejected.
    const host = (q.headers.host ?? '').replace(/:\d+$/, '');
    if (host !== HOST && host !== 'localhost') return end(r, 403, 'text/plain', 'only for this machine\n');
    if (q.method !== 'GET' && q.method !== 'HEAD') return end(r, 405, 'text/plain', 'only GET\n');
    const [, given = '', rest] = /^\/([^/]*)\/(.*)$/s.exec((q.url ?? '').replace(/[?#].*/s, '')) ?? [];
    if (!isSame(given, token))
      return end(r, 403, 'text/plain', 'only for whoever has the address that orrery explore has printed\n');
    const path = decoded(rest) || 'index.html';
    if (path === 'events') {
      r.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      r.write(': here\n\n');
      pages.add(r);
      r.on('close', () => pages.delete(r));
      return;
    }
    if (path === 'start.json') return end(r, 200, 'application/json', text);
    if (path === 'gallery/index.json') return json(r, galleryRows());
    const kernel = /^gallery\/([\w-]+)\.json$/.exec(path)?.[1];
    if (kernel !== undefined) {
      const entry = galleryEntry(kernel);
      return entry === null ? end(r, 404, 'text/plain', 'no such kernel\n') : json(r, entry);
    }
    const code = now.ptxas ? ptxasAsked(path, now) : null;
    if (code !== null)
      return void code
        .then((c) => json(r, c))
        .catch((e: Error) => end(r, 500, 'text/plain', `${e.message}\n`));
    if (!Object.hasOwn(TYPES, path) || !existsSync(join(WEB, path)))
      return end(r, 404, 'text/plain', 'there is no such page\n');
    r.setHeader(
      'content-security-policy',
      path === 'worker.js' ? WORKER_POLICY : `${PAGE_POLICY}; frame-ancestors 'none'`,
    );
    end(r, 200, TYPES[path], readFileSync(join(WEB, path)));
  };
  const server = createServer({ headersTimeout: PATIENCE, connectionsCheckingInterval: PATIENCE }, (q, r) => {
    try {
      answer(q, r);
    } catch (e) {
      // A file of the page or of the gallery; the page goes on with what it has.
      end(r, 500, 'text/plain', `it cannot be read: ${reason(e)}\n`);
    }
  });
  server.maxConnections = MOST_CONNECTIONS;
  try {
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(port, HOST, done);
    });
  } catch (e) {
    const { code, message } = e as NodeJS.ErrnoException;
    failWith(
      code === 'EADDRINUSE' ? `port ${port} is taken` : `cannot listen on port ${port}: ${message}`,
      'without --port a free one is found',
    );
  }
  return {
    address: `http://${HOST}:${(server.address() as AddressInfo).port}/${token}/`,
    changed: (file, changed) => {
      const next = {
        ...now,
        files: now.files.map((f) => (f.file === file ? { ...f, text: changed } : f)),
      };
      const shown = startText(next);
      // The open pages then keep the text that they have.
      if (shown === null) return;
      [now, text] = [next, shown];
      for (const page of pages) page.write(`data: ${JSON.stringify({ file, text: changed })}\n\n`);
    },
    close: () => {
      for (const page of pages) page.end();
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * Machine code by ptxas of a file that the server shows: `ptxas/file/0/sm_90/3.json` or `ptxas/gallery/saxpy/sm_90/3.json`. Texts of a page
 * are not compiled: nothing is taken from it but such a name.
 */
function ptxasAsked(path: string, { files }: Start): Promise<MachineCode> | null {
  const [, kind, name, sm, level] =
    /^ptxas\/(file|gallery)\/([\w-]+)\/(sm_\d+[af]?)\/([0-4])\.json$/.exec(path) ?? [];
  const text =
    kind === 'file' ? files[Number(name)]?.text : kind === 'gallery' ? galleryEntry(name)?.text : '';
  return text === undefined || text === '' ? null : ptxasCode(text, sm, Number(level));
}

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
};

const json = (r: ServerResponse, value: unknown): void =>
  end(r, 200, 'application/json', JSON.stringify(value));

function end(r: ServerResponse, status: number, type: string, body: string | Buffer): void {
  r.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  });
  r.end(body);
}
