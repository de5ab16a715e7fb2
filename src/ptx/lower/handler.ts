import type { PtxInstr } from '../ast.ts';
import { type FnLower, NoForm } from './function.ts';
import { lastType, type PtxType } from './types.ts';

/** Lowers one instruction of a family. @throws NoForm if this form of it has no Ori opcodes */
export type Handler = (f: FnLower, i: PtxInstr) => void;

/** Requires at least `n` operands. @throws NoForm otherwise */
export const need = (i: PtxInstr, n: number): void => {
  if (i.operands.length < n) throw new NoForm(`it has ${i.operands.length} operands, ${n} are expected`);
};

/** The last type of an instruction. @throws NoForm if it has none */
export function typeOf(i: PtxInstr): PtxType {
  const t = lastType(i.mods);
  if (t === null) throw new NoForm('it has no type');
  return t;
}

/** Is it an integer or bit type? */
export const isInt = (t: PtxType): boolean =>
  t.kind === 'signed' || t.kind === 'unsigned' || t.kind === 'bits';
