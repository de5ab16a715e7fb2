import { toRegs } from './edit.ts';
import { type Isa, type Opcode, OpFlag, type Slot, withMods } from './opcode.ts';
import { imm, Kind, NO_REG, type Operand, PT, type Reg, regWidth } from './operand.ts';
import { type Instr, instr, NONE } from './program.ts';
import { A, CHOOSE } from './truth-tables.ts';

/** Truth table that selects the first input: copies a predicate. */
export const FIRST_INPUT = A;
/** Index of the source that holds the table of an opcode with the property `table`. */
export const TABLE_SOURCE = 3;

/** The instructions that copy and select values. Only this file knows their opcodes. */
export interface Moves {
  readonly mov: Opcode;
  readonly wide: number;
  readonly logic: Opcode;
  /** A copy of a register or constant into a register of the same width. */
  move(to: Reg, from: Operand, loc?: number): Instr;
  /**
   * Selects `a` if the predicate `p` is true, else `b`, into a register of their width. @throws Error if no opcode
   * selects
   */
  select(to: Reg, p: Operand, a: Operand, b: Operand, loc?: number): Instr;
}

const movesByIsa = new WeakMap<Isa, Moves>();

/** The opcode that copies into a register bank. @throws Error if the instruction set declares none */
function copier(isa: Isa, bank: Slot['bank']): Opcode {
  const op = isa.opcodes.find((o) => (o.flags & OpFlag.Copies) !== 0 && o.dsts[0]?.bank === bank);
  if (op === undefined)
    throw new Error(`no opcode with the property 'copies' writes registers of bank '${bank}'`);
  return op;
}

/** The moves of an instruction set. @throws Error if it has no opcode that copies */
export function movesOf(isa: Isa): Moves {
  let m = movesByIsa.get(isa);
  if (m === undefined) {
    const mov = copier(isa, 'r');
    const logic = copier(isa, 'p');
    const wide = withMods(mov, 0, '64');
    // Looked up on first use, because the instruction set of an older commit has none.
    let sel: Opcode | null = null;
    const selector = (): Opcode => {
      sel ??= isa.opcodes.find((o) => (o.flags & OpFlag.Selects) !== 0) ?? null;
      if (sel === null) throw new Error("no opcode has the property 'selects'");
      return sel;
    };
    m = {
      mov,
      wide,
      logic,
      move: (to, from, loc = 0) =>
        regWidth(to) === 1
          ? instr(logic, 0, [to], [from, PT, PT, imm(FIRST_INPUT)], loc)
          : instr(mov, regWidth(to) === 64 ? wide : 0, [to], [from], loc),
      select: (to, p, a, b, loc = 0) =>
        regWidth(to) === 1
          ? instr(logic, 0, [to], [p, a, b, imm(CHOOSE)], loc)
          : instr(selector(), regWidth(to) === 64 ? withMods(selector(), 0, '64') : 0, [to], [a, b, p], loc),
    };
    movesByIsa.set(isa, m);
  }
  return m;
}

/** The operand that an instruction copies into its destination, or null if it is not a copy. */
export function copyOf(m: Moves, x: Instr): Operand | null {
  if (x.op === m.mov) return x.src[0];
  if (x.op === m.logic && x.src[TABLE_SOURCE].kind === Kind.Imm && x.src[TABLE_SOURCE].lo === FIRST_INPUT)
    return x.src[0];
  return null;
}

/**
 * A copy that replaces another instruction.
 * @param like supplies the source line, the guard, and the value under a false guard if it has one for `to`
 */
export function copyLike(m: Moves, to: Reg, from: Operand, like: Instr): Instr {
  const { op, mods, dst, src } = m.move(to, from);
  const { loc, guard, guardNot } = like;
  return instr(op, mods, dst, src, loc, guard, guardNot, otherwiseFor(like, dst));
}

/** Values under a false guard for an instruction that replaces `root` and writes some of its destinations. */
export function otherwiseFor(root: Instr, dst: readonly Reg[]): readonly Reg[] {
  if (root.otherwise.length === 0) return NONE;
  return toRegs(dst, (r) => (r === NO_REG ? NO_REG : (root.otherwise[root.dst.indexOf(r)] ?? NO_REG)));
}
