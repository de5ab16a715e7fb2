// Measures what the language server does between two keys: node dist/tools/lsp-bench.js. CPU time of one process, the median over changes
// of one character after a warm-up; a key is answered this long, the 10 ms of waiting for more keys, and a pipe later. The full check and
// measurements, which run on threads, are not in it.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Doc } from '../lsp/document.ts';
import { readPtxText } from '../lsp/ptx/features.ts';
import { ptxHover } from '../lsp/ptx/hover.ts';
import { PtxIndex } from '../lsp/ptx/index.ts';
import { completeSpec } from '../lsp/specs/complete.ts';
import { quickFaults } from '../lsp/specs/quick.ts';
import { loadShipped } from '../spec/node.ts';
import { ROOT } from '../spec/node-cache.ts';
import { holdText } from '../spec/node-held.ts';

const load = createRequire(join(ROOT, 'package.json'));
const { TextDocument } = load(
  'vscode-languageserver-textdocument',
) as typeof import('vscode-languageserver-textdocument');

const WARM = 10;
const KEYS = 15;

async function cpu(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const median = (list: readonly number[]): string =>
  [...list].sort((a, b) => a - b)[list.length >> 1].toFixed(1);

/** The median times of kinds of work, each done after every key. */
async function keys(
  name: string,
  text: string,
  works: readonly ((doc: Doc) => unknown)[],
): Promise<string[]> {
  const uri = pathToFileURL(join(ROOT, name)).href;
  const language = name.endsWith('ptx') ? 'ptx' : 'spec';
  let document = TextDocument.create(uri, language, 1, text);
  const times: number[][] = works.map(() => []);
  for (let k = 0; k < WARM + KEYS; k++) {
    const range = { start: { line: 1, character: 0 }, end: { line: 1, character: k % 2 } };
    document = TextDocument.update(document, [{ range, text: k % 2 === 0 ? ' ' : '' }], k + 2);
    const doc: Doc = { uri, path: join(ROOT, name), language, text: document };
    holdText(doc.path, document.getText());
    for (const [i, work] of works.entries()) {
      const ms = await cpu(() => work(doc));
      if (k >= WARM) times[i].push(ms);
    }
  }
  holdText(join(ROOT, name), null);
  return times.map(median);
}

/** A PTX text of about this many lines: the functions of a kernel file again and again under other names. */
function repeated(lines: number): string {
  const text = readFileSync(join(ROOT, 'test/kernels/matmul-tiled/matmul-tiled.sm_80.ptx'), 'utf8');
  const [head, ...functions] = text.split(/(?=^\.visible \.entry)/m);
  const out = [head];
  for (let k = 0, n = 0; n < lines; k++)
    for (const f of functions.slice(0, lines < 2000 ? 1 : undefined)) {
      const name = /\.entry (\w+)/.exec(f)![1];
      out.push(f.replaceAll(name, `${name}_${k}`));
      n += f.split('\n').length;
    }
  return out.join('');
}

const say = (...cells: readonly string[]): void => void process.stdout.write(`| ${cells.join(' | ')} |\n`);
const specs = await loadShipped();
say('text', 'faults, ms', 'completion or card, ms', 'memory, MB');
say('---', '---', '---', '---');
const memory = (): string => String(Math.round(process.memoryUsage().rss / 2 ** 20));
for (const [what, file] of [
  ['an order', 'pipelines/orders/late-branches.yaml'],
  ['a recipe', 'pipelines/recipes/whole-loops.yaml'],
  ['a group of rules', 'pipelines/rules/logic.yaml'],
  ['the table of phases', 'pipelines/phases.yaml'],
]) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const name = what.startsWith('the') ? file : `bench-${file.replace(/.*\//, '')}`;
  const end = text.length - 1;
  const found = await keys(name, text, [(d) => quickFaults(d.path), (d) => completeSpec(d, end, specs)]);
  say(`${what}, ${text.split('\n').length} lines`, ...found, memory());
}
for (const lines of [1000, 10_000, 100_000]) {
  const text = repeated(lines);
  let read = readPtxText('x', text);
  const found = await keys('bench.ptx', text, [
    (d) => (read = readPtxText(d.path, d.text.getText())),
    (d) => ptxHover(d, new PtxIndex(read.module), d.text.getText().indexOf('setp') + 1, null),
  ]);
  say(`PTX, ${text.split('\n').length} lines`, ...found, memory());
}
