import { type DraftLoop, DraftLoops, eachInstruction } from '../analysis/draft-loops.ts';
import { isPlainLoad, isSafeLoad, isValue } from '../analysis/effects.ts';
import { frequencyOf } from '../analysis/frequency.ts';
import { LiveClass, liveClassOf, Pool, reads } from '../analysis/liveness.ts';
import { memorySsaOf } from '../analysis/memory-ssa.ts';
import { pressureOf } from '../analysis/pressure.ts';
import { singleValuesOf } from '../analysis/single-values.ts';
import { type Draft, edit, type Ins } from '../ir/draft/index.ts';
import { copyOf, movesOf } from '../ir/moves.ts';
import { Kind, NO_REG, type Reg, regIndex, regWidth } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { allInSsa } from '../ssa/registers.ts';
import type { Pass } from './pass.ts';

/**
 * Phases 35, 66, 79 and 88, OriHoistInvariants: an expression with the same value in every iteration is computed
 * once, before the loop.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           MOV R1, 0                           MOV R1, 0
 *                                               IMAD R3, R4, R5, RZ
 *     BB1:                                BB1:
 *           MOVPHI R2, {BB0: R1, BB1: R7}       MOVPHI R2, {BB0: R1, BB1: R7}
 *           IMAD R3, R4, R5, RZ                 IADD3 R7, R2, R3
 *           IADD3 R7, R2, R3                    ISETP.LT P8, R7, R9
 *           ISETP.LT P8, R7, R9             @P8 BRA BB1
 *       @P8 BRA BB1                       BB2:
 *     BB2:                                      STG [RD6], R7
 *           STG [RD6], R7
 *
 * Loops are processed from the innermost outwards, so that a value rises as far as it can. An instruction is
 * invariant if everything it reads is defined outside the loop and its result is a single value (in SSA all are;
 * later, those with one definition above all uses). A load also needs the version of memory that it sees to begin
 * outside the loop. An instruction may be hoisted if running it when it would not have run is harmless: always for a
 * value, and for a load from a fixed place of a constant bank (`isSafeLoad`, what phase 27 reports); for any other load only from a
 * block that runs whenever the loop is entered, because its address may be invalid otherwise. Hoisting pays if the instruction ran more often than the preheader does, by static frequency.
 *
 * Registers: a hoisted value is live through the whole loop. Hoisting into a preheader stops when the loop's pressure
 * plus the hoisted values would exceed `max-pressure` of the binding, in 32-bit units (absent: no limit). Copies and
 * constants stay, because they are cheaper to recompute than to keep.
 *
 * Requires: control-last. Guarantees: ssa, if it held before; a preheader for each loop from which something was
 * hoisted. A second application changes nothing.
 * Bound: the instructions of each loop once, those of inner loops again in the loops around them.
 */
export const hoistInvariants: Pass = (fn, ctx) =>
  edit(
    fn,
    (d) => {
      const loops = new DraftLoops(d);
      const moves = movesOf(ctx.isa);
      const most = Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY);

      // In SSA every register is one value; outside SSA, those with one definition above all their uses.
      const isOneValue = (r: Reg): boolean => r === NO_REG || singleValuesOf(fn)[regIndex(r)] === 1;

      const invariant = (n: Ins, loop: DraftLoop): boolean => {
        const x = d.at(n);
        if (!allInSsa(x)) return false;
        if (!isPlainLoad(x) && !isValue(x)) return false;
        if (!readsOnlyOutside(d, n, loop) || !x.dst.every(isOneValue)) return false;
        if (isValue(x)) return true;
        const memory = memorySsaOf(fn, ctx.program);
        const version = memory.versionSeenBy(n);
        return version === 0 || (version > 0 && !loop.contains(memory.blockOf(version)));
      };
      const mayRunEarly = (n: Ins, loop: DraftLoop): boolean =>
        !isPlainLoad(d.at(n)) || isSafeLoad(d.at(n)) || loops.isCertain(loop, d.block(n));
      const pays = (n: Ins, loop: DraftLoop): boolean => {
        const kind = copyOf(moves, d.at(n))?.kind;
        if (kind === Kind.Reg || kind === Kind.Imm) return false;
        const often = frequencyOf(fn).block[d.block(n)];
        return often === undefined || often > loops.entries(loop, frequencyOf(fn));
      };

      for (const loop of loops.innermostFirst()) {
        // Liveness is computed only if something may be hoisted.
        let live = -1;
        eachInstruction(d, loop.blocks, (n) => {
          if (!invariant(n, loop) || !mayRunEarly(n, loop) || !pays(n, loop)) return;
          const ins = d.at(n);
          const at = { block: d.id(d.block(n)), ins };
          if (live < 0) live = pressureOf(fn).inLoop(loop.id, Pool.R);
          if (live + unitsOf(ins) > most)
            return ctx.remark(
              'missed',
              'pressure',
              `${printInstr(ins)}: ${live} registers live in the loop`,
              at,
            );
          if (!ctx.mayRewrite('hoisted', at.block, ins)) return;
          live += unitsOf(ins);
          d.moveToEnd(n, loops.preheader(loop));
          ctx.remark('passed', 'hoisted', `${printInstr(ins)} out of the loop at BB${d.id(loop.header)}`, at);
        });
      }
    },
    ctx.isa,
  );

function readsOnlyOutside(d: Draft, n: Ins, loop: DraftLoop): boolean {
  let outside = true;
  reads(d.at(n), (r) => {
    d.eachDef(r, (def) => {
      if (loop.contains(d.block(def))) outside = false;
    });
  });
  return outside;
}

/** 32-bit general registers that the results take. */
const unitsOf = (ins: Instr): number =>
  ins.dst.reduce(
    (units, r) => units + (r !== NO_REG && liveClassOf(r) === LiveClass.R ? regWidth(r) / 32 : 0),
    0,
  );
