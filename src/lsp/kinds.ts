/*
 * Numbers of the protocol (LSP 3.17). The package that has them as values is loaded only when a server starts, so that no other command
 * pays for it.
 */

export const SEVERITY = { error: 1, warning: 2, information: 3, hint: 4 } as const;

export const SYMBOL = {
  module: 2,
  namespace: 3,
  property: 7,
  function: 12,
  variable: 13,
  constant: 14,
  array: 18,
  object: 19,
  key: 20,
  event: 24,
} as const;

export const ITEM = {
  function: 3,
  variable: 6,
  module: 9,
  property: 10,
  unit: 11,
  value: 12,
  enum: 13,
  keyword: 14,
  file: 17,
  enumMember: 20,
  constant: 21,
  event: 23,
  operator: 24,
} as const;

/** How a client sends changes of a text: as the ranges that were replaced. */
export const INCREMENTAL = 2;

/** Types of semantic tokens, by their position in the legend. */
export const TOKEN_TYPES = [
  'keyword',
  'operator',
  'variable',
  'parameter',
  'function',
  'label',
  'number',
  'string',
  'comment',
  'type',
  'modifier',
] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

/** Modifiers of semantic tokens, by their bit in the legend. */
export const TOKEN_MODIFIERS = ['declaration', 'readonly'] as const;
