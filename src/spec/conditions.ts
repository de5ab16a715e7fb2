import type { ConditionTest } from './plan.ts';

/** `when` as recipes and knob sets write it. */
export interface When {
  readonly kernel?: string;
  readonly hash?: readonly string[];
}

/** The mode in which a recipe is not applied. */
export const MODE_OFF = 0;
/** Application mode of a recipe where nobody names one: every function. */
export const MODE_ALL = 1;
export const MODE_KERNELS = 2;
export const MODE_DEVICE = 3;
export const MODE_LOOPS = 4;
export const MODE_STRAIGHT = 5;
/** The mode for what `when`s leave: it is asked when all of them have answered, so none can be asked beside it. */
export const MODE_REST = 7;

/**
 * What application modes mean. That there are the numbers 0 to 5 and 7 is all that is known of the original (seed 004); what
 * each stands for is ours.
 */
export const MODES: ReadonlyMap<number, string> = new Map([
  [MODE_OFF, 'no function'],
  [MODE_ALL, 'all functions'],
  [MODE_KERNELS, 'kernels'],
  [MODE_DEVICE, 'device functions'],
  [MODE_LOOPS, 'functions with a loop'],
  [MODE_STRAIGHT, 'functions without a loop'],
  [MODE_REST, 'functions for which no `when` holds'],
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

/** Whether a test is that of a `when`. */
export const isWhen = (t: ConditionTest): boolean => t.kernel !== null || t.hashes !== null;

/** Tests of a plan, each once. */
export class Tests {
  readonly list: ConditionTest[] = [];
  private readonly places = new Map<string, number>();

  /** Place of a test in the list. */
  add(test: ConditionTest): number {
    const known = this.places.get(test.text);
    if (known !== undefined) return known;
    this.places.set(test.text, this.list.length);
    return this.list.push(test) - 1;
  }
}
