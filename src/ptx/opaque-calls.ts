import type { PtxFunction, PtxInstr, PtxItem, PtxOperand, PtxStatement, VarDecl } from './ast.ts';

/*
 * Calls of functions that PTX of OptiX does not declare: its compiler knows them by name, where ptxas refuses them. They are taken as
 * declared by what their calls pass.
 */

/** Names that the front end of OptiX knows. */
const OF_OPTIX = /^_optix_/;

/** The type of an operand that is no register. */
const OF_NUMBERS = 'b32';

/** Declarations of the functions of OptiX that a module calls and does not declare, by their first calls. */
export function opaqueFunctions(items: readonly PtxItem[]): PtxFunction[] {
  const declared = new Set(items.map((i) => (i.kind === 'function' ? i.name : '')));
  const out: PtxFunction[] = [];
  const visit = (body: readonly PtxStatement[], outer: readonly VarDecl[]): void => {
    const registers = [...outer, ...body.filter((s) => s.kind === 'variable')];
    for (const s of body) {
      if (s.kind === 'scope') visit(s.body, registers);
      if (s.kind !== 'instr' || s.opcode !== 'call') continue;
      const f = declarationOf(s, registers);
      if (f === null || declared.has(f.name)) continue;
      declared.add(f.name);
      out.push(f);
    }
  };
  for (const i of items) if (i.kind === 'function' && i.body !== null) visit(i.body, []);
  return out;
}

/** The declaration that a call implies; null where its function is none of OptiX. */
function declarationOf(s: PtxInstr, registers: readonly VarDecl[]): PtxFunction | null {
  const at = s.operands.findIndex((o) => o.kind !== 'list');
  const target = s.operands[at];
  if (target?.kind !== 'sym' || !OF_OPTIX.test(target.name)) return null;
  const listed = (k: number): readonly PtxOperand[] => {
    const o = s.operands[k];
    return o?.kind === 'list' ? o.items : [];
  };
  const formals = (operands: readonly PtxOperand[], what: string) =>
    operands.map((o, k) => formal(s, typeOf(o, registers), `${target.name}_${what}${k}`));
  return {
    kind: 'function',
    span: s.span,
    linkage: 'extern',
    entry: false,
    name: target.name,
    returns: at === 1 ? formals(listed(0), 'result') : [],
    params: formals(listed(at + 1), 'param'),
    directives: [],
    body: null,
    implied: true,
  };
}

function typeOf(o: PtxOperand, registers: readonly VarDecl[]): string {
  if (o.kind !== 'reg' && o.kind !== 'sym') return OF_NUMBERS;
  const own = registers.findLast((v) => v.count === 0 && v.name === o.name);
  if (own !== undefined) return own.type;
  const digits = /\d+$/.exec(o.name)?.[0] ?? '';
  const stem = o.name.slice(0, o.name.length - digits.length);
  return registers.findLast((v) => v.count > Number(digits) && v.name === stem)?.type ?? OF_NUMBERS;
}

const formal = ({ span }: PtxInstr, type: string, name: string): VarDecl => ({
  kind: 'variable',
  span,
  linkage: '',
  space: 'reg',
  type,
  vector: 1,
  align: 0,
  name,
  dims: [],
  init: null,
  attributes: [],
  ptr: null,
  count: 0,
});
