import { fileError } from '../../ir/diagnostic.ts';
import { toOperands, toRegs } from '../../ir/edit.ts';
import { type Isa, type LoweringRow, Mod } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, reg, withOperandMods } from '../../ir/operand.ts';
import { defaultOperand } from '../../ir/print.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { PTX_SYNTAX } from '../syntax.generated.ts';
import {
  choiceOf,
  type Form,
  type FormLine,
  type FormOperand,
  type FormRow,
  formFor,
  formsOf,
  near,
  readRow,
} from './form-rows.ts';
import type { FnLower } from './function.ts';
import { modifierKey } from './types.ts';

/* Lowering by the rows of `lowering` in `pipelines/isa/ptx.yaml` (form-rows.ts). */

interface Index {
  /** Rows by their PTX opcodes. */
  readonly rows: ReadonlyMap<string, readonly LoweringRow[]>;
  /** Rows that have been read, by opcode; those that would make opcodes that do not exist are left out. */
  readonly read: Map<string, readonly FormRow[]>;
  /** By the array of modifiers, of which the parser makes one for each spelling in a file. */
  readonly found: WeakMap<readonly string[], { readonly opcode: string; readonly forms: readonly Form[] }>;
}

const indexes = new WeakMap<Isa, Index>();

/** The PTX opcode of a row. */
const opcodeOf = (row: LoweringRow): string => /^[^.{ ]+/.exec(row.ptx)![0];

/** Does an instruction set have the opcodes that a row makes? */
const canMake = (isa: Isa, row: LoweringRow): boolean =>
  row.ori.every((line) => isa.byName.has(/^[A-Z0-9_]+/.exec(line)?.[0] ?? ''));

function grouped<T>(all: readonly T[], key: (x: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const x of all) {
    const k = key(x);
    const list = out.get(k);
    if (list === undefined) out.set(k, [x]);
    else list.push(x);
  }
  return out;
}

function indexOf(isa: Isa): Index {
  let index = indexes.get(isa);
  if (index === undefined) {
    index = { rows: grouped(isa.spelling.lowering, opcodeOf), read: new Map(), found: new WeakMap() };
    indexes.set(isa, index);
  }
  return index;
}

function rowsFor(isa: Isa, opcode: string): readonly FormRow[] {
  const { rows, read } = indexOf(isa);
  let known = read.get(opcode);
  if (known === undefined) {
    known = (rows.get(opcode) ?? [])
      .filter((row) => canMake(isa, row))
      .map((row) => orFault(row, () => readRow(row, isa)));
    read.set(opcode, known);
  }
  return known;
}

/** Can the rows of `lowering` lower some forms of a PTX opcode? */
export const hasForm = (isa: Isa, opcode: string): boolean => indexOf(isa).rows.has(opcode);

/**
 * The forms that an instruction may have by its modifiers. Only they are made, since most rows have many and a file uses few.
 *
 * @throws DiagnosticError if a row cannot be read: `check` was not asked
 */
function formsFor(isa: Isa, { opcode, mods }: PtxInstr): Form[] {
  return rowsFor(isa, opcode).flatMap((row) => {
    const choice = choiceOf(row, mods);
    return choice === null ? [] : [orFault(row.row, () => formFor(row, choice, isa))];
  });
}

/** What `read` gives. @throws DiagnosticError that names the row if it throws */
function orFault<T>(row: LoweringRow, read: () => T): T {
  try {
    return read();
  } catch (e) {
    const message = `lowering, row '${row.ptx}': ${(e as Error).message}`;
    throw fileError('ptx.yaml', message, ['`orrery check` of this file shows the line']);
  }
}

/** The form that an instruction has; undefined if no row of `lowering` has it. */
export function formOf(isa: Isa, i: PtxInstr): Form | undefined {
  const { rows, found } = indexOf(isa);
  if (!rows.has(i.opcode)) return undefined;
  let known = found.get(i.mods);
  if (known?.opcode !== i.opcode) {
    known = { opcode: i.opcode, forms: formsFor(isa, i) };
    found.set(i.mods, known);
  }
  return known.forms.find((f) => fits(f.operands, i.operands));
}

/** Have the operands the number and the shape that a form takes? */
function fits(form: readonly FormOperand[], operands: readonly PtxOperand[]): boolean {
  let at = 0;
  for (const [k, o] of form.entries()) {
    if (o.second) continue;
    const given = operands[at];
    if (given === undefined) {
      if (!o.optional) return false;
      continue;
    }
    at++;
    const second = form[k + 1]?.second === true ? form[k + 1] : undefined;
    if (given.kind === 'pair' ? second === undefined : second?.optional === false) return false;
    const first = given.kind === 'pair' ? given.first : given;
    if (o.sink && first.kind !== 'sink') return false;
  }
  return at === operands.length;
}

/**
 * Lowers an instruction by the row of its form: all operands are read before the first result is written.
 *
 * @throws Unsupported if an operand has no Ori form
 */
export function lowerByForm(f: FnLower, form: Form, i: PtxInstr): void {
  const given: (PtxOperand | undefined)[] = [];
  let next = 0;
  for (const [k, o] of form.operands.entries()) {
    if (o.second) continue;
    const operand = i.operands[next++];
    const isPair = operand?.kind === 'pair';
    given.push(isPair ? operand.first : operand);
    if (form.operands[k + 1]?.second === true) given.push(isPair ? operand.second : undefined);
  }
  const results = form.operands.map((o, k) => (o.result ? destination(f, form, k, given[k]) : NO_REG));
  const sources = form.operands.map((o, k) => (o.result || o.sink ? null : source(f, o, given[k])));
  const temps = new Map<string, Reg>();
  for (const line of form.lines) emitLine(f, form, line, results, sources, temps);
}

/** The register of a result. A half of a pair that is absent or `_` is no register if the Ori instruction can do without it. */
function destination(f: FnLower, form: Form, at: number, given: PtxOperand | undefined): Reg {
  const { bits, second } = form.operands[at];
  const inPair = second || form.operands[at + 1]?.second === true;
  if (given === undefined || (inPair && given.kind === 'sink')) {
    const isOptional = form.lines.every(({ op, dst }) =>
      dst.every((d, k) => d.kind !== 'operand' || d.at !== at || op.dsts[k].optional),
    );
    return isOptional ? NO_REG : bits === 1 ? f.tempPred() : f.temp(bits);
  }
  return f.dst(given, bits).reg;
}

function source(f: FnLower, { bits, extended }: FormOperand, given: PtxOperand | undefined): Operand | null {
  if (given === undefined) return null;
  if (bits === 1) return f.pred(given);
  const o = f.src(given, bits);
  return extended && bits < 32 ? f.signed(o, bits) : o;
}

function emitLine(
  f: FnLower,
  form: Form,
  { op, mods, dst, src }: FormLine,
  results: readonly Reg[],
  sources: readonly (Operand | null)[],
  temps: Map<string, Reg>,
): void {
  const from = toOperands(src, (s, k): Operand => {
    if (s.kind === 'value') return s.value;
    if (s.kind === 'carry') return reg(f.carryReg());
    const o = s.kind === 'temp' ? reg(temps.get(s.name)!) : sources[s.at];
    if (o === null) return defaultOperand(op.srcs[k]);
    if (o.kind !== Kind.Imm && (op.srcs[k].kinds & (1 << Kind.Reg)) === 0)
      throw new Unsupported('an operand is not a constant');
    if (s.mods === 0) return o;
    return withOperandMods(o, s.mods === Mod.Abs ? Mod.Abs : o.mods ^ s.mods);
  });
  let masked = -1;
  const to = toRegs(dst, (d): Reg => {
    if (d.kind === 'none') return NO_REG;
    if (d.kind === 'carry') return f.carryReg();
    if (d.kind === 'temp') {
      const r = d.bits === 1 ? f.tempPred() : f.temp(d.bits);
      temps.set(d.name, r);
      return r;
    }
    if (!d.masked || form.operands[d.at].bits >= 32) return results[d.at];
    masked = d.at;
    return f.temp();
  });
  f.emitWith(op, mods, to, from);
  if (masked >= 0) f.maskInto(results[masked], reg(to[0]), form.operands[masked].bits);
}

/** A fault of a row of `lowering`, by its index. */
export interface LoweringFault {
  readonly row: number;
  readonly message: string;
}

/** Rows of `lowering` that cannot be read, that no PTX can have, or all of whose forms earlier rows have. */
export function loweringFaults(isa: Isa): LoweringFault[] {
  const { instructions } = PTX_SYNTAX;
  const seen = new Set<string>();
  return isa.spelling.lowering.flatMap((row, k): LoweringFault[] => {
    const fault = (message: string): LoweringFault[] => [{ row: k, message }];
    const name = opcodeOf(row);
    if (!Object.hasOwn(instructions, name))
      return fault(`PTX has no instruction '${name}'${near(name, Object.keys(instructions))}`);
    try {
      const before = seen.size;
      for (const f of formsOf(row, isa)) {
        const [opcode, ...mods] = f.name.split('.');
        const shape = f.operands.map((o) => `${o.second}${o.sink}${o.optional}`).join();
        seen.add(`${opcode} ${modifierKey(mods)} ${shape}`);
      }
      return seen.size === before ? fault('the rows before it have all of its forms') : [];
    } catch (e) {
      return fault((e as Error).message);
    }
  });
}
