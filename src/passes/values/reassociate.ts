import { cfgOf } from '../../analysis/flow/cfg.ts';
import { poolLimits } from '../../analysis/registers/live-range-extension.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { Mod } from '../../ir/opcode.ts';
import {
  immOf,
  immValue,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  reg,
  regFile,
  regIndex,
  sameOperand,
} from '../../ir/operand.ts';
import { type Fn, type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';
import { type Chain, Chains } from './chains.ts';
import { commonValues } from './common-values.ts';
import { distribute } from './distribution.ts';

/** Knob 31: 0 disables the phase. The budget: each rebuilt tree takes a unit. The skip: that many first trees stay (passes-b). */
const ALLOW = 'AllowReassociateCSE';
const BUDGET = 'ReassociateCSEBudget';
const SKIP = 'ReassociateCSESkip';

/** Maximum number of operands of one tree; a longer one is cut, so that sorting stays near linear. */
const MOST_LEAVES = 64;

/**
 * Phase 50, OriReassociateAndCommon: brings integer sums, products, and, or, xor, minima and maxima into a canonical
 * order, so that common parts appear; then common subexpressions are computed once.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IADD3 R5, R1, 4                     IADD3 R6, R1, R2, R3
 *           IADD3 R6, R5, R2, R3                IADD3 R6', R6, 4
 *           IADD3 R7, R3, 8                     IADD3 R9, R6, 8
 *           IADD3 R8, R7, R1                    ...
 *           IADD3 R9, R8, R2
 *
 * A tree is an operation together with those operands that are the same operation, in the same block, and read by
 * nothing else. Its leaves are sorted by place of definition (reverse post-order, so that loop-invariant leaves come
 * together); constants come last, combined into one. The tree is rebuilt as a chain that leans to the left, with
 * three operands at a time if the opcode takes three (reference passes-b: the order, and the shape).
 *
 * A tree keeps its shape if the chain has as many operations and no order makes parts of it common: if it has no constants, fewer than
 * `least-shared` leaves that are read elsewhere too, and fewer than that from other blocks (absent: every tree is ordered).
 *
 * A chain never has more operations than the tree had. Floats are excluded, because their sums depend on the order.
 *
 * Before that, sums of two products with a common factor become one product (`distribute`).
 *
 * Knobs: AllowReassociateCSE (31): 0 disables the phase; ReassociateCSEBudget; ReassociateCSESkip skips that many
 * trees at the start; DistributeAndReassociateMulBudget.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application finds only what commoning
 * left with a single reader.
 * Bound: each instruction belongs to one tree, a tree has at most 64 leaves; commoning as in phase 49.
 */
export const reassociate: Pass = (fn, ctx) => {
  if (ctx.knob(ALLOW) === 0) return fn;
  const joined = edit(fn, (d) => distribute(d, ctx), ctx.isa);
  const ordered = edit(joined, (d) => new Trees(d, joined, ctx).run());
  if (ordered === fn) return fn;
  return commonValues(ordered, ctx, poolLimits(ctx.params['max-pressure'], ctx.params['max-predicates']));
};

class Trees {
  private readonly d: Draft;
  private readonly ctx: PassContext;
  private readonly fn: Fn;
  private readonly chains: Chains;
  private left: number;
  /** Minimum number of leaves that are read elsewhere, or that come from other blocks, for which a tree is ordered. */
  private readonly least: number;
  /** By register index: place of its definition in reverse post-order; 0 for values from outside. */
  private rank: Float64Array | null = null;

  constructor(d: Draft, fn: Fn, ctx: PassContext) {
    this.d = d;
    this.fn = fn;
    this.ctx = ctx;
    this.chains = new Chains(ctx.isa);
    this.left = Number(ctx.knob(SKIP) ?? 0);
    this.least = Number(ctx.params['least-shared'] ?? 0);
  }

  /** Rebuilds trees that are not in order. */
  run(): void {
    const { d, ctx } = this;
    for (const b of d.layout())
      for (let n = d.first(b), next: Ins; n >= 0; n = next) {
        next = d.next(n);
        const chain = this.chains.of(d.at(n));
        if (chain === null || !this.isRoot(n, chain)) continue;
        const inner: Ins[] = [];
        const found = this.leavesOf(n, chain, inner);
        // The operands of a single operation compare equal in any order.
        const leaves = inner.length === 0 ? null : this.sorted(chain, found);
        if (leaves === null || this.isInOrder(n, chain, leaves, inner.length)) continue;
        if (linksOf(chain, leaves).length > inner.length && !this.mayMeet(found, d.block(n))) {
          ctx.remark(
            'missed',
            'nothing-shared',
            'no two operands are read elsewhere or come from another block',
            {
              block: d.id(b),
              ins: d.at(n),
            },
          );
          continue;
        }
        if (this.left-- > 0) continue;
        if (!ctx.mayRewrite('reassociated', d.id(b), d.at(n))) return;
        if (!ctx.budget(BUDGET)) {
          ctx.remark('missed', 'budget-spent', `${BUDGET} is spent`, { block: d.id(b), ins: d.at(n) });
          return;
        }
        this.rebuild(n, chain, leaves, inner);
      }
  }

  /** Is it not part of a larger operation of the same kind? */
  private isRoot(n: Ins, chain: Chain): boolean {
    const { d } = this;
    const x = d.at(n);
    if (x.guard !== NO_REG || !allInSsa(x)) return false;
    const r = x.dst[0];
    if (d.useCount(r) !== 1) return true;
    const user = d.users(r)[0];
    return user === undefined || !this.takesIn(user, chain, r, d.block(n));
  }

  private takesIn(user: Ins, chain: Chain, r: Reg, b: number): boolean {
    const { d } = this;
    const x = d.at(user);
    if (d.block(user) !== b || x.guard !== NO_REG || this.chains.of(x) !== chain) return false;
    return this.chains.operands(x, chain).some((o) => o.kind === Kind.Reg && o.reg === r && o.mods === 0);
  }

  private leavesOf(root: Ins, chain: Chain, inner: Ins[]): Operand[] {
    const { d } = this;
    const leaves: Operand[] = [];
    const stack = [...this.chains.operands(d.at(root), chain)].reverse();
    while (stack.length > 0) {
      const o = stack.pop()!;
      const def = o.kind === Kind.Reg && o.mods === 0 ? d.def(o.reg) : -1;
      const taken =
        def >= 0 &&
        leaves.length + stack.length < MOST_LEAVES &&
        d.block(def) === d.block(root) &&
        d.useCount(o.reg) === 1 &&
        d.at(def).guard === NO_REG &&
        allInSsa(d.at(def)) &&
        this.chains.of(d.at(def)) === chain;
      if (!taken) leaves.push(o);
      else {
        inner.push(def);
        stack.push(...[...this.chains.operands(d.at(def), chain)].reverse());
      }
    }
    return leaves;
  }

  /** Can the order of these leaves make parts common, here or outside of a loop? Constants are combined in any case. */
  private mayMeet(leaves: readonly Operand[], block: number): boolean {
    const { d, least } = this;
    const registers = leaves.filter((o) => o.kind === Kind.Reg);
    const shared = registers.filter((o) => d.useCount(o.reg) > 1).length;
    const outside = registers.filter((o) => d.def(o.reg) < 0 || d.block(d.def(o.reg)) !== block).length;
    return registers.length < leaves.length || shared >= least || outside >= least;
  }

  /** Leaves in order, constants combined at the end; null if there are other operands. */
  private sorted(chain: Chain, leaves: Operand[]): Operand[] | null {
    const registers = leaves.filter((o) => o.kind === Kind.Reg);
    const constants = leaves.filter((o) => o.kind === Kind.Imm);
    if (registers.length + constants.length < leaves.length || registers.length < 2) return null;
    registers.sort((a, b) => this.rankOf(a.reg) - this.rankOf(b.reg) || a.reg - b.reg || a.mods - b.mods);
    if (constants.length === 0) return registers;
    const { width } = chain;
    const signed = (o: Operand): bigint => {
      const v = immValue(o, width);
      return (o.mods & Mod.Neg) !== 0 ? -v : v;
    };
    const sum = immOf(constants.map(signed).reduce(chain.combine), width);
    return chain.identity !== null && immValue(sum, width) === chain.identity
      ? registers
      : [...registers, sum];
  }

  private rankOf(r: Reg): number {
    if (this.rank === null) {
      this.rank = new Float64Array(this.fn.regCount);
      let at = 1;
      for (const b of cfgOf(this.fn).rpo)
        for (const x of this.fn.blocks[b].ins)
          for (const to of x.dst) if (to !== NO_REG) this.rank[regIndex(to)] = this.rankOfMade(x) ?? at++;
    }
    return this.rank[regIndex(r)] ?? Number.POSITIVE_INFINITY;
  }

  /** An operation of a chain ranks with the last of its operands, so that a part that became common keeps its place. */
  private rankOfMade(x: Instr): number | null {
    const chain = x.guard === NO_REG ? this.chains.of(x) : null;
    if (chain === null) return null;
    let rank = 0;
    for (const o of this.chains.operands(x, chain))
      if (o.kind === Kind.Reg) rank = Math.max(rank, this.rank![regIndex(o.reg)]);
    return rank;
  }

  /** Is the tree already the chain of its sorted leaves? */
  private isInOrder(root: Ins, chain: Chain, leaves: readonly Operand[], inner: number): boolean {
    const { d } = this;
    const links = linksOf(chain, leaves);
    if (links.length !== inner + 1) return false;
    let n = root;
    for (let i = links.length - 1; i >= 0; i--) {
      const has = this.chains.operands(d.at(n), chain);
      const wants = links[i];
      const first = i > 0 ? 1 : 0;
      if (has.length !== wants.length + first) return false;
      if (wants.some((o, k) => !sameOperand(o, has[first + k]))) return false;
      if (i > 0) n = d.def(has[0].reg);
      if (n < 0) return false;
    }
    return true;
  }

  private rebuild(root: Ins, chain: Chain, leaves: readonly Operand[], inner: readonly Ins[]): void {
    const { d, ctx } = this;
    const old = d.at(root);
    const links = linksOf(chain, leaves);
    let before: Operand | null = null;
    links.forEach((link, i) => {
      const operands: Operand[] = before === null ? [...link] : [before, ...link];
      const last = i === links.length - 1;
      const to = last ? old.dst[0] : d.freshReg(regFile(old.dst[0]));
      const ins = instr(chain.op, chain.mods, [to], chain.sources(operands), old.loc);
      if (last) d.replace(root, ins);
      else d.insertBefore(root, ins);
      before = reg(to);
    });
    for (const n of inner) d.remove(n);
    ctx.remark('passed', 'reassociated', `${printInstr(old)}: ${leaves.length} operands in order`, {
      block: d.id(d.block(root)),
      ins: old,
    });
  }
}

/**
 * The operands of each operation of a chain, without the result of the previous operation, which is the first operand
 * of all but the first.
 */
function linksOf({ arity }: Chain, leaves: readonly Operand[]): Operand[][] {
  const links = [leaves.slice(0, arity)];
  for (let k = arity; k < leaves.length; k += arity - 1) links.push(leaves.slice(k, k + arity - 1));
  return links;
}
