/** Checks calls against the called function or prototype (PTX ISA 9.0, 9.7.12.5). */

import { counted } from '../ir/counts.ts';
import { didYouMean } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxInstr, PtxOperand, VarDecl } from './ast.ts';
import type { Fault } from './check-spelling.ts';
import type { Named } from './declared.ts';
import { bitsOf } from './forms.ts';

/** The signature that a call must match: that of a function or of a `.callprototype`. */
export interface Callee {
  readonly name: string;
  readonly returns: readonly VarDecl[];
  readonly params: readonly VarDecl[];
}

/** Resolves the names in a call. */
export interface CallNames {
  readonly find: (name: string) => Named;
  readonly functionOf: (name: string) => PtxFunction | undefined;
  /** The signatures after the label of an indirect call: one for a prototype, one for each function of a list of targets. */
  readonly calleesOf: (name: string) => readonly Callee[];
}

/** The first fault of a call; null if there is none. */
export function checkCall(s: PtxInstr, names: CallNames): Fault | null {
  const stranger = s.mods.find((m) => m !== 'uni');
  if (stranger !== undefined)
    return { message: `'call' has no modifier '.${stranger}'`, notes: didYouMean(stranger, ['uni']) };
  let at = 0;
  const returns = listAt(s, at);
  if (returns !== null) at++;
  const target = s.operands[at++];
  const args = listAt(s, at);
  if (args !== null) at++;
  const by = s.operands[at++];
  if (target === undefined || (target.kind !== 'sym' && target.kind !== 'reg') || at < s.operands.length)
    return {
      message: "'call' takes (results), function, (arguments)",
      notes: ['and the label of a prototype after them'],
    };
  const fn = names.functionOf(target.name);
  if (fn !== undefined) {
    if (fn.entry) return { message: `'${fn.name}' is an entry: only device functions are called`, notes: [] };
    return compare(s, fn, returns ?? [], args ?? [], names);
  }
  if (by === undefined)
    return {
      message: `a call through '${target.name}' needs a prototype`,
      notes: ["name the label of a '.callprototype' or '.calltargets' after the arguments"],
    };
  const callees = by.kind === 'sym' || by.kind === 'reg' ? names.calleesOf(by.name) : [];
  for (const callee of callees) {
    const fault = compare(s, callee, returns ?? [], args ?? [], names);
    if (fault !== null) return fault;
  }
  return null;
}

function listAt(s: PtxInstr, k: number): readonly PtxOperand[] | null {
  const o = s.operands[k];
  return o?.kind === 'list' ? o.items : null;
}

function compare(
  s: PtxInstr,
  callee: Callee,
  returns: readonly PtxOperand[],
  args: readonly PtxOperand[],
  { find }: CallNames,
): Fault | null {
  for (const [what, formal, actual] of [
    ['result', callee.returns, returns],
    ['argument', callee.params, args],
  ] as const) {
    if (formal.length !== actual.length)
      return {
        message: `'${callee.name}' has ${counted(formal.length, what)}, but the ${s.opcode} has ${counted(actual.length, what)}`,
        notes: [],
      };
    for (const [k, o] of actual.entries()) {
      const d = o.kind === 'reg' || o.kind === 'sym' ? find(o.name) : undefined;
      if (typeof d !== 'object') continue;
      const have = bytesOf(d.v);
      const want = bytesOf(formal[k]);
      if (have !== want && have > 0 && want > 0)
        return {
          message: `${what} ${k + 1} of '${callee.name}' has ${counted(want, 'byte')}, but '${nameIn(o)}' has ${have}`,
          notes: [],
        };
    }
  }
  return null;
}

const nameIn = (o: PtxOperand): string => (o.kind === 'reg' || o.kind === 'sym' ? o.name : '');

/** Bytes of a variable; 0 if its size is not known. */
function bytesOf(v: VarDecl): number {
  const bits = bitsOf(v.type);
  return (Math.max(bits, 8) / 8) * v.vector * v.dims.reduce((n, d) => n * d, 1) * (bits === 0 ? 0 : 1);
}
