import type { Draft } from '../ir/draft/index.ts';
import { TABLE_SOURCE } from '../ir/moves.ts';
import { Kind, NO_REG } from '../ir/operand.ts';
import { type WordGraph, wordsOf } from '../isa/words.ts';
import { diesWith } from './cost.ts';
import type { Instance, Rule } from './rule.ts';
import type { Shape } from './shape.ts';
import { inverseOrder, permutedTables } from './tables.ts';

/**
 * A cheap test of a variant whose shape has matched in the automaton, before its variables are bound: it compares constants that must be
 * equal, checks that results have a single use, and evaluates conditions on constants. It rejects only variants that binding would reject
 * too. The modifiers of the last call and their instance are kept, so that memory is allocated only when modifiers change.
 *
 * A place is a pair `(at, source)`: the number of an instruction in the order in which the walk of the automaton reaches them, and the
 * index of one of its operands.
 */
export class Precheck {
  private readonly rule: Rule;
  /** Pairs of places that must hold the same constant: at, source, at, source. */
  private readonly equal: Int32Array;
  /** Places whose register must have no other use. */
  private readonly single: Int32Array;
  /** Constants that the condition reads: variable, at, source. */
  private readonly constants: Int32Array;
  /** For each of these constants: the map from the instruction's truth table to that of the pattern; null: identity. */
  private readonly tables: readonly (Uint8Array | null)[];
  /** The condition reads a constant that has no place, such as an address offset, so that only binding can evaluate it. */
  private readonly blind: boolean;
  /** By line of the pattern: index among the reached instructions; -1: the root is any instruction. */
  private readonly lines: Int32Array;
  /** The modifiers seen last, and the instance that they select. */
  private readonly mods: Int32Array;
  private known = false;
  private instance: Instance | null = null;
  private words: WordGraph | null = null;
  /** Two words for each variable. */
  private readonly srcs: Int32Array;
  /** Direct-mapped cache of the condition's value for that instance, keyed by the constants. 0: empty, 1: no, 2: yes. */
  private answers = NO_ANSWERS;
  /** The keys of the cache: two words for each constant. */
  private keys = NO_KEYS;

  constructor(rule: Rule, root: Shape) {
    const equal: number[] = [];
    const single: number[] = [];
    const places = new Map<number, { at: number; src: number }>();
    const tables = new Map<number, Uint8Array>();
    const constants: number[] = [];
    this.rule = rule;
    this.lines = new Int32Array(rule.match.length);
    let count = 0;
    const walk = (s: Shape): void => {
      const at = count++;
      this.lines[s.line] = s.op === null ? -1 : at;
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
        const permuted = s.table !== null && src === TABLE_SOURCE;
        if (first !== undefined) {
          if (!permuted && !tables.has(p.v)) equal.push(first.at, first.src, at, src);
          return;
        }
        constants.push(p.v, at, src);
        if (permuted) tables.set(p.v, permutedTables(inverseOrder(s.table!)));
      });
    };
    walk(root);
    for (const v of diesWith(rule)) {
      const place = places.get(v);
      if (place !== undefined && rule.vars[v].line < 0) single.push(place.at, place.src);
    }
    this.equal = Int32Array.from(equal);
    this.single = Int32Array.from(single);
    this.constants = Int32Array.from(constants);
    this.tables = constants.flatMap((v, i) => (i % 3 === 0 ? [tables.get(v) ?? null] : []));
    this.blind = rule.vars.filter((x) => x.kind === 'const').length > this.tables.length;
    this.mods = new Int32Array(rule.match.length);
    this.srcs = new Int32Array(rule.vars.length * 2);
  }

  /** May the variant match? `reached` holds the instruction of each line of the pattern, in walk order. */
  mayMatch(d: Draft, reached: Int32Array): boolean {
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

  /** Does the condition on constants hold under the modifiers of the reached instructions? */
  private holds(d: Draft, reached: Int32Array): boolean {
    const { lines, mods } = this;
    let same = this.known;
    for (let i = 0; i < lines.length; i++) {
      if (lines[i] < 0) continue;
      const m = d.at(reached[lines[i]]).mods;
      if (mods[i] === m) continue;
      mods[i] = m;
      same = false;
    }
    if (!same) this.choose();
    if (this.instance === null) return false;
    if (this.words === null) return true;
    return this.answer(d, reached);
  }

  /** Finds the instance for the modifiers. */
  private choose(): void {
    const { rule, mods } = this;
    this.known = true;
    this.instance = rule.instanceFor([...mods]);
    const conditional = this.instance !== null && !this.instance.always && !this.blind;
    this.words = conditional ? wordsOf(this.instance!.constants) : null;
    this.answers.fill(0);
  }

  /** The value of the condition for the constants of the reached instructions, cached. */
  private answer(d: Draft, reached: Int32Array): boolean {
    const { constants, tables, srcs } = this;
    if (this.answers.length === 0) {
      this.answers = new Uint8Array(ANSWERS);
      this.keys = new Int32Array(ANSWERS * tables.length * 2);
    }
    const { keys, answers } = this;
    let h = 0;
    for (let k = 0; k < tables.length; k++) {
      const o = d.at(reached[constants[3 * k + 1]]).src[constants[3 * k + 2]];
      if (o.kind !== Kind.Imm || o.mods !== 0) return false;
      const table = tables[k];
      const lo = table === null ? o.lo : table[o.lo & 0xff];
      const v = constants[3 * k];
      srcs[2 * v] = lo;
      srcs[2 * v + 1] = table === null ? o.hi : 0;
      h = Math.imul(h ^ lo ^ (srcs[2 * v + 1] << 1), 0x9e3779b1);
    }
    h >>>= 32 - ANSWER_BITS;
    const from = h * tables.length * 2;
    let same = answers[h] !== 0;
    for (let k = 0; k < tables.length && same; k++) {
      const v = constants[3 * k];
      same = keys[from + 2 * k] === srcs[2 * v] && keys[from + 2 * k + 1] === srcs[2 * v + 1];
    }
    if (same) return answers[h] === 2;
    for (let k = 0; k < tables.length; k++) {
      const v = constants[3 * k];
      keys[from + 2 * k] = srcs[2 * v];
      keys[from + 2 * k + 1] = srcs[2 * v + 1];
    }
    this.words!.run(srcs);
    const yes = this.words!.lo[this.instance!.constants.dsts[0]] !== 0;
    answers[h] = yes ? 2 : 1;
    return yes;
  }
}

/** Log2 of the size of a variant's cache, indexed by the top bits of a hash. Four times the 256 truth tables of three inputs. */
const ANSWER_BITS = 10;
const ANSWERS = 1 << ANSWER_BITS;
const NO_ANSWERS = new Uint8Array(0);
const NO_KEYS = new Int32Array(0);
