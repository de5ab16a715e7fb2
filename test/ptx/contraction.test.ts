import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';

/*
 * Without a rounding modifier ptxas may contract a product and a sum to one fused operation, with .rn it may not (PTX ISA 9.0, 9.7.3).
 * Modifiers are preserved, and no rewrite lets ptxas contract what the input kept apart.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

const through = (lines: string): string => {
  const text = `.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b32 %r<9>; .reg .b16 %h<9>;\n${lines}\nret;\n}\n`;
  const { module } = parsePtx(text, 'k');
  const { program } = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
  return emitPtx(program, { table, paramBase: 0x160, module }).text;
};

const FORMS = [
  ...['', '.ftz', '.sat', '.ftz.sat'].map((m) => [`${m}.f32`, '%f'] as const),
  ['.f64', '%d'] as const,
  ...['', '.ftz'].map((m) => [`${m}.f16x2`, '%r'] as const),
];

describe('the rounding of sums and products', () => {
  it.each(FORMS)('%s comes out as it went in', (form, reg) => {
    for (const op of ['add', 'sub', 'mul'])
      for (const rnd of ['', '.rn', ...(reg === '%r' ? [] : ['.rz', '.rp'])]) {
        const out = through(`${op}${rnd}${form} ${reg}1, ${reg}2, ${reg}3;`);
        expect(out.match(/\b(add|sub|mul)\.[.\w]*/g), out).toEqual([`${op}${rnd}${form}`]);
      }
  });
});

interface Rule {
  readonly id: string;
  readonly match: string;
  readonly rewrite: string;
  readonly when?: string;
}
const folder = new URL('../../pipelines/rules/', import.meta.url);
const rules = readdirSync(folder)
  .filter((f) => f.endsWith('.yaml'))
  .flatMap((f) => (parse(readFileSync(new URL(f, folder), 'utf8')) as { rules?: Rule[] }).rules ?? []);

const SUMS_AND_PRODUCTS = /^(FADD|FMUL|DADD|DMUL|HADD2|HMUL2)((?:\.[$\w]+)*) (.*)$/;
const ROUNDED = /\.(RN|RZ|RM|RP)\b/;

/** The operations of a rule that ptxas may contract: opcode, and the variable that holds the rounding or null. */
const contractible = (text: string, when = '') =>
  text.split('\n').flatMap((l) => {
    const [, op, mods, operands] = SUMS_AND_PRODUCTS.exec(l.trim()) ?? [];
    if (op === undefined || ROUNDED.test(mods)) return [];
    const rnd = /\.(\$rnd\d?)/.exec(mods)?.[1] ?? null;
    if (rnd !== null && when.includes(`${rnd.slice(1)} != CONTRACT`)) return [];
    return [{ op, rnd, minusZero: /0x80+(8000)?$/.test(operands) }];
  });

describe('rules', () => {
  it('make nothing contractible that was not', () => {
    let looked = 0;
    const bad = rules.flatMap(({ id, match, rewrite, when }) => {
      const before = contractible(match, when);
      return contractible(rewrite, when)
        .filter((x) => {
          looked++;
          // A product and a sum with minus zero are the product, fused or not.
          if (x.minusZero && x.op.includes('ADD')) return false;
          // A variable of an operation that is never contracted holds one that is rounded.
          if (x.rnd !== null && !before.some((y) => y.rnd === x.rnd)) return false;
          return !before.some((y) => y.op === x.op && y.rnd === x.rnd);
        })
        .map((x) => `${id}: ${x.op}`);
    });
    expect(bad).toEqual([]);
    expect(looked).toBeGreaterThan(40);
  });
});
