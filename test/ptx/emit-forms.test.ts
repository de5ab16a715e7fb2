import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkOne } from '../../src/cli/check/check.ts';
import { assemble } from '../../src/cli/optimize/ptxas-run.ts';
import { Mod, type Opcode, OpFlag, withMods } from '../../src/ir/opcode.ts';
import { cbank, imm, makeReg, type Operand, RegFile, reg } from '../../src/ir/operand.ts';
import { type Instr, instr, type Program } from '../../src/ir/program.ts';
import { printInstr } from '../../src/ir/text.ts';
import { Unsupported } from '../../src/ir/unsupported.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { buildSpelling } from '../../src/isa/build-spelling.ts';
import { NO_CARRY, rowOf } from '../../src/ptx/emit/expand.ts';
import { isHalf } from '../../src/ptx/emit/halves.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { checkPtxTable, type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { shadowedRows } from '../../src/ptx/lower/shadowed.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { AREA, BATCH, drawn, INPUTS, kernelOf, Numbers } from '../support/forms.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices } from '../support/meaning.ts';
import { askAll } from '../support/ptxas.ts';
import { runs as times } from '../support/size.ts';
import { testFolder } from '../support/specs.ts';

/*
 * Every opcode with every choice of modifiers, on registers, constants and modified operands: what is written in PTX does
 * what the instruction did, and ptxas takes it.
 */
const isa = testIsa();
const doc = parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc;
const table = new PtxTable(doc);
const BASE = 0x210;
const ptxas = spawnSync('ptxas', ['--version']).status === 0;

/** More choices of modifiers than this are run by pairs. */
const MOST_RUN = times(300);

/** Opcodes that say nothing alone: what they do shows in the kernels of test/kernels. */
const NOT_ALONE: Readonly<Record<string, string>> = {
  BRA: 'a branch needs blocks',
  BRX: 'a branch needs a table',
  CALL: 'a call needs a function',
  RET: 'ends the thread',
  EXIT: 'ends the thread',
  BPT: 'ends the kernel with an error',
  MOVPHI: 'SSA, which PTX does not write',
  PMOVPHI: 'SSA, which PTX does not write',
  BSSY: 'a region of control flow, which PTX does not write',
  BSYNC: 'a region of control flow, which PTX does not write',
  LDPRM: 'a parameter of a call',
  STPRM: 'a parameter of a call',
  CVTA: 'its result is an address of this machine',
  CGABAR: 'a barrier of a cluster',
  CS2R: 'its result changes with time',
  S2R: "its result is this machine's",
  ...Object.fromEntries(
    ['IADD3_CARRY', 'SHF_WIDE', 'FCHK', 'MUFU_TURNS', 'BMOV_FROM', 'BMOV_TO', 'BREAK'].map((name) => [
      name,
      'only code that was made of machine code has it',
    ]),
  ),
};

/** Opcodes that only another target has (PTX ISA 9.0), and the version that knows it. */
const ELSEWHERE: Readonly<Record<string, readonly [string, string]>> = { REDUX_F32: ['sm_100a', '8.6'] };

/** Choices of modifiers: all of them, or where they are more than `most` every pair of values. */
function choices(op: Opcode, most: number): number[] {
  const count = op.groups.reduce((n, g) => n * g.values.length, 1);
  if (count <= most) return modChoices(op);
  const out = new Set<number>();
  for (const [k, g] of op.groups.entries())
    for (const h of op.groups.slice(k + 1))
      for (let x = 0; x < g.values.length; x++)
        for (let y = 0; y < h.values.length; y++) out.add((x << g.shift) | (y << h.shift));
  return [...out];
}

/** Vectors wider than the machine has, and 256-bit accesses, which start with Blackwell. */
function legal(op: Opcode, mods: number): boolean {
  const vec = op.groupByName.get('vec');
  if (vec === undefined) return true;
  const type = op.groupByName.get('type')!;
  const bits = type.values[(mods >>> type.shift) & type.mask].width;
  return bits * 2 ** ((mods >>> vec.shift) & vec.mask) <= 128;
}

function inputs(seed: number): Uint8Array {
  const n = new Numbers(seed);
  const bytes = new Uint8Array(32 * AREA);
  const view = new DataView(bytes.buffer);
  const words = [
    0, 1, 2, -1, 31, 32, 33, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf000000, 0x7f800000, 0x7fc00000,
    0x00000001, 0x3c003c00, 0x80008000, 0x4f000000,
  ];
  const highs = [0, -1, 0x3ff00000, 0xbff80000, 0x7ff00000, 0x7ff80000, 0x41e00000, 0x80000000];
  for (let t = 0; t < 32; t++)
    for (let k = 0; k < INPUTS; k += 4) {
      const special = n.below(3) > 0;
      const high = k >= 32 && k < 64 && k % 8 === 4;
      const list = high ? highs : words;
      view.setUint32(t * AREA + k, special ? list[n.below(list.length)] : n.below(0xffffffff), true);
      if (k >= 64 && k < 80) view.setUint32(t * AREA + k, n.below(2), true);
    }
  return bytes;
}

const reads = (p: Program): Uint8Array => {
  const bytes = inputs(7);
  const r = runLaunch(
    p,
    isa,
    {
      name: 'forms',
      kernel: 'forms',
      grid: [1, 1, 1],
      block: [32, 1, 1],
      dynamicShared: 0,
      params: [{ kind: 'buffer', type: 'u8', length: bytes.length, bytes, expect: null, tolerance: 0 }],
    },
    BASE,
  );
  expect(r.error).toBeNull();
  return r.buffers[0]!;
};

/** What the tests wrote, for ptxas. */
const written: { readonly arch: string; readonly text: string; readonly name: string }[] = [];

// As the kernels of one module: to start ptxas for each takes longer than it takes for them. Where it refuses one, each is asked about.
afterAll(() => {
  const modules = new Map<string, { arch: string; kernels: string[] }>();
  for (const { arch, text, name } of written) {
    const at = text.indexOf('.visible .entry forms');
    const [head, kernel] = [text.slice(0, at), text.slice(at).replace('forms', name)];
    const module = modules.get(head);
    if (module === undefined) modules.set(head, { arch, kernels: [kernel] });
    else module.kernels.push(kernel);
  }
  for (const [head, { arch, kernels }] of modules) {
    const takes = (some: readonly string[]): boolean =>
      assemble(head + some.join(''), [`-arch=${arch}`, '-O0']).ok;
    if (!takes(kernels)) expect(kernels.filter((k) => !takes([k])).join('\n')).toBe('');
  }
});

describe('forms of PTX', () => {
  it('names only what there is, and every opcode', () => {
    expect(checkPtxTable(doc, isa)).toEqual([]);
  });

  it('reads no form that is lowered by other means first', () => {
    expect(shadowedRows(isa)).toEqual([]);
    const rows = { ...doc.opcodes, IADD3: [{ both: true, ptx: 'add.u32 $d, $a, $b' }] } as PtxDoc['opcodes'];
    const spelling = buildSpelling({ ...doc, opcodes: rows }, isa.byName);
    const found = shadowedRows({ ...isa, spelling });
    expect(found.map(({ row, form }) => [row.op.name, form])).toEqual([['IADD3', 'add.u32']]);
  });

  it('of which one is lowered by other means is an error of `check`, at its line', async () => {
    const text = readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8');
    const mine = text.replace(/^ {2}IADD3:$/m, "$&\n    - { both: true, ptx: 'add.u32 $$d, $$a, $$b' }");
    const line = 1 + mine.split('\n').findIndex((l) => l.includes("'add.u32 $d, $a, $b'"));
    const found = await checkOne(testFolder().write('ptx.yaml', mine));
    expect(found.map((d) => [d.line, d.message, d.notes])).toEqual([
      [
        line,
        "IADD3 is never made of 'add.u32': its lowering comes first",
        ["the row 'add.{int} $d, $a, $b' has the form"],
      ],
    ]);
  });

  it('says which names of halves are none', () => {
    const halves = { ...doc.halves, lanewise: ['HADD3'], low: { HSETP2: { lanes: 'NONE' } } };
    expect(checkPtxTable({ ...doc, halves }, isa)).toEqual([
      'halves: HADD3 is not an opcode',
      'halves: HSETP2 has no lanes NONE',
    ]);
  });

  it('has a reason where it has no form, and only there', () => {
    const reasons = new Set<string>();
    for (const op of isa.opcodes)
      for (const mods of choices(op, 2000)) {
        const rows = table.rows(op, mods, 90);
        expect(rows.length, `${op.name} ${mods}`).toBeGreaterThan(0);
        if (rows[0].none !== '') reasons.add(`${op.name}: ${rows[0].none}`);
      }
    expect([...reasons].sort()).toMatchSnapshot();
  });

  const alone = isa.opcodes.filter(
    (op) =>
      NOT_ALONE[op.name] === undefined && (op.flags & OpFlag.Control) === 0 && op.primitive !== 'foreign',
  );
  /** Writes instructions in several kernels, reads them back, and runs both. @returns the texts */
  function same(op: Opcode, list: readonly Instr[], bits: 16 | 32): string[] {
    const texts: string[] = [];
    // Where a target lacks an instruction, the way around it has to do the same.
    const newer = (doc.opcodes[op.name] ?? []).flatMap((r) => (r.from === undefined ? [] : [r.from]));
    const targets = [null, ...new Set(newer.map((n) => (n > 80 ? 'sm_80' : 'sm_30')))];
    const runs = targets.flatMap((target) =>
      Array.from({ length: Math.ceil(list.length / BATCH) }, (_, k) => ({ target, from: k * BATCH })),
    );
    for (const { target, from } of runs) {
      const part = list.slice(from, from + BATCH);
      const before = kernelOf(part, BASE, 'forms', bits);
      expect(verifyProgram(before).map(verifyMessage)).toEqual([]);
      const { text, diagnostics } = emitPtx(before, { table, paramBase: BASE, module: null, target });
      expect(diagnostics).toEqual([]);
      texts.push(text);
      const { module, diagnostics: faults } = parsePtx(text, 'forms.ptx');
      expect(faults).toEqual([]);
      const after = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90' });
      expect(after.diagnostics).toEqual([]);
      const [a, b] = [reads(before), reads(after.program)];
      const at = a.findIndex((x, k) => x !== b[k]);
      const k = at < 0 ? -1 : Math.floor(((at % AREA) - 512) / 48);
      expect(
        at < 0
          ? 'equal'
          : `lane ${Math.floor(at / AREA)}, byte ${at % AREA}: ${k >= 0 ? printInstr(part[k]) : ''}`,
      ).toBe('equal');
    }
    if (ptxas) {
      const [arch, version] = ELSEWHERE[op.name] ?? ['sm_90', null];
      const at = (t: string): string =>
        version === null
          ? t
          : t.replace(/^\.target .*$/m, `.target ${arch}`).replace(/^\.version .*$/m, `.version ${version}`);
      for (const t of askAll ? texts : texts.slice(0, 1))
        written.push({ arch, text: at(t), name: `forms_${written.length}_${op.name}` });
    }
    return texts;
  }

  /** Instructions of an opcode that have a form, with operands drawn at random. */
  function forms(op: Opcode): Instr[] {
    const numbers = new Numbers(op.id + 1);
    const list: Instr[] = [];
    for (const mods of choices(op, MOST_RUN)) {
      if (!legal(op, mods)) continue;
      const count = op.means === null ? 1 : 3;
      for (let k = 0; k < count; k++) {
        const x = drawn(op, mods, numbers, k === 0);
        try {
          rowOf(table, x, 90, NO_CARRY);
          list.push(x);
        } catch (e) {
          if (!(e instanceof Unsupported)) throw e;
        }
      }
    }
    expect(list.length).toBeGreaterThan(0);
    return list;
  }

  it.each(alone.map((op) => [op.name, op] as const))('%s', (_name, op) => {
    same(op, forms(op), 32);
  });

  const onHalves = alone.filter(
    (op) => doc.halves.arithmetic.includes(op.name) || doc.halves.lanewise.includes(op.name),
  );
  it.each(onHalves.map((op) => [op.name, op] as const))('%s of 16-bit registers', (_name, op) => {
    // Moves alone stay words: there must be something that computes with halves.
    const sum = drawn(isa.byName.get('HADD2')!, 0, new Numbers(1), true);
    const list = forms(op).filter(
      (x) =>
        table.isLanewise(op) ||
        table.readsLowHalves(op, x.mods) ||
        op.srcs.every((slot) => isHalf(op, x.mods, slot)) ||
        op.dsts.every((slot) => isHalf(op, x.mods, slot)),
    );
    const text = same(op, [sum, ...list], 16).join('');
    expect(text).toMatch(/%rh\d/);
    // Arithmetic on pairs is scalar throughout.
    if (doc.halves.lanewise.includes(op.name)) expect(text).not.toMatch(/f16x2/);
  });

  // Words 4 to 7 hold halves, 20 is a result (test/support/forms.ts).
  const made = (name: string, mods: readonly string[], src: readonly Operand[]): Instr => {
    const op = isa.byName.get(name)!;
    return instr(op, withMods(op, 0, ...mods), [makeReg(20, RegFile.R)], src, 0);
  };
  const [a, b] = [4, 5].map((k) => reg(makeReg(k, RegFile.R)));
  const prmt = (selectors: number, c: Operand = b): Instr => made('PRMT', [], [a, imm(selectors), c]);
  const ARITHMETIC = [
    made('HADD2', ['BF16'], [a, b]),
    made('HFMA2', ['F16'], [reg(a.reg, Mod.Neg), b, a]),
    made('SEL', [], [a, imm(0x3c00), reg(makeReg(12, RegFile.P))]),
  ];
  it.each([
    ['of low halves', [0x5410, 0x1054, 0x1010, 0x5454].map((s) => prmt(s)), /mov\.b16 %rh20, %rh4;/],
    [
      'with zeros',
      [
        prmt(0x5410, imm(0)),
        prmt(0x4410, imm(0)),
        prmt(0x1044, imm(0)),
        made('LOP3', [], [a, imm(0xffff), imm(0), imm(0xc0)]),
      ],
      /mov\.b16 %rh20, %rh4;/,
    ],
    [
      'of high halves',
      [prmt(0x7632), prmt(0x5432), prmt(0x7610), made('SHR', ['U32'], [a, imm(16)])],
      /mov\.b32 \{%h\d+, %h\d+\}, %r4;/,
    ],
    [
      'shifted',
      [made('SHL', [], [a, imm(16)]), made('SHR', ['U32'], [b, imm(16)])],
      /mov\.b16 %rh20, %h\d+;/,
    ],
    // Bytes across halves, signs, and other places of a shift are no pairs.
    [
      'of other bytes',
      [prmt(0x4321), prmt(0x9180), prmt(0x0145), made('SHR', ['U32'], [a, imm(15)])],
      /prmt/,
    ],
  ] as const)('pairs %s', (_name, list, there) => {
    expect(same(isa.byName.get('PRMT')!, [...ARITHMETIC, ...list], 16).join('')).toMatch(there);
  });

  it('keeps a table of two constants where halves are made by it', () => {
    const written = (uses: string): string => {
      const text = `.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];
lop3.b32 %r2, %r1, 0x000f000f, 0x43004300, 0x6a;
${uses}
ret;
}
`;
      const { module, diagnostics } = parsePtx(text, 'k.ptx');
      expect(diagnostics).toEqual([]);
      const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90' });
      const { text: out } = emitPtx(program, { table, paramBase: BASE, module, target: null });
      if (ptxas) expect(assemble(out, ['-arch=sm_90', '-O3'])).toEqual(expect.objectContaining({ ok: true }));
      // It comes back as what it was.
      const again = lowerPtx(parsePtx(out, 'k.ptx').module, { isa, paramBase: BASE, sm: 'sm_90' }).program;
      const tables = (p: Program): string[] =>
        p.functions[0].blocks.flatMap((b) =>
          b.ins.filter((x) => x.op.name === 'LOP3').map((x) => printInstr(x).replace(/R\d+/g, 'R')),
        );
      if (out.includes('lop3')) expect(tables(again)).toEqual(tables(program));
      return out;
    };
    const sum = 'sub.bf16x2 %r3, %r2, %r1; st.global.u32 [%rd1+8], %r3;';
    expect(written(sum)).toMatch(/lop3\.b32 %r\d+, %r\d+, 983055, 1124090624, 106;/);
    // ptxas fails on lop3 whose one use is a test for zero that becomes a guard; with another reader it is written in steps.
    expect(written('setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd1+8], %r1;')).not.toContain('lop3');
    expect(written(`${sum} st.global.u32 [%rd1+12], %r2;`)).not.toContain('lop3');
  });

  it('writes a choice by all bits but the sign as copysign, whichever operand gives it', () => {
    // PTX ISA 9.0, copysign: the sign of the first operand, the rest of the second.
    const choice = (lut: number): Instr => made('LOP3', [], [a, b, imm(0x7fffffff), imm(lut)]);
    const text = same(isa.byName.get('LOP3')!, [choice(0xd8), choice(0xe4)], 32).join('');
    expect([...new Set(text.match(/copysign.*/g))]).toEqual([
      'copysign.f32 %r20, %r4, %r5;',
      'copysign.f32 %r20, %r5, %r4;',
    ]);
  });

  it.each([
    ['xor', 0x96],
    ['and', 0x80],
    ['or', 0xfe],
  ])('keeps the order of a chain of %s', (name, lut) => {
    const chain = made('LOP3', [], [a, b, reg(makeReg(6, RegFile.R)), imm(lut)]);
    const lines = same(isa.byName.get('LOP3')!, [chain], 32)
      .join('')
      .match(new RegExp(`${name}\\.b32 (.*);`, 'g'));
    expect([...new Set(lines?.map((l) => l.replace(/%r(?![456]\b)\d+/g, 'x')))]).toEqual([
      `${name}.b32 x, %r4, %r5;`,
      `${name}.b32 x, x, %r6;`,
    ]);
  });

  it('writes a zero extension by a parameter as szext, as one by a register', () => {
    const rowFor = (n: Operand): string =>
      rowOf(table, made('SGXT', ['U32'], [reg(makeReg(4, RegFile.R)), n]), 80, NO_CARRY)
        .lines[0].pieces.filter((p) => typeof p === 'string')
        .join('');
    expect([cbank(0, BASE), reg(makeReg(5, RegFile.R))].map(rowFor)).toEqual(
      Array<string>(2).fill('szext.clamp.u32 , , '),
    );
  });

  it('lets ptxas keep arithmetic on halves packed', () => {
    const text = `.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .b16 %h<29>;
ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r7, [%rd1+64];
mov.b32 {%h1, %h2}, %r1; mov.b32 {%h3, %h4}, %r2; mov.b32 {%h11, %h12}, %r7;
mul.bf16 %h5, %h1, %h3; mul.bf16 %h6, %h2, %h3; add.bf16 %h5, %h5, %h11; add.bf16 %h6, %h6, %h12;
mov.b32 %r3, {%h5, %h6}; st.global.u32 [%rd1+8], %r3;
ret;
}
`;
    const { module } = parsePtx(text, 'k.ptx');
    const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90' });
    const written = emitPtx(program, { table, paramBase: BASE, module, target: null }).text;
    expect(written).toMatch(/mul\.bf16 %rh/);
    expect(written).not.toMatch(/prmt|and\.b32/);
    if (!ptxas) return;
    const instructions = (t: string): number => {
      const made = assemble(t, ['-arch=sm_90', '-O3']);
      return made.functions[0].instructions;
    };
    expect(instructions(written)).toBeLessThanOrEqual(instructions(text));
  });

  // bf16 is widened to f32 by a shift; for words ptxas takes the vector apart before it shifts.
  it('keeps a vector of halves that become the upper half of words', () => {
    const text = `.version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .f32 %f<19>; .reg .b16 %h<29>;
ld.param.u64 %rd1, [p];
ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%rd1]; ld.global.v2.f32 {%f5, %f6}, [%rd1+16];
mov.b32 %f1, {0, %h1}; mov.b32 %f2, {0, %h2}; mov.b32 %f3, {0, %h3}; mov.b32 %f4, {0, %h4};
mul.rn.f32 %f7, %f1, %f5; fma.rn.f32 %f7, %f2, %f6, %f7; fma.rn.f32 %f7, %f3, %f5, %f7; fma.rn.f32 %f7, %f4, %f6, %f7;
ld.global.u16 %h5, [%rd1+24]; mov.b32 %f8, {0, %h5}; add.rn.f32 %f7, %f7, %f8;
st.global.f32 [%rd1+32], %f7;
ret;
}
`;
    const { module } = parsePtx(text, 'k.ptx');
    const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_90' });
    const written = emitPtx(program, { table, paramBase: BASE, module, target: null }).text;
    expect(written.match(/mov\.b32 %r\d+, \{%h\d+, %rh\d+\};/g)).toHaveLength(4);
    // A single one stays a word.
    expect(written.match(/prmt\.b32/g)).toHaveLength(1);
    if (!ptxas) return;
    const instructions = (t: string): number => assemble(t, ['-arch=sm_90', '-O3']).functions[0].instructions;
    expect(instructions(written)).toBeLessThanOrEqual(instructions(text));
  });
});
