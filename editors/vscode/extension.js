// Starts `orrery lsp` and hands its commands on; everything else is in the server.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** Languages that the server knows. */
const LANGUAGES = ['yaml', 'ptx', 'ori', 'cuda-cpp', 'cuda'];

/** @type {LanguageClient | undefined} */
let client;

function start() {
  const [command, ...args] = vscode.workspace.getConfiguration('orrery').get('command');
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    'orrery',
    'Orrery',
    { command, args, options: { cwd, shell: process.platform === 'win32' } },
    {
      documentSelector: LANGUAGES.map((language) => ({ language })),
      synchronize: { configurationSection: 'orrery' },
      initializationOptions: { orrery: vscode.workspace.getConfiguration('orrery') },
    },
  );
  return client.start().catch((e) => {
    void vscode.window.showErrorMessage(
      `Orrery: the server does not start with '${[command, ...args].join(' ')}': ${e.message}. ` +
        'The setting orrery.command names another command.',
    );
  });
}

/** Runs a command of the server for the text in the foreground, and shows a long answer as a text. */
async function run(name, ...args) {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || client === undefined) return;
  const answer = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Orrery' },
    () =>
      client.sendRequest('workspace/executeCommand', {
        command: name,
        arguments: [editor.document.uri.toString(), ...args],
      }),
  );
  if (typeof answer !== 'string' || !answer.includes('\n')) return;
  const document = await vscode.workspace.openTextDocument({ content: answer, language: 'plaintext' });
  await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside, true);
}

exports.activate = async (context) => {
  const line = () => (vscode.window.activeTextEditor?.selection.active.line ?? 0) + 1;
  const add = (name, does) => context.subscriptions.push(vscode.commands.registerCommand(name, does));
  add('orrery.openExplorer', () => run('orrery.explore'));
  add('orrery.abReport', () => run('orrery.ab'));
  add('orrery.whatBecame', () => run('orrery.line', line()));
  add('orrery.restart', async () => {
    await client?.stop();
    await start();
  });
  await start();
};

exports.deactivate = () => client?.stop();
