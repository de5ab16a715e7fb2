import { addr, NO_REG, reg } from '../../ir/operand.ts';
import type { Param } from '../../ir/program.ts';
import type { PtxOperand, PtxStatement } from '../ast.ts';
import type { FnLower } from './function.ts';

/**
 * Parameters of a device function whose address is taken. PTX keeps such a parameter on the stack, with an address in
 * local memory (PTX ISA 9.0, mov); ptxas 13.0.88 then reads and writes the parameter there, by name too.
 */

/** The candidates whose address is taken by a `mov` in the body. Conservative: a shadowing declaration of the same name counts too. */
export function addressTaken(
  body: readonly PtxStatement[],
  candidates: ReadonlySet<string>,
): ReadonlySet<string> {
  const taken = new Set<string>();
  if (candidates.size === 0) return taken;
  const visit = (o: PtxOperand): void => {
    if (o.kind === 'sym' && candidates.has(o.name)) taken.add(o.name);
  };
  const work = [body];
  for (let list = work.pop(); list !== undefined; list = work.pop())
    for (const s of list) {
      if (s.kind === 'scope') work.push(s.body);
      else if (s.kind === 'instr' && s.opcode === 'mov') s.operands.slice(1).forEach(visit);
    }
  return taken;
}

/** The pieces in which a parameter is copied: the widest that its alignment allows. */
function* pieces(p: Param): Generator<{ at: number; type: string; bits: number }> {
  for (let at = 0; at < p.size; ) {
    let bytes = 8;
    while (p.align % bytes !== 0 || at + bytes > p.size) bytes /= 2;
    yield { at, type: bytes < 4 ? `U${bytes * 8}` : `B${bytes * 8}`, bits: bytes * 8 };
    at += bytes;
  }
}

/** Emits copies of a parameter to the local variable that replaces it. */
export function copyIn(f: FnLower, p: Param, parameter: string, local: string): void {
  for (const { at, type, bits } of pieces(p)) {
    const t = f.temp(bits);
    f.emit('LDPRM', [type], [t], [addr(NO_REG, at, parameter)]);
    f.emit('STL', [type], [], [addr(NO_REG, at, local), reg(t)]);
  }
}

/** Emits copies of a result from the local variable that replaces it. */
export function copyOut(f: FnLower, p: Param, parameter: string, local: string): void {
  for (const { at, type, bits } of pieces(p)) {
    const t = f.temp(bits);
    f.emit('LDL', [type], [t], [addr(NO_REG, at, local)]);
    f.emit('STPRM', [type], [], [addr(NO_REG, at, parameter), reg(t)]);
  }
}
