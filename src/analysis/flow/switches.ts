import { type BlockNo, type Draft, type Ins, pinnedBlocks } from '../../ir/draft/index.ts';
import { endsFlow, isPhi } from '../../ir/flow.ts';
import { valueOfEntry } from '../../ir/jump-table.ts';
import { Kind, NO_REG, type Operand, type Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { everything, type IntervalSet, meet, NOTHING, union, without } from '../values/interval-sets.ts';
import { Selectors } from '../values/selectors.ts';

/** Where some values of a selector lead: a block, and the operands of its phis on that edge. */
export interface Leaf {
  readonly block: BlockNo;
  /** By phi of the block; registers that hold the same value count as one. */
  readonly args: readonly Operand[];
  readonly values: IntervalSet;
  /** Source line of a branch that leads there. */
  readonly loc: number;
}

/** A block of a switch, possibly its head. The values that reach it are those that leave it. */
export interface Test {
  readonly block: BlockNo;
  /** Tests that only this one leads to. */
  readonly next: readonly BlockNo[];
  /** By edge, the values on its other outgoing edges: to leaves, or to tests that others lead to as well. */
  readonly apart: readonly IntervalSet[];
}

/**
 * Blocks that only decide on one register: together they map its values to targets. The head may contain anything
 * before its last instruction. Every other block is entered only from blocks of the switch, and contains only values
 * besides its branch.
 */
export interface Switch {
  readonly head: BlockNo;
  /** Available wherever the head ends. */
  readonly selector: Reg;
  readonly width: number;
  /** The head first; each block comes after those that lead to it. */
  readonly tests: readonly Test[];
  /**
   * Their values are disjoint. A value in none of them never occurs, or has no defined target (an index past the end
   * of a table).
   */
  readonly leaves: readonly Leaf[];
  /** Blocks that decide on the same register but are not part of the switch, with the reason. */
  readonly stops: readonly { readonly block: BlockNo; readonly why: string }[];
  /**
   * Instructions of blocks other than the head whose results are needed elsewhere, in an order in which they can run
   * in the head.
   */
  readonly kept: readonly Ins[];
}

/** What a block may contain between its start and its branch. */
export type Between =
  /** Values, which move to the head if they are needed outside the switch. */
  | 'values'
  /** Only what nothing but the block itself reads: the comparison and its inputs. */
  | 'comparison';

/**
 * Maximum number of blocks of one switch; the rest of a longer chain is a separate switch. Along a chain the set of remaining values is
 * copied at each test, so n tests copy n^2 / 2 references: 8 million here.
 */
export const MOST_TESTS = 4096;
/** Values that a block may compute besides its comparison; with more it is ordinary code rather than a test. */
const MOST_BETWEEN = 8;

/** Finds switches in a draft in SSA whose control operations end blocks. Edits must not change values of registers. */
export class Switches {
  private readonly d: Draft;
  private readonly selectors: Selectors;
  private pinned: ReadonlySet<BlockNo> = new Set();

  /** @param hasOneValue is the register in SSA? */
  constructor(d: Draft, hasOneValue: (r: Reg) => boolean) {
    this.d = d;
    this.selectors = new Selectors(d, hasOneValue);
    this.pinned = pinnedBlocks(d);
  }

  /**
   * The largest switch that begins at the end of a block; null if the block does not decide on a register, or nothing
   * near it decides on the same one. A head that `stops` keep alone is one test without leaves.
   * @param taken blocks that may only be part of a switch that they head
   */
  from(head: BlockNo, between: Between, taken: (b: BlockNo) => boolean): Switch | null {
    const subject = this.subjectOf(head);
    if (subject === null || this.decidesOn(head) !== subject.base) return null;
    const { d } = this;
    const { base, root } = subject;
    const { width } = subject;
    const tests: Test[] = [];
    const inside = new Set<BlockNo>([head]);
    const stops: Switch['stops'][number][] = [];
    /** By block outside the switch: the edges that lead there. */
    const open = new Map<BlockNo, { from: BlockNo; values: IntervalSet }[]>();
    const full = new Set<BlockNo>();
    const work: { block: BlockNo; values: IntervalSet | null }[] = [
      { block: head, values: everything(width) },
    ];
    for (let k = 0; k < work.length; k++) {
      const t = { block: work[k].block, values: work[k].values! };
      // Sets of a long chain are large together.
      work[k].values = null;
      const next: BlockNo[] = [];
      const apart: IntervalSet[] = [];
      tests.push({ block: t.block, next, apart });
      for (const [to, values] of this.valuesByTarget(t.block, t.values)) {
        let ways = open.get(to);
        if (ways === undefined) open.set(to, (ways = []));
        ways.push({ from: t.block, values });
        apart.push(values);
        if (to === head || ways.length < d.predecessors(to).length || taken(to)) continue;
        if (this.refuses(to, base, between) !== null) continue;
        if (work.length >= MOST_TESTS) {
          full.add(to);
          continue;
        }
        if (ways.length === 1) {
          apart.pop();
          next.push(to);
        }
        open.delete(to);
        inside.add(to);
        work.push({ block: to, values: union(...ways.map((w) => w.values)) });
      }
    }
    for (const [b, ways] of open) {
      if (b === head || this.subjectOf(b)?.base !== base) continue;
      const alone = ways.length === d.predecessors(b).length;
      const why = full.has(b)
        ? `a switch has at most ${MOST_TESTS} blocks`
        : alone
          ? this.refuses(b, base, between)
          : 'it has other predecessors';
      if (why !== null) stops.push({ block: b, why });
    }
    if (tests.length < 2)
      return stops.length === 0 ? null : { head, selector: root, width, tests, leaves: [], stops, kept: [] };
    const leaves = this.leavesOf(open);
    return { head, selector: root, width, tests, leaves, stops, kept: this.keptOf(tests, inside, leaves) };
  }

  /** The register that the end of a block decides on. */
  private subjectOf(b: BlockNo): { readonly base: Reg; readonly root: Reg; readonly width: number } | null {
    const { d, selectors } = this;
    const n = d.terminator(b);
    if (n < 0) return null;
    const x = d.at(n);
    if (x.op.primitive === 'branch') return x.guard === NO_REG ? null : selectors.truthOf(x.guard);
    if (x.op.primitive !== 'branch-table' || x.src[0].kind !== Kind.Reg) return null;
    return selectors.indexOf(x.src[0].reg);
  }

  /** The values that each successor gets at the end of a block that decides on the register, or does not branch. */
  private valuesByTarget(b: BlockNo, values: IntervalSet): Map<BlockNo, IntervalSet> {
    const { d, selectors } = this;
    const out = new Map<BlockNo, IntervalSet>();
    const add = (to: BlockNo, v: IntervalSet): void => {
      const known = out.get(to);
      out.set(to, known === undefined ? v : union(known, v));
    };
    const n = d.terminator(b);
    const x = n < 0 ? null : d.at(n);
    let jumps = x === null ? NOTHING : values;
    if (x !== null && x.guard !== NO_REG) {
      const t = selectors.truthOf(x.guard)!;
      const holds = meet(values, t.values);
      const no = without(values, t.values);
      jumps = x.guardNot ? no : holds;
      add(d.fall(b), x.guardNot ? holds : no);
    } else if (d.fall(b) >= 0) add(d.fall(b), values);
    if (x?.op.primitive === 'branch') add(d.blockById(x.src[0].lo), jumps);
    if (x?.op.primitive === 'branch-table') this.tableWays(x, jumps, out);
    return out;
  }

  private tableWays(x: Instr, values: IntervalSet, out: Map<BlockNo, IntervalSet>): void {
    const { d } = this;
    const { pieces, width } = this.selectors.indexOf(x.src[0].reg)!;
    const places = new Map<BlockNo, IntervalSet[]>();
    d.tables()[x.src[1].lo].forEach((id, k) => {
      const to = d.blockById(id);
      let list = places.get(to);
      if (list === undefined) places.set(to, (list = []));
      for (const p of pieces) {
        const place = BigInt(valueOfEntry(x, k));
        if (p.alone && p.plus !== place) continue;
        const v = BigInt.asUintN(width, place - p.plus);
        list.push(p.alone ? p.values : meet(p.values, [{ low: v, high: v }]));
      }
    });
    for (const [to, sets] of places) out.set(to, union(out.get(to) ?? NOTHING, meet(values, union(...sets))));
  }

  /** Why a block that is only entered from the switch is not part of it; null if it is. */
  private refuses(b: BlockNo, base: Reg, between: Between): string | null {
    const { d } = this;
    const n = d.terminator(b);
    const passes = n < 0 || (d.at(n).op.primitive === 'branch' && endsFlow(d.at(n)));
    if (b === d.entryBlock || this.pinned.has(b)) return 'an instruction names it';
    if (d.phis(b).length > 0) return 'it begins with a phi';
    if (passes) return d.first(b) === n ? null : 'it does not decide';
    const t = this.decidesOn(b);
    if (t !== base) return 'it decides on something else';
    let count = 0;
    for (let k = d.first(b); k !== n; k = d.next(k)) {
      const x = d.at(k);
      if (!this.selectors.isMovable(x)) return `it contains ${printInstr(x)}`;
      if (this.isRead(k, (user) => d.block(user) !== b)) {
        if (between === 'comparison') return `it contains ${printInstr(x)}, which is needed elsewhere`;
        if (++count > MOST_BETWEEN) return `it computes more than ${MOST_BETWEEN} values`;
      }
    }
    return null;
  }

  /** The only register that the end of a block decides on, counting guard and index; -1 if there is none. */
  private decidesOn(b: BlockNo): Reg {
    const subject = this.subjectOf(b);
    if (subject === null) return NO_REG;
    const x = this.d.at(this.d.terminator(b));
    if (x.guard === NO_REG) return subject.base;
    return this.selectors.truthOf(x.guard)?.base === subject.base ? subject.base : NO_REG;
  }

  private isRead(n: Ins, where: (user: Ins, r: Reg) => boolean): boolean {
    const { d } = this;
    return d
      .at(n)
      .dst.some((r) => r !== NO_REG && (d.isReturned(r) || d.users(r).some((user) => where(user, r))));
  }

  /** Instructions of the blocks after the head that other blocks need, directly or through one another. */
  private keptOf(tests: readonly Test[], inside: ReadonlySet<BlockNo>, leaves: readonly Leaf[]): Ins[] {
    const { d } = this;
    const head = tests[0].block;
    const gone = (n: Ins): boolean => d.block(n) !== head && inside.has(d.block(n));
    const kept = new Set<Ins>();
    const all: Ins[] = [];
    for (const { block } of tests)
      if (block !== head)
        for (let n = d.first(block); n >= 0 && n !== d.terminator(block); n = d.next(n)) all.push(n);
    const isTerminator = (n: Ins): boolean => d.terminator(d.block(n)) === n;
    const brought = new Map<BlockNo, Set<Reg>>();
    for (const { block, args } of leaves) {
      let regs = brought.get(block);
      if (regs === undefined) brought.set(block, (regs = new Set()));
      for (const o of args) regs.add(o.reg);
    }
    const needs = (user: Ins, r: Reg): boolean => {
      if (gone(user)) return !isTerminator(user) && kept.has(user);
      const x = d.at(user);
      if (!isPhi(x)) return true;
      // If several values take an edge, the phis get the operands of the first of them.
      if (brought.get(d.block(user))?.has(r) === true) return true;
      return x.src.some((o, k) => k % 2 === 1 && o.reg === r && !inside.has(d.blockById(x.src[k - 1].lo)));
    };
    // Users come after what they read.
    for (const n of [...all].reverse()) if (this.isRead(n, needs)) kept.add(n);
    return all.filter((n) => kept.has(n));
  }

  /** Edges that leave the switch; those to one block with equal phi operands are merged. */
  private leavesOf(open: ReadonlyMap<BlockNo, readonly { from: BlockNo; values: IntervalSet }[]>): Leaf[] {
    const { d } = this;
    const out: Leaf[] = [];
    for (const [block, ways] of open) {
      const phis = d.phis(block).map((phi) => {
        const { src } = d.at(phi);
        const byLabel = new Map<number, Operand>();
        for (let k = 0; k + 1 < src.length; k += 2) byLabel.set(src[k].lo, src[k + 1]);
        return byLabel;
      });
      const same = new Map<string, { args: Operand[]; sets: IntervalSet[]; loc: number }>();
      for (const { from, values } of ways) {
        if (values.length === 0) continue;
        const args = phis.map((p) => p.get(d.id(from))!);
        const one = (r: Reg): Reg => (r === NO_REG ? r : this.selectors.representative(r));
        const key = args.map((o) => `${o.kind},${one(o.reg)},${o.lo},${o.hi},${o.sym},${o.mods}`).join(' ');
        const known = same.get(key);
        if (known !== undefined) known.sets.push(values);
        else same.set(key, { args, sets: [values], loc: this.locOf(from) });
      }
      for (const { args, sets, loc } of same.values()) out.push({ block, args, values: union(...sets), loc });
    }
    return out;
  }

  private locOf(b: BlockNo): number {
    const n = this.d.terminator(b);
    return n < 0 ? 0 : this.d.at(n).loc;
  }
}
