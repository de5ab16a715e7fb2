import type { Reaching } from '../analysis/values/reaching.ts';
import type { Ins } from '../ir/draft/index.ts';
import type { Isa, Opcode } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import { type Automaton, buildAutomaton, choiceOf, defKey, Has, LEAF_WORDS, TestWord } from './automaton.ts';
import { Precheck } from './precheck.ts';
import type { Rule } from './rule.ts';
import { type Variant, variantOf } from './shape.ts';
import { MOST_LINES } from './syntax.ts';

/** A leaf of the automaton: a variant of a rule whose shape is complete there. */
interface Leaf {
  readonly variant: Variant;
  readonly precheck: Precheck;
}

/** Rules with the automaton that matches them. Every set that contains rules of a document shares the document's index. */
export interface RuleIndex {
  /** By index in the automaton; null: no rule. */
  readonly rules: readonly (Rule | null)[];
  readonly automaton: Automaton;
  /** By leaf number; filled when the shape first matches, which is when the rule is compiled. */
  readonly leaves: (Leaf | undefined)[];
}

/**
 * Makes the index of a list of rules.
 * @param automaton the automaton of exactly these rules, if the build made one; by default it is built here
 * @throws DiagnosticError if it is built here and the text of a rule has faults
 */
export const indexRules = (
  rules: readonly (Rule | null)[],
  isa: Isa,
  automaton: Automaton = buildAutomaton(rules, isa),
): RuleIndex => ({ rules, automaton, leaves: new Array<Leaf | undefined>(automaton.leaves) });

/** One index of a set, with the ranks of those of its rules that belong to the set. */
interface Part extends RuleIndex {
  /** By index: rank of the rule in the set, lower ranks win; -1: it is not in the set. */
  readonly rank: Int32Array;
}

/** A set of rules, ready for matching. */
export class Matcher {
  private readonly parts: readonly Part[];
  /** Candidates of the current query, and their ranks. */
  private readonly found: Variant[] = [];
  private readonly ranks: number[] = [];
  private all = false;
  /** Instructions on the current path of the walk: the root, then definitions, one for each line of a pattern. */
  private readonly reached = new Int32Array(MOST_LINES);
  private depth = 0;

  /**
   * @param rules in order of precedence
   * @param indexes the indexes of these rules: together they cover every rule
   */
  constructor(rules: readonly Rule[], indexes: readonly RuleIndex[]) {
    const rankOf = new Map(rules.map((r, rank) => [r, rank]));
    this.parts = indexes.map(({ rules, automaton, leaves }) => ({
      rules,
      automaton,
      leaves,
      rank: Int32Array.from(rules, (r) => (r === null ? -1 : (rankOf.get(r) ?? -1))),
    }));
  }

  /** A matcher of rules in order of precedence, with an index of its own. @throws DiagnosticError if a rule has faults */
  static of(rules: readonly Rule[], isa: Isa): Matcher {
    return new Matcher(rules, [indexRules(rules, isa)]);
  }

  /** Does any indexed rule have the opcode as its root? */
  covers(op: Opcode): boolean {
    const { parts } = this;
    for (let i = 0; i < parts.length; i++) if (parts[i].automaton.roots[op.id] >= 0) return true;
    return false;
  }

  /**
   * Variants whose shape fits the instruction, best first. The next call reuses the array.
   * @param all whether to include rules that fail only on equal operands, use counts or conditions on constants
   * @throws DiagnosticError if the text of a rule whose shape fits has faults
   */
  candidates(reaching: Reaching, root: Ins, all = false): readonly Variant[] {
    this.all = all;
    const { parts, found, reached } = this;
    // Setting an array's length costs as much as visiting a node, and the array is usually empty.
    if (found.length > 0) found.length = 0;
    const op = reaching.d.at(root).op.id;
    for (let i = 0; i < parts.length; i++) {
      const node = parts[i].automaton.roots[op];
      if (node < 0) continue;
      reached[0] = root;
      this.depth = 1;
      this.walk(parts[i], node, reaching);
    }
    return found;
  }

  private walk(part: Part, from: number, reaching: Reaching): void {
    const { d } = reaching;
    const { reached } = this;
    const { code } = part.automaton;
    for (let node = from; node >= 0; ) {
      const has = code[node];
      let p = node + 1;
      if ((has & Has.Leaves) !== 0) this.meet(part, code[p++], reaching);
      if ((has & Has.Test) === 0) return;
      const test = code[p++];
      const wild = (has & Has.Wild) === 0 ? -1 : code[p++];
      const register = (has & Has.Register) === 0 ? -1 : code[p++];
      const constant = (has & Has.Constant) === 0 ? -1 : code[p++];
      const values = (has & Has.Values) === 0 ? -1 : code[p++];
      const defs = (has & Has.Defs) === 0 ? -1 : code[p++];
      const ownDefs = (has & Has.OwnDefs) === 0 ? -1 : code[p++];
      node = wild;
      const at = reached[test >> TestWord.At];
      const place = test & TestWord.Place;
      const ins = d.at(at);
      if ((test & TestWord.Group) !== 0) {
        const g = ins.op.groups[place];
        const next = values < 0 ? -1 : follow(code, values, (ins.mods >>> g.shift) & g.mask);
        if (next >= 0) this.walk(part, next, reaching);
        continue;
      }
      const base = (test & TestWord.Base) !== 0;
      const o = ins.src[place];
      if ((has & Has.Same) !== 0)
        this.walkSame(part, code[p], o, this.all && test >> TestWord.At > 0, reaching);
      if (o.kind === Kind.Imm && !base) {
        const next = values < 0 ? -1 : follow(code, values, constantKey(o, ins.op, place));
        if (next >= 0) this.walk(part, next, reaching);
        if (constant >= 0) this.walk(part, constant, reaching);
        if (register >= 0 && this.all) this.walk(part, register, reaching);
        continue;
      }
      if (register >= 0 && (o.kind === Kind.Reg || this.all)) this.walk(part, register, reaching);
      if (defs < 0 && ownDefs < 0) continue;
      if (o.reg === NO_REG || (o.kind !== Kind.Reg && !base)) continue;
      const def = reaching.at(o.reg, at);
      if (def < 0) continue;
      const x = d.at(def);
      const key = defKey(x.op, x.dst.length === 1 ? 0 : x.dst.indexOf(o.reg));
      if (defs >= 0) {
        const next = follow(code, defs, key);
        if (next >= 0) {
          reached[this.depth++] = def;
          this.walk(part, next, reaching);
          this.depth--;
        }
      }
      if (ownDefs >= 0 && (this.all || d.useCount(o.reg) === 1)) {
        const next = follow(code, ownDefs, key);
        if (next >= 0) {
          reached[this.depth++] = def;
          this.walk(part, next, reaching);
          this.depth--;
        }
      }
    }
  }

  /** Continues along each edge whose earlier operand equals this one, with the difference of signs that the edge states. */
  private walkSame(part: Part, edges: number, o: Operand, anyway: boolean, reaching: Reaching): void {
    const { code } = part.automaton;
    const end = edges + 1 + 2 * code[edges];
    for (let i = edges + 1; i < end; i += 2) {
      const place = code[i] >> 3;
      const e = reaching.d.at(this.reached[place >> 4]).src[place & 15];
      const equal =
        e.reg === o.reg && e.kind === o.kind && e.lo === o.lo && (e.mods ^ o.mods) === (code[i] & 7);
      if (equal || anyway) this.walk(part, code[i + 1], reaching);
    }
  }

  /** Collects the rules of a leaf list that belong to the set and that the precheck does not reject. */
  private meet(part: Part, list: number, reaching: Reaching): void {
    const { automaton, rank, leaves } = part;
    const { code } = automaton;
    const end = list + 1 + LEAF_WORDS * code[list];
    for (let i = list + 1; i < end; i += LEAF_WORDS) {
      const r = rank[code[i + 1]];
      if (r < 0) continue;
      const leaf = (leaves[code[i]] ??= newLeaf(part, i));
      if (this.all || leaf.precheck.mayMatch(reaching.d, this.reached)) this.take(leaf.variant, r);
    }
  }

  /** Inserts a candidate by rank; variants of one rule stay in the order in which they are found. */
  private take(v: Variant, rank: number): void {
    const { found, ranks } = this;
    let i = found.length;
    while (i > 0 && ranks[i - 1] > rank) {
      found[i] = found[i - 1];
      ranks[i] = ranks[i - 1];
      i--;
    }
    found[i] = v;
    ranks[i] = rank;
  }
}

function newLeaf({ rules, automaton }: RuleIndex, at: number): Leaf {
  const { code } = automaton;
  const rule = rules[code[at + 1]]!;
  const variant = variantOf(rule, choiceOf(code[at + 2], code[at + 3]));
  return { variant, precheck: new Precheck(rule, variant.root) };
}

/** Number of edges up to which the search is linear; above, it is binary. */
const MOST_SCANNED = 8;

/** The node that a key leads to, -1 if there is none. Keys ascend. */
function follow(code: readonly number[], edges: number, key: number): number {
  let low = edges + 1;
  let count = code[edges];
  while (count > MOST_SCANNED) {
    const half = count >> 1;
    if (code[low + 2 * half] <= key) {
      low += 2 * half;
      count -= half;
    } else count = half;
  }
  for (const end = low + 2 * count; low < end; low += 2) if (code[low] === key) return code[low + 1];
  return -1;
}

/** The key of a constant operand: its low word. Binding compares the whole value. */
const constantKey = (o: Operand, op: Opcode, src: number): number =>
  op.srcs[src]?.bank === 'p' ? (o.lo & 1) ^ (o.mods === 0 ? 0 : 1) : o.lo;
