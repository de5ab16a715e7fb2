import { cfgOf } from '../analysis/flow/cfg.ts';
import { LimitReached } from '../ir/limit.ts';
import { type Reg, regName, regWidth } from '../ir/operand.ts';
import type { Fn, Program } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import { type Cuts, cutsOf } from './cuts.ts';
import { type Expression, expressionOf, valueAt } from './expressions.ts';
import type { Inputs } from './refute.ts';
import { liveAt, type Run, runRegion, type Target, type Version, type Way } from './region.ts';
import { newClaim, newFault } from './safety.ts';
import { declareSymbols, type Symbols } from './symbols.ts';
import { isUniformFile } from './thread.ts';
import { Values } from './values.ts';
import { WorkBudget } from './work-budget.ts';

/** Verdict on a region between two cuts. */
export interface RegionVerdict {
  /** Id and label of its first block in the first version. */
  readonly block: number;
  readonly name: string;
  /** True if its instructions differ between the versions. */
  readonly changed: boolean;
  /** Why it is not proved; '' if it is. */
  readonly why: string;
  /** Inputs for which the versions differ; only for the region at the function's entry. */
  readonly inputs?: Inputs;
}

/** True if two values are known to be equal wherever `given` holds; false if they differ or nothing is known. */
export type Decide = (values: Values, given: number, left: number, right: number) => Promise<boolean>;

/**
 * Searches for inputs for which two values differ although `given` holds; null if it finds none.
 *
 * @param addresses nodes of the addresses that the versions access
 */
export type Refute = (
  values: Values,
  given: number,
  left: number,
  right: number,
  addresses: readonly number[],
) => Promise<Inputs | null>;

/** Maximum work for one function after one phase, so that one function does not use up the budget of a file. */
export const MOST_WORK = 10_000_000;
/** Maximum number of visits of a pair of cuts before its equalities reach a fixpoint: five times those of the test kernels. */
const MOST_VISITS = 40;
/** Maximum number of pairs per cut of the longer list: versions with corresponding loops have one. */
const MOST_PAIRS = 4;

/**
 * Proves that two versions of a function are equivalent: the same stores and other effects under the same conditions, in an order that
 * threads cannot distinguish, and the same ends. This is translation validation (Pnueli, Siegel and Singerman, 1998; Necula, "Translation
 * Validation for an Optimizing Compiler", 2000) by cut points: the function is cut at loops, and for each pair of cuts that both versions
 * reach together, the equal registers are found as the greatest set of equalities that every way into the pair preserves (as in value
 * numbering by partition: Alpern, Wegman and Zadeck, "Detecting Equality of Variables in Programs", 1988). Then every region is executed
 * once symbolically, in both versions over the same unknown values.
 *
 * @param decide decision procedure for values whose normal forms differ; null for none
 * @param refute searches for inputs that show a difference before a kernel's first loop; null for none
 * @param budget the work budget; what exceeds it is not proved
 */
export async function validate(
  before: { readonly program: Program; readonly fn: Fn },
  after: { readonly program: Program; readonly fn: Fn },
  decide: Decide | null,
  refute: Refute | null = null,
  budget: WorkBudget = new WorkBudget(MOST_WORK),
): Promise<readonly RegionVerdict[]> {
  let best: readonly RegionVerdict[] | null = null;
  for (const ask of decide === null ? [null] : [null, decide])
    for (const lead of ['after', 'before'] as const) {
      const cuts = cutsOf(before.fn, after.fn, lead);
      const found = await new Product(before, after, cuts, ask, refute, budget).run();
      if (found.every((r) => r.why === '')) return found;
      if (best === null || failures(found) < failures(best)) best = found;
      if (before.fn.shape === after.fn.shape || budget.isEmpty) break;
    }
  return best ?? [];
}

const failures = (list: readonly RegionVerdict[]): number => list.filter((r) => r.why !== '').length;

/** Key of a register of one of the versions. */
type Item = string;

interface Pair {
  readonly kind: 'entry' | 'cut';
  readonly before: number;
  readonly after: number;
  readonly items: readonly { readonly key: Item; readonly reg: Reg; readonly side: 0 | 1 }[];
  /** The class of equal registers that each register belongs to; null if the pair was not reached yet. */
  classes: Map<Item, number> | null;
  /** The value of a class as an expression, if known. */
  known: Map<number, Expression>;
  /** Classes whose value is warp-uniform. */
  uniform: Set<number>;
  visits: number;
}

interface Both {
  readonly values: Values;
  readonly symbols: Symbols;
  readonly runs: readonly [Run, Run];
}

/** Result for a region. `parting`: a condition, and two values that may differ where it holds. */
interface Found {
  readonly why: string;
  readonly parting: readonly [number, number, number] | null;
}

class Product {
  private readonly versions: readonly [Version, Version];
  private readonly decide: Decide | null;
  private readonly refute: Refute | null;
  private readonly pairs = new Map<string, Pair>();
  private readonly queue: Pair[] = [];
  private readonly budget: WorkBudget;

  constructor(
    before: { readonly program: Program; readonly fn: Fn },
    after: { readonly program: Program; readonly fn: Fn },
    cuts: Cuts,
    decide: Decide | null,
    refute: Refute | null,
    budget: WorkBudget,
  ) {
    this.budget = budget;
    this.versions = [
      { ...before, cuts: cuts.before },
      { ...after, cuts: cuts.after },
    ];
    this.decide = decide;
    this.refute = before.fn.kind === 'entry' ? refute : null;
  }

  async run(): Promise<readonly RegionVerdict[]> {
    try {
      return await this.regions();
    } catch (e) {
      return this.verdictOfAll(whyOf(e));
    }
  }

  private async regions(): Promise<readonly RegionVerdict[]> {
    const entry = this.pairOf('entry', 0, 0);
    this.settleEntry(entry);
    this.queue.push(entry);
    const failed = new Map<Pair, string>();
    const most = MOST_PAIRS * (2 + Math.max(this.versions[0].cuts.size, this.versions[1].cuts.size));
    while (this.queue.length > 0) {
      const pair = this.queue.shift()!;
      if (this.pairs.size > most) return this.verdictOfAll('the loops of the two versions do not correspond');
      if (pair.visits++ > MOST_VISITS) return this.verdictOfAll('equalities do not reach a fixpoint');
      try {
        await this.flow(this.both(pair));
        failed.delete(pair);
      } catch (e) {
        failed.set(pair, whyOf(e));
      }
    }
    const out = new Map<number, RegionVerdict>();
    const reached = this.reached(entry, failed);
    const twice = this.metTwice(reached);
    for (const pair of reached) {
      let why = failed.get(pair) ?? '';
      let changed = true;
      let inputs: Inputs | null = null;
      if (why === '')
        try {
          const both = this.both(pair);
          changed = this.differs(both.runs);
          const found = await this.check(both);
          ({ why } = found);
          if (
            why === '' &&
            twice.has(pair) &&
            both.runs.some((r) => r.trace.effects.some((e) => e.convergent))
          )
            why = 'a convergent operation is in two places';
          if (found.parting !== null && pair === entry && this.refute !== null)
            inputs = await this.refute(both.values, ...found.parting, addressesOf(both));
        } catch (e) {
          why = whyOf(e);
        }
      const other = out.get(pair.before);
      if (other === undefined || why !== '')
        out.set(pair.before, {
          ...this.verdict(pair.before, changed || other?.changed === true, why),
          ...(inputs !== null && { inputs }),
        });
    }
    return [...out.values()];
  }

  /** Pairs that are reachable with the final equalities; assumptions that were dropped later may have led to others. */
  private reached(entry: Pair, failed: ReadonlyMap<Pair, string>): ReadonlySet<Pair> {
    const seen = new Set([entry]);
    for (const pair of seen) {
      if (failed.has(pair)) continue;
      const { values, runs } = this.both(pair);
      for (const [a, b] of commonWays(values, runs))
        if (typeof a.target === 'number' && typeof b.target === 'number')
          seen.add(this.pairOf('cut', this.position(0, a.target), this.position(1, b.target)));
    }
    return seen;
  }

  /**
   * Pairs in which one block is paired with two blocks of the other version: lanes of a warp may then be in different copies of it and no
   * longer meet at one barrier.
   */
  private metTwice(pairs: ReadonlySet<Pair>): ReadonlySet<Pair> {
    const list = [...pairs].filter((p) => p.kind === 'cut');
    return new Set(
      list.filter((p) => list.some((q) => q !== p && (q.before === p.before || q.after === p.after))),
    );
  }

  private verdict(at: number, changed: boolean, why: string): RegionVerdict {
    const b = this.versions[0].fn.blocks[at];
    return { block: b.id, name: b.name, changed, why };
  }

  private verdictOfAll(why: string): RegionVerdict[] {
    return [0, ...this.versions[0].cuts].map((at) => this.verdict(at, true, why));
  }

  // ------------------------------------------------------------------ equalities

  private pairOf(kind: 'entry' | 'cut', before: number, after: number): Pair {
    const key = `${kind} ${before} ${after}`;
    let pair = this.pairs.get(key);
    if (pair === undefined) {
      const items = ([before, after] as const).flatMap((at, side) =>
        liveAt(this.versions[side].fn, at).map((reg) => ({
          key: `${side} ${reg}`,
          reg,
          side: side as 0 | 1,
        })),
      );
      pair = { kind, before, after, items, classes: null, known: new Map(), uniform: new Set(), visits: 0 };
      this.pairs.set(key, pair);
    }
    return pair;
  }

  /** On entry each register holds the same value in both versions: an argument, or whatever was there. */
  private settleEntry(entry: Pair): void {
    entry.classes = new Map(entry.items.map((x) => [x.key, x.reg]));
  }

  /** Executes both versions symbolically from a pair of cuts. */
  private both(pair: Pair): Both {
    const values = new Values(this.budget);
    const symbols: Symbols = new Map();
    for (const v of this.versions) declareSymbols(v, values, symbols);
    const registers: [Map<Reg, number>, Map<Reg, number>] = [new Map(), new Map()];
    const held = new Map<number, number>();
    const widths = new Map(pair.items.map((x) => [pair.classes!.get(x.key)!, regWidth(x.reg)]));
    const open = new Set<number>();
    const heldIn = (of: number): number => {
      const seen = held.get(of);
      if (seen !== undefined) return seen;
      open.add(of);
      const e = pair.known.get(of);
      const width = widths.get(of)!;
      const known =
        e === undefined ? null : valueAt(e, values, (item) => heldUnlessOpen(pair.classes!.get(item)!));
      const x = known ?? values.leaf(`held ${of}`, width);
      if (known === null && pair.uniform.has(of)) values.markUniform(x);
      held.set(of, x);
      return x;
    };
    // A class that is defined in terms of itself, since its registers are equal only here, has no known value.
    const heldUnlessOpen = (of: number): number | null => (open.has(of) && !held.has(of) ? null : heldIn(of));
    for (const { key, reg, side } of pair.items) registers[side].set(reg, heldIn(pair.classes!.get(key)!));
    return {
      values,
      symbols,
      runs: [
        runRegion(this.versions[0], pair.before, registers[0], values, symbols),
        runRegion(this.versions[1], pair.after, registers[1], values, symbols),
      ],
    };
  }

  /** Propagates the equalities at the ends of a region to the pairs of cuts that follow it. */
  private async flow({ values, runs }: Both): Promise<void> {
    for (const [a, b, c] of commonWays(values, runs)) {
      if (typeof a.target !== 'number' || typeof b.target !== 'number') continue;
      const pair = this.pairOf('cut', this.position(0, a.target), this.position(1, b.target));
      if (await this.arrive(pair, values, c, [a, b])) this.queue.push(pair);
    }
  }

  private position(side: 0 | 1, id: number): number {
    return cfgOf(this.versions[side].fn).positionOf[id];
  }

  /** Meets the equalities of a pair with those of an incoming way. @returns whether the pair's state changed */
  private async arrive(pair: Pair, values: Values, c: number, ways: readonly [Way, Way]): Promise<boolean> {
    const found = new Map<Item, number>();
    for (const { key, reg, side } of pair.items) {
      const x = ways[side].registers.get(reg) ?? values.atom(`unset ${regName(reg)}`, regWidth(reg));
      found.set(key, values.given(x, c));
    }
    if (this.decide !== null) await this.unite(pair, found, values, c);
    const numbers = new Map<string, number>();
    const classes = new Map<Item, number>();
    const known = new Map<number, Expression>();
    const was = pair.classes;
    const holders = new Map<number, Item>();
    const computed = new Map<Item, number>();
    for (const { key, reg, side } of pair.items) {
      const x = ways[side].computed.get(reg) ?? found.get(key)!;
      computed.set(key, x);
      if (!holders.has(x)) holders.set(x, key);
    }
    const before = new Set(
      pair.items.filter((x) => x.side === 0 && isUniformFile(x.reg)).map((x) => found.get(x.key)!),
    );
    const agreed = new Set<number>();
    for (const { key, reg } of pair.items) {
      const x = found.get(key)!;
      const old = was?.get(key);
      const name = `${old ?? ''} ${x} ${regWidth(reg)}`;
      let n = numbers.get(name);
      if (n === undefined) {
        numbers.set(name, (n = numbers.size));
        const e =
          old === undefined ? this.candidate(values, computed.get(key)!, holders) : pair.known.get(old);
        // A register that the first version holds once per warp is uniform.
        const uniform = before.has(x) || ((was === null || pair.uniform.has(old!)) && values.isUniform(x));
        if (uniform) agreed.add(n);
        const is = e == null ? null : valueAt(e, values, (item) => found.get(item) ?? null);
        if (is !== null && values.given(is, c) === x) known.set(n, e!);
      }
      classes.set(key, n);
    }
    const sizes = (m: ReadonlyMap<Item, number>): number => new Set(m.values()).size;
    const changed =
      was === null ||
      sizes(was) !== sizes(classes) ||
      pair.known.size > known.size ||
      pair.uniform.size > agreed.size;
    if (!changed) return false;
    pair.classes = classes;
    pair.known = known;
    pair.uniform = agreed;
    return true;
  }

  /** An expression that may describe a register at the cut: preferably by fixed values, otherwise by other registers. */
  private candidate(values: Values, x: number, holders: ReadonlyMap<number, Item>): Expression | null {
    return expressionOf(values, x, new Map()) ?? expressionOf(values, x, holders);
  }

  /** Unites the values of a register in both versions if the decision procedure proves them equal. */
  private async unite(pair: Pair, found: Map<Item, number>, values: Values, c: number): Promise<void> {
    for (const { key, reg, side } of pair.items) {
      if (side === 0) continue;
      const other = `0 ${reg}`;
      const [x, y] = [found.get(other), found.get(key)!];
      if (x === undefined || x === y) continue;
      if (pair.classes !== null && pair.classes.get(other) !== pair.classes.get(key)) continue;
      if (await this.decide!(values, c, x, y)) found.set(key, x);
    }
  }

  // ------------------------------------------------------------------ verdicts

  /** True if a block of the region has other instructions than before. */
  private differs(runs: readonly [Run, Run]): boolean {
    const [a, b] = runs;
    if (a.blocks.length !== b.blocks.length) return true;
    return a.blocks.some((id, i) => {
      if (b.blocks[i] !== id) return true;
      const x = this.versions[0].fn.blocks[this.position(0, id)].ins;
      const y = this.versions[1].fn.blocks[this.position(1, id)].ins;
      return x !== y && (x.length !== y.length || x.some((ins, k) => ins !== y[k]));
    });
  }

  /** Compares both versions of a region: why they may differ, or '', and if possible the values that differ. */
  private async check({ values, symbols, runs }: Both): Promise<Found> {
    const equal = async (given: number, x: number, y: number): Promise<boolean> =>
      x === y || (this.decide !== null && (await this.decide(values, given, x, y)));
    let ends = values.no;
    for (const [a, b, c] of commonWays(values, runs)) {
      if (typeof a.target === 'number' && typeof b.target === 'number') continue;
      if (a.target !== b.target) {
        if (await equal(values.yes, c, values.no)) continue;
        return {
          // The condition may hold nowhere: a loop that tests elsewhere gets to the same end in another way.
          why: `a branch cannot be shown to go the same way: to ${this.nameOf(0, a.target)} before, to ${this.nameOf(1, b.target)} after`,
          parting: null,
        };
      }
      // A function's stores to local memory may be visible to its caller, so only the end of the thread counts.
      if (a.target === 'exit') ends = values.either(ends, c);
      for (const [r, x] of a.registers) {
        const y = b.registers.get(r) ?? values.atom(`unset ${regName(r)}`, regWidth(r));
        if (!(await equal(c, values.given(x, c), values.given(y, c))))
          return { why: `it returns another value in ${regName(r)}`, parting: null };
      }
    }
    const [x, y] = runs.map((r) => r.trace.canonical(ends));
    for (let i = 0; i < Math.max(x.length, y.length); i++) {
      if (i >= x.length || i >= y.length)
        return {
          why: `${x.length} effects before, ${y.length} after: ${(x[i] ?? y[i]).kind}`,
          parting: [values.yes, (x[i] ?? y[i]).guard, values.no],
        };
      if (x[i].key === y[i].key && x[i].guard === y[i].guard) continue;
      const what = `effect ${i + 1} of ${x.length}`;
      if (x[i].kind !== y[i].kind || x[i].bits !== y[i].bits)
        return { why: `${what} is ${x[i].kind} before, and ${y[i].kind} after`, parting: null };
      if (!(await equal(values.yes, x[i].guard, y[i].guard)))
        return {
          why: `${what} has another condition: ${partText(values, x[i].guard, y[i].guard)}`,
          parting: [values.yes, x[i].guard, y[i].guard],
        };
      for (const [k, operand] of x[i].operands.entries()) {
        const { guard } = x[i];
        const [p, q] = [operand, y[i].operands[k]].map((z) => values.given(z, guard));
        if (!(await equal(guard, p, q)))
          return { why: `${what} has another operand: ${partText(values, p, q)}`, parting: [guard, p, q] };
      }
    }
    return { why: (await newFault(values, symbols, runs, equal)) || newClaim(values, runs), parting: null };
  }

  private nameOf(side: 0 | 1, t: Target): string {
    if (typeof t !== 'number') return `the ${t}`;
    const b = this.versions[side].fn.blocks[this.position(side, t)];
    return b.name === '' ? `block ${t}` : b.name;
  }
}

const addressesOf = ({ runs }: Both): number[] => runs.flatMap((r) => r.accesses.map((a) => a.address));

/** Describes the innermost difference of two values. */
function partText(values: Values, x: number, y: number): string {
  const [p, q] = values.parting(x, y);
  return `${values.textOf(p)} before, ${values.textOf(q)} after`;
}

/** Pairs of ways out that both versions may take for the same inputs, each with its condition. */
function commonWays(values: Values, [before, after]: readonly [Run, Run]): [Way, Way, number][] {
  return before.ways.flatMap((a) =>
    after.ways.flatMap((b): [Way, Way, number][] => {
      const c = values.both(a.condition, b.condition);
      return c === values.no ? [] : [[a, b, c]];
    }),
  );
}

function whyOf(e: unknown): string {
  if (e instanceof Unsupported) return e.message;
  if (e instanceof LimitReached) return 'it is too large';
  if (e instanceof RangeError) return 'it is nested too deeply';
  throw e;
}
