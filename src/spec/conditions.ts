import type { ConditionTest } from './plan.ts';

/** `when` as recipes and knob sets write it. */
export interface When {
  readonly kernel?: string;
  readonly hash?: readonly string[];
}

/** Application mode of a recipe where nobody names one: every function. */
export const MODE_ALL = 1;
/** The mode in which a recipe is not applied. */
export const MODE_OFF = 0;

/**
 * What application modes mean. That there are the numbers 0 to 5 and 7 is all that is known of the original (seed 004); what
 * each stands for is ours.
 */
export const MODES: ReadonlyMap<number, string> = new Map([
  [0, 'no function'],
  [1, 'all functions'],
  [2, 'kernels'],
  [3, 'device functions'],
  [4, 'functions with a loop'],
  [5, 'functions without a loop'],
  [7, 'functions for which no `when` holds'],
]);

/** A `when` as a test of functions. */
export function testOfWhen(when: When): ConditionTest {
  const parts = [
    ...(when.kernel === undefined ? [] : [`kernel ${when.kernel}`]),
    ...(when.hash === undefined ? [] : [`hash ${when.hash.join(' or ')}`]),
  ];
  return {
    kernel: when.kernel ?? null,
    hashes: when.hash === undefined ? null : [...when.hash].sort(),
    mode: MODE_ALL,
    text: parts.join(', '),
  };
}

/** An application mode as a test of functions; null where it is for all. */
export const testOfMode = (mode: number): ConditionTest | null =>
  mode === MODE_ALL
    ? null
    : { kernel: null, hashes: null, mode, text: `mode ${mode}, ${MODES.get(mode) ?? 'unknown'}` };

/** Tests of a plan, each once. */
export class Tests {
  readonly list: ConditionTest[] = [];

  /** Place of a test in the list. */
  add(test: ConditionTest): number {
    const known = this.list.findIndex((t) => t.text === test.text);
    return known >= 0 ? known : this.list.push(test) - 1;
  }
}
