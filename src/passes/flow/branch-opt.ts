import { match } from 'ts-pattern';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { Forwarding } from '../../analysis/flow/forwarding.ts';
import { WorkList } from '../../analysis/structures/worklist.ts';
import { hasConstantPredicates, knownPredicate } from '../../analysis/values/known-predicates.ts';
import { type BlockNo, type Draft, edit, pinnedBlocks, removeUnreachable } from '../../ir/draft/index.ts';
import { withGuard, withSource } from '../../ir/edit.ts';
import { endsFlow } from '../../ir/flow.ts';
import { countsBytes, entryOf } from '../../ir/jump-table.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import type { Pass, PassContext } from '../pass.ts';
import { BUDGET } from './branch-budget.ts';
import { hasControlLast } from './control-last.ts';
import { maySettle, useOtherwise } from './known-guards.ts';

/**
 * Phase 15, OriBranchOpt: simplifies branches, and removes blocks that become unreachable.
 *
 *     before                     after
 *     BB0:                       BB0:
 *       @P1 BRA BB2                @P1 BRA BB4
 *     BB1:                       BB1:
 *           IADD3 R2, R2, 1            IADD3 R2, R2, 1
 *           BRA BB3              BB3:
 *     BB2:                             STG [RD3], R2
 *           BRA BB4              BB4:
 *     BB3:                             EXIT
 *           STG [RD3], R2
 *     BB4:
 *           EXIT
 *
 * Four rewrites (seeds 000 and 003):
 * 1. folding: a branch to where control goes anyway is removed;
 * 2. unreachable blocks are removed, one after another as each loses its last edge, and whole cycles of them at the end;
 * 3. conditions: a guard whose value is known is removed, or the whole branch is; a branch whose targets are all the same block
 *    needs no condition; a table with one target, or a known index, becomes a branch;
 * 4. threading: a branch to a block that only passes control on goes straight to the final target; so do the entries of
 *    jump tables; a guarded branch over such a block, which nothing else reaches, goes there with the opposite guard.
 *
 * Blocks are processed in reverse post-order, each until nothing matches. Seed 003 visits the blocks once and leaves
 * opportunities that a rewrite creates in earlier blocks to later phases; seed 000 repeats until nothing changes.
 * The parameter `sweep` selects one: with `fixed-point` (the default) a rewrite reopens only the blocks whose match it may change, so
 * the fixed point costs no second sweep; with `single` no block is opened twice.
 *
 * Knobs: each rewrite takes a unit of 464, which stops all rewrites when it is spent. 214 (off) and 487 (general
 * budget, one unit per run) are the phase's gate in `phases.yaml`.
 *
 * Requires: control-last. Guarantees: control-last; every block is reachable or named by a convergence label; no
 * executed path gets longer. Endless loops stay endless. SSA stays SSA. Two-block merging is left to later phases.
 * Bound: each rewrite removes an instruction, a guard or a detour; each block is reopened once for each of these.
 */
export const branchOpt: Pass = (fn, ctx) => {
  if (!hasControlLast(fn, ctx)) return fn;
  // A predicate may become known when one of its definitions, or a path around its only one, is erased. The pass repeats for that
  // reason, but only if some definition is constant.
  for (let now = fn; ; ) {
    const simplifier = new Simplifier(now, ctx);
    const out = edit(now, (d) => simplifier.run(d), ctx.isa);
    if (out === now || simplifier.spent || simplifier.once || !hasConstantPredicates(out)) return out;
    now = out;
  }
};

/** A rewrite of the end of a block: its name in remarks, and the edit. */
interface Rewrite {
  readonly name: string;
  readonly message: string;
  readonly apply: () => void;
}

class Simplifier {
  /** Whether the budget is used up. */
  spent = false;
  /** Whether each block is opened only once. */
  readonly once: boolean;
  private readonly opened = new Set<BlockNo>();
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private d!: Draft;
  private forwarding!: Forwarding;
  private work!: WorkList;
  /** Blocks that must stay even without incoming edges: labels of instructions that do not jump (BSSY). */
  private pinned: ReadonlySet<BlockNo> = new Set();

  constructor(fn: Fn, ctx: PassContext) {
    this.fn = fn;
    this.ctx = ctx;
    this.once = ctx.params['sweep'] === 'single';
  }

  run(d: Draft): void {
    this.d = d;
    this.work = new WorkList(d.blockNumbers);
    removeUnreachable(d, (b) => this.erased(b));
    this.pinned = pinnedBlocks(d);
    this.forwarding = new Forwarding(d, (b) => this.work.push(b));
    for (const b of cfgOf(this.fn).rpo) this.work.push(b);
    for (const b of d.layout()) this.work.push(b);
    let rewritten: boolean;
    do {
      rewritten = this.untilNothingMatches();
    } while (rewritten && removeUnreachable(d, (b) => this.erased(b)) > 0);
    dropEmptyBlocks(d, this.pinned);
  }

  private untilNothingMatches(): boolean {
    const { d, ctx, work } = this;
    let rewritten = false;
    for (let b = work.pop(); b >= 0; b = work.pop()) {
      if (this.once) {
        if (this.opened.has(b)) continue;
        this.opened.add(b);
      }
      while (!this.spent && d.isAlive(b)) {
        const r = this.match(b);
        if (r === null) break;
        const end = d.terminator(b);
        if (!ctx.mayRewrite(r.name, d.id(b), end < 0 ? undefined : d.at(end))) {
          this.spent = true;
          break;
        }
        if (!ctx.budget(BUDGET)) {
          this.spent = true;
          const message = `${BUDGET} is spent: branches from BB${d.id(b)} on are kept`;
          ctx.remark('missed', 'budget-spent', message, { block: d.id(b) });
          break;
        }
        rewritten = true;
        const ins = d.at(d.terminator(b));
        r.apply();
        ctx.remark('passed', r.name, r.message, { block: d.id(b), ins });
      }
    }
    return rewritten;
  }

  /** The simplification that applies at the end of a block, or null. */
  private match(b: BlockNo): Rewrite | null {
    const { d } = this;
    const n = d.terminator(b);
    if (n < 0) return null;
    const t = d.at(n);
    if (t.guard !== NO_REG) {
      const value = b < this.fn.blocks.length ? knownPredicate(this.fn, t.guard, b) : -1;
      const runs = (value === 1) !== t.guardNot;
      if (value >= 0 && maySettle(d, n, runs)) {
        const why = `the guard is always ${value === 1 ? 'true' : 'false'}`;
        return this.terminator(b, t, runs ? withGuard(t, NO_REG) : null, d.fall(b), 'condition-known', why);
      }
    }
    return match(t.op.primitive)
      .with('branch', () => this.matchBranch(b, t))
      .with('branch-table', () => this.matchTable(b, t))
      .otherwise(() => null);
  }

  private matchBranch(b: BlockNo, t: Instr): Rewrite | null {
    const { d, forwarding } = this;
    const at = d.blockById(t.src[0].lo);
    const to = forwarding.target(at);
    // A block that spins on itself keeps its branch: falling through into the cycle would only lengthen it.
    if (forwarding.fallsTo(b, to)) {
      const fall = forwarding.fallFrom(b);
      return t.guard === NO_REG
        ? this.terminator(b, t, null, fall, 'branch-folded', 'its target comes next anyway')
        : this.terminator(b, t, null, fall, 'targets-equal', 'both targets are the same block');
    }
    if (to === at) return this.matchJumpOver(b, t, at);
    const why = `BB${d.id(at)} only leads on to BB${d.id(to)}`;
    return this.terminator(b, t, withSource(t, 0, d.labelOf(to)), d.fall(b), 'branch-threaded', why);
  }

  /** A guarded branch over a jump that nothing else reaches: the opposite guard takes the jump. */
  private matchJumpOver(b: BlockNo, t: Instr, at: BlockNo): Rewrite | null {
    const { d, forwarding } = this;
    const jump = t.guard === NO_REG ? -1 : d.fall(b);
    if (jump < 0 || jump === at || this.pinned.has(jump) || d.predecessors(jump).length !== 1) return null;
    const end = forwarding.target(jump);
    if (end === jump || jump !== d.below(b) || at !== d.below(jump)) return null;
    const why = `it skips a jump, which with the inverted guard goes to BB${d.id(end)}`;
    const opposite = withGuard(withSource(t, 0, d.labelOf(end)), t.guard, !t.guardNot);
    return this.terminator(b, t, opposite, at, 'branch-inverted', why);
  }

  private matchTable(b: BlockNo, t: Instr): Rewrite | null {
    const { d } = this;
    const index = t.src[0];
    const table = t.src[1].lo;
    const entries = d.tables()[table].map((id) => d.blockById(id));
    if (entries.length === 0) return null;
    const targets = entries.map((e) => this.forwarding.target(e));
    const at = index.kind === Kind.Imm ? entryOf(t, index.lo) : -1;
    const known = at >= 0 && at < targets.length ? targets[at] : -1;
    const only = targets.every((e) => e === targets[0]) ? targets[0] : -1;
    const to = known >= 0 ? known : only;
    if (to >= 0) {
      const why =
        known >= 0
          ? `the ${countsBytes(t) ? 'offset' : 'index'} is always ${index.lo}`
          : 'all entries lead to the same block';
      const branch = withGuard(d.branchTo(to, t.loc), t.guard, t.guardNot);
      return this.terminator(b, t, branch, d.fall(b), 'table-to-branch', why);
    }
    if (targets.every((e, i) => e === entries[i])) return null;
    return {
      name: 'table-threaded',
      message: `entries of T${table} go directly to their final targets`,
      apply: () => {
        d.replaceTable(
          table,
          targets.map((e) => d.id(e)),
        );
        this.eraseUnused(entries);
      },
    };
  }

  /** Replaces the terminator, or removes it if `ins` is null. */
  private terminator(
    b: BlockNo,
    old: Instr,
    ins: Instr | null,
    fall: BlockNo,
    name: string,
    why: string,
  ): Rewrite {
    const { d } = this;
    const what = ins === null ? 'removed' : 'simplified';
    return {
      name,
      message: `${old.op.name} of BB${d.id(b)} ${what}: ${why}`,
      apply: () => {
        const before = [...d.successors(b)];
        if (ins === null) useOtherwise(d, d.terminator(b));
        d.setTerminator(b, ins, ins !== null && endsFlow(ins) ? -1 : fall);
        this.eraseUnused(before);
        this.forwarding.update(b);
      },
    };
  }

  /** Erases those of the blocks that have lost their last incoming edge, and what only they lead to. */
  private eraseUnused(blocks: readonly BlockNo[]): void {
    const { d } = this;
    const stack = [...blocks];
    for (let b = stack.pop(); b !== undefined; b = stack.pop()) {
      if (!d.isAlive(b) || b === d.entryBlock || this.pinned.has(b) || d.predecessors(b).length > 0) continue;
      for (const next of d.successors(b)) stack.push(next);
      this.erased(b);
      d.eraseBlock(b);
    }
  }

  private erased(b: BlockNo): void {
    const { d } = this;
    // The block above it now precedes a different block.
    if (d.above(b) >= 0) this.work.push(d.above(b));
    let size = 0;
    for (let n = d.first(b); n >= 0; n = d.next(n)) size++;
    const message = `BB${d.id(b)} (${size} instructions) cannot be reached`;
    this.ctx.remark('passed', 'unreachable-removed', message, { block: d.id(b) });
  }
}

/**
 * Removes empty blocks that are only fallen into, from the bottom up, so that an empty entry keeps its name if it
 * must stay.
 */
function dropEmptyBlocks(d: Draft, pinned: ReadonlySet<BlockNo>): void {
  for (const b of d.layout().reverse()) {
    const to = d.fall(b);
    if (d.first(b) >= 0 || to < 0 || to !== d.below(b) || pinned.has(b) || d.phis(to).length > 0) continue;
    const before = d.predecessors(b);
    // An empty entry may only be removed if the block after it has no other predecessor, because an entry is entered
    // only once.
    if (b === d.entryBlock ? before.length > 0 || d.predecessors(to).length > 1 : !onlyFallenInto(d, b))
      continue;
    for (const p of [...before]) d.setFall(p, to);
    d.pragmas = d.pragmas.map((p) => (p.block === d.id(b) ? { block: d.id(to), text: p.text } : p));
    d.eraseBlock(b);
  }
}

function onlyFallenInto(d: Draft, b: BlockNo): boolean {
  return d.predecessors(b).every((p) => d.fall(p) === b && d.edges(p).filter((to) => to === b).length === 1);
}
