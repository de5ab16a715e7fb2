import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';

const isa = testIsa();
const doc = parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc;
const table = new PtxTable(doc);
const oracle = hasPtxas('emit-header');

const kernel = (head: string, lines: string): string =>
  `${head}
.visible .entry k(.param .u64 p) {
.reg .f32 %f<5>; .reg .b64 %rd<5>; .reg .b32 %r<9>; .reg .pred %p; .reg .pred %q;
ld.param.u64 %rd1, [p];
ld.global.f32 %f1, [%rd1];
ld.global.u32 %r1, [%rd1];
${lines}
exit; }
`;
function through(text: string): { text: string; says: string[] } {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
  const out = emitPtx(program, { table, paramBase: 0x160, module });
  return { text: out.text, says: out.diagnostics.map((d) => `${d.severity}: ${d.message}`) };
}
const head = (text: string): string => text.slice(0, text.indexOf('\n\n')).replaceAll('\n', ' ');

describe('headers of older PTX', () => {
  it('name what the file named where that is enough', () => {
    for (const h of ['.version 1.4\n.target sm_13', '.version 3.2\n.target sm_30\n.address_size 64']) {
      const out = through(kernel(h, 'st.global.f32 [%rd1], %f1;'));
      expect([head(out.text), out.says]).toEqual([h.replaceAll('\n', ' '), []]);
    }
  });

  it.each([
    ['.version 1.4\n.target sm_13', 'mad.f32 %f1, %f1, %f1, %f1; st.global.f32 [%rd1], %f1;', 'fma'],
    ['.version 3.2\n.target sm_30', 'vote.any.pred %q, 1; @%q st.global.f32 [%rd1], %f1;', 'activemask'],
    [
      '.version 3.0\n.target sm_30',
      'shfl.down.b32 %r2, %r1, 1, 31; st.global.u32 [%rd1], %r2;',
      'activemask',
    ],
  ])('%s: what comes out needs more, and the header says so', (h, lines, what) => {
    const text = kernel(h, lines);
    const out = through(text);
    expect(out.says.length).toBeGreaterThan(0);
    for (const s of out.says)
      expect(s).toMatch(/^warning: \.(version \d\.\d|target sm_\d+) instead of [\w.]+: '[\w.]+' needs it$/);
    expect(out.says.join()).toContain(what);
    if (oracle) expect([ptxas(text).errors, ptxas(out.text).errors]).toEqual(['', '']);
  });

  it('and textures in the space that old versions have for them', () => {
    const tex = 'tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1, %f1}]; st.global.f32 [%rd1], %f2;';
    for (const [lines, declared] of [
      [tex, '.tex .u32 t;'],
      [`mad.f32 %f1, %f1, %f1, %f1; ${tex}`, '.global .texref t;'],
    ]) {
      const out = through(kernel('.version 1.4\n.target sm_13\n.tex .u32 t;', lines));
      expect(out.text).toContain(`\n${declared}\n`);
      if (oracle) expect(ptxas(out.text).errors).toBe('');
    }
  });

  it('of what is new enough stay as they are', () => {
    const out = through(
      kernel(
        '.version 7.0\n.target sm_80\n.address_size 64',
        'activemask.b32 %r1; st.global.u32 [%rd1], %r1;',
      ),
    );
    expect([head(out.text), out.says]).toEqual(['.version 7.0 .target sm_80 .address_size 64', []]);
  });
});

/** One instruction for each row of `needs`. */
const EXAMPLES: Readonly<Record<string, string>> = {
  'abs.f16x2': 'abs.f16x2 %r2, %r1;',
  activemask: 'activemask.b32 %r1;',
  'bar.warp.sync': 'bar.warp.sync %r1;',
  bfe: 'bfe.u32 %r2, %r1, %r1, %r1;',
  bfi: 'bfi.b32 %r2, %r1, %r1, %r1, %r1;',
  bfind: 'bfind.u32 %r2, %r1;',
  bmsk: 'bmsk.clamp.b32 %r2, %r1, %r1;',
  brev: 'brev.b32 %r2, %r1;',
  'brx.idx': 'T: .branchtargets A, B; brx.idx %r1, T; A: B:',
  clz: 'clz.b32 %r2, %r1;',
  copysign: 'copysign.f32 %f2, %f1, %f1;',
  'cvt.pack': 'cvt.pack.sat.s16.s32 %r2, %r1, %r1;',
  dp4a: 'dp4a.u32.u32 %r2, %r1, %r1, %r1;',
  'fma.f32': 'fma.rn.f32 %f2, %f1, %f1, %f1;',
  lop3: 'lop3.b32 %r2, %r1, %r1, %r1, 0x96;',
  'mad.cc': 'mad.lo.cc.u32 %r2, %r1, %r1, %r1;',
  madc: 'madc.lo.u32 %r2, %r1, %r1, %r1;',
  'neg.f16x2': 'neg.f16x2 %r2, %r1;',
  popc: 'popc.b32 %r2, %r1;',
  prmt: 'prmt.b32 %r2, %r1, %r1, %r1;',
  'redux.sync': 'redux.sync.add.u32 %r2, %r1, %r1;',
  shf: 'shf.l.wrap.b32 %r2, %r1, %r1, %r1;',
  'shfl.sync': 'shfl.sync.down.b32 %r2, %r1, 1, 31, %r1;',
  szext: 'szext.clamp.u32 %r2, %r1, %r1;',
  'vote.sync': 'vote.sync.any.pred %p, %q, %r1;',
};
describe('addresses', () => {
  it('of variables of more than 2 GB are written as they were read', () => {
    const head = '.version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b8 big[6000000000];';
    const { text, says } = through(
      kernel(
        head,
        'mov.u64 %rd2, big+3000000000;\nmov.u64 %rd3, big+5000000000;\nst.global.u64 [%rd2], %rd3;',
      ),
    );
    expect([/big\+3000000000\b/.test(text), /big\+5000000000\b/.test(text), says]).toEqual([true, true, []]);
  });
});

/** Targets that PTX names, by number. */
const TARGETS = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72];

/** The last version of each decade. */
const LAST = ['', '1.5', '2.3', '3.2', '4.3', '5.0'] as const;

describe('what PTX instructions need', () => {
  it('has an example each', () =>
    expect(Object.keys(EXAMPLES).sort()).toEqual(Object.keys(doc.needs).sort()));

  it.skipIf(!oracle).each(Object.entries(doc.needs))('%s: ptxas says the same', (name, { version, sm }) => {
    const taken = (v: string, target: number) =>
      ptxas(kernel(`.version ${v}\n.target sm_${target}`, EXAMPLES[name])).errors === '';
    expect(taken(version, sm)).toBe(true);
    const [major, minor] = version.split('.').map(Number);
    expect(taken(minor > 0 ? `${major}.${minor - 1}` : LAST[major - 1], sm)).toBe(false);
    if (sm > 10) expect(taken('9.0', TARGETS[TARGETS.indexOf(sm) - 1])).toBe(false);
  });
});
