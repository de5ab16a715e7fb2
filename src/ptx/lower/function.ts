import type { Isa, Opcode } from '../../ir/opcode.ts';
import { Mod, withMods } from '../../ir/opcode.ts';
import {
  imm,
  immOf,
  immPair,
  makeReg,
  NO_REG,
  type Operand,
  PF,
  PT,
  type Reg,
  RegFile,
  reg,
  regFile,
  sym,
  withOperandMods,
} from '../../ir/operand.ts';
import { type Instr, instr, type Loc, type Param, type Variable } from '../../ir/program.ts';
import { AND } from '../../ir/truth-tables.ts';
import { UniqueNames } from '../../ir/unique-names.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxFunction, PtxInstr, PtxOperand, VarDecl } from '../ast.ts';
import type { Home } from '../check-spelling.ts';
import { doubleOf } from '../lexer.ts';
import { type Declared, Scopes, type SymbolRef } from './scopes.ts';
import { specialRegister } from './special-registers.ts';

/** The module, for lowering its functions. */
export interface ModuleScope {
  readonly isa: Isa;
  /** Offset of the kernel parameters in constant bank 0. */
  readonly paramBase: number;
  /** Module-level variables, by name. */
  readonly variables: ReadonlyMap<string, Variable>;
  /** Functions and declarations of functions, by name. */
  readonly functions: ReadonlyMap<string, PtxFunction>;
  readonly locs: Loc[];
  /** Number of targets of all jumps through tables so far; many jumps may share a table. */
  readonly jumps: { targets: number };
  /** Names of textures, samplers and surfaces. */
  readonly handles: ReadonlySet<string>;
  /** Registers and local variables at module level. */
  readonly thread: readonly VarDecl[];
  /** Version and target of the file. */
  readonly home: Home;
  /** Adds `.ftz` to instructions on a target that always flushes; null for other targets. */
  readonly flush: ((i: PtxInstr) => PtxInstr) | null;
}

/** State of lowering one function: its registers, blocks and symbols, and `emit`, for the handlers (`convert.ts`, `memory.ts`, ...). */
export class FnLower extends Scopes {
  readonly module: ModuleScope;
  readonly isEntry: boolean;
  readonly blocks: { id: number; name: string; ins: Instr[] }[] = [{ id: 0, name: '', ins: [] }];
  readonly variables: Variable[] = [];
  readonly tables: number[][] = [];

  /** Results whose address is taken; they are copied from local memory before the function returns. */
  readonly localResults: { readonly param: Param; readonly name: string; readonly local: string }[] = [];
  /** Names of registers and local variables at module level that this function uses. */
  readonly threadUses = new Set<string>();
  private nextReg = 0;
  private nextBlock = 1;
  private readonly names: UniqueNames;
  private carry: Reg = NO_REG;
  private guard: Reg = NO_REG;
  private guardNot = false;
  private loc = 0;
  /** Position of the first Ori instruction of the current PTX instruction. */
  private from = { block: 0, ins: 0 };

  constructor(module: ModuleScope, isEntry: boolean) {
    super();
    this.module = module;
    // An inner scope may shadow a name of the module; in Ori, a name has one meaning in the whole function.
    this.names = new UniqueNames(
      [],
      (name) => module.variables.has(name) || module.functions.has(name) || module.handles.has(name),
    );
    this.isEntry = isEntry;
  }

  get regCount(): number {
    return this.nextReg;
  }

  get blockCount(): number {
    return this.nextBlock;
  }

  // ---------------------------------------------------------------- names

  /** The name itself, or a variation that is not used elsewhere in this function. */
  unique(name: string): string {
    return this.names.take(name);
  }

  /**
   * Records the use of a name of the outermost scope, which holds the registers and local variables at module level, if there are any.
   * @throws Unsupported in a device function, which would share them with its callers
   */
  protected override useOfModule(name: string): void {
    if (this.module.thread.length === 0) return;
    this.threadUses.add(name);
    if (!this.isEntry) throw new Unsupported(`'${name}' is shared by functions`);
  }

  symbol(name: string): SymbolRef | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const s = this.scopes[i].symbols.get(name);
      if (s === undefined) continue;
      if (i === 0) this.useOfModule(name);
      return s;
    }
    const v = this.module.variables.get(name);
    return v === undefined ? undefined : { kind: 'variable', name, space: v.space };
  }

  labelBlock(name: string): number {
    const b = this.innermost((scope) => scope.labels.get(name));
    if (b === undefined) throw new Unsupported(`branch to unknown label '${name}'`);
    return b;
  }

  newBlockId(): number {
    return this.nextBlock++;
  }

  startBlock(id: number, name: string): void {
    this.blocks.push({ id, name, ins: [] });
  }

  // ---------------------------------------------------------------- emitting

  override fresh(file: number): Reg {
    return makeReg(this.nextReg++, file);
  }

  /** A fresh 32- or 64-bit register. */
  temp(bits = 32): Reg {
    return this.fresh(bits > 32 ? RegFile.RD : RegFile.R);
  }

  tempPred(): Reg {
    return this.fresh(RegFile.P);
  }

  /** The register that stands for CC.CF. */
  carryReg(): Reg {
    if (this.carry === NO_REG) this.carry = this.fresh(RegFile.P);
    return this.carry;
  }

  /** Begins a PTX instruction: its guard and source location apply to the instructions emitted from now on. */
  begin(i: PtxInstr, loc: number): void {
    this.loc = loc;
    this.from = { block: this.blocks.length - 1, ins: this.emitted };
    this.guard = NO_REG;
    this.guardNot = false;
    if (i.guard !== null) {
      const d = this.find(i.guard.name);
      if (d === undefined) throw new Unsupported(`guard '${i.guard.name}' is not declared`);
      this.guard = d.reg;
      this.guardNot = i.guard.not;
    }
  }

  /**
   * Ends a PTX instruction. A guarded instruction is executed as a whole or not at all (PTX ISA 9.0, 9.3): if it was expanded and one of
   * its instructions writes the guard, all of them are guarded by a copy of the guard's old value.
   */
  end(): void {
    const { guard, guardNot, from } = this;
    if (guard === NO_REG) return;
    const lists = this.blocks
      .slice(from.block)
      .map((b, k) => ({ ins: b.ins, first: k === 0 ? from.ins : 0 }));
    const own = lists.flatMap(({ ins, first }) => ins.slice(first));
    const writes = own.findIndex((x) => x.dst.includes(guard));
    if (writes < 0 || !own.some((x, k) => k > writes && x.guard === guard)) return;
    const copy = this.tempPred();
    for (const { ins, first } of lists)
      for (let k = first; k < ins.length; k++) {
        const x = ins[k];
        if (x.guard === guard) ins[k] = instr(x.op, x.mods, x.dst, x.src, x.loc, copy, guardNot);
      }
    const and = this.module.isa.byName.get('PLOP3')!;
    const before = instr(and, 0, [copy], [reg(guard), PT, PT, imm(AND)], this.loc);
    this.blocks[from.block].ins.splice(from.ins, 0, before);
  }

  /**
   * Emits an opcode with modifiers of different groups.
   *
   * @throws Unsupported if the instruction set lacks the opcode, the opcode lacks a modifier, or two modifiers are of the same group
   */
  emit(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.module.isa.byName.get(name);
    if (op === undefined) throw new Unsupported(`the instruction set has no ${name}`);
    const groups = new Set(mods.map((m) => op.modByName.get(m)?.group));
    if (groups.has(undefined) || groups.size < mods.length) throw new Unsupported();
    this.emitWith(op, mods.length === 0 ? 0 : withMods(op, 0, ...mods), dst, src);
  }

  /** Emits an opcode with packed modifiers. */
  emitWith(op: Opcode, mods: number, dst: readonly Reg[], src: readonly Operand[]): void {
    this.blocks[this.blocks.length - 1].ins.push(
      instr(op, mods, dst, src, this.loc, this.guard, this.guardNot),
    );
  }

  /** Truncates the last block to the given number of instructions. */
  takeBack(count: number): void {
    this.blocks[this.blocks.length - 1].ins.length = count;
  }

  /** Number of instructions in the last block. */
  get emitted(): number {
    return this.blocks[this.blocks.length - 1].ins.length;
  }

  /** Emits an instruction into a new register of `bits` bits. @returns the register as an operand */
  value(name: string, mods: readonly string[], src: readonly Operand[], bits = 32): Operand {
    const r = this.temp(bits);
    this.emit(name, mods, [r], src);
    return reg(r);
  }

  // ---------------------------------------------------------------- operands

  /** Corrects an operand that looks like a register but names a variable or function: these may begin with a `%` too. */
  named(o: PtxOperand): PtxOperand {
    if (o.kind !== 'reg' || o.part !== '' || o.name.charCodeAt(0) !== 37) return o;
    const isSymbol =
      this.find(o.name) === undefined &&
      (this.symbol(o.name) !== undefined || this.module.functions.has(o.name));
    return isSymbol ? { kind: 'sym', name: o.name, offset: 0n, span: o.span } : o;
  }

  /** Corrects an operand that looks like a symbol but names a register: these need not begin with a `%`. */
  private asReg(o: PtxOperand | undefined): PtxOperand {
    if (o === undefined) throw new Unsupported('an operand is missing');
    if (o.kind === 'reg' && o.part !== '' && this.find(o.name) !== undefined)
      throw new Unsupported(`part '${o.part}' of a vector register`);
    if (o.kind !== 'sym' || o.offset !== 0n || this.find(o.name) === undefined) return o;
    return { kind: 'reg', name: o.name, neg: false, not: false, part: '', span: o.span };
  }

  /** Destination register of an operand; a fresh one for `_`. */
  dst(operand: PtxOperand, bits: number): Declared {
    const o = this.asReg(operand);
    if (o.kind === 'sink') return { reg: bits === 1 ? this.tempPred() : this.temp(bits), bits };
    if (o.kind !== 'reg') throw new Unsupported('destination is not a register');
    const d = this.find(o.name);
    if (d === undefined) throw new Unsupported(`register '${o.name}' is not declared`);
    return d;
  }

  /** A source of `bits` bits as an Ori operand. A float literal is converted to the width of the slot. */
  src(operand: PtxOperand, bits: number): Operand {
    const o = this.asReg(operand);
    switch (o.kind) {
      case 'reg': {
        const d = this.find(o.name);
        if (d === undefined) {
          const v = o.name.charCodeAt(0) === 37 ? this.special(o.name) : null;
          if (v !== null) return bits < 32 ? this.low(v, bits) : this.resize(v, bits);
          if (this.named(o).kind === 'sym') return this.addressOf(o.name, 0, bits);
          throw new Unsupported(`register '${o.name}' is not declared`);
        }
        const r = this.resize(reg(d.reg), bits);
        return o.neg ? withOperandMods(r, Mod.Neg) : r;
      }
      case 'int':
        return bits > 32
          ? immOf(o.value, 64)
          : imm(Number(BigInt.asIntN(32, bits < 32 ? BigInt.asUintN(bits, o.value) : o.value)));
      case 'float':
        if (bits <= 32)
          return o.width === 32 ? imm(Number(BigInt.asIntN(32, o.bits))) : imm(bitsOfFloat(doubleOf(o.bits)));
        // As in ptxas 13.0.88, the bits of `0f...` are used unconverted.
        return immOf(o.bits, 64);
      case 'sym':
        if (this.find(o.name) !== undefined) return this.sumWith(o.name, o.offset, bits);
        return this.addressOf(o.name, Number(o.offset), bits);
      case 'vector':
        return this.packVector(o.items, bits);
      default:
        throw new Unsupported(`operand of kind '${o.kind}'`);
    }
  }

  /** `%r1+4` as a source. */
  private sumWith(name: string, offset: bigint, bits: number): Operand {
    const r = this.resize(reg(this.find(name)!.reg), bits);
    const size = bits > 32 ? '64' : 'B32';
    const sum = this.value('IADD3', [size], [r, immOf(offset, Math.max(bits, 32)), imm(0)], bits);
    return bits >= 32 ? sum : this.low(sum, bits);
  }

  /** The low bits of a value, zero-extended as in a narrow register. */
  private low(o: Operand, bits: number): Operand {
    const d = this.temp();
    this.maskInto(d, this.resize(o, 32), bits);
    return reg(d);
  }

  /** A predicate source: a register or a constant. */
  pred(operand: PtxOperand): Operand {
    const o = this.asReg(operand);
    if (o.kind === 'int') return o.value !== 0n ? PT : PF;
    if (o.kind !== 'reg') throw new Unsupported('predicate operand is not a register');
    const d = this.find(o.name);
    if (d === undefined) throw new Unsupported(`register '${o.name}' is not declared`);
    return reg(d.reg, o.not || o.neg ? Mod.Not : 0);
  }

  /** Converts a register operand to 32 bits (its low part) or 64 bits (zero-extended). */
  resize(o: Operand, bits: number): Operand {
    if (o.reg === NO_REG) return o;
    const file = regFile(o.reg);
    if (bits > 32 && file === RegFile.R) return this.value('PAIR', [], [o, imm(0)], 64);
    if (bits <= 32 && file === RegFile.RD) {
      const lo = this.temp();
      this.emit('UNPAIR', [], [lo, NO_REG], [o]);
      return reg(lo);
    }
    return o;
  }

  /** Sign-extends a 16-bit (or 8-bit) value that is held zero-extended. */
  signed(o: Operand, bits: number): Operand {
    if (o.reg === NO_REG) return imm(bits === 8 ? (o.lo << 24) >> 24 : (o.lo << 16) >> 16);
    return this.value('SGXT', [], [o, imm(bits)]);
  }

  /** Writes the low `bits` bits of a 32-bit result to `d`, zero-extended. */
  maskInto(d: Reg, o: Operand, bits: number): void {
    this.emit('LOP3', [], [d], [o, imm(bits === 8 ? 0xff : 0xffff), imm(0), imm(AND)]);
  }

  /** The address of a symbol in its own state space. */
  addressOf(name: string, offset: number, bits: number): Operand {
    const s = this.symbol(name);
    if (s?.kind === 'entry-param') {
      const at = this.module.paramBase + s.param.offset + offset;
      return bits > 32 ? immPair(at, 0) : imm(at);
    }
    if (s?.kind === 'call-param') throw new Unsupported(`address of parameter '${name}'`);
    if (s === undefined && !this.module.functions.has(name))
      throw new Unsupported(`'${name}' is not declared`);
    return this.value(
      'MOV',
      [bits > 32 ? '64' : 'B32'],
      [sym(s === undefined ? name : s.name, offset)],
      bits,
    );
  }

  private special(name: string): Operand | null {
    const x = specialRegister(name);
    if (x === null) return null;
    if (x === 'unknown') throw new Unsupported(`special register ${name}`);
    return this.value(x.opcode, x.mods, [], x.bits);
  }

  /** Packs the elements of `{a, b, ...}` into one value, the first in the low bits. */
  packVector(items: readonly PtxOperand[], bits: number): Operand {
    const each = bits / items.length;
    if (bits === 64 && items.length === 2)
      return this.value('PAIR', [], [this.src(items[0], 32), this.src(items[1], 32)], 64);
    if (bits === 64) {
      const half = items.length / 2;
      return this.value(
        'PAIR',
        [],
        [this.packVector(items.slice(0, half), 32), this.packVector(items.slice(half), 32)],
        64,
      );
    }
    if (bits === 32 && items.length === 2)
      return this.value('PRMT', [], [this.src(items[0], 16), imm(0x5410), this.src(items[1], 16)]);
    if (bits === 16 && items.length === 2)
      return this.value('PRMT', [], [this.src(items[0], 8), imm(0x1140), this.src(items[1], 8)]);
    if (bits === 32 && items.length === 4) {
      const lo = this.value('PRMT', [], [this.src(items[0], 8), imm(0x1140), this.src(items[1], 8)]);
      const hi = this.value('PRMT', [], [this.src(items[2], 8), imm(0x1140), this.src(items[3], 8)]);
      return this.value('PRMT', [], [lo, imm(0x5410), hi]);
    }
    throw new Unsupported(`vector of ${items.length} values of ${each} bits`);
  }
}

const view = new DataView(new ArrayBuffer(8));

/** The bit pattern of a number rounded to f32, as a signed 32-bit integer. */
export function bitsOfFloat(v: number): number {
  view.setFloat32(0, v);
  return view.getInt32(0);
}
