import { type DraftLoop, DraftLoops } from '../analysis/draft-loops.ts';
import { isPlainLoad, isSafeLoad, isValue } from '../analysis/effects.ts';
import { frequencyOf } from '../analysis/frequency.ts';
import { LiveClass, liveClassOf, Pool, reads } from '../analysis/liveness.ts';
import { memorySsaOf } from '../analysis/memory-ssa.ts';
import { pressureOf } from '../analysis/pressure.ts';
import { singleValuesOf } from '../analysis/single-values.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../ir/draft/index.ts';
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
 * Loops are processed from the innermost outwards, so that a value rises as far as it can; what differs in each iteration of a loop
 * also does in those around it, which do not look at it again. An instruction is
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
 * Bound: each instruction once, and those that are invariant in a loop once more for each loop around it, up to `MOST_LOOPS`: what so
 * many loops had to leave where it is stays there, because cost would grow with the square of the nest.
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

      /** May it be an invariant of some loop? */
      const movable = (x: Instr): boolean => {
        const kind = copyOf(moves, x)?.kind;
        return (
          allInSsa(x) &&
          (isPlainLoad(x) || isValue(x)) &&
          x.dst.every(isOneValue) &&
          kind !== Kind.Reg &&
          kind !== Kind.Imm
        );
      };
      const memoryStays = (n: Ins, loop: DraftLoop): boolean => {
        if (isValue(d.at(n))) return true;
        const memory = memorySsaOf(fn, ctx.program);
        const version = memory.versionSeenBy(n);
        return version === 0 || (version > 0 && !loop.contains(memory.blockOf(version)));
      };
      const mayRunEarly = (n: Ins, loop: DraftLoop): boolean =>
        !isPlainLoad(d.at(n)) || isSafeLoad(d.at(n)) || loops.isCertain(loop, d.block(n));
      const pays = (n: Ins, loop: DraftLoop): boolean => {
        const often = frequencyOf(fn).block[d.block(n)];
        return often === undefined || often > loops.entries(loop, frequencyOf(fn));
      };

      /** Candidates of the loop last looked at that are still in it. */
      const waiting = new Set<Ins>();
      /** How many loops have left a candidate where it is. */
      const tried = new Map<Ins, number>();
      /** By loop: the candidates that loops inside it have left, by block. */
      const left = new Map<number, Candidates[]>();

      for (const loop of loops.innermostFirst()) {
        // Liveness is computed only if something may be hoisted.
        let live = -1;
        /** Hoists an instruction if it may; true if it did not, and a loop around this one may still. */
        const stays = (n: Ins): boolean => {
          waiting.delete(n);
          const ins = d.at(n);
          if (!movable(ins)) return false;
          const reads = readsIn(d, n, loop, waiting);
          if (reads === 'varying' || !memoryStays(n, loop)) return false;
          waiting.add(n);
          if (reads === 'waiting' || !mayRunEarly(n, loop) || !pays(n, loop)) return true;
          const at = { block: d.id(d.block(n)), ins };
          if (live < 0) live = pressureOf(fn).inLoop(loop.id, Pool.R);
          if (live + unitsOf(ins) > most) {
            ctx.remark('missed', 'pressure', `${printInstr(ins)}: ${live} registers live in the loop`, at);
            return true;
          }
          if (!ctx.mayRewrite('hoisted', at.block, ins)) return true;
          live += unitsOf(ins);
          waiting.delete(n);
          d.moveToEnd(n, loops.preheader(loop));
          ctx.remark('passed', 'hoisted', `${printInstr(ins)} out of the loop at BB${d.id(loop.header)}`, at);
          return false;
        };
        /** May another loop look at it? */
        const mayGoOn = (n: Ins): boolean => {
          if (loop.parent < 0) return false;
          const times = (tried.get(n) ?? 0) + 1;
          tried.set(n, times);
          if (times < MOST_LOOPS) return true;
          waiting.delete(n);
          const at = { block: d.id(d.block(n)), ins: d.at(n) };
          ctx.remark(
            'missed',
            'nest',
            `${printInstr(d.at(n))}: ${times} loops around it had to leave it`,
            at,
          );
          return false;
        };
        const own = loops
          .blocksDirectlyIn(loop)
          .map((b) => ({ place: loops.place(b), ins: [...each(d, b)] }));
        const around = loop.parent < 0 ? [] : (left.get(loop.parent) ?? []);
        for (const { place, ins } of byPlace(left.get(loop.id) ?? [], own)) {
          const stayed = ins.filter((n) => stays(n) && mayGoOn(n));
          if (stayed.length > 0) around.push({ place, ins: stayed });
        }
        left.delete(loop.id);
        left.set(loop.parent, around);
      }
    },
    ctx.isa,
  );

/** Loops that look at the same instruction. Kernels have nests of three to eight. */
const MOST_LOOPS = 32;

/** Instructions of one block that may be invariant, in order; blocks are in the order of their places. */
interface Candidates {
  readonly place: number;
  readonly ins: readonly Ins[];
}

/** Both lists in one order. */
const byPlace = (a: readonly Candidates[], b: readonly Candidates[]): readonly Candidates[] =>
  a.length === 0 ? b : [...a, ...b].sort((x, y) => x.place - y.place);

function* each(d: Draft, b: BlockNo): Generator<Ins> {
  for (let n = d.first(b); n >= 0; n = d.next(n)) yield n;
}

/**
 * Where the values that an instruction reads come from: outside the loop; or also from `candidates` in it, which a loop around it may
 * still free; or from something that differs from one iteration to the next.
 */
function readsIn(
  d: Draft,
  n: Ins,
  loop: DraftLoop,
  candidates: ReadonlySet<Ins>,
): 'outside' | 'waiting' | 'varying' {
  let from: 'outside' | 'waiting' | 'varying' = 'outside';
  reads(d.at(n), (r) => {
    if (from === 'varying') return;
    d.eachDef(r, (def) => {
      if (!loop.contains(d.block(def))) return;
      if (!candidates.has(def)) from = 'varying';
      else if (from === 'outside') from = 'waiting';
    });
  });
  return from;
}

/** 32-bit general registers that the results take. */
const unitsOf = (ins: Instr): number =>
  ins.dst.reduce(
    (units, r) => units + (r !== NO_REG && liveClassOf(r) === LiveClass.R ? regWidth(r) / 32 : 0),
    0,
  );
