import { SyntaxFault, type Token, tokens } from './tokens.ts';

/** A cursor over the tokens of a text. */
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

  /** Whether the next token has this text. */
  is(text: string): boolean {
    const t = this.peek();
    return t.text === text && t.kind !== 'string';
  }

  /** Consumes the next token if it has this text. */
  take(text: string): boolean {
    if (!this.is(text)) return false;
    this.#at++;
    return true;
  }

  /** Consumes a required token. @throws SyntaxFault if another one follows */
  expect(text: string): void {
    if (!this.take(text)) this.fail(`'${text}' expected, not '${this.peek().text}'`);
  }

  /** Consumes a name. */
  word(): string {
    const t = this.next();
    if (t.kind !== 'word') this.fail(`a name expected, not '${t.text}'`);
    return t.text;
  }

  /** Skips the rest of the line that the last token is on. */
  restOfLine(): void {
    const line = this.#tokens[this.#at - 1].line;
    while (this.peek().kind !== 'end' && this.peek().line === line) this.#at++;
  }

  /** Skips a block from its opening brace to the matching closing one. */
  skipBraces(): void {
    this.expect('{');
    for (let depth = 1; depth > 0; ) {
      const t = this.next();
      if (t.kind === 'end') this.fail('a brace that is not closed');
      depth += t.text === '{' ? 1 : t.text === '}' ? -1 : 0;
    }
  }

  /** Comma-separated items up to a closing token, which is consumed. */
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
