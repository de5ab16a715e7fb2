import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import {
  createConnection,
  createProtocolConnection,
  type Diagnostic,
  LSPErrorCodes,
  type ProtocolConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { checkOne } from '../../src/cli/check/check.ts';
import { Server } from '../../src/lsp/server/serve.ts';
import { LocalBackground } from '../../src/lsp/work/background.ts';
import { ROOT } from '../../src/spec/node-cache.ts';

/** A client of the language server: what an editor does, without the editor. */
export class Client {
  readonly connection: ProtocolConnection;
  /** What goes to the server, for messages that no client would send. */
  readonly raw: NodeJS.WritableStream;
  /** The diagnostics that were published last, by URI. */
  readonly diagnostics = new Map<string, readonly Diagnostic[]>();
  readonly ended: Promise<number | null>;
  private readonly versions = new Map<string, number>();
  private waiting: (() => void)[] = [];

  constructor(from: NodeJS.ReadableStream, to: NodeJS.WritableStream, ended: Promise<number | null>) {
    this.raw = to;
    this.from = from;
    this.ended = ended;
    this.connection = createProtocolConnection(new StreamMessageReader(from), new StreamMessageWriter(to));
    this.connection.onNotification(
      'textDocument/publishDiagnostics',
      (p: { uri: string; diagnostics: Diagnostic[] }) => {
        this.diagnostics.set(p.uri, p.diagnostics);
        this.published++;
        this.news();
      },
    );
    this.connection.onRequest('workspace/codeLens/refresh', () => {
      this.refreshed++;
      this.news();
      return null;
    });
    this.connection.onRequest('workspace/inlayHint/refresh', () => null);
    this.connection.onError(() => {});
    this.connection.listen();
  }

  refreshed = 0;
  published = 0;
  private readonly from: NodeJS.ReadableStream;

  /** Calls a function with what the server writes. */
  heard(listen: (data: Buffer) => void): void {
    this.from.on('data', listen);
  }

  private news(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const w of waiting) w();
  }

  request<R>(method: string, params: unknown): Promise<R> {
    return this.connection.sendRequest(method, params) as Promise<R>;
  }

  async initialize(options: unknown = {}, folder: string = ROOT): Promise<Record<string, unknown>> {
    const answer = await this.request<{ capabilities: Record<string, unknown> }>('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: {
        workspace: {
          codeLens: { refreshSupport: true },
          inlayHint: { refreshSupport: true },
          workspaceFolders: true,
        },
      },
      initializationOptions: options,
    });
    await this.connection.sendNotification('initialized', {});
    return answer.capabilities;
  }

  open(uri: string, languageId: string, text: string): void {
    this.versions.set(uri, 1);
    void this.connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri, languageId, version: 1, text },
    });
  }

  close(uri: string): void {
    this.versions.delete(uri);
    void this.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
  }

  closeAll(): void {
    for (const uri of this.versions.keys()) this.close(uri);
  }

  /** Replaces a part of a text: from and to as line and character. */
  edit(uri: string, from: readonly [number, number], to: readonly [number, number], text: string): void {
    const version = this.versions.get(uri)! + 1;
    this.versions.set(uri, version);
    const at = ([line, character]: readonly [number, number]) => ({ line, character });
    void this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version },
      contentChanges: [{ range: { start: at(from), end: at(to) }, text }],
    });
  }

  replace(uri: string, text: string): void {
    const version = this.versions.get(uri)! + 1;
    this.versions.set(uri, version);
    void this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri, version },
      contentChanges: [{ text }],
    });
  }

  /** Waits until the diagnostics of a text are as expected. @throws Error with the last ones if they never are */
  async until(uri: string, expected: (d: readonly Diagnostic[]) => boolean): Promise<readonly Diagnostic[]> {
    const end = Date.now() + 20_000;
    for (;;) {
      const now = this.diagnostics.get(uri);
      if (now !== undefined && expected(now)) return now;
      if (Date.now() > end)
        throw new Error(`not as expected: ${JSON.stringify(now?.map((d) => d.message) ?? 'none')}`);
      await this.something();
    }
  }

  /** Waits for a message that changes what is known, or for a while. */
  something(): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, 500);
      this.waiting.push(() => {
        clearTimeout(timer);
        done();
      });
    });
  }

  async shutdown(): Promise<void> {
    await this.request('shutdown', null);
    await this.connection.sendNotification('exit');
  }
}

/** A client that never says `exit`: the library ends the process of the server at that, here that of the tests. */
class LocalClient extends Client {
  override async shutdown(): Promise<void> {
    await this.request('shutdown', null);
  }
}

/** A server in this process, and a client of it. */
export function inProcess(verdictOf: (hash: string) => string | undefined = () => undefined): Client {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  const connection = createConnection(new StreamMessageReader(toServer), new StreamMessageWriter(toClient));
  const background = new LocalBackground(checkOne);
  new Server(connection, {
    version: '0',
    texts: TextDocument,
    checks: background,
    measures: background,
    verdictOf,
    command: (name, args) => Promise.resolve({ message: `${name} ${JSON.stringify(args)}` }),
    refusal: (message) => new ResponseError(LSPErrorCodes.RequestFailed, message),
    cancelled: () => new ResponseError(LSPErrorCodes.RequestCancelled, 'cancelled'),
    exit: () => {},
  }).listen();
  return new LocalClient(toClient, toServer, new Promise(() => {}));
}

/** A server as an editor starts it, and a client of it. */
export function ownProcess(env: NodeJS.ProcessEnv = {}): Client {
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'lsp', '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const ended = new Promise<number | null>((done) => child.on('close', done));
  return new Client(child.stdout, child.stdin, ended);
}
