import { isFixedRegister, isPlainLoad, isValue } from '../../analysis/calls/effects.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { sharedBytes } from '../../analysis/memory/shared-layout.ts';
import type { Use } from '../../analysis/registers/live-ranges.ts';
import { Pool, reads } from '../../analysis/registers/liveness.ts';
import {
  freeRegisters,
  type Limits,
  statedThreads,
  USUAL_BLOCK,
} from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { type Rematerialization, RematPlanner } from '../../analysis/registers/remat-plan.ts';
import type { RematLimits } from '../../analysis/registers/remat-ways.ts';
import { type Costs, instrCost } from '../../analysis/schedule/costs.ts';
import { type Draft, edit, type Ins, readingInstead } from '../../ir/draft/index.ts';
import { toRegs, withDst, withSource } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Kind, NO_REG, type Reg, RegFile, regFile, withReg } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';

/** Maximum number of rounds: recomputed values may free registers for operands of further ones. */
const ROUNDS = 3;
/** Number of targets tried, starting at the one that allows the most warps, unless a knob sets it. */
const TRIALS = 8;
/** The factor between two of them, unless a knob gives it. */
const BACK_OFF = 1.1;

/**
 * Phases 28, SinkRemat, 54, OriDoRematEarly, and 69, OriDoRemat: a value that is cheap to compute is computed again where it is used,
 * instead of occupying a register through code where registers are scarce.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           SHL R1, R2, 3                       ...                    (many registers live)
 *           ...                                 STG [RD4], R2
 *           STG [RD4], R2                 BB1:
 *     BB1:                                      SHL R9, R2, 3
 *           STG [RD4+8], R1                     STG [RD4+8], R9
 *           STG [RD4+16], R2                    STG [RD4+16], R2
 *
 * What may be recomputed: values, loads from constant memory, and special registers that are constant for a thread; all unguarded.
 * Never: operations between lanes, clocks, other memory, or uniform registers, which lanes that have left a loop share with those still
 * in it. Everything that a recomputation reads is live at its place anyway, or is recomputed there too, so no live range grows.
 *
 * When: more general registers are live at some point than leave an SM all the warps that it could hold (less `slack`, since ptxas
 * needs some of its own). Targets are tried from that number upwards, and the first that can be reached is taken, with as few weighted
 * cycles as possible and at most the fraction `max-cost` of what the function executes. If none can be reached, nothing is done.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay; no point has more registers live than before. A second
 * application may spend its cycles again on a lower target; otherwise it changes nothing.
 * Bound: three rounds of at most `RematRegTargetTrialLimit` plans; a plan examines each point at which a candidate is live, at most
 * `MOST_WORK` of the planner in total; beyond that nothing is done.
 */
export const rematerialize: Pass = (fn, ctx) => {
  const names = ctx.params.family === 'sink' ? SINK : REMAT;
  if (ctx.knob(names.enable) === 0) return fn;
  const everything = names.stress !== null && isSet(ctx.knob(names.stress));
  const pools = names.predicates !== null && isSet(ctx.knob(names.predicates)) ? [Pool.R, Pool.P] : [Pool.R];
  let out = fn;
  for (const pool of pools) {
    const target = everything ? -1 : targetOf(fn, ctx, names, pool);
    if (pressureOf(fn).most[pool] <= target) continue;
    let spare = Number(ctx.params['max-cost'] ?? 0) * weightOf(fn, ctx);
    for (let round = 0; round < ROUNDS && pressureOf(out).most[pool] > target; round++) {
      const before = out;
      out = edit(
        before,
        (d) => {
          const chosen = choose(d, ctx, names, pool, target, spare);
          spare -= apply(d, ctx, names, chosen);
        },
        ctx.isa,
      );
      if (out === before || everything) break;
    }
  }
  return out;
};

/** Names of the knobs that each family of phases reads; null where it has none. */
interface Names {
  readonly enable: string;
  readonly budget: string;
  readonly mostCycles: string;
  readonly distance: string;
  readonly lookback: string | null;
  readonly large: string | null;
  readonly stress: string | null;
  readonly predicates: string | null;
  readonly target: TargetNames | null;
  readonly costs: CostNames | null;
}
interface TargetNames {
  readonly most: string;
  readonly factor: string;
  readonly slack: string;
  readonly backOff: string;
  readonly trials: string;
}
interface CostNames {
  readonly weight: string;
  readonly move: string;
  readonly constant: string;
  readonly memory: string;
}

const REMAT: Names = {
  enable: 'RematEnable',
  budget: 'RematBudget',
  mostCycles: 'RematCostInstLimit',
  distance: 'RematMinDistance',
  lookback: 'RematPlacementLookback',
  large: 'Knob356',
  stress: 'RematStressTest',
  predicates: 'RematEnablePReg',
  target: {
    most: 'RematMaxRegCount',
    factor: 'RematRegTargetFactor',
    slack: 'RematConservativeRegSlack',
    backOff: 'RematBackOffRegTargetFactor',
    trials: 'RematRegTargetTrialLimit',
  },
  costs: {
    weight: 'RematAbsCostFactor',
    move: 'MovWeightForRemat',
    constant: 'RematLdcCost',
    memory: 'RematMemCost',
  },
};
const SINK: Names = {
  enable: 'SinkRematEnable',
  budget: 'SinkRematBudget',
  mostCycles: 'SinkRematAbsCostLimit',
  distance: 'SinkRematMinDefPlaceDist',
  lookback: null,
  large: null,
  stress: 'SinkRematAlways',
  predicates: null,
  target: null,
  costs: null,
};

/** A knob's number, or `otherwise` if it is unset. */
const numberOf = (ctx: PassContext, knob: string | undefined, otherwise: number): number => {
  const v = knob === undefined ? null : ctx.knob(knob);
  return v === null ? otherwise : Number(v);
};

/**
 * The number of registers that should be live at most at one point. Only kernels have one, because the registers that the callers of a
 * device function can spare are not known.
 */
function targetOf(fn: Fn, ctx: PassContext, { target }: Names, pool: number): number {
  if (pool === Pool.P) return Number(ctx.params['max-predicates'] ?? Number.POSITIVE_INFINITY);
  const limits = (ctx.fact('limits') ?? {}) as Limits;
  const threads = statedThreads(fn) ?? USUAL_BLOCK;
  const slack = numberOf(ctx, target?.slack, Number(ctx.params.slack ?? 0));
  const factor = numberOf(ctx, target?.factor, 1);
  const most = numberOf(ctx, target?.most, Number.POSITIVE_INFINITY);
  const wanted = (shared: number): number =>
    Math.max(0, Math.min(most, Math.floor((freeRegisters(limits, { threads, shared }) - slack) * factor)));
  // Shared memory allows fewer blocks, and so only more registers.
  const least = wanted(0);
  return pressureOf(fn).most[pool] <= least ? least : wanted(sharedBytes(ctx.program, fn));
}

/** Weighted cycles of a run of the function, with no instruction counted as longer than a simple one: the budget is a fraction of it. */
function weightOf(fn: Fn, ctx: PassContext): number {
  const costs = (ctx.fact('costs') ?? {}) as Costs;
  const simple = costs.alu ?? 1;
  const often = frequencyOf(fn).block;
  let weight = 0;
  for (let b = 0; b < fn.blocks.length; b++) {
    let cycles = 0;
    for (const x of fn.blocks[b].ins) if (!isPhi(x)) cycles += Math.min(instrCost(x, costs), simple);
    weight += (often[b] ?? 0) * cycles;
  }
  return weight;
}

/** The plan for the lowest target that can be reached. */
function choose(
  d: Draft,
  ctx: PassContext,
  names: Names,
  pool: number,
  target: number,
  spare: number,
): readonly Rematerialization[] {
  const costs = new RecomputationCosts(ctx, names);
  const limits: RematLimits = {
    pool,
    costOf: (x) => costs.of(x),
    mostCycles: numberOf(ctx, names.mostCycles, Number(ctx.params['max-cycles'] ?? Number.POSITIVE_INFINITY)),
    distance: numberOf(ctx, names.distance, Number(ctx.params.distance ?? 0)),
    lookback: numberOf(ctx, names.lookback ?? undefined, Number(ctx.params.lookback ?? 0)),
  };
  const planner = new RematPlanner(d, limits, target);
  const large = (): void =>
    ctx.remark(
      'missed',
      'large',
      'too many values are live through too many blocks to weigh what to recompute',
    );
  if (target < 0) {
    const all = planner.planAll();
    if (planner.gaveUp) large();
    return all;
  }
  if (names.large !== null) {
    const most = numberOf(ctx, names.large, Number.POSITIVE_INFINITY);
    const instructions = d.fn.blocks.reduce((sum, b) => sum + b.ins.length, 0);
    if (instructions > most)
      ctx.remark('note', 'large', `${instructions} instructions: rematerialization may take long`);
  }
  const weight = numberOf(ctx, names.costs?.weight, 1);
  const step = numberOf(ctx, names.target?.backOff, BACK_OFF);
  const trials = numberOf(ctx, names.target?.trials, TRIALS);
  let t = target;
  for (let k = 0; t < planner.most && k < trials; k++) {
    const plan = planner.plan(t, weight > 0 ? spare / weight : Number.POSITIVE_INFINITY);
    if (planner.gaveUp) {
      large();
      return [];
    }
    if (typeof plan !== 'number') return plan;
    t = Math.max(plan, Math.ceil(t * step));
  }
  ctx.remark(
    'missed',
    'pressure',
    `${planner.most} registers live, ${target} wanted: too few are cheap to recompute`,
  );
  return [];
}

const UNIFORM: ReadonlySet<number> = new Set([RegFile.UR, RegFile.URD, RegFile.UP]);

/** Costs of computing the result of an instruction elsewhere. */
class RecomputationCosts {
  private readonly costs: Costs;
  private readonly moves: Moves;
  /**
   * Cycles of a load from a fixed place of a constant bank, of one from a computed place, and of a copy of a constant; NaN: the
   * instruction's own cost.
   */
  private readonly constant: number;
  private readonly memory: number;
  private readonly move: number;

  constructor(ctx: PassContext, { costs: knobs }: Names) {
    this.costs = (ctx.fact('costs') ?? {}) as Costs;
    this.moves = movesOf(ctx.isa);
    this.constant = numberOf(ctx, knobs?.constant, Number(ctx.params['constant-cycles'] ?? 0));
    this.memory = numberOf(ctx, knobs?.memory, Number.NaN);
    this.move = numberOf(ctx, knobs?.move, Number.NaN);
  }

  /** Cycles; infinite if the result must not be computed elsewhere. */
  of(x: Instr): number {
    if (x.guard !== NO_REG || isPhi(x) || !allInSsa(x)) return Number.POSITIVE_INFINITY;
    let results = 0;
    for (const r of x.dst) {
      if (r === NO_REG) continue;
      if (UNIFORM.has(regFile(r))) return Number.POSITIVE_INFINITY;
      results++;
    }
    if (results !== 1 || readsUniform(x)) return Number.POSITIVE_INFINITY;
    const own = instrCost(x, this.costs);
    if (isValue(x))
      return !Number.isNaN(this.move) && copyOf(this.moves, x)?.kind === Kind.Imm ? this.move : own;
    if (isPlainLoad(x) && x.op.space === 'const') {
      if (x.src[0].kind === Kind.CBank) return this.constant;
      return Number.isNaN(this.memory) ? own : this.memory;
    }
    return isFixedRegister(x) ? own : Number.POSITIVE_INFINITY;
  }
}

function readsUniform(x: Instr): boolean {
  for (let k = 0; k < x.src.length; k++)
    if (x.src[k].reg !== NO_REG && UNIFORM.has(regFile(x.src[k].reg))) return true;
  return false;
}

/** Applies a plan as far as the limits on rewrites allow. @returns the cycles that this adds */
function apply(d: Draft, ctx: PassContext, names: Names, plan: readonly Rematerialization[]): number {
  const made: Ins[] = [];
  const costs = new RecomputationCosts(ctx, names);
  let spent = 0;
  for (const { def, result, copies, cost } of plan) {
    const x = d.at(def);
    const block = d.id(d.block(def));
    if (!ctx.budget(names.budget) || !ctx.mayRewrite('recomputed', block, x)) break;
    spent += Math.max(0, cost);
    ctx.remark('passed', 'recomputed', `${printInstr(x)} in ${blocksOf(d, copies)}`, { block, ins: x });
    for (const { block: b, before, chain, users } of copies) {
      const fresh = new Map<Reg, Reg>();
      for (const link of chain) {
        const dst = toRegs(link.dst, (r) => {
          if (r === NO_REG) return r;
          const own = d.freshReg(regFile(r));
          fresh.set(r, own);
          return own;
        });
        let copy = withDst(link, dst);
        for (const [from, to] of fresh) copy = readingInstead(copy, from, to);
        made.push(before < 0 ? d.insertAtEnd(b, copy) : d.insertBefore(before, copy));
      }
      for (const u of users) readInstead(d, u, result, fresh.get(result)!);
    }
    made.push(def);
  }
  // Later ones first: the definitions that they read may then be unused too.
  for (let n = made.pop(); n !== undefined; n = made.pop()) {
    if (d.isRemoved(n) || d.at(n).dst.some((r) => r !== NO_REG && d.useCount(r) > 0)) continue;
    const x = d.at(n);
    d.remove(n);
    reads(x, (r) => {
      const below = d.def(r);
      if (below >= 0 && Number.isFinite(costs.of(d.at(below)))) made.push(below);
    });
  }
  return spent;
}

const blocksOf = (d: Draft, copies: Rematerialization['copies']): string =>
  [...new Set(copies.map((c) => `BB${d.id(c.block)}`))].join(', ');

function readInstead(d: Draft, u: Use, from: Reg, to: Reg): void {
  const x = d.at(u.n);
  if (!u.phi) return d.replace(u.n, readingInstead(x, from, to));
  for (let k = 0; k + 1 < x.src.length; k += 2)
    if (x.src[k].lo === d.id(u.block) && x.src[k + 1].reg === from)
      d.replace(u.n, withSource(x, k + 1, withReg(x.src[k + 1], to)));
}
