import type { Cursor } from './cursor.ts';
import type { Space } from './opcode.ts';
import { NO_REG } from './operand.ts';
import { takeReg } from './parse-instr.ts';
import type { Param, Variable } from './program.ts';

/** The rest of a `.param` or `.return`. @throws TextError */
export function parseParam(c: Cursor): Param {
  const type = c.word('a type');
  const name = c.word('a name');
  c.expect('size');
  const size = c.number('a size');
  c.expect('align');
  const align = c.number('an alignment');
  c.expect('at');
  const at = c.number('an offset');
  const r = c.take('reg ') ? takeReg(c) : NO_REG;
  const array = c.take('array');
  const ptr = c.take('ptr ') ? c.word('a space') : '';
  const pointeeAlign = c.take('pointee ') ? c.number('an alignment') : 0;
  return { name, type, size, align, offset: at, reg: r, array, ptr, pointeeAlign };
}

/** The rest of a `.var`. @throws TextError */
export function parseVariable(c: Cursor): Variable {
  const space = c.word('a space') as Space;
  const type = c.word('a type');
  const name = c.word('a name');
  c.expect('size');
  const size = c.number('a size');
  c.expect('align');
  const align = c.number('an alignment');
  const linkage = (c.take('linkage ') ? c.word('a linkage') : '') as Variable['linkage'];
  const attrs = c.take('attrs ') ? c.json<string[]>('a list of attributes') : [];
  let init: Uint8Array | null = null;
  if (c.take('init ')) {
    const hex = c.word('bytes in hexadecimal').slice(2);
    init = new Uint8Array(hex.length / 2);
    for (let i = 0; i < init.length; i++) init[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  }
  const relocs: Variable['relocs'][number][] = [];
  while (c.take('reloc ')) {
    const at = c.number('an offset');
    const bytes = c.number('a size');
    const symbol = c.word('a symbol');
    const addend = c.number('an addend');
    const generic = c.word("'generic' or 'plain'") === 'generic';
    relocs.push({ at, bytes, symbol, addend, generic, byte: c.number('a byte or -1') });
  }
  return { name, space, type, size, align, linkage, init, relocs, attrs };
}
