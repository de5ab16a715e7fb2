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

/** Later repetitions may find a nearer value to take once one has been left where it is; so often it is asked again. */
const ROUNDS = 3;

/**
 * Value numbering (`numberValues`), but a value is computed again where keeping it would take registers that are short:
 * see `gvnCse`.
 *
 * @param most how much of each pool may be live at once for the sake of a common value
 * @param oneBlock limits the search to one block
 * @param negated whether a comparison is what the opposite one gives, negated
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
    taken = found.filter(({ n, first, not }) => {
      if (dear.has(n) || !ctx.mayRewrite('common', before.id(before.block(n)), before.at(n))) return false;
      const says = not ? 'the opposite of' : 'the same as';
      report('passed', 'common', n, `${says} ${printInstr(before.at(first))}`);
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
 * Which repetitions would keep registers live where there are too many. From the last to the first, so that the inner values of an
 * expression that goes as a whole cost nothing. A load from memory is worth more than a register.
 */
function tooDear(d: Draft, found: readonly Repetition[], most: PoolLimits): ReadonlySet<Ins> {
  const dear = new Set<Ins>();
  if (!isShort(d, found, most)) return dear;
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
