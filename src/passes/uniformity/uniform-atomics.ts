import { Once, onceOf } from '../../analysis/registers/uniform-registers.ts';
import { enteredByWholeWarps } from '../../analysis/synchronization/convergent-operations.ts';
import { divergenceOf, lanesAt } from '../../analysis/uniformity/divergence.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { toRegs, withGuard } from '../../ir/edit.ts';
import { Lanes, modOf, type Opcode, withMods } from '../../ir/opcode.ts';
import { imm, Kind, NO_REG, type Operand, PT, type Reg, RegFile, reg, regIndex } from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';

const MODE = 'OptimizeUniformAtomicMode';
/** Value of the knob that requests the rewrite everywhere (reference passes-e). */
const ALWAYS = 1;

/**
 * Phase 44, OptimizeUniformAtomic: atomic operations of a warp on one place become one, if none of their results is read.
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
 * Only relaxed operations on 32 bits, without a guard, with an address that the lanes of a warp share: then the place goes through
 * fewer values, each of which it could have had if the lanes had come one after the other, and no other access is ordered by them (PTX
 * ISA 9.0, 8: a relaxed operation orders nothing but its own place). Results that are read would need the value that each lane found.
 *
 * It runs where knob OptimizeUniformAtomicMode is 1. If the knob is unset, the original decides by a property of the function, which
 * PTX cannot express. One instruction becomes up to seven, so the instruction count grows; ptxas does the same for plain reductions
 * itself.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application changes nothing, because the resulting
 * atomic has a guard.
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
          if (!mayCombine(fn, at, x) || x.dst.some((r) => r !== NO_REG && d.useCount(r) > 0)) continue;
          const how = wayOf(fn, at, x, ctx);
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
          combine(d, n, how, ctx);
        }
      }
    },
    ctx.isa,
  );
};

/** The operand of the combined operation: the operands reduced, the constant times the number of lanes, or the operand itself. */
type Way = 'reduced' | 'counted' | 'same';

const OPS: ReadonlySet<string> = new Set(['ADD', 'MIN', 'MAX', 'AND', 'OR', 'XOR']);
/** Operations that change nothing when applied again. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['MIN', 'MAX', 'AND', 'OR']);
const TYPES: ReadonlySet<string> = new Set(['U32', 'S32']);

function mayCombine(fn: Fn, at: number, x: Instr): boolean {
  if (x.op.primitive !== 'atomic' || x.guard !== NO_REG) return false;
  const mod = (group: string): string => modOf(x.op, x.mods, group);
  if (mod('sem') !== 'RELAXED' || !OPS.has(mod('op')) || !TYPES.has(mod('type'))) return false;
  const [where] = x.src;
  return where.kind === Kind.Addr && (where.reg === NO_REG || agree(fn, where.reg, at));
}

/** Do the lanes that run an instruction of the block at one time agree on the register, even if some are in another iteration? */
const agree = (fn: Fn, r: Reg, at: number): boolean =>
  lanesAt(divergenceOf(fn), r, at) < Lanes.Varying && onceOf(fn)[regIndex(r)] !== Once.No;

function wayOf(fn: Fn, at: number, x: Instr, ctx: PassContext): Way | null {
  const op = modOf(x.op, x.mods, 'op');
  const value = x.src[1];
  const shared = value.kind === Kind.Imm || (value.reg !== NO_REG && agree(fn, value.reg, at));
  if (shared && IDEMPOTENT.has(op)) return 'same';
  if (shared && op === 'ADD') return 'counted';
  return ctx.fact('capabilities.redux') === true && value.kind === Kind.Reg ? 'reduced' : null;
}

function combine(d: Draft, n: Ins, how: Way, ctx: PassContext): void {
  const x = d.at(n);
  const opOf = (name: string): Opcode => ctx.isa.byName.get(name)!;
  const put = (name: string, mods: readonly string[], file: number, src: readonly Operand[]): Reg => {
    const op = opOf(name);
    const to = d.freshReg(file);
    const dst = op.dsts.map((_, k) => (k === 0 ? to : NO_REG));
    d.insertBefore(n, instr(op, withMods(op, 0, ...mods), dst, src, x.loc));
    return to;
  };
  const { R, P } = RegFile;
  const lanes = put('VOTE', ['ANY'], R, [PT, imm(-1)]);
  const [where, value, ...rest] = x.src;
  let applied = value;
  if (how === 'counted') {
    const count = put('POPC', [], R, [reg(lanes)]);
    applied = reg(put('IMAD', [], R, [value, reg(count), imm(0)]));
  } else if (how === 'reduced') {
    const op = modOf(x.op, x.mods, 'op');
    const bits = op === 'AND' || op === 'OR' || op === 'XOR';
    const type = bits ? [] : [modOf(x.op, x.mods, 'type')];
    applied = reg(put('REDUX', [op, ...type], R, [value, reg(lanes)]));
  }
  const first = put('FLO', ['U32'], R, [reg(lanes)]);
  const own = put('S2R', ['LANEID'], R, []);
  const chosen = put('ISETP', ['EQ', 'U32'], P, [reg(own), reg(first), PT]);
  const { op, mods, loc } = x;
  d.replace(
    n,
    withGuard(
      instr(
        op,
        mods,
        toRegs(x.dst, () => NO_REG),
        [where, applied, ...rest],
        loc,
      ),
      chosen,
    ),
  );
}
