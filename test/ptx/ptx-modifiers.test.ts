import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkPtx } from '../../src/ptx/check.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { bitsOf, formsOf, type InstructionForm, type OperandForm } from '../../src/ptx/forms.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';

/*
 * No modifier of a memory instruction is lost: every form in the signature table is lowered and written back with each of its modifiers,
 * and with every pair of different kinds. Permitted omissions are listed here with their reasons.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);
const TARGET = 'sm_100a';

/** Modifiers that may be missing in the output, by opcode; the PTX ISA 9.0 says why. */
const MAY_BE_MISSING: readonly (readonly [opcodes: RegExp, words: RegExp, why: string])[] = [
  [/^(ld|st)$/, /^weak$/, 'it is what holds where nothing is said'],
  [/^(ld|st|atom|red|cp)$/, /^L2::cache_hint$/, 'a hint for performance only'],
  [/^(ld|st)$/, /^param::(entry|func)$/, '.param alone says it'],
  [/^(atom|red)$/, /^(relaxed|gpu)$/, 'they are what holds where nothing is said'],
  [/^mbarrier$/, /^(release|acquire|cta)$/, 'they are what holds where nothing is said'],
  [/^(fence|membar)$/, /^(acq_rel|sc|cta|gpu|sys)$/, 'membar is fence.sc'],
];

/** Hints for the caches of global memory that say nothing of other spaces. */
const CACHE_HINT = /^(L1::|L2::|ca$|cg$|cs$|lu$|cv$|wb$|wt$)/;
const UNCACHED = /^(local|shared|shared::cta|const|param|param::entry|param::func)$/;

/** Modifiers that ptxas refuses together though the table has them. */
const EXCLUDES = (words: readonly string[]): boolean =>
  words.some((w) => w.startsWith('L1::')) && words.some((w) => /^(ca|cg|cs|lu|cv|wb|wt)$/.test(w));

const REGISTERS: Readonly<Record<number, string>> = {
  1: '%p',
  8: '%h',
  16: '%h',
  32: '%r',
  64: '%rd',
  128: '%q',
};

/** An operand of a form. */
function operandOf(
  o: OperandForm,
  types: readonly string[],
  words: readonly string[],
  n: number,
): string | null {
  switch (o.kind) {
    case 'memory': {
      const named = words.findIndex((w) => /^(shared|local|const|param)/.test(w));
      const space = words[named];
      if (space?.startsWith('param')) return words.includes('param::func') ? null : '[p]';
      if (words.includes('async') && words.includes('global') && !words.includes('bulk'))
        return n === 0 && words.includes('shared') ? '[%r1]' : '[%rd1]';
      return space === undefined || words.includes('proxy') ? '[%rd1]' : '[%r1]';
    }
    case 'constant':
      return o.range?.kind === 'one' ? String(o.range.of.at(-1)) : '0';
    case 'value': {
      const type = typeof o.type === 'string' ? o.type : (types[o.type] ?? 'b32');
      if (o.range?.kind === 'multiple') return String(o.range.of);
      const file = REGISTERS[bitsOf(type)];
      const count = Number(/^v([248])$/.exec(words.find((w) => /^v[248]$/.test(w)) ?? '')?.[1] ?? 1);
      if (file === undefined) return null;
      if (o.vector === 0 || count === 1) return `${file}${n + 2}`;
      return `{${Array.from({ length: count }, (_, k) => `${file}${n * 8 + k + 2}`).join(',')}}`;
    }
    default:
      return null;
  }
}

/** Every line of a form: with the first of what it must have, each modifier, and every two of different kinds. */
function linesOf(opcode: string, form: InstructionForm): { line: string; words: readonly string[] }[] {
  const first = form.groups.map((g) => (g.required ? g.words[0] : ''));
  const picks = new Map<string, readonly string[]>();
  const pick = (...set: readonly (readonly [number, string])[]) => {
    const words = first.map((w, k) => set.find(([at]) => at === k)?.[1] ?? w);
    picks.set(words.join('.'), words);
  };
  pick();
  for (const [a, ga] of form.groups.entries())
    for (const wa of ga.words) {
      pick([a, wa]);
      for (const [b, gb] of form.groups.entries())
        if (b > a) for (const wb of gb.words) pick([a, wa], [b, wb]);
    }
  const out: { line: string; words: readonly string[] }[] = [];
  for (const chosen of picks.values()) {
    const words = chosen.filter((w) => w !== '');
    if (EXCLUDES(words)) continue;
    const types = form.types.map((t) => t.find((x) => bitsOf(x) === 32) ?? t.at(-1)!);
    const operands = form.operands.filter((o) => !o.optional).map((o, n) => operandOf(o, types, words, n));
    if (operands.includes(null)) continue;
    out.push({ line: `${[opcode, ...words, ...types].join('.')} ${operands.join(', ')};`, words });
  }
  return out;
}

const moduleOf = (lines: readonly string[]): string => `.version 9.0
.target ${TARGET}
.address_size 64
${lines
  .map(
    (l, k) => `.visible .entry k${k}(.param .u64 p)
{
 .reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .b128 %q<40>;
 ${l}
}`,
  )
  .join('\n')}
`;

const accepted = (line: string): boolean => {
  const { module, diagnostics } = parsePtx(moduleOf([line]), 'k.ptx');
  return [...diagnostics, ...checkPtx(module)].every((d) => d.severity !== 'error');
};

/** What is written for each of the lines. */
function written(lines: readonly string[]): string[][] {
  const { module } = parsePtx(moduleOf(lines), 'k.ptx');
  const { program } = lowerPtx(module, { isa, paramBase: 0x210, sm: TARGET });
  const { text } = emitPtx(program, { table, paramBase: 0x210, module });
  const out: string[][] = lines.map(() => []);
  for (const part of text.split(/(?=^(?:\.visible )?\.entry )/m)) {
    const k = /\.entry k(\d+) ?\(/.exec(part)?.[1];
    if (k !== undefined)
      out[Number(k)] = [...part.matchAll(/^\s*(?:@!?%\w+ )?([a-z]\w*(?:[.:]+\w+)*)/gm)].map((m) => m[1]);
  }
  return out;
}

/** Opcodes that say the same as another: membar.gl is fence.sc.gpu, and ldu a load (PTX ISA 9.0, membar, ldu). */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  fence: ['membar'],
  membar: ['fence'],
  ldu: ['ld'],
};

/** .shared is .shared::cta (PTX ISA 9.0, 5.1.3). */
const spelled = (w: string): string => (w === 'shared::cta' ? 'shared' : w);

/** Modifiers of an instruction of which none of the written ones has all that must be kept. */
function lost(opcode: string, words: readonly string[], instrs: readonly string[]): string[] {
  const uncached = words.some((w) => UNCACHED.test(w));
  const must = words.filter(
    (w) => !MAY_BE_MISSING.some(([o, x]) => o.test(opcode) && x.test(w)) && !(uncached && CACHE_HINT.test(w)),
  );
  const missing = instrs
    .filter((x) => [opcode, ...(ALSO[opcode] ?? [])].includes(x.split('.', 1)[0]))
    .map((x) => must.filter((w) => !x.split('.').map(spelled).includes(spelled(w))));
  return missing.sort((a, b) => a.length - b.length)[0] ?? ['the instruction'];
}

const FAMILIES = [
  'ld',
  'ldu',
  'st',
  'atom',
  'red',
  'prefetch',
  'prefetchu',
  'discard',
  'applypriority',
  'cp',
  'mbarrier',
  'membar',
  'fence',
] as const;

describe('modifiers of memory instructions', () => {
  it('the table has them', () => {
    const lines = FAMILIES.flatMap((opcode) => formsOf(opcode)!.flatMap((form) => linesOf(opcode, form))).map(
      (x) => x.line.split(' ')[0],
    );
    for (const known of [
      'ld.nc.global.cs.b32',
      'fence.mbarrier_init.release.cluster',
      'st.async.mmio.release.sys.b32',
    ])
      expect(lines).toContain(known);
  });
  it.each(FAMILIES)('%s', (opcode) => {
    const all = formsOf(opcode)!
      .flatMap((form) => linesOf(opcode, form))
      .filter(({ line }) => accepted(line));
    const unique = [...new Map(all.map((x) => [x.line, x])).values()];
    expect(unique.length).toBeGreaterThan(0);
    const faults: string[] = [];
    for (let from = 0; from < unique.length; from += 200) {
      const some = unique.slice(from, from + 200);
      const out = written(some.map((x) => x.line));
      for (const [k, { line, words }] of some.entries()) {
        const gone = lost(opcode, words, out[k]);
        if (gone.length > 0) faults.push(`${line} loses ${gone.join(', ')}: ${out[k].join(' ')}`);
      }
    }
    expect(faults).toEqual([]);
  });
});
