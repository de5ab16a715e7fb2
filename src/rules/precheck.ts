import type { Draft, Ins } from '../ir/draft/index.ts';
import { Mod } from '../ir/opcode.ts';
import { Kind, NO_REG } from '../ir/operand.ts';
import { type WordGraph, wordsOf } from '../isa/words.ts';
import { diesWith } from './cost.ts';
import type { Instance, Rule } from './rule.ts';
import type { Shape } from './shape.ts';
import { inverseOrder, permuteTable } from './tables.ts';

/**
 * What rules a variant out at the end of its path in the trie, before anything is bound: constants that ought to be equal, operands that
 * others use too, conditions on constants. It allocates nothing, and says no only where binding would.
 *
 * Places are `(line, source)`: the instructions that the walk of the trie has reached, in its order, and one of their operands.
 */
export class Precheck {
  private readonly rule: Rule;
  /** Pairs of places that must hold one constant: at, source, at, source. */
  private readonly equal: Int32Array;
  /** Places whose register nobody else may read. */
  private readonly single: Int32Array;
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
  private known = false;
  /** Two words for each variable. */
  private readonly srcs: Int32Array;
  /** Answers under the last choice of modifiers, by constants: programs use few different ones. 0: empty, 1: no, 2: yes. */
  private readonly answers = new Uint8Array(ANSWERS);
  private readonly asked: Int32Array;

  constructor(rule: Rule, root: Shape) {
    const equal: number[] = [];
    const single: number[] = [];
    const places = new Map<number, { at: number; src: number }>();
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
        if (p.k === 'def') walk(p.shape);
        if (p.k !== 'var' && p.k !== 'const') return;
        const first = places.get(p.v);
        if (first === undefined) places.set(p.v, { at, src });
        if (p.k === 'var') return;
        const permuted = s.table !== null && src === TABLE;
        if (first !== undefined) {
          if (!permuted && orders[p.v] === null) equal.push(first.at, first.src, at, src);
          return;
        }
        this.constants.set([at, src], 2 * p.v);
        if (permuted) orders[p.v] = inverseOrder(s.table!);
      });
    };
    walk(root);
    for (const v of diesWith(rule)) {
      const place = places.get(v);
      if (place !== undefined && rule.vars[v].line < 0) single.push(place.at, place.src);
    }
    this.equal = Int32Array.from(equal);
    this.single = Int32Array.from(single);
    this.orders = orders;
    this.mods = new Int32Array(rule.match.length);
    this.srcs = new Int32Array(rule.vars.length * 2);
    this.asked = new Int32Array(ANSWERS * rule.vars.length * 2);
  }

  /** May the variant match? `reached` holds an instruction for each line of the pattern, in the order of the walk. */
  mayMatch(d: Draft, reached: readonly Ins[]): boolean {
    const { equal, single } = this;
    for (let i = 0; i < equal.length; i += 4) {
      const a = d.at(reached[equal[i]]).src[equal[i + 1]];
      const b = d.at(reached[equal[i + 2]]).src[equal[i + 3]];
      if (a.lo !== b.lo || a.hi !== b.hi) return false;
    }
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
      this.answers.fill(0);
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
    return this.answer();
  }

  /** The condition for the constants in `srcs`, remembered. */
  private answer(): boolean {
    const { srcs, asked, answers } = this;
    let h = 0;
    for (let i = 0; i < srcs.length; i++) h = Math.imul(h ^ srcs[i], 0x9e3779b1);
    h = (h >>> 27) & (ANSWERS - 1);
    const from = h * srcs.length;
    let same = answers[h] !== 0;
    for (let i = 0; i < srcs.length && same; i++) same = asked[from + i] === srcs[i];
    if (!same) {
      this.words!.run(srcs);
      answers[h] = this.words!.lo[this.instance!.constants.dsts[0]] !== 0 ? 2 : 1;
      asked.set(srcs, from);
    }
    return answers[h] === 2;
  }
}

/** Answers that a variant remembers; a power of two. */
const ANSWERS = 16;

/** Place of the truth table among the sources of an opcode that has one. */
const TABLE = 3;
