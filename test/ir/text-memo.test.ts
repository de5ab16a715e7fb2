import { expect, it } from 'vitest';
import { memoByText } from '../../src/ir/text-memo.ts';

it('what is remembered by text is computed once, and never more than so many', () => {
  const made: string[] = [];
  const length = memoByText((text) => {
    made.push(text);
    return { length: text.length };
  }, 2);
  const first = length('a');
  expect([length('bb').length, length('a')]).toEqual([2, first]);
  expect(length('a')).toBe(first);
  expect(made).toEqual(['a', 'bb']);
  // A third one makes room by forgetting the others.
  expect(length('ccc').length).toBe(3);
  expect(length('a')).not.toBe(first);
  expect(made).toEqual(['a', 'bb', 'ccc', 'a']);
});
