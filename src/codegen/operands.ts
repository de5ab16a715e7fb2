import { chosen } from '../ir/opcode.ts';
import type { Arg } from './assemble.ts';
import type { Emitter } from './emitter.ts';

/* What handlers of opcodes write instructions with. */

/** Selection by code of the instruction at hand. */
export type Handler = (s: Emitter) => void;

/** A number of 32 bits. */
export const number = (lo: number): Arg => ({ kind: 'number', lo, hi: null, mods: 0 });

/** The predicate that holds. */
export const PT: Arg = { kind: 'fixed', file: 'P', number: null, mods: 0 };

/** Emits an instruction that must exist; empty parts of its name are left out. */
export const emit = (s: Emitter, name: readonly string[], args: Readonly<Record<string, Arg>> = {}): void =>
  s.emitNamed(
    name.filter((part) => part !== ''),
    new Map(Object.entries(args)),
  );

/** The modifier chosen in a group; '' if the opcode has no such group. */
export function mod(s: Emitter, group: string): string {
  const { op, mods } = s.ins;
  const g = op.groupByName.get(group);
  return g === undefined ? '' : chosen(g, mods).name;
}
