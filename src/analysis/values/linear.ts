import { OpFlag, slotWidth } from '../../ir/opcode.ts';
import { immValue, Kind, type Operand, sameOperand, withOperandMods } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import type { Graph } from '../../isa/lang/graph.ts';
import { graphOf, isConstantSlot } from '../../isa/meaning.ts';
import { extend, type Factor, polynomialsOf } from '../../isa/polynomial.ts';
import { defaultValue } from '../../isa/reference.ts';

/** One term of a linear form: `coefficient` times the low `bits` bits of the operand, extended to the form's width. */
export interface LinearTerm {
  /** A register, constant-bank or symbol operand, without modifiers, which are part of the coefficient. */
  readonly operand: Operand;
  /** Modulo 2^width, unsigned, not 0. */
  readonly coefficient: bigint;
  /** Number of low bits of the operand used; the width of the form if nothing is extended. */
  readonly bits: number;
  /** Whether the bits are sign-extended; false if nothing is extended. */
  readonly signed: boolean;
}

/** A value as the sum of its terms and a constant, modulo 2^width. */
export interface LinearForm {
  readonly width: number;
  readonly terms: readonly LinearTerm[];
  /** Unsigned. */
  readonly constant: bigint;
}

/**
 * The value of destination `k` of an instruction as a linear form of its operands; null if the opcode's meaning is
 * not linear in the operands that are not constant. Exact, including wrap-around. The guard is ignored.
 */
export function linearForm(ins: Instr, k = 0): LinearForm | null {
  if ((ins.op.flags & OpFlag.Pure) === 0 || ins.op.means === null || k >= ins.op.dsts.length) return null;
  const g = instructionGraph(ins);
  return formOfNode(ins, g, g.dsts[k]);
}

/**
 * The graph of an instruction's meaning. Only slots that take nothing but constants are folded in, so instructions
 * that differ in other constants share one graph.
 * @throws Error if the opcode has no meaning
 */
export function instructionGraph(ins: Instr): Graph {
  const { op, mods, src } = ins;
  let srcMods = 0;
  let constant = 0;
  let constants = 0;
  for (let i = 0; i < src.length; i++) {
    srcMods |= src[i].mods << (3 * i);
    if (i >= op.srcs.length || !isConstantSlot(op.srcs[i])) continue;
    constant = src[i].lo;
    constants++;
  }
  // The key packs modifiers, 12 bits of source modifiers and one byte of a constant into the 53 bits of an exact
  // number.
  const keyed = src.length <= 4 && constants <= 1 && constant >= 0 && constant < 256;
  const key = (mods * 4096 + srcMods) * 256 + constant;
  let byKey = graphs.get(op);
  if (byKey === undefined) graphs.set(op, (byKey = new Map()));
  let g = keyed ? byKey.get(key) : undefined;
  if (g === undefined) {
    g = graphOf({
      op,
      mods,
      srcMods: src.map((o) => o.mods),
      consts: op.srcs.map((s, i) => (isConstantSlot(s) ? (src[i]?.lo ?? 0) : null)),
    });
    if (keyed) byKey.set(key, g);
  }
  return g;
}
const graphs = new WeakMap<Instr['op'], Map<number, Graph>>();

/** Linear form of a node of the instruction's graph, as `linearForm`. */
export function formOfNode(ins: Instr, g: Graph, node: number): LinearForm | null {
  const polynomial = polynomialsOf(g)[node];
  if (polynomial === null) return null;
  const { width } = g.nodes[node];
  const terms: LinearTerm[] = [];
  let constant = 0n;
  for (let i = 0; i < polynomial.length; i++) {
    const { factors, shift } = polynomial[i];
    let { coefficient } = polynomial[i];
    if (shift >= 0) {
      const amount = constantOf(ins, shift);
      if (amount === null) return null;
      coefficient = amount >= BigInt(width) ? 0n : coefficient << amount;
    }
    let variable: Factor | null = null;
    for (let f = 0; f < factors.length; f++) {
      const value = constantOf(ins, factors[f].src);
      if (value !== null) coefficient *= extend(value, factors[f].bits, factors[f].signed);
      else if (variable === null) variable = factors[f];
      else return null;
    }
    coefficient = BigInt.asUintN(width, coefficient);
    if (variable === null) constant += coefficient;
    else if (coefficient !== 0n) {
      const o = ins.src[variable.src];
      if (o.kind !== Kind.Reg && o.kind !== Kind.CBank && o.kind !== Kind.Sym) return null;
      addTerm(terms, width, withOperandMods(o, 0), coefficient, variable.bits, variable.signed);
    }
  }
  return { width, terms, constant: BigInt.asUintN(width, constant) };
}

/** Value of a source that is a constant, else null. */
function constantOf(ins: Instr, src: number): bigint | null {
  const { op, mods } = ins;
  const slot = op.srcs[src];
  const width = slotWidth(op, mods, slot);
  if (src >= ins.src.length) return defaultValue(slot, width);
  const o = ins.src[src];
  return o.kind === Kind.Imm ? immValue(o, width) : null;
}

/** Adds a term to a list being built; equal operands are merged. */
export function addTerm(
  terms: LinearTerm[],
  width: number,
  operand: Operand,
  coefficient: bigint,
  bits: number,
  signed: boolean,
): void {
  const narrow = bits < width;
  for (let i = 0; i < terms.length; i++) {
    const t = terms[i];
    if (t.bits !== bits || t.signed !== (narrow && signed) || !sameOperand(t.operand, operand)) continue;
    const sum = BigInt.asUintN(width, t.coefficient + coefficient);
    if (sum === 0n) terms.splice(i, 1);
    else terms[i] = { operand, coefficient: sum, bits, signed: t.signed };
    return;
  }
  terms.push({ operand, coefficient, bits, signed: narrow && signed });
}
