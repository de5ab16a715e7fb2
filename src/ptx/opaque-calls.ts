import type { PtxFunction, PtxInstr, PtxItem, PtxOperand, PtxStatement, VarDecl } from './ast.ts';

/*
 * Calls of OptiX intrinsics, which are not declared in PTX: the OptiX compiler knows them by name, while ptxas refuses them. Declarations
 * are inferred from the operands of their calls.
 */

/** Names of OptiX intrinsics. */
const OPTIX_INTRINSIC = /^_optix_/;

/** The type of an operand that is not a register. */
const DEFAULT_TYPE = 'b32';

/** Declarations of the OptiX intrinsics that a module calls without declaring them, inferred from their first calls. */
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

/** The declaration that a call implies; null if it does not call an OptiX intrinsic. */
function declarationOf(s: PtxInstr, registers: readonly VarDecl[]): PtxFunction | null {
  const at = s.operands.findIndex((o) => o.kind !== 'list');
  const target = s.operands[at];
  if (target?.kind !== 'sym' || !OPTIX_INTRINSIC.test(target.name)) return null;
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
  if (o.kind !== 'reg' && o.kind !== 'sym') return DEFAULT_TYPE;
  const own = registers.findLast((v) => v.count === 0 && v.name === o.name);
  if (own !== undefined) return own.type;
  const digits = /\d+$/.exec(o.name)?.[0] ?? '';
  const stem = o.name.slice(0, o.name.length - digits.length);
  return registers.findLast((v) => v.count > Number(digits) && v.name === stem)?.type ?? DEFAULT_TYPE;
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
