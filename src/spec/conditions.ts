import type { ConditionTest } from './plan.ts';

/** A `when` clause as written in recipes and knob sets. */
export interface When {
  readonly kernel?: string;
  readonly hash?: readonly string[];
}

/** Application mode under which a recipe is never applied. */
export const MODE_OFF = 0;
/** Default application mode: every function. */
export const MODE_ALL = 1;
export const MODE_KERNELS = 2;
export const MODE_DEVICE = 3;
export const MODE_LOOPS = 4;
export const MODE_STRAIGHT = 5;
/** Mode for the functions that no `when` matches. It is evaluated after every `when`, so it cannot be combined with one. */
export const MODE_REST = 7;

/**
 * Meanings of the application modes. The original is known to have the numbers 0 to 5 and 7 and nothing more (seed 004); the meanings
 * are our own.
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

/** The function test for a `when` clause. */
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

/** The function test for an application mode; null for the mode that includes all functions. */
export const testOfMode = (mode: number): ConditionTest | null =>
  mode === MODE_ALL
    ? null
    : { kernel: null, hashes: null, mode, text: `mode ${mode}, ${MODES.get(mode) ?? 'unknown'}` };

/** True if a test comes from a `when` clause and not from an application mode. */
export const isWhen = (t: ConditionTest): boolean => t.kernel !== null || t.hashes !== null;

/** The distinct tests of a plan, identified by their text. */
export class Tests {
  readonly list: ConditionTest[] = [];
  private readonly places = new Map<string, number>();

  /** Index of a test in the list; the test is appended if it is new. */
  add(test: ConditionTest): number {
    const known = this.places.get(test.text);
    if (known !== undefined) return known;
    this.places.set(test.text, this.list.length);
    return this.list.push(test) - 1;
  }
}
