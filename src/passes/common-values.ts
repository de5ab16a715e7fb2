import { dominatorWalk } from '../analysis/dominator-walk.ts';
import { isPlainLoad, isValue } from '../analysis/effects.ts';
import { ExpressionTable } from '../analysis/expressions.ts';
import { LiveClass, liveClassOf, Pool } from '../analysis/liveness.ts';
import { LongerLives, type PoolLimits } from '../analysis/longer-lives.ts';
import { memorySsaOf } from '../analysis/memory-ssa.ts';
import { pressureOf } from '../analysis/pressure.ts';
import { Draft, edit, type Ins } from '../ir/draft/index.ts';
import { withDst } from '../ir/edit.ts';
import { isPhi } from '../ir/flow.ts';
import { copyOf, movesOf } from '../ir/moves.ts';
import { Kind, NO_REG, type Reg, regWidth } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { allInSsa } from '../ssa/registers.ts';
import type { PassContext } from './pass.ts';

/** Stands for any version of memory: no version and no block has this number. */
const UNASKED = 2 ** 31 - 1;

/** An instruction, and one that certainly ran before it and computed the same. */
interface Repetition {
  readonly n: Ins;
  readonly first: Ins;
}

/** Later repetitions may find a nearer value to take once one has been left where it is; so often it is asked again. */
const ROUNDS = 3;

/**
 * Value numbering over the dominator tree: see `gvnCse` for what it does and its sources.
 *
 * @param most how much of each pool may be live at once for the sake of a common value
 * @param oneBlock limits the search to one block
 */
export function commonValues(fn: Fn, ctx: PassContext, most: PoolLimits, oneBlock = false): Fn {
  const stay = new Set<Ins>();
  for (let round = 1; ; round++) {
    let found: readonly Repetition[] = [];
    let taken: readonly Repetition[] = [];
    const all = edit(
      fn,
      (d) => {
        found = repetitions(d, fn, ctx, oneBlock, stay);
      },
      ctx.isa,
    );
    if (found.length === 0 && stay.size === 0) return fn;
    const before = new Draft(fn, ctx.isa);
    const dear = tooDear(before, found, most);
    if (dear.size > 0 && round < ROUNDS) {
      // Of those that would take the same value, the first stays: the others may take its result.
      const asked = new Set<Ins>();
      for (const { n, first } of found)
        if (dear.has(n) && !asked.has(first)) {
          asked.add(first);
          stay.add(n);
        }
      continue;
    }
    const report = (kind: 'passed' | 'missed', name: string, n: Ins, text: string): void => {
      const ins = before.at(n);
      ctx.remark(kind, name, `${printInstr(ins)}: ${text}`, { block: before.id(before.block(n)), ins });
    };
    for (const n of [...stay, ...dear].sort((a, b) => a - b))
      report('missed', 'pressure', n, 'computed again, because registers are short on the way');
    taken = found.filter(({ n, first }) => {
      if (dear.has(n) || !ctx.mayRewrite('common', before.id(before.block(n)), before.at(n))) return false;
      report('passed', 'common', n, `the same as ${printInstr(before.at(first))}`);
      return true;
    });
    return taken.length === found.length
      ? all
      : edit(fn, (d) => taken.forEach(({ n, first }) => replaceBy(d, n, first)), ctx.isa);
  }
}

/**
 * Replaces what repeats something, and lists it in the order of the dominator tree.
 * @param stay instructions that stay where they are
 */
function repetitions(
  d: Draft,
  fn: Fn,
  ctx: PassContext,
  oneBlock: boolean,
  stay: ReadonlySet<Ins>,
): readonly Repetition[] {
  const moves = movesOf(ctx.isa);
  const seen = new ExpressionTable(d);
  const versionSeenBy = (n: Ins): number => memorySsaOf(fn, ctx.program).versionSeenBy(n);
  /** A number for what the instruction depends on besides its operands; null if it must not be merged. */
  const state = (n: Ins): number | null => {
    const x = d.at(n);
    if (!allInSsa(x)) return null;
    if (isPhi(x)) return d.block(n);
    const copied = isValue(x) ? copyOf(moves, x) : null;
    return isValue(x) && copied?.kind !== Kind.Reg && copied?.kind !== Kind.Imm ? 0 : null;
  };
  const look = (n: Ins, s: number): Ins => (stay.has(n) ? seen.add(n, s) : seen.findOrAdd(n, s));
  /** The first instruction that computes the same as `n`. */
  const firstOf = (n: Ins): Ins => {
    const x = d.at(n);
    if (!isPlainLoad(x) || !allInSsa(x)) {
      const s = state(n);
      return s === null ? n : look(n, s);
    }
    // Memory SSA is queried only if some load has the same address.
    const like = seen.findOrAdd(n, UNASKED);
    if (like === n) return n;
    seen.findOrAdd(like, versionSeenBy(like));
    return look(n, versionSeenBy(n));
  };
  const found: Repetition[] = [];
  dominatorWalk(
    d,
    (b) => {
      seen.open();
      for (let n = d.first(b), next: Ins; n >= 0; n = next) {
        next = d.next(n);
        const first = firstOf(n);
        if (first === n) continue;
        found.push({ n, first });
        replaceBy(d, n, first);
      }
      if (oneBlock) seen.close();
    },
    () => {
      if (!oneBlock) seen.close();
    },
  );
  return found;
}

/**
 * Which repetitions would keep registers live where there are too many. From the last to the first, so that the inner values of an
 * expression that goes as a whole cost nothing. A load from memory is worth more than a register.
 */
function tooDear(d: Draft, found: readonly Repetition[], most: PoolLimits): ReadonlySet<Ins> {
  const dear = new Set<Ins>();
  if (!isShort(d, found, most)) return dear;
  const lives = new LongerLives(d, most);
  const gone = new Set(found.map((x) => x.n));
  for (let i = found.length - 1; i >= 0; i--) {
    const { n, first } = found[i];
    const x = d.at(n);
    if (isPhi(x) || (isPlainLoad(x) && x.op.space !== 'const' && x.op.space !== 'param')) continue;
    const fits = x.dst.every((r, k) => {
      if (r === NO_REG || !isReadOutside(d, r, gone)) return true;
      return lives.prolong(r, d.at(first).dst[k], first, n);
    });
    if (fits) continue;
    dear.add(n);
    gone.delete(n);
  }
  return dear;
}

/** Whether registers could be short if all results lived at once. */
function isShort(d: Draft, found: readonly Repetition[], most: PoolLimits): boolean {
  let registers = 0;
  let predicates = 0;
  for (const { n } of found)
    for (const r of d.at(n).dst) {
      if (r === NO_REG) continue;
      if (liveClassOf(r) === LiveClass.R) registers += regWidth(r) / 32;
      else predicates++;
    }
  const now = pressureOf(d.fn).most;
  return now[Pool.R] + registers > most.registers || now[Pool.P] + predicates > most.predicates;
}

function isReadOutside(d: Draft, r: Reg, gone: ReadonlySet<Ins>): boolean {
  let outside = false;
  d.eachUse(r, (use) => {
    if (!gone.has(use)) outside = true;
  });
  return outside;
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
          x.dst.map((old, i) => (i === k ? r : old)),
        ),
      );
  });
}
