import { getHeapStatistics } from 'node:v8';

/** Length of a text in characters from which on its memory is estimated; below it, no heap is too small. */
const LARGE = 2 ** 20;

/**
 * Minimum bytes of heap that a command takes per instruction and per function (Node 20), rounded down. `check`: 3.3 GB for three million
 * additions, and 4 GB for 400,000 functions that return. `opt`: 0.5 GB more for 30,000 of these than for 10,000.
 */
const EACH = {
  read: { instruction: 800, function: 8000 },
  optimize: { instruction: 800, function: 20_000 },
} as const;

/**
 * Why the heap is too small for a PTX text, whatever is done with it; null if it may suffice. V8 ends a process whose heap is full, and
 * gives no chance to say why.
 *
 * @param limit bytes of the heap
 * @param use what is done with it
 */
export function roomFault(
  text: string,
  limit = getHeapStatistics().heap_size_limit,
  use: keyof typeof EACH = 'read',
): { readonly fault: string; readonly notes: readonly string[] } | null {
  if (text.length < LARGE) return null;
  const instructions = countOf(text, ';');
  const functions = countOf(text, '.entry') + countOf(text, '.func');
  const least = instructions * EACH[use].instruction + functions * EACH[use].function;
  if (least <= limit) return null;
  const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  return {
    fault: `it needs ${gibibytes(least)} GiB of memory or more, and there are ${gibibytes(limit)} for it`,
    notes: [`NODE_OPTIONS=--max-old-space-size=${Math.ceil((1.5 * least) / 2 ** 20)} allows more`],
  };
}

/** Number of occurrences of a part in a text. */
function countOf(text: string, part: string): number {
  let n = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) n++;
  return n;
}
