import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkPtx } from '../../src/ptx/check.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx } from '../support/run-ptx.ts';

const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);
const HEAD = '.version 9.0\n.target sm_90\n.address_size 64\n';
const withPtxas = hasPtxas('ptx-module-forms.test.ts');

/** Diagnostics of parsing and checking a module. */
function faults(text: string): string[] {
  const { module, diagnostics } = parsePtx(HEAD + text, 'm.ptx');
  return [...diagnostics, ...checkPtx(module)].map((d) => d.message);
}

/** The module after a round trip through Ori, and the diagnostics. */
function written(text: string): { text: string; said: string[] } {
  const { module } = parsePtx(HEAD + text, 'm.ptx');
  const { program, diagnostics } = lowerPtx(module, { isa: testIsa(), paramBase: 0x210, sm: 'sm_90' });
  const out = emitPtx(program, { table, paramBase: 0x210, module });
  return {
    text: out.text,
    said: [...diagnostics, ...out.diagnostics].map((d) => `${d.message}: ${d.notes}`),
  };
}

describe('declarations of functions', () => {
  const FORWARD = `.func (.param .b32 o) f(.param .b32 a)
.extern .func ext(.param .b32 a)
.global .b32 g;
.visible .entry k(.param .b64 p)
.visible .entry k(.param .b64 p)
.maxntid 32, 1, 1
{ .param .b32 q, r; st.param.b32 [q], 1; call (r), f, (q); ret; }
.func (.param .b32 o) f(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [o], x; ret; }\n`;

  it('may do without a semicolon, of functions and of entries', () => {
    expect(faults(FORWARD)).toEqual([]);
    const { items } = parsePtx(HEAD + FORWARD, 'm.ptx').module;
    const heads = items.map((i) =>
      i.kind === 'function' ? `${i.name}${i.body === null ? ';' : ''}${i.directives}` : i.kind,
    );
    expect(heads).toEqual(['f;', 'ext;', 'variable', 'k;', 'k.maxntid 32, 1, 1', 'f']);
  });

  it.skipIf(!withPtxas)('are written so that ptxas takes them', () => {
    // ptxas leaves the semicolon to functions alone.
    expect(ptxas(HEAD + FORWARD).errors).toContain("Parsing error near '.visible'");
    const out = written(FORWARD);
    expect(out.said).toEqual([]);
    expect(ptxas(out.text).errors).toBe('');
  });

  it('still need a brace or a semicolon before what stands in bodies, and at the end', () => {
    for (const rest of ['.reg .b32 x; ret; }', '', 'ret; }'])
      expect(faults(`.visible .entry k()\n${rest}\n`)[0]).toMatch(/^expected the body of 'k' or ';'/);
  });

  it('may have .file between header and body', () => {
    const text = '.visible .entry k()\n.maxntid 32\n.file 1 "a.cu"\n.maxnreg 24\n{\n.loc 1 3 4\nret;\n}\n';
    expect(faults(text)).toEqual([]);
    const out = written(text);
    expect(out.said).toEqual([]);
    expect(out.text).toMatch(
      /\.file 1 "a\.cu"[\s\S]*\.entry k [\s\S]*\.maxntid 32 \.maxnreg 24[\s\S]*\.loc 1 3 4/,
    );
    if (withPtxas) expect(ptxas(out.text).errors).toBe('');
  });
});

describe('registers and local variables of the module', () => {
  const MODULE = `.reg .b32 %m<4>, one;
.reg .v2 .b32 v;
.reg .pred big;
.local .align 8 .b32 l[4], unused;\n`;
  const BODY = `{ .reg .b32 %m3; .local .b32 l2[2]; mov.b32 %m3, 5; }
mov.b32 one, %i0; setp.gt.s32 big, one, 10; @big add.s32 one, one, 100;
st.local.b32 [l+4], one; mov.b32 %m2, l; ld.local.b32 v.x, [%m2+4]; mov.b32 %m3, 7; add.s32 v.y, v.x, %m3; mov.b32 %o0, v.y;`;

  it('are registers and variables of each entry', () => {
    expect(
      faults(`${MODULE}.visible .entry k() { mov.b32 one, %m1; @big ret; mov.b32 %m4, 1; ret; }`),
    ).toEqual(["'%m4' is not declared"]);
    const rows = Array.from({ length: 32 }, (_, k) => [k]);
    const want = rows.map(([k]) => [k + (k > 10 ? 100 : 0) + 7]);
    expect(runPtx(BODY, rows, 1, MODULE)).toEqual(want);
  });

  it.skipIf(!withPtxas)('are declared in functions, as ptxas wants them', () => {
    const text = `${MODULE}.visible .entry k(.param .b64 p) { .reg .b64 a; ld.param.b64 a, [p]; mov.b32 one, %m1; st.local.b32 [l], one; ld.local.b32 %m2, [l]; st.global.b32 [a], %m2; ret; }\n`;
    expect(ptxas(HEAD + text).errors).toContain('are not allowed with ABI');
    const out = written(text);
    expect(out.said).toEqual([]);
    expect(out.text).not.toContain('unused');
    expect(ptxas(out.text).errors).toBe('');
  });

  it('are no registers of a call: functions that share them are left out', () => {
    const out = written(
      `${MODULE}.func f() { mov.b32 one, 4; ret; }
.visible .entry k() { mov.b32 one, 3; call f; ret; }
.visible .entry other() { mov.b32 %m1, 3; ret; }\n`,
    );
    expect(out.said).toEqual([
      "'f' is left out: mov.b32 has no Ori form yet (1 time): 'one' is shared by functions",
      "'k' is left out: a variable outside of functions has no Ori form yet (1 time): 'one' is shared with device functions",
    ]);
    expect(out.text).toContain('.reg .b32 one;');
  });
});

describe('a load from behind the parameter that it names', () => {
  // Parameters of an entry stand one behind the other, each at the next multiple of its alignment (PTX ISA 9.0, 7.1), so that [p+8]
  // is n. What lies behind the last one has no name of its own; ptxas takes it all the same.
  const text = `.visible .entry k(.param .u64 p, .param .u32 n, .param .u32 m) {
.reg .b64 %d; .reg .b32 %r<4>;
ld.param.u64 %d, [p]; ld.param.u32 %r1, [p+8]; ld.param.u32 %r2, [n+4]; ld.param.u32 %r3, [m+8];
st.global.u32 [%d], %r1; st.global.u32 [%d+4], %r2; st.global.u32 [%d+8], %r3; ret; }`;
  it('is of the next one, or counted from the last', () => {
    const out = written(text);
    expect(out.said).toEqual([]);
    const loads = [...out.text.matchAll(/ld\.param\.b32 %r\d+, (\[\S+\]);/g)].map((m) => m[1]);
    expect(loads).toEqual(['[n]', '[m]', '[m+8]']);
  });
  it.skipIf(!withPtxas)('is taken by ptxas, before and after', () => {
    expect([ptxas(HEAD + text).errors, ptxas(written(text).text).errors]).toEqual(['', '']);
  });
});
