import { plural } from '../lab/render/table.ts';
import { type BrokenLimit, brokenLimits } from './budget.ts';
import type { Change } from './changes.ts';
import type { Comparison } from './comparisons.ts';
import { type Effect, kernelsOf, type Row } from './effect.ts';
import { limitedKernels } from './limited.ts';
import { mainParts } from './requests.ts';

/** The effect of one change, as far as it is known. */
export type ChangeEffect =
  | { readonly state: 'not measured'; readonly why: string }
  | {
      readonly state: 'measured';
      /** Names of the comparisons that measured it. */
      readonly by: readonly string[];
      /** Kernels that it can affect. */
      readonly rows: readonly Row[];
      /** Number of other changes in the same comparisons, to which an effect may be due. */
      readonly together: number;
      /**
       * With other changes in the same comparisons: the kernels whose code differs first because of this one. Null if there are none, or if
       * nothing is known to have changed some kernel.
       */
      readonly first: readonly Row[] | null;
      /** For a loosened limit: what the limit of the base rejects. */
      readonly refused: readonly BrokenLimit[];
    };

const unmeasured = (why: string): ChangeEffect => ({ state: 'not measured', why });

/**
 * The effect of each change, in the order of `changes`.
 *
 * @param effect the measurements; null if nothing was measured
 * @param none the reason if nothing was measured
 */
export const changeEffects = (
  changes: readonly Change[],
  effect: Effect | null,
  none: string,
): ChangeEffect[] =>
  changes.map((c) => {
    if (c.acts.on === 'nothing') return unmeasured(c.acts.why);
    if (effect === null) return unmeasured(none);
    return effectOn(c, changes, effect);
  });

function effectOn(c: Change, changes: readonly Change[], effect: Effect): ChangeEffect {
  const { acts } = c;
  if (acts.on === 'limit') {
    const own = effect.comparisons.filter((x) => x.kind === 'change');
    if (own.length === 0) return unmeasured('no plan of a kernel differs');
    const budget = { file: '', limits: [{ ...acts.limit, own: false }] };
    return {
      state: 'measured',
      by: own.map((x) => x.name),
      rows: [],
      together: 0,
      first: null,
      refused: brokenLimits(budget, limitedKernels(effect)),
    };
  }
  const comparisons = effect.comparisons.filter((x) =>
    acts.on === 'order' ? x.constraint === c.name : x.plan !== '' && c.where.includes(x.plan),
  );
  if (comparisons.length === 0) return unmeasured(whyNone(c, effect));
  const rows = effect.rows.filter((r) => comparisons.includes(r.comparison) && (r.effect?.applied ?? true));
  const acted =
    acts.on === 'rule' || acts.on === 'opcode'
      ? rows.filter((r) => r.effect === null || r.effect.has.includes(acts.name))
      : rows;
  const nobody = notApplied(comparisons, effect);
  if (nobody !== null) return unmeasured(nobody);
  if (acted.length === 0)
    return unmeasured(
      acts.on === 'rule'
        ? `it is applied in none of the ${kernelCount(rows)} here`
        : `none of the ${kernelCount(rows)} here has it`,
    );
  const others = changes.filter(
    (x) => x !== c && x.acts.on !== 'nothing' && comparisons.some((y) => x.where.includes(y.plan)),
  );
  return {
    state: 'measured',
    by: comparisons.map((x) => x.name),
    rows: acted,
    together: acts.on === 'order' ? 0 : others.length,
    first: acts.on === 'order' || others.length === 0 ? null : firstBy(c, others, acted),
    refused: [],
  };
}

/** The changed rows that differ first because of a change; null if reasons do not name some change, or if some row is due to none. */
function firstBy(c: Change, others: readonly Change[], rows: readonly Row[]): Row[] | null {
  const all = [c, ...others];
  const changed = rows.filter((r) => r.changed);
  const isKnown = all.every(({ kind, acts }) => NAMED.has(kind) || acts.on === 'rule');
  return isKnown && changed.every((r) => all.some((x) => isReason(x, r)))
    ? changed.filter((r) => isReason(c, r))
    : null;
}

/** Kinds of changes that the reasons of a kernel name. */
const NAMED: ReadonlySet<Change['kind']> = new Set(['knob', 'fact', 'phase', 'order']);

/** A reason that names a knob, a rule group or a fact, and so another change than one of the phase itself. */
const OTHER = /^(?:knob|rule group) |^[\w-]+\./;

/** True if a change is among the reasons why the code of a kernel differs where it first does. */
function isReason({ kind, name, acts }: Change, { effect }: Row): boolean {
  const why = effect?.why;
  if (why == null) return false;
  const isNamed = (text: string): boolean => why.because.some((b) => b.startsWith(text));
  switch (kind) {
    case 'knob':
      return isNamed(`knob ${name}:`);
    case 'fact':
      return isNamed(`${name}:`);
    case 'phase':
    case 'order':
      return why.phase === name && (why.because.length === 0 || !why.because.every((b) => OTHER.test(b)));
    default:
      return (
        acts.on === 'rule' && effect!.has.includes(acts.name) && isNamed(`rule group ${name.split(':')[0]} `)
      );
  }
}

const kernelCount = (rows: readonly Row[]): string => plural(kernelsOf(rows), 'kernel');

/** Why no comparison measures a change. */
function whyNone({ acts, name, where }: Change, effect: Effect): string {
  if (acts.on === 'order') {
    const still = effect.forbidden.get(name);
    return still === undefined ? 'there are no kernels for it' : `such an order is still illegal: ${still}`;
  }
  if (where.length === 0) return 'no shipped plan has it';
  const targets = [...new Set(where.flatMap((w) => mainParts(w)?.sm ?? []))];
  return targets.length > 0 ? `no kernel here runs on ${targets.join(', ')}` : 'there are no kernels for it';
}

/** The reason if comparisons of a recipe do not measure it because it applies to no function; otherwise null. */
function notApplied(comparisons: readonly Comparison[], effect: Effect): string | null {
  if (!comparisons.every((c) => c.asked.recipe !== null)) return null;
  const own = effect.results.filter(({ cell }) => comparisons.includes(effect.comparisons[cell.comparison]));
  return own.every(
    ({ result }) => result.fault.every((f) => f === '') && !result.kernels.some((k) => k.applied),
  )
    ? `it is applied to no function of the ${plural(own.length, 'file')} here (\`when\` or its mode)`
    : null;
}
