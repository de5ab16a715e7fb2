import { type Isa, withMods } from '../ir/opcode.ts';
import {
  addr,
  imm,
  makeReg,
  type Operand,
  PF,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  sym,
  table,
} from '../ir/operand.ts';
import { type Instr, instr, type Prototype, type Variable } from '../ir/program.ts';
import { FIRST_ARGUMENT, FIRST_PRESERVED, PRESERVED, RETURN_ADDRESS } from '../machine/calling-convention.ts';
import { WORD_BYTES } from '../machine/text.ts';
import { FIRST_TEMPORARY, physical, TEMPORARY_FILES } from './registers.ts';
import { plainVariable } from './variables.ts';

/*
 * Calls of functions that a module declares and does not define, such as those of the driver (`vprintf`, `malloc`, `free`,
 * `__assertfail`). Code takes the address of such a function from constant bank 4 and jumps there, so the lifted kernel has a block at a
 * made-up address, which calls the function and jumps to the return address.
 */

/** Parameter variable of a lifted kernel that takes the results of such calls. */
const RESULT: Variable = { ...plainVariable('result of a call', 'param', 8, 8, null), type: 'b64' };

/** The block of a call. */
export interface ExternalCall {
  readonly ins: readonly Instr[];
  /** Parameter variables that it needs. */
  readonly variables: readonly Variable[];
  /** Upper bound of its register indices. */
  readonly registers: number;
}

/**
 * Calls a function and returns.
 *
 * @param places the first register of each parameter
 * @param returns the table of return addresses: its first address, and its number
 */
export function externalCall(
  isa: Isa,
  prototype: Prototype,
  places: readonly number[],
  returns: { readonly first: number; readonly index: number },
): ExternalCall {
  const ins: Instr[] = [];
  let registers = FIRST_TEMPORARY;
  const emit = (
    name: string,
    mods: readonly string[],
    dst: readonly Reg[],
    src: readonly Operand[],
  ): void => {
    const op = isa.byName.get(name)!;
    ins.push(instr(op, withMods(op, 0, ...mods), dst, src));
  };
  const temporary = (file: number): Reg => {
    // As in `Builder.temporary`: an index belongs to one file in the whole function.
    const r = makeReg(registers + file, file);
    registers += TEMPORARY_FILES;
    return r;
  };
  const word = (n: number): Operand => reg(physical('R', n));
  const args = prototype.params.map(({ size }, k): Operand => {
    const [lo, hi] = [word(places[k]), word(places[k] + 1)];
    const isPair = size === 8;
    if (!isPair && size === 4) return lo;
    const t = temporary(isPair ? RegFile.RD : RegFile.R);
    if (isPair) emit('PAIR', [], [t], [lo, hi]);
    // The bits above a narrow argument are open.
    else emit('LOP3', [], [t], [lo, imm(2 ** (8 * size) - 1), RZ, imm(0xc0)]);
    return reg(t);
  });
  const [result] = prototype.returns;
  const results = result === undefined ? [] : [sym(RESULT.name)];
  emit('CALL', [], [], [sym(prototype.name), sym(''), ...args, ...results]);
  for (let n = 0; n < FIRST_PRESERVED.R; n++)
    if (!PRESERVED.has(n)) emit('MOV', [], [physical('R', n)], [imm(JUNK + n)]);
  for (let n = 0; n < FIRST_PRESERVED.P; n++)
    emit('PLOP3', [], [physical('P', n)], [n % 2 === 0 ? PT : PF, PT, PT, imm(0xf0)]);
  if (result !== undefined) {
    const at = addr(-1, 0, RESULT.name);
    const to = [0, 1].map((k) => physical('R', FIRST_ARGUMENT + k));
    if (result.size === 8) {
      const wide = temporary(RegFile.RD);
      emit('LDPRM', ['type=B64'], [wide], [at]);
      emit('UNPAIR', [], to, [reg(wide)]);
    } else emit('LDPRM', [`type=${result.size === 4 ? 'B32' : `U${8 * result.size}`}`], [to[0]], [at]);
  }
  const from = temporary(RegFile.R);
  const entry = temporary(RegFile.R);
  emit('IADD3', [], [from], [word(RETURN_ADDRESS), imm(-returns.first), RZ]);
  emit('SHR', ['U32'], [entry], [reg(from), imm(Math.log2(WORD_BYTES))]);
  emit('BRX', [], [], [reg(entry), table(returns.index)]);
  return { ins, variables: result === undefined ? [] : [RESULT], registers };
}

/** Contents of a register that a call does not preserve, less its number: unlikely to be a value of the program. */
const JUNK = 0x6a756e00;
