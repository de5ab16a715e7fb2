import { isControl, isPhi } from '../../ir/flow.ts';
import { type Slot, srcSlot } from '../../ir/opcode.ts';
import {
  isPredReg,
  isZero,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  regFile,
} from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';

/** What a target's uniform datapath computes, and which instructions read its registers: the back end's `uniform`. */
export interface UniformFacts {
  readonly operations: readonly string[];
  readonly readers: readonly string[];
  readonly reads: number;
  readonly 'address-spaces': readonly string[];
}

/** Which instructions may write and read uniform registers on a target. */
export class UniformForms {
  private readonly operations: ReadonlySet<string>;
  private readonly readers: ReadonlySet<string>;
  private readonly spaces: ReadonlySet<string>;
  private readonly reads: number;

  constructor(facts: UniformFacts) {
    this.operations = new Set(facts.operations);
    this.readers = new Set(facts.readers);
    this.spaces = new Set(facts['address-spaces']);
    this.reads = facts.reads;
  }

  /** Does the uniform datapath have the instruction, and is every register that it reads and writes uniform? */
  computes(x: Instr, uniform: (r: Reg) => boolean): boolean {
    if (!this.operations.has(x.op.name) || isPhi(x) || isControl(x) || x.otherwise.length > 0) return false;
    if (x.guard !== NO_REG && !uniform(x.guard)) return false;
    // One register, or a register and a predicate.
    if (x.op.dsts.some((s) => s.variadic) && x.dst.length > 1) return false;
    if (!x.dst.some((r) => r !== NO_REG) || !x.dst.every((r) => r === NO_REG || uniform(r))) return false;
    return x.src.every((o) => o.kind !== Kind.Addr && (o.reg === NO_REG || uniform(o.reg)));
  }

  /** The uniform registers among the operands of an instruction outside the uniform datapath that it cannot read there. */
  refuses(x: Instr, uniform: (r: Reg) => boolean): Reg[] {
    const out: Reg[] = [];
    const refuse = (r: Reg): void => {
      if (!out.includes(r)) out.push(r);
    };
    if (x.guard !== NO_REG && uniform(x.guard)) refuse(x.guard);
    for (const r of x.otherwise) if (r !== NO_REG && uniform(r)) refuse(r);
    // An operand that is not a register occupies the slot of one.
    let left = this.reads - x.src.reduce((n, o, k) => n + (this.isExtra(o, srcSlot(x.op, k)) ? 1 : 0), 0);
    for (const o of x.src) {
      if (o.reg === NO_REG || !uniform(o.reg)) continue;
      if (o.kind === Kind.Addr) {
        if (x.op.space === null || !this.spaces.has(x.op.space)) refuse(o.reg);
      } else if (o.kind !== Kind.Reg || isPredReg(o.reg) || !this.readers.has(x.op.name) || left-- <= 0)
        refuse(o.reg);
    }
    return out;
  }

  private isExtra(o: Operand, slot: Slot | undefined): boolean {
    if (slot === undefined || slot.bank !== 'r' || (slot.kinds & (1 << Kind.Reg)) === 0) return false;
    return o.kind !== Kind.Reg && o.kind !== Kind.Addr && !isZero(o);
  }
}

const TO_UNIFORM = new Map<number, number>([
  [RegFile.R, RegFile.UR],
  [RegFile.RD, RegFile.URD],
  [RegFile.P, RegFile.UP],
]);
const FROM_UNIFORM = new Map([...TO_UNIFORM].map(([a, b]): [number, number] => [b, a]));

/** Is it a register of the uniform datapath? */
export const isUniformReg = (r: Reg): boolean => r !== NO_REG && FROM_UNIFORM.has(regFile(r));

/** The register of the same number in the uniform file, or out of it; the register itself if there is none. */
export function inFile(r: Reg, uniform: boolean): Reg {
  if (r === NO_REG) return r;
  const file = (uniform ? TO_UNIFORM : FROM_UNIFORM).get(regFile(r));
  return file === undefined ? r : (r & ~7) | file;
}

/** Has the register a counterpart in the uniform file, or is it one? */
export const mayBeUniform = (r: Reg): boolean => TO_UNIFORM.has(regFile(r)) || FROM_UNIFORM.has(regFile(r));
