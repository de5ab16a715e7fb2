// The same with nothing but Node, for a search of one's own: `node search.mjs 'kernels/*.ptx' [rounds]`. Each round changes one
// thing of the best arm so far, and keeps it where that is no worse.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

function fail(message) {
  console.error(message);
  process.exit(1);
}

const [kernels, rounds = '30'] = process.argv.slice(2);
if (kernels === undefined) fail("usage: node search.mjs 'kernels/*.ptx' [rounds]");
// orrery is that of the clone with this file, or else on PATH, unless ORRERY says how it is called.
const own = fileURLToPath(new URL('../../bin/orrery.js', import.meta.url));
const [command, ...words] =
  process.env.ORRERY?.split(' ') ?? (existsSync(own) ? [process.execPath, own] : ['orrery']);
const orrery = spawn(command, [...words, 'evaluate', '--kernels', kernels], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
orrery.on('error', (e) =>
  fail(`error: '${command}' cannot be run (${e.code})\n  put orrery on PATH, or say in ORRERY how it is called`),
);
// What ends orrery it says itself, and then no answer comes.
orrery.stdin.on('error', () => {});
const answers = createInterface({ input: orrery.stdout })[Symbol.asyncIterator]();
const ask = async (arm) => {
  orrery.stdin.write(`${JSON.stringify(arm)}\n`);
  const { done, value } = await answers.next();
  if (done) {
    await new Promise((ended) => (orrery.exitCode === null ? orrery.on('close', ended) : ended()));
    process.exit(1);
  }
  return JSON.parse(value);
};

const switches = ['GeneralOptimizeEarly', 'GeneralOptimizeMid', 'GeneralOptimizeLate'];
const knobs = ['ContractProducts'];
const armOf = (on) => ({
  set: Object.fromEntries(knobs.filter((k) => on.has(k)).map((k) => [k, true])),
  disable: switches.filter((s) => on.has(s)),
});

let best = new Set();
let score = 1;
for (let i = 0; i < Number(rounds); i++) {
  const next = new Set(best);
  const what = [...switches, ...knobs][i % (switches.length + knobs.length)];
  if (!next.delete(what)) next.add(what);
  const answer = await ask(armOf(next));
  if (!answer.ok || answer.ratios.weighted > score) continue;
  best = next;
  score = answer.ratios.weighted;
}
orrery.stdin.end();
console.log(JSON.stringify({ weighted: score, arm: armOf(best) }));
