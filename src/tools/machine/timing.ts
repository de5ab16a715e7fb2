/*
 * `node dist/tools/machine/timing.js CUBIN...`: derives the `distances` of pipelines/machine from code that ptxas generated. For a result
 * with fixed latency and each kind of reader in the same block, the minimum sum of stalls between them is an upper bound on the latency,
 * since that code is correct.
 */
import { readFileSync } from 'node:fs';
import { targetName } from '../../cubin/functions.ts';
import { readCubin } from '../../cubin/read.ts';
import type { Isa } from '../../ir/opcode.ts';
import { hardwareName } from '../../lift/registers.ts';
import { NO_BARRIER } from '../../machine/control.ts';
import type { Machine } from '../../machine/forms.ts';
import { listCode } from '../../machine/listing.ts';
import { WORD_BYTES } from '../../machine/text.ts';
import { loadShipped } from '../../spec/node.ts';
import { loadMachine } from '../../spec/node-machine.ts';
import { accessesIn } from '../../timing/code.ts';
import { shippedPlan } from '../shipped-plan.ts';

interface Pair {
  cycles: number;
  count: number;
}

type Table = Map<string, Map<string, Pair>>;

function mine(path: string, machine: Machine, isa: Isa, table: Table): void {
  const elf = readCubin(new Uint8Array(readFileSync(path)));
  for (const f of listCode(elf, machine)) {
    const accesses = accessesIn(f, elf, machine, isa);
    const targets = new Set(f.fn.labels.map((l) => l.offset));
    for (const { instruction: i, address } of f.code) {
      const t = i?.form.operands.find((o) => o.name === 't')?.atom;
      if (t !== undefined) targets.add(address + WORD_BYTES + i!.values[t.field] * t.scale);
    }
    let now = 0;
    let writers = new Map<number, { at: number; result: string }>();
    f.code.forEach(({ instruction: i, control, address }, k) => {
      if (targets.has(address)) writers = new Map();
      const own = accesses[k];
      if (i === null || own === null) {
        writers = new Map();
        return;
      }
      for (const r of own.reads) {
        const w = writers.get(r);
        if (w === undefined) continue;
        const result = `${w.result}.${hardwareName(r).file}`;
        const readers = table.get(result) ?? new Map<string, Pair>();
        table.set(result, readers);
        const to = r === own.guard ? 'guard' : machine.timing.reader(i.form, own.seconds.has(r));
        const pair = readers.get(to) ?? { cycles: Number.POSITIVE_INFINITY, count: 0 };
        readers.set(to, { cycles: Math.min(pair.cycles, now - w.at), count: pair.count + 1 });
      }
      const fixed = !machine.timing.late(i.form) && control.write === NO_BARRIER;
      for (const r of own.writes)
        if (fixed) writers.set(r, { at: now, result: machine.timing.result(i.form, own.writes.has(r - 1)) });
        else writers.delete(r);
      now += Math.max(control.stall, 1);
      if (i.form.pipe === 'control') writers = new Map();
    });
  }
}

const byName = <T>([a]: readonly [string, T], [b]: readonly [string, T]): number => (a < b ? -1 : 1);

const files = process.argv.slice(2);
const first = readCubin(new Uint8Array(readFileSync(files[0])));
const sm = targetName(first);
const machine = (await loadMachine(sm))!;
const { isa } = await shippedPlan(await loadShipped(), sm);
const table: Table = new Map();
for (const f of files) mine(f, machine, isa, table);
/** Minimum number of observations of a pair: rarer ones say little about the minimum distance. */
const FEWEST = 200;

console.log('  distances:');
for (const [result, readers] of [...table].sort(byName)) {
  const often = [...readers].filter(([, { count }]) => count >= FEWEST);
  if (often.length === 0) continue;
  console.log(
    `    ${result}: { ${often
      .sort(byName)
      .map(([to, { cycles, count }]) => `${to}: ${cycles} of ${count}`)
      .join(', ')} }`,
  );
}
