/** Rules that are wrong on plain values: found by exact evaluation, without a solver, when a rule is loaded. */
import type { Instance, Rule } from '../rule.ts';
import { counterexampleText } from './counterexample.ts';
import { tryOut } from './draw.ts';
import { smaller } from './smaller.ts';

/** Choices of modifiers that are tried of one rule, spread over all of them. */
const MOST_INSTANCES = 8;
/** Choices of values for each: what is wrong for one value in fifty is found nearly always, what is wrong for one in 2^32 is not. */
const SAMPLES = 64;

/**
 * A counterexample to a rule: values for which both sides differ.
 * @returns what a person reads; null where none was found, or where the rule says that it changes results
 */
export function refutation(rule: Rule): string | null {
  if (rule.inexact !== null) return null;
  for (const instance of spread(rule.instances, MOST_INSTANCES)) {
    const { differs } = tryOut(rule, instance, SAMPLES);
    if (differs !== null) return counterexampleText(rule, instance, smaller(rule, instance, differs));
  }
  return null;
}

function spread(all: readonly Instance[], most: number): readonly Instance[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)]);
}
