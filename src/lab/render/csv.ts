import { visible } from '../../ir/quote.ts';

/** Matches a text that is a number, such as the level of a factor. */
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

/** The value of a field. */
export type Field = string | number | boolean;

/**
 * A value as a field of CSV (RFC 4180). Names may come from files of others, and a spreadsheet evaluates text that looks like a formula; a
 * leading apostrophe prevents that.
 */
function field(v: Field): string {
  const text = visible(String(v));
  const s = /^\s*[-=+@]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
}

/** Rows as CSV; the first is the heading. */
export const csvOf = (rows: readonly (readonly Field[])[]): string =>
  `${rows.map((row) => row.map(field).join(',')).join('\r\n')}\r\n`;
