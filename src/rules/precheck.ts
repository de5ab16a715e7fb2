import type { Draft, Ins } from '../ir/draft/index.ts';
import { Mod } from '../ir/opcode.ts';
import { Kind, NO_REG } from '../ir/operand.ts';
import type { Expr } from '../isa/lang/parse.ts';
import { type WordGraph, wordsOf } from '../isa/words.ts';
import type { Instance, Rule } from './rule.ts';
import type { Shape } from './shape.ts';
import { inverseOrder, permuteTable } from './tables.ts';

/**
 * What rules a variant out before anything is bound: operands that ought to be one, results that others use too, conditions on
 * constants. It allocates nothing, and says no only where binding would. Nine candidates of ten end here.
 *
 * Places are `(line, source)`: the instructions that the walk of the trie has reached, in its order, and one of their operands.
 */
export class Precheck {
  private readonly rule: Rule;
  /** Pairs of places that must hold one operand: at, source, at, source, signs that differ. */
  private readonly equal: Int32Array;
  /** Places whose register nobody else may read. */
  private readonly single: Int32Array;
  /** Places that must hold a register. */
  private readonly registers: Int32Array;
  /** By variable that is a constant: place; -1 for the others. */
  private readonly constants: Int32Array;
  /** By variable: order in which a truth table is read; null: as it is. */
  private readonly orders: readonly (readonly number[] | null)[];
  /** By line of the pattern: which of the reached instructions it is. */
  private readonly lines: Int32Array;
  /** The choice of modifiers met last. */
  private readonly mods: Int32Array;
  private instance: Instance | null = null;
  private words: WordGraph | null = null;
  private readonly srcs: Int32Array;
  private known = false;

  constructor(rule: Rule, root: Shape) {
    const equal: number[] = [];
    const single: number[] = [];
    const registers: number[] = [];
    const places = new Map<number, { at: number; src: number; mods: number }>();
    const orders: (readonly number[] | null)[] = rule.vars.map(() => null);
    this.rule = rule;
    this.constants = new Int32Array(rule.vars.length * 2).fill(-1);
    this.lines = new Int32Array(rule.match.length);
    let count = 0;
    const walk = (s: Shape): void => {
      const at = count++;
      this.lines[s.line] = at;
      if (s.op === null) {
        const [a] = s.src;
        if (a.k === 'address' && a.base.k === 'def') walk(a.base.shape);
        return;
      }
      s.src.forEach((p, src) => {
        if (p.k !== 'var' && p.k !== 'const' && p.k !== 'def') return;
        const mods = p.k === 'const' ? 0 : p.mods;
        const permuted = s.table !== null && src === TABLE;
        const first = places.get(p.v);
        if (p.k === 'const') {
          if (first === undefined) {
            this.constants.set([at, src], 2 * p.v);
            if (permuted) orders[p.v] = inverseOrder(s.table!);
          }
          if (permuted) return;
        }
        if (first === undefined) places.set(p.v, { at, src, mods });
        else equal.push(first.at, first.src, at, src, first.mods ^ mods);
        if (p.k === 'def') walk(p.shape);
      });
    };
    walk(root);
    for (const e of rule.structural) {
      const v = askedFor(e, rule);
      const place = v === null ? undefined : places.get(v.v);
      if (v === null || place === undefined) continue;
      (v.what === 'uses' ? single : registers).push(place.at, place.src);
    }
    this.equal = Int32Array.from(equal);
    this.single = Int32Array.from(single);
    this.registers = Int32Array.from(registers);
    this.orders = orders;
    this.mods = new Int32Array(rule.match.length);
    this.srcs = new Int32Array(rule.vars.length * 2);
  }

  /** May the variant match? `reached` holds an instruction for each line of the pattern, in the order of the walk. */
  mayMatch(d: Draft, reached: readonly Ins[]): boolean {
    const { equal, single, registers } = this;
    for (let i = 0; i < equal.length; i += 5) {
      const a = d.at(reached[equal[i]]).src[equal[i + 1]];
      const b = d.at(reached[equal[i + 2]]).src[equal[i + 3]];
      if (a.reg !== b.reg || a.kind !== b.kind || a.lo !== b.lo || (a.mods ^ b.mods) !== equal[i + 4])
        return false;
    }
    for (let i = 0; i < registers.length; i += 2)
      if (d.at(reached[registers[i]]).src[registers[i + 1]].kind !== Kind.Reg) return false;
    for (let i = 0; i < single.length; i += 2) {
      const o = d.at(reached[single[i]]).src[single[i + 1]];
      if (o.reg === NO_REG || d.useCount(o.reg) !== 1) return false;
    }
    return this.holds(d, reached);
  }

  /** Does the condition on constants hold for the modifiers that are there? */
  private holds(d: Draft, reached: readonly Ins[]): boolean {
    const { lines, mods, rule } = this;
    let same = this.known;
    for (let i = 0; i < lines.length; i++) {
      const m = rule.match[i].op === null ? 0 : d.at(reached[lines[i]]).mods;
      if (mods[i] !== m) {
        mods[i] = m;
        same = false;
      }
    }
    if (!same) {
      this.known = true;
      this.instance = rule.instanceFor([...mods]);
      this.words = this.instance === null || this.instance.always ? null : wordsOf(this.instance.constants);
    }
    if (this.instance === null) return false;
    if (this.words === null) return true;
    const { srcs, constants, orders } = this;
    for (let v = 0; 2 * v < constants.length; v++) {
      if (constants[2 * v] < 0) {
        // The offset of an address is seen only when it is bound.
        if (rule.vars[v].kind === 'const') return true;
        continue;
      }
      const o = d.at(reached[constants[2 * v]]).src[constants[2 * v + 1]];
      if (o.kind !== Kind.Imm || (o.mods & (Mod.Neg | Mod.Abs | Mod.Not)) !== 0) return false;
      const order = orders[v];
      srcs[2 * v] = order === null ? o.lo : permuteTable(o.lo & 0xff, order);
      srcs[2 * v + 1] = order === null ? o.hi : 0;
    }
    this.words.run(srcs);
    return this.words.lo[this.instance.constants.dsts[0]] !== 0;
  }
}

/** Place of the truth table among the sources of an opcode that has one. */
const TABLE = 3;

/** The variable that a part of a condition wants used once (`uses(x) == 1`), or to be a register (`isreg(x)`); null for others. */
function askedFor(e: Expr, rule: Rule): { v: number; what: 'uses' | 'isreg' } | null {
  const call = e.k === 'binary' && e.op === '==' && e.b.k === 'int' && e.b.value === 1n ? e.a : e;
  if (call.k !== 'call' || call.fn !== (call === e ? 'isreg' : 'uses')) return null;
  const [arg] = call.args;
  const v = arg?.k === 'name' ? rule.vars.findIndex((x) => x.name === arg.name) : -1;
  return v < 0 ? null : { v, what: call === e ? 'isreg' : 'uses' };
}
