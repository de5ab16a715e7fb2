import { chosen, type Isa, type Slot, slotWidth } from '../ir/opcode.ts';
import { FILE_WIDTH, Kind, Mod, NO_REG, type Operand, type Reg, RegFile, regFile } from '../ir/operand.ts';
import type { Fn, Instr, Prototype } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Machine } from '../machine/forms.ts';
import { type Arg, type Assembled, assemble, RZ } from './assemble.ts';
import { type HardFile, type MachineBlock, type MachineOp, START, type Virtual } from './machine-op.ts';
import type { Selection } from './selection.ts';
import { singleDefinitions } from './single-definitions.ts';
import { STACK } from './stack.ts';
import type { Part } from './template.ts';

/** Where the variables of a module are, and what the code needs to know of the target. */
export interface Surroundings {
  readonly machine: Machine;
  /** Whether arithmetic takes an operand from a constant bank. */
  readonly readsBanks: boolean;
  readonly isa: Isa;
  readonly selection: Selection;
  /** First of the uniform registers that hold the descriptor of global memory. */
  readonly descriptor: number;
  /** What the module declares of a function that it does not define; null if it has no such function. */
  prototype(name: string): Prototype | null;
  /** The address of a variable as an operand: a number, a word of a constant bank, or an offset from the stack pointer. */
  address(
    symbol: string,
  ):
    | { readonly kind: 'number' | 'frame' | 'constant'; readonly offset: number }
    | { readonly kind: 'bank'; readonly offset: number };
}

/** Constant banks: arguments and words of the driver, jump tables, module constants, and addresses of variables. */
export const BANK = { arguments: 0, tables: 2, constants: 3, addresses: 4 } as const;

const hardFile = (r: Reg): HardFile => {
  const file = regFile(r);
  if (file === RegFile.B) return 'B';
  return file === RegFile.P || file === RegFile.UP ? 'P' : 'R';
};
const wordsOf = (r: Reg): number => Math.max(1, FILE_WIDTH[regFile(r)] / 32);

/** Thrown for an instruction that has no machine code, with its location (index into `Program.locs`). */
export class NoMachineCode extends Unsupported {
  readonly loc: number;

  constructor(why: string, loc: number) {
    super(why);
    this.loc = loc;
  }
}

/** Emits machine instructions for one Ori instruction at a time, over virtual registers. */
export class Emitter {
  readonly registers: Virtual[] = [];
  readonly around: Surroundings;
  readonly fn: Fn;
  /** The Ori instruction at hand. */
  ins!: Instr;
  protected ops: MachineOp[] = [];
  private readonly known = new Map<Reg, number>();
  /** Virtual registers that only hold words of a constant bank, with the first of these. */
  private readonly constants = new Map<number, Arg & { readonly kind: 'bank' }>();
  /** Registers of Ori with one definition, which is not guarded. */
  private readonly single: ReadonlySet<Reg>;
  /** Registers of Ori that an instruction reads. */
  private readonly read: ReadonlySet<Reg>;
  /** Registers of this block that hold numbers. */
  private numbers = new Map<number, number>();

  constructor(fn: Fn, around: Surroundings) {
    this.fn = fn;
    this.around = around;
    this.single = singleDefinitions(fn);
    this.read = new Set(
      fn.blocks.flatMap((b) => b.ins.flatMap((i) => [i.guard, ...i.src.map((o) => o.reg)])),
    );
  }

  /** Blocks of the Ori block at hand that are complete, and the id of the one that is not. */
  protected done: MachineBlock[] = [];
  /** Id of the machine block at hand. */
  id = 0;
  private lastId = START;
  /** Id of the machine block in which all lanes have met already. */
  metIn = Number.NaN;

  /** Begins a block. */
  protected begin(id: number): void {
    this.id = id;
    this.ops = [];
    this.numbers = new Map();
  }

  /** Remembers what has been emitted; the result takes back what is emitted since. */
  protected mark(): () => void {
    const { length } = this.ops;
    const numbers = new Map(this.numbers);
    return () => {
      this.ops.length = length;
      this.numbers = numbers;
    };
  }

  /** An id for a block that Ori does not have. */
  newId(): number {
    return --this.lastId;
  }

  /** Ends the machine block at hand, which `next` can follow, and begins another. */
  cut(id: number, next: readonly number[]): void {
    this.done.push({ id: this.id, ops: this.ops, next });
    this.begin(id);
  }

  /** A branch to a block where a predicate holds, or with `isNot` where it does not. */
  branchIf(predicate: number, isNot: boolean, block: number): void {
    const built = assemble(this.around.machine, ['BRA'], new Map([['t', { kind: 'block', block, mods: 0 }]]));
    if (built === null) throw this.unsupported('the target has no form of BRA for it');
    this.ops.push({ ...built, guard: predicate, guardNot: isNot, loc: this.ins.loc });
  }

  /**
   * Writes code of several blocks for the instruction at hand: where its guard is false, none of it is executed. Lanes that part in it meet
   * behind it. A jump ends its block: what is waited for behind it was not waited for where it is taken.
   *
   * @param body writes the code, without the guard; it gets the id of the block behind
   */
  inBlocks(body: (after: number) => void): void {
    const { ins } = this;
    const [inside, after] = [this.newId(), this.newId()];
    const isGuarded = ins.guard !== NO_REG;
    this.ins = { ...ins, guard: NO_REG, guardNot: false };
    const b = this.register(this.make('B', 1));
    this.emitNamed(
      ['BSSY'],
      new Map<string, Arg>([
        ['b', b],
        ['t', { kind: 'block', block: after, mods: 0 }],
      ]),
    );
    if (isGuarded) this.branchIf(this.of(ins.guard), !ins.guardNot, after);
    this.cut(inside, isGuarded ? [inside, after] : [inside]);
    body(after);
    this.cut(after, [after]);
    this.emitNamed(['BSYNC'], new Map([['b', b]]));
    this.ins = ins;
  }

  /** Whether any instruction reads a register. */
  isRead(r: Reg): boolean {
    return this.read.has(r);
  }

  /** Remembers that a result of the instruction at hand is a word of a constant bank, or two, if it is nothing else. */
  holdsConstant(r: Reg, at: Arg & { readonly kind: 'bank' }): void {
    if (this.around.readsBanks && this.single.has(r)) this.constants.set(this.of(r), at);
  }

  /** The error for the instruction at hand. */
  unsupported(why: string): Unsupported {
    return new NoMachineCode(`${this.name()}: ${why}`, this.ins.loc);
  }

  /** Its name with modifiers. */
  name(): string {
    const { op, mods } = this.ins;
    const shown = op.groups.flatMap((g) => {
      const { name } = chosen(g, mods);
      return name === '' || name === 'NONE' || (g.values[0].name === name && op.groups[0] !== g)
        ? []
        : [name];
    });
    return [op.name, ...shown].join('.');
  }

  /** A word of a constant bank. */
  bank(bank: number, offset: number, words: number, index: Arg | null = null): Arg {
    return { kind: 'bank', bank, index, offset, words, mods: 0 };
  }

  /** A register of a parameter of a call. */
  private readonly params = new Map<string, number>();

  /** The virtual register of a parameter or result of calls, by the name of its variable. */
  param(name: string, words: number): number {
    let v = this.params.get(name);
    if (v === undefined) {
      v = this.registers.push({ file: 'R', words, isTemporary: false, isReload: false }) - 1;
      this.params.set(name, v);
    }
    return v;
  }

  /** A new virtual register that has a place of the calling convention. */
  placed(place: number, words: number): number {
    return this.registers.push({ file: 'R', words, isTemporary: false, isReload: true, place }) - 1;
  }

  /** A new virtual register that only the instruction at hand uses. */
  make(file: HardFile, words: number): number {
    return this.registers.push({ file, words, isTemporary: true, isReload: false }) - 1;
  }

  /** The virtual register of a register of Ori. */
  of(r: Reg): number {
    let v = this.known.get(r);
    if (v === undefined) {
      v =
        this.registers.push({
          file: hardFile(r),
          words: wordsOf(r),
          isTemporary: false,
          isReload: false,
        }) - 1;
      this.known.set(r, v);
    }
    return v;
  }

  /** A virtual register, or a half of one, as an operand. */
  register(v: number, part: Part = 'all', mods = 0): Arg {
    const { file, words } = this.registers[v];
    if (part === 'all') return { kind: 'register', file, v, word: 0, words, mods };
    return { kind: 'register', file, v, word: part === 'lo' ? 0 : 1, words: 1, mods };
  }

  /** One word of a virtual register as an operand. */
  wordOf(v: number, word: number): Arg {
    return { kind: 'register', file: this.registers[v].file, v, word, words: 1, mods: 0 };
  }

  /** A word of a register: of RZ, and of the upper word of a single one, zero. */
  partOf(a: Arg, word: number): Arg {
    if (a.kind !== 'register') return word === 0 ? a : RZ;
    return word < a.words ? { ...a, word: a.word + word, words: 1 } : RZ;
  }

  /** A source of the Ori instruction as an operand of a machine instruction. */
  operand(o: Operand, slot: Slot, part: Part = 'all', extra = 0): Arg {
    // The absolute value of a negated value is that of the value.
    const mods = ((extra & Mod.Abs) !== 0 ? o.mods & ~(Mod.Neg | Mod.Abs) : o.mods) ^ extra;
    const isWide = slotWidth(this.ins.op, this.ins.mods, slot) === 64;
    switch (o.kind) {
      case Kind.Reg:
        return this.register(this.of(o.reg), part, mods);
      case Kind.Imm:
        if (part === 'all') return { kind: 'number', lo: o.lo, hi: isWide ? o.hi : null, mods };
        return { kind: 'number', lo: part === 'lo' ? o.lo : o.hi, hi: null, mods };
      case Kind.CBank:
        return {
          kind: 'bank',
          bank: o.hi,
          index: o.reg === NO_REG ? null : this.register(this.of(o.reg)),
          offset: o.lo + (part === 'hi' ? 4 : 0),
          words: part === 'all' && isWide ? 2 : 1,
          mods,
        };
      case Kind.Sym:
        return this.symbol(o, part, isWide);
      case Kind.Label:
        return { kind: 'block', block: o.lo, mods: 0 };
    }
    throw this.unsupported('an operand of this kind has no machine code yet');
  }

  /** The address of a variable, or a half of it. */
  private symbol(o: Operand, part: Part, isWide: boolean): Arg {
    const at = this.around.address(o.sym);
    if (at.kind === 'number' || at.kind === 'constant') {
      if (part === 'hi') return RZ;
      return { kind: 'number', lo: at.offset + o.lo, hi: part === 'all' && isWide ? 0 : null, mods: 0 };
    }
    if (at.kind === 'frame') {
      if (part === 'hi') return RZ;
      const t = this.make('R', part === 'all' && isWide ? 2 : 1);
      this.emitNamed(
        ['IADD3'],
        new Map<string, Arg>([
          ['d', this.wordOf(t, 0)],
          ['a', { kind: 'fixed', file: 'R', number: STACK, mods: 0 }],
          ['b', { kind: 'number', lo: at.offset + o.lo, hi: null, mods: 0 }],
          ['c', RZ],
        ]),
      );
      if (part === 'all' && isWide) this.move(this.wordOf(t, 1), RZ);
      return this.register(t);
    }
    if (o.lo !== 0) {
      const t = this.make('R', 2);
      const carry = this.make('P', 1);
      const half = (k: number): Arg => this.bank(BANK.addresses, at.offset + 4 * k, 1);
      this.emitNamed(
        ['IADD3'],
        new Map<string, Arg>([
          ['d', this.wordOf(t, 0)],
          ['p', this.register(carry)],
          ['a', RZ],
          ['b', half(0)],
          ['c', { kind: 'number', lo: o.lo, hi: null, mods: 0 }],
        ]),
      );
      this.emitNamed(
        ['IADD3', 'X'],
        new Map<string, Arg>([
          ['d', this.wordOf(t, 1)],
          ['a', RZ],
          ['b', half(1)],
          ['c', RZ],
          ['ci', this.register(carry)],
        ]),
      );
      return part === 'all' ? this.register(t) : this.wordOf(t, part === 'lo' ? 0 : 1);
    }
    return this.bank(BANK.addresses, at.offset + (part === 'hi' ? 4 : 0), part === 'all' ? 2 : 1);
  }

  /** Emits an instruction that must exist. */
  emitNamed(name: readonly string[], args: ReadonlyMap<string, Arg>): void {
    if (!this.emit(name, args)) throw this.unsupported(`the target has no form of ${name.join('.')} for it`);
  }

  /** Copies a word, a number or a word of a constant bank to a word. */
  move(to: Arg, from: Arg): void {
    this.emitNamed(
      ['MOV'],
      new Map<string, Arg>([
        ['d', to],
        ['b', from],
        ['m', { kind: 'number', lo: 15, hi: null, mods: 0 }],
      ]),
    );
  }

  /** Emits an instruction; operands that its forms do not take are copied to registers. False if it has no form. */
  emit(name: readonly string[], given: ReadonlyMap<string, Arg>): boolean {
    const orders = this.around.selection.commutes.has(name[0]) ? [given, exchanged(given)] : [given];
    const built =
      first(orders, (args) => this.fromBank(name, args)) ??
      first(orders, (args) => this.assembled(name, args)) ??
      this.withCopies(name, orders);
    if (built === null) return false;
    this.push(built);
    return true;
  }

  /** Assembles an instruction with as few of its numbers and words of constant banks in registers as possible. */
  private withCopies(name: readonly string[], orders: readonly ReadonlyMap<string, Arg>[]): Assembled | null {
    const isMovable = (a: Arg): boolean =>
      (a.kind === 'number' || a.kind === 'bank') && (a.mods & ~(Mod.Neg | Mod.Abs)) === 0;
    const movable = [...orders[0]].flatMap(([key, a]) => (isMovable(a) ? [key] : []));
    for (const size of movable.keys())
      for (const args of orders)
        for (const keys of subsets(
          [...args].flatMap(([key, a]) => (isMovable(a) ? [key] : [])),
          size + 1,
        )) {
          const probe = new Map(args);
          for (const key of keys)
            probe.set(key, { ...placeholder(args.get(key)!), mods: args.get(key)!.mods });
          if (this.assembled(name, probe) === null) continue;
          const loaded = new Map(args);
          for (const key of keys) loaded.set(key, this.loaded(args.get(key)!));
          return this.assembled(name, loaded);
        }
    return null;
  }

  /** Adds an instruction under the guard of the Ori instruction. */
  push(built: Omit<Assembled, 'target'> & Pick<MachineOp, 'table' | 'call' | 'target'>): void {
    this.ops.push({
      ...built,
      guard: this.ins.guard === NO_REG ? -1 : this.of(this.ins.guard),
      guardNot: this.ins.guardNot,
      isOrdered: this.isOrdered(),
      loc: this.ins.loc,
    });
  }

  private isOrdered(): boolean {
    const { op, mods } = this.ins;
    const sem = op.groupByName.get('sem');
    return sem !== undefined && chosen(sem, mods).name !== 'WEAK';
  }

  /**
   * Assembles an instruction with words of a constant bank in the place of a register that only holds them. Instructions that read a
   * constant bank take no number besides, so numbers are then in registers, which later instructions share.
   */
  private fromBank(name: readonly string[], args: ReadonlyMap<string, Arg>): ReturnType<typeof assemble> {
    const { machine } = this.around;
    for (const [key, a] of args) {
      if (a.kind !== 'register') continue;
      const held = this.constants.get(a.v);
      if (held === undefined) continue;
      const placed = new Map(args).set(key, {
        ...held,
        offset: held.offset + 4 * a.word,
        words: a.words,
        mods: a.mods,
      });
      const built = assemble(machine, name, placed);
      if (built !== null) return built;
      const numbers = [...args].filter(([, x]) => x.kind === 'number' && x.hi === null && x.mods === 0);
      if (numbers.length !== 1) continue;
      const [[other, number]] = numbers;
      if (assemble(machine, name, new Map(placed).set(other, placeholder(number))) === null) continue;
      return assemble(machine, name, placed.set(other, this.loaded(number)));
    }
    return null;
  }

  /** A register that holds a number; instructions of a block share it. */
  private numberIn(value: number): number {
    let v = this.numbers.get(value);
    if (v === undefined) {
      v = this.registers.push({ file: 'R', words: 1, isTemporary: false, isReload: false }) - 1;
      this.numbers.set(value, v);
      const { ins } = this;
      this.ins = { ...ins, guard: NO_REG, guardNot: false };
      this.move(this.register(v), { kind: 'number', lo: value, hi: null, mods: 0 });
      this.ins = ins;
    }
    return v;
  }

  /** Assembles an instruction with the operands as they are; null if the target has no form that takes them. */
  private assembled(name: readonly string[], args: ReadonlyMap<string, Arg>): Assembled | null {
    const { machine, readsBanks } = this.around;
    if (!readsBanks && !/^U?LDC$/.test(name[0]) && [...args.values()].some((a) => a.kind === 'bank'))
      return null;
    return assemble(machine, name, args);
  }

  /** Copies an operand to a register. */
  loaded(a: Arg): Arg {
    const words = a.kind === 'number' ? (a.hi === null ? 1 : 2) : a.kind === 'bank' ? a.words : 0;
    if (words === 0) throw this.unsupported('an operand cannot be copied to a register');
    if (a.kind === 'number' && a.hi === null) return { ...this.register(this.numberIn(a.lo)), mods: a.mods };
    const v = this.make('R', words);
    for (let k = 0; k < words; k++) {
      const half: Arg =
        a.kind === 'bank'
          ? { ...a, offset: a.offset + 4 * k, words: 1, mods: 0 }
          : {
              kind: 'number',
              lo: k === 0 ? (a as { lo: number }).lo : (a as { hi: number }).hi,
              hi: null,
              mods: 0,
            };
      if (half.kind === 'bank' && (half.index !== null || !this.around.readsBanks)) {
        this.emitNamed(
          ['LDC'],
          new Map<string, Arg>([
            ['d', this.wordOf(v, k)],
            ['ad', half],
          ]),
        );
      } else this.move(this.wordOf(v, k), half);
    }
    return { ...this.register(v), mods: a.mods };
  }
}

const placeholder = (a: Arg): Arg => ({
  kind: 'register',
  file: 'R',
  v: 0,
  word: 0,
  words: a.kind === 'number' ? (a.hi === null ? 1 : 2) : a.kind === 'bank' ? a.words : 1,
  mods: 0,
});

/** Subsets of a size; of a small list. */
const subsets = (keys: readonly string[], size: number): string[][] =>
  Array.from({ length: 2 ** keys.length }, (_, n) => keys.filter((_k, bit) => ((n >> bit) & 1) === 1)).filter(
    (some) => some.length === size,
  );

/** Operands with a and b exchanged. */
function exchanged(args: ReadonlyMap<string, Arg>): ReadonlyMap<string, Arg> {
  const [a, b] = [args.get('a'), args.get('b')];
  return a === undefined || b === undefined ? args : new Map(args).set('a', b).set('b', a);
}

function first<T, R>(list: readonly T[], of: (x: T) => R | null): R | null {
  for (const x of list) {
    const found = of(x);
    if (found !== null) return found;
  }
  return null;
}
