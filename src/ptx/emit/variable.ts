import type { Variable } from '../../ir/program.ts';
import type { Init, VarDecl } from '../ast.ts';
import { TYPES } from '../lower/types.ts';
import { printPtxVariable } from '../print.ts';

/** The PTX declaration of a variable, without the `;`. */
export function variableText(v: Variable): string {
  return printPtxVariable(v.relocs.length > 0 ? addresses(v) : declaration(v, v.type));
}

function declaration(v: Variable, type: string): VarDecl {
  const each = Math.max(1, (TYPES.get(type)?.bits ?? 8) / 8);
  const scalar = v.size === each;
  const open = v.size === 0 && v.linkage === 'extern';
  return {
    kind: 'variable',
    span: { start: 0, end: 0, line: 0, column: 0 },
    linkage: v.linkage,
    space: v.space as VarDecl['space'],
    type,
    vector: 1,
    align: v.align,
    name: v.name,
    dims: scalar ? [] : [open ? 0 : v.size / each],
    init: v.init === null ? null : bytesInit(v.init, each, scalar, type),
    attributes: v.attrs,
    ptr: null,
    count: 0,
  };
}

/** Initial bytes as constants of `each` bytes (little-endian); floats as bit patterns. */
function bytesInit(bytes: Uint8Array, each: number, scalar: boolean, type: string): Init {
  const items: Init[] = [];
  for (let at = 0; at < bytes.length; at += each) {
    let value = 0n;
    for (let k = Math.min(each, bytes.length - at) - 1; k >= 0; k--)
      value = (value << 8n) | BigInt(bytes[at + k]);
    items.push(
      type === 'f32' || type === 'f64'
        ? { kind: 'float', bits: value, width: type === 'f32' ? 32 : 64 }
        : { kind: 'int', value },
    );
  }
  return scalar ? items[0] : { kind: 'list', items };
}

/** A variable with relocations: declared with elements of eight bytes, or of one byte if an address is stored byte by byte. */
function addresses(v: Variable): VarDecl {
  const whole = v.relocs.every((r) => r.bytes === 8 && r.byte < 0 && r.at % 8 === 0);
  const each = whole && v.size % 8 === 0 ? 8 : 1;
  const d = declaration(v, each === 8 ? 'u64' : 'b8');
  const items = d.init?.kind === 'list' ? [...d.init.items] : d.init === null ? [] : [d.init];
  for (const r of v.relocs)
    items[r.at / each] = {
      kind: 'address',
      symbol: r.symbol,
      addend: BigInt(r.addend),
      generic: r.generic,
      byte: r.byte,
    };
  return { ...d, init: d.dims.length === 0 ? items[0] : { kind: 'list', items } };
}
