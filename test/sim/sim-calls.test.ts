import { expect, it } from 'vitest';
import type { Program } from '../../src/ir/program.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from '../support/isa.ts';

/*
 * Calls whose parameters differ from the callee's: of functions that the driver provides, which a module may declare with any parameters,
 * and through a pointer.
 */

const BASE = 0x210;
const HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n';

function programOf(text: string): Program {
  const { module, diagnostics } = parsePtx(HEAD + text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  return lowerPtx(module, { isa: testIsa(), paramBase: BASE, sm: 'sm_90' }).program;
}
const launched = (p: Program) =>
  runLaunch(
    p,
    testIsa(),
    { name: 't', kernel: 'k', grid: [1, 1, 1], block: [32, 1, 1], dynamicShared: 0, params: [] },
    BASE,
  );

const byte = '.reg .b16 %h; mov.u16 %h, 1; .param .b8 a; st.param.b8 [a], %h;';
it.each([
  ['vprintf', '.extern .func vprintf();', 'call.uni vprintf;'],
  ['vprintf', '.extern .func vprintf(.param .b8 a);', `${byte} call.uni vprintf, (a);`],
  ['free', '.extern .func free();', 'call.uni free;'],
  [
    'malloc',
    '.extern .func (.param .b8 r) malloc(.param .b8 a);',
    `${byte} .param .b8 r; call.uni (r), malloc, (a);`,
  ],
  [
    'malloc',
    '.extern .func (.reg .b64 r) malloc(.reg .b64 a);',
    '.reg .b64 %d<2>; mov.b64 %d1, 8; call.uni (%d0), malloc, (%d1);',
  ],
  ['__assertfail', '.extern .func __assertfail(.param .b8 a);', `${byte} call.uni __assertfail, (a);`],
])('%s as `%s` is no function of the driver', (name, declared, body) => {
  const p = programOf(`${declared}\n.visible .entry k() { { ${body} } ret; }\n`);
  const r = launched(p);
  expect([r.status, r.error]).toEqual([
    'fault',
    expect.stringContaining(`call of '${name}' with other parameters`),
  ]);
  // Where every address exists, it is a function that nobody knows.
  expect(judgeKernel(p, p, 'k', BASE).differences).toEqual([]);
});

it.each([
  [
    'returns more',
    `.func (.param .align 8 .b8 r[64]) f() { .reg .b32 %a; mov.u32 %a, 5; st.param.b32 [r+60], %a; ret; }`,
    '.param .b32 q; P: .callprototype (.param .b32 _) _ (); call (q), %d, (), P;',
  ],
  [
    'takes more',
    `.func f(.param .align 8 .b8 a[64]) { .reg .b32 %a; ld.param.b32 %a, [a+60]; ret; }`,
    '.param .b32 q; P: .callprototype _ (.param .b32 _); call %d, (q), P;',
  ],
])('a call by a pointer of a function that %s moves what there is', (_how, callee, body) => {
  const p = programOf(`${callee}\n.visible .entry k() { .reg .b64 %d; mov.u64 %d, f; { ${body} } ret; }\n`);
  expect(launched(p).status).toBe('ok');
  expect(judgeKernel(p, p, 'k', BASE).differences).toEqual([]);
});
