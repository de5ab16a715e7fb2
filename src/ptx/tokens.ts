/**
 * Kinds of tokens. The kind of a punctuation mark is its character code; two-character operators have kinds from 256 on. The constants have
 * type `number`, because with literal types a comparison would narrow the lexer's `kind`, although the next token changes it.
 */

export const END: number = 0;
/** Identifier, register or label: `foo`, `%r1`, `$L__BB0_1`. */
export const IDENT: number = 1;
/** A dot with the word after it: `.global`, `.shared::cta`, `.m16n8k16`. */
export const DOT: number = 2;
export const INT: number = 3;
export const FLOAT: number = 4;
export const STRING: number = 5;
/** A character that PTX does not have. */
export const BAD: number = 6;
export const BANG: number = 33;
export const PERCENT: number = 37;
export const AMPERSAND: number = 38;
export const LPAREN: number = 40;
export const RPAREN: number = 41;
export const STAR: number = 42;
export const PLUS: number = 43;
export const COMMA: number = 44;
export const MINUS: number = 45;
export const SLASH: number = 47;
export const COLON: number = 58;
export const SEMICOLON: number = 59;
export const LESS: number = 60;
export const EQUALS: number = 61;
export const GREATER: number = 62;
export const QUESTION: number = 63;
export const AT: number = 64;
export const LBRACKET: number = 91;
export const RBRACKET: number = 93;
export const CARET: number = 94;
export const LBRACE: number = 123;
export const BAR: number = 124;
export const RBRACE: number = 125;
export const TILDE: number = 126;
export const SHIFT_LEFT: number = 256;
export const SHIFT_RIGHT: number = 257;
export const LESS_EQUAL: number = 258;
export const GREATER_EQUAL: number = 259;
export const EQUAL: number = 260;
export const NOT_EQUAL: number = 261;
export const AND_AND: number = 262;
export const OR_OR: number = 263;
