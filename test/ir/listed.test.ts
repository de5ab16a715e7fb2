import { expect, test } from 'vitest';
import { enumerated, enumeratedFirst, firstLines, firstNames } from '../../src/ir/listed.ts';

test.each([
  [['a'], 'a', 'a'],
  [['a', 'b'], 'a, b', 'a and b'],
  [['a', 'b', 'c'], 'a, b and 1 more', 'a, b and c'],
  [['a', 'b', 'c', 'd'], 'a, b and 2 more', 'a, b and 2 more'],
])('of %j, two are named', (names, text, phrase) => {
  expect(firstNames(names, 2)).toBe(text);
  expect(enumeratedFirst(names, 2)).toBe(phrase);
});

test('lines that do not fit are counted in a line of their own', () => {
  expect(firstLines(['a', 'b'], 2)).toEqual(['a', 'b']);
  expect(firstLines(['a', 'b', 'c'], 2)).toEqual(['a', 'b', 'and 1 more']);
});

test('alternatives end with their conjunction', () => {
  expect(enumerated([], 'or')).toBe('');
  expect(enumerated(['a', 'b', 'c'], 'or')).toBe('a, b or c');
});
