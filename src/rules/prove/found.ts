/** The results for the instances of a rule, and the verdict that follows from them. */
import { counted } from '../../ir/counts.ts';
import type { Rule } from '../rule.ts';
import type { Sample } from '../sample.ts';
import type { Cases } from './cases.ts';
import type { Goal } from './goal.ts';
import { THOROUGHNESS, type Verdict } from './verdict.ts';

/**
 * The result for one instance: proved, proved in part, undecided, not expressible to a solver, or refuted by a sample. `say` is the method
 * or the reason, for the verdict.
 */
export type Found =
  | { readonly k: 'proved'; readonly say: string | null }
  | { readonly k: 'part'; readonly say: string }
  | { readonly k: 'open'; readonly say: string }
  | { readonly k: 'outside'; readonly say: string }
  | { readonly k: 'wrong'; readonly by: Sample };

/** Results at rare constants, beyond the cases that are tried anyway. */
export interface AtRare {
  /** Number of choices of constants that were proved for all operands, and of those that were only sampled. */
  readonly proved: number;
  readonly sampled: number;
  /** See `Rare`. */
  readonly open: number;
}

/**
 * The verdict on a rule that was not refuted: its weakest instance decides.
 * @param samples number of samples that were evaluated exactly and agree
 */
export function verdictOf(rule: Rule, found: readonly Found[], samples: number): Verdict {
  const instances = found.length;
  const textFor = (k: Found['k']): string =>
    [...new Set(found.flatMap((f) => (f.k === k && f.k !== 'wrong' && f.say !== null ? [f.say] : [])))]
      .sort()
      .join('; ');
  const proved = found.filter((f) => f.k === 'proved').length;
  const agree = `${samples} exact samples agree`;
  const some = proved > 0 ? `${proved} of ${instances} choices of modifiers are verified; the others: ` : '';
  if (proved === instances) {
    const how = textFor('proved');
    return { verdict: 'verified', instances, ...(how === '' ? {} : { how }) };
  }
  const open = found.some((f) => f.k === 'open');
  const outside = found.some((f) => f.k === 'outside');
  const part = `${proved > 0 && textFor('part') !== '' ? `${proved} of ${instances} choices of modifiers, and ` : ''}${textFor('part')}`;
  const prover = THOROUGHNESS;
  if (rule.holds !== null)
    return { verdict: 'by argument', instances, samples, ...(part === '' ? {} : { to: part }), prover };
  if (!open && !outside)
    return { verdict: 'bounded', instances, to: `${some}${textFor('part')}; ${agree}`, prover };
  if (outside) return { verdict: 'out of scope', why: `${some}${textFor('outside')}; ${agree}`, prover };
  return { verdict: 'unknown', why: `${some}${textFor('open')}; ${agree}`, prover };
}

/**
 * The result for a goal that was not decided. A solver treats approximate functions as uninterpreted, so that it may find differences that
 * do not exist; a goal with such a function is out of scope.
 */
export function undecided(goal: Goal, why: string): Found {
  const approximate = goal.nodes.find((n) => n.op === 'approx');
  if (approximate === undefined) return { k: 'open', say: why };
  const say = `it depends on the result of the approximate function ${approximate.aux}, which no solver theory defines`;
  return { k: 'outside', say };
}

/** The result for a goal that was proved for choices of its constants: complete if these are all choices, otherwise partial. */
export function casesFound({ goals, complete }: Cases, rare: AtRare | null): Found {
  if (complete) return { k: 'proved', say: `by cases of the constants, at most ${goals.length}` };
  const { proved, sampled, open } = rare ?? { proved: 0, sampled: 0, open: 0 };
  const more = sampled === 0 ? '' : `, and samples at ${sampled} more`;
  const left = open === 0 ? '' : `, none of which is on ${counted(open, 'side')} of conditions`;
  return { k: 'part', say: `${goals.length + proved} choices of the constants, all operands${more}${left}` };
}
