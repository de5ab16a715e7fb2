// The same with nothing but Node, for a search of one's own: `node search.mjs 'kernels/*.ptx' [rounds]`. Each round changes one
// thing of the best arm so far, and keeps it where that is no worse.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [kernels, rounds = '30'] = process.argv.slice(2);
const [command, ...words] = (process.env.ORRERY ?? 'orrery').split(' ');
const orrery = spawn(command, [...words, 'evaluate', '--kernels', kernels], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: orrery.stdout })[Symbol.asyncIterator]();
const ask = async (arm) => {
  orrery.stdin.write(`${JSON.stringify(arm)}\n`);
  return JSON.parse((await answers.next()).value);
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
