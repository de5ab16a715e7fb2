import { WARP_SIZE } from '../../analysis/flow/block-shape.ts';
import { isCall } from '../../analysis/memory/memory-ops.ts';
import { Once, onceOf } from '../../analysis/registers/uniform-registers.ts';
import { enteredByWholeWarps } from '../../analysis/synchronization/convergent-operations.ts';
import { divergenceOf, lanesAt } from '../../analysis/uniformity/divergence.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { toRegs } from '../../ir/edit.ts';
import { memo } from '../../ir/memo.ts';
import { Lanes, modOf, withMods } from '../../ir/opcode.ts';
import {
  imm,
  immOf,
  immValue,
  Kind,
  Mod,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  reg,
  regIndex,
  withOperandMods,
} from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';

const MODE = 'OptimizeUniformAtomicMode';
/** Value of the knob that requests the rewrite everywhere (reference passes-e). */
const ALWAYS = 1;

/**
 * Phase 44, OptimizeUniformAtomic: atomic operations of a warp on one place become one.
 *
 *     before                                    after
 *     BB0:                                      BB0:
 *           ATOMG.ADD.NORTN [RD1], R2              VOTE.ANY R3, _, PT, 0xffffffff
 *                                                     REDUX.ADD R4, R2, R3
 *                                                     FLO.U32 R5, R3
 *                                                     S2R.LANEID R6
 *                                                     ISETP.EQ.U32 P7, R6, R5
 *                                                 @P7 ATOMG.ADD.NORTN [RD1], R4
 *
 * The lanes of the warp reduce their operands, and the highest of them applies the result. A sum of one constant needs no reduction,
 * only the number of lanes; an idempotent operation (and, or, minimum, maximum) needs none for a value that the lanes share. They share
 * what each has computed once, or all at the same time (`onceOf`): lanes that run together after they had diverged may hold a loop
 * counter of different iterations.
 *
 * Only where all lanes of a warp that have not exited arrive (`enteredByWholeWarps`): they meet at the vote, which names them.
 * Elsewhere nothing in PTX names lanes that are sure to reconverge: those that `activemask` gives need not stay together (PTX ISA 9.0,
 * 9.7.13.8).
 *
 * Only relaxed operations of integers, with an address that the lanes of a warp share: then the place goes through fewer values, each of
 * which it could have had if the lanes had come one after the other, and no other access is ordered by them (PTX ISA 9.0, 8: a relaxed
 * operation orders nothing but its own place).
 *
 * Results that are read are those of lanes that come one after the other. What the place held is handed to all lanes; to that, a lane adds
 * the constant once for each lane below it, or applies an idempotent operation if it is not the one that did so in memory:
 *
 *           ATOMG.ADD R9, [RD1], 1                 ...
 *                                              @P7 ATOMG.ADD R10 else R11, [RD1], R4
 *                                                  SHFL.IDX R12, R10, R5, 31, -1
 *                                                  S2R.LANEMASK_LT R13
 *                                                  LOP3 R14, R13, R3, RZ, 0xc0
 *                                                  POPC R15, R14
 *                                                  IMAD R9, 1, R15, R12
 *
 * If the operands differ, each lane needs what the lanes below it contribute: five steps of SHFL.UP (Hillis and Steele, "Data parallel
 * algorithms", 1986) give it to all of them, and the highest lane has the sum for the memory. A lane that has left would be a gap in
 * these steps, so they are written only where no lane can leave before the others (`nobodyLeaves`).
 *
 * A guard is what the lanes vote about. One that holds for one lane of a warp at most keeps the atomic as it is. So do 64 bits, which
 * REDUX and SHFL do not have, except for idempotent operations and sums of constants of 32 bits whose results are unused.
 *
 * The leading lane is the highest, by FLO; without a guard ELECT chooses one where the target has it, from sm_90.
 *
 * It runs where knob OptimizeUniformAtomicMode is 1. If the knob is unset, the original decides by a property of the function, which
 * PTX cannot express. One instruction becomes up to 26, so the instruction count grows; ptxas does the same for plain reductions
 * itself.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing, because the guard of the
 * resulting atomic holds for one lane.
 * Bound: each instruction once.
 */
export const uniformAtomics: Pass = (fn, ctx) => {
  if (ctx.knob(MODE) !== ALWAYS) return fn;
  return edit(
    fn,
    (d) => {
      const whole = enteredByWholeWarps(fn);
      for (const [at, block] of fn.blocks.entries()) {
        const b = d.blockById(block.id);
        for (let n = d.first(b), next: number; n >= 0; n = next) {
          next = d.next(n);
          const x = d.at(n);
          if (!mayCombine(fn, at, x) || isOneLane(d, fn, at, x.guard)) continue;
          const isRead = x.dst.some((r) => r !== NO_REG && d.useCount(r) > 0);
          const how = wayOf(fn, at, x, isRead, ctx);
          if (how === null) continue;
          if (whole?.[at] !== 1) {
            const why = 'no operation of PTX names the lanes of a warp that run it together';
            ctx.remark('missed', 'atomic-combined', `${printInstr(x)}: ${why}`, { block: block.id, ins: x });
            continue;
          }
          if (!ctx.mayRewrite('atomic-combined', block.id, x)) return;
          ctx.remark('passed', 'atomic-combined', `${printInstr(x)}: once for the lanes that run it`, {
            block: block.id,
            ins: x,
          });
          combine(d, n, how, isRead, ctx);
        }
      }
    },
    ctx.isa,
  );
};

/**
 * The operand of the combined operation: the operands reduced, or summed up lane by lane; the constant times the number of lanes; or the
 * operand itself.
 */
type Way = 'reduced' | 'scanned' | 'counted' | 'same';

const OPS: ReadonlySet<string> = new Set(['ADD', 'MIN', 'MAX', 'AND', 'OR', 'XOR']);
/** Operations that change nothing when applied again. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['MIN', 'MAX', 'AND', 'OR']);
const WIDTHS: Readonly<Record<string, number>> = { U32: 32, S32: 32, U64: 64, S64: 64 };
const widthOf = (x: Instr): number | undefined => WIDTHS[modOf(x.op, x.mods, 'type')];

function mayCombine(fn: Fn, at: number, x: Instr): boolean {
  if (x.op.primitive !== 'atomic') return false;
  const mod = (group: string): string => modOf(x.op, x.mods, group);
  if (mod('sem') !== 'RELAXED' || !OPS.has(mod('op')) || widthOf(x) === undefined) return false;
  const [where] = x.src;
  return where.kind === Kind.Addr && (where.reg === NO_REG || agree(fn, where.reg, at));
}

/** Do the lanes that run an instruction of the block at one time agree on the register, even if some are in another iteration? */
const agree = (fn: Fn, r: Reg, at: number): boolean =>
  lanesAt(divergenceOf(fn), r, at) < Lanes.Varying && onceOf(fn)[regIndex(r)] !== Once.No;

/** Does the guard hold for one lane of a warp at most: the one whose number all lanes agree on? */
function isOneLane(d: Draft, fn: Fn, at: number, guard: Reg): boolean {
  const n = guard === NO_REG ? -1 : d.def(guard);
  if (n < 0) return false;
  const { op, mods, src, dst } = d.at(n);
  if (op.primitive === 'elect') return true;
  if (op.name !== 'ISETP' || modOf(op, mods, 'cmp') !== 'EQ' || dst[0] !== guard) return false;
  const isOwn = (o: Operand): boolean => {
    const own = o.reg === NO_REG ? -1 : d.def(o.reg);
    return own >= 0 && d.at(own).op.name === 'S2R' && modOf(d.at(own).op, d.at(own).mods, 'sr') === 'LANEID';
  };
  const isShared = (o: Operand): boolean => o.kind === Kind.Imm || (o.reg !== NO_REG && agree(fn, o.reg, at));
  return (isOwn(src[0]) && isShared(src[1])) || (isOwn(src[1]) && isShared(src[0]));
}

function wayOf(fn: Fn, at: number, x: Instr, isRead: boolean, ctx: PassContext): Way | null {
  const op = modOf(x.op, x.mods, 'op');
  const value = x.src[1];
  const wide = widthOf(x) === 64;
  if (isRead && wide) return null;
  const shared = value.kind === Kind.Imm || (value.reg !== NO_REG && agree(fn, value.reg, at));
  if (shared && IDEMPOTENT.has(op)) return 'same';
  if (shared && op === 'ADD') return !wide || isShort(value) ? 'counted' : null;
  if (wide) return null;
  if (isRead) return nobodyLeaves(fn) ? 'scanned' : null;
  return ctx.fact('capabilities.redux') === true && value.kind === Kind.Reg ? 'reduced' : null;
}

/**
 * Does every lane of a warp run until the others end too? One unguarded exit is where all paths of the kernel end; what it calls may have
 * others.
 */
const nobodyLeaves: (fn: Fn) => boolean = memo((fn) => {
  const all = fn.blocks.flatMap((b) => b.ins);
  const exits = all.filter(({ op }) => op.primitive === 'exit');
  return exits.length === 1 && exits[0].guard === NO_REG && !all.some(isCall);
});

/** Is it a constant of 64 bits that sign extension of 32 bits gives? */
function isShort(o: Operand): boolean {
  if (o.kind !== Kind.Imm) return false;
  const v = BigInt.asIntN(64, immValue(o, 64));
  return v === BigInt.asIntN(32, v);
}

function combine(d: Draft, n: Ins, how: Way, isRead: boolean, ctx: PassContext): void {
  const x = d.at(n);
  const { R, RD, P } = RegFile;
  const { op, mods, loc, guard, guardNot } = x;
  const place = (ins: Instr): void => {
    d.insertBefore(n, ins);
  };
  /** Writes an instruction in front of the atomic. @returns its results */
  const puts = (
    name: string,
    words: readonly string[],
    files: readonly number[],
    src: readonly Operand[],
  ): Reg[] => {
    const by = ctx.isa.byName.get(name)!;
    const to = files.map((f) => d.freshReg(f));
    const dst = by.dsts.map((_, k) => to[k] ?? NO_REG);
    place(instr(by, withMods(by, 0, ...words), dst, src, loc));
    return to;
  };
  const put = (name: string, words: readonly string[], file: number, src: readonly Operand[]): Reg =>
    puts(name, words, [file], src)[0];
  const kind = modOf(op, mods, 'op');
  const type = modOf(op, mods, 'type');
  const asked = guard === NO_REG ? PT : withOperandMods(reg(guard), guardNot ? Mod.Not : 0);
  const lanes = put('VOTE', ['ANY'], R, [asked, imm(-1)]);
  const [where, value, ...rest] = x.src;
  /** How two values of lanes become one. */
  const [joining, words, third] = JOINS[kind](type);
  let applied = value;
  let below: Operand | null = null;
  if (how === 'counted') {
    const count = put('POPC', [], R, [reg(lanes)]);
    applied = reg(
      widthOf(x) === 64
        ? put('IMAD_WIDE', ['S32'], RD, [reg(count), immOf(immValue(value, 64), 32), imm(0)])
        : put('IMAD', [], R, [value, reg(count), imm(0)]),
    );
  } else if (how === 'reduced') {
    const by = ctx.isa.byName.get('REDUX')!;
    const bits = kind === 'AND' || kind === 'OR' || kind === 'XOR';
    const named = withMods(by, 0, kind, ...(bits ? [] : [type]));
    const to = d.freshReg(R);
    // Only lanes that the mask names may take part.
    const otherwise = guard === NO_REG ? [] : [put('MOV', [], R, [imm(0)])];
    place(instr(by, named, [to], [value, reg(lanes)], loc, guard, guardNot, otherwise));
    applied = reg(to);
  } else if (how === 'scanned') {
    const nothing = imm(neutral(kind, type));
    let sum = guard === NO_REG ? value : reg(put('SEL', [], R, [value, nothing, asked]));
    if (sum.kind !== Kind.Reg) sum = reg(put('MOV', [], R, [sum]));
    for (let step = 1; step < WARP_SIZE; step *= 2) {
      const [from, isThere] = puts('SHFL', ['UP'], [R, P], [sum, imm(step), imm(0), imm(-1)]);
      const more = put(joining, words, R, [sum, reg(from), ...third]);
      sum = reg(put('SEL', [], R, [reg(more), sum, reg(isThere)]));
    }
    applied = sum;
    const [from, isThere] = puts('SHFL', ['UP'], [R, P], [sum, imm(1), imm(0), imm(-1)]);
    below = reg(put('SEL', [], R, [reg(from), nothing, reg(isThere)]));
  }
  let first: Reg;
  let chosen: Reg;
  // Of the lanes below it, only the highest knows what all contribute.
  if (guard === NO_REG && how !== 'scanned' && ctx.fact('capabilities.elect') === true)
    [first, chosen] = puts('ELECT', [], [R, P], [reg(lanes)]);
  else {
    first = put('FLO', ['U32'], R, [reg(lanes)]);
    const own = put('S2R', ['LANEID'], R, []);
    chosen = put('ISETP', ['EQ', 'U32'], P, [reg(own), reg(first), PT]);
  }
  const once = (to: Reg, otherwise: readonly Reg[]): Instr =>
    instr(
      op,
      mods,
      toRegs(x.dst, (_, k) => (k === 0 ? to : NO_REG)),
      [where, applied, ...rest],
      loc,
      chosen,
      false,
      otherwise,
    );
  if (!isRead) {
    d.replace(n, once(NO_REG, []));
    return;
  }
  const found = d.freshReg(R);
  const none = put('MOV', [], R, [imm(0)]);
  place(once(found, [none]));
  const before = reg(put('SHFL', ['IDX'], R, [reg(found), reg(first), LAST_LANE, imm(-1)]));
  const [result] = x.dst;
  // The result is written by the instruction that takes the place of the atomic, under its guard.
  const give = (name: string, src: readonly Operand[], ...named: string[]): void => {
    const by = ctx.isa.byName.get(name)!;
    const dst = by.dsts.map((_, k) => (k === 0 ? result : NO_REG));
    const otherwise = guard === NO_REG ? [] : dst.map((_, k) => (k === 0 ? x.otherwise[0] : NO_REG));
    d.replace(n, instr(by, withMods(by, 0, ...named), dst, src, loc, guard, guardNot, otherwise));
  };
  if (how === 'counted') {
    const lower = put('LOP3', [], R, [reg(put('S2R', ['LANEMASK_LT'], R, [])), reg(lanes), imm(0), AND]);
    give('IMAD', [value, reg(put('POPC', [], R, [reg(lower)])), before]);
  } else if (below !== null) give(joining, [before, below, ...third], ...words);
  else give('SEL', [before, reg(put(joining, words, R, [before, value, ...third])), reg(chosen)]);
}

const LAST_LANE = imm(31);
const [AND, OR, XOR] = [0xc0, 0xfc, 0x3c].map(imm);

/** By operation: the opcode that joins two values of 32 bits of a type, its modifiers, and the operands after the values. */
const JOINS: Readonly<
  Record<string, (type: string) => readonly [string, readonly string[], readonly Operand[]]>
> = {
  ADD: () => ['IADD3', [], [imm(0)]],
  AND: () => ['LOP3', [], [imm(0), AND]],
  OR: () => ['LOP3', [], [imm(0), OR]],
  XOR: () => ['LOP3', [], [imm(0), XOR]],
  MIN: (type) => ['IMNMX', ['MIN', type], []],
  MAX: (type) => ['IMNMX', ['MAX', type], []],
};

/** The value of 32 bits that changes no other. */
function neutral(kind: string, type: string): number {
  if (kind === 'AND') return -1;
  if (kind === 'MIN') return type === 'S32' ? 2 ** 31 - 1 : -1;
  return kind === 'MAX' && type === 'S32' ? -(2 ** 31) : 0;
}
