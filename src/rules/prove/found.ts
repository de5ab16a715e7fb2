/** What was found of the choices of modifiers of a rule, and the verdict that it makes. */
import type { Rule } from '../rule.ts';
import type { Sample } from '../sample.ts';
import type { Cases } from './cases.ts';
import type { Goal } from './goal.ts';
import { THOROUGHNESS, type Verdict } from './verdict.ts';

/** The result for one question, the strongest first. */
export type Found =
  | { readonly k: 'proved'; readonly say: string | null }
  | { readonly k: 'part'; readonly say: string }
  | { readonly k: 'open'; readonly say: string }
  | { readonly k: 'outside'; readonly say: string }
  | { readonly k: 'wrong'; readonly by: Sample };

/** What was found at rare constants beside the cases tried anyway. */
export interface AtRare {
  /** Choices for which all operands were proved, and those for which a few were tried. */
  readonly proved: number;
  readonly sampled: number;
  /** As of `Rare`. */
  readonly open: number;
}

/** The verdict on a rule that was not refuted: its weakest instance decides. */
export function verdictOf(rule: Rule, found: readonly Found[], samples: number): Verdict {
  const instances = found.length;
  const said = (k: Found['k']): string =>
    [...new Set(found.flatMap((f) => (f.k === k && f.k !== 'wrong' && f.say !== null ? [f.say] : [])))]
      .sort()
      .join('; ');
  const proved = found.filter((f) => f.k === 'proved').length;
  const agree = `${samples} exact samples agree`;
  const some = proved > 0 ? `${proved} of ${instances} choices of modifiers are verified; the others: ` : '';
  if (proved === instances) {
    const how = said('proved');
    return { verdict: 'verified', instances, ...(how === '' ? {} : { how }) };
  }
  const open = found.some((f) => f.k === 'open');
  const outside = found.some((f) => f.k === 'outside');
  const part = `${proved > 0 && said('part') !== '' ? `${proved} of ${instances} choices of modifiers, and ` : ''}${said('part')}`;
  const prover = THOROUGHNESS;
  if (rule.holds !== null)
    return { verdict: 'by argument', instances, samples, ...(part === '' ? {} : { to: part }), prover };
  if (!open && !outside)
    return { verdict: 'bounded', instances, to: `${some}${said('part')}; ${agree}`, prover };
  if (outside) return { verdict: 'out of scope', why: `${some}${said('outside')}; ${agree}`, prover };
  return { verdict: 'unknown', why: `${some}${said('open')}; ${agree}`, prover };
}

/** To a solver, approximate functions are unknown functions, so it may find differences that do not exist. */
export function undecided(goal: Goal, why: string): Found {
  const approximate = goal.nodes.find((n) => n.op === 'approx');
  if (approximate === undefined) return { k: 'open', say: why };
  const say = `it speaks of what the approximate function ${approximate.aux} gives, which no theory states`;
  return { k: 'outside', say };
}

/** What proofs for choices of the constants say of a goal: all of it, or a part of it. */
export function casesFound({ goals, complete }: Cases, rare: AtRare | null): Found {
  if (complete) return { k: 'proved', say: `by cases of the constants, at most ${goals.length}` };
  const { proved, sampled, open } = rare ?? { proved: 0, sampled: 0, open: 0 };
  const more = sampled === 0 ? '' : `, and samples at ${sampled} more`;
  const left = open === 0 ? '' : `, none of which is on ${open} side${open === 1 ? '' : 's'} of conditions`;
  return { k: 'part', say: `${goals.length + proved} choices of the constants, all operands${more}${left}` };
}
