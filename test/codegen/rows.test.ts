import { describe, expect, test } from 'vitest';
import { chosen, type Opcode, type Slot, slotWidth } from '../../src/ir/opcode.ts';
import { Kind, Mod } from '../../src/ir/operand.ts';
import { parseProgram } from '../../src/ir/parse.ts';
import { paramBase } from '../../src/read.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';
import { backEnd, compiled, cubinOf, lifted } from './compile.ts';

/*
 * Each row of pipelines/selection computes what its opcode means: a kernel with all modifiers of an opcode, over numbers at which
 * arithmetic goes wrong, gives the same as Ori and as machine code. The meaning of machine code is the one with which code of ptxas is read
 * and compared.
 */

const back = await backEnd('sm_80');
const { isa } = back.plan;
const THREADS = 64;
const SOURCES = 4;
/** Opcodes that need more than the numbers of one thread; test kernels and instructions.test.ts have them. */
const BY_KERNELS: ReadonlySet<string> = new Set([
  ...[
    'S2R',
    'CS2R',
    'SHFL',
    'VOTE',
    'MATCH',
    'REDUX',
    'WARPSYNC',
    'BAR',
    'NANOSLEEP',
    'EXIT',
    'BSSY',
    'BSYNC',
    'ACTIVEMASK',
    'BPT',
    'ACQBULK',
    'PREEXIT',
    'ELECT',
    // Of pairs of 16 bits, from sm_90 on.
    'VIMNMX',
    'VIADD2',
  ],
]);
/** Opcodes with results that PTX does not determine to the last bit, where operands are scaled before an approximation. */
const APPROXIMATE: ReadonlySet<string> = new Set(['MUFU', 'FDIV', 'MUFU_D', 'HTANH2']);

/** Registers of the generated kernels by width and source: values of 64 bits, their lower words, and predicates from these. */
const REGISTERS = { 64: 100, 32: 110, 1: 120 } as const;

const random = new Random('selection');

/** A source operand as Ori text: a register, or a number where `isNumber`; with a sign where the slot takes one and `sign` is set. */
function sourceText(slot: Slot, width: number, k: number, isNumber: boolean, sign: boolean): string {
  const takes = (kind: number): boolean => (slot.kinds & (1 << kind)) !== 0;
  if (!takes(Kind.Reg) || (isNumber && takes(Kind.Imm) && width > 1)) {
    const v = !takes(Kind.Reg) && slot.name === 'n' ? BigInt(random.below(31)) : operandValue(random, width);
    return slot.name === 'lut' ? String(random.below(256)) : `0x${v.toString(16)}`;
  }
  const file = width === 64 ? 'RD' : width === 1 ? 'P' : 'R';
  const name = `${file}${REGISTERS[width as 64 | 32 | 1] + k}`;
  if (!sign || slot.mods === 0) return name;
  if ((slot.mods & Mod.Abs) !== 0 && k === 1) return `|${name}|`;
  if ((slot.mods & Mod.Neg) !== 0) return `-${name}`;
  return width === 1 ? `!${name}` : `~${name}`;
}

/** Instructions of an opcode with one choice of modifiers, as Ori text with results from register `next` on. */
function instructionText(
  op: Opcode,
  mods: number,
  next: number,
  variant: number,
): { text: string; results: string[] } {
  const names = op.groups.map((g) => chosen(g, mods).name);
  const shown = op.groups.flatMap((g, i) =>
    names[i] === g.values[0].name && !g.required ? [] : [`${names[i]}`],
  );
  const results: string[] = [];
  const dst = op.dsts.map((s, i) => {
    if (s.optional && variant === 2 && i === op.dsts.length - 1 && op.dsts.length > 1) return '_';
    const width = slotWidth(op, mods, s);
    const r = `${width === 64 ? 'RD' : width === 1 ? 'P' : 'R'}${next + i}`;
    results.push(r);
    return r;
  });
  const src = op.srcs.map((s, i) =>
    sourceText(
      s,
      slotWidth(op, mods, s),
      i % SOURCES,
      variant === 1 && i === op.srcs.length - 1,
      variant === 2,
    ),
  );
  return { text: `${[op.name, ...shown].join('.')} ${[...dst, ...src].join(', ')}`, results };
}

/** Maximum number of instructions of a kernel that are tried together. */
const MOST_AT_ONCE = 100;

/** Keeps choices that the rows tell apart, and some of the rest. */
function choicesOf(op: Opcode): number[] {
  const all = modChoices(op);
  const most = 150;
  return all.length <= most ? all : all.filter((_, i) => i % Math.ceil(all.length / most) === 0);
}

interface Choice {
  readonly mods: number;
  readonly variant: number;
}

/** The start of each kernel: reads the sources of a thread. */
const HEAD: readonly string[] = [
  'LDC.B64 RD1, c[0x0][0x160]',
  'LDC.B64 RD2, c[0x0][0x168]',
  'S2R.TID.X R3',
  'IMAD_WIDE.U32 RD4, R3, 8, RD2',
  'IMAD_WIDE.U32 RD5, R3, 32, RD1',
  ...Array.from({ length: SOURCES }, (_, k) => [
    `LDG.B64 RD${REGISTERS[64] + k}, [RD5+${8 * k}]`,
    `UNPAIR R${REGISTERS[32] + k}, R${130 + k}, RD${REGISTERS[64] + k}`,
    `LOP3 R${140 + k}, R${REGISTERS[32] + k}, 1, RZ, 0xc0`,
    `ISETP.NE P${REGISTERS[1] + k}, R${140 + k}, RZ`,
  ]).flat(),
];

/** A kernel of such instructions, and for each result, in the order of their places, the instruction that gives it. */
function kernelOf(
  op: Opcode,
  list: readonly Choice[],
  head: readonly string[] = HEAD,
): { text: string; of: readonly string[] } {
  const lines: string[] = [];
  const of: string[] = [];
  let next = 200;
  let at = 0;
  for (const { mods, variant } of list) {
    const { text: one, results } = instructionText(op, mods, next, variant);
    next += 4;
    lines.push(one);
    for (const r of results) {
      const kept = r.startsWith('P') ? `R${next++}` : r;
      if (r.startsWith('P')) lines.push(`SEL ${kept}, 1, RZ, ${r}`);
      lines.push(`STG${r.startsWith('RD') ? '.B64' : ''} [RD4+${at}], ${kept}`);
      of.push(one);
      at += 8 * THREADS;
    }
  }
  const text = `.program "rows" version 9.0 target sm_80 address 64
.entry rows
  .linkage visible
  .param u64 rows_param_0 size 8 align 8 at 0
  .param u64 rows_param_1 size 8 align 8 at 8
{
BB0:
${[...head, ...lines, 'RET'].map((l) => `       ${l}`).join('\n')}
}
`;
  return { text, of };
}

const bytesOf = (values: readonly bigint[]): Uint8Array =>
  new Uint8Array(BigUint64Array.from(values, (v) => BigInt.asUintN(64, v)).buffer);

function launchOf(results: number): Launch {
  const inputs = Array.from({ length: THREADS * SOURCES }, (_, k) =>
    k % 2 === 0 ? operandValue(random, 64) : operandValue(random, 32) | (operandValue(random, 32) << 32n),
  );
  const buffer = (bytes: Uint8Array) =>
    ({ kind: 'buffer', type: 'u64', length: bytes.length / 8, bytes, expect: null, tolerance: 0 }) as const;
  return {
    name: 'rows',
    kernel: 'rows',
    grid: [1, 1, 1],
    block: [THREADS, 1, 1],
    dynamicShared: 0,
    params: [buffer(bytesOf(inputs)), buffer(new Uint8Array(8 * THREADS * Math.max(1, results)))],
  };
}

/** Whether the results of an instruction are the same: all NaNs are, whose bits PTX leaves open, and near results of approximations. */
function agree(op: Opcode, text: string, want: bigint, got: bigint): boolean {
  if (want === got) return true;
  if (!/^[FDHM]/.test(op.name)) return false;
  const words = new BigUint64Array([want, got]);
  const longs = new Float64Array(words.buffer);
  // The unit ignores the lower word, which may be all that tells a NaN from an infinity (PTX ISA 9.0, rcp.approx.ftz.f64).
  // Without FTZ, a reciprocal root is within a unit in the last place.
  if (op.name === 'MUFU_D')
    return Number.isNaN(longs[0]) || (!text.includes('FTZ') && [1n, -1n].includes(want - got));
  if (/ RD/.test(text)) return longs.every(Number.isNaN);
  const [x, , y] = new Float32Array(words.buffer);
  if (Number.isNaN(x) && Number.isNaN(y)) return true;
  if (APPROXIMATE.has(op.name)) return Math.abs(x - y) <= Math.abs(x) * 2 ** -20;
  const isNaN16 = (h: bigint): boolean => (h & 0x7fffn) > 0x7c00n;
  const halves = [0n, 16n].map((k) => [(want >> k) & 0xffffn, (got >> k) & 0xffffn] as const);
  return /^H|F16/.test(text) && halves.every(([w, g]) => w === g || (isNaN16(w) && isNaN16(g)));
}

const opcodes = [...back.selection.rules.keys()].filter((name) => !BY_KERNELS.has(name));

describe('rows of selection compute what their opcodes mean', () => {
  test.each(opcodes)('%s', (name) => {
    const op = isa.byName.get(name)!;
    // Without its start, a kernel is compiled in a fraction of the time.
    const read = (list: readonly Choice[]) => parseProgram(kernelOf(op, list, []).text, isa);
    const has = (list: readonly Choice[]): boolean =>
      !compiled(read(list).program, back, { isFinal: true }).kernels.some((k) => 'why' in k);
    /** The choices that have machine code. Most have: so many are tried at once, then the halves of those that have not. */
    const those = (list: readonly Choice[]): readonly Choice[] => {
      if (list.length > 0 && list.length <= MOST_AT_ONCE && has(list)) return list;
      if (list.length <= 1) return [];
      const half = list.length >> 1;
      return [...those(list.slice(0, half)), ...those(list.slice(half))];
    };
    const all = choicesOf(op).flatMap((mods) => [0, 1, 2].map((variant) => ({ mods, variant })));
    const list = those(all.filter((c) => read([c]).diagnostics.length === 0));
    expect(list.length).toBeGreaterThan(0);
    for (let from = 0; from < list.length; from += MOST_AT_ONCE) {
      const some = list.slice(from, from + MOST_AT_ONCE);
      const { text, of } = kernelOf(op, some);
      const { program, diagnostics } = parseProgram(text, isa);
      expect(diagnostics).toEqual([]);
      const elf = cubinOf(compiled(program, back, { isFinal: true }), 'sm_80');
      const code = lifted(elf, program, 'rows', back);
      expect(code.gaps).toEqual([]);
      const launch = launchOf(of.length);
      const run = (p: typeof program): BigUint64Array => {
        const r = runLaunch(p, isa, launch, paramBase(back.plan));
        expect(r.error).toBe(null);
        return new BigUint64Array(r.buffers[1]!.slice().buffer);
      };
      const [want, got] = [run(program), run(code.program)];
      const wrong = [...want.keys()].filter((k) => !agree(op, of[Math.floor(k / THREADS)], want[k], got[k]));
      expect(
        wrong.slice(0, 3).map((k) => ({
          thread: k % THREADS,
          of: of[Math.floor(k / THREADS)],
          want: want[k].toString(16),
          got: got[k].toString(16),
        })),
      ).toEqual([]);
    }
  });
});
