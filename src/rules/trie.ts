import type { Reaching } from '../analysis/reaching.ts';
import type { Ins } from '../ir/draft/index.ts';
import type { Isa, Opcode } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import { Precheck } from './precheck.ts';
import type { Rule, Source } from './rule.ts';
import { arrangementsOf, type Choice, chosen, type Variant, variantOf } from './shape.ts';

/**
 * The matcher: one trie for each opcode that a root can have. A node tests one thing (a modifier group, an operand) and
 * branches on the answer, so a thousand rules cost what the few that share an instruction's shape cost. Every order of exchangeable
 * operands is a path of its own. A path is laid as far as instructions have come down it: most of the many that a rule has
 * stay a word at the node where they part.
 */
/** A variant of a rule, where its pattern ends. */
interface Leaf {
  readonly variant: Variant;
  readonly precheck: Precheck;
}

interface Node {
  /** Paths that come here and are laid no further; null once they are. */
  waiting: Path[] | null;
  /** Rules whose pattern ends here. */
  leaves: readonly Leaf[];
  /** The next test; null where there is nothing more to ask. */
  test: Test | null;
  /** Whatever the answer is. */
  wild: Node | null;
  /** A constant, of any value. */
  constant: Node | null;
  /** By constant (its low word) or by modifier value. */
  values: Map<number, Node> | null;
  /** By opcode and destination of the definition. */
  defs: Map<number, Node> | null;
}

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
  constant: null,
  values: null,
  defs: null,
});
const NO_LEAVES: readonly Leaf[] = [];

const valueKey = (lo: number, hi: number): number => (lo >>> 0) + hi * 4294967296;
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
        const start: Path = { rule, rank, choice: 0, lines: 0, count: 0, rest: null };
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

  private walk(node: Node, reaching: Reaching): void {
    if (node.waiting !== null) lay(node, node.waiting);
    const { d } = reaching;
    for (let i = 0; i < node.leaves.length; i++) {
      const { variant, precheck } = node.leaves[i];
      if (this.all || precheck.mayMatch(d, this.reached)) this.found.push(variant);
    }
    const { test } = node;
    if (test === null) return;
    const place = this.reached[test.at];
    const ins = d.at(place);
    if (test.group >= 0) {
      const g = ins.op.groups[test.group];
      const next = node.values?.get((ins.mods >>> g.shift) & g.mask);
      if (next !== undefined) this.walk(next, reaching);
    } else {
      const o = ins.src[test.src];
      if (o.kind === Kind.Imm && !test.base) {
        const next = node.values?.get(constantKey(o, ins.op, test.src));
        if (next !== undefined) this.walk(next, reaching);
        if (node.constant !== null) this.walk(node.constant, reaching);
      } else if (node.defs !== null && o.reg !== NO_REG && (o.kind === Kind.Reg || test.base)) {
        const def = reaching.at(o.reg, place);
        if (def >= 0) {
          const x = d.at(def);
          const next = node.defs.get(defKey(x.op, x.dst.indexOf(o.reg)));
          if (next !== undefined) {
            const depth = this.reached.length;
            this.reached.push(def);
            this.walk(next, reaching);
            this.reached.length = depth;
          }
        }
      }
    }
    if (node.wild !== null) this.walk(node.wild, reaching);
  }
}

// ---------------------------------------------------------------------- laying paths

/** Moves the paths that wait at a node one test further. */
function lay(node: Node, paths: readonly Path[]): void {
  node.waiting = null;
  const ends: Path[] = [];
  for (const p of paths)
    if (p.rest === null) ends.push(p);
    else {
      node.test ??= testOf(p.rest);
      advance(node, p, p.rest);
    }
  if (ends.length > 0)
    node.leaves = ends
      .sort((a, b) => a.rank - b.rank || a.choice - b.choice)
      .map((p) => {
        const variant = variantOf(p.rule, p.rank, p.choice);
        return { variant, precheck: new Precheck(p.rule, variant.root) };
      });
}

function testOf({ at, op, fixed, base, step }: Rest): Test {
  if (step < fixed.length) return { at, group: step, src: -1, base };
  return { at, group: -1, src: base ? addressSlot(op) : step - fixed.length, base };
}

function advance(node: Node, p: Path, rest: Rest): void {
  const up = after(rest);
  const to = (next: Node): void => void next.waiting!.push({ ...p, rest: up });
  const wild = (): Node => (node.wild ??= newNode());
  if (rest.step < rest.fixed.length) {
    const index = rest.fixed[rest.step];
    return to(index < 0 ? wild() : child((node.values ??= new Map()), index));
  }
  const s = rest.src[rest.step - rest.fixed.length];
  switch (s.k) {
    case 'const':
      return to((node.constant ??= newNode()));
    case 'literal':
      return to(child((node.values ??= new Map()), literalKey(s.value)));
    case 'var': {
      const { line, dst } = p.rule.vars[s.v];
      if (line < 0 || (p.lines & (1 << line)) !== 0) return to(wild());
      const op = p.rule.match[line].op!;
      return addLine(child((node.defs ??= new Map()), defKey(op, dst)).waiting!, p, line, op, up);
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
      rest: after(whole),
    });
  });
}

/** What is to be asked after the next step of it. */
const after = (r: Rest): Rest | null =>
  r.step + 1 < r.fixed.length + r.src.length ? { ...r, step: r.step + 1 } : r.up;

const child = (m: Map<number, Node>, key: number): Node => {
  let n = m.get(key);
  if (n === undefined) m.set(key, (n = newNode()));
  return n;
};

/** Literals are told apart by their low word; the check of a candidate looks at all of it. */
const constantKey = (o: Operand, op: Opcode, src: number): number =>
  op.srcs[src]?.bank === 'p' ? (o.lo & 1) ^ (o.mods === 0 ? 0 : 1) : valueKey(o.lo, 0);

const addressSlot = (op: Opcode): number => op.srcs.findIndex((s) => s.kinds === 1 << Kind.Addr);
const hasAddress = (op: Opcode): boolean => addressSlot(op) >= 0;

/** Place of the address among the sources of an opcode; -1 if it has none. */
export const addressAt = addressSlot;
