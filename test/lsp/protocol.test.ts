import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import type { CodeLens } from 'vscode-languageserver';
import { ROOT } from '../../src/spec/node-cache.ts';
import { type Client, inProcess, ownProcess } from '../support/lsp-client.ts';

/* The life of the language server, as editors start it: `orrery lsp`, a process of its own. */

const dir = mkdtempSync(join(tmpdir(), 'orrery-lsp-test-'));
afterAll(() => rmSync(dir, { recursive: true }));
const kernels = join(dir, 'kernels');
cpSync(join(ROOT, 'test/kernels/saxpy'), join(kernels, 'saxpy'), {
  recursive: true,
  filter: (f) => !/sm_(75|80)/.test(f),
});

const env = { XDG_CACHE_HOME: join(dir, 'cache') };
const uriOf = (name: string): string => pathToFileURL(join(dir, name)).href;
const ORDER =
  'kind: order\nextends: binary\nedits:\n  - { drop: GvnCse, why: to see }\n  - { drop: OriStrengthReduce, why: to see }\n';
const message = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** The lenses of a text, as soon as nothing more is to come. */
async function lensesOf(c: Client, uri: string): Promise<string[]> {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    const lenses = await c.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    const titles = lenses.map((l) => l.command?.title ?? '');
    if (titles.length > 0 && titles.every((t) => !/so far/.test(t))) return titles;
    await c.something();
  }
  throw new Error('there were no lenses');
}

describe.concurrent('a process for each client', () => {
  test('two clients see each its own text of one file; nothing is written', { timeout: 60_000 }, async () => {
    const file = join(dir, 'shared.yaml');
    writeFileSync(file, ORDER);
    const before = statSync(file).mtimeMs;
    const [a, b] = [ownProcess(env), ownProcess(env)];
    const uri = uriOf('shared.yaml');
    await Promise.all([a.initialize({}, dir), b.initialize({}, dir)]);
    a.open(uri, 'yaml', ORDER.replace('GvnCse', 'Gvn'));
    b.open(uri, 'yaml', ORDER.replace('OriStrengthReduce', 'OriStrengthReducee'));
    const [ofA] = await a.until(uri, (d) => d.some((x) => x.severity === 1));
    const [ofB] = await b.until(uri, (d) => d.some((x) => x.severity === 1));
    expect([ofA.message, ofB.message]).toEqual([
      expect.stringMatching(/'Gvn'/),
      expect.stringMatching(/'OriStrengthReducee'/),
    ]);
    await Promise.all([a.shutdown(), b.shutdown()]);
    expect(await Promise.all([a.ended, b.ended])).toEqual([0, 0]);
    expect([readFileSync(file, 'utf8'), statSync(file).mtimeMs]).toEqual([ORDER, before]);
    // Texts that were typed are not in the cache of specs either.
    const cached = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((f) =>
      /specs.*json$/.test(f),
    );
    for (const f of cached)
      expect(readFileSync(join(dir, f), 'utf8')).not.toMatch(/OriStrengthReducee"|"Gvn"/);
  });

  test('what is no message, or asks for what there is not, is survived', { timeout: 60_000 }, async () => {
    const c = ownProcess(env);
    await c.initialize({}, dir);
    c.raw.write(message('{"jsonrpc":"2.0","method":'));
    c.raw.write(message('{"jsonrpc":"2.0","method":"textDocument/didOpen"}'));
    c.raw.write(
      message('{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"x"}}}'),
    );
    await expect(c.request('no/such/method', {})).rejects.toThrow(/Unhandled method/);
    const uri = uriOf('a.ptx');
    c.open(uri, 'ptx', '.version 8.0\n.target sm_80\n');
    const far = { textDocument: { uri }, position: { line: 1e9, character: -5 } };
    expect(await c.request('textDocument/hover', far)).toBeNull();
    expect(await c.request('textDocument/completion', { ...far, textDocument: { uri: 'none:x' } })).toEqual(
      [],
    );
    c.edit(uri, [0, 0], [500, 0], '%%%');
    expect((await c.until(uri, (d) => d.length > 0)).length).toBeGreaterThan(0);
    await c.shutdown();
    expect(await c.ended).toBe(0);
  });

  test('lenses say what an order does to the kernels of the setting; a key cancels them', {
    timeout: 60_000,
  }, async () => {
    const c = ownProcess(env);
    await c.initialize({ orrery: { kernels: ['kernels'] } }, dir);
    const uri = uriOf('order.yaml');
    c.open(uri, 'yaml', ORDER);
    expect(await lensesOf(c, uri)).toEqual([
      expect.stringMatching(/^changes (none|\d+) of 2 kernels/),
      expect.stringMatching(/^changes (none|\d+) of 2 kernels/),
      expect.stringMatching(/^changes (none|\d+) of 2 kernels/),
    ]);
    const set = (settings: unknown) =>
      c.connection.sendNotification('workspace/didChangeConfiguration', { settings });
    const lenses = () => c.request<CodeLens[]>('textDocument/codeLens', { textDocument: { uri } });
    await set({ orrery: { kernels: ['kernels'], lenses: false } });
    expect(await lenses()).toEqual([]);
    await set({ orrery: { kernels: ['kernels'], lenses: true } });
    for (const nothing of [null, {}, { orrery: {} }, { other: 1 }]) await set(nothing);
    expect(await lenses()).toHaveLength(3);
    c.replace(uri, 'kind: order\nextends: binary\nedits:\n  - { drop: OriLoopUnrolling, why: to see }\n');
    expect(await c.request('textDocument/codeLens', { textDocument: { uri } })).toEqual([]);
    expect(await lensesOf(c, uri)).toHaveLength(1);
    await c.shutdown();
    expect(await c.ended).toBe(0);
  });

  test('an exit without shutdown is a failure, and so is an end of the input', {
    timeout: 60_000,
  }, async () => {
    const c = ownProcess(env);
    await c.initialize({}, dir);
    await c.connection.sendNotification('exit');
    expect(await c.ended).toBe(1);
    const d = ownProcess(env);
    await d.initialize({}, dir);
    d.raw.end();
    expect(await d.ended).toBe(1);
  });
});

describe('requests that nobody waits for', () => {
  test('are not answered with work', async () => {
    const c = inProcess();
    await c.initialize();
    const uri = uriOf('cancelled.yaml');
    c.open(uri, 'yaml', ORDER);
    const source = { id: 4711, method: 'textDocument/references' };
    const params = {
      textDocument: { uri },
      position: { line: 3, character: 14 },
      context: { includeDeclaration: true },
    };
    const answer = new Promise<unknown>((done) => {
      const listen = (data: Buffer): void => {
        const found = /\{"jsonrpc":"2\.0","id":4711[^\n]*?\}\}?/.exec(data.toString())?.[0];
        if (found !== undefined) done(JSON.parse(found));
      };
      c.heard(listen);
    });
    c.raw.write(
      message(JSON.stringify({ jsonrpc: '2.0', ...source, params })) +
        message(JSON.stringify({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: 4711 } })),
    );
    expect(await answer).toMatchObject({ id: 4711, error: { code: -32800 } });
    await c.shutdown();
  });
});
