import { OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, type Reg } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import type { Graph } from '../../isa/lang/graph.ts';
import { defaultValue } from '../../isa/reference.ts';
import { formOfNode, instructionGraph, type LinearForm } from './linear.ts';

/** A truth value in terms of comparisons of linear forms and of predicate registers. */
export type Condition =
  | { readonly kind: 'known'; readonly value: boolean }
  | { readonly kind: 'predicate'; readonly reg: Reg }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'and' | 'or'; readonly a: Condition; readonly b: Condition }
  /** `a = b`, or `a < b` of unsigned or signed numbers. */
  | {
      readonly kind: 'compare';
      readonly test: 'eq' | 'ult' | 'slt';
      readonly a: LinearForm;
      readonly b: LinearForm;
    };

const KNOWN: readonly Condition[] = [
  { kind: 'known', value: false },
  { kind: 'known', value: true },
];

/** The negated condition. */
export const negated = (c: Condition): Condition =>
  c.kind === 'known' ? KNOWN[c.value ? 0 : 1] : c.kind === 'not' ? c.of : { kind: 'not', of: c };

/**
 * The condition that predicate destination `k` of an instruction is the value of, read from the opcode's meaning; null if it is neither
 * a comparison of linear forms nor a combination of such comparisons by and, or, not. The guard is ignored.
 */
export function conditionOf(ins: Instr, k: number): Condition | null {
  if ((ins.op.flags & OpFlag.Pure) === 0 || ins.op.means === null || k >= ins.op.dsts.length) return null;
  const g = instructionGraph(ins);
  return conditionOfNode(ins, g, g.dsts[k]);
}

/**
 * The condition of a node of the instruction's graph, as in `conditionOf`. Meanings of comparisons are only a few
 * operations deep, so recursion is safe.
 */
export function conditionOfNode(ins: Instr, g: Graph, node: number): Condition | null {
  const n = g.nodes[node];
  if (n.width !== 1 || n.fmt !== '') return null;
  const arg = (i: number): Condition | null => conditionOfNode(ins, g, n.args[i]);
  switch (n.op) {
    case 'const':
      return KNOWN[Number(n.value)];
    case 'src': {
      if (n.n >= ins.src.length) return KNOWN[Number(defaultValue(ins.op.srcs[n.n], 1))];
      const o = ins.src[n.n];
      if (o.kind === Kind.Imm) return KNOWN[o.lo & 1];
      return isPredReg(o.reg) ? { kind: 'predicate', reg: o.reg } : null;
    }
    case 'not': {
      const a = arg(0);
      return a === null ? null : negated(a);
    }
    case 'and':
    case 'or':
      return both(n.op, arg(0), arg(1));
    case 'xor':
      return either(arg(0), arg(1));
    case 'ite': {
      const c = arg(0);
      return c?.kind === 'known' ? arg(c.value ? 1 : 2) : null;
    }
    case 'eq': {
      if (g.nodes[n.args[0]].width === 1) {
        const same = either(arg(0), arg(1));
        return same === null ? null : negated(same);
      }
      return compare('eq');
    }
    case 'ult':
    case 'slt':
      return g.nodes[n.args[0]].width === 1 ? null : compare(n.op);
    case 'lop3':
      return table(n.n, [arg(0), arg(1), arg(2)]);
    default:
      return null;
  }

  function compare(test: 'eq' | 'ult' | 'slt'): Condition | null {
    const a = formOfNode(ins, g, n.args[0]);
    const b = a === null ? null : formOfNode(ins, g, n.args[1]);
    return a === null || b === null ? null : { kind: 'compare', test, a, b };
  }
}

/** Exclusive or. One side must be known: the other is kept or negated. */
function either(a: Condition | null, b: Condition | null): Condition | null {
  if (a?.kind === 'known') return b === null ? null : a.value ? negated(b) : b;
  if (b?.kind === 'known') return a === null ? null : b.value ? negated(a) : a;
  return null;
}

function both(kind: 'and' | 'or', a: Condition | null, b: Condition | null): Condition | null {
  // Conjunction or disjunction; a known side decides it, or leaves the other.
  // The deciding value: false in a conjunction, true in a disjunction.
  const decides = kind === 'or';
  if (a?.kind === 'known') return a.value === decides ? a : b;
  if (b?.kind === 'known') return b.value === decides ? b : a;
  return a === null || b === null ? null : { kind, a, b };
}

/** The condition of a truth table; bit 4a+2b+c is the value at a, b, c. At most two inputs may matter. */
function table(lut: number, inputs: readonly (Condition | null)[]): Condition | null {
  const open: number[] = [];
  let fixed = 0;
  for (let i = 0; i < 3; i++) {
    const bit = 4 >> i;
    const c = inputs[i];
    if (c?.kind === 'known') {
      if (c.value) fixed |= bit;
    } else if (matters(lut, bit)) open.push(i);
  }
  const at = (...on: readonly boolean[]): boolean => {
    let row = fixed;
    for (let i = 0; i < open.length; i++) if (on[i]) row |= 4 >> open[i];
    return ((lut >> row) & 1) === 1;
  };
  const [a, b] = [inputs[open[0]] ?? null, inputs[open[1]] ?? null];
  if (open.length === 0) return KNOWN[at() ? 1 : 0];
  if (a === null || open.length > 2) return null;
  const [f, t] = [at(false), at(true)];
  if (open.length === 1) return f === t ? KNOWN[f ? 1 : 0] : t ? a : negated(a);
  if (b === null) return null;
  const rows = [at(false, false), at(false, true), at(true, false), at(true, true)];
  const ones = rows.filter((r) => r).length;
  if (ones !== 1 && ones !== 3) return null;
  const odd = rows.indexOf(ones === 1);
  const literal = (c: Condition, on: boolean): Condition => (on ? c : negated(c));
  // One row set: a conjunction that is true there; all rows but one: a disjunction that is false there.
  return ones === 1
    ? { kind: 'and', a: literal(a, odd >= 2), b: literal(b, odd % 2 === 1) }
    : { kind: 'or', a: literal(a, odd < 2), b: literal(b, odd % 2 === 0) };
}

/** Does the table's value depend on this input? */
function matters(lut: number, bit: number): boolean {
  for (let row = 0; row < 8; row++)
    if ((row & bit) === 0 && ((lut >> row) & 1) !== ((lut >> (row | bit)) & 1)) return true;
  return false;
}
