import { describe, expect, it } from 'vitest';
import { storedElements } from '../../src/analysis/memory/loads-stores.ts';
import { demandedOf } from '../../src/analysis/values/demanded-bits.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { type Opcode, slotWidth } from '../../src/ir/opcode.ts';
import { imm, makeReg, NO_REG, RegFile, reg, withOperandMods } from '../../src/ir/operand.ts';
import { instr } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { Bounds } from '../../src/isa/bounds.ts';
import { boundsProgram, evaluate, SPARE } from '../../src/isa/bounds-program.ts';
import { bitsOf, DemandedBits } from '../../src/isa/demanded-bits.ts';
import { EqualSource } from '../../src/isa/equal-source.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';
import { runPass } from '../support/run-pass.ts';
import { runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';
import { runSsa } from '../support/ssa-run.ts';

const isa = testIsa();
const wide = (low: number, high: number): bigint => (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
const low = (v: bigint): number => Number(BigInt.asIntN(32, v));
const high = (v: bigint): number => Number(BigInt.asIntN(32, v >> 32n));

let hidden = 0;
let kept = 0;

/** What the exact reference gives decides, for operands that differ in what is not demanded. */
describe('every meaning', () => {
  const opcodes = isa.opcodes.filter((o) => o.means !== null && o.dsts.length > 0);
  it.each(opcodes.map((op) => [op.name, op] as const))('%s', (_name, op: Opcode) => {
    const rnd = new Random(`demanded ${op.name}`);
    const random64 = (): bigint => wide(rnd.next(), rnd.next());
    const wanted = new DemandedBits();
    const equal = new EqualSource();
    const choices = modChoices(op);
    const rounds = Math.max(2, Math.ceil(runs(120) / choices.length));
    for (const mods of choices)
      for (let round = 0; round < rounds; round++) {
        const values = op.srcs.map((s) => operandValue(rnd, slotWidth(op, mods, s) || 32));
        const constant = op.srcs.map((s) => isConstantSlot(s) || rnd.below(3) === 0);
        const srcs = op.srcs.map((s, k) => {
          const w = slotWidth(op, mods, s);
          if (isConstantSlot(s))
            return imm(Number((values[k] = BigInt(rnd.below(op.name === 'LEA' ? 70 : 256)))));
          if (constant[k] && w === 32) return imm(low((values[k] = BigInt.asUintN(32, values[k]))));
          constant[k] = false;
          const m = rnd.next() & s.mods;
          return withOperandMods(reg(makeReg(k, w === 1 ? RegFile.P : w === 64 ? RegFile.RD : RegFile.R)), m);
        });
        const dst = op.dsts.map(() => NO_REG);
        const x = instr(op, mods, dst, srcs);
        const g = boundsProgram(x)!;
        const masks = g.graph.dsts.map((node) => {
          const width = BigInt(g.widths[node]);
          const bits = [0xffn, 0xffffn, random64() & random64(), 1n << BigInt(rnd.below(64))][rnd.below(4)];
          return BigInt.asUintN(Number(width), width === 1n ? 1n : bits);
        });
        wanted.open(g, x);
        g.graph.dsts.forEach((node, d) => wanted.want(node, low(masks[d]), high(masks[d])));
        wanted.back();
        const others = values.map((v, k) => {
          const node = g.sources[k];
          if (constant[k]) return v;
          const w = slotWidth(op, mods, op.srcs[k]) || 32;
          const seen = node < 0 ? 0n : wide(wanted.low[node], wanted.high[node]);
          const other = BigInt.asUintN(w, (v & seen) | (random64() & ~seen));
          if (other !== v) hidden++;
          return other;
        });
        const srcMods = srcs.map((o) => o.mods);
        const a = evalBig(op, mods, values, srcMods);
        const b = evalBig(op, mods, others, srcMods);
        masks.forEach((mask, d) => {
          if ((a[d] & mask) !== (b[d] & mask))
            throw new Error(
              `${op.name} ${mods}, bits ${mask.toString(16)}: ${values.map((v) => v.toString(16))} gives ${a[d].toString(16)}, ` +
                `${others.map((v) => v.toString(16))} gives ${b[d].toString(16)}`,
            );
        });
        const p = new Bounds(g.count + SPARE);
        g.sources.forEach((node, k) => {
          if (node < 0) return;
          if (constant[k]) p.setConstant(node, g.widths[node], low(values[k]), high(values[k]));
          else p.setTop(node, g.widths[node]);
        });
        evaluate(g, p);
        equal.of(g, p, wanted).forEach((k, d) => {
          if (k < 0 || constant[k]) return;
          kept++;
          expect([op.name, mods, d, a[d] & masks[d]]).toEqual([op.name, mods, d, values[k] & masks[d]]);
        });
      }
  });
  it('is so often enough for this to mean something', () => {
    expect(hidden).toBeGreaterThan(10_000);
    expect(kept).toBeGreaterThan(300);
  });
});

describe('unneeded-bits', () => {
  /** Random values of two inputs, of which some are stored in part. */
  function straight(rnd: Random): string {
    const lines: string[] = [];
    const names = ['R0', 'R1'];
    const any = (): string => names[Math.max(0, names.length - 1 - rnd.below(4))];
    const mask = (): string => ['255', '0xffff', '0x7f', '0xff00', '0xfffffff0', '15'][rnd.below(6)];
    for (let k = 2; k < 16; k++) {
      const to = `R${k}`;
      const line = [
        `LOP3 ${to}, ${any()}, ${mask()}, RZ, 0xc0`,
        `LOP3 ${to}, ${any()}, ${mask()}, RZ, 0xfc`,
        `LOP3 ${to}, ${any()}, ${any()}, ${mask()}, ${rnd.below(256)}`,
        `IADD3 ${to}, ${any()}, ${[any(), '256', '0x10000', '-1'][rnd.below(4)]}`,
        `IMAD ${to}, ${any()}, ${any()}, ${any()}`,
        `SHL ${to}, ${any()}, ${rnd.below(20)}`,
        `SHR.${['U32', 'S32'][rnd.below(2)]} ${to}, ${any()}, ${rnd.below(20)}`,
        `PRMT ${to}, ${any()}, ${rnd.below(65536)}, ${any()}`,
        `SEL ${to}, ${any()}, ${any()}, P40`,
      ][rnd.below(9)];
      lines.push(line);
      names.push(to);
    }
    lines.push(
      `STG.U8 [RD30], ${any()}`,
      `STG.U16 [RD30+2], ${any()}`,
      `STG.U8.V2 [RD30+4], {${any()}, ${any()}}`,
    );
    return `BB0:\n${lines.join('\n')}\nEXIT`;
  }

  it('keeps what stores see, and finds nothing more in what it leaves', () => {
    const rnd = new Random('unneeded-bits');
    let changed = 0;
    for (let round = 0; round < runs(300); round++) {
      const fn = parseFn(straight(rnd), isa);
      const out = runPass('unneeded-bits', fn, testContext(fn));
      expect(runPass('unneeded-bits', out, testContext(out)) === out, printFn(out)).toBe(true);
      if (out !== fn) changed++;
      for (let k = 0; k < 4; k++) {
        const inputs = new Map(
          [0, 1, 40].map((r) => [
            makeReg(r, r === 40 ? RegFile.P : RegFile.R),
            r === 40 ? BigInt(rnd.below(2)) : operandValue(rnd, 32),
          ]),
        );
        const stored = [fn, out].map((f) => {
          const seen: string[] = [];
          let all: ReadonlyMap<number, bigint> = new Map();
          const done = runSsa(f, inputs, 100, (_from, _to, { values }) => {
            all = values;
          });
          expect(done).toBe(true);
          for (const x of f.blocks[0].ins)
            for (const o of x.src.slice(1)) {
              const bytes = storedElements(x)?.bytes;
              if (bytes !== undefined) seen.push(BigInt.asUintN(8 * bytes, all.get(o.reg)!).toString(16));
            }
          return seen;
        });
        expect(stored[1], `${printFn(fn)}\n${printFn(out)}`).toEqual(stored[0]);
        expect(stored[0]).toHaveLength(4);
      }
    }
    expect(changed).toBeGreaterThan(runs(300) / 3);
  });

  it('sees every bit of what is no value: addresses, operands of calls, results, guards and words', () => {
    const fn = parseFn(
      `BB0:
LOP3 R1, R0, 255, RZ, 0xc0
STG [RD30], R1
LOP3 R2, R0, 255, RZ, 0xc0
ATOMG.ADD R3, [RD30], R2
ISETP.EQ P5, R3, 1
@P5 STG.U8 [RD30], R0
EXIT`,
      isa,
    );
    const { low: l } = demandedOf(fn);
    for (const r of [1, 2, 3, 30]) expect([r, bitsOf(l[r], 0)]).toEqual([r, 32]);
    expect(runPass('unneeded-bits', fn, testContext(fn))).toBe(fn);
  });

  it('runs in the plan: bytes that were words are stored as they are, and words keep their masks', async () => {
    const plan = (await planWith({ order: 'binary' })).plan!;
    // `st.u8` stores the lowest 8 bits of a wider register (PTX ISA 9.0, operand size exceeding instruction-type size).
    const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b64 %rd; .reg .b32 %r<5>; .reg .b16 %h<5>;
ld.param.u64 %rd, [a]; ld.global.v2.u32 {%r1, %r2}, [%rd]; cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;
st.global.v2.u8 [%rd], {%h1, %h2}; and.b32 %r3, %r1, 65535; st.global.u32 [%rd+4], %r3; ret; }`;
    const masks = (p: Plan): number => {
      const paramBase = Number(p.backend.facts['param-base']);
      const { program } = lowerPtx(parsePtx(text, 'k').module, { isa: p.isa, paramBase, sm: p.sm });
      return runPipeline(program, p)
        .last.functions[0].blocks.flatMap((b) => b.ins)
        .filter((x) => x.op.name === 'LOP3').length;
    };
    expect(masks(plan)).toBe(1);
    expect(masks((await planWith({ order: 'binary', disable: ['GeneralOptimize'] })).plan!)).toBeGreaterThan(
      1,
    );
  });
});
