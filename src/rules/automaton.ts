import { memo } from '../ir/memo.ts';
import { TABLE_SOURCE } from '../ir/moves.ts';
import { type Isa, type Opcode, OpFlag } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import { diesWith } from './cost.ts';
import type { Rule, Source } from './rule.ts';
import { arrangementsOf, type Choice, chosen } from './shape.ts';

/**
 * The shapes of a list of rules, as one decision tree for each root opcode. A node tests one modifier group or one operand and branches on
 * its value, so that the cost of matching depends on the rules that share the instruction's shape and not on the number of rules. Each
 * order of commutative operands is a separate path.
 *
 * The trees are stored in one array of numbers. The build writes it next to the rules, so that matching starts without compiling a rule.
 *
 * A node is a word of `Has` bits, followed by one word for each set bit, in the order of the bits:
 *
 *     Leaves      list of leaves: rules whose shape is complete here
 *     Test        the group or operand that the node tests: see `TestWord`
 *     Wild        node that follows for any value
 *     Register    node for a register of any value
 *     Constant    node for a constant of any value
 *     Values      edges by constant (its low word) or by modifier value
 *     Defs        edges by opcode and destination of the definition (`defKey`)
 *     OwnDefs     the same, if nothing else uses the result
 *     Same        edges by the place of an earlier operand that this one equals (`placeKey`)
 *
 * Edges are a count followed by that many (key, node) pairs, by ascending key. Leaves are a count followed by that many entries of
 * `LEAF_WORDS` words: the number of the leaf, the rule's index in the list, and the choice of arrangements in two words of 24 bits.
 */
export interface Automaton {
  /** By opcode id: its root node, or -1. */
  readonly roots: readonly number[];
  readonly code: readonly number[];
  /** Number of leaves. They are numbered in the order in which they appear in `code`. */
  readonly leaves: number;
}

/** Bits of a node's first word: which of the words described above follow it. */
export const Has = {
  Leaves: 1,
  Test: 2,
  Wild: 4,
  Register: 8,
  Constant: 16,
  Values: 32,
  Defs: 64,
  OwnDefs: 128,
  Same: 256,
} as const;

/**
 * Encoding of a test: modifier group or source number `place` of the `at`-th instruction reached so far (0: the root). Bits 0 to 7 hold the
 * place; bit 8 is set for a modifier group, bit 9 for the base of an address; the bits from 10 on hold `at`.
 */
export const TestWord = { Place: 0xff, Group: 0x100, Base: 0x200, At: 10 } as const;

/** Words of one leaf entry: leaf number, rule index, low and high part of the choice. */
export const LEAF_WORDS = 4;
const CHOICE_BITS = 24;
/** The choice of arrangements from its two words. */
export const choiceOf = (low: number, high: number): Choice => high * 2 ** CHOICE_BITS + low;

/** Encodes an operand of a reached instruction, with its sign modifiers, as one number. */
export const placeKey = (at: number, src: number, mods: number): number => (at * 16 + src) * 8 + mods;
/** Encodes a definition's opcode and one of its destinations as one number. */
export const defKey = (op: Opcode, dst: number): number => op.id * 8 + dst;
/** The key of a literal of a pattern: its low word, as for the constants of instructions. Binding compares the whole value. */
const literalKey = (v: bigint): number => Number(BigInt.asIntN(32, v));

/** Index of the address among the sources of an opcode; -1 if it has none. */
export const addressSlot = (op: Opcode): number => op.srcs.findIndex((s) => s.kinds === 1 << Kind.Addr);

/**
 * Builds the automaton of a list of rules; entries of the list may be null.
 * @throws DiagnosticError if the text of a rule has faults
 */
export function buildAutomaton(rules: readonly (Rule | null)[], isa: Isa): Automaton {
  const addressed = isa.opcodes.filter((op) => addressSlot(op) >= 0);
  const starts: (Path[] | null)[] = isa.opcodes.map(() => null);
  rules.forEach((rule, place) => {
    if (rule === null) return;
    const seen = rule.vars.map(() => -1);
    const start: Path = { rule, place, choice: 0, lines: 0, count: 0, seen, rest: null };
    for (const op of rule.root === null ? addressed : [rule.root])
      addLine((starts[op.id] ??= []), start, rule.match.length - 1, op, null);
  });
  const writer = new Writer();
  const roots = starts.map((paths) => (paths === null ? -1 : writer.node(buildTree(paths))));
  return { roots, code: writer.code, leaves: writer.leaves };
}

// ---------------------------------------------------------------------- the tree

/** A node while the tree is built. */
interface Node {
  leaves: readonly Path[];
  test: number;
  wild: Node | null;
  register: Node | null;
  constant: Node | null;
  values: Edges | null;
  defs: Edges | null;
  ownDefs: Edges | null;
  same: Edges | null;
}
type Edges = ReadonlyMap<number, Node>;

/** A rule on its way down the tree under construction, with the arrangements chosen so far. */
interface Path {
  readonly rule: Rule;
  readonly place: number;
  readonly choice: Choice;
  /** Bit set of the lines reached, and their number. */
  readonly lines: number;
  readonly count: number;
  /** By variable: place and signs of the operand that first bound it (`placeKey`); -1: none yet. */
  readonly seen: readonly number[];
  /** What remains to be tested; null: nothing. */
  readonly rest: Rest | null;
}

/** The remaining tests of a line's instruction, followed by those of the lines that use its result (`up`). */
interface Rest {
  readonly at: number;
  readonly op: Opcode;
  readonly fixed: readonly number[];
  readonly src: readonly Source[];
  /** The only source is the base of the instruction's address. */
  readonly base: boolean;
  /** Modifier groups come first, then sources. */
  readonly step: number;
  readonly up: Rest | null;
}

/** Builds the tree of paths that all have the same next test. Steps that every instruction passes are skipped. */
function buildTree(waiting: readonly Path[]): Node {
  let paths = waiting;
  while (paths.length > 0 && paths[0].rest !== null && paths.every(acceptsAll))
    paths = paths.map((p) => afterStep(p, p.rest!));
  const node: Node = {
    leaves: [],
    test: -1,
    wild: null,
    register: null,
    constant: null,
    values: null,
    defs: null,
    ownDefs: null,
    same: null,
  };
  if (paths.length === 0) return node;
  const { rest } = paths[0];
  if (rest === null) {
    node.leaves = [...paths].sort((a, b) => a.place - b.place || a.choice - b.choice);
    return node;
  }
  node.test = testOf(rest);
  const branches = new Branches();
  for (const p of paths) advance(branches, p, p.rest!);
  const below = (paths: readonly Path[]): Node | null => (paths.length === 0 ? null : buildTree(paths));
  const edges = (by: ReadonlyMap<number, Path[]>): Edges | null =>
    by.size === 0
      ? null
      : new Map([...by].sort(([a], [b]) => a - b).map(([key, paths]) => [key, buildTree(paths)]));
  node.wild = below(branches.wild);
  node.register = below(branches.register);
  node.constant = below(branches.constant);
  node.values = edges(branches.values);
  node.defs = edges(branches.defs);
  node.ownDefs = edges(branches.ownDefs);
  node.same = edges(branches.same);
  return node;
}

/** The paths of a node, by the outcome of its test. */
class Branches {
  readonly wild: Path[] = [];
  readonly register: Path[] = [];
  readonly constant: Path[] = [];
  readonly values = new Map<number, Path[]>();
  readonly defs = new Map<number, Path[]>();
  readonly ownDefs = new Map<number, Path[]>();
  readonly same = new Map<number, Path[]>();
}

function openEdge(edges: Map<number, Path[]>, key: number): Path[] {
  let paths = edges.get(key);
  if (paths === undefined) edges.set(key, (paths = []));
  return paths;
}

function testOf({ at, op, fixed, base, step }: Rest): number {
  const place = step < fixed.length ? step : base ? addressSlot(op) : step - fixed.length;
  return (
    (at << TestWord.At) | (base ? TestWord.Base : 0) | (step < fixed.length ? TestWord.Group : 0) | place
  );
}

/** The source that the next step tests; null if it tests a modifier group. */
const sourceOf = ({ fixed, src, step }: Rest): Source | null =>
  step < fixed.length ? null : src[step - fixed.length];

/** Does every instruction pass the next step? */
function acceptsAll(p: Path): boolean {
  const rest = p.rest!;
  const s = sourceOf(rest);
  if (s === null) return rest.fixed[rest.step] < 0;
  if (s.k !== 'var') return s.k === 'any' || s.k === 'computed' || s.k === 'address';
  if (p.seen[s.v] >= 0) return rest.base;
  const { line } = p.rule.vars[s.v];
  return (line < 0 || (p.lines & (1 << line)) !== 0) && !wantedRegisters(p.rule).has(s.v);
}

/** The path after a step; if the step concerns a variable, the variable is now bound. */
function afterStep(p: Path, rest: Rest): Path {
  const s = sourceOf(rest);
  const up = after(rest);
  if (s === null || rest.base || (s.k !== 'var' && s.k !== 'const') || p.seen[s.v] >= 0)
    return { ...p, rest: up };
  const permuted = (rest.op.flags & OpFlag.Table) !== 0 && rest.step - rest.fixed.length === TABLE_SOURCE;
  if (permuted) return { ...p, rest: up };
  const place = placeKey(rest.at, rest.step - rest.fixed.length, s.k === 'var' ? s.mods : 0);
  return { ...p, seen: p.seen.with(s.v, place), rest: up };
}

function advance(branches: Branches, p: Path, rest: Rest): void {
  const on = afterStep(p, rest);
  const s = sourceOf(rest);
  if (s === null) {
    const index = rest.fixed[rest.step];
    (index < 0 ? branches.wild : openEdge(branches.values, index)).push(on);
    return;
  }
  switch (s.k) {
    case 'const':
      branches.constant.push(on);
      return;
    case 'literal':
      openEdge(branches.values, literalKey(s.value)).push(on);
      return;
    case 'var': {
      const seen = p.seen[s.v];
      if (seen >= 0 && !rest.base) {
        openEdge(branches.same, seen ^ s.mods).push(on);
        return;
      }
      const { line, dst } = p.rule.vars[s.v];
      if (line < 0 || (p.lines & (1 << line)) !== 0) {
        (wantedRegisters(p.rule).has(s.v) && !rest.base ? branches.register : branches.wild).push(on);
        return;
      }
      const op = p.rule.match[line].op!;
      const edges = diesWith(p.rule).has(s.v) ? branches.ownDefs : branches.defs;
      addLine(openEdge(edges, defKey(op, dst)), on, line, op, on.rest);
      return;
    }
    default:
      branches.wild.push(on);
  }
}

/** Adds the paths of a path that reaches a line: one for each arrangement of the line. */
function addLine(paths: Path[], p: Path, line: number, op: Opcode, up: Rest | null): void {
  const { rule, place, count } = p;
  const l = rule.match[line];
  arrangementsOf(l).forEach(({ src }, index) => {
    const [a] = src;
    const base = a?.k === 'address';
    const whole = { at: count, op, fixed: l.fixed, src: base ? [a.base] : src, base, step: -1, up };
    paths.push({
      rule,
      place,
      choice: p.choice + chosen(line, index),
      lines: p.lines | (1 << line),
      count: count + 1,
      seen: p.seen,
      rest: after(whole),
    });
  });
}

/** The tests that remain after the next step. */
const after = (r: Rest): Rest | null =>
  r.step + 1 < r.fixed.length + r.src.length ? { ...r, step: r.step + 1 } : r.up;

/** Variables that must be registers, by an `isreg` condition. */
const wantedRegisters = memo((rule: Rule): ReadonlySet<number> => {
  const names = rule.structural.flatMap((e) =>
    e.k === 'call' && e.fn === 'isreg' && e.args[0].k === 'name' ? [e.args[0].name] : [],
  );
  return new Set(rule.vars.flatMap((x, i) => (names.includes(x.name) ? [i] : [])));
});

// ---------------------------------------------------------------------- encoding

/** Writes trees into one array. Children are written before their parent, so that one pass suffices. */
class Writer {
  readonly code: number[] = [];
  leaves = 0;

  node(n: Node): number {
    const words: number[] = [];
    let has = 0;
    const add = (bit: number, word: number): void => {
      has |= bit;
      words.push(word);
    };
    if (n.leaves.length > 0) add(Has.Leaves, this.leafList(n.leaves));
    if (n.test >= 0) add(Has.Test, n.test);
    if (n.wild !== null) add(Has.Wild, this.node(n.wild));
    if (n.register !== null) add(Has.Register, this.node(n.register));
    if (n.constant !== null) add(Has.Constant, this.node(n.constant));
    if (n.values !== null) add(Has.Values, this.edges(n.values));
    if (n.defs !== null) add(Has.Defs, this.edges(n.defs));
    if (n.ownDefs !== null) add(Has.OwnDefs, this.edges(n.ownDefs));
    if (n.same !== null) add(Has.Same, this.edges(n.same));
    return this.append([has, ...words]);
  }

  private edges(e: Edges): number {
    return this.append([e.size, ...[...e].flatMap(([key, n]) => [key, this.node(n)])]);
  }

  private leafList(paths: readonly Path[]): number {
    const low = 2 ** CHOICE_BITS;
    return this.append([
      paths.length,
      ...paths.flatMap((p) => [this.leaves++, p.place, p.choice % low, Math.floor(p.choice / low)]),
    ]);
  }

  private append(words: readonly number[]): number {
    const at = this.code.length;
    this.code.push(...words);
    return at;
  }
}
