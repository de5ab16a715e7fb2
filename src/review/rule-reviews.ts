/** Reviews of rules that no solver proves in full: who vouches for which text of a rule, and with which argument. */

import { didYouMean } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import { needsReview, type Verdicts } from '../rules/prove/verdict.ts';
import type { SpecFile } from '../spec/document.ts';
import type { SpecIssue } from '../spec/issues.ts';
import type { ReviewsSpec } from '../spec/types.generated.ts';

export type Review = ReviewsSpec.Review;

/** The fields of a rule that reviews refer to. */
interface Reviewed {
  readonly id: string;
  readonly hash: string;
}

/** The reviews of a document by rule id. If there are several for one rule, the first counts. */
export function reviewsOf(data: Readonly<Record<string, unknown>> | undefined): ReadonlyMap<string, Review> {
  const out = new Map<string, Review>();
  for (const r of (data as ReviewsSpec.Reviews | undefined)?.reviews ?? [])
    if (!out.has(r.rule)) out.set(r.rule, r);
  return out;
}

/** The review of a rule's current text; null if there is none, or only one of another text. */
export function currentReview(reviews: ReadonlyMap<string, Review>, rule: Reviewed): Review | null {
  const r = reviews.get(rule.id);
  return r?.hash === rule.hash ? r : null;
}

/**
 * Checks reviews. It is an error if the rule does not exist, has changed since, or has another review; it is a warning if the rule is fully
 * proved.
 */
export function reviewFaults(spec: SpecFile, rules: readonly Reviewed[], verdicts: Verdicts): SpecIssue[] {
  const byId = new Map(rules.map((r) => [r.id, r]));
  const seen = new Set<string>();
  return (spec.data as unknown as ReviewsSpec.Reviews).reviews.flatMap((review, at): SpecIssue[] => {
    const issue = (
      severity: SpecIssue['severity'],
      code: string,
      field: string,
      message: string,
      notes: string[] = [],
    ): SpecIssue[] => [{ severity, code, file: spec, path: ['reviews', at, field], message, notes }];
    const rule = byId.get(review.rule);
    if (rule === undefined) {
      return issue(
        'error',
        'review-unknown',
        'rule',
        `there is no rule '${review.rule}'`,
        didYouMean(review.rule, byId.keys()),
      );
    }
    if (seen.has(rule.id))
      return issue('error', 'review-twice', 'rule', `rule '${rule.id}' has a review above`);
    seen.add(rule.id);
    if (review.hash !== rule.hash)
      return issue('error', 'review-stale', 'hash', `rule '${rule.id}' has changed since its review`, [
        `if the argument holds for it as it is now, its hash is ${rule.hash}`,
      ]);
    const verdict = entryOf(verdicts, rule.id);
    return verdict?.hash === rule.hash && !needsReview(verdict)
      ? issue('warning', 'review-idle', 'rule', `rule '${rule.id}' is ${verdict.verdict} and needs no review`)
      : [];
  });
}
