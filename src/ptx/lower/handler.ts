import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import type { FnLower } from './function.ts';
import { lastType, type PtxType } from './types.ts';

/** Lowers one instruction of a family. @throws Unsupported if this form of it has no Ori opcodes */
export type Handler = (f: FnLower, i: PtxInstr) => void;

/** Requires at least `n` operands. @throws Unsupported otherwise */
export const need = (i: PtxInstr, n: number): void => {
  if (i.operands.length < n) throw new Unsupported(`it has ${i.operands.length} operands, ${n} are expected`);
};

/** The last type of an instruction. @throws Unsupported if it has none */
export function typeOf(i: PtxInstr): PtxType {
  const t = lastType(i.mods);
  if (t === null) throw new Unsupported('it has no type');
  return t;
}

/** Is it an integer or bit type? */
export const isInt = (t: PtxType): boolean =>
  t.kind === 'signed' || t.kind === 'unsigned' || t.kind === 'bits';
