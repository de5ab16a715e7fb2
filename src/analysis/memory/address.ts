import { memoPair } from '../../ir/memo.ts';
import { OpFlag, SPACES, type Space } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr, Variable } from '../../ir/program.ts';
import { accessBytes } from '../../isa/accesses.ts';
import { cfgOf } from '../flow/cfg.ts';
import { type DominatorTree, dominatorsOf } from '../flow/dominators.ts';
import { type DefUse, defUseOf } from '../values/defuse.ts';
import type { Linear } from '../values/linear-expressions.ts';
import { RegisterValues } from '../values/register-values.ts';
import {
  isBarrier,
  isCall,
  isOrdering,
  isReadOnlyLoad,
  isStrong,
  MEMORY_OF,
  Mem,
  MUTABLE,
  VISIBLE,
} from './memory-ops.ts';
import type { MemoryObject } from './objects.ts';
import { Origin, type Provenance, provenanceOf } from './provenance.ts';

/** Effects of an access, as a bit set. */
export const Does = {
  Read: 1,
  Write: 2,
  /** Not a single place: all memory in `memory` of the row. */
  Anywhere: 4,
  /** A call; its effect depends on the callee. */
  Call: 8,
} as const;

/**
 * Every memory access of a function, one row each, in the order of the instructions. An instruction has one row per
 * effect: a copy has one that reads and one that writes; a barrier or strong operation has one that covers all memory
 * that it orders. Instructions are numbered as in `DefUse`.
 */
export interface Accesses {
  readonly fn: Fn;
  readonly du: DefUse;
  readonly dominators: DominatorTree;
  readonly objects: readonly MemoryObject[];
  /** By object: 1 for local memory that nothing outside the function can reach. */
  readonly unshared: Uint8Array;
  readonly forms: readonly Linear[];
  readonly count: number;
  /** Instruction number -> its first row; -1 if it has none. */
  readonly firstRow: Int32Array;
  /** By row: number of the instruction. */
  readonly at: Int32Array;
  /** By row: `Does` bits. */
  readonly does: Uint8Array;
  /** By row: memory that the access may touch (`Mem` bits). */
  readonly memory: Uint8Array;
  /** By row: number of the object that the address is derived from, or `Origin`. */
  readonly object: Int32Array;
  /** By row: number of the linear expression that equals the generic address minus `offset`; -1 if unknown. */
  readonly form: Int32Array;
  readonly offset: Float64Array;
  /** By row: bytes touched; 0 if unknown. */
  readonly bytes: Int32Array;
}

/**
 * The accesses of a function and what is known about their addresses: object, register part, constant distance.
 *
 * A register with one definition that dominates its uses stands for one value. It is followed through sums, shifts,
 * extensions and copies, whatever their opcodes. Any other register is followed only within a block.
 */
export const accessesOf: (fn: Fn, variables: readonly Variable[]) => Accesses = memoPair((fn, variables) =>
  new AddressWalk(fn, provenanceOf(fn, variables)).run(),
);

/** Rows of an instruction: from `firstRow` on, as long as `at` names the instruction. */
export function rowsOf(a: Accesses, n: number): { first: number; end: number } {
  const first = a.firstRow[n];
  if (first < 0) return { first: 0, end: 0 };
  let end = first;
  while (end < a.count && a.at[end] === n) end++;
  return { first, end };
}

/** What an instruction without address operands does to memory anywhere (`Does` bits). */
export const doesSomewhere = ({ op }: Instr): number =>
  ((op.flags & OpFlag.ReadsMemory) !== 0 ? Does.Read : 0) |
  ((op.flags & OpFlag.WritesMemory) !== 0 ? Does.Write : 0);

/** The space named by the instruction's modifier `space`, or the space of its opcode. */
export function spaceOf({ op, mods }: Instr): Space {
  const g = op.groupByName.get('space');
  const named = g?.values[(mods >>> g.shift) & g.mask].name.toLowerCase();
  return SPACES.find((s) => s === named) ?? op.space ?? 'generic';
}

class AddressWalk {
  private readonly fn: Fn;
  private readonly du: DefUse;
  private readonly provenance: Provenance;
  private readonly values: RegisterValues;
  private readonly at: number[] = [];
  private readonly does: number[] = [];
  private readonly memory: number[] = [];
  private readonly object: number[] = [];
  private readonly rowForm: number[] = [];
  private readonly offset: number[] = [];
  private readonly bytes: number[] = [];

  constructor(fn: Fn, provenance: Provenance) {
    this.fn = fn;
    this.du = defUseOf(fn);
    this.provenance = provenance;
    this.values = new RegisterValues(fn, provenance);
  }

  run(): Accesses {
    const { du } = this;
    const { rpo } = cfgOf(this.fn);
    const firstRow = new Int32Array(du.ins.length).fill(-1);
    for (const b of rpo) {
      this.values.enter(b);
      for (let n = du.blockStart[b]; n < du.blockStart[b + 1]; n++) {
        const ins = du.ins[n];
        const before = this.at.length;
        this.addRows(ins, n);
        if (this.at.length > before) firstRow[n] = before;
        this.values.run(ins);
      }
    }
    return {
      fn: this.fn,
      du,
      dominators: dominatorsOf(this.fn),
      objects: this.provenance.objects,
      unshared: this.provenance.unshared,
      forms: this.values.table.forms,
      count: this.at.length,
      firstRow,
      at: Int32Array.from(this.at),
      does: Uint8Array.from(this.does),
      memory: Uint8Array.from(this.memory),
      object: Int32Array.from(this.object),
      form: Int32Array.from(this.rowForm),
      offset: Float64Array.from(this.offset),
      bytes: Int32Array.from(this.bytes),
    };
  }

  // ------------------------------------------------------------------ accesses

  private addRows(ins: Instr, n: number): void {
    if (isCall(ins)) {
      this.row(n, Does.Read | Does.Write | Does.Anywhere | Does.Call, MUTABLE | Mem.Const, Origin.Mixed);
      return;
    }
    const { accesses } = ins.op;
    let ordered = isBarrier(ins) ? VISIBLE : 0;
    if (accesses.length > 0) {
      const strong = isStrong(ins);
      if (isOrdering(ins)) ordered = VISIBLE;
      for (const a of accesses) {
        const does = (a.reads ? Does.Read : 0) | (a.writes ? Does.Write : 0);
        const o = ins.src[a.src];
        if (o.kind === Kind.Addr) {
          const first = this.at.length;
          this.place(ins, n, o, does, a.space, accessBytes(a, ins.mods));
          if (strong) ordered |= this.memory[first];
        } else this.row(n, does, MEMORY_OF[a.space], Origin.Foreign);
      }
    } else {
      const does = doesSomewhere(ins);
      if (does !== 0) this.row(n, does | Does.Anywhere, MEMORY_OF[spaceOf(ins)], Origin.Mixed);
    }
    if (ordered !== 0) this.row(n, Does.Read | Does.Write | Does.Anywhere, ordered, Origin.Mixed);
  }

  private row(n: number, does: number, memory: number, object: number): void {
    this.at.push(n);
    this.does.push(does);
    this.memory.push(memory);
    this.object.push(object);
    this.rowForm.push(-1);
    this.offset.push(0);
    this.bytes.push(0);
  }

  /** Adds the row of an access through an address operand. */
  private place(ins: Instr, n: number, o: Operand, does: number, space: Space, bytes: number): void {
    const { provenance } = this;
    let object: number = Origin.Foreign;
    if (o.reg !== NO_REG) object = provenance.of[regIndex(o.reg)];
    if (o.sym !== '') {
      const named = provenance.named(o.sym);
      object = object === Origin.Foreign && named >= 0 ? named : Origin.Mixed;
    }
    let memory = MEMORY_OF[space];
    if (object >= 0) {
      const own = provenance.objects[object].memory & memory;
      // The object is not in the opcode's memory, so the address does not point to it.
      if (own === 0) object = Origin.Mixed;
      else memory = own;
    }
    if (isReadOnlyLoad(ins)) memory = Mem.Const;
    this.row(n, does, memory, object);
    const at = this.at.length - 1;
    const value = this.values.addressOf(o, space);
    if (value === null) return;
    this.rowForm[at] = value.form;
    this.offset[at] = value.constant;
    this.bytes[at] = bytes;
    if (object >= 0 && this.values.isVariable(value.form))
      this.checkBounds(at, object, value.constant, bytes);
  }

  /** An access that is known to be out of bounds of its variable may go anywhere. */
  private checkBounds(row: number, object: number, offset: number, bytes: number): void {
    const { kind, size } = this.provenance.objects[object];
    if (kind !== 'variable' || size === 0) return;
    if (offset < 0 || offset + bytes > size) this.object[row] = Origin.Mixed;
  }
}
