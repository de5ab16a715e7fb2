// Derives and checks the rows of pipelines/machine. Run `node dist/tools/machine-forms.js` for its usage.
import { DiagnosticError, renderDiagnostic } from '../ir/diagnostic.ts';
import { decode } from '../machine/decode.ts';
import type { Machine } from '../machine/forms.ts';
import { loadMachine } from '../spec/node-machine.ts';
import { compareWords } from './machine/check.ts';
import { countWords, cubinsIn } from './machine/corpus.ts';
import { askAll, bitsOf, plain } from './machine/oracle.ts';
import { perturb } from './machine/perturb.ts';
import { probe, seedsOf, together } from './machine/probe.ts';
import { sampleWords } from './machine/sample.ts';
import { parseVendor } from './machine/vendor-text.ts';

const USAGE = `usage: node dist/tools/machine-forms.js COMMAND SM ...

  check SM CUBIN...             decode, encode, print and read back every word of cubins (files or folders); compare with a disassembler
  probe SM NAMES CUBIN...       what each bit of the words of these opcodes does; NAMES is a pattern, or 'unknown': those of no form
  perturb SM NAMES CUBIN...     compare words that no compiler may have written, made from those of cubins, with the disassembler
  sample SM COUNT CUBIN...      words that show every form and modifier of cubins, at most COUNT, as test/machine has them

ORRERY_DISASSEMBLER names the disassembler; it must take the options of nvdisasm (-b SM80 FILE). check works without.`;

/** Maximum number of seed words of a probe for each opcode. */
const MOST_SEEDS = 16;
/** Maximum number of kinds of differences that `check` shows, the most frequent first. */
const MOST_SHOWN = 200;

async function machineFor(sm: string): Promise<Machine> {
  try {
    const machine = await loadMachine(sm);
    if (machine !== null) return machine;
    console.error(`error: no family of pipelines/machine has the target ${sm}`);
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    for (const d of e.diagnostics) console.error(renderDiagnostic(d));
  }
  process.exit(1);
}

async function probeAll(sm: string, [pattern, ...paths]: readonly string[]): Promise<void> {
  const names = new RegExp(`^(${pattern === 'unknown' ? '.*' : pattern})$`);
  const machine = await machineFor(sm);
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
  const seeds = rows.map((r) => seedsOf(pick(r.list, words), pick(r.list, texts), MOST_SEEDS));
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

async function check(sm: string, paths: readonly string[]): Promise<void> {
  const machine = await machineFor(sm);
  const words = [...countWords(cubinsIn(paths), (w) => w).values()];
  const o = compareWords(sm, machine, words);
  console.log(JSON.stringify({ ...o, differences: undefined }));
  for (const [key, d] of [...o.differences].sort((a, b) => b[1].count - a[1].count).slice(0, MOST_SHOWN))
    console.log(`${d.count} ${key}\n      ${d.sample}`);
}

async function perturbAll(sm: string, [names, ...paths]: readonly string[]): Promise<void> {
  const machine = await machineFor(sm);
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

async function sample(sm: string, [count, ...paths]: readonly string[]): Promise<void> {
  const machine = await machineFor(sm);
  const words = [...countWords(cubinsIn(paths), (w) => w).values()].sort((a, b) => b.count - a.count);
  for (const l of sampleWords(
    sm,
    machine,
    words.map((w) => w.word),
    Number(count),
  ))
    console.log(l);
}

const COMMANDS = { check, probe: probeAll, perturb: perturbAll, sample };
const [command, sm, ...rest] = process.argv.slice(2);
if (!(command in COMMANDS) || sm === undefined || rest.length === 0) {
  console.error(USAGE);
  process.exit(1);
}
await COMMANDS[command as keyof typeof COMMANDS](sm, rest);
