import { entryOf } from '../ir/entry-of.ts';
import { needsReview, type Verdict, type Verdicts, verdictText } from '../rules/prove/verdict.ts';
import type { Rule } from '../rules/rule.ts';
import type { SpecFile } from '../spec/document.ts';
import { placeOf } from '../spec/places.ts';
import type { Specs } from '../spec/specs.ts';
import { type Change, onNothing } from './changes.ts';
import { canonical } from './data-diff.ts';
import { currentReview, type Review, reviewsOf } from './rule-reviews.ts';

/*
 * What a review trusts. Verdicts and reviews that the head of a pull request stores for its own rules are only claims: a verdict counts if
 * the base has it or a solver returned it, and a review counts if the base has it or a person confirms it.
 */

/** The judgement on a rule of the head. */
export interface Judged {
  /** The verdict of the base or of a solver; null if there is neither. */
  readonly verdict: Verdict | null;
  /** The verdict that the head states, if there is no trusted one. */
  readonly claimed?: Verdict;
  /** Why no solver was called. Default: none is available. */
  readonly unasked?: string;
}

/** The inputs for deciding what to trust. */
export interface Trust {
  readonly base: Specs;
  readonly head: Specs;
  /** Ids of rules for which a person confirmed the review, or the intent, that the head states. */
  readonly accepted: ReadonlySet<string>;
}

const PERSON = 'a person must confirm it (--accept)';

/** Why a person must check a rule whose verdict is not a full proof; null if no one must. */
function openQuestion(rule: Rule, verdict: Verdict, { base, head, accepted }: Trust): string | null {
  const intended = verdict.verdict === 'inexact' || verdict.verdict === 'out of scope';
  if (!intended && !needsReview(verdict)) return null;
  if (accepted.has(rule.id)) return null;
  if (intended) return `this rests on what the rule states about itself: ${PERSON}`;
  if (currentReview(reviewsOf(base.reviews?.data), rule) !== null) return null;
  return currentReview(reviewsOf(head.reviews?.data), rule) === null
    ? 'no review says why it holds: pipelines/rules/reviews.yaml'
    : `the change brings the review of its own rule: ${PERSON}`;
}

/** The note on a rule of the head, whether it is an alarm, and whether the rule is refuted. */
export function standing(
  rule: Rule | undefined,
  { verdict, claimed, unasked = 'no solver could be asked' }: Judged,
  trust: Trust,
): Pick<Change, 'note' | 'alarm' | 'refuted'> {
  if (verdict === null)
    return {
      note:
        claimed === undefined
          ? `not proved: ${unasked}`
          : `claimed, not proved: the head states '${verdictText(claimed)}', and ${unasked}`,
      alarm: true,
    };
  const text = verdictText(verdict);
  if (verdict.verdict === 'refuted')
    return { note: `${text}\n${verdict.counterexample}`, alarm: true, refuted: true };
  if (verdict.verdict === 'unknown') return { note: text, alarm: true };
  const open = rule === undefined ? null : openQuestion(rule, verdict, trust);
  return { note: open === null ? text : `${text}; ${open}`, alarm: open !== null };
}

/** Reviews that the head adds, changes or removes. */
export function reviewChanges({ base, head, accepted }: Trust): Change[] {
  const [a, b] = [base, head].map((s) => reviewsOf(s.reviews?.data));
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((rule): Change[] => {
    const [x, y] = [a.get(rule), b.get(rule)];
    if (canonical(x) === canonical(y)) return [];
    const brought = y !== undefined && !accepted.has(rule);
    return [
      {
        kind: 'rules',
        name: `review of ${rule}`,
        before: x === undefined ? 'nothing' : 'there',
        after: y === undefined ? 'nothing' : x === undefined ? 'new' : 'changed',
        note:
          y === undefined ? '' : `${bySaying(y)}${brought ? `; the change brings it itself: ${PERSON}` : ''}`,
        place: placeOfReview(head.reviews, rule, y),
        basePlace: y === undefined ? placeOfReview(base.reviews, rule, x) : '',
        where: [],
        alarm: brought,
        acts: onNothing('a review changes no rule'),
      },
    ];
  });
}

/** Maximum length of an argument as shown. */
const SHOWN = 300;
const bySaying = ({ by, date, argument }: Review): string =>
  `${by}, ${date}: ${argument.length > SHOWN ? `${argument.slice(0, SHOWN)}…` : argument}`.replaceAll(
    '\n',
    ' ',
  );

function placeOfReview(file: SpecFile | undefined, rule: string, review: Review | undefined): string {
  if (file === undefined || review === undefined) return '';
  if (file.text === '') return file.file;
  const at = (file.data.reviews as readonly Review[]).findIndex((r) => r.rule === rule);
  return `${file.file}:${placeOf(file.text, ['reviews', at]).line}`;
}

/** Ids for which the head stores another verdict than the base, including ids that belong to no rule. */
export const restated = ([base, head]: readonly [Verdicts, Verdicts]): string[] =>
  Object.keys(head).filter((id) => canonical(entryOf(base, id)) !== canonical(head[id]));
