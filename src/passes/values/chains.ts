import { hasMod, type Isa, type Opcode, slotWidth } from '../../ir/opcode.ts';
import { imm, isZero, type Operand, RZ } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { AND, AND3, OR, OR3, XOR, XOR3 } from '../../ir/truth-tables.ts';

/** An associative and commutative integer operation; one object for each kind. */
export interface Chain {
  /** Bits of operands and result. */
  readonly width: number;
  /** Most operands of one instruction. */
  readonly arity: 2 | 3;
  /** Combines two constants, modulo the width. */
  readonly combine: (a: bigint, b: bigint) => bigint;
  /** The neutral constant, unsigned; null if there is none of interest. */
  readonly identity: bigint | null;
  readonly op: Opcode;
  readonly mods: number;
  /** Sources of an instruction of two operands or of `arity`. */
  readonly sources: (operands: readonly Operand[]) => readonly Operand[];
}

type Logic = Pick<Chain, 'combine' | 'identity'> & { readonly two: number; readonly three: number };

const LOGIC: readonly Logic[] = [
  { two: AND, three: AND3, combine: (a, b) => a & b, identity: null },
  { two: OR, three: OR3, combine: (a, b) => a | b, identity: 0n },
  { two: XOR, three: XOR3, combine: (a, b) => a ^ b, identity: 0n },
];

/** The kinds of chains in an instruction set. */
export class Chains {
  private readonly add: Opcode;
  private readonly multiply: Opcode;
  private readonly extreme: Opcode;
  private readonly logic: Opcode;
  private readonly chainsByKey = new Map<number, Chain>();

  constructor(isa: Isa) {
    const op = (name: string): Opcode => isa.byName.get(name)!;
    this.add = op('IADD3');
    this.multiply = op('IMAD');
    this.extreme = op('IMNMX');
    this.logic = op('LOP3');
  }

  /** The kind of an instruction; null if it has none, or has operands that cannot be exchanged. */
  of(x: Instr): Chain | null {
    const { op, mods, src } = x;
    let which = 0;
    if (op === this.multiply) {
      if (!isZero(src[2]) || hasMod(op, mods, 'HI')) return null;
    } else if (op === this.logic) {
      which = LOGIC.findIndex(
        ({ two, three }) => src[3].lo === three || (src[3].lo === two && isZero(src[2])),
      );
      if (which < 0) return null;
    } else if (op !== this.add && op !== this.extreme) return null;
    const key = (op.id * 4 + which) * 2 ** 31 + mods;
    let known = this.chainsByKey.get(key);
    if (known === undefined)
      this.chainsByKey.set(key, (known = { op, mods, width: widthOf(x), ...this.made(x, which) }));
    return known;
  }

  private made(x: Instr, which: number): Pick<Chain, 'arity' | 'combine' | 'identity' | 'sources'> {
    const { op, mods } = x;
    if (op === this.add)
      return { arity: 3, combine: (a, b) => a + b, identity: 0n, sources: ([a, b, c = RZ]) => [a, b, c] };
    if (op === this.multiply)
      return { arity: 2, combine: (a, b) => a * b, identity: 1n, sources: ([a, b]) => [a, b, RZ] };
    if (op === this.extreme) {
      const least = hasMod(op, mods, 'MIN');
      const signed = hasMod(op, mods, 'S32') || hasMod(op, mods, 'S64');
      const width = widthOf(x);
      const value = (v: bigint): bigint => (signed ? BigInt.asIntN(width, v) : BigInt.asUintN(width, v));
      return {
        arity: 2,
        combine: (a, b) => (value(a) < value(b) === least ? a : b),
        identity: null,
        sources: (o) => o,
      };
    }
    const { two, three, combine, identity } = LOGIC[which];
    return {
      arity: 3,
      combine,
      identity,
      sources: ([a, b, c]) => (c === undefined ? [a, b, RZ, imm(two)] : [a, b, c, imm(three)]),
    };
  }

  /** The operands that an instruction of a kind combines, without those that only fill a slot. */
  operands(x: Instr, { arity }: Chain): Operand[] {
    const third =
      arity === 3 && (x.op === this.add ? !isZero(x.src[2]) : LOGIC.some((l) => l.three === x.src[3].lo));
    return x.src.slice(0, third ? 3 : 2) as Operand[];
  }
}

const widthOf = (x: Instr): number => slotWidth(x.op, x.mods, x.op.srcs[0]);
