import { expect } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { printFn } from '../../src/ir/text.ts';

/**
 * Expects that a check found nothing. The subject is printed only if it found something: over thousands of random functions, printing them
 * all costs more than the checks.
 */
export function expectNone(
  found: string | null | readonly unknown[],
  ...about: readonly (Fn | string)[]
): void {
  if (found === null || (typeof found !== 'string' && found.length === 0)) return;
  expect(found, about.map((x) => (typeof x === 'string' ? x : printFn(x))).join('\n')).toEqual([]);
}
