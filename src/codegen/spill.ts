import type { Machine } from '../machine/forms.ts';
import { SIZES } from './address.ts';
import { type Arg, type Assembled, assemble, RZ } from './assemble.ts';
import type { MachineFunction, MachineOp, Virtual } from './machine-op.ts';
import { STACK } from './stack.ts';

/*
 * Moves a virtual register to memory: each instruction that uses it gets a short-lived register, loaded before and stored after. A
 * predicate moves to a general register instead, from which it is computed again.
 */

/**
 * Spills a register.
 * @param slot offset of its place from the stack pointer, in bytes; predicates do not use it
 * @throws Error if the target has no loads or stores of local memory
 */
export function spill(fn: MachineFunction, v: number, slot: number, machine: Machine): MachineFunction {
  const registers: Virtual[] = [...fn.registers];
  const { file, words } = registers[v];
  const size = SIZES[4 * words] === '' ? [] : [SIZES[4 * words]];
  const register = (w: number): Arg => ({
    kind: 'register',
    file: registers[w].file,
    v: w,
    word: 0,
    words: registers[w].words,
    mods: 0,
  });
  const make = (r: Virtual): number => registers.push(r) - 1;
  const op = (name: readonly string[], args: readonly (readonly [string, Arg])[], loc: number): MachineOp => {
    const built: Assembled | null = assemble(machine, name, new Map(args));
    if (built === null) throw new Error(`no form of ${name.join('.')} to spill a register`);
    return { ...built, guard: -1, guardNot: false, loc };
  };
  const place: Arg = {
    kind: 'address',
    base: { kind: 'fixed', file: 'R', number: STACK, mods: 0 },
    offset: slot,
    descriptor: null,
    mods: 0,
  };
  const held = file === 'P' ? make({ file: 'R', words: 1, isTemporary: false, isReload: false }) : -1;
  const load = (t: number, loc: number): MachineOp =>
    file === 'P'
      ? op(
          ['ISETP', 'NE', 'AND'],
          [
            ['d', register(t)],
            ['a', register(held)],
            ['b', RZ],
          ],
          loc,
        )
      : op(
          ['LDL', ...size],
          [
            ['d', register(t)],
            ['ad', place],
          ],
          loc,
        );
  const store = (t: number, loc: number): MachineOp =>
    file === 'P'
      ? op(
          ['SEL'],
          [
            ['d', register(held)],
            ['a', RZ],
            ['b', { kind: 'number', lo: 1, hi: null, mods: 0 }],
            ['p', { ...register(t), mods: 4 } as Arg],
          ],
          loc,
        )
      : op(
          ['STL', ...size],
          [
            ['ad', place],
            ['b', register(t)],
          ],
          loc,
        );
  const blocks = fn.blocks.map((b) => ({
    ...b,
    ops: b.ops.flatMap((x): MachineOp[] => {
      const found = x.occurrences.filter((o) => o.v === v);
      if (found.length === 0 && x.guard !== v) return [x];
      const t = make({ file, words, isTemporary: false, isReload: true });
      const writes = found.some((o) => o.isResult);
      const writesAll = found.some((o) => o.isResult && o.words === words) && x.guard < 0;
      const reads = found.some((o) => !o.isResult) || x.guard === v || (writes && !writesAll);
      const replaced: MachineOp = {
        ...x,
        guard: x.guard === v ? t : x.guard,
        occurrences: x.occurrences.map((o) => (o.v === v ? { ...o, v: t } : o)),
      };
      return [...(reads ? [load(t, x.loc)] : []), replaced, ...(writes ? [store(t, x.loc)] : [])];
    }),
  }));
  return { ...fn, blocks, registers };
}
