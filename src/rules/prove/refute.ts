/** Refutes wrong rules when they are loaded: by exact evaluation on samples, without a solver. */
import { spread } from '../check-context.ts';
import type { Rule } from '../rule.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { differsAtArms } from './rare.ts';
import { smaller } from './smaller.ts';

/** Maximum number of modifier choices tried for one rule, evenly spaced. */
const MOST_INSTANCES = 8;
/** Diagnostic code of a rule whose sides differ. */
export const REFUTED = 'rule-refuted';

/**
 * Random samples for each modifier choice, and pairs of special values, which differ from choice to choice. A rule that is wrong for one
 * value in fifty is nearly always refuted, one that is wrong for one in 2^32 seldom.
 */
const SAMPLES = 64;
const PAIRS = 512;

/**
 * Searches for a counterexample to a rule: values for which both sides differ.
 * @returns its text; null if none was found, or if the rule declares itself inexact
 */
export function refutation(rule: Rule): string | null {
  if (rule.inexact !== null) return null;
  for (const [at, instance] of spread(rule.instances, MOST_INSTANCES).entries()) {
    const differs = tryOut(rule, instance, SAMPLES, PAIRS, at).differs ?? differsAtArms(rule, instance);
    if (differs !== null) return counterexampleText(rule, instance, smaller(rule, instance, differs));
  }
  return null;
}
