import { isPlainLoad, isSafeLoad, isValue } from '../../analysis/calls/effects.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { type DraftLoop, DraftLoops } from '../../analysis/loops/draft-loops.ts';
import { HoistPolicy } from '../../analysis/loops/hoist-policy.ts';
import { memorySsaOf } from '../../analysis/memory/memory-ssa.ts';
import { LiveClass, liveClassOf, Pool, reads } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { singleValuesOf } from '../../analysis/values/single-values.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Kind, NO_REG, type Reg, regIndex, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { isSmallNest, isWorthHoisting, type Question, weightOf } from './hoist-score.ts';

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
 * Loops are processed from the innermost outwards, so that a value rises as far as it can. What varies in a loop also varies in the
 * loops around it, which do not examine it again. An instruction is invariant if everything it reads is defined outside the loop and
 * its result is a single value (in SSA all are; later, those with one definition above all uses). A load also needs the version of
 * memory that it sees to begin outside the loop. An instruction may be hoisted if running it when it would not have run is harmless:
 * always for a value, and for a load from a fixed place of a constant bank (`isSafeLoad`, what phase 27 reports); for any other load
 * only from a block that runs whenever the loop is entered, because its address may be invalid otherwise. Hoisting pays if the
 * instruction ran more often than the preheader does, by static frequency.
 *
 * Under HoistByScore the score of the reference decides instead, block by block (`isWorthHoisting`): points of the invariants against the
 * penalty of slow results. Of loops that hold others it then takes only those that are entered from one block and are small beside their
 * headers (`isSmallNest`).
 *
 * Knobs: 381 says in which loops: 0 in all, 1 in innermost ones and only in the second run, others in none. DisableNestedHoist, or knob 220
 * off: only in innermost loops. 484 counts what is hoisted.
 *
 * Registers: a hoisted value is live through the whole loop. Hoisting into a preheader stops when the loop's pressure
 * plus the hoisted values would exceed `max-pressure` of the binding, in 32-bit units (absent: no limit). Copies and
 * constants stay, because they are cheaper to recompute than to keep.
 *
 * Requires: control-last. Guarantees: ssa, if it held before; a preheader for each loop from which something was
 * hoisted. A second application changes nothing.
 * Bound: each instruction once, and one that is invariant in a loop once more for each loop around it, up to `MOST_LOOPS`: what that
 * many loops could not hoist stays there, because the cost would grow with the square of the nest.
 */
export const hoistInvariants: Pass = (fn, ctx) => edit(fn, (d) => new Hoisting(d, ctx).run(), ctx.isa);

class Hoisting {
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly loops: DraftLoops;
  private readonly moves: Moves;
  private readonly most: number;
  private readonly policy: number;
  /** Whether values are hoisted out of loops that hold others. */
  private readonly nests: boolean;
  /** What the score is asked about each block; null if frequencies decide. */
  private readonly question: Pick<Question, 'run' | 'budget'> | null;
  private readonly weights = new Map<number, Pick<Question, 'header' | 'body'>>();
  /** Candidates of the loop examined last that are still in it. */
  private readonly waiting = new Set<Ins>();
  /** How many loops could not hoist a candidate. */
  private readonly tried = new Map<Ins, number>();
  /** By loop: the candidates that loops inside it have left, by block. */
  private readonly left = new Map<number, Candidates[]>();
  /** Registers live in the loop examined last; -1 until something may be hoisted. */
  private live = -1;

  constructor(d: Draft, ctx: PassContext) {
    this.d = d;
    this.ctx = ctx;
    this.loops = new DraftLoops(d);
    this.moves = movesOf(ctx.isa);
    this.most = Number(ctx.params['max-pressure'] ?? Number.POSITIVE_INFINITY);
    this.policy = Number(ctx.knob('Knob381') ?? HoistPolicy.Always);
    this.nests = !isSet(ctx.knob('DisableNestedHoist')) && ctx.knob('Knob220') !== false;
    const how = { run: Number(ctx.params.run ?? 0), budget: Number(ctx.params.budget ?? 0) };
    this.question = isSet(ctx.knob('HoistByScore')) ? how : null;
  }

  run(): void {
    const { loops, left } = this;
    for (const loop of loops.innermostFirst()) {
      if (!this.isAllowed(loop)) continue;
      this.live = -1;
      const own = loops
        .blocksDirectlyIn(loop)
        .map((b) => ({ place: loops.place(b), ins: instructionsOf(this.d, b) }));
      const around = loop.parent < 0 ? [] : (left.get(loop.parent) ?? []);
      for (const { place, ins } of byPlace(left.get(loop.id) ?? [], own)) {
        const worth = this.question === null || this.isWorth(ins, loop, this.question);
        const stayed = ins.filter((n) => this.stays(n, loop, worth) && this.mayRetry(n, loop));
        if (stayed.length > 0) around.push({ place, ins: stayed });
      }
      left.delete(loop.id);
      left.set(loop.parent, around);
    }
  }

  /** Hoists an instruction if possible. @returns true if it stays, and a loop around this one may still hoist it */
  private stays(n: Ins, loop: DraftLoop, worth: boolean): boolean {
    const { d, ctx, loops, waiting } = this;
    waiting.delete(n);
    const ins = d.at(n);
    if (!this.movable(ins)) return false;
    const reads = readsIn(d, n, loop, waiting);
    if (reads === 'varying' || !this.memoryStays(n, loop)) return false;
    waiting.add(n);
    if (!worth || reads === 'waiting' || !this.mayRunEarly(n, loop) || !this.pays(n, loop)) return true;
    const at = { block: d.id(d.block(n)), ins };
    if (this.live < 0) this.live = pressureOf(d.fn).inLoop(loop.id, Pool.R);
    if (this.live + unitsOf(ins) > this.most) {
      ctx.remark('missed', 'pressure', `${printInstr(ins)}: ${this.live} registers live in the loop`, at);
      return true;
    }
    if (!ctx.budget('Knob484') || !ctx.mayRewrite('hoisted', at.block, ins)) return true;
    this.live += unitsOf(ins);
    waiting.delete(n);
    d.moveToEnd(n, loops.preheader(loop));
    ctx.remark('passed', 'hoisted', `${printInstr(ins)} out of the loop at BB${d.id(loop.header)}`, at);
    return false;
  }

  /** May a loop around this one still examine it? */
  private mayRetry(n: Ins, loop: DraftLoop): boolean {
    const { d, ctx, tried } = this;
    if (loop.parent < 0) return false;
    const times = (tried.get(n) ?? 0) + 1;
    tried.set(n, times);
    if (times < MOST_LOOPS) return true;
    this.waiting.delete(n);
    const at = { block: d.id(d.block(n)), ins: d.at(n) };
    ctx.remark('missed', 'nest', `${printInstr(d.at(n))}: ${times} loops around it could not hoist it`, at);
    return false;
  }

  /** May it be an invariant of some loop? */
  private movable(x: Instr): boolean {
    if (!allInSsa(x) || !(isPlainLoad(x) || isValue(x)) || !this.areSingleValues(x.dst)) return false;
    const kind = copyOf(this.moves, x)?.kind;
    return kind !== Kind.Reg && kind !== Kind.Imm;
  }

  /** In SSA every register is one value; outside SSA, those with one definition above all their uses. */
  private areSingleValues(registers: readonly Reg[]): boolean {
    const single = singleValuesOf(this.d.fn);
    for (const r of registers) if (r !== NO_REG && single[regIndex(r)] !== 1) return false;
    return true;
  }

  private memoryStays(n: Ins, loop: DraftLoop): boolean {
    if (isValue(this.d.at(n))) return true;
    const memory = memorySsaOf(this.d.fn, this.ctx.program);
    const version = memory.versionSeenBy(n);
    return version === 0 || (version > 0 && !loop.contains(memory.blockOf(version)));
  }

  private mayRunEarly(n: Ins, loop: DraftLoop): boolean {
    const { d } = this;
    return !isPlainLoad(d.at(n)) || isSafeLoad(d.at(n)) || this.loops.isCertain(loop, d.block(n));
  }

  /** May anything be hoisted out of this loop? */
  private isAllowed(loop: DraftLoop): boolean {
    const { ctx, policy } = this;
    if (policy === HoistPolicy.Inner) return loop.innermost && Number(ctx.params.run ?? 0) === 1;
    return policy === HoistPolicy.Always && (loop.innermost || (this.nests && this.mayNest(loop)));
  }

  /** May the score hoist out of a loop that holds others? Frequencies ask nothing more of it. */
  private mayNest(loop: DraftLoop): boolean {
    if (this.question === null) return true;
    const { d } = this;
    const entries = d.predecessors(loop.header).filter((b) => !loop.contains(b)).length;
    return entries === 1 && isSmallNest(this.weightsOf(loop), this.ctx);
  }

  /** Does the score allow hoisting the invariants of a block? */
  private isWorth(ins: readonly Ins[], loop: DraftLoop, q: Pick<Question, 'run' | 'budget'>): boolean {
    const { d } = this;
    const block = d.block(ins[0]);
    const found = new Set<Ins>();
    for (const n of ins)
      if (
        this.movable(d.at(n)) &&
        readsIn(d, n, loop, found) !== 'varying' &&
        this.memoryStays(n, loop) &&
        this.mayRunEarly(n, loop)
      )
        found.add(n);
    if (found.size === 0) return false;
    const all = instructionsOf(d, block);
    return isWorthHoisting(
      all.map((n) => d.at(n)),
      (k) => found.has(all[k]),
      {
        ...q,
        ...this.weightsOf(loop),
        alone: loop.size === 1,
        inner: loop.parent >= 0,
        latches: loop.latches.includes(block) ? loop.latches.length : 1,
        safe: [...found].every((n) => !isPlainLoad(d.at(n)) || isSafeLoad(d.at(n))),
      },
      this.ctx,
    );
  }

  /** Weights of the header of a loop and of its other blocks. */
  private weightsOf(loop: DraftLoop): Pick<Question, 'header' | 'body'> {
    let found = this.weights.get(loop.id);
    if (found === undefined) {
      const { d } = this;
      const at = (b: BlockNo): number => weightOf(instructionsOf(d, b).map((n) => d.at(n)));
      let body = 0;
      for (const b of this.loops.blocksIn(loop)) if (b !== loop.header) body += at(b);
      this.weights.set(loop.id, (found = { header: at(loop.header), body }));
    }
    return found;
  }

  private pays(n: Ins, loop: DraftLoop): boolean {
    if (this.question !== null) return true;
    const frequency = frequencyOf(this.d.fn);
    const often = frequency.block[this.d.block(n)];
    return often === undefined || often > this.loops.entries(loop, frequency);
  }
}

/** Maximum number of loops that examine the same instruction. Kernels have nests of three to eight. */
const MOST_LOOPS = 32;

/** Instructions of one block that may be invariant, in order; blocks are in the order of their places. */
interface Candidates {
  readonly place: number;
  readonly ins: readonly Ins[];
}

/** Both lists, merged by place. */
const byPlace = (a: readonly Candidates[], b: readonly Candidates[]): readonly Candidates[] =>
  a.length === 0 ? b : [...a, ...b].sort((x, y) => x.place - y.place);

function instructionsOf(d: Draft, b: BlockNo): Ins[] {
  const out: Ins[] = [];
  for (let n = d.first(b); n >= 0; n = d.next(n)) out.push(n);
  return out;
}

/**
 * Where the values that an instruction reads come from: all from outside the loop; or some from `candidates` in it, which a loop around
 * it may still hoist; or from something that varies between iterations.
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
