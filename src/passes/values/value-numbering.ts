import { isPlainLoad, isValue } from '../../analysis/calls/effects.ts';
import { dominatorWalk } from '../../analysis/flow/dominator-walk.ts';
import { memorySsaOf } from '../../analysis/memory/memory-ssa.ts';
import { ExpressionTable, negatedComparison } from '../../analysis/values/expressions.ts';
import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { toRegs, withDst } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyLike, copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { Kind, Mod, NO_REG, reg } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { PassContext } from '../pass.ts';

/** Represents any version of memory: no version and no block has this number. */
const UNASKED = 2 ** 31 - 1;

/** An instruction, and a dominating one that computed the same. */
export interface Repetition {
  readonly n: Ins;
  readonly first: Ins;
  /** Whether the first computed the opposite predicate. */
  readonly not: boolean;
}

/**
 * Value numbering over the dominator tree (Briggs, Cooper and Simpson, "Value Numbering", 1997; the scopes are theirs):
 * every expression is looked up among those that dominate it, and its results are replaced by those of the first.
 * A load is the same as an earlier one if it reads the same address from the same version of memory. Copies are left to
 * copy propagation.
 *
 * @param d a draft of `fn`, which must be in SSA
 * @param oneBlock limits the search to one block
 * @param stay instructions that stay although they repeat something
 * @param negated whether a comparison may become the negated result of the opposite one
 * @returns what was replaced, in the order of the dominator tree
 */
export const numberValues = (
  d: Draft,
  fn: Fn,
  ctx: PassContext,
  oneBlock: boolean,
  stay: ReadonlySet<Ins>,
  negated = false,
): readonly Repetition[] => new ValueNumbering(d, fn, ctx, oneBlock, stay, negated).run();

class ValueNumbering {
  private readonly d: Draft;
  private readonly fn: Fn;
  private readonly ctx: PassContext;
  private readonly oneBlock: boolean;
  private readonly stay: ReadonlySet<Ins>;
  private readonly negated: boolean;
  private readonly moves: Moves;
  private readonly available: ExpressionTable;
  private readonly found: Repetition[] = [];

  constructor(
    d: Draft,
    fn: Fn,
    ctx: PassContext,
    oneBlock: boolean,
    stay: ReadonlySet<Ins>,
    negated: boolean,
  ) {
    this.d = d;
    this.fn = fn;
    this.ctx = ctx;
    this.oneBlock = oneBlock;
    this.stay = stay;
    this.negated = negated;
    this.moves = movesOf(ctx.isa);
    this.available = new ExpressionTable(d);
  }

  run(): readonly Repetition[] {
    dominatorWalk(
      this.d,
      (b) => this.enter(b),
      () => {
        if (!this.oneBlock) this.available.close();
      },
    );
    return this.found;
  }

  private enter(b: BlockNo): void {
    const { d, stay, found } = this;
    this.available.open();
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      const opposite = this.negated && !stay.has(n) ? this.oppositeOf(n) : -1;
      if (opposite >= 0) {
        found.push({ n, first: opposite, not: true });
        negateBy(d, n, opposite, this.moves);
        continue;
      }
      const first = this.firstOf(n);
      if (first === n) continue;
      found.push({ n, first, not: false });
      replaceBy(d, n, first);
    }
    if (this.oneBlock) this.available.close();
  }

  /** The first instruction that computes the same as `n`; `n` itself if there is none. */
  private firstOf(n: Ins): Ins {
    const { available } = this;
    const x = this.d.at(n);
    if (!isPlainLoad(x) || !allInSsa(x)) {
      const s = this.state(n);
      return s === null ? n : this.lookUp(n, s);
    }
    // Memory SSA is queried only if some load has the same address.
    const like = available.findOrAdd(n, UNASKED);
    if (like === n) return n;
    available.findOrAdd(like, this.versionSeenBy(like));
    return this.lookUp(n, this.versionSeenBy(n));
  }

  /** The dominating comparison that is true wherever this one is false; -1 if there is none. */
  private oppositeOf(n: Ins): Ins {
    const { d } = this;
    const x = d.at(n);
    const other = allInSsa(x) ? negatedComparison(x) : null;
    const first = other === null ? -1 : this.available.find(other, 0);
    return first >= 0 && d.at(first).dst[0] !== NO_REG ? first : -1;
  }

  private versionSeenBy(n: Ins): number {
    return memorySsaOf(this.fn, this.ctx.program).versionSeenBy(n);
  }

  /** A number for what the instruction depends on besides its operands; null if it must not be merged. */
  private state(n: Ins): number | null {
    const x = this.d.at(n);
    if (!allInSsa(x)) return null;
    if (isPhi(x)) return this.d.block(n);
    const copied = isValue(x) ? copyOf(this.moves, x) : null;
    return isValue(x) && copied?.kind !== Kind.Reg && copied?.kind !== Kind.Imm ? 0 : null;
  }

  private lookUp(n: Ins, s: number): Ins {
    return this.stay.has(n) ? this.available.add(n, s) : this.available.findOrAdd(n, s);
  }
}

/** Replaces `n`'s results by those of `first`; a result that `first` discards gets `n`'s register. */
export function replaceBy(d: Draft, n: Ins, first: Ins): void {
  const { dst } = d.at(n);
  d.remove(n);
  dst.forEach((r, k) => {
    const x = d.at(first);
    if (r === NO_REG) return;
    if (x.dst[k] !== NO_REG) d.replaceUses(r, x.dst[k]);
    else
      d.replace(
        first,
        withDst(
          x,
          toRegs(x.dst, (old, i) => (i === k ? r : old)),
        ),
      );
  });
}

/** Makes a comparison a copy of the opposite one's result, negated, which copy propagation finds. */
export const negateBy = (d: Draft, n: Ins, first: Ins, moves: Moves): void =>
  d.replace(n, copyLike(moves, d.at(n).dst[0], reg(d.at(first).dst[0], Mod.Not), d.at(n)));
