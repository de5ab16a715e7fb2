import type { Block, Fn, Instr, Program } from '../ir/program.ts';

/**
 * The effect of a phase on the memory of snapshots, in estimated bytes. Snapshots share unchanged objects. Which objects are new and which
 * are gone is exact; only the size of each is estimated (`bytesOfInstr`, `bytesOfBlock`, `bytesOfFn`).
 */
export interface PhaseMemory {
  /** Bytes of functions, blocks and instructions that are in the snapshot after the phase but not in the one before. */
  readonly total: number;
  /** Bytes of those that are in the snapshot before but not in the one after. */
  readonly freeable: number;
  /**
   * The part of `freeable` that the run still holds: all of it if the run keeps every snapshot, otherwise the objects of the input program.
   */
  readonly leaked: number;
}

/** Memory of a whole run. */
export interface RunMemory {
  /** Sums over all phases. */
  readonly summary: PhaseMemory;
  /** Bytes of all objects that the run holds at its end. */
  readonly pool: number;
}

/*
 * Sizes follow the layout of V8 on 64-bit machines without compressed pointers, as in Node: an object takes three words (map, properties,
 * elements) plus one per field; a non-empty array takes four words plus a backing store of two words and one per element. Parts that
 * instructions share (lists of registers, operands) are counted in each of them. Strings, numbers above 2^31, registers, source positions
 * and variables are not counted.
 */
const WORD = 8;
const object = (fields: number): number => WORD * (3 + fields);
const array = (length: number): number => (length === 0 ? 0 : WORD * (4 + 2 + length));

/** Fields of `Instr`, `Operand`, `Block` and `Fn`. */
const INSTR = object(8);
const OPERAND = object(6);
const BLOCK = object(3);
const FN = object(11);

/** Estimated bytes of an instruction with its lists and operands. */
export const bytesOfInstr = (i: Instr): number =>
  INSTR + array(i.dst.length) + array(i.otherwise.length) + array(i.src.length) + OPERAND * i.src.length;

/** Estimated bytes of a block without its instructions. */
export const bytesOfBlock = (b: Block): number => BLOCK + array(b.ins.length);

/** Estimated bytes of a function without its blocks. */
export const bytesOfFn = (f: Fn): number =>
  FN + array(f.blocks.length) + f.tables.reduce((n, t) => n + array(t.length), array(f.tables.length));

/** Estimated bytes of all functions of a program. */
export function bytesOfProgram(p: Program): number {
  let bytes = 0;
  for (const f of new Set(p.functions)) eachPart(f, (_, size) => (bytes += size));
  return bytes;
}

type Part = Fn | Block | Instr;

function eachPart(f: Fn, visit: (part: Part, bytes: number) => void): void {
  visit(f, bytesOfFn(f));
  for (const b of f.blocks) {
    visit(b, bytesOfBlock(b));
    for (const i of b.ins) visit(i, bytesOfInstr(i));
  }
}

/** Tracks the memory of a run, phase by phase. A phase costs time linear in the functions that it changed. */
export class MemoryAccount {
  private readonly input: Program;
  private readonly keepsAll: boolean;
  /** Parts of the input; computed when a phase first drops something. */
  private ofInput: Set<Part> | null = null;
  private readonly sum = { total: 0, freeable: 0, leaked: 0 };

  /** @param keepsAll true if the run holds every snapshot to its end, not only the input and the last one */
  constructor(input: Program, keepsAll: boolean) {
    this.input = input;
    this.keepsAll = keepsAll;
  }

  /** Records a phase and returns its effect. */
  phase(before: Program, after: Program): PhaseMemory {
    if (before === after) return { total: 0, freeable: 0, leaked: 0 };
    const old = new Map<Part, number>();
    const stay = new Set(after.functions);
    const were = new Set(before.functions);
    for (const f of were) if (!stay.has(f)) eachPart(f, (part, bytes) => void old.set(part, bytes));
    const made = new Set<Part>();
    const left = new Set<Part>();
    let total = 0;
    for (const f of stay)
      if (!were.has(f))
        eachPart(f, (part, bytes) => {
          if (old.has(part)) left.add(part);
          else if (!made.has(part)) {
            made.add(part);
            total += bytes;
          }
        });
    let freeable = 0;
    let leaked = 0;
    for (const [part, bytes] of old)
      if (!left.has(part)) {
        freeable += bytes;
        if (this.isHeld(part)) leaked += bytes;
      }
    this.sum.total += total;
    this.sum.freeable += freeable;
    this.sum.leaked += leaked;
    return { total, freeable, leaked };
  }

  /** The totals of the phases so far. */
  get run(): RunMemory {
    const { total, freeable, leaked } = this.sum;
    return {
      summary: { total, freeable, leaked },
      pool: bytesOfProgram(this.input) + total - freeable + leaked,
    };
  }

  private isHeld(part: Part): boolean {
    if (this.keepsAll) return true;
    if (this.ofInput === null) {
      const parts = new Set<Part>();
      for (const f of this.input.functions) eachPart(f, (p) => void parts.add(p));
      this.ofInput = parts;
    }
    return this.ofInput.has(part);
  }
}
