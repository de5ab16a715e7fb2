import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { parseFn, printFn } from '../src/ir/text.ts';
import { verifyFn } from '../src/ir/verify.ts';
import { testContext } from './support/context.ts';
import { testIsa } from './support/isa.ts';
import { runPass } from './support/run-pass.ts';

const dir = '/tmp/sw/o/';
for (const f of readdirSync(dir).filter((f) => f.endsWith('.ori')))
  it(f, () => {
    const text = readFileSync(dir + f, 'utf8').replace(/\n# after[\s\S]*/, '\n');
    const head = /^# pass (\S+)(?: (\w+)=(\d+))?$/m.exec(text)!;
    const params = Object.fromEntries(
      [...(/^# params (.*)$/m.exec(text)?.[1] ?? '').matchAll(/(\S+)=(\S+)/g)].map((m) => [
        m[1],
        Number(m[2]),
      ]),
    );
    const before = /^# before\n([\s\S]*)/m.exec(text)![1].trim();
    const fn = parseFn(before, testIsa());
    const errs = verifyFn(fn);
    if (errs.length) throw new Error(JSON.stringify(errs));
    const ctx = testContext(fn, { knobs: head[2] ? { [head[2]]: Number(head[3]) } : {}, params });
    const out = runPass(head[1], fn, ctx);
    writeFileSync(
      dir + f,
      `${text.trim()}\n# after\n${printFn(out).trim()}\n# remarks\n${ctx.remarks.map((r) => `${r.kind} ${r.name}: ${r.message}`).join('\n')}\n`,
    );
  });
