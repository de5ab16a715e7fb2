import { Mod, type Slot, slotWidth, withMods } from '../../src/ir/opcode.ts';
import {
  addr,
  cbank,
  immOf,
  Kind,
  makeReg,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  reg,
} from '../../src/ir/operand.ts';
import { type Instr, instr, newShape, type Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { FILE_OF_WIDTH, mayStand } from '../../src/rules/fit.ts';
import type { Instance, Rule, Source } from '../../src/rules/rule.ts';
import { constantsFor } from '../../src/rules/witness.ts';
import { testIsa } from './isa.ts';
import type { Random } from './meaning.ts';

/*
 * Random kernels made of rule patterns with operands drawn from few registers, so that results are overwritten, guarded, read across
 * blocks and loops, copied before the copied value changes, and mixed with one another.
 */
const isa = testIsa();
const op = (name: string) => isa.byName.get(name)!;

/** Offset of kernel parameters in constant bank 0. */
export const BASE = 0x160;
/** Number of words that each thread reads, and that it writes. */
export const WORDS = 32;

const POOL: Readonly<Record<number, readonly Reg[]>> = {
  1: [30, 31, 32, 33].map((i) => makeReg(i, RegFile.P)),
  32: [10, 11, 12, 13, 14, 15].map((i) => makeReg(i, RegFile.R)),
  64: [20, 21, 22, 23].map((i) => makeReg(i, RegFile.RD)),
};
const WIDTHS = [1, 32, 64] as const;
/** Registers written once each; the address of the thread's words, and a second one in shared memory. */
const FIRST_FRESH = 60;
const LAST_FRESH = 95;
const BUFFER = makeReg(3, RegFile.RD);
const SHARED = makeReg(5, RegFile.R);

/** Control-flow graphs: `*` stands for instructions to be drawn; R7 counts a loop. */
const CALL = 'CALL {R13, RD22}, &g, &, {R10, R12, RD20}';
const GRAPHS = [
  ['*'],
  ['@P30 BRA BB2', 'BB1:', '*', 'BB2:', '*'],
  ['*', '@!P31 BRA BB2', 'BB1:', '*', 'BRA BB3', 'BB2:', '*', 'BB3:', '*'],
  ['*', 'MOV R7, 3', 'BB1:', '*', 'IADD3 R7, R7, -1', 'ISETP.GT P9, R7, 0', '@P9 BRA BB1', 'BB2:', '*'],
  [
    ...['*', 'MOV R7, 3', 'BB1:', '*', '@P32 BRA BB3', 'BB2:', '*', 'BB3:', '*'],
    ...['IADD3 R7, R7, -1', 'ISETP.GT P9, R7, 0', '@P9 BRA BB1', 'BB4:', '*'],
  ],
  [
    '*',
    '@P30 BRA BB2',
    'BB1:',
    '*',
    '@P31 BRA BB3',
    'BB2:',
    '*',
    'BB3:',
    '*',
    '@P33 BRA BB5',
    'BB4:',
    '*',
    'BB5:',
    '*',
  ],
  ['*', CALL, '*', '@P30 BRA BB2', 'BB1:', '*', CALL, 'BB2:', '*'],
];

/** Placeholder for the instructions to be drawn. */
const MARK = makeReg(9, RegFile.R);

function skeleton(graph: readonly string[]): Program {
  const pool = (w: number) => POOL[w].map((r) => r >>> 3);
  const loads = [
    ...pool(32).map((r, i) => `LDG R${r}, [RD3+${4 * i}]`),
    ...pool(64).map((r, i) => `LDG.B64 RD${r}, [RD3+${32 + 8 * i}]`),
    ...pool(1).flatMap((r, i) => [`LDG R8, [RD3+${80 + 4 * i}]`, `ISETP.LT P${r}, R8, 0`]),
  ];
  const stores = [
    ...pool(32).map((r, i) => `STG [RD3+${4 * i}], R${r}`),
    ...pool(64).map((r, i) => `STG.B64 [RD3+${32 + 8 * i}], RD${r}`),
    ...pool(1).flatMap((r, i) => [`SEL R8, 1, 2, P${r}`, `STG [RD3+${80 + 4 * i}], R8`]),
  ];
  const body = [...loads, ...graph.map((l) => (l === '*' ? 'MOV R9, 0' : l)), ...stores, 'EXIT'];
  // A function whose parameters are in some of the registers; the others are derived from them.
  const g = [
    ...[
      '.func g',
      '  .param b32 a size 4 align 4 at 0 reg R10',
      '  .param b32 b size 4 align 4 at 4 reg R11',
    ],
    ...['  .param b64 c size 8 align 8 at 8 reg RD20', '  .return b32 r size 4 align 4 at 0 reg R12'],
    ...['  .return b64 s size 8 align 8 at 8 reg RD21', '  .regs 96', '{', 'BB0:'],
    ...pool(32)
      .slice(2)
      .map((r, i) => `IADD3 R${r}, R10, R11, ${i}`),
    ...pool(64)
      .slice(1)
      .map((r) => `PAIR RD${r}, R${r - 10}, R11`),
    ...pool(1).map((r, i) => `ISETP.LT P${r}, R${10 + i}, 0`),
    ...['MOV R9, 0', '@P30 BRA BB2', 'BB1:', 'MOV R9, 0', 'BB2:', 'MOV R9, 0', 'RET', '}'],
  ];
  const { program, diagnostics } = parseProgram(
    `.program "t" version 9.0 target sm_80 address 64\n.entry k\n  .param u64 p size 8 align 8 at 0\n  .regs 96\n{\nBB0:\nLDC.B64 RD1, c[0x0][0x160]\nS2R.TID.X R2\nIMAD_WIDE.U32 RD3, R2, ${4 * WORDS}, RD1\nMOV R4, 0\nIMAD R5, R2, ${4 * WORDS}, R4\n${body.join('\n')}\n}\n${graph.includes(CALL) ? `${g.join('\n')}\n` : ''}`,
    isa,
  );
  if (diagnostics.length > 0) throw new Error(diagnostics.map((d) => d.message).join('\n'));
  return program;
}
const SKELETONS = GRAPHS.map(skeleton);

/** A random kernel `k` of patterns of the given rules. */
export function randomPatterns(rules: readonly Rule[], rnd: Random): Program {
  const base = SKELETONS[rnd.below(SKELETONS.length)];
  const functions = base.functions.map((fn, n) => {
    const drawer = new Drawer(rules, rnd, n === 0);
    const blocks = fn.blocks.map((b) => ({
      ...b,
      ins: b.ins.flatMap((i) => (i.dst[0] === MARK ? drawer.some() : [i])),
    }));
    return { ...fn, blocks, regCount: 96, shape: newShape() };
  });
  return { ...base, functions };
}

class Drawer {
  private readonly rules: readonly Rule[];
  private readonly rnd: Random;
  private fresh = FIRST_FRESH;
  /** Single-definition registers already written, by width. */
  private readonly written: Record<number, Reg[]> = { 1: [], 32: [], 64: [] };

  /** True once the addresses of the thread's words are known. */
  private readonly memory: boolean;

  constructor(rules: readonly Rule[], rnd: Random, memory: boolean) {
    this.rules = rules;
    this.rnd = rnd;
    this.memory = memory;
  }

  some(): Instr[] {
    const out: Instr[] = [];
    for (let n = 1 + this.rnd.below(3); n > 0; n--) {
      const lines = this.pattern();
      // Other instructions are interleaved.
      for (const l of lines) {
        if (this.rnd.below(4) === 0) out.push(...this.noise());
        out.push(l);
      }
    }
    return out;
  }

  private pick<T>(xs: readonly T[]): T {
    return xs[this.rnd.below(xs.length)];
  }

  /** An initialised register. */
  private held(width: number): Reg {
    const own = this.written[width];
    return own.length > 0 && this.rnd.below(3) === 0 ? this.pick(own) : this.pick(POOL[width]);
  }

  private result(width: number): Reg {
    if (this.rnd.below(3) > 0 || this.fresh > LAST_FRESH) return this.pick(POOL[width]);
    const r = makeReg(this.fresh++, FILE_OF_WIDTH(width));
    this.written[width].push(r);
    return r;
  }

  private guarded(i: Instr): Instr {
    // A single-definition register must have a definition that dominates what follows.
    if (this.rnd.below(5) > 0 || i.dst.some((d) => d !== NO_REG && d >>> 3 >= FIRST_FRESH)) return i;
    return { ...i, guard: this.pick(POOL[1]), guardNot: this.rnd.below(2) === 0 };
  }

  /** Copies, constants, memory. */
  private noise(): Instr[] {
    const { rnd } = this;
    const width = this.pick([1, 32, 32, 64]);
    switch (rnd.below(this.memory ? 8 : 2)) {
      case 0:
        return [this.guarded(this.move(this.result(width), reg(this.held(width)), width))];
      case 1:
        return [
          this.guarded(
            this.move(this.result(width), immOf(BigInt(this.pick([0, 1, -1, 31, 0x80000000])), width), width),
          ),
        ];
      case 2:
        return [
          this.guarded(instr(op('STG'), 0, [], [addr(BUFFER, 4 * (24 + rnd.below(8))), reg(this.held(32))])),
        ];
      case 3: {
        const [where, at] = this.address();
        return [...where, this.guarded(instr(op('LDG'), 0, [this.result(32)], [at]))];
      }
      case 4: {
        const at = addr(SHARED, 4 * rnd.below(4));
        const store = rnd.below(2) === 0;
        return [
          this.guarded(
            store
              ? instr(op('STS'), 0, [], [at, reg(this.held(32))])
              : instr(op('LDS'), 0, [this.result(32)], [at]),
          ),
        ];
      }
      case 5: {
        const [where, at] = this.address();
        const add = withMods(op('ATOMG'), 0, 'ADD');
        return [
          ...where,
          this.guarded(instr(op('ATOMG'), add, [this.result(32)], [at, reg(this.held(32)), immOf(0n, 32)])),
        ];
      }
      case 6: {
        const [where, at] = this.address();
        const sem = withMods(op('LDG'), 0, 'VOLATILE');
        return [...where, this.guarded(instr(op('LDG'), sem, [this.result(32)], [at]))];
      }
      default: {
        const [where, at] = this.address();
        return [...where, this.guarded(instr(op('STG'), 0, [], [at, reg(this.held(32))]))];
      }
    }
  }

  /** A sum that is an address of the thread's words; its operands may be overwritten before it is used. */
  private address(): [Instr[], Operand] {
    const { rnd } = this;
    const mods = wideOf(op('IADD3'));
    const sum = (d: Reg, a: Reg, k: number): Instr =>
      instr(op('IADD3'), mods, [d], [reg(a), immOf(BigInt(k), 64), immOf(0n, 64)]);
    const base = this.result(64);
    const r = this.result(64);
    const ins = [this.move(base, reg(BUFFER), 64), sum(r, base, 4 * rnd.below(8))];
    if (r !== base && rnd.below(2) === 0) ins.push(this.guarded(sum(base, base, 4 * rnd.below(8))));
    return [ins, addr(r, 4 * rnd.below(16))];
  }

  private move(d: Reg, s: Operand, width: number): Instr {
    if (width !== 1) return instr(op('MOV'), width === 64 ? wideOf(op('MOV')) : 0, [d], [s]);
    const not = this.rnd.below(2) === 0 && s.kind === Kind.Reg ? Mod.Not : 0;
    return instr(op('PLOP3'), 0, [d], [{ ...s, mods: not }, immOf(1n, 1), immOf(1n, 1), immOf(0xf0n, 32)]);
  }

  /** The pattern of a rule. */
  private pattern(): Instr[] {
    for (;;) {
      const rule = this.pick(this.rules);
      if (rule.instances.length === 0) continue;
      const before = { fresh: this.fresh, counts: WIDTHS.map((w) => this.written[w].length) };
      const lines = this.lines(rule, this.pick(rule.instances));
      if (lines !== null) return lines;
      // A register that nothing writes is not read.
      this.fresh = before.fresh;
      for (const [i, w] of WIDTHS.entries()) this.written[w].length = before.counts[i];
    }
  }

  private lines(rule: Rule, instance: Instance): Instr[] | null {
    const { rnd } = this;
    let constants = constantsFor(rule, instance, rnd.below(12)) ?? constantsFor(rule, instance, 0);
    constants ??= rule.vars.map((_, i) => BigInt.asUintN(instance.widths[i] || 32, BigInt(rnd.next())));
    const results = rule.vars.map(() => NO_REG);
    const operands = rule.vars.map((v, i): Operand | null => {
      const width = instance.widths[i] || 32;
      if (v.kind === 'const' || v.line >= 0 || v.fresh || POOL[width] === undefined) return null;
      const pick = rnd.below(12);
      if (pick === 0) return immOf(BigInt(rnd.below(3) - 1), width);
      if (pick === 1) return { ...reg(this.held(width)), mods: this.pick([Mod.Neg, Mod.Abs, Mod.Not]) };
      if (pick === 2 && width === 32) return cbank(0, 0x160);
      return reg(this.held(width));
    });
    const out: Instr[] = [];
    for (const [n, l] of rule.match.entries()) {
      if (l.op === null) {
        // The base is an address only if the pattern can produce one.
        return out.length > 0 ? out : null;
      }
      const mods = instance.match[n];
      const o = l.op;
      const src: Operand[] = [];
      for (const [k, s] of l.src.entries()) {
        const slot = o.srcs[k];
        const width = slot.bank === 'p' ? 1 : slotWidth(o, mods, slot) || 32;
        const x = this.source(s, slot, width, operands, results, constants);
        if (x === null || !mayStand(x, slot, slotWidth(o, mods, slot))) return null;
        src.push(x);
      }
      const dst: Reg[] = [];
      for (const [k, d] of l.dst.entries()) {
        const width = o.dsts[k].bank === 'p' ? 1 : slotWidth(o, mods, o.dsts[k]) || 32;
        if (POOL[width] === undefined) return null;
        let r = d < 0 || (o.dsts[k].optional && rnd.below(3) === 0) ? NO_REG : this.result(width);
        if (r !== NO_REG && dst.includes(r)) r = NO_REG;
        if (r === NO_REG && !o.dsts[k].optional) {
          do r = this.pick(POOL[width]);
          while (dst.includes(r));
        }
        dst.push(r);
        if (d >= 0) results[d] = r;
      }
      out.push(this.guarded(instr(o, mods, dst, src)));
    }
    return out;
  }

  private source(
    s: Source,
    slot: Slot,
    width: number,
    operands: readonly (Operand | null)[],
    results: readonly Reg[],
    constants: readonly bigint[],
  ): Operand | null {
    switch (s.k) {
      case 'const':
        return immOf(constants[s.v], width);
      case 'literal':
        return immOf(s.value, width);
      case 'var': {
        const known = results[s.v] !== NO_REG ? reg(results[s.v]) : operands[s.v];
        if (known === null) return null;
        // Occasionally something other than what the pattern requires.
        const o = this.rnd.below(24) === 0 && POOL[width] !== undefined ? reg(this.held(width)) : known;
        if (o.kind === Kind.Imm) return s.mods === 0 ? o : null;
        if (o.kind === Kind.CBank) return s.mods === 0 ? o : { ...o, mods: s.mods };
        return { ...o, mods: o.mods ^ s.mods };
      }
      default:
        if (POOL[width] !== undefined && (slot.kinds & 1) !== 0) return reg(this.held(width));
        return (slot.kinds & 2) !== 0 ? immOf(BigInt(this.rnd.below(256)), width) : null;
    }
  }
}

const wides = new Map<string, number>();
/** The modifiers of the 64-bit form. */
function wideOf(o: { readonly name: string }): number {
  let m = wides.get(o.name);
  if (m === undefined) {
    const full = op(o.name);
    for (const g of full.groups)
      for (const [i] of g.values.entries())
        if (slotWidth(full, i << g.shift, full.dsts[0]) === 64) m ??= i << g.shift;
    wides.set(o.name, (m ??= 0));
  }
  return m;
}
