import { Mod } from '../ir/operand.ts';
import type { Machine } from '../machine/forms.ts';
import { SIZES } from './address.ts';
import { type Arg, type Assembled, assemble, RZ } from './assemble.ts';
import type { MachineFunction, MachineOp, Virtual } from './machine-op.ts';
import { STACK } from './stack.ts';

/*
 * Moves a virtual register to memory: each instruction that uses it gets a short-lived register, loaded before and stored after. A
 * predicate moves to a general register instead, from which it is computed again.
 */

/** Words of the widest access. */
const MOST_WORDS = 4;

/**
 * Spills a register.
 * @param slot offset of its place from the stack pointer, in bytes; predicates do not use it
 * @throws Error if the target has no loads or stores of local memory
 */
export function spill(fn: MachineFunction, v: number, slot: number, machine: Machine): MachineFunction {
  const registers: Virtual[] = [...fn.registers];
  const { file, words } = registers[v];
  const part = (w: number, word: number, words: number): Arg => ({
    kind: 'register',
    file: registers[w].file,
    v: w,
    word,
    words,
    mods: 0,
  });
  const register = (w: number): Arg => part(w, 0, registers[w].words);
  const make = (r: Virtual): number => registers.push(r) - 1;
  const op = (name: readonly string[], args: readonly (readonly [string, Arg])[], loc: number): MachineOp => {
    const built: Assembled | null = assemble(machine, name, new Map(args));
    if (built === null) throw new Error(`no form of ${name.join('.')} to spill a register`);
    return { ...built, guard: -1, guardNot: false, loc };
  };
  const place = (word: number): Arg => ({
    kind: 'address',
    base: { kind: 'fixed', file: 'R', number: STACK, mods: 0 },
    offset: slot + 4 * word,
    descriptor: null,
    mods: 0,
  });
  /** Accesses to all words of a register, of 16 bytes at most. */
  const moves = (name: string, t: number, value: string, loc: number): MachineOp[] =>
    Array.from({ length: Math.ceil(words / MOST_WORDS) }, (_, k) => {
      const word = MOST_WORDS * k;
      const n = Math.min(MOST_WORDS, words - word);
      return op(
        [name, ...(n === 1 ? [] : [SIZES[4 * n]])],
        [
          ['ad', place(word)],
          [value, part(t, word, n)],
        ],
        loc,
      );
    });
  const held = file === 'P' ? make({ file: 'R', words: 1, isTemporary: false, isReload: false }) : -1;
  const load = (t: number, loc: number): MachineOp[] =>
    file === 'P'
      ? [
          op(
            ['ISETP', 'NE', 'AND'],
            [
              ['d', register(t)],
              ['a', register(held)],
              ['b', RZ],
            ],
            loc,
          ),
        ]
      : moves('LDL', t, 'd', loc);
  const store = (t: number, loc: number): MachineOp[] =>
    file === 'P'
      ? [
          op(
            ['SEL'],
            [
              ['d', register(held)],
              ['a', RZ],
              ['b', { kind: 'number', lo: 1, hi: null, mods: 0 }],
              ['p', { ...register(t), mods: Mod.Not } as Arg],
            ],
            loc,
          ),
        ]
      : moves('STL', t, 'b', loc);
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
      return [...(reads ? load(t, x.loc) : []), replaced, ...(writes ? store(t, x.loc) : [])];
    }),
  }));
  return { ...fn, blocks, registers };
}
