import { cfgOf } from '../analysis/flow/cfg.ts';
import { type Reg, regName, regWidth } from '../ir/operand.ts';
import type { Fn, Program } from '../ir/program.ts';
import { TooLarge } from '../rules/prove/normal.ts';
import { type Cuts, cutsOf } from './cuts.ts';
import { type Expression, expressionOf, valueAt } from './expressions.ts';
import { Purse } from './purse.ts';
import type { Inputs } from './refute.ts';
import { liveAt, type Run, runRegion, type Target, type Version, type Way } from './region.ts';
import { newClaim, newFault } from './safety.ts';
import { declareSymbols, type Symbols } from './symbols.ts';
import { isUniformFile, Unsupported } from './thread.ts';
import { TooManyEffects } from './trace.ts';
import { Values } from './values.ts';

/** A region between two cuts, and whether both versions do the same in it. */
export interface RegionVerdict {
  /** Id and label of the block with which it begins in the version before. */
  readonly block: number;
  readonly name: string;
  /** Whether its instructions differ between the versions. */
  readonly changed: boolean;
  /** Why it is not proved, or ''. */
  readonly why: string;
  /** What a thread may find so that the versions part, by their meanings; only where the function begins. */
  readonly inputs?: Inputs;
}

/**
 * Are two values equal wherever `given` holds? False also where that is not known.
 * @param limit steps that a solver may take
 */
export type Decide = (values: Values, given: number, left: number, right: number) => Promise<boolean>;

/**
 * Looks for inputs for which two values differ although `given` holds.
 * @param addresses of what the versions access: what they are made of points to something
 */
export type Refute = (
  values: Values,
  given: number,
  left: number,
  right: number,
  addresses: readonly number[],
) => Promise<Inputs | null>;

/** Steps for one function after one phase, so that one of them does not use up all that a file has. */
export const MOST_WORK = 10_000_000;
/** Visits of a pair of cuts until its equalities must have settled: five times what the test kernels take. */
const MOST_VISITS = 40;
/** Pairs of cuts for each cut of the longer list: versions whose loops correspond have one. */
const MOST_PAIRS = 4;

/**
 * Shows for two versions of a function that they do the same: the same stores and other effects in an order that threads cannot tell
 * apart, under the same conditions, and the same ends. Translation validation (Pnueli, Siegel and Singerman, 1998; Necula, "Translation
 * Validation for an Optimizing Compiler", 2000) by cut points: the function is cut at loops, and for each pair of cuts that both versions
 * reach together, equal registers are found as the greatest set of equalities that every way into the pair keeps (as value numbering by
 * partition does: Alpern, Wegman and Zadeck, "Detecting Equality of Variables in Programs", 1988). Then every region is run once for all
 * inputs, in both versions over the same unknown values.
 *
 * @param decide asked where the normal forms of two values differ
 * @param refute asked where they cannot be shown to be equal, of what a kernel does before its first loop
 * @param purse work that may be done; what it does not suffice for is not proved
 */
export async function validate(
  before: { readonly program: Program; readonly fn: Fn },
  after: { readonly program: Program; readonly fn: Fn },
  decide: Decide | null,
  refute: Refute | null = null,
  purse: Purse = new Purse(MOST_WORK),
): Promise<readonly RegionVerdict[]> {
  let best: readonly RegionVerdict[] | null = null;
  for (const ask of decide === null ? [null] : [null, decide])
    for (const lead of ['after', 'before'] as const) {
      const cuts = cutsOf(before.fn, after.fn, lead);
      const found = await new Product(before, after, cuts, ask, refute, purse).run();
      if (found.every((r) => r.why === '')) return found;
      if (best === null || failures(found) < failures(best)) best = found;
      if (before.fn.shape === after.fn.shape || purse.isEmpty) break;
    }
  return best ?? [];
}

const failures = (list: readonly RegionVerdict[]): number => list.filter((r) => r.why !== '').length;

/** A register of one of the versions, as a key. */
type Item = string;

interface Pair {
  readonly kind: 'entry' | 'cut';
  readonly before: number;
  readonly after: number;
  readonly items: readonly { readonly key: Item; readonly reg: Reg; readonly side: 0 | 1 }[];
  /** The set of equal registers to which each belongs; null: not reached yet. */
  classes: Map<Item, number> | null;
  /** What the registers of a set hold, where that is known. */
  known: Map<number, Expression>;
  /** Sets whose value all lanes of a warp have in common. */
  uniform: Set<number>;
  visits: number;
}

interface Both {
  readonly values: Values;
  readonly symbols: Symbols;
  readonly runs: readonly [Run, Run];
}

/** What was found of a region; `parting`: a condition, and two values that may differ where it holds. */
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
  private readonly purse: Purse;

  constructor(
    before: { readonly program: Program; readonly fn: Fn },
    after: { readonly program: Program; readonly fn: Fn },
    cuts: Cuts,
    decide: Decide | null,
    refute: Refute | null,
    purse: Purse,
  ) {
    this.purse = purse;
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
      if (this.pairs.size > most) return this.verdictOfAll('loops of the two versions do not go together');
      if (pair.visits++ > MOST_VISITS) return this.verdictOfAll('equalities do not settle');
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
            why = 'what lanes do together stands in two places';
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

  /** Pairs that are reached now: while equalities were assumed that did not hold, control may have seemed to go elsewhere. */
  private reached(entry: Pair, failed: ReadonlyMap<Pair, string>): ReadonlySet<Pair> {
    const seen = new Set([entry]);
    for (const pair of seen) {
      if (failed.has(pair)) continue;
      const { values, runs } = this.both(pair);
      for (const [a, b] of together(values, runs))
        if (typeof a.target === 'number' && typeof b.target === 'number')
          seen.add(this.pairOf('cut', this.position(0, a.target), this.position(1, b.target)));
    }
    return seen;
  }

  /**
   * Pairs of which one block goes with two of the other version: lanes of a warp may then be in different copies of it, and no longer meet
   * at one barrier.
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

  /** On entry the same register holds the same in both versions: an argument, or whatever was there. */
  private settleEntry(entry: Pair): void {
    entry.classes = new Map(entry.items.map((x) => [x.key, x.reg]));
  }

  /** Runs both versions from a pair of cuts on. */
  private both(pair: Pair): Both {
    const values = new Values(this.purse);
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
    // A set that is told by itself, since its registers are equal only here, is told by nothing.
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

  /** Brings what holds at the ends of a region to the pairs of cuts that follow it. */
  private async flow({ values, runs }: Both): Promise<void> {
    for (const [a, b, c] of together(values, runs)) {
      if (typeof a.target !== 'number' || typeof b.target !== 'number') continue;
      const pair = this.pairOf('cut', this.position(0, a.target), this.position(1, b.target));
      if (await this.arrive(pair, values, c, [a, b])) this.queue.push(pair);
    }
  }

  private position(side: 0 | 1, id: number): number {
    return cfgOf(this.versions[side].fn).positionOf[id];
  }

  /** @returns whether fewer registers are equal than before */
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
        // A register that the version before holds once for a warp is the same for its lanes.
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

  /** What a register may hold whenever control comes to the cut, told by fixed values, else by what other registers hold. */
  private candidate(values: Values, x: number, holders: ReadonlyMap<number, Item>): Expression | null {
    return expressionOf(values, x, new Map()) ?? expressionOf(values, x, holders);
  }

  /** Gives one value to a register of both versions if a solver says that it is equal. */
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

  /** Whether a block of the region has other instructions than before. */
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

  /** Why both versions of a region may do different things, and which values differ where what holds; '' if they do not. */
  private async check({ values, symbols, runs }: Both): Promise<Found> {
    const equal = async (given: number, x: number, y: number): Promise<boolean> =>
      x === y || (this.decide !== null && (await this.decide(values, given, x, y)));
    let ends = values.no;
    for (const [a, b, c] of together(values, runs)) {
      if (typeof a.target === 'number' && typeof b.target === 'number') continue;
      if (a.target !== b.target) {
        if (await equal(values.yes, c, values.no)) continue;
        return {
          // The condition of this may hold nowhere: a loop that tests elsewhere comes to the same end by another way.
          why: `a branch is not seen to go the same way: to ${this.nameOf(0, a.target)} before, to ${this.nameOf(1, b.target)} after`,
          parting: null,
        };
      }
      // What a function stores may be its caller's.
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

/** Two values that are not seen to be equal, from where they part. */
function partText(values: Values, x: number, y: number): string {
  const [p, q] = values.parting(x, y);
  return `${values.textOf(p)} before, ${values.textOf(q)} after`;
}

/** Ways out that both versions may take for the same inputs, with the condition under which they do. */
function together(values: Values, [before, after]: readonly [Run, Run]): [Way, Way, number][] {
  return before.ways.flatMap((a) =>
    after.ways.flatMap((b): [Way, Way, number][] => {
      const c = values.both(a.condition, b.condition);
      return c === values.no ? [] : [[a, b, c]];
    }),
  );
}

function whyOf(e: unknown): string {
  if (e instanceof Unsupported) return e.message;
  if (e instanceof TooLarge || e instanceof TooManyEffects) return 'it is too large';
  if (e instanceof RangeError) return 'it is nested too deeply';
  throw e;
}
