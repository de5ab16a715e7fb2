import { Unsupported } from '../table/case.ts';
import type { Instruction, Operand, Register, Variable } from '../text/syntax.ts';
import { SyntaxFault } from '../text/tokens.ts';
import { type Type, unsignedOf } from '../values/types.ts';
import { constantBits } from './constant-bits.ts';
import type { Lane } from './lane.ts';
import type { Machine } from './machine.ts';
import { type StateSpace, toGeneric } from './memory.ts';
import { specialRegister } from './special-registers.ts';

/** Reads the bits of an operand. */
export type Read = (lane: Lane) => bigint;
/** Writes the bits of a register. */
export type Write = (lane: Lane, bits: bigint) => void;

/** The offset of a variable; undefined if it is not in this memory. */
export type Offset = (v: Variable) => number | undefined;

/** The operands of one instruction, with their names resolved. */
export class Operands {
  readonly ins: Instruction;
  readonly machine: Machine;
  readonly #inFrame: Offset;
  readonly #inParams: Offset;

  /**
   * @param inFrame the offset of a variable in the frame of its function
   * @param inParams the offset of a kernel parameter in parameter memory
   */
  constructor(machine: Machine, ins: Instruction, inFrame: Offset, inParams: Offset) {
    this.machine = machine;
    this.ins = ins;
    this.#inFrame = inFrame;
    this.#inParams = inParams;
  }

  /** The same context with another instruction. */
  with(ins: Instruction): Operands {
    return new Operands(this.machine, ins, this.#inFrame, this.#inParams);
  }

  get count(): number {
    return this.ins.operands.length;
  }

  at(k: number): Operand {
    const o = this.ins.operands[k];
    if (o === undefined) throw new SyntaxFault(this.ins.line, `${this.ins.opcode} has too few operands`);
    return o;
  }

  /** The register with this name; null if the name denotes something else. */
  register(name: string): Register | null {
    const e = this.ins.scope.find(name);
    return e?.kind === 'register' ? e : null;
  }

  /** A reader of operand `k`, as bits of a type. */
  read(k: number, t: Type): Read {
    return this.reader(this.at(k), t);
  }

  reader(o: Operand, t: Type): Read {
    if (o.kind === 'constant') {
      const bits = constantBits(o.constant, t);
      return () => bits;
    }
    if (o.kind === 'not') {
      const inner = this.reader(o.operand, t);
      return (lane) => inner(lane) ^ 1n;
    }
    if (o.kind === 'name') return this.#named(o, t);
    if (o.kind === 'vector') return this.#packed(o.elements, t);
    throw new Unsupported(`${this.ins.opcode} with an operand of the kind '${o.kind}'`);
  }

  /** Concatenates registers of equal width into one number, the first in its low bits. */
  #packed(elements: readonly Operand[], t: Type): Read {
    const width = t.width / elements.length;
    const one = { ...unsignedOf({ ...t, width: Math.max(8, width) }), width };
    const reads = elements.map((e) => this.reader(e, one));
    return (lane) => reads.reduce((sum, r, k) => sum | (r(lane) << BigInt(k * width)), 0n);
  }

  #named(o: Operand & { kind: 'name' }, t: Type): Read {
    const name = o.selector === '' ? o.name : `${o.name}.${o.selector}`;
    const r = this.register(name);
    if (r !== null) return this.#fromRegister(r, t);
    const special = specialRegister(name);
    if (special !== null) return (lane) => BigInt.asUintN(t.width, special(lane));
    const address = this.address(o.name, o.offset);
    return (lane) => BigInt.asUintN(t.width, address.read(lane));
  }

  #fromRegister({ slot, type, name }: Register, t: Type): Read {
    if (type.width < t.width) throw new SyntaxFault(this.ins.line, `'${name}' is narrower than .${t.name}`);
    if ((type.kind === 'predicate') !== (t.kind === 'predicate'))
      throw new SyntaxFault(this.ins.line, `'${name}' as .${t.name}`);
    if (type.width === t.width) return (lane) => lane.frame.registers[slot];
    return (lane) => BigInt.asUintN(t.width, lane.frame.registers[slot]);
  }

  /** Writes operand `k`, of whose parts `d|p` the second is taken if `second` says so. */
  write(k: number, t: Type): Write {
    return this.writer(this.at(k), t);
  }

  writer(o: Operand, t: Type): Write {
    if (o.kind === 'sink') return () => {};
    if (o.kind === 'vector') return this.#unpacked(o.elements, t);
    const name = o.kind === 'name' ? (o.selector === '' ? o.name : `${o.name}.${o.selector}`) : null;
    const r = name === null ? null : this.register(name);
    if (r === null) throw new SyntaxFault(this.ins.line, `${this.ins.opcode} writes what is no register`);
    const { slot, type } = r;
    if (type.width < t.width) throw new SyntaxFault(this.ins.line, `'${name}' is narrower than .${t.name}`);
    // A wider register is sign- or zero-extended by the type of the instruction (PTX ISA, 9.4.1).
    if (t.kind === 'signed' && type.width > t.width)
      return (lane, bits) => {
        lane.frame.registers[slot] = BigInt.asUintN(type.width, BigInt.asIntN(t.width, bits));
      };
    return (lane, bits) => {
      lane.frame.registers[slot] = BigInt.asUintN(t.width, bits);
    };
  }

  #unpacked(elements: readonly Operand[], t: Type): Write {
    const width = t.width / elements.length;
    const one = { ...unsignedOf({ ...t, width: Math.max(8, width) }), width };
    const writes = elements.map((e) => this.writer(e, one));
    return (lane, bits) => {
      writes.forEach((w, k) => {
        w(lane, bits >> BigInt(k * width));
      });
    };
  }

  /** The address of a variable or function, in its own space. */
  address(name: string, offset: bigint): { readonly space: StateSpace; readonly read: Read } {
    const e = this.ins.scope.find(name);
    if (e?.kind === 'function') {
      const a = this.machine.functionAddress(name) + offset;
      return { space: 'global', read: () => a };
    }
    if (e?.kind !== 'variable') throw new SyntaxFault(this.ins.line, `'${name}' is not declared`);
    const inFrame = this.#inFrame(e);
    if (inFrame !== undefined)
      return { space: 'local', read: (lane) => BigInt(lane.frame.base + inFrame) + offset };
    const inParams = this.#inParams(e);
    const fixed = inParams === undefined ? this.machine.addressOf(e) : BigInt(inParams);
    if (fixed === undefined) throw new SyntaxFault(this.ins.line, `'${name}' has no address here`);
    return { space: e.space, read: () => fixed + offset };
  }

  /**
   * The address of operand `k`, `[register+4]` or `[variable]`, for an instruction with this state space. Parameters and variables of a
   * device function are on its stack.
   */
  memory(k: number, space: StateSpace): { readonly space: StateSpace; readonly read: Read } {
    const o = this.at(k);
    if (o.kind !== 'address') throw new SyntaxFault(this.ins.line, 'an address expected');
    if (o.name === null) return { space, read: () => o.offset };
    const r = this.register(o.name);
    if (r !== null) {
      const { slot } = r;
      const bits = this.machine.module.addressBits;
      return { space, read: (lane) => BigInt.asUintN(bits, lane.frame.registers[slot] + o.offset) };
    }
    const a = this.address(o.name, o.offset);
    if (space === 'generic') return { space, read: (lane) => toGeneric(a.space, a.read(lane)) };
    if (a.space !== space && !(space === 'param' && a.space === 'local'))
      throw new SyntaxFault(this.ins.line, `'${o.name}' is in .${a.space}, not in .${space}`);
    return a;
  }
}
