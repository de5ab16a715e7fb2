import type { Reaching } from '../analysis/reaching.ts';
import type { Ins } from '../ir/draft/index.ts';
import { type Isa, type Opcode, OpFlag } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import { diesWith } from './cost.ts';
import { Precheck } from './precheck.ts';
import type { Rule, Source } from './rule.ts';
import { arrangementsOf, type Choice, chosen, type Variant, variantOf } from './shape.ts';

/**
 * The matcher: one trie for each opcode that a root can have. A node tests one thing (a modifier group, an operand) and
 * branches on the answer, so a thousand rules cost what the few that share an instruction's shape cost. Every order of exchangeable
 * operands is a path of its own. A path is laid as far as instructions have come down it: most of the many that a rule has
 * stay a word at the node where they part.
 */
interface Node {
  /** Paths that come here and are laid no further; null once they are. */
  waiting: Path[] | null;
  /** Rules whose pattern ends here. */
  leaves: readonly Leaf[];
  /** The next test; null where there is nothing more to ask. */
  test: Test | null;
  /** Whatever the answer is. */
  wild: Node | null;
  /** A register of any value. */
  register: Node | null;
  /** A constant, of any value. */
  constant: Node | null;
  /** By constant (its low word) or by modifier value. */
  values: Edges | null;
  /** By opcode and destination of the definition. */
  defs: Edges | null;
  /** The same, where nobody else uses the result. */
  ownDefs: Edges | null;
  /** By place of an earlier operand that this one equals (`placeKey`). */
  same: Edges | null;
}

/** A variant of a rule, where its pattern ends. */
interface Leaf {
  readonly variant: Variant;
  readonly precheck: Precheck;
}

/** Ways on from a node, by key. Most nodes have one or two, which are found faster by looking at each. */
class Edges {
  readonly keys: number[] = [];
  readonly nodes: Node[] = [];
  private index: Map<number, Node> | null = null;

  get(key: number): Node | null {
    if (this.index !== null) return this.index.get(key) ?? null;
    const { keys } = this;
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) return this.nodes[i];
    return null;
  }

  /** The node behind a key; a new one where there is none. */
  open(key: number): Node {
    const known = this.get(key);
    if (known !== null) return known;
    const n = newNode();
    this.keys.push(key);
    this.nodes.push(n);
    if (this.index !== null) this.index.set(key, n);
    else if (this.keys.length > MOST_SCANNED)
      this.index = new Map(this.keys.map((k, i) => [k, this.nodes[i]]));
    return n;
  }
}
const MOST_SCANNED = 8;

/** What a node asks: of the `at`-th instruction reached so far (0: the root), a modifier group or an operand. */
interface Test {
  readonly at: number;
  readonly group: number;
  readonly src: number;
  /** The operand is an address: ask about its base. */
  readonly base: boolean;
}

/** A rule on its way down, with the arrangements chosen so far. */
interface Path {
  readonly rule: Rule;
  readonly rank: number;
  readonly choice: Choice;
  /** Lines reached, as bits, and how many they are. */
  readonly lines: number;
  readonly count: number;
  /** By variable: place and signs of the operand that it was met at first (`placeKey`); -1: not yet. */
  readonly seen: readonly number[];
  /** What is still to be asked; null: nothing. */
  readonly rest: Rest | null;
}

/** What is still to be asked of a line's instruction, and after that of the lines that use it. */
interface Rest {
  readonly at: number;
  readonly op: Opcode;
  readonly fixed: readonly number[];
  readonly src: readonly Source[];
  /** The one source is the base of the instruction's address. */
  readonly base: boolean;
  /** Modifier groups come first, then sources. */
  readonly step: number;
  readonly up: Rest | null;
}

const newNode = (): Node => ({
  waiting: [],
  leaves: NO_LEAVES,
  test: null,
  wild: null,
  register: null,
  constant: null,
  values: null,
  defs: null,
  ownDefs: null,
  same: null,
});
const NO_LEAVES: readonly Leaf[] = [];

/** An operand of a reached instruction, and signs, as one number. */
const placeKey = (at: number, src: number, mods: number): number => (at * 16 + src) * 8 + mods;
const literalKey = (v: bigint): number => Number(BigInt.asIntN(32, v)) >>> 0;
const defKey = (op: Opcode, dst: number): number => op.id * 8 + dst;

/** A set of rules, ready to be looked for. */
export class Trie {
  /** By opcode id. */
  private readonly roots: (Node | null)[];
  /** Rules by the opcode id of their root, until the first instruction of the opcode comes. */
  private readonly coming: ({ rule: Rule; rank: number }[] | null)[];
  private readonly found: Variant[] = [];
  private all = false;
  private readonly reached: Ins[] = [];

  /** @param rules in the order of their precedence */
  constructor(rules: readonly Rule[], isa: Isa) {
    this.roots = isa.opcodes.map(() => null);
    this.coming = isa.opcodes.map(() => null);
    const addressed = isa.opcodes.filter(hasAddress);
    rules.forEach((rule, rank) => {
      for (const op of rule.root === null ? addressed : [rule.root])
        (this.coming[op.id] ??= []).push({ rule, rank });
    });
  }

  /** Is there any rule for the opcode? */
  covers(op: Opcode): boolean {
    return this.roots[op.id] !== null || this.coming[op.id] !== null;
  }

  private rootFor(op: Opcode): Node | null {
    const coming = this.coming[op.id];
    if (coming !== null) {
      this.coming[op.id] = null;
      const root = newNode();
      for (const { rule, rank } of coming) {
        const seen = rule.vars.map(() => -1);
        const start: Path = { rule, rank, choice: 0, lines: 0, count: 0, seen, rest: null };
        addLine(root.waiting!, start, rule.match.length - 1, op, null);
      }
      this.roots[op.id] = root;
    }
    return this.roots[op.id];
  }

  /**
   * Rules whose shape fits the instruction, best first. The array is reused by the next call.
   * @param all also those of which a look at operands and constants shows that they cannot be bound
   */
  candidates(reaching: Reaching, root: Ins, all = false): readonly Variant[] {
    this.all = all;
    const { found, reached } = this;
    found.length = 0;
    const node = this.rootFor(reaching.d.at(root).op);
    if (node === null) return found;
    reached.length = 0;
    reached.push(root);
    this.walk(node, reaching);
    if (found.length > 1) found.sort((a, b) => a.rank - b.rank);
    return found;
  }

  private walk(from: Node, reaching: Reaching): void {
    const { d } = reaching;
    const { reached } = this;
    for (let node: Node | null = from; node !== null; node = node.wild) {
      if (node.waiting !== null) lay(node, node.waiting);
      for (let i = 0; i < node.leaves.length; i++) {
        const { variant, precheck } = node.leaves[i];
        if (this.all || precheck.mayMatch(d, reached)) this.found.push(variant);
      }
      const { test } = node;
      if (test === null) return;
      const at = reached[test.at];
      const ins = d.at(at);
      if (test.group >= 0) {
        const g = ins.op.groups[test.group];
        const next = node.values === null ? null : node.values.get((ins.mods >>> g.shift) & g.mask);
        if (next !== null) this.walk(next, reaching);
        continue;
      }
      const o = ins.src[test.src];
      if (node.same !== null) this.walkSame(node.same, o, this.all && test.at > 0, reaching);
      if (o.kind === Kind.Imm && !test.base) {
        const next = node.values === null ? null : node.values.get(constantKey(o, ins.op, test.src));
        if (next !== null) this.walk(next, reaching);
        if (node.constant !== null) this.walk(node.constant, reaching);
        if (node.register !== null && this.all) this.walk(node.register, reaching);
        continue;
      }
      if (node.register !== null && (o.kind === Kind.Reg || this.all)) this.walk(node.register, reaching);
      if (node.defs === null && node.ownDefs === null) continue;
      if (o.reg === NO_REG || (o.kind !== Kind.Reg && !test.base)) continue;
      const def = reaching.at(o.reg, at);
      if (def < 0) continue;
      const x = d.at(def);
      const key = defKey(x.op, x.dst.length === 1 ? 0 : x.dst.indexOf(o.reg));
      const depth = reached.length;
      if (node.defs !== null) {
        const next = node.defs.get(key);
        if (next !== null) {
          reached.push(def);
          this.walk(next, reaching);
          reached.length = depth;
        }
      }
      if (node.ownDefs !== null && (this.all || d.useCount(o.reg) === 1)) {
        const next = node.ownDefs.get(key);
        if (next !== null) {
          reached.push(def);
          this.walk(next, reaching);
          reached.length = depth;
        }
      }
    }
  }

  /** Goes on where the operand equals an earlier one, signs aside by what the pattern says. */
  private walkSame(same: Edges, o: Operand, anyway: boolean, reaching: Reaching): void {
    const { keys, nodes } = same;
    for (let i = 0; i < keys.length; i++) {
      const place = keys[i] >> 3;
      const e = reaching.d.at(this.reached[place >> 4]).src[place & 15];
      const equal =
        e.reg === o.reg && e.kind === o.kind && e.lo === o.lo && (e.mods ^ o.mods) === (keys[i] & 7);
      if (equal || anyway) this.walk(nodes[i], reaching);
    }
  }
}

// ---------------------------------------------------------------------- laying paths

/** Moves the paths that wait at a node on, past all that none of them asks about, up to the first test. */
function lay(node: Node, waiting: readonly Path[]): void {
  node.waiting = null;
  let paths = waiting;
  // All paths at a node have the same still before them, so they end together.
  while (paths.length > 0 && paths[0].rest !== null && paths.every(asksNothing))
    paths = paths.map((p) => noted(p, p.rest!));
  if (paths.length === 0) return;
  const { rest } = paths[0];
  if (rest === null) {
    node.leaves = [...paths]
      .sort((a, b) => a.rank - b.rank || a.choice - b.choice)
      .map((p) => {
        const variant = variantOf(p.rule, p.rank, p.choice);
        return { variant, precheck: new Precheck(p.rule, variant.root) };
      });
    return;
  }
  node.test = testOf(rest);
  for (const p of paths) advance(node, p, p.rest!);
}

function testOf({ at, op, fixed, base, step }: Rest): Test {
  if (step < fixed.length) return { at, group: step, src: -1, base };
  return { at, group: -1, src: base ? addressSlot(op) : step - fixed.length, base };
}

/** The source that the next step is about; null: a modifier group. */
const sourceOf = ({ fixed, src, step }: Rest): Source | null =>
  step < fixed.length ? null : src[step - fixed.length];

/** Is the next step one that any instruction passes? */
function asksNothing(p: Path): boolean {
  const rest = p.rest!;
  const s = sourceOf(rest);
  if (s === null) return rest.fixed[rest.step] < 0;
  if (s.k !== 'var') return s.k === 'any' || s.k === 'computed' || s.k === 'address';
  if (p.seen[s.v] >= 0) return rest.base;
  const { line } = p.rule.vars[s.v];
  return (line < 0 || (p.lines & (1 << line)) !== 0) && !wantsRegister(p.rule, s.v);
}

/** The path past a step, which has met a variable if the step is about one. */
function noted(p: Path, rest: Rest): Path {
  const s = sourceOf(rest);
  const up = after(rest);
  if (s === null || rest.base || (s.k !== 'var' && s.k !== 'const') || p.seen[s.v] >= 0)
    return { ...p, rest: up };
  const permuted = (rest.op.flags & OpFlag.Table) !== 0 && rest.step - rest.fixed.length === TABLE;
  if (permuted) return { ...p, rest: up };
  const place = placeKey(rest.at, rest.step - rest.fixed.length, s.k === 'var' ? s.mods : 0);
  return { ...p, seen: p.seen.with(s.v, place), rest: up };
}

function advance(node: Node, p: Path, rest: Rest): void {
  const on = noted(p, rest);
  const to = (next: Node): void => void next.waiting!.push(on);
  const wild = (): Node => (node.wild ??= newNode());
  const s = sourceOf(rest);
  if (s === null) {
    const index = rest.fixed[rest.step];
    return to(index < 0 ? wild() : (node.values ??= new Edges()).open(index));
  }
  switch (s.k) {
    case 'const':
      return to((node.constant ??= newNode()));
    case 'literal':
      return to((node.values ??= new Edges()).open(literalKey(s.value)));
    case 'var': {
      const seen = p.seen[s.v];
      if (seen >= 0 && !rest.base) return to((node.same ??= new Edges()).open(seen ^ s.mods));
      const { line, dst } = p.rule.vars[s.v];
      if (line < 0 || (p.lines & (1 << line)) !== 0) {
        if (wantsRegister(p.rule, s.v) && !rest.base) return to((node.register ??= newNode()));
        return to(wild());
      }
      const op = p.rule.match[line].op!;
      const own = diesWith(p.rule).has(s.v);
      const edges = own ? (node.ownDefs ??= new Edges()) : (node.defs ??= new Edges());
      return addLine(edges.open(defKey(op, dst)).waiting!, on, line, op, on.rest);
    }
    default:
      return to(wild());
  }
}

/** Enters a path that has reached a line: one for each arrangement of the line. */
function addLine(waiting: Path[], p: Path, line: number, op: Opcode, up: Rest | null): void {
  const { rule, rank, count } = p;
  const l = rule.match[line];
  arrangementsOf(l).forEach(({ src }, index) => {
    const [a] = src;
    const base = a?.k === 'address';
    const whole = { at: count, op, fixed: l.fixed, src: base ? [a.base] : src, base, step: -1, up };
    waiting.push({
      rule,
      rank,
      choice: p.choice + chosen(line, index),
      lines: p.lines | (1 << line),
      count: count + 1,
      seen: p.seen,
      rest: after(whole),
    });
  });
}

/** What is to be asked after the next step of it. */
const after = (r: Rest): Rest | null =>
  r.step + 1 < r.fixed.length + r.src.length ? { ...r, step: r.step + 1 } : r.up;

/** Variables that a rule wants to be registers. */
const registers = new WeakMap<Rule, ReadonlySet<number>>();
function wantsRegister(rule: Rule, v: number): boolean {
  let wanted = registers.get(rule);
  if (wanted === undefined) {
    const names = rule.structural.flatMap((e) =>
      e.k === 'call' && e.fn === 'isreg' && e.args[0].k === 'name' ? [e.args[0].name] : [],
    );
    wanted = new Set(rule.vars.flatMap((x, i) => (names.includes(x.name) ? [i] : [])));
    registers.set(rule, wanted);
  }
  return wanted.has(v);
}

/** Place of the truth table among the sources of an opcode that has one. */
const TABLE = 3;

/** Literals are told apart by their low word; the check of a candidate looks at all of it. */
const constantKey = (o: Operand, op: Opcode, src: number): number =>
  op.srcs[src]?.bank === 'p' ? (o.lo & 1) ^ (o.mods === 0 ? 0 : 1) : o.lo >>> 0;

const addressSlot = (op: Opcode): number => op.srcs.findIndex((s) => s.kinds === 1 << Kind.Addr);
const hasAddress = (op: Opcode): boolean => addressSlot(op) >= 0;

/** Place of the address among the sources of an opcode; -1 if it has none. */
export const addressAt = addressSlot;
