import { TargetOperations } from '../../analysis/schedule/target-operations.ts';
import { rangeOf, rangesOf } from '../../analysis/values/ranges.ts';
import { type Draft, edit } from '../../ir/draft/index.ts';
import { toOperands, withGuard, withSrc } from '../../ir/edit.ts';
import { hasMod, modOf, withMods } from '../../ir/opcode.ts';
import {
  imm,
  Kind,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  withOperandMods,
} from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { valuesOf } from '../../rules/fold.ts';
import type { Pass } from '../pass.ts';

/**
 * Phase PromoteFP16: half-precision operations that the target lacks are computed in single precision.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           LDG.U16 R1, [RD2]                   LDG.U16 R1, [RD2]
 *           HADD2 R3, R1, R1                    F2F.F32.F16 R4, R1
 *                                               F2F.F32.F16 R5, R1
 *                                               FADD.RN R6, R4, R5
 *                                               F2F.F16.F32 R3, R6
 *
 * Each result is rounded to a half again, so a register holds what it held before; both halves of a pair are computed, unless the high
 * one is known to be zero. Rounding twice gives the same as rounding once:
 * - a product of halves has 22 bits and is exact in f32;
 * - a sum is exact, or 24 bits are enough: twice the 11 of a half and two more (Figueroa, "When is Double Rounding Innocuous?", 1995);
 * - a fused product and sum is not exact, so the sum is rounded to odd first: truncated, and its last bit set if anything was lost (Boldo
 *   and Melquiond, "Emulation of a FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", 2008: two bits more are
 *   enough).
 *
 * The back end's `operations` say what the target lacks. Not promoted: bfloat16, whose range is that of f32; FTZ, as a subnormal half
 * is not subnormal in f32; RELU, NAN and XORSIGN, which f32 has on no target that lacks halves.
 *
 * Requires: nothing. Guarantees: the same blocks and edges; equal results in every bit. A second application changes nothing.
 * Bound: each instruction is examined once; up to 26 instructions for one.
 */
export const promoteHalf: Pass = (fn, ctx) => {
  const target = new TargetOperations((ctx.fact('operations') ?? {}) as Readonly<Record<string, string>>);
  const lacks = (x: Instr): boolean =>
    x.op.unit === 'fp16' && PROMOTED.has(x.op.name) && !['native', 'none'].includes(target.supportOf(x));
  if (!fn.blocks.some((b) => b.ins.some(lacks))) return fn;
  return edit(
    fn,
    (d) => {
      const scalars = new Scalars(d, fn);
      for (const b of d.layout())
        for (let n = d.first(b), next = -1; n >= 0; n = next) {
          next = d.next(n);
          const x = d.at(n);
          if (!PROMOTED.has(x.op.name)) continue;
          const single = scalars.isScalar(x);
          if (!lacks(x)) continue;
          const at = { block: d.id(b), ins: x };
          const why = refusal(x);
          if (why !== null) ctx.remark('missed', 'half-kept', `${printInstr(x)}: ${why}`, at);
          else if (ctx.mayRewrite('half-promoted', at.block, x)) {
            const list = new Promotion(d, x, single).list;
            ctx.remark(
              'passed',
              'half-promoted',
              `${printInstr(x)}: ${list.length} operations${single ? ', for the low half alone' : ''}`,
              at,
            );
            for (const y of list.slice(0, -1)) d.insertBefore(n, y);
            d.replace(n, list.at(-1)!);
          }
        }
    },
    ctx.isa,
  );
};

const PROMOTED: ReadonlySet<string> = new Set(['HADD2', 'HMUL2', 'HFMA2', 'HMNMX2', 'HSETP2', 'HSET2']);

/** Why an operation cannot be computed in f32 with the same result; null if it can. */
function refusal(x: Instr): string | null {
  const { op, mods } = x;
  if (hasMod(op, mods, 'BF16')) return 'bfloat16 has the range of f32';
  if (hasMod(op, mods, 'FTZ')) return 'it flushes subnormal halves, which are normal in f32';
  for (const m of ['RZ', 'RM', 'RP', 'RELU', 'NAN', 'XORSIGN'])
    if (m !== 'NAN' || op.name === 'HMNMX2') if (hasMod(op, mods, m)) return `.${m} is not promoted`;
  // Two predicates are written one after the other, and the second may read the first.
  if (
    op.name === 'HSETP2' &&
    isPacked(x) &&
    x.dst.some((r) => r !== NO_REG && (r === x.guard || x.src[2]?.reg === r))
  )
    return 'it reads a predicate that it writes';
  return null;
}

const isPacked = (x: Instr): boolean => hasMod(x.op, x.mods, 'PACKED');

/**
 * Finds operations on single halves: the high halves of operands and result are known to be zero. `isScalar` must be called for every
 * operation, in order, because it uses the results of earlier calls.
 */
class Scalars {
  private readonly d: Draft;
  private readonly fn: Fn;
  /** Results of operations on single halves. */
  private readonly withZeroLow = new Set<Reg>();

  constructor(d: Draft, fn: Fn) {
    this.d = d;
    this.fn = fn;
  }

  isScalar(x: Instr): boolean {
    if (x.op.name === 'HSETP2' || x.op.name === 'HSET2') return !isPacked(x);
    if (!x.src.every((o) => this.isLow(o))) return false;
    const [v] = valuesOf(
      withSrc(
        x,
        toOperands(x.src, (o) => withOperandMods(imm(0), o.mods)),
      ),
    );
    if (v === null || v >> 16n !== 0n) return false;
    if (x.guard === NO_REG && this.d.def(x.dst[0]) >= 0) this.withZeroLow.add(x.dst[0]);
    return true;
  }

  private isLow(o: Operand): boolean {
    if (o.kind === Kind.Imm) return o.lo >>> 16 === 0;
    if (o.kind !== Kind.Reg || o.reg === NO_REG) return false;
    return this.withZeroLow.has(o.reg) || rangeOf(rangesOf(this.fn), o.reg).zeroLow >>> 16 === 0xffff;
  }
}

/** Writes one operation in f32; the last instruction of the list writes its result, under its guard. */
class Promotion {
  readonly list: Instr[] = [];
  private readonly d: Draft;
  private readonly x: Instr;

  constructor(d: Draft, x: Instr, single: boolean) {
    this.d = d;
    this.x = x;
    if (x.op.name === 'HSETP2') this.compare();
    else if (x.op.name === 'HSET2') this.mask();
    else if (single) this.last('F2F', this.rounding(), [this.computed(false)]);
    else {
      const [low, high] = [false, true].map((h) => this.value('F2F', this.rounding(), [this.computed(h)]));
      this.last('PRMT', [], [low, imm(LOW_HALVES), high]);
    }
  }

  private rounding(): string[] {
    const { op, mods } = this.x;
    return ['dt=F16', 'st=F32', 'RN', ...(hasMod(op, mods, 'SAT') ? ['SAT'] : [])];
  }

  /** The low or high half of an operand, in f32. */
  private half(o: Operand, high: boolean): Operand {
    let from = o;
    if (o.kind === Kind.Imm) from = withOperandMods(imm(high ? o.lo >>> 16 : o.lo & 0xffff), o.mods);
    else if (high)
      from = withOperandMods(this.value('SHR', ['U32'], [withOperandMods(o, 0), imm(16)]), o.mods);
    return this.value('F2F', ['dt=F32', 'st=F16'], [from]);
  }

  /** The result for the low or the high halves, in f32. */
  private computed(high: boolean): Operand {
    const { op, mods, src } = this.x;
    const [a, b, c] = src.map((o) => this.half(o, high));
    switch (op.name) {
      case 'HADD2':
        return this.value('FADD', ['RN'], [a, b]);
      case 'HMUL2':
        return this.value('FMUL', ['RN'], [a, b]);
      case 'HMNMX2':
        return this.value('FMNMX', [modOf(op, mods, 'op')], [a, b]);
      default:
        return this.fused(a, b, c);
    }
  }

  /** a * b + c, rounded to odd. The product is exact. */
  private fused(a: Operand, b: Operand, c: Operand): Operand {
    const product = this.value('FMUL', ['RN'], [a, b]);
    const [below, above, cut] = ['RM', 'RP', 'RZ'].map((rnd) => this.value('FADD', [rnd], [product, c]));
    const lost = this.d.freshReg(RegFile.P);
    this.add('FSETP', ['NE'], [lost, NO_REG], [below, above, PT]);
    const bit = this.value('SEL', [], [imm(1), RZ, reg(lost)]);
    return this.value('LOP3', [], [cut, bit, RZ, imm(OR)]);
  }

  /** Compares the low or the high halves into a predicate. */
  private compared(high: boolean, dst: readonly Reg[], final = false): void {
    const { op, mods, src } = this.x;
    const operands = [...src.slice(0, 2).map((o) => this.half(o, high)), ...src.slice(2)];
    const names = [modOf(op, mods, 'cmp'), modOf(op, mods, 'bool')];
    if (final) this.last('FSETP', names, operands, dst);
    else this.add('FSETP', names, dst, operands);
  }

  private compare(): void {
    const { x } = this;
    if (!isPacked(x)) return this.compared(false, x.dst, true);
    if (x.dst[0] !== NO_REG && (x.dst[1] ?? NO_REG) !== NO_REG) {
      this.compared(false, [x.dst[0], NO_REG]);
      this.list.push(withGuard(this.list.pop()!, x.guard, x.guardNot));
    }
    const high = (x.dst[1] ?? NO_REG) !== NO_REG;
    this.compared(high, [high ? x.dst[1] : x.dst[0], NO_REG], true);
  }

  private mask(): void {
    const { x } = this;
    const yes = !hasMod(x.op, x.mods, 'BF') ? 0xffff : 0x3c00;
    const select = (high: boolean, final: boolean): Operand => {
      const p = this.d.freshReg(RegFile.P);
      this.compared(high, [p, NO_REG]);
      const src = [imm(high ? yes << 16 : yes), RZ, reg(p)];
      if (!final) return this.value('SEL', [], src);
      this.last('SEL', [], src);
      return RZ;
    };
    if (!isPacked(x)) select(false, true);
    else this.last('LOP3', [], [select(false, false), select(true, false), RZ, imm(OR)]);
  }

  private add(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.d.opcode(name);
    this.list.push(instr(op, withMods(op, 0, ...mods), dst, src, this.x.loc));
  }

  /** Appends an instruction with a fresh register for its result. */
  private value(name: string, mods: readonly string[], src: readonly Operand[]): Operand {
    const r = this.d.freshReg(RegFile.R);
    this.add(name, mods, [r], src);
    return reg(r);
  }

  private last(
    name: string,
    mods: readonly string[],
    src: readonly Operand[],
    dst: readonly Reg[] = this.x.dst,
  ): void {
    const op = this.d.opcode(name);
    const { loc, guard, guardNot, otherwise } = this.x;
    this.list.push(instr(op, withMods(op, 0, ...mods), dst, src, loc, guard, guardNot, otherwise));
  }
}

/** Selector of PRMT: the low halves of two registers. */
const LOW_HALVES = 0x5410;
/** Truth table of a | b. */
const OR = 0xfc;
