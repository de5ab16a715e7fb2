import { isValue } from '../../analysis/calls/effects.ts';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { edgeFrequency } from '../../analysis/flow/static-frequency.ts';
import { type Between, type Leaf, type Switch, Switches } from '../../analysis/flow/switches.ts';
import { sharedBytes } from '../../analysis/memory/shared-layout.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import {
  freeRegisters,
  type Limits,
  registersAllowed,
  statedThreads,
  USUAL_BLOCK,
} from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { divergenceOf, lanesAt } from '../../analysis/uniformity/divergence.ts';
import { circular, complement, type IntervalSet, meet, union } from '../../analysis/values/interval-sets.ts';
import { rangeAt, rangesOf } from '../../analysis/values/ranges.ts';
import { counted } from '../../ir/counts.ts';
import { type BlockNo, type Draft, edit, removeUnreachable } from '../../ir/draft/index.ts';
import { Lanes } from '../../ir/opcode.ts';
import { NO_REG, type Reg } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { inSsa } from '../../ssa/registers.ts';
import { isSet, type Pass, type PassContext } from '../pass.ts';
import { hasControlLast } from './control-last.ts';
import { emitSwitch } from './switch-emit.ts';
import { SwitchMap } from './switch-map.ts';
import { escapesOf, regroups } from './switch-meeting.ts';
import {
  behind,
  byCount,
  cheapest,
  inTables,
  type Plan,
  type Limits as PlanLimits,
  type Priced,
  visited,
  waysOf,
} from './switch-plan.ts';

/** Each comparison examined takes one unit; unset: no limit (seed 003: an effort limit). */
const BUDGET = 'SwitchOptBudget';
/**
 * 0: only comparisons and branches make a switch. Otherwise values may come between them, which seed 003's scanner
 * tolerates.
 */
const EXTENDED = 'SwitchOptExtendedPatternMatch';
/** Set: a row of comparisons takes the form that seeds 000 and 003 give it, whatever that costs. */
const BY_COUNT = 'SwitchFormByCount';

/**
 * Maximum number of cases that are tested before a table because they bypass the meeting of the others; with more, the result would be
 * a cascade again.
 */
const MOST_ESCAPES = 2;

/** Rewriting one switch may expose another by removing phis; that rarely happens more than once in a row. */
const ROUNDS = 4;

/**
 * Phase 30, DoSwitchOptSecond: rewrites each switch as a jump table, a search tree, a bit test or a cascade of
 * comparisons, whichever is expected to be cheapest.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           ISETP.EQ P1, R1, 10             IADD3 R9, R1, -10
 *       @P1 BRA BB10                        IMNMX.MIN.U32 R8, R9, 6
 *     BB1:                                  BRX R8, T0     ; BB10 BB11 BB12 BB13 BB20 BB15 BB20
 *           ISETP.EQ P2, R1, 11       BB20:
 *       @P2 BRA BB11
 *     ... 12, 13, 15 ...
 *     BB20:
 *
 * A switch is defined by values, not by form (`Switches`): any mixture of comparison cascades and trees, ranges and
 * jump tables is a map from the values of one register to targets. Edges to one block with different phi operands
 * count as different targets. Values that the selector cannot hold (`rangesOf`) need no test.
 *
 * A switch is rewritten if it has more than `cascade-cases` comparisons and the new form saves at least the fraction
 * `least-gain` of the instructions that a warp is expected to execute (`cheapest`), with all cases equally likely, or
 * as counted by a profile. At least `table-density` of a table's entries are filled by cases, and it has at most
 * `table-entries`; a jump through it costs as much as `table-cost` instructions. If lanes may hold different
 * selectors, `lanes` of them choose independently, and a block costs once for all lanes that reach it. Several
 * decisions that lead to one target cost `regroup-cost`.
 *
 * No table is used where its jump would need more registers than cost no warps: `table-registers` is what the jump takes in addition to
 * what is live there.
 *
 * Knob SwitchFormByCount: every row of more than `cascade-cases` equality tests becomes a table, if the table's limits allow it, or else a
 * search tree (`byCount`); once SwitchOptBudget is spent, always a tree.
 *
 * With `profiled: stays`, a function with a profile is not changed (the guard of seed 003).
 *
 * Values that are computed between the comparisons and needed elsewhere are computed before the switch, and count
 * towards its cost.
 *
 * Requires: control-last, ssa. Guarantees: ssa; every block is reachable or named by a convergence label. A second
 * application changes nothing, because the chosen form is still the cheapest.
 * Bound: each block is part of one switch, which has at most `MOST_TESTS` blocks; n cases cost n^3 for n up to 40, n log n
 * beyond: 300, 1,000 and 4,000 sparse cases take 0.1, 0.3 and 1.1 seconds.
 */
export const switchOpt: Pass = (fn, ctx) => {
  if (!hasControlLast(fn, ctx)) return fn;
  if (fn.attrs.counts.length > 0 && ctx.params['profiled'] === 'stays') {
    ctx.remark('missed', 'profiled', 'there is a profile, so the cases are assumed to be laid out by it');
    return fn;
  }
  let now = fn;
  for (let round = 0; round < ROUNDS; round++) {
    const rewriter = new Rewriter(now, ctx, round === 0);
    const out = edit(now, (d) => rewriter.run(d), ctx.isa);
    if (out === now) break;
    now = out;
  }
  return now;
};

/** Switches on one register that could not be joined. */
interface Chain {
  /** Number of comparisons so far. */
  count: number;
  /** Remarks that are reported once the chain has enough comparisons. */
  readonly waiting: { readonly message: string; readonly block: number; readonly ins: Instr }[];
}

class Rewriter {
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly limits: PlanLimits;
  private readonly few: number;
  private readonly leastGain: number;
  private readonly tableRegisters: number;
  private readonly between: Between;
  private readonly byCount: boolean;
  /** Whether to report what was not done; once is enough. */
  private readonly explain: boolean;
  private readonly chains = new Map<BlockNo, Chain>();
  private d!: Draft;

  constructor(fn: Fn, ctx: PassContext, explain: boolean) {
    this.fn = fn;
    this.ctx = ctx;
    this.explain = explain;
    const { few, leastGain, tableRegisters, ...limits } = parametersOf(ctx.params);
    this.tableRegisters = tableRegisters;
    this.few = few;
    this.leastGain = leastGain;
    this.limits = limits;
    this.byCount = isSet(ctx.knob(BY_COUNT));
    const extended = ctx.knob(EXTENDED);
    this.between = extended === 0 || extended === false ? 'comparison' : 'values';
  }

  run(d: Draft): void {
    this.d = d;
    const switches = new Switches(d, inSsa);
    const taken = new Set<BlockNo>();
    let rewritten = false;
    for (const head of cfgOf(this.fn).rpo) {
      if (taken.has(head)) continue;
      const s = this.worthwhile(
        switches.from(head, this.between, (b) => taken.has(b)),
        taken,
      );
      if (s === null) continue;
      const paid = this.pay(s);
      if (!paid && !this.byCount) break;
      let way = this.byCount ? this.counted(s, paid) : this.chosen(s);
      // Values that would have to move may make the switch expensive.
      let used = s;
      if (way === null && s.kept.length > 0 && !this.byCount) {
        const plain = this.worthwhile(
          switches.from(head, 'comparison', (b) => taken.has(b)),
          null,
        );
        way = plain === null ? null : this.chosen(plain);
        if (way !== null) used = plain!;
      }
      if (way === null) continue;
      if (!this.ctx.mayRewrite('switch-rewritten', d.id(head), d.at(d.terminator(head)))) break;
      this.report(used, way);
      const old = d.at(d.terminator(head)).guard;
      emitSwitch(d, used, way.map, way.plan);
      this.dropUnused(old);
      rewritten = true;
    }
    if (rewritten) removeUnreachable(d);
  }

  /** The switch if it has enough comparisons and its blocks are its own. */
  private worthwhile(s: Switch | null, taken: Set<BlockNo> | null): Switch | null {
    if (s === null) return null;
    const count = this.comparisons(s);
    if (taken !== null && this.explain) this.stopped(s, count);
    if (taken !== null) for (const t of s.tests) taken.add(t.block);
    if (count > this.few) return s;
    if (taken !== null && this.explain && count > 2)
      this.missed(s, 'few-cases', `${count} comparisons are not more than ${this.few}`);
    return null;
  }

  /** Reports why blocks that test the selector too are not part of the switch, unless the chain has only few comparisons. */
  private stopped(s: Switch, count: number): void {
    const { d, chains } = this;
    const chain = chains.get(s.head) ?? { count: 0, waiting: [] };
    chain.count += count;
    for (const { block, why } of s.stops) {
      chains.set(block, chain);
      const message = `BB${d.id(block)} also tests the selector of BB${d.id(s.head)}, but ${why}`;
      chain.waiting.push({ message, block: d.id(block), ins: d.at(d.terminator(block)) });
    }
    // Each block that stopped it has a comparison, too.
    if (chain.count + s.stops.length > 2)
      for (const { message, ...at } of chain.waiting.splice(0))
        this.ctx.remark('missed', 'chain-stopped', message, at);
  }

  private comparisons(s: Switch): number {
    const { d } = this;
    return s.tests.filter(({ block }) => d.terminator(block) >= 0 && d.successors(block).length > 1).length;
  }

  private pay(s: Switch): boolean {
    for (let k = this.comparisons(s); k > 0; k--)
      if (!this.ctx.budget(BUDGET)) {
        const then = this.byCount ? 'become search trees' : 'are kept';
        this.missed(s, 'budget-spent', `${BUDGET} is spent: this switch and later ones ${then}`);
        return false;
      }
    return true;
  }

  /** The form that the number and the density of its cases give a row of equality tests; null for any other switch. */
  private counted(
    s: Switch,
    tables: boolean,
  ): (Priced & { readonly map: SwitchMap; readonly before: number }) | null {
    const isOne = (values: IntervalSet): boolean => values.length === 1 && values[0].low === values[0].high;
    if (!s.tests.every(({ next, apart }) => next.length <= 1 && apart.some(isOne))) return null;
    const { limits } = this;
    const map = SwitchMap.of(s, this.possible(s), limits.tableEntries);
    if (map === null) return null;
    const { plan, cost } = byCount(map, tables ? limits : { ...limits, tableEntries: 0 });
    return { plan, cost, map, before: this.costOf(s, map, limits) };
  }

  /** The cheapest form of a switch; null if it is no better than the current one. */
  private chosen(s: Switch): (Priced & { readonly map: SwitchMap; readonly before: number }) | null {
    const possible = this.possible(s);
    const share = this.sharesOf(s);
    const all = SwitchMap.of(s, possible, this.limits.tableEntries, share);
    if (all === null) return null;
    const uniform = lanesAt(divergenceOf(this.fn), s.selector, s.head) <= Lanes.Warp;
    const limits = uniform ? { ...this.limits, lanes: 1 } : this.limits;
    let chosen = this.planOf(s, all, possible, limits, share);
    const tight = inTables(chosen.map, chosen.plan).size > 0 ? this.tooTight(s.head) : null;
    if (tight !== null) {
      if (this.explain) this.missed(s, 'registers', tight);
      chosen = this.planOf(s, all, possible, { ...limits, tableEntries: 0 }, share);
    }
    const { map, plan, cost } = chosen;
    const regroup = (waysTo: ReadonlyMap<BlockNo, number>): number =>
      limits.lanes > 1 && regroups(this.fn, s.head, waysTo) ? limits.regroupCost : 0;
    const before = this.costOf(s, all, limits) + regroup(this.waysOf(s));
    const after = cost + s.kept.length + regroup(waysOf(map, plan));
    // Rounding must not make the current form look worse than itself.
    if (after < before - 1e-6 && after <= before * (1 - this.leastGain))
      return { plan, cost: after, map, before };
    if (this.explain) {
      const message = `about ${before.toFixed(1)} instructions now, ${after.toFixed(1)} as ${formOf(plan)}`;
      this.missed(s, 'no-better', message);
    }
    return null;
  }

  /** Why a jump through a table would take registers that cost warps, or more than the kernel may have; null if it would not. */
  private tooTight(head: BlockNo): string | null {
    const { fn, ctx, tableRegisters } = this;
    if (tableRegisters === 0) return null;
    const pressure = pressureOf(fn);
    const live = pressure.at(head, Pool.R).at(-1) ?? 0;
    const needed = live + tableRegisters;
    if (needed <= pressure.most[Pool.R]) return null;
    const limits = (ctx.fact('limits') ?? {}) as Limits;
    const use = { threads: statedThreads(fn) ?? USUAL_BLOCK, shared: sharedBytes(ctx.program, fn) };
    const spared = Math.min(registersAllowed(limits, fn), freeRegisters(limits, use));
    if (needed <= spared) return null;
    return `a jump table takes ${tableRegisters} registers where ${live} are live, more than the ${spared} that cost no warps`;
  }

  /** By target block of a leaf: how many blocks lead there. */
  private waysOf(s: Switch): Map<BlockNo, number> {
    const { d } = this;
    const inside = new Set(s.tests.map((t) => t.block));
    const blocks = new Set(s.leaves.map((leaf) => leaf.block));
    return new Map([...blocks].map((b) => [b, d.predecessors(b).filter((p) => inside.has(p)).length]));
  }

  /** The cheapest plan whose tables do not keep apart lanes that could continue together. */
  private planOf(
    s: Switch,
    map: SwitchMap,
    possible: IntervalSet,
    limits: PlanLimits,
    share: ((leaf: Leaf) => number) | null,
  ): Priced & { readonly map: SwitchMap } {
    const best = cheapest(map, limits);
    if (limits.lanes === 1) return { ...best, map };
    const looked = inTables(map, best.plan);
    const escapes = escapesOf(this.fn, s.leaves).filter((leaf) => leaf !== map.other && looked.has(leaf));
    if (escapes.length === 0 || escapes.length > MOST_ESCAPES) return { ...best, map };
    const first = escapes.map((leaf) => ({ ...leaf, values: meet(leaf.values, possible) }));
    const left = SwitchMap.of(
      { ...s, leaves: s.leaves.filter((leaf) => !escapes.includes(leaf)) },
      meet(possible, complement(union(...first.map((leaf) => leaf.values)), s.width)),
      limits.tableEntries,
      share,
    );
    return left === null
      ? { ...best, map }
      : { ...behind(left, first, cheapest(left, limits), limits), map: left };
  }

  /** Fraction of executions of each leaf, as counted by a profile; null if there is none, or the switch did not run. */
  private sharesOf(s: Switch): ((leaf: Leaf) => number) | null {
    const { fn } = this;
    if (fn.attrs.counts.length === 0) return null;
    const frequency = frequencyOf(fn);
    const { succ, succStart } = cfgOf(fn);
    const whole = frequency.block[s.head];
    if (!(whole > 0)) return null;
    const leavesOf = new Map<BlockNo, number>();
    for (const { block } of s.leaves) leavesOf.set(block, (leavesOf.get(block) ?? 0) + 1);
    const came = new Map<BlockNo, number>();
    for (const { block } of s.tests)
      for (let e = succStart[block]; e < succStart[block + 1]; e++)
        if (leavesOf.has(succ[e]))
          came.set(succ[e], (came.get(succ[e]) ?? 0) + edgeFrequency(frequency, block, e));
    return ({ block }) => Math.min(1, (came.get(block) ?? 0) / whole) / leavesOf.get(block)!;
  }

  /** Possible values of the selector where the switch begins. */
  private possible(s: Switch): IntervalSet {
    const k = rangeAt(rangesOf(this.fn), s.selector, s.head);
    const top = (1n << BigInt(s.width)) - 1n;
    const most = BigInt(k.most);
    const signed = circular(BigInt(k.signedLeast), BigInt(k.signedMost), s.width);
    const unsigned = [{ low: BigInt(k.least), high: most > top ? top : most }];
    // Beyond 2^53 bounds are rounded outwards, and may exceed the greatest signed value.
    return BigInt(k.signedMost) > top >> 1n ? unsigned : meet(unsigned, signed);
  }

  /** Instructions that a warp executes for the switch in its current form. */
  private costOf(s: Switch, map: SwitchMap, { lanes, tableCost }: PlanLimits): number {
    const { d } = this;
    const kept = new Set(s.kept);
    const weights = weightsOf(s, map);
    let cost = 0;
    for (const { block } of s.tests) {
      const end = d.terminator(block);
      let instructions = block === s.head ? 1 : 0;
      if (block !== s.head)
        for (let n = d.first(block); n >= 0; n = d.next(n)) if (n !== end && !kept.has(n)) instructions++;
      // A branch to the only successor is a matter of layout, and does not count.
      if (end >= 0) {
        const x = d.at(end);
        if (x.op.primitive === 'branch-table') instructions += tableCost;
        else if (x.guard !== NO_REG) instructions++;
      }
      for (const n of s.kept) if (d.block(n) === block) instructions++;
      cost += instructions * visited(weights.get(block)!, lanes);
    }
    return cost;
  }

  private report(s: Switch, { plan, cost, before }: Priced & { readonly before: number }): void {
    const { d } = this;
    const what = `${this.comparisons(s)} comparisons become ${formOf(plan)}`;
    const message = `${what}: about ${before.toFixed(1)} instructions before, ${cost.toFixed(1)} after`;
    this.ctx.remark('passed', 'switch-rewritten', message, {
      block: d.id(s.head),
      ins: d.at(d.terminator(s.head)),
    });
  }

  private missed(s: Switch, name: string, message: string): void {
    const { d } = this;
    const at = { block: d.id(s.head), ins: d.at(d.terminator(s.head)) };
    this.ctx.remark('missed', name, `switch at BB${d.id(s.head)}: ${message}`, at);
  }

  /** Removes a comparison that is no longer read, and what only it read. */
  private dropUnused(guard: Reg): void {
    const { d } = this;
    const work = [guard];
    for (let r = work.pop(); r !== undefined; r = work.pop()) {
      if (!inSsa(r) || d.useCount(r) > 0) continue;
      const n = d.def(r);
      if (n < 0 || !isValue(d.at(n)) || d.at(n).dst.some((o) => o !== NO_REG && d.useCount(o) > 0)) continue;
      const { src } = d.at(n);
      d.remove(n);
      for (const o of src) if (o.reg !== NO_REG) work.push(o.reg);
    }
  }
}

/** By block of a switch: the weight of the values that reach it. */
function weightsOf(s: Switch, map: SwitchMap): Map<BlockNo, number> {
  const out = new Map<BlockNo, number>();
  for (const { block, next, apart } of [...s.tests].reverse()) {
    let weight = 0;
    for (const to of next) weight += out.get(to)!;
    for (const values of apart) weight += map.weightOf(values);
    out.set(block, weight);
  }
  return out;
}

/**
 * The parameters of the binding. An absent one is no limit, but without `table-entries` there are no tables. @throws
 * Error for one that is not a number from 0 up
 */
function parametersOf(
  given: PassContext['params'],
): PlanLimits & { readonly few: number; readonly leastGain: number; readonly tableRegisters: number } {
  const number = (name: string, absent: number): number => {
    const v = given[name] ?? absent;
    if (typeof v !== 'number' || !(v >= 0))
      throw new Error(`switch-opt: '${name}' must be a number, 0 or more`);
    return v;
  };
  const out = {
    // One comparison is never a switch.
    few: Math.max(1, number('cascade-cases', 0)),
    leastGain: number('least-gain', 0),
    tableRegisters: number('table-registers', 0),
    tableDensity: number('table-density', 0),
    tableEntries: number('table-entries', 0),
    tableCost: number('table-cost', 1),
    lanes: number('lanes', 1),
    regroupCost: number('regroup-cost', 0),
  };
  return out;
}

/** The name of a plan's form. */
function formOf(plan: Plan): string {
  const kinds = new Map<string, number>();
  const work = [plan];
  for (let p = work.pop(); p !== undefined; p = work.pop()) {
    kinds.set(p.kind, (kinds.get(p.kind) ?? 0) + 1);
    if (p.kind === 'less') work.push(p.yes, p.no);
    if (p.kind === 'range') work.push(p.no);
  }
  const count = (kind: string, one: string, many: string): string[] => {
    const n = kinds.get(kind) ?? 0;
    return n === 0 ? [] : [`${n} ${n === 1 ? one : many}`];
  };
  const comparisons = (kinds.get('less') ?? 0) + (kinds.get('range') ?? 0);
  const all = [
    ...count('table', 'jump table', 'jump tables'),
    ...count('bits', 'test of bits', 'tests of bits'),
    ...(comparisons === 0 ? [] : [counted(comparisons, 'comparison')]),
  ];
  return all.length === 0 ? 'a jump to one target' : all.join(' and ');
}
