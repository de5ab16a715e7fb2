import type { Isa, Opcode } from '../opcode.ts';
import { Kind, type Operand } from '../operand.ts';
import type { Block, Fn, Instr, Loc, Program, Shape, Variable } from '../program.ts';
import { ByteWriter, checksum, putInt, putUint } from './bytes.ts';
import { Has, HEAD, Line, MAGIC, MODS, MORE, PACK_VERSION, PackError } from './format.ts';

/** Numbers objects in order of first appearance. */
class Numbering<T> {
  private readonly ids = new Map<T, number>();
  readonly list: T[] = [];

  /** Number of an object, or -1 - number if it is new. */
  find(x: T): number {
    const known = this.ids.get(x);
    if (known !== undefined) return known;
    const id = this.list.length;
    this.ids.set(x, id);
    this.list.push(x);
    return -1 - id;
  }
  of(x: T): number {
    const id = this.find(x);
    return id < 0 ? -1 - id : id;
  }
}

/** Writes snapshots into a pack. */
export class Packer {
  private readonly isa: Isa;
  private readonly shared: boolean;
  private readonly texts = new Numbering<string>();
  private readonly opcodes: Opcode[] = [];
  /** By id of an opcode: its number in the pack, from 1; 0: it has none yet. */
  private readonly opcodeAt: Int32Array;
  private readonly operands: OperandTable;
  private readonly instrs = new Numbering<Instr>();
  private readonly blocks = new Numbering<Block>();
  private readonly locs = new Numbering<readonly Loc[]>();
  private readonly variables = new Numbering<Variable>();
  private readonly functions = new Numbering<Fn>();
  private readonly shapes = new Numbering<Shape>();
  private readonly out: Readonly<
    Record<'operands' | 'instrs' | 'blocks' | 'locs' | 'variables' | 'functions' | 'programs', ByteWriter>
  >;
  private instrCount = 0;
  private blockCount = 0;
  private programCount = 0;
  private line = 0;

  /**
   * @param size approximate number of instructions
   * @param shared whether blocks may recur in other functions, and instructions in other blocks
   */
  constructor(isa: Isa, size: number, shared: boolean) {
    this.isa = isa;
    this.shared = shared;
    this.opcodeAt = new Int32Array(isa.opcodes.length);
    this.operands = new OperandTable(size);
    this.out = {
      operands: new ByteWriter(size * 4),
      instrs: new ByteWriter(size * 12),
      blocks: new ByteWriter(size * 4),
      locs: new ByteWriter(size * 4),
      variables: new ByteWriter(),
      functions: new ByteWriter(),
      programs: new ByteWriter(),
    };
    this.texts.of('');
  }

  program(p: Program): void {
    const { functions, variables, locs, ...rest } = p;
    const ids = functions.map((f) => this.fn(f));
    const own = variables.map((v) => this.variable(v));
    const w = this.out.programs;
    this.programCount++;
    w.uint(this.lines(locs));
    list(w, ids);
    list(w, own);
    w.text(JSON.stringify(rest));
  }

  private fn(f: Fn): number {
    const id = this.functions.find(f);
    if (id >= 0) return id;
    const { blocks, variables, shape, ...rest } = f;
    const inside = blocks.map((b) => this.block(b));
    const own = variables.map((v) => this.variable(v));
    const w = this.out.functions;
    w.uint(this.shapes.of(shape));
    list(w, inside);
    list(w, own);
    w.text(JSON.stringify(rest));
    return -1 - id;
  }

  private variable(v: Variable): number {
    const id = this.variables.find(v);
    if (id >= 0) return id;
    const { init, ...rest } = v;
    const w = this.out.variables;
    w.text(JSON.stringify(rest));
    w.uint(init === null ? 0 : init.length + 1);
    if (init !== null) w.raw(init);
    return -1 - id;
  }

  private lines(locs: readonly Loc[]): number {
    const id = this.locs.find(locs);
    if (id >= 0) return id;
    const w = this.out.locs;
    w.uint(locs.length);
    w.room(8 * 4 * locs.length);
    const { bytes } = w;
    let { at } = w;
    let line = 0;
    let file = 0;
    let srcLine = 0;
    let srcColumn = 0;
    for (const l of locs) {
      // Usually the next PTX line with the same source position.
      const same = l.file === file && l.srcLine === srcLine && l.srcColumn === srcColumn;
      at = putInt(bytes, at, 2 * (l.line - line) + (same ? 0 : 1));
      line = l.line;
      if (same) continue;
      at = putInt(bytes, at, l.file - file);
      at = putInt(bytes, at, l.srcLine - srcLine);
      at = putInt(bytes, at, l.srcColumn - srcColumn);
      ({ file, srcLine, srcColumn } = l);
    }
    w.at = at;
    return -1 - id;
  }

  private block(b: Block): number {
    if (this.shared) {
      const id = this.blocks.find(b);
      if (id >= 0) return id;
    }
    const w = this.out.blocks;
    const { ins } = b;
    w.uint(b.id);
    w.text(b.name);
    // Runs of instructions with consecutive numbers: just one, unless another snapshot contained some of them.
    let from = 0;
    let next = this.instrCount;
    w.room(8 * (1 + 2 * ins.length));
    let at = putUint(w.bytes, w.at, ins.length);
    for (let i = 0; i < ins.length; i++) {
      const n = this.instr(ins[i]);
      if (i === 0) next = from = n;
      else if (n !== next) {
        at = putUint(w.bytes, at, next - from);
        at = putUint(w.bytes, at, from);
        next = from = n;
      }
      next++;
    }
    if (ins.length > 0) {
      at = putUint(w.bytes, at, next - from);
      at = putUint(w.bytes, at, from);
    }
    w.at = at;
    return this.blockCount++;
  }

  private instr(i: Instr): number {
    if (this.shared) {
      const id = this.instrs.find(i);
      if (id >= 0) return id;
    }
    const w = this.out.instrs;
    const { op, mods, guard, dst, src, otherwise, loc } = i;
    let known = this.opcodeAt[op.id];
    if (known === 0 || this.opcodes[known - 1] !== op) known = this.opcode(op);
    const step = loc - this.line;
    const line = step === 0 ? Line.Same : step === 1 ? Line.Next : Line.Other;
    const nd = dst.length;
    const ns = src.length;
    // Operands go to another writer, so this writer's position does not move.
    w.room(6 * (8 + nd + ns + otherwise.length));
    const { bytes } = w;
    let at = putUint(bytes, w.at, known - 1);
    bytes[at++] =
      (mods !== 0 ? Has.Mods : 0) |
      (guard !== -1 ? Has.Guard : 0) |
      (i.guardNot ? Has.GuardNot : 0) |
      (otherwise.length > 0 ? Has.Otherwise : 0) |
      (Math.min(nd, 3) << 4) |
      (line << 6);
    if (mods !== 0) at = putUint(bytes, at, mods);
    if (guard !== -1) at = putUint(bytes, at, guard);
    if (nd >= 3) at = putUint(bytes, at, nd);
    for (let k = 0; k < nd; k++) at = putUint(bytes, at, dst[k] + 1);
    at = putUint(bytes, at, ns);
    for (let k = 0; k < ns; k++) at = putUint(bytes, at, this.operand(src[k]));
    if (otherwise.length > 0) {
      at = putUint(bytes, at, otherwise.length);
      for (let k = 0; k < otherwise.length; k++) at = putUint(bytes, at, otherwise[k] + 1);
    }
    w.at = at;
    if (line === Line.Other) w.int(step);
    this.line = loc;
    return this.instrCount++;
  }

  private opcode(op: Opcode): number {
    if (this.isa.opcodes[op.id] !== op)
      throw new PackError(`'${op.name}' is an opcode of another instruction set than the one to pack for`);
    const n = this.opcodes.push(op);
    this.opcodeAt[op.id] = n;
    return n;
  }

  private operand(o: Operand): number {
    const id = this.operands.find(o);
    if (id >= 0) return id;
    const sym = this.texts.of(o.sym);
    const w = this.out.operands;
    const more = o.hi !== 0 || sym !== 0;
    w.byte(o.kind | (o.mods << MODS) | (more ? MORE : 0));
    w.uint(o.reg + 1);
    w.int(o.lo);
    if (more) {
      w.int(o.hi);
      w.uint(sym);
    }
    return -1 - id;
  }

  finish(): Uint8Array {
    const parts = Object.values(this.out).reduce((n, w) => n + w.at, 0);
    const body = new ByteWriter(parts + 1024);
    body.raw(new Uint8Array([...MAGIC, PACK_VERSION, 0, 0, 0, 0]));
    body.text(this.isa.hash);
    body.uint(this.texts.list.length);
    for (const t of this.texts.list) body.text(t);
    body.uint(this.opcodes.length);
    for (const op of this.opcodes) body.text(op.name);
    const counts = {
      operands: this.operands.size,
      instrs: this.instrCount,
      blocks: this.blockCount,
      locs: this.locs.list.length,
      variables: this.variables.list.length,
      functions: this.functions.list.length,
      programs: this.programCount,
    };
    for (const [part, n] of Object.entries(counts)) {
      body.uint(n);
      body.raw(this.out[part as keyof typeof counts].written);
    }
    const packed = body.written.slice();
    new DataView(packed.buffer).setUint32(4, checksum(packed.subarray(HEAD)));
    return packed;
  }
}

function list(w: ByteWriter, ids: readonly number[]): void {
  w.uint(ids.length);
  for (const n of ids) w.uint(n);
}

/** Operands of higher registers are found by hash. */
const LARGEST = 2 ** 22;

/** Operands by content: a hash table over arrays, because there are several operands per instruction. */
class OperandTable {
  size = 0;
  private readonly operands: Operand[] = [];
  private slots: Int32Array;
  /** By register: number, from 1, of the operand that is the register without modifiers. Most operands are such, and need no hash. */
  private plain = new Int32Array(1024);

  /** @param instrs approximate number of instructions; on average each has less than one new operand */
  constructor(instrs: number) {
    this.slots = new Int32Array(2 ** Math.max(8, Math.ceil(Math.log2(instrs + 1)) + 1));
  }

  /** Number of an operand with this content, or -1 - number if it is new. */
  find(o: Operand): number {
    if (o.kind !== Kind.Reg || o.mods !== 0 || o.lo !== 0 || o.reg < 0 || o.reg > LARGEST)
      return this.findHashed(o);
    if (o.reg >= this.plain.length) {
      const larger = new Int32Array(2 * o.reg);
      larger.set(this.plain);
      this.plain = larger;
    }
    const known = this.plain[o.reg];
    if (known !== 0) return known - 1;
    this.operands.push(o);
    this.plain[o.reg] = ++this.size;
    return -this.size;
  }

  private findHashed(o: Operand): number {
    const mask = this.slots.length - 1;
    let at = hashOf(o) & mask;
    for (let n = this.slots[at]; n !== 0; n = this.slots[at]) {
      const x = this.operands[n - 1];
      if (
        x === o ||
        (x.reg === o.reg &&
          x.lo === o.lo &&
          x.hi === o.hi &&
          x.kind === o.kind &&
          x.mods === o.mods &&
          x.sym === o.sym)
      )
        return n - 1;
      at = (at + 1) & mask;
    }
    this.operands.push(o);
    this.slots[at] = ++this.size;
    if (this.size * 2 > mask) this.grow();
    return -this.size;
  }

  private grow(): void {
    const mask = this.slots.length * 4 - 1;
    const slots = new Int32Array(mask + 1);
    for (let n = 1; n <= this.size; n++) {
      let at = hashOf(this.operands[n - 1]) & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = n;
    }
    this.slots = slots;
  }
}

function hashOf(o: Operand): number {
  let h = Math.imul(o.reg + 1, 0x9e3779b1) ^ Math.imul(o.lo, 0x85ebca6b) ^ Math.imul(o.hi, 0xc2b2ae35);
  for (let i = 0; i < o.sym.length; i++) h = Math.imul(h ^ o.sym.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 15) ^ (o.kind << 3) ^ o.mods, 0x2c1b3c6d);
  return h ^ (h >>> 13);
}
