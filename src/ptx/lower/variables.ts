/** Converts declarations to variables and parameters of the program: sizes, offsets, initial bytes. */
import type { Space } from '../../ir/opcode.ts';
import { NO_REG, smallInt } from '../../ir/operand.ts';
import type { Param, Prototype, Variable } from '../../ir/program.ts';
import type { Init, PtxFunction, VarDecl } from '../ast.ts';
import { doubleOf } from '../lexer.ts';
import { bitsOfFloat } from './function.ts';
import { TYPES } from './types.ts';
import { scalars } from './vectors.ts';

/** Size and alignment of a declared variable in bytes; the alignment is at least that of its type. */
export const sizeOf = (d: VarDecl): { size: number; align: number } => {
  const each = Math.max(1, (TYPES.get(d.type)?.bits ?? 64) >> 3) * d.vector;
  let size = each;
  for (const n of d.dims) size *= n;
  return { size, align: Math.max(d.align, each > 16 ? 16 : each) };
};

/** Lays out parameters: each at the next multiple of its alignment (PTX ISA 9.0, 7.1). Vector registers are split into scalars. */
export function layout(decls: readonly VarDecl[]): Param[] {
  const params: Param[] = [];
  let at = 0;
  for (const d of scalars(decls)) {
    const { size, align } = sizeOf(d);
    at = Math.ceil(at / align) * align;
    params.push({
      name: d.name,
      type: d.type,
      size: smallInt(size),
      align: smallInt(align),
      offset: smallInt(at),
      reg: NO_REG,
      array: d.dims.length > 0,
      ptr: d.ptr?.space ?? '',
      // The default alignment of `.ptr` is four bytes (PTX ISA 9.0, 5.1.6.3).
      pointeeAlign: d.ptr === null ? 0 : Math.max(d.ptr.align, 0) || 4,
    });
    at += size;
  }
  return params;
}

/** The prototype of a function. */
export const makePrototype = (fn: PtxFunction): Prototype => ({
  name: fn.name,
  params: layout(fn.params),
  returns: layout(fn.returns),
  noreturn: fn.directives.includes('.noreturn'),
});

/** The variable of a declaration, with its initial bytes and relocations. @param name its name in the program */
export function makeVariable(d: VarDecl, name: string, space: Space): Variable {
  const { size, align } = sizeOf(d);
  const relocs: Variable['relocs'][number][] = [];
  let init: Uint8Array | null = null;
  let total = size;
  if (d.init !== null) {
    const each = Math.max(1, (TYPES.get(d.type)?.bits ?? 64) >> 3);
    if (d.dims[0] === 0) {
      const inner = d.dims.slice(1).reduce((a, b) => a * b, each * d.vector);
      total = (d.init.kind === 'list' ? d.init.items.length : 1) * inner;
    }
    const bytes = new Uint8Array(total);
    place(d.init, d.dims, each * d.vector, each, 0, (at, x) => write(bytes, at, each, d.type, x, relocs));
    init = bytes;
  }
  return {
    name,
    space,
    type: d.type,
    size: smallInt(total),
    align: smallInt(align),
    linkage: d.linkage,
    init,
    relocs,
    attrs: d.attributes,
  };
}

/** Calls `put` with each scalar of a nested initialiser and its byte offset, in order. */
function place(
  init: Init,
  dims: readonly number[],
  element: number,
  each: number,
  at: number,
  put: (at: number, init: Init) => void,
): void {
  if (init.kind !== 'list') {
    put(at, init);
    return;
  }
  const stride = dims.length === 0 ? each : dims.slice(1).reduce((a, b) => a * b, element);
  const inner = dims.slice(1);
  init.items.forEach((x, k) => place(x, inner, element, each, at + k * stride, put));
}

function write(
  bytes: Uint8Array,
  at: number,
  each: number,
  type: string,
  init: Init,
  relocs: Variable['relocs'][number][],
): void {
  if (at + each > bytes.length) return;
  let v = 0n;
  if (init.kind === 'int') v = type === 'f32' ? BigInt(bitsOfFloat(Number(init.value))) : init.value;
  else if (init.kind === 'float') {
    v = init.bits;
    if ((type === 'f32' || type === 'b32') && init.width === 64) v = BigInt(bitsOfFloat(doubleOf(init.bits)));
  } else if (init.kind === 'address') {
    relocs.push({
      at,
      bytes: each,
      symbol: init.symbol,
      addend: Number(init.addend),
      generic: init.generic,
      byte: init.byte,
    });
    return;
  }
  for (let k = 0; k < each; k++) bytes[at + k] = Number((v >> BigInt(8 * k)) & 0xffn);
}
