/*
 * JSON that is too long to be built as one object and one text: the same lines as `JSON.stringify` writes with two spaces.
 */

/** The lines of a value. */
export const jsonLines = (value: object): string[] => JSON.stringify(value, null, 2).split('\n');

/**
 * The lines of `{ ...head, [key]: [...items], ...rest }`, where neither `head` nor `rest` is needed at the same time as the items.
 *
 * @param linesOf lines of an item
 */
export function* listLines<T>(
  head: object,
  key: string,
  items: Iterable<T>,
  linesOf: (item: T) => Iterable<string>,
  rest: object = {},
): Generator<string> {
  const before = jsonLines({ ...head, [key]: [] });
  const open = before.splice(-2)[0].replace(/\]$/, '');
  yield* before;
  // Whether a comma follows is known when the next line or item is.
  let last = open;
  let isFirst = true;
  for (const item of items) {
    let end = isFirst ? '' : ',';
    isFirst = false;
    for (const line of linesOf(item)) {
      yield last + end;
      last = `    ${line}`;
      end = '';
    }
  }
  const after = jsonLines(rest).slice(1);
  const comma = after.length === 0 ? '' : ',';
  if (isFirst) yield `${last}]${comma}`;
  else {
    yield last;
    yield `  ]${comma}`;
  }
  yield* after.length === 0 ? ['}'] : after;
}

/** Characters of a part of an output. */
const PART = 2 ** 20;

/** An output that is printed when it is complete, in parts of whole lines: as one text it would take its memory several times. */
export class Parts {
  private readonly parts: string[] = [];
  private lines: string[] = [];
  private length = 0;

  add(lines: Iterable<string>): void {
    for (const line of lines) {
      this.lines.push(line);
      this.length += line.length + 1;
      if (this.length >= PART) this.close();
    }
  }

  /** Passes each part to a function that prints it and a line break. */
  print(out: (part: string) => void): void {
    if (this.lines.length > 0) this.close();
    for (const part of this.parts) out(part);
  }

  private close(): void {
    this.parts.push(this.lines.join('\n'));
    this.lines = [];
    this.length = 0;
  }
}
