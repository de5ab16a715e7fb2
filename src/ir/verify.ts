import { endsFlow } from './flow.ts';
import { dstSlot, Mod, OpFlag, type Slot, slotWidth, srcSlot } from './opcode.ts';
import {
  FILE_WIDTH,
  isPredReg,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
  regIndex,
  regName,
} from './operand.ts';
import type { Block, Fn, Instr, Program } from './program.ts';
import { printInstr } from './text.ts';

/** A violated rule of the IR, with its place. */
export interface VerifyError {
  /** Stable name of the rule. */
  readonly rule: string;
  readonly message: string;
  readonly fn: string;
  /** Block id, -1 for the function as a whole. */
  readonly block: number;
  /** Index in the block, -1 for the block as a whole. */
  readonly index: number;
  /** Index into `Program.locs`. */
  readonly loc: number;
}

export interface VerifyOptions {
  /** Control instructions are only at the end of a block (from phase 6 on). */
  readonly controlLast?: boolean;
  /** No pseudo instruction remains (from the last legalization on). */
  readonly noPseudo?: boolean;
  /** Stop after this many errors. Default 50. */
  readonly most?: number;
}

/** `saxpy, BB3[4] 'IADD3 R1, R2': rule: message`. */
export const verifyMessage = (e: VerifyError): string =>
  `${e.fn}${e.block >= 0 ? `, BB${e.block}` : ''}${e.index >= 0 ? `[${e.index}]` : ''}: ${e.rule}: ${e.message}`;

/** May a register of this file be in a slot of this bank? */
function fits(slot: Slot, width: number, r: Reg): boolean {
  const file = regFile(r);
  switch (slot.bank) {
    case 'p':
      return file === RegFile.P || file === RegFile.UP;
    case 'b':
      return file === RegFile.B;
    case 'none':
      return false;
    case 'any':
      return file !== RegFile.B;
    default:
      return file !== RegFile.B && !isPredReg(r) && (width === 0 || FILE_WIDTH[file] === width);
  }
}

/**
 * Checks one function against every rule of the IR: shapes of instructions, files and widths of registers, targets,
 * tables, layout. Returns up to `most` errors.
 *
 * @param program for symbols and locations; omit it to skip those rules
 */
export function verifyFn(fn: Fn, program?: Program, opts: VerifyOptions = {}): VerifyError[] {
  const errors: VerifyError[] = [];
  const most = opts.most ?? 50;
  const ids = new Set<number>();
  const fileOf = new Int8Array(fn.regCount).fill(-1);
  const symbols = program === undefined ? null : symbolsOf(fn, program);

  const report = (rule: string, message: string, block = -1, index = -1, loc = 0) => {
    if (errors.length < most) errors.push({ rule, message, fn: fn.name, block, index, loc });
  };

  if (fn.blocks.length === 0) report('blocks', 'a function has at least one block');
  for (const b of fn.blocks) {
    if (ids.has(b.id)) report('block-id', `block id ${b.id} is used twice`, b.id);
    if (b.id >= fn.blockCount) report('block-id', `block id is not below blockCount ${fn.blockCount}`, b.id);
    ids.add(b.id);
  }
  for (let t = 0; t < fn.tables.length; t++)
    for (const id of fn.tables[t])
      if (!ids.has(id)) report('table', `jump table T${t} names BB${id}, which does not exist`);

  const seeReg = (r: Reg, b: Block, i: number, ins: Instr) => {
    const index = regIndex(r);
    if (index >= fn.regCount) {
      report('register', `${regName(r)} is not below regCount ${fn.regCount}`, b.id, i, ins.loc);
      return;
    }
    if (fileOf[index] === -1) fileOf[index] = regFile(r);
    else if (fileOf[index] !== regFile(r))
      report('register', `index ${index} is used in two register files (${regName(r)})`, b.id, i, ins.loc);
  };

  const checkSource = (o: Operand, slot: Slot, width: number, b: Block, i: number, ins: Instr) => {
    const bad = (rule: string, why: string) =>
      report(rule, `source ${slot.name} of '${printInstr(ins)}' ${why}`, b.id, i, ins.loc);
    if ((slot.kinds & (1 << o.kind)) === 0)
      return bad('operand-kind', 'has a kind that the opcode does not take');
    if ((o.mods & ~slot.mods) !== 0 && !(slot.bank === 'p' && o.mods === Mod.Not))
      bad('operand-modifier', 'carries a modifier that the opcode does not take');
    if (o.reg !== NO_REG) {
      seeReg(o.reg, b, i, ins);
      if (o.kind === Kind.Reg && !fits(slot, width, o.reg))
        bad('operand-file', `is ${regName(o.reg)}, expected ${describe(slot, width)}`);
      if (o.kind === Kind.Addr && (isPredReg(o.reg) || regFile(o.reg) === RegFile.B))
        bad('operand-file', `is an address in ${regName(o.reg)}`);
    }
    switch (o.kind) {
      case Kind.Imm:
        if (width > 0 && width <= 32 && o.hi !== 0) bad('immediate', `is wider than ${width} bits`);
        break;
      case Kind.Label:
        if (!ids.has(o.lo)) bad('target', `names BB${o.lo}, which does not exist`);
        break;
      case Kind.Table:
        if (o.lo < 0 || o.lo >= fn.tables.length)
          bad('table', `names jump table T${o.lo}, which does not exist`);
        break;
    }
    if (o.sym !== '' && o.kind !== Kind.Text && symbols !== null && !symbols(o.sym))
      bad('symbol', `names '${o.sym}', which is not declared`);
  };

  for (let bi = 0; bi < fn.blocks.length && errors.length < most; bi++) {
    const b = fn.blocks[bi];
    for (let i = 0; i < b.ins.length; i++) {
      const ins = b.ins[i];
      const { op } = ins;
      const bad = (rule: string, why: string) =>
        report(rule, `'${printInstr(ins)}' ${why}`, b.id, i, ins.loc);
      if (ins.guard !== NO_REG) {
        seeReg(ins.guard, b, i, ins);
        if (!isPredReg(ins.guard)) bad('guard', 'is guarded by a register that is not a predicate');
        if ((op.flags & OpFlag.Predicable) === 0) bad('guard', 'carries a guard, but the opcode takes none');
      }
      if (ins.otherwise.length > 0) {
        if (ins.guard === NO_REG) bad('otherwise', 'names a value under a false guard and has no guard');
        if (ins.otherwise.length !== ins.dst.length)
          bad('otherwise', `has ${ins.dst.length} destinations and ${ins.otherwise.length} values for them`);
        ins.otherwise.forEach((r, k) => {
          if (r === NO_REG) return;
          seeReg(r, b, i, ins);
          if (ins.dst[k] !== NO_REG && regFile(r) !== regFile(ins.dst[k]))
            bad('otherwise', `keeps ${regName(r)} in ${regName(ins.dst[k])}, which is of another file`);
        });
      }
      for (const g of op.groups)
        if (((ins.mods >>> g.shift) & g.mask) >= g.values.length)
          bad('modifier', `has no value ${(ins.mods >>> g.shift) & g.mask} in '${g.name}'`);
      const nd = op.dsts.length;
      const ns = op.srcs.length;
      const variadicDst = nd > 0 && op.dsts[nd - 1].variadic;
      const variadicSrc = ns > 0 && op.srcs[ns - 1].variadic;
      if (variadicDst ? ins.dst.length < nd - 1 : ins.dst.length !== nd) {
        bad('operand-count', `has ${ins.dst.length} destinations, expected ${nd}`);
        continue;
      }
      if (variadicSrc ? ins.src.length < ns - 1 : ins.src.length !== ns) {
        bad('operand-count', `has ${ins.src.length} sources, expected ${ns}`);
        continue;
      }
      for (let k = 0; k < ins.dst.length; k++) {
        const r = ins.dst[k];
        if (r === NO_REG) continue;
        const slot = dstSlot(op, k)!;
        const width = slotWidth(op, ins.mods, slot);
        seeReg(r, b, i, ins);
        if (!fits(slot, width, r))
          bad('operand-file', `writes ${regName(r)} as ${slot.name}, expected ${describe(slot, width)}`);
      }
      for (let k = 0; k < ins.src.length; k++) {
        const slot = srcSlot(op, k)!;
        checkSource(ins.src[k], slot, slotWidth(op, ins.mods, slot), b, i, ins);
      }
      if (opts.controlLast === true && (op.flags & OpFlag.Control) !== 0 && i !== b.ins.length - 1)
        bad('control-last', 'transfers control in the middle of its block');
      if (opts.noPseudo === true && (op.flags & OpFlag.Pseudo) !== 0)
        bad('legal', `is a pseudo instruction that should have been expanded`);
      if (program !== undefined && (ins.loc < 0 || ins.loc >= program.locs.length))
        bad('location', `refers to location ${ins.loc} of ${program.locs.length}`);
    }
  }
  const last = fn.blocks[fn.blocks.length - 1];
  if (last !== undefined && !last.ins.some(endsFlow))
    report('fall-off', 'control falls off the end of the function', last.id);
  return errors;
}

/** `a 64-bit register`, `a predicate`. */
function describe(slot: Slot, width: number): string {
  if (slot.bank === 'p') return 'a predicate';
  if (slot.bank === 'b') return 'a barrier register';
  return width === 0 ? 'a register' : `a ${width}-bit register`;
}

/** Names of a module, collected once for all of its functions. */
const moduleNames = new WeakMap<Program, ReadonlySet<string>>();

function namesOf(program: Program): ReadonlySet<string> {
  let names = moduleNames.get(program);
  if (names === undefined) {
    names = new Set(
      [program.variables, program.functions, program.skipped, program.prototypes].flatMap((list) =>
        list.map((x) => x.name),
      ),
    );
    moduleNames.set(program, names);
  }
  return names;
}

/** Tells whether the function or its module declares a name. */
function symbolsOf(fn: Fn, program: Program): (name: string) => boolean {
  const own = new Set([...fn.variables, ...fn.params, ...fn.returns].map((x) => x.name));
  const shared = namesOf(program);
  return (name) => own.has(name) || shared.has(name);
}

/** Checks every function of a program. */
export function verifyProgram(program: Program, opts: VerifyOptions = {}): VerifyError[] {
  return program.functions.flatMap((fn) => verifyFn(fn, program, opts));
}
