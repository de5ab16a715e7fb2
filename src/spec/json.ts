/*
 * Parses JSON from untrusted files, within bounds.
 */

/**
 * Maximum number of values, keys and lists in a text. Each may take sixty bytes of memory or more, however short it is in the text. The
 * profile of a large program has about 100,000.
 */
export const MOST_PARTS = 2 ** 22;

/** Maximum nesting depth: the functions that print and compare values recurse once per level. */
const MOST_NESTED = 500;

const CODE = {
  quote: 0x22,
  escape: 0x5c,
  comma: 0x2c,
  colon: 0x3a,
  list: 0x5b,
  endOfList: 0x5d,
  map: 0x7b,
  endOfMap: 0x7d,
};

/** Why a text exceeds the bounds, whether or not it is JSON; null if it does not. */
function refusal(text: string): string | null {
  let [parts, depth] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === CODE.quote)
      for (i++; i < text.length && text.charCodeAt(i) !== CODE.quote; i++) {
        if (text.charCodeAt(i) === CODE.escape) i++;
      }
    else if (c === CODE.comma || c === CODE.colon) parts++;
    else if (c === CODE.list || c === CODE.map) {
      parts++;
      if (++depth > MOST_NESTED) return `it is nested deeper than ${MOST_NESTED}`;
    } else if (c === CODE.endOfList || c === CODE.endOfMap) depth--;
    if (parts > MOST_PARTS) return `it has more than the ${MOST_PARTS} parts that are read`;
  }
  return null;
}

/** Thrown if a text exceeds the bounds on parts or nesting, whether or not it is JSON. The message quotes nothing of the text. */
export class TooMuchJson extends SyntaxError {}

/**
 * Parses a JSON text.
 * @throws SyntaxError if it is not JSON
 * @throws TooMuchJson if it exceeds the bounds
 */
export function parseJson(text: string): unknown {
  const why = refusal(text);
  if (why !== null) throw new TooMuchJson(why);
  return JSON.parse(text);
}
