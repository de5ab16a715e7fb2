import { modOf, slotWidth } from '../ir/opcode.ts';
import {
  immValue,
  isPredReg,
  isTrue,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  sameOperand,
} from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { cfgOf } from './cfg.ts';
import { defUseOf, singleDef } from './defuse.ts';
import { dominates, dominatorsOf } from './dominators.ts';

/**
 * Value of a predicate at the end of the block at position `at`: 1 or 0 if it is certain, else -1.
 *
 * Certain means: one unguarded definition, which dominates the block, by a comparison or logic function that gives the
 * same in every execution. That covers what folding leaves behind; it folds nothing itself.
 */
export function knownPredicate(fn: Fn, p: Reg, at: number): -1 | 0 | 1 {
  // Dominance is known between blocks: it says nothing about what stands behind a branch inside one.
  if (cfgOf(fn).midBlockControl) return -1;
  const du = defUseOf(fn);
  const n = singleDef(du, p);
  if (n < 0) return -1;
  const def = du.ins[n];
  const home = du.blockAt[n];
  if (def.guard !== NO_REG || (home !== at && !dominates(dominatorsOf(fn), home, at))) return -1;
  const v = constantPredicate(def, def.dst.indexOf(p));
  return v === null ? -1 : v ? 1 : 0;
}

/** Is there any definition of a predicate that gives the same in every execution? Where not, no edit makes one known. */
export function hasConstantPredicates(fn: Fn): boolean {
  for (const b of fn.blocks)
    for (const x of b.ins)
      for (let k = 0; k < x.dst.length; k++)
        if (isPredReg(x.dst[k]) && constantPredicate(x, k) !== null) return true;
  return false;
}

/** Predicate that destination `k` gets in every execution, or null if that depends. */
function constantPredicate(ins: Instr, k: number): boolean | null {
  if (ins.op.name === 'PLOP3') return constantLogic(ins);
  if (ins.op.name === 'ISETP') return constantComparison(ins, k);
  return null;
}

/** The table gives one and the same bit for every value that the unknown inputs can have. */
function constantLogic(ins: Instr): boolean | null {
  const lut = ins.src[3].lo;
  let zeros = false;
  let ones = false;
  for (let row = 0; row < 8; row++) {
    let possible = true;
    for (let i = 0; i < 3; i++) {
      const o = ins.src[i];
      if (o.kind === Kind.Imm && isTrue(o) !== (((row >> (2 - i)) & 1) === 1)) possible = false;
    }
    if (!possible) continue;
    if (((lut >> row) & 1) === 1) ones = true;
    else zeros = true;
  }
  return ones === zeros ? null : ones;
}

/** Constants compared, or a register compared with itself (integers only: a float may be a NaN). */
function constantComparison(ins: Instr, k: number): boolean | null {
  const { op, mods } = ins;
  const [a, b, c] = ins.src;
  const order = compareOperands(
    a,
    b,
    slotWidth(op, mods, op.srcs[0]),
    modOf(op, mods, 'type').startsWith('S'),
  );
  const compared = order === null ? null : holds(modOf(op, mods, 'cmp'), order) === (k === 0);
  const other = c.kind === Kind.Imm ? isTrue(c) : null;
  switch (modOf(op, mods, 'bool')) {
    case 'AND':
      return compared === false || other === false
        ? false
        : compared === null || other === null
          ? null
          : true;
    case 'OR':
      return compared === true || other === true ? true : compared === null || other === null ? null : false;
    default:
      return compared === null || other === null ? null : compared !== other;
  }
}

function compareOperands(a: Operand, b: Operand, width: number, signed: boolean): number | null {
  if (a.kind === Kind.Reg && sameOperand(a, b)) return 0;
  if (a.kind !== Kind.Imm || b.kind !== Kind.Imm) return null;
  const value = (o: Operand): bigint => {
    const v = immValue(o, width);
    return signed ? BigInt.asIntN(width, v) : v;
  };
  const x = value(a);
  const y = value(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

function holds(cmp: string, order: number): boolean {
  switch (cmp) {
    case 'EQ':
      return order === 0;
    case 'NE':
      return order !== 0;
    case 'LT':
      return order < 0;
    case 'LE':
      return order <= 0;
    case 'GT':
      return order > 0;
    default:
      return order >= 0;
  }
}
