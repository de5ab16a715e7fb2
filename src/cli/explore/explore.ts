import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { html } from '../../ir/quote.ts';
import { targetOf } from '../../read.ts';
import { PRIVATE, writeNew } from '../../spec/node-write.ts';
import type { OpenedFile, Start } from '../../web/protocol.ts';
import { readText, STANDARD_INPUT, textOrFault } from '../input/files.ts';
import { planFor } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { webRequest } from '../input/web-source.ts';
import { ptxasPresent } from '../optimize/ptxas-run.ts';
import { err, failWith, out } from '../terminal/ui.ts';
import { serve } from './explore-server.ts';
import { launchesOf, sourcesOf } from './gallery.ts';
import { webFile } from './page.ts';

/** Delay in milliseconds after which a changed file is assumed to be completely written. */
const SETTLED = 80;

/** `orrery explore [FILE...]`: serves the explorer on a local port until it is interrupted. */
export async function explore(
  files: readonly string[],
  o: PlanOptions & { readonly port?: string; readonly open?: boolean },
): Promise<void> {
  const port = Number(o.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    failWith(`--port ${o.port} is not a port`, 'ports are 0 to 65535; 0 takes a free one');
  webFile('index.html');
  const inputs = files.map((file) => {
    const text = readText(file);
    return { file, text, ...besideFile(file, text) };
  });
  const first = inputs.find((f) => targetOf(f.text) !== null);
  const plan = await planFor(o, first === undefined ? null : targetOf(first.text));
  const start: Start = {
    files: inputs,
    ...(await webRequest(o, plan)),
    live: files.length > 0,
    ptxas: ptxasPresent(),
  };
  const server = await serve(start, port);
  out(`${server.address}`);
  err('Ctrl-C ends it');
  for (const { file } of inputs) if (file !== STANDARD_INPUT) follow(file, server.changed);
  const opened = o.open === true ? openInBrowser(server.address) : { close: () => undefined };
  await new Promise<void>((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done());
  });
  server.close();
  opened.close();
  // File watchers keep a process alive; nothing is left to be written.
  process.exit(0);
}

/** The launches and the sources next to a file; standard input has none. */
const besideFile = (file: string, text: string): Pick<OpenedFile, 'launches' | 'data' | 'sources'> =>
  file === STANDARD_INPUT
    ? { launches: [], data: {}, sources: {} }
    : { ...launchesOf(file), sources: sourcesOf(file, text) };

/** Watches a file for changes. The folder is watched, because editors replace a file by a new one. */
function follow(file: string, changed: (file: string, text: string) => void): void {
  let timer: NodeJS.Timeout | undefined;
  const read = (): void => {
    const text = textOrFault(file);
    if (typeof text === 'string') changed(file, text);
  };
  watch(dirname(file), (_, name) => {
    if (name !== null && name !== basename(file)) return;
    clearTimeout(timer);
    timer = setTimeout(read, SETTLED);
  });
}

/**
 * Opens an address in the browser of the system, through a file that redirects to it: command lines are visible to all users of a machine,
 * and the address is only for this one.
 */
function openInBrowser(address: string): { readonly close: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-explore-'));
  const page = join(folder, 'open.html');
  const [shown, refresh] = [html(address), html(`0; url=${address}`)];
  writeNew(
    page,
    `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="${refresh}"><a href="${shown}">${shown}</a>\n`,
    PRIVATE,
  );
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '']
        : ['xdg-open'];
  const child = spawn(command, [...args, page], { stdio: 'ignore', detached: true });
  child.on('error', () => err(`no browser could be opened: go to ${address}`));
  child.unref();
  return { close: () => rmSync(folder, { recursive: true, force: true }) };
}
