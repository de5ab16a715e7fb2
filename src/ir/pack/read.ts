import type { Isa, Opcode } from '../opcode.ts';
import { makeOperand, type Operand, type Reg } from '../operand.ts';
import {
  type Block,
  type Fn,
  type Instr,
  instr,
  type Loc,
  makeFn,
  NONE,
  newShape,
  type Program,
  type Shape,
  type Variable,
} from '../program.ts';
import type { ByteReader } from './bytes.ts';
import { Has, Line, MODS, MORE, PackError } from './format.ts';

/** Reads the body of a pack. `programs` throws a `PackError` if it was packed with another instruction set. */
export class Unpacker {
  private readonly r: ByteReader;
  private readonly isa: Isa;

  constructor(r: ByteReader, isa: Isa) {
    this.r = r;
    this.isa = isa;
  }

  programs(): Program[] {
    const { r, isa } = this;
    const hash = r.text();
    if (hash !== isa.hash)
      throw new PackError(
        `this snapshot was packed with another instruction set (${hash}, not ${isa.hash}): pack it again`,
      );
    const texts = this.many(() => r.text());
    const opcodes = this.many(() => isa.byName.get(r.text())!);
    const operands = this.operands(texts);
    const instrs = this.instrs(opcodes, operands);
    const blocks = this.blocks(instrs);
    const locs = this.many(() => this.lines());
    const variables = this.many((): Variable => {
      const rest = JSON.parse(r.text()) as Omit<Variable, 'init'>;
      const bytes = r.uint();
      return { ...rest, init: bytes === 0 ? null : r.raw(bytes - 1) };
    });
    const shapes: Shape[] = [];
    const functions = this.many((): Fn => {
      const shape = r.uint();
      shapes[shape] ??= newShape();
      const inside = this.many(() => blocks[r.uint()]);
      const own = this.many(() => variables[r.uint()]);
      const rest = JSON.parse(r.text()) as Omit<Fn, 'blocks' | 'variables' | 'shape'>;
      return makeFn({ ...rest, blocks: inside, variables: own, shape: shapes[shape] });
    });
    return this.many((): Program => {
      const lines = locs[r.uint()];
      const inside = this.many(() => functions[r.uint()]);
      const own = this.many(() => variables[r.uint()]);
      const rest = JSON.parse(r.text()) as Omit<Program, 'functions' | 'variables' | 'locs'>;
      return { ...rest, functions: inside, variables: own, locs: lines };
    });
  }

  private many<T>(one: () => T): T[] {
    const n = this.r.uint();
    const out: T[] = [];
    for (let i = 0; i < n; i++) out.push(one());
    return out;
  }

  private operands(texts: readonly string[]): Operand[] {
    const { r } = this;
    const n = r.uint();
    const out: Operand[] = [];
    for (let i = 0; i < n; i++) {
      const head = r.byte();
      const reg = r.uint() - 1;
      const lo = r.int();
      const more = (head & MORE) !== 0;
      const hi = more ? r.int() : 0;
      const sym = more ? texts[r.uint()] : '';
      out.push(makeOperand(head & 7, reg, lo, hi, sym, (head >>> MODS) & 7));
    }
    return out;
  }

  private blocks(instrs: readonly Instr[]): Block[] {
    const { r } = this;
    const n = r.uint();
    const out: Block[] = [];
    for (let i = 0; i < n; i++) {
      const id = r.uint();
      const name = r.text();
      const size = r.uint();
      let ins: Instr[] = [];
      while (ins.length < size) {
        const run = r.uint();
        const from = r.uint();
        if (run === size) ins = instrs.slice(from, from + run);
        else for (let k = from; k < from + run; k++) ins.push(instrs[k]);
      }
      out.push({ id, name, ins });
    }
    return out;
  }

  private instrs(opcodes: readonly Opcode[], operands: readonly Operand[]): Instr[] {
    const { r } = this;
    const count = r.uint();
    const out: Instr[] = [];
    let loc = 0;
    for (let n = 0; n < count; n++) {
      const op = opcodes[r.uint()];
      const has = r.byte();
      const mods = (has & Has.Mods) !== 0 ? r.uint() : 0;
      const guard = (has & Has.Guard) !== 0 ? r.uint() : -1;
      const few = (has >>> 4) & 3;
      const dst = this.registers(few === 3 ? r.uint() : few);
      const src = this.sources(operands);
      const otherwise = (has & Has.Otherwise) !== 0 ? this.registers(r.uint()) : NONE;
      const line = has >>> 6;
      if (line !== Line.Same) loc += line === Line.Next ? 1 : r.int();
      out.push(instr(op, mods, dst, src, loc, guard, (has & Has.GuardNot) !== 0, otherwise));
    }
    return out;
  }

  /** Lists of up to four operands are array literals, because an array that grows reserves room for 16 elements. */
  private sources(operands: readonly Operand[]): readonly Operand[] {
    const { r } = this;
    const n = r.uint();
    if (n === 0) return [];
    const a = operands[r.uint()];
    if (n === 1) return [a];
    const b = operands[r.uint()];
    if (n === 2) return [a, b];
    const c = operands[r.uint()];
    if (n === 3) return [a, b, c];
    const out = [a, b, c, operands[r.uint()]];
    for (let k = 4; k < n; k++) out.push(operands[r.uint()]);
    return out;
  }

  private registers(n: number): readonly Reg[] {
    const { r } = this;
    if (n === 0) return NONE;
    const a = r.uint() - 1;
    if (n === 1) return [a];
    const out = [a, r.uint() - 1];
    for (let k = 2; k < n; k++) out.push(r.uint() - 1);
    return out;
  }

  private lines(): Loc[] {
    const { r } = this;
    const n = r.uint();
    const out: Loc[] = [];
    let line = 0;
    let file = 0;
    let srcLine = 0;
    let srcColumn = 0;
    for (let i = 0; i < n; i++) {
      const step = r.int();
      const other = step & 1;
      line += (step - other) / 2;
      if (other === 1) {
        file += r.int();
        srcLine += r.int();
        srcColumn += r.int();
      }
      out.push({ line, file, srcLine, srcColumn });
    }
    return out;
  }
}
