import { chosen, hasMod, modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, Mod, NO_REG, type Operand } from '../ir/operand.ts';
import type { Block, Fn } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import { type Arg, assemble, RZ } from './assemble.ts';
import { BANK, Emitter, NoMachineCode, type Surroundings } from './emitter.ts';
import { type HardFile, type MachineBlock, START } from './machine-op.ts';
import type { Rule } from './selection.ts';
import type { Part, Template, TemplateValue } from './template.ts';

/** Selection by code, by opcode. */
export type Handlers = Readonly<Record<string, (e: Emitter) => void>>;

/** Selects the instructions of a function, one Ori instruction at a time. */
export class Selector extends Emitter {
  private readonly handlers: Handlers;
  private temporaries = new Map<string, number>();

  /** @param handlers for opcodes that have no rows */
  constructor(fn: Fn, around: Surroundings, handlers: Handlers) {
    super(fn, around);
    this.handlers = handlers;
  }

  /** The machine code of a block: one block, or several where an instruction needs a loop. */
  block(b: Block, after: Block | undefined): readonly MachineBlock[] {
    const { fn } = this;
    this.done = [];
    this.begin(b.id);
    const next = new Set<number>();
    let falls = true;
    for (const ins of b.ins) {
      this.ins = ins;
      this.temporaries = new Map();
      try {
        this.instruction();
      } catch (e) {
        if (e instanceof Unsupported && !(e instanceof NoMachineCode)) throw this.unsupported(e.message);
        throw e;
      }
      for (const o of ins.src)
        if (o.kind === Kind.Label) next.add(o.lo);
        else if (o.kind === Kind.Table) for (const to of fn.tables[o.lo]) next.add(to);
      if (ins.guard === NO_REG && ['BRA', 'RET', 'EXIT', 'BRX'].includes(ins.op.name)) falls = false;
    }
    if (falls && after !== undefined) next.add(after.id);
    if (falls && after === undefined) this.emitNamed(['EXIT'], new Map());
    return [...this.done, { id: this.id, ops: this.ops, next: [...next] }];
  }

  private instruction(): void {
    const { op } = this.ins;
    const own = this.handlers[op.name];
    if (own !== undefined) return own(this);
    if (op.name === 'BRA') return this.branch();
    if (op.name === 'BRX') return this.tableBranch();
    if (op.name === 'RET') return this.emitNamed(['EXIT'], new Map());
    const rules = this.around.selection.rules.get(op.name) ?? [];
    for (const rule of rules) if (this.holds(rule) && this.expand(rule)) return;
    throw this.unsupported('it has no machine code yet');
  }

  private branch(): void {
    const target = this.ins.src.find((o) => o.kind === Kind.Label);
    if (target === undefined) throw this.unsupported('it has no target');
    this.emitNamed(['BRA'], new Map([['t', { kind: 'block', block: target.lo, mods: 0 }]]));
  }

  /** A jump to the address that an entry of the table in constant bank 2 holds; entries count from the beginning of the code. */
  private tableBranch(): void {
    const { op, mods, src } = this.ins;
    const table = src[1].lo;
    const index = this.operand(src[0], srcSlot(op, 0)!);
    let at = index.kind === 'register' ? index : this.loaded(index);
    if (!hasMod(op, mods, 'OFFSET')) {
      const t = this.register(this.make('R', 1));
      this.emitNamed(
        ['SHF', 'L', 'U32'],
        new Map<string, Arg>([
          ['d', t],
          ['a', at],
          ['b', { kind: 'number', lo: 2, hi: null, mods: 0 }],
          ['c', RZ],
        ]),
      );
      at = t;
    }
    const address = this.make('R', 2);
    const before = this.fn.tables.slice(0, table).reduce((n, t) => n + t.length, 0);
    this.emitNamed(
      ['LDC'],
      new Map([
        ['d', this.wordOf(address, 0)],
        ['ad', this.bank(BANK.tables, 4 * before, 1, at)],
      ]),
    );
    this.move(this.wordOf(address, 1), RZ);
    const built = assemble(
      this.around.machine,
      ['BRX'],
      new Map<string, Arg>([
        ['a', this.register(address)],
        ['t', { kind: 'number', lo: 0, hi: null, mods: 0 }],
      ]),
    );
    if (built === null) throw this.unsupported('the target has no form of BRX for it');
    const field = built.form.operands.find((o) => o.name === 't')!.atom!.field;
    this.push({ ...built, target: { field, block: START }, table });
  }

  // ------------------------------------------------------------------ rules

  private holds(rule: Rule): boolean {
    const { op, mods, dst } = this.ins;
    // A modifier or a result that the row does not name would be lost.
    for (const g of op.groups) if (!rule.groups.has(g.name) && chosen(g, mods) !== g.values[0]) return false;
    if (op.dsts.some((s, k) => !rule.slots.has(s.name) && (dst[k] ?? NO_REG) !== NO_REG)) return false;
    const { driver } = this.around.machine;
    if (rule.emit.some((t) => t.values.some(({ value: v }) => v.kind === 'driver' && !driver.has(v.name))))
      return false;
    return rule.when.every(({ key, values }) => {
      const group = this.ins.op.groupByName.get(key);
      if (group !== undefined) return values.includes(this.chosen(key));
      return values.some((v) => this.operandIs(key, v));
    });
  }

  private operandIs(key: string, what: string): boolean {
    const { op, dst } = this.ins;
    const d = op.dsts.findIndex((s) => s.name === key);
    if (d >= 0) return what === '_' && (dst[d] ?? NO_REG) === NO_REG;
    const o = this.source(key);
    switch (what) {
      case '_':
        return o === undefined;
      case '0':
        return o?.kind === Kind.Imm && o.lo === 0 && o.hi === 0;
      case 'imm':
        return o?.kind === Kind.Imm;
      case 'all':
        return o?.kind === Kind.Imm && o.lo === -1;
      case '!neg':
        return o === undefined || (o.mods & Mod.Neg) === 0;
    }
    throw new Error(`unknown condition '${what}' on an operand`);
  }

  private source(name: string): Operand | undefined {
    return this.ins.src[this.ins.op.srcs.findIndex((s) => s.name === name)];
  }

  private expand(rule: Rule): boolean {
    const undo = this.mark();
    for (const t of rule.emit) {
      const args = new Map<string, Arg>();
      for (const { key, value } of t.values) {
        const arg = this.value(value, t);
        if (arg !== null) args.set(key, arg);
      }
      if (!this.emit(this.parts(t), args)) {
        undo();
        this.temporaries = new Map();
        return false;
      }
    }
    this.rememberWord(rule);
    return true;
  }

  /** Remembers that the result is a word that the driver writes, if it is nothing else. */
  private rememberWord({ emit: [{ name, values }, ...more] }: Rule): void {
    const word = values.find(({ key, value }) => key === 'b' && value.kind === 'driver');
    if (more.length > 0 || name[0].text !== 'MOV' || word?.value.kind !== 'driver') return;
    const at = this.driverWord(word.value);
    const [d = NO_REG] = this.ins.dst;
    if (at.kind === 'bank' && d !== NO_REG && word.value.mods === 0) this.holdsConstant(d, at);
  }

  private driverWord({ name, offset }: { readonly name: string; readonly offset: number }): Arg {
    const at = this.around.machine.driver.get(name);
    if (at === undefined) throw this.unsupported(`the target has no word '${name}'`);
    return this.bank(BANK.arguments, at + offset, 1);
  }

  /** The parts of a machine instruction's name, with the modifiers of the Ori instruction. */
  private parts(t: Template): string[] {
    return t.name.flatMap(({ text, isGroup }) => {
      const word = isGroup ? this.word(text) : text;
      return word === '' ? [] : word.split('.');
    });
  }

  /** The chosen modifier of a group; '' for one that is not there. */
  chosen(group: string): string {
    const name = modOf(this.ins.op, this.ins.mods, group);
    return name === 'NONE' ? '' : name;
  }

  /** The name of the chosen modifier of a group in machine code. */
  word(group: string): string {
    const { op } = this.ins;
    const name = this.chosen(group);
    const { words } = this.around.selection;
    return (words.get(`${op.name}.${group}`) ?? words.get(group))?.[name] ?? name;
  }

  private value(v: TemplateValue, t: Template): Arg | null {
    switch (v.kind) {
      case 'slot':
        return this.slot(v.name, v.part, v.mods);
      case 'temporary':
        return this.temporary(v.name, v.words, v.part, v.mods, t);
      case 'constant':
        return { kind: 'fixed', file: v.file, number: null, mods: v.mods };
      case 'number':
        return { kind: 'number', lo: v.value, hi: null, mods: v.mods };
      case 'driver':
        return { ...this.driverWord(v), mods: v.mods };
      case 'word':
        return {
          kind: 'word',
          name: v.group === null ? v.name : v.name + this.word(v.group),
          mods: 0,
        };
    }
  }

  /** A register of a template, in the file that its first use asks for. */
  private temporary(name: string, words: number, part: Part, mods: number, t: Template): Arg {
    const file = this.fileOf(t, name);
    let v = this.temporaries.get(name);
    if (v === undefined) {
      v = this.make(file, words);
      this.temporaries.set(name, v);
    }
    return this.register(v, part, mods);
  }

  /** The file of an operand, as the forms of the instruction have it; a layout may offer a uniform register for a general one. */
  private fileOf(t: Template, name: string): HardFile {
    const key = t.values.find(({ value }) => value.kind === 'temporary' && value.name === name)!.key;
    const kinds = new Set<string>(
      (this.around.machine.byName.get(t.name[0].text) ?? []).flatMap((form) =>
        form.operands.flatMap((o) => (o.name === key && o.atom !== undefined ? [o.atom.kind] : [])),
      ),
    );
    return (['R', 'P', 'UR'] as const).find((file) => kinds.has(file)) ?? 'R';
  }

  private slot(name: string, part: Part, mods: number): Arg | null {
    const { op, dst, src } = this.ins;
    const d = op.dsts.findIndex((s) => s.name === name);
    if (d >= 0) {
      const r = dst[d] ?? NO_REG;
      return r === NO_REG
        ? { kind: 'fixed', file: '*', number: null, mods: 0 }
        : this.register(this.of(r), part, 0);
    }
    const s = op.srcs.findIndex((x) => x.name === name);
    if (s < 0) throw new Error(`${op.name} has no operand '${name}'`);
    if (src[s] === undefined) return null;
    return this.operand(src[s], srcSlot(op, s)!, part, mods);
  }
}
