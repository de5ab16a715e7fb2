// Derives and checks the rows of pipelines/machine: `node dist/tools/machine-forms.js` says how.

import { decode } from '../machine/decode.ts';
import { compareWords, machineOf } from './machine/check.ts';
import { countWords, cubinsIn } from './machine/corpus.ts';
import { askAll, bitsOf, plain, plainControl } from './machine/oracle.ts';
import { perturb } from './machine/perturb.ts';
import { probe, seedsOf, together } from './machine/probe.ts';
import { parseVendor } from './machine/vendor-text.ts';

const [command, sm, ...rest] = process.argv.slice(2);
if (command === 'probe') {
  const [pattern, ...paths] = rest;
  const names = new RegExp(`^(${pattern === 'unknown' ? '.*' : pattern})$`);
  const { machine } = machineOf(sm);
  const words = [...countWords(cubinsIn(paths), plain).values()].filter(
    (w) => pattern !== 'unknown' || decode(machine, w.word) === null,
  );
  const texts = askAll(
    sm,
    words.map((w) => w.word),
  );
  const byOpcode = new Map<number, number[]>();
  words.forEach((w, k) => {
    const text = texts[k];
    if (text === null || !names.test(parseVendor(text).head[0])) return;
    const op = bitsOf(w.word, 0, 12);
    byOpcode.set(op, [...(byOpcode.get(op) ?? []), k]);
  });
  const rows = [...byOpcode]
    .map(([op, list]) => ({ op, list, name: parseVendor(texts[list[0]]!).head[0] }))
    .sort((a, b) => (a.name === b.name ? a.op - b.op : a.name < b.name ? -1 : 1));
  const pick = <T>(list: readonly number[], from: readonly T[]): T[] => list.map((k) => from[k]);
  const seeds = rows.map((r) => seedsOf(pick(r.list, words), pick(r.list, texts), 16));
  const reports = together(
    sm,
    seeds.map((s) => probe(s)),
  );
  rows.forEach((r, k) => {
    const before = k > 0 && rows[k - 1].name === r.name ? new Set(reports[k - 1]) : new Set();
    console.log(
      `${r.op.toString(16).padStart(3, '0')} ${r.name}: ${r.list.length} words, ${seeds[k].length} shapes`,
    );
    for (const l of reports[k]) if (!before.has(l)) console.log(`  ${l}`);
  });
}

if (command === 'check') {
  const { machine, faults } = machineOf(sm);
  for (const f of faults) console.log(`${f.family}: ${f.path.join('.')}: ${f.message}`);
  const words = [...countWords(cubinsIn(rest), plainControl).values()];
  const o = compareWords(sm, machine, words);
  console.log(JSON.stringify({ ...o, differences: undefined }));
  for (const [key, d] of [...o.differences].sort((a, b) => b[1].count - a[1].count).slice(0, 200))
    console.log(`${d.count} ${key}\n      ${d.sample}`);
}

if (command === 'perturb') {
  const [names, ...paths] = rest;
  const { machine, faults } = machineOf(sm);
  for (const f of faults) console.log(`${f.family}: ${f.path.join('.')}: ${f.message}`);
  const words = [...countWords(cubinsIn(paths), plain).values()].sort((a, b) => b.count - a.count);
  const o = perturb(
    sm,
    machine,
    words.map((w) => w.word),
    new RegExp(`^(${names})$`),
  );
  console.log(JSON.stringify({ ...o, lines: undefined }));
  for (const l of o.lines) console.log(l);
}
