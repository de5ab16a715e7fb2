import { LEAST_REGISTERS } from '../machine/calling-convention.ts';
import { type Control, NO_BARRIER } from '../machine/control.ts';
import { decode } from '../machine/decode.ts';
import { encode } from '../machine/encode.ts';
import type { Form, Machine } from '../machine/forms.ts';
import { WORD_BYTES } from '../machine/text.ts';
import type { Word } from '../machine/word.ts';
import { type Arg, assemble } from './assemble.ts';
import { IMPLICIT, type MachineFunction, type MachineOp, START } from './machine-op.ts';

/* Writes the words of a function whose registers are allocated. */

/** Words of a function, and what the driver has to know of them. */
export interface EncodedFunction {
  readonly code: Uint8Array;
  /** Number of instructions, without what fills the code up. */
  readonly instructions: number;
  /** Number of general registers: the highest number, plus one. */
  readonly registers: number;
  /** Byte offsets of instructions that end a thread, and of those in which lanes of a warp meet. */
  readonly exits: readonly number[];
  readonly warpWide: readonly number[];
  /** Jumps through tables: their byte offsets, and those of their targets. */
  readonly branches: readonly { readonly at: number; readonly targets: readonly number[] }[];
  /** Entries of the jump tables, one after the other: byte offsets. */
  readonly tables: Uint32Array;
  /** Number of named barriers. */
  readonly barriers: number;
  /** Functions of other files that it calls, and the byte offsets of the calls. */
  readonly calls: readonly string[];
  readonly callsAt: readonly number[];
  /** Where each instruction comes from: index into `Program.locs`. */
  readonly locs: readonly number[];
}

/** Code is filled up to a multiple of this with NOPs, as in files of ptxas. */
const CODE_ALIGN = 128;
/** Rows of instructions in which lanes of a warp meet. */
const WARP_WIDE = /^(?:SHFL|VOTE|MATCH|REDUX)/;
/** Named barriers of a block (PTX ISA 9.0, bar). */
const NAMED_BARRIERS = 16;

/**
 * Writes the words of a function.
 *
 * @param of the first register of the hardware for each virtual one
 * @param controls control words by block and instruction
 */
export function encodeFunction(
  fn: MachineFunction,
  of: readonly number[],
  controls: readonly (readonly Control[])[],
  machine: Machine,
): EncodedFunction {
  const { blocks } = fn;
  const addresses = new Map<number, number>();
  let at = 0;
  for (const b of blocks) {
    addresses.set(b.id, at);
    at += WORD_BYTES * b.ops.length;
  }
  const size = Math.ceil((at + WORD_BYTES) / CODE_ALIGN) * CODE_ALIGN;
  const code = new Uint8Array(size);
  const view = new DataView(code.buffer);
  let here = 0;
  const put = (w: Word): void => {
    w.forEach((x, k) => void view.setUint32(here + 4 * k, x, true));
    here += WORD_BYTES;
  };
  const exits: number[] = [];
  const warpWide: number[] = [];
  const branches: EncodedFunction['branches'][0][] = [];
  const calls = new Set<string>();
  const callsAt: number[] = [];
  let [registers, barriers] = [0, 0];
  blocks.forEach((b, n) => {
    b.ops.forEach((x, k) => {
      const values = valuesOf(x, of);
      for (const o of x.occurrences)
        if (fn.registers[o.v].file === 'R') registers = Math.max(registers, of[o.v] + o.word + o.words);
      if (x.target !== null) {
        const target = x.target.block === START ? 0 : addresses.get(x.target.block);
        if (target === undefined) throw new Error(`a branch to block ${x.target.block}, which is not there`);
        const { field, from } = x.target;
        values[field] =
          from === undefined
            ? (target - here - WORD_BYTES) / scaleOf(x.form, field)
            : target - addresses.get(from)!;
      }
      if (x.call !== undefined) {
        calls.add(x.call);
        callsAt.push(here);
      }
      const { row } = x.form;
      if (row === 'EXIT') exits.push(here);
      if (x.table !== undefined)
        branches.push({ at: here, targets: fn.tables[x.table].map((id) => addresses.get(id)!) });
      if (WARP_WIDE.test(row)) warpWide.push(here);
      if (row === 'BAR') barriers = Math.max(barriers, 1 + values[x.form.operands[0].atom!.field]);
      else if (row.startsWith('BAR.')) barriers = NAMED_BARRIERS;
      const guard = x.guard < 0 ? machine.registers.get(x.form.guard)!.constant! : of[x.guard];
      put(encode({ form: x.form, values, guard, guardNot: x.guardNot, control: controls[n][k] }));
    });
  });
  // What ptxas writes behind the last instruction: a branch to itself, and NOPs.
  put(filler(machine, 'BRA'));
  while (here < size) put(filler(machine, 'NOP'));
  const instructions = blocks.reduce((n, b) => n + b.ops.length, 0);
  const tables = Uint32Array.from(fn.tables.flat(), (id) => addresses.get(id) ?? 0);
  const locs = blocks.flatMap((b) => b.ops.map((x) => x.loc));
  if (calls.size > 0) registers = Math.max(registers, LEAST_REGISTERS);
  return {
    ...{ code, instructions, registers, exits, warpWide, barriers, branches, tables, locs },
    calls: [...calls],
    callsAt,
  };
}

/** Values of an instruction's fields with the numbers of its registers. */
function valuesOf(x: MachineOp, of: readonly number[]): number[] {
  const values = [...x.values];
  for (const o of x.occurrences) if (o.field !== IMPLICIT) values[o.field] = of[o.v] + o.word;
  return values;
}

/**
 * Encodes each instruction, decodes the word, and compares; branches lead to themselves.
 * @throws Error with the instruction that is not what it was
 */
export function checkEncoding(fn: MachineFunction, of: readonly number[], machine: Machine): void {
  for (const b of fn.blocks)
    for (const x of b.ops) {
      const guard = x.guard < 0 ? machine.registers.get(x.form.guard)!.constant! : of[x.guard];
      const control = { stall: 1, yield: false, write: NO_BARRIER, read: NO_BARRIER, wait: 0, reuse: 0 };
      const values = valuesOf(x, of);
      const back = decode(machine, encode({ form: x.form, values, guard, guardNot: x.guardNot, control }));
      const isSame =
        back !== null &&
        back.form === x.form &&
        back.guard === guard &&
        back.guardNot === x.guardNot &&
        back.values.every((v, k) => v === values[k]);
      if (!isSame) throw new Error(`${x.form.name} is another instruction once it is encoded and decoded`);
    }
}

/** An instruction that is never executed. */
function filler(machine: Machine, name: 'BRA' | 'NOP'): Word {
  const args: [string, Arg][] = name === 'BRA' ? [['t', { kind: 'block', block: 0, mods: 0 }]] : [];
  const built = assemble(machine, [name], new Map(args));
  if (built === null) throw new Error(`the target has no ${name}`);
  const { form, values, target } = built;
  if (target !== null) values[target.field] = -WORD_BYTES / scaleOf(form, target.field);
  const guard = machine.registers.get(form.guard)!.constant!;
  const control = { stall: 0, yield: false, write: NO_BARRIER, read: NO_BARRIER, wait: 0, reuse: 0 };
  return encode({ form, values, guard, guardNot: false, control });
}

const scaleOf = (form: Form, field: number): number =>
  form.operands.find((o) => o.atom?.field === field)?.atom?.scale ?? 1;
