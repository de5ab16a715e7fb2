import { endsFlow } from './flow.ts';
import { memo } from './memo.ts';
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

/** A violated rule of the IR, with its location. */
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

/** Options of the verifier. */
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
export const verifyFn = (fn: Fn, program?: Program, opts: VerifyOptions = {}): VerifyError[] =>
  new FnVerifier(fn, program, opts).run();

class FnVerifier {
  private readonly fn: Fn;
  private readonly program: Program | undefined;
  private readonly opts: VerifyOptions;
  private readonly most: number;
  private readonly errors: VerifyError[] = [];
  private readonly ids = new Set<number>();
  private readonly fileOf: Int8Array;
  private readonly symbols: ((name: string) => boolean) | null;
  /** The current instruction and its position. */
  private block!: Block;
  private index = 0;
  private ins!: Instr;

  constructor(fn: Fn, program: Program | undefined, opts: VerifyOptions) {
    this.fn = fn;
    this.program = program;
    this.opts = opts;
    this.most = opts.most ?? 50;
    this.fileOf = new Int8Array(fn.regCount).fill(-1);
    this.symbols = program === undefined ? null : symbolsOf(fn, program);
  }

  run(): VerifyError[] {
    const { fn, ids } = this;
    if (fn.blocks.length === 0) this.report('blocks', 'a function has at least one block');
    for (const b of fn.blocks) {
      if (ids.has(b.id)) this.report('block-id', `block id ${b.id} is used twice`, b.id);
      if (b.id >= fn.blockCount)
        this.report('block-id', `block id is not below blockCount ${fn.blockCount}`, b.id);
      ids.add(b.id);
    }
    for (let t = 0; t < fn.tables.length; t++)
      for (const id of fn.tables[t])
        if (!ids.has(id)) this.report('table', `jump table T${t} names BB${id}, which does not exist`);
    for (let bi = 0; bi < fn.blocks.length && this.errors.length < this.most; bi++) {
      this.block = fn.blocks[bi];
      const { ins } = this.block;
      for (let i = 0; i < ins.length; i++) {
        this.index = i;
        this.ins = ins[i];
        this.checkGuard();
        this.checkShape();
      }
    }
    const last = fn.blocks[fn.blocks.length - 1];
    if (last !== undefined && !last.ins.some(endsFlow))
      this.report('fall-off', 'control falls off the end of the function', last.id);
    return this.errors;
  }

  private report(rule: string, message: string, block = -1, index = -1, loc = 0): void {
    if (this.errors.length < this.most)
      this.errors.push({ rule, message, fn: this.fn.name, block, index, loc });
  }

  private bad(rule: string, why: string): void {
    this.report(rule, `'${printInstr(this.ins)}' ${why}`, this.block.id, this.index, this.ins.loc);
  }

  private checkGuard(): void {
    const { op, guard, otherwise, dst } = this.ins;
    if (guard !== NO_REG) {
      this.checkReg(guard);
      if (!isPredReg(guard)) this.bad('guard', 'is guarded by a register that is not a predicate');
      if ((op.flags & OpFlag.Predicable) === 0)
        this.bad('guard', 'carries a guard, but the opcode takes none');
    }
    if (otherwise.length === 0) return;
    if (guard === NO_REG) this.bad('otherwise', 'names a value under a false guard and has no guard');
    if (otherwise.length !== dst.length)
      this.bad('otherwise', `has ${dst.length} destinations and ${otherwise.length} values for them`);
    for (let k = 0; k < otherwise.length; k++) {
      const r = otherwise[k];
      if (r === NO_REG) continue;
      this.checkReg(r);
      if (dst[k] !== NO_REG && regFile(r) !== regFile(dst[k]))
        this.bad('otherwise', `keeps ${regName(r)} in ${regName(dst[k])}, which is of another file`);
    }
  }

  /** Checks modifiers and operands, and whether the instruction may be at this position. */
  private checkShape(): void {
    const { opts, program } = this;
    const { op, mods, dst, src, loc } = this.ins;
    for (const g of op.groups)
      if (((mods >>> g.shift) & g.mask) >= g.values.length)
        this.bad('modifier', `has no value ${(mods >>> g.shift) & g.mask} in '${g.name}'`);
    const nd = op.dsts.length;
    const ns = op.srcs.length;
    const variadicDst = nd > 0 && op.dsts[nd - 1].variadic;
    const variadicSrc = ns > 0 && op.srcs[ns - 1].variadic;
    if (variadicDst ? dst.length < nd - 1 : dst.length !== nd)
      return this.bad('operand-count', `has ${dst.length} destinations, expected ${nd}`);
    if (variadicSrc ? src.length < ns - 1 : src.length !== ns)
      return this.bad('operand-count', `has ${src.length} sources, expected ${ns}`);
    for (let k = 0; k < dst.length; k++) {
      const r = dst[k];
      if (r === NO_REG) continue;
      const slot = dstSlot(op, k)!;
      const width = slotWidth(op, mods, slot);
      this.checkReg(r);
      if (!fits(slot, width, r))
        this.bad('operand-file', `writes ${regName(r)} as ${slot.name}, expected ${describe(slot, width)}`);
    }
    for (let k = 0; k < src.length; k++) {
      const slot = srcSlot(op, k)!;
      this.checkSource(src[k], slot, slotWidth(op, mods, slot));
    }
    if (opts.controlLast === true && (op.flags & OpFlag.Control) !== 0) {
      if (this.index !== this.block.ins.length - 1)
        this.bad('control-last', 'transfers control in the middle of its block');
    }
    if (opts.noPseudo === true && (op.flags & OpFlag.Pseudo) !== 0)
      this.bad('legal', 'is a pseudo instruction that should have been expanded');
    if (program !== undefined && (loc < 0 || loc >= program.locs.length))
      this.bad('location', `refers to location ${loc} of ${program.locs.length}`);
  }

  private checkSource(o: Operand, slot: Slot, width: number): void {
    if ((slot.kinds & (1 << o.kind)) === 0)
      return this.badSource(slot, 'operand-kind', 'has a kind that the opcode does not take');
    if ((o.mods & ~slot.mods) !== 0 && !(slot.bank === 'p' && o.mods === Mod.Not))
      this.badSource(slot, 'operand-modifier', 'carries a modifier that the opcode does not take');
    if (o.reg !== NO_REG) {
      this.checkReg(o.reg);
      if (o.kind === Kind.Reg && !fits(slot, width, o.reg))
        this.badSource(slot, 'operand-file', `is ${regName(o.reg)}, expected ${describe(slot, width)}`);
      if (o.kind === Kind.Addr && (isPredReg(o.reg) || regFile(o.reg) === RegFile.B))
        this.badSource(slot, 'operand-file', `is an address in ${regName(o.reg)}`);
    }
    switch (o.kind) {
      case Kind.Imm:
        if (width > 0 && width <= 32 && o.hi !== 0)
          this.badSource(slot, 'immediate', `is wider than ${width} bits`);
        break;
      case Kind.Label:
        if (!this.ids.has(o.lo)) this.badSource(slot, 'target', `names BB${o.lo}, which does not exist`);
        break;
      case Kind.Table:
        if (o.lo < 0 || o.lo >= this.fn.tables.length)
          this.badSource(slot, 'table', `names jump table T${o.lo}, which does not exist`);
        break;
    }
    const { symbols } = this;
    if (o.sym !== '' && o.kind !== Kind.Text && symbols !== null && !symbols(o.sym))
      this.badSource(slot, 'symbol', `names '${o.sym}', which is not declared`);
  }

  private badSource(slot: Slot, rule: string, why: string): void {
    const { ins, block, index } = this;
    this.report(rule, `source ${slot.name} of '${printInstr(ins)}' ${why}`, block.id, index, ins.loc);
  }

  /** Checks that a register index is in range and belongs to one file. */
  private checkReg(r: Reg): void {
    const { fileOf, fn, block, index: at, ins } = this;
    const index = regIndex(r);
    if (index >= fn.regCount)
      return this.report(
        'register',
        `${regName(r)} is not below regCount ${fn.regCount}`,
        block.id,
        at,
        ins.loc,
      );
    if (fileOf[index] === -1) fileOf[index] = regFile(r);
    else if (fileOf[index] !== regFile(r))
      this.report(
        'register',
        `index ${index} is used in two register files (${regName(r)})`,
        block.id,
        at,
        ins.loc,
      );
  }
}

/** `a 64-bit register`, `a predicate`. */
function describe(slot: Slot, width: number): string {
  if (slot.bank === 'p') return 'a predicate';
  if (slot.bank === 'b') return 'a barrier register';
  return width === 0 ? 'a register' : `a ${width}-bit register`;
}

/** Names of a module, collected once for all of its functions. */
const namesOf = memo(
  (program: Program): ReadonlySet<string> =>
    new Set(
      [program.variables, program.functions, program.skipped, program.prototypes].flatMap((list) =>
        list.map((x) => x.name),
      ),
    ),
);

/** A predicate: does the function or its module declare a name? */
function symbolsOf(fn: Fn, program: Program): (name: string) => boolean {
  const own = new Set([...fn.variables, ...fn.params, ...fn.returns].map((x) => x.name));
  const shared = namesOf(program);
  return (name) => own.has(name) || shared.has(name);
}

/** Checks every function of a program. */
export function verifyProgram(program: Program, opts: VerifyOptions = {}): VerifyError[] {
  return program.functions.flatMap((fn) => verifyFn(fn, program, opts));
}
