import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type {
  TextDocumentPositionParams as At,
  CodeAction,
  CodeActionParams,
  Connection,
  InitializeParams,
  InitializeResult,
  InlayHintParams,
  ReferenceParams,
  RenameParams,
  SemanticTokensRangeParams,
  TextDocumentIdentifier,
} from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { holdText } from '../../spec/node-held.ts';
import type { Specs } from '../../spec/specs.ts';
import { languageOf, pathOfUri } from '../document.ts';
import { INCREMENTAL, TOKEN_MODIFIERS, TOKEN_TYPES } from '../kinds.ts';
import type { Background } from '../work/background.ts';
import { Diagnoser } from './diagnose.ts';
import * as features from './features.ts';
import { COMMANDS, Lenses } from './lenses.ts';
import { DEFAULTS, type Settings, settingsOf } from './settings.ts';
import { type Open, opened, specsNow } from './texts.ts';

/** What the server needs from outside. */
export interface ServerHost {
  readonly version: string;
  /** The class of texts, from the package that is loaded when a server starts. */
  readonly texts: typeof TextDocument;
  /** Does checks; another one measures, so that no check waits for a measurement. */
  readonly checks: Background;
  readonly measures: Background;
  readonly verdictOf: features.VerdictOf;
  /** Runs a command of the client. @returns a message for the user, or null */
  readonly command: (
    name: string,
    args: readonly unknown[],
    about: { readonly path: string; readonly kernels: readonly string[]; readonly folder: string },
  ) => Promise<{ readonly message: string; readonly show?: string } | null>;
  /** An error that a client shows as it is: the request does not fit where it was made. */
  readonly refusal: (message: string) => Error;
  /** The answer to a request that the client has taken back. */
  readonly cancelled: () => Error;
  /** Called when the client says `exit`. @param clean whether it had said `shutdown` before */
  readonly exit: (clean: boolean) => void;
}

const CAPABILITIES: InitializeResult['capabilities'] = {
  positionEncoding: 'utf-16',
  textDocumentSync: { openClose: true, change: INCREMENTAL, save: false },
  completionProvider: { triggerCharacters: ['.', ':', '[', '{', ' ', '%'] },
  hoverProvider: true,
  definitionProvider: true,
  referencesProvider: true,
  documentHighlightProvider: true,
  documentSymbolProvider: true,
  foldingRangeProvider: true,
  renameProvider: { prepareProvider: true },
  codeActionProvider: { codeActionKinds: ['quickfix', 'refactor.rewrite'] },
  codeLensProvider: { resolveProvider: false },
  inlayHintProvider: true,
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
  executeCommandProvider: { commands: Object.values(COMMANDS) },
  semanticTokensProvider: {
    legend: { tokenTypes: [...TOKEN_TYPES], tokenModifiers: [...TOKEN_MODIFIERS] },
    full: true,
    range: true,
  },
};

/** The folder of an address; none if it is on another machine. */
function pathOfFolder(uri: string): string[] {
  try {
    return uri.startsWith('file:') ? [fileURLToPath(uri)] : [];
  } catch {
    return [];
  }
}

/** The language server for one client. */
export class Server {
  private readonly connection: Connection;
  private readonly host: ServerHost;
  private readonly open = new Map<string, Open>();
  private readonly diagnoser: Diagnoser;
  private readonly lenses: Lenses;
  private settings: Settings = DEFAULTS;
  /** The folders of the client, the first of which settings are relative to. */
  private folders: readonly string[] = [process.cwd()];
  private hasFolders = false;
  private refreshes = { lenses: false, hints: false, configuration: false, show: false, folders: false };
  private isShutDown = false;

  constructor(connection: Connection, host: ServerHost) {
    this.connection = connection;
    this.host = host;
    this.lenses = new Lenses(
      host.measures,
      () => this.settings,
      () => this.folders[0],
      () => this.refresh(),
    );
    this.diagnoser = new Diagnoser(connection, host.checks, (open) => void this.lenses.measure(open));
    this.life();
    this.texts();
    this.language();
    this.edits();
  }

  /** Starts to read messages. */
  listen(): void {
    this.connection.listen();
  }

  private life(): void {
    const { connection } = this;
    connection.onInitialize((p) => this.initialize(p));
    connection.onInitialized(() => {
      if (this.refreshes.folders) this.followFolders();
      void this.configure();
    });
    connection.onDidChangeConfiguration((p) => {
      if (this.refreshes.configuration) return void this.configure();
      this.set(p.settings);
    });
    connection.onShutdown(() => {
      this.isShutDown = true;
      this.end();
    });
    connection.onExit(() => {
      this.end();
      this.host.exit(this.isShutDown);
    });
  }

  private initialize({
    capabilities,
    rootUri,
    workspaceFolders,
    initializationOptions,
  }: InitializeParams): InitializeResult {
    const roots = workspaceFolders?.map((f) => f.uri) ?? (typeof rootUri === 'string' ? [rootUri] : []);
    const folders = roots.flatMap(pathOfFolder);
    this.hasFolders = folders.length > 0;
    if (this.hasFolders) this.folders = folders;
    const { workspace, window } = capabilities;
    this.refreshes = {
      lenses: workspace?.codeLens?.refreshSupport === true,
      hints: workspace?.inlayHint?.refreshSupport === true,
      configuration: workspace?.configuration === true,
      show: window?.showDocument?.support === true,
      folders: workspace?.workspaceFolders === true,
    };
    this.settings = settingsOf(initializationOptions) ?? DEFAULTS;
    // The first request finds them read.
    void specsNow();
    return {
      capabilities: CAPABILITIES,
      serverInfo: { name: 'orrery', version: this.host.version },
    };
  }

  /** Takes over folders that the client opens and closes. */
  private followFolders(): void {
    this.connection.workspace.onDidChangeWorkspaceFolders(({ added, removed }) => {
      const gone = new Set(removed.flatMap((f) => pathOfFolder(f.uri)));
      const kept = this.hasFolders ? this.folders.filter((f) => !gone.has(f)) : [];
      const folders = [...new Set([...kept, ...added.flatMap((f) => pathOfFolder(f.uri))])];
      // Settings are relative to one.
      if (folders.length === 0) return;
      this.folders = folders;
      this.hasFolders = true;
      this.refresh();
    });
  }

  /** Asks the client for its settings. */
  private async configure(): Promise<void> {
    if (!this.refreshes.configuration) return;
    const sent: unknown = await this.connection.workspace
      .getConfiguration({ section: 'orrery' })
      .catch(() => null);
    this.set(sent);
  }

  private set(sent: unknown): void {
    const settings = settingsOf(sent);
    if (settings === null) return;
    this.settings = settings;
    this.refresh();
    for (const open of this.open.values())
      if (open.full === open.text.version) void this.lenses.measure(open);
  }

  /** Stops everything that runs. */
  private end(): void {
    for (const open of this.open.values()) {
      open.closed = true;
      if (open.timer !== null) clearTimeout(open.timer);
      holdText(open.path, null);
    }
    this.open.clear();
    this.host.checks.close();
    this.host.measures.close();
  }

  private refresh(): void {
    if (this.isShutDown) return;
    const { lenses, hints } = this.refreshes;
    // Clients that do not know the request ask again with the next change.
    if (lenses) void this.connection.sendRequest('workspace/codeLens/refresh').catch(() => {});
    if (hints) void this.connection.languages.inlayHint.refresh().catch(() => {});
  }

  private hold(open: Open, text: string | null): void {
    holdText(open.path, text);
    this.host.checks.hold(open.path, text);
    this.host.measures.hold(open.path, text);
  }

  private texts(): void {
    const { connection, host } = this;
    connection.onDidOpenTextDocument(({ textDocument: { uri, languageId, version, text } }) => {
      const language = languageOf(uri, languageId);
      if (language === null) return;
      const path = pathOfUri(uri, language);
      const open = opened({ uri, path, language, text: host.texts.create(uri, languageId, version, text) });
      this.open.set(uri, open);
      this.hold(open, text);
      this.diagnoser.changed(open);
      this.recheck(open);
    });
    connection.onDidChangeTextDocument(({ textDocument, contentChanges }) => {
      const open = this.open.get(textDocument.uri);
      if (open === undefined) return;
      for (const c of contentChanges) this.diagnoser.moved(open, 'range' in c ? c.range : undefined, c.text);
      open.text = host.texts.update(open.text, contentChanges, textDocument.version);
      this.hold(open, open.text.getText());
      this.lenses.changed(open);
      this.diagnoser.changed(open);
      this.recheck(open);
    });
    connection.onDidCloseTextDocument(({ textDocument }) => {
      const open = this.open.get(textDocument.uri);
      if (open === undefined) return;
      this.open.delete(textDocument.uri);
      this.diagnoser.closed(open);
      this.lenses.closed(open);
      this.hold(open, null);
      this.recheck(open);
    });
  }

  /** Checks the texts that may depend on another, whose text is now a different one. */
  private recheck(open: Open): void {
    for (const other of this.open.values())
      if (other !== open && this.depends(other, open)) this.diagnoser.changed(other);
  }

  /** Whether a text may name another: specs in one folder, or that name its file. */
  private depends(one: Open, other: Open): boolean {
    if (one.language !== 'spec') return false;
    if (other.language === 'spec') return dirname(one.path) === dirname(other.path);
    return one.text.getText().includes(other.path.replace(/^.*[/\\]/, ''));
  }

  /**
   * Answers a request about a text: with `otherwise` if the text is not open.
   */
  private answer<P extends { readonly textDocument: TextDocumentIdentifier }, R>(
    otherwise: R,
    make: (open: Open, params: P, specs: Specs) => R | Promise<R>,
  ): (params: P, token: { readonly isCancellationRequested: boolean }) => Promise<R> {
    return async (params, token) => {
      // Keys and cancellations that came with the request are read first.
      await new Promise((next) => setImmediate(next));
      const open = this.open.get(params.textDocument.uri);
      if (token.isCancellationRequested) throw this.host.cancelled();
      if (open === undefined) return otherwise;
      const specs = await specsNow();
      if (specs === null) return otherwise;
      return make(open, params, specs);
    };
  }

  private language(): void {
    const { connection, host, lenses } = this;
    connection.onCompletion(this.answer([], (o, p: At, s) => features.complete(o, p.position, s)));
    connection.onHover(this.answer(null, (o, p: At, s) => features.hover(o, p.position, s, host.verdictOf)));
    connection.onDefinition(this.answer([], (o, p: At, s) => features.definition(o, p.position, s)));
    connection.onReferences(
      this.answer([], (o, p: ReferenceParams, s) =>
        features.references(o, p.position, s, p.context.includeDeclaration),
      ),
    );
    connection.onDocumentHighlight(this.answer([], (o, p: At, s) => features.highlights(o, p.position, s)));
    connection.onDocumentSymbol(this.answer([], (o, _, s) => features.symbols(o, s)));
    connection.onFoldingRanges(this.answer([], (o, _, s) => features.folds(o, s)));
    connection.languages.semanticTokens.on(
      this.answer({ data: [] }, (o, _, s) => ({ data: features.tokens(o, s) })),
    );
    connection.languages.semanticTokens.onRange(
      this.answer({ data: [] }, (o, p: SemanticTokensRangeParams, s) => ({
        data: features.tokens(o, s, p.range),
      })),
    );
    connection.onCodeLens(this.answer([], (o) => lenses.lensesOf(o)));
    connection.languages.inlayHint.on(this.answer([], (o, p: InlayHintParams) => lenses.hintsOf(o, p.range)));
  }

  private edits(): void {
    const { connection, host } = this;
    connection.onCodeAction(
      this.answer([] as CodeAction[], (o, p: CodeActionParams) => features.actions(o, p.range, p.context)),
    );
    connection.onPrepareRename(
      this.answer(null, (o, p: At, s) => this.refusable(() => features.renamable(o, p.position, s))),
    );
    connection.onRenameRequest(
      this.answer(null, (o, p: RenameParams, s) =>
        this.refusable(() => features.rename(o, p.position, p.newName, s, this.folders)),
      ),
    );
    connection.onExecuteCommand(async ({ command, arguments: args = [] }) => {
      const uri = String(args[0] ?? '');
      const path = this.open.get(uri)?.path ?? pathOfUri(uri, 'spec');
      const about = { path, kernels: this.settings.kernels, folder: this.folders[0] };
      const made = await host.command(command, args.slice(1), about);
      if (made === null) return null;
      if (made.show !== undefined && this.refreshes.show)
        await connection.window.showDocument({ uri: made.show, external: true }).catch(() => null);
      connection.window.showInformationMessage(made.message);
      return made.message;
    });
  }

  /** Runs a request that may be refused with a message for the user. */
  private refusable<R>(make: () => R): R {
    try {
      return make();
    } catch (e) {
      throw e instanceof features.Refused ? this.host.refusal(e.message) : e;
    }
  }
}
