import { toRegs, withDst } from '../edit.ts';
import { endsFlow, isControl, isPhi } from '../flow.ts';
import { OpFlag } from '../opcode.ts';
import { Kind, makeReg, NO_REG, type Operand, type Reg, regIndex } from '../operand.ts';
import type { Fn, Instr } from '../program.ts';
import { type BlockNo, type Ins, InstructionList } from './instruction-list.ts';
import {
  changeUses,
  each,
  enterDefs,
  enterUses,
  entryRegisters,
  instructionsOf,
  Occurrences,
  readingInstead,
} from './use-lists.ts';

/** Notified of every edit of an instruction, to fill worklists. */
export interface Watcher {
  /** `n` is new or was replaced; `before` is the old instruction, null if it is new. */
  changed(n: Ins, before: Instr | null): void;
  removed(n: Ins, before: Instr): void;
}

/** Does the instruction name blocks without being a jump or a phi (the meeting point of BSSY)? */
export const namesBlock = ({ op, src }: Instr): boolean =>
  (op.flags & (OpFlag.Control | OpFlag.Phi | OpFlag.Pure)) === 0 && src.some((o) => o.kind === Kind.Label);

/** The part of a draft for edits of instructions, and for definitions and uses of registers. See `Draft`. */
export class InstructionDraft extends InstructionList {
  private regs: number;
  private uses: Occurrences | null = null;
  private defs: Occurrences | null = null;
  private entry: Uint8Array | null = null;
  private returnRegs: Reg[] | null = null;
  private paramRegs: Reg[] | null = null;
  /** Numbers of operands of `namesBlock` instructions by block id, and of operands by jump table; counted on first use. */
  private names: { readonly blocks: Map<number, number>; readonly tables: Map<number, number> } | null = null;
  watcher: Watcher | null = null;

  constructor(fn: Fn) {
    super(fn);
    this.regs = fn.regCount;
  }

  // ------------------------------------------------------------------ instructions

  /** Inserts a new instruction, not a control operation, before another one. */
  insertBefore(at: Ins, ins: Instr): Ins {
    return this.link(this.create(ins), this.block(at), at);
  }

  /** Inserts a new instruction after another one. @throws Error if that is a terminator */
  insertAfter(at: Ins, ins: Instr): Ins {
    if (this.nextOf[at] < 0 && isControl(this.instrs[at]))
      throw new Error('no instruction may follow a terminator');
    return this.link(this.create(ins), this.block(at), this.nextOf[at]);
  }

  /** Inserts at the end of the block, before its terminator. */
  insertAtEnd(b: BlockNo, ins: Instr): Ins {
    return this.link(this.create(ins), b, this.end(b));
  }

  /** Inserts at the start of the block: a phi at the very start, others after the phis. */
  insertAtStart(b: BlockNo, ins: Instr): Ins {
    return this.link(this.create(ins), b, isPhi(ins) ? this.blocks.first[b] : this.afterPhis(b));
  }

  /** Appends to a block. @throws Error if that has a terminator */
  append(b: BlockNo, ins: Instr): Ins {
    if (this.terminator(b) >= 0) throw new Error('no instruction may follow a terminator');
    return this.link(this.create(ins), b, -1);
  }

  /** Replaces instruction `n`, keeping its number. @throws Error if that changes where control goes: use `setTerminator` */
  replace(n: Ins, ins: Instr): void {
    const before = this.instrs[n];
    if (before === ins) return;
    if (isControl(ins) || isControl(before)) this.checkControl(n, before, ins);
    this.exchange(n, ins);
  }

  /** Replaces `n` by several: the last one gets its number, the others go before it. An empty list removes it. */
  replaceBy(n: Ins, list: readonly Instr[]): void {
    const last = list.length - 1;
    for (let i = 0; i < last; i++) this.insertBefore(n, list[i]);
    if (last < 0) this.remove(n);
    else this.replace(n, list[last]);
  }

  /** Removes the instruction. @throws Error for a terminator: use `setTerminator` */
  remove(n: Ins): void {
    if (isControl(this.instrs[n])) throw new Error('terminators are removed by setTerminator');
    this.discard(n);
  }

  /** Moves an instruction, not a control operation, before another one, possibly in another block. */
  move(n: Ins, before: Ins): void {
    if (n === before || this.nextOf[n] === before) return;
    if (isControl(this.instrs[n])) throw new Error('terminators are set by setTerminator');
    this.unlink(n);
    this.relink(n, this.block(before), before);
    this.watcher?.changed(n, this.instrs[n]);
  }

  /** Moves an instruction to the end of a block, before its terminator. */
  moveToEnd(n: Ins, b: BlockNo): void {
    if (isControl(this.instrs[n])) throw new Error('terminators are set by setTerminator');
    this.unlink(n);
    this.relink(n, b, this.end(b));
    this.watcher?.changed(n, this.instrs[n]);
  }

  // ------------------------------------------------------------------ registers

  /** An unused register in the given file (`RegFile`). */
  freshReg(file: number): Reg {
    return makeReg(this.regs++, file);
  }

  get regCount(): number {
    return this.regs;
  }

  /** Number of operands, guards and values under false guards that read the register, plus one if it is returned. */
  useCount(r: Reg): number {
    return this.useLists().count(r) + (this.isReturned(r) ? 1 : 0);
  }

  /** Is it a return register of the function? A return without operands reads these. */
  isReturned(r: Reg): boolean {
    const { returns } = this.fn;
    if (r === NO_REG) return false;
    for (let i = 0; i < returns.length; i++) if ((this.returnRegs?.[i] ?? returns[i].reg) === r) return true;
    return false;
  }

  /** Does it hold a parameter on entry? */
  isParam(r: Reg): boolean {
    this.entry ??= entryRegisters(this.paramRegs ?? this.fn.params.map((p) => p.reg), this.regs);
    const i = regIndex(r);
    return i < this.entry.length && this.entry[i] === 1;
  }

  /** Number of definitions of the register by instructions. */
  defCount(r: Reg): number {
    return this.defLists().count(r);
  }

  /**
   * The only instruction that defines the register; -1 if there is none, if there are several, or if it is a
   * parameter.
   */
  def(r: Reg): Ins {
    const defs = this.defLists();
    return defs.count(r) === 1 && !this.isParam(r) ? defs.instruction(defs.first(r)) : -1;
  }

  /** One of the instructions that define the register, or -1; its only definition if `defCount` is 1. */
  firstDef(r: Reg): Ins {
    const defs = this.defLists();
    const o = defs.first(r);
    return o < 0 ? -1 : defs.instruction(o);
  }

  /**
   * The definition after `n` in the register's list, which starts with `firstDef`, or -1. The list must not be edited
   * meanwhile.
   */
  nextDef(r: Reg, n: Ins): Ins {
    const defs = this.defLists();
    const o = defs.after(defs.of(n, r));
    return o < 0 ? -1 : defs.instruction(o);
  }

  /** Calls `visit` for every definition. It must not edit; use `definitions` for that. */
  eachDef(r: Reg, visit: (n: Ins) => void): void {
    each(this.defLists(), r, visit);
  }

  /** Calls `visit` once for each operand that reads the register. It must not edit; use `users` for that. */
  eachUse(r: Reg, visit: (n: Ins) => void): void {
    each(this.useLists(), r, visit);
  }

  /** The first operand that reads the register, -1 if there is none. `nextUse` gives the others, `userAt` the instruction. */
  firstUse(r: Reg): number {
    return this.useLists().first(r);
  }

  /** The next operand that reads the same register, -1 at the end of the list. The list must not be edited meanwhile. */
  nextUse(use: number): number {
    return this.useLists().after(use);
  }

  /** The instruction that an operand belongs to; one that reads a register twice has two. */
  userAt(use: number): Ins {
    return this.useLists().instruction(use);
  }

  /** Instructions that read the register, each once. */
  users(r: Reg): Ins[] {
    return instructionsOf(this.useLists(), r);
  }

  /** Instructions that define the register. */
  definitions(r: Reg): Ins[] {
    return instructionsOf(this.defLists(), r);
  }

  /**
   * Makes every instruction that reads `from` read `to`. Registers of `Fn.returns` stay, because in SSA the return names its
   * values.
   */
  replaceUses(from: Reg, to: Reg): void {
    for (const n of this.users(from)) this.replace(n, readingInstead(this.instrs[n], from, to));
  }

  /** Renames `from` everywhere: in results, uses, parameters and returns. */
  rename(from: Reg, to: Reg): void {
    this.replaceUses(from, to);
    for (const n of this.definitions(from)) {
      const x = this.instrs[n];
      this.replace(
        n,
        withDst(
          x,
          toRegs(x.dst, (d) => (d === from ? to : d)),
        ),
      );
    }
    const other = (r: Reg): Reg => (r === from ? to : r);
    const { params, returns } = this.fn;
    if (this.isReturned(from)) {
      this.returnRegs = (this.returnRegs ?? returns.map((p) => p.reg)).map(other);
      this.changed = true;
    }
    if ((this.paramRegs ?? params.map((p) => p.reg)).includes(from)) {
      this.paramRegs = (this.paramRegs ?? params.map((p) => p.reg)).map(other);
      this.entry = null;
      this.changed = true;
    }
  }

  /** Registers of parameters and of returns, null for each if none was renamed. */
  get renamed(): { readonly params: readonly Reg[] | null; readonly returns: readonly Reg[] | null } {
    return { params: this.paramRegs, returns: this.returnRegs };
  }

  // ------------------------------------------------------------------ inside

  protected create(ins: Instr): Ins {
    if (isControl(ins)) throw new Error('terminators are set by setTerminator');
    return this.enroll(ins);
  }

  /** Inserts a created instruction before `before` (-1: at the end) and records its operands. */
  protected link(n: Ins, b: BlockNo, before: Ins): Ins {
    this.relink(n, b, before);
    const ins = this.instrs[n];
    if (this.uses !== null) enterUses(this.uses, n, ins);
    if (this.defs !== null) enterDefs(this.defs, n, ins);
    if (this.names !== null) this.countNames(ins, 1);
    this.watcher?.changed(n, null);
    return n;
  }

  protected discard(n: Ins): void {
    const before = this.instrs[n];
    this.unlink(n);
    this.uses?.close(n);
    this.defs?.close(n);
    if (this.names !== null) this.countNames(before, -1);
    this.watcher?.removed(n, before);
  }

  /** Replaces an instruction; a control operation only inside `edgesChange`. */
  protected exchange(n: Ins, ins: Instr): void {
    const before = this.instrs[n];
    this.instrs[n] = ins;
    if (this.uses !== null && !changeUses(this.uses, n, before, ins)) {
      this.uses.close(n);
      enterUses(this.uses, n, ins);
    }
    if (this.defs !== null && ins.dst !== before.dst) {
      this.defs.close(n);
      enterDefs(this.defs, n, ins);
    }
    if (this.names !== null) {
      this.countNames(before, -1);
      this.countNames(ins, 1);
    }
    this.touch(this.block(n));
    this.watcher?.changed(n, before);
  }

  protected checkControl(n: Ins, before: Instr, ins: Instr): void {
    const targets = before.src.filter(isTarget);
    const now = ins.src.filter(isTarget);
    const same =
      isControl(before) &&
      isControl(ins) &&
      endsFlow(before) === endsFlow(ins) &&
      targets.length === now.length &&
      targets.every((o, i) => o.kind === now[i].kind && o.lo === now[i].lo);
    if (!same)
      throw new Error(
        `${before.op.name} -> ${ins.op.name} at ${n} changes where control goes: use setTerminator`,
      );
  }

  /** Is the block named by an instruction that is neither a jump nor a phi? */
  protected isPinned(id: number): boolean {
    return (this.namesCounted().blocks.get(id) ?? 0) > 0;
  }

  /** Number of operands that name the jump table. */
  tableUses(t: number): number {
    return this.namesCounted().tables.get(t) ?? 0;
  }

  private namesCounted(): NonNullable<typeof this.names> {
    if (this.names === null) {
      this.names = { blocks: new Map(), tables: new Map() };
      for (let n = 0; n < this.total; n++) if (!this.isRemoved(n)) this.countNames(this.instrs[n], 1);
    }
    return this.names;
  }

  private countNames(x: Instr, by: 1 | -1): void {
    if ((x.op.flags & (OpFlag.Pure | OpFlag.Phi)) !== 0) return;
    const { blocks, tables } = this.names!;
    for (const o of x.src)
      if (o.kind === Kind.Table) tables.set(o.lo, (tables.get(o.lo) ?? 0) + by);
      else if (o.kind === Kind.Label && namesBlock(x)) blocks.set(o.lo, (blocks.get(o.lo) ?? 0) + by);
  }

  override release(): void {
    super.release();
    this.uses?.release();
    this.defs?.release();
  }

  protected useLists(): Occurrences {
    return (this.uses ??= this.listed(enterUses));
  }

  protected defLists(): Occurrences {
    return (this.defs ??= this.listed(enterDefs));
  }

  protected listed(enter: (lists: Occurrences, n: Ins, ins: Instr) => void): Occurrences {
    const lists = new Occurrences(this.total, this.regs);
    for (let n = 0; n < this.total; n++) if (!this.isRemoved(n)) enter(lists, n, this.instrs[n]);
    return lists;
  }
}

const isTarget = (o: Operand): boolean => o.kind === Kind.Label || o.kind === Kind.Table;
