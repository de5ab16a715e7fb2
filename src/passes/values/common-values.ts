import { isPlainLoad } from '../../analysis/calls/effects.ts';
import { LiveRangeExtension, type PoolLimits } from '../../analysis/registers/live-range-extension.ts';
import { LiveClass, liveClassOf, Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { movesOf } from '../../ir/moves.ts';
import { NO_REG, type Reg, regWidth } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { PassContext } from '../pass.ts';
import { negateBy, numberValues, type Repetition, replaceBy } from './value-numbering.ts';

/** Maximum number of rounds: if one repetition stays, later ones may find a closer value to take. */
const ROUNDS = 3;

/**
 * Value numbering (`numberValues`), except that a value is computed again where keeping it would take too many registers: see `gvnCse`.
 *
 * @param most the limit on live registers of each pool up to which common values are kept
 * @param oneBlock limits the search to one block
 * @param negated whether a comparison may become the negated result of the opposite one
 * @returns `fn` itself if nothing repeats
 */
export function commonValues(
  fn: Fn,
  ctx: PassContext,
  most: PoolLimits,
  oneBlock = false,
  negated = false,
): Fn {
  const stay = new Set<Ins>();
  for (let round = 1; ; round++) {
    let found: readonly Repetition[] = [];
    let taken: readonly Repetition[] = [];
    const all = edit(
      fn,
      (d) => {
        found = numberValues(d, fn, ctx, oneBlock, stay, negated);
      },
      ctx.isa,
    );
    if (found.length === 0 && stay.size === 0) return fn;
    const before = new Draft(fn, ctx.isa);
    const costly = tooDear(before, found, most);
    if (costly.size > 0 && round < ROUNDS) {
      // Of several that would take the same value, the first stays: the others may take its result.
      const delayed = new Set<Ins>();
      for (const { n, first } of found)
        if (costly.has(n) && !delayed.has(first)) {
          delayed.add(first);
          stay.add(n);
        }
      continue;
    }
    const report = (kind: 'passed' | 'missed', name: string, n: Ins, text: string): void => {
      const ins = before.at(n);
      ctx.remark(kind, name, `${printInstr(ins)}: ${text}`, { block: before.id(before.block(n)), ins });
    };
    for (const n of [...stay, ...costly].sort((a, b) => a - b))
      report('missed', 'pressure', n, 'computed again, because too many registers are live in between');
    taken = found.filter(({ n, first, not }) => {
      if (costly.has(n) || !ctx.mayRewrite('common', before.id(before.block(n)), before.at(n))) return false;
      const relation = not ? 'the opposite of' : 'the same as';
      report('passed', 'common', n, `${relation} ${printInstr(before.at(first))}`);
      return true;
    });
    if (taken.length === found.length) return all;
    const moves = movesOf(ctx.isa);
    return edit(
      fn,
      (d) =>
        taken.forEach(({ n, first, not }) => (not ? negateBy(d, n, first, moves) : replaceBy(d, n, first))),
      ctx.isa,
    );
  }
}

/**
 * Repetitions that would keep registers live where there are too many. The last come first, so that the inner values of an expression
 * that is replaced as a whole cost nothing. A load from memory is worth more than a register.
 */
function tooDear(d: Draft, found: readonly Repetition[], most: PoolLimits): ReadonlySet<Ins> {
  const costly = new Set<Ins>();
  if (!isShort(d, found, most)) return costly;
  const lives = new LiveRangeExtension(d, most);
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
    costly.add(n);
    gone.delete(n);
  }
  return costly;
}

/** Could registers be scarce if all results were live at once? */
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
