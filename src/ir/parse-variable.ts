import type { Cursor } from './cursor.ts';
import { SPACES } from './opcode.ts';
import { NO_REG } from './operand.ts';
import { takeReg } from './parse-instr.ts';
import type { Param, Variable } from './program.ts';
import { TextError } from './text-error.ts';

/** Parses the rest of a `.param` or `.return` line. @throws TextError */
export function parseParam(c: Cursor): Param {
  const type = c.name('a type');
  const name = c.name('a name');
  const { size, align } = extent(c);
  c.expect('at');
  const at = c.natural('an offset');
  const r = c.take('reg ') ? takeReg(c) : NO_REG;
  const array = c.take('array');
  const ptr = c.take('ptr ') ? c.oneOf('a space', SPACES) : '';
  const pointeeAlign = c.take('pointee ') ? c.natural('an alignment') : 0;
  return { name, type, size, align, offset: at, reg: r, array, ptr, pointeeAlign };
}

const LINKAGES = ['extern', 'visible', 'weak', 'common'] as const;

/** Maximum size in bytes of a variable or parameter: CUDA addresses have 49 bits. */
const MOST_BYTES = 2 ** 49;

function extent(c: Cursor): { size: number; align: number } {
  c.expect('size');
  const { at } = c;
  const size = c.natural('a size');
  if (size > MOST_BYTES) throw new TextError(`expected a size of at most ${MOST_BYTES} bytes`, at);
  c.expect('align');
  const where = c.at;
  const align = c.natural('an alignment');
  if (align > MOST_BYTES || !Number.isInteger(Math.log2(align)))
    throw new TextError('expected an alignment that is a power of two', where);
  return { size, align };
}

/** Parses the attributes of a variable, in PTX syntax. @throws TextError */
function attributes(c: Cursor): string[] {
  const { at } = c;
  const list = c.quotedList('a list of attributes');
  if (list.some((a) => !/^[\w.][\w ,.()=-]*$/.test(a)))
    throw new TextError('expected a list of attributes', at);
  return list;
}

/** Parses the rest of a `.var` line. @throws TextError */
export function parseVariable(c: Cursor): Variable {
  const space = c.oneOf('a space', SPACES);
  const type = c.name('a type');
  const name = c.name('a name');
  const { size, align } = extent(c);
  const linkage = c.take('linkage ') ? c.oneOf('a linkage', LINKAGES) : '';
  const attrs = c.take('attrs ') ? attributes(c) : [];
  let init: Uint8Array | null = null;
  if (c.take('init ')) {
    const { at } = c;
    const word = c.word('bytes in hexadecimal');
    const hex = word.slice(2);
    if (!/^0x(?:[0-9a-f]{2})*$/i.test(word) || hex.length > 2 * size)
      throw new TextError(`expected at most ${size} bytes in hexadecimal`, at, Math.min(word.length, 80));
    init = new Uint8Array(hex.length / 2);
    for (let i = 0; i < init.length; i++) init[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  }
  const relocs: Variable['relocs'][number][] = [];
  while (c.take('reloc ')) {
    const begin = c.at;
    const at = c.natural('an offset');
    const bytes = c.natural('a size');
    const symbol = c.name('a symbol');
    const addend = c.integer('an addend');
    const generic = c.oneOf("'generic' or 'plain'", ['generic', 'plain']) === 'generic';
    const byte = c.integer('a byte or -1');
    if (at + bytes > (init?.length ?? 0) || byte < -1 || byte > 7)
      throw new TextError('the address lies outside the initial bytes', begin);
    relocs.push({ at, bytes, symbol, addend, generic, byte });
  }
  return { name, space, type, size, align, linkage, init, relocs, attrs };
}
