import fc from 'fast-check';
import { it, expect } from 'vitest';
import { verifyFn } from '../src/ir/verify.ts';
import { printFn, parseFn } from '../src/ir/text.ts';
import { passes } from '../src/passes/registry.ts';
import { testContext } from './support/context.ts';
import { sameBehaviour } from './support/mini-run.ts';
import { randomFn } from './support/random-fn.ts';
import { testIsa } from './support/isa.ts';
import { livenessOf } from '../src/analysis/liveness.ts';
import { defUseOf } from '../src/analysis/defuse.ts';
import { loopsOf } from '../src/analysis/loops.ts';
import { dominatorsOf, postDominatorsOf } from '../src/analysis/dominators.ts';
import { cfgOf } from '../src/analysis/cfg.ts';
import { analyzeControlFlow } from '../src/analysis/control-flow.ts';
import { statistics } from '../src/analysis/statistics.ts';
const P = (n: string, f: any) => passes.get(n)!.pass(f, testContext(f));
it('stress', () => {
  fc.assert(fc.property(randomFn({ midBlock: true, most: 22 }), (fn) => {
    let f = fn;
    for (const n of ['early-dead-code', 'split-control-flow', 'early-dead-code', 'branch-opt', 'live-dead', 'branch-opt', 'live-dead']) {
      const g = P(n, f);
      expect(verifyFn(g)).toEqual([]);
      expect(sameBehaviour(fn, g)).toBe(null);
      const h = P(n, g);
      if (h !== g) { expect(printFn(h)).toBe(printFn(g)); expect(h === g).toBe(true); }
      f = g;
    }
  }), { numRuns: 12000, seed: 99 });
});
const isa = testIsa();
function big(blocks: number, per: number): string {
  let r = 12345;
  const rnd = (n: number) => (r = (Math.imul(r, 1103515245) + 12345) >>> 0, (r >>> 8) % n);
  const L = ['.entry big', '  .regs 400000', '{'];
  let reg = 10000;
  const recent: number[] = [100, 101, 102];
  for (let b = 0; b < blocks; b++) {
    L.push(`BB${b}:`);
    for (let i = 0; i < per - 2; i++) {
      const a = recent[rnd(recent.length)], c = recent[rnd(recent.length)];
      const d = rnd(8) === 0 ? 100 + rnd(50) : reg++;
      L.push(`IADD3 R${d}, R${a}, R${c}`);
      recent.push(d); if (recent.length > 30) recent.shift();
    }
    L.push(`ISETP.LT P${350000 + b}, R${recent[0]}, R${recent[1]}`);
    const t = rnd(10) === 0 ? Math.max(0, b - rnd(40)) : Math.min(blocks - 1, b + 1 + rnd(30));
    L.push(`@P${350000 + b} BRA BB${t}`);
  }
  L.push(`BB${blocks}:`, 'STG [RD5], R100', 'EXIT', '}');
  return L.join('\n');
}
it('perf', () => {
  for (const [b, p] of [[200, 5], [2000, 5], [20000, 5], [20, 500], [1, 100000]] as const) {
    const fn0 = parseFn(big(b, p), isa);
    const rows: string[] = [];
    const time = (n: string, f: () => any) => { const s = performance.now(); const r = f(); rows.push(`${n} ${(performance.now() - s).toFixed(1)}`); return r; };
    const fn = fn0;
    time('cfg', () => cfgOf(fn)); time('dom', () => dominatorsOf(fn)); time('pdom', () => postDominatorsOf(fn));
    time('loops', () => loopsOf(fn)); time('acf', () => analyzeControlFlow(fn)); time('live', () => livenessOf(fn)); time('du', () => defUseOf(fn));
    time('stat', () => statistics(fn));
    const s = time('split', () => P('split-control-flow', fn));
    const e = time('early', () => P('early-dead-code', s));
    const bo = time('branch', () => P('branch-opt', e));
    const ld = time('dead', () => P('live-dead', bo));
    console.log(`${b}x${p}: globals ${livenessOf(fn).globals.names.map((x) => x.length)} kept ${ld.blocks.reduce((n: number, x: any) => n + x.ins.length, 0)} | ${rows.join(', ')}`);
  }
});
