/** Finds rules that are wrong on plain values by exact evaluation, without a solver, when a rule is loaded. */
import type { Instance, Rule } from '../rule.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { differsAtArms } from './rare.ts';
import { smaller } from './smaller.ts';

/** Modifier choices tried for one rule, spread over all of them. */
const MOST_INSTANCES = 8;
/** The code of the fault of a rule whose sides differ. */
export const REFUTED = 'rule-refuted';

/**
 * Values drawn for each choice, and pairs of special values, which differ from choice to choice. A rule wrong for one value in fifty is
 * nearly always found, one wrong for one in 2^32 is not.
 */
const SAMPLES = 64;
const PAIRS = 512;

/**
 * A counterexample to a rule: values for which both sides differ.
 * @returns the text for a person; null if none was found, or if the rule declares that it changes results
 */
export function refutation(rule: Rule): string | null {
  if (rule.inexact !== null) return null;
  for (const [at, instance] of spread(rule.instances, MOST_INSTANCES).entries()) {
    const differs = tryOut(rule, instance, SAMPLES, PAIRS, at).differs ?? differsAtArms(rule, instance);
    if (differs !== null) return counterexampleText(rule, instance, smaller(rule, instance, differs));
  }
  return null;
}

function spread(all: readonly Instance[], most: number): readonly Instance[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}
