import { SyntaxFault, type Token, tokens } from './tokens.ts';

/** Reads tokens one after the other. */
export class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokens(text);
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#at + ahead, this.#tokens.length - 1)];
  }

  next(): Token {
    const t = this.peek();
    this.#at++;
    return t;
  }

  /** Whether the next token has a text. */
  is(text: string): boolean {
    const t = this.peek();
    return t.text === text && t.kind !== 'string';
  }

  /** Takes the next token if it has a text. */
  take(text: string): boolean {
    if (!this.is(text)) return false;
    this.#at++;
    return true;
  }

  /** Takes a token that has to be there. */
  expect(text: string): void {
    if (!this.take(text)) this.fail(`'${text}' expected, not '${this.peek().text}'`);
  }

  /** Takes a name. */
  word(): string {
    const t = this.next();
    if (t.kind !== 'word') this.fail(`a name expected, not '${t.text}'`);
    return t.text;
  }

  /** Takes the rest of the line that the last token stands in. */
  restOfLine(): void {
    const line = this.#tokens[this.#at - 1].line;
    while (this.peek().kind !== 'end' && this.peek().line === line) this.#at++;
  }

  /** Takes everything to a closing brace, the opening one included. */
  skipBraces(): void {
    this.expect('{');
    for (let depth = 1; depth > 0; ) {
      const t = this.next();
      if (t.kind === 'end') this.fail('a brace that is not closed');
      depth += t.text === '{' ? 1 : t.text === '}' ? -1 : 0;
    }
  }

  /** Items with commas between them, up to a token that is taken. */
  list<T>(close: string, item: () => T): T[] {
    const out: T[] = [];
    if (this.take(close)) return out;
    do out.push(item());
    while (this.take(','));
    this.expect(close);
    return out;
  }

  fail(message: string): never {
    throw new SyntaxFault(this.peek().line, message);
  }
}
