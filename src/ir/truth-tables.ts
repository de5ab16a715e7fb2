/**
 * Truth tables of LOP3 and PLOP3: bit 4a + 2b + c is the value at a, b, c (PTX ISA 9.0, lop3). The table of an
 * expression is the same expression applied to the tables of the inputs.
 */
export const A = 0xf0;
export const B = 0xcc;
export const C = 0xaa;
export const ALWAYS = 0xff;

export const AND = A & B;
export const AND3 = A & B & C;
export const OR = A | B;
export const OR3 = A | B | C;
export const XOR = A ^ B;
export const XOR3 = A ^ B ^ C;
/** Selects the second input if the first is true, else the third. */
export const CHOOSE = (A & B) | (~A & C & ALWAYS);
