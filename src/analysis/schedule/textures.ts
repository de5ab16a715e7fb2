import type { Instr } from '../../ir/program.ts';

/** A texture read in the text that Ori carries; the handle is the first operand in brackets. */
const TEXTURE = /^(?:tex|tld4)\..*?\[\s*(<s\d+:64>)?/;

/** Does the instruction read a texture, and is its handle in a register? */
export function textureOf(x: Instr): { readonly bindless: boolean } | null {
  const m = x.op.primitive === 'foreign' ? TEXTURE.exec(x.src[0]?.sym ?? '') : null;
  return m === null ? null : { bindless: m[1] !== undefined };
}

/** Does the instruction read a texture? */
export const isTexture = (x: Instr): boolean => textureOf(x) !== null;
