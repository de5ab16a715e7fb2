import { readFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/lsp/server/lenses.ts';
import { DEFAULTS } from '../../src/lsp/server/settings.ts';
import { HINT_KINDS } from '../../src/lsp/work/hints.ts';
import { ROOT } from '../../src/spec/node-cache.ts';

/* The extension of VS Code, with stand-ins for VS Code and its client library. */

const folder = join(ROOT, 'editors', 'vscode');
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly configuration: {
      readonly properties: Readonly<
        Record<string, { default: unknown; items?: { enum?: readonly string[] } }>
      >;
    };
  };
};
const { commands, configuration } = manifest.contributes;

describe('the extension of VS Code', () => {
  test('has the settings of the server', () => {
    const own = Object.keys(configuration.properties).map((name) => name.replace('orrery.', ''));
    expect(own.filter((n) => n !== 'command').sort()).toEqual(Object.keys(DEFAULTS).sort());
    for (const [name, value] of Object.entries(DEFAULTS))
      expect(configuration.properties[`orrery.${name}`].default).toEqual(value);
    expect(configuration.properties['orrery.hints'].items?.enum).toEqual(HINT_KINDS);
  });

  test('starts the server, and hands its commands on', async () => {
    const registered = new Map<string, () => unknown>();
    const started: unknown[][] = [];
    const sent: { command: string }[] = [];
    class LanguageClient {
      constructor(...args: unknown[]) {
        started.push(args);
      }
      start = () => Promise.resolve();
      stop = () => Promise.resolve();
      sendRequest = (_: string, params: { command: string }) => {
        sent.push(params);
        return Promise.resolve('done');
      };
    }
    const vscode = {
      workspace: {
        getConfiguration: () => ({ get: () => ['npx', '--no-install', 'orrery', 'lsp'] }),
        workspaceFolders: [{ uri: { fsPath: '/work' } }],
      },
      window: {
        activeTextEditor: { document: { uri: 'file:///x.ptx' }, selection: { active: { line: 6 } } },
        withProgress: (_: unknown, does: () => unknown) => does(),
      },
      commands: { registerCommand: (name: string, does: () => unknown) => registered.set(name, does) },
      ProgressLocation: { Window: 10 },
    };
    const stand: Readonly<Record<string, unknown>> = {
      vscode,
      'vscode-languageclient/node': { LanguageClient },
    };
    const loader = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
    const original = loader._load;
    loader._load = (name, ...rest) => stand[name] ?? original(name, ...rest);
    try {
      const extension = Module.createRequire(import.meta.url)(join(folder, 'extension.js')) as {
        activate: (context: { subscriptions: unknown[] }) => Promise<void>;
      };
      await extension.activate({ subscriptions: [] });
    } finally {
      loader._load = original;
    }
    expect(started[0][2]).toMatchObject({
      command: 'npx',
      args: ['--no-install', 'orrery', 'lsp'],
      options: { cwd: '/work' },
    });
    expect([...registered.keys()].sort()).toEqual(commands.map((c) => c.command).sort());
    for (const [name, does] of registered) if (name !== 'orrery.restart') await does();
    const known: readonly string[] = Object.values(COMMANDS);
    expect(sent.map((s) => s.command).filter((n) => !known.includes(n))).toEqual([]);
    expect(sent).toContainEqual({ command: COMMANDS.line, arguments: ['file:///x.ptx', 7] });
  });
});
