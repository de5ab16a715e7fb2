import { hashText } from '../ir/hash.ts';
import type { Isa, Opcode } from '../ir/opcode.ts';
import { OpFlag } from '../ir/opcode.ts';
import { Kind, NO_REG, type Operand } from '../ir/operand.ts';
import type { Flow, Place } from './flow.ts';
import type { Line, Rule, Source } from './rule.ts';
import { ORDERS, permuteTable } from './tables.ts';

/**
 * The matcher: one trie for each opcode that a root can have. A node tests one thing (a modifier group, an operand) and
 * branches on the answer, so a thousand rules cost what the few that share an instruction's shape cost. Every order of exchangeable
 * operands is a path of its own.
 */

/** One order of the exchangeable operands of every line. */
export interface Variant {
  readonly rule: Rule;
  /** Rank of the rule: lower ones win. */
  readonly rank: number;
  /** For each line the place in the instruction of each source of the pattern. */
  readonly orders: readonly (readonly number[] | null)[];
  readonly root: Shape;
  /** Sources of the root that must be one operand, signs aside: found unequal before anything is bound. */
  readonly equal: readonly (readonly [at: number, other: number, mods: number])[];
}

/** A line as it is looked for: the sources stand in the order of the instruction. */
export interface Shape {
  readonly line: number;
  readonly op: Opcode | null;
  readonly fixed: readonly number[];
  readonly src: readonly Part[];
  /** Rearrangement of the truth table, or null. */
  readonly table: readonly number[] | null;
}

export type Part =
  | { readonly k: 'any' }
  | { readonly k: 'var'; readonly v: number; readonly mods: number }
  /** The variable is the result of a line of the pattern. */
  | {
      readonly k: 'def';
      readonly v: number;
      readonly mods: number;
      readonly shape: Shape;
      readonly dst: number;
    }
  | { readonly k: 'const'; readonly v: number }
  | { readonly k: 'literal'; readonly value: bigint }
  | { readonly k: 'address'; readonly base: Part; readonly offset: Part };

/** More orders of one rule's operands than this are refused: a rule of that many symmetric lines is better split. */
export const MOST_VARIANTS = 2000;

/** Orders in which the sources of a line may stand. */
function ordersOf(line: Line): (readonly number[] | null)[] {
  const flags = line.op?.flags ?? 0;
  if ((flags & (OpFlag.Symmetric | OpFlag.Table)) !== 0) return [...ORDERS];
  return (flags & OpFlag.Commutative) !== 0 ? [null, [1, 0]] : [null];
}

/** All variants of a rule, those that look for the same thing in the same places but once. */
export function variantsOf(rule: Rule, rank: number): Variant[] {
  const choices = rule.match.map(ordersOf);
  const total = choices.reduce((n, c) => n * c.length, 1);
  if (total > MOST_VARIANTS)
    throw new RangeError(`rule ${rule.id}: ${total} orders of operands, at most ${MOST_VARIANTS}`);
  const seen = new Set<string>();
  const out: Variant[] = [];
  for (let n = 0; n < total; n++) {
    let rest = n;
    const orders = choices.map((c) => {
      const o = c[rest % c.length];
      rest = Math.floor(rest / c.length);
      return o;
    });
    const root = shapeOf(rule, rule.match.length - 1, orders, new Set());
    const key =
      total === 1
        ? ''
        : JSON.stringify(root, (k, v: unknown) =>
            k === 'op' ? undefined : typeof v === 'bigint' ? String(v) : v,
          );
    if (seen.has(key)) continue;
    seen.add(key);
    out.push({ rule, rank, orders, root, equal: equalities(root) });
  }
  return out;
}

function equalities(root: Shape): [number, number, number][] {
  const out: [number, number, number][] = [];
  const first = new Map<number, { at: number; mods: number }>();
  root.src.forEach((p, at) => {
    if (p.k !== 'var' && p.k !== 'const') return;
    const mods = p.k === 'var' ? p.mods : 0;
    const known = first.get(p.v);
    if (known === undefined) first.set(p.v, { at, mods });
    else out.push([known.at, at, known.mods ^ mods]);
  });
  return out;
}

/** Do the sources agree that a variant wants equal? */
function agrees(v: Variant, src: readonly Operand[]): boolean {
  for (let i = 0; i < v.equal.length; i++) {
    const a = src[v.equal[i][0]];
    const b = src[v.equal[i][1]];
    if (a.reg !== b.reg || a.kind !== b.kind || a.lo !== b.lo || (a.mods ^ b.mods) !== v.equal[i][2])
      return false;
  }
  return true;
}

function shapeOf(
  rule: Rule,
  line: number,
  orders: readonly (readonly number[] | null)[],
  defined: Set<number>,
): Shape {
  const l = rule.match[line];
  const order = orders[line];
  const table = l.op !== null && (l.op.flags & OpFlag.Table) !== 0 && order !== null ? order : null;
  const src: Part[] = [];
  for (let i = 0; i < l.src.length; i++) {
    const s = l.src[order !== null && i < order.length ? order[i] : i];
    if (table !== null && i === 3 && s.k === 'literal')
      src.push({ k: 'literal', value: BigInt(permuteTable(Number(s.value), table)) });
    else src.push(partOf(rule, s, orders, defined));
  }
  return { line, op: l.op, fixed: l.fixed, src, table };
}

function partOf(
  rule: Rule,
  s: Source,
  orders: readonly (readonly number[] | null)[],
  defined: Set<number>,
): Part {
  switch (s.k) {
    case 'var': {
      const { line, dst } = rule.vars[s.v];
      if (line < 0 || defined.has(line)) return s;
      defined.add(line);
      return { k: 'def', v: s.v, mods: s.mods, shape: shapeOf(rule, line, orders, defined), dst };
    }
    case 'address':
      return {
        k: 'address',
        base: partOf(rule, s.base, orders, defined),
        offset: partOf(rule, s.offset, orders, defined),
      };
    case 'computed':
      throw new Error('a computed source in a pattern');
    default:
      return s;
  }
}

// ---------------------------------------------------------------------- the trie

interface Node {
  /** Rules whose pattern ends here. */
  readonly leaves: Variant[];
  /** The next test; null where there is nothing more to ask. */
  test: Test | null;
  /** Whatever the answer is. */
  wild: Node | null;
  /** A constant, of any value. */
  constant: Node | null;
  /** By constant (low and high word as one number) or by modifier value. */
  readonly values: Map<number, Node>;
  /** By opcode and destination of the definition. */
  readonly defs: Map<number, Node>;
}

/** What a node asks: of the `at`-th instruction reached so far (0: the root), a modifier group or an operand. */
interface Test {
  readonly at: number;
  readonly group: number;
  readonly src: number;
  /** The operand is an address: ask about its base. */
  readonly base: boolean;
}

const newNode = (): Node => ({
  leaves: [],
  test: null,
  wild: null,
  constant: null,
  values: new Map(),
  defs: new Map(),
});

const valueKey = (lo: number, hi: number): number => (lo >>> 0) + hi * 4294967296;
const literalKey = (v: bigint): number => Number(BigInt.asIntN(32, v)) >>> 0;
const defKey = (op: Opcode, dst: number): number => op.id * 8 + dst;

/** A compiled set of rules. */
export class Trie {
  /** By opcode id. */
  private readonly roots: (Node | null)[];
  /** Rules whose paths are not laid yet, by opcode id: that is done when the first instruction of the opcode comes. */
  private readonly waiting: ({ rule: Rule; rank: number }[] | null)[];
  private readonly found: Variant[] = [];
  private readonly reached: Place[] = [];
  /** The rules and their precedence, as a text: equal for sets that do the same. */
  readonly identity: string;

  /** @param rules in the order of their precedence */
  constructor(rules: readonly Rule[], isa: Isa) {
    this.roots = isa.opcodes.map(() => null);
    this.identity = hashText(rules.map((r) => r.hash).join());
    this.waiting = isa.opcodes.map(() => null);
    rules.forEach((rule, rank) => {
      const root = rule.match[rule.match.length - 1].op;
      for (const op of root === null ? isa.opcodes.filter(hasAddress) : [root])
        (this.waiting[op.id] ??= []).push({ rule, rank });
    });
  }

  /** Is there any rule for the opcode? */
  covers(op: Opcode): boolean {
    return this.roots[op.id] !== null || this.waiting[op.id] !== null;
  }

  private rootFor(op: Opcode): Node | null {
    const waiting = this.waiting[op.id];
    if (waiting !== null) {
      this.waiting[op.id] = null;
      const root = newNode();
      this.roots[op.id] = root;
      for (const { rule, rank } of waiting) for (const v of variantsOf(rule, rank)) this.insert(root, v, op);
    }
    return this.roots[op.id];
  }

  private insert(node: Node, v: Variant, rootOp: Opcode): void {
    let at = node;
    let count = 0;
    const step = (test: Test, next: (n: Node) => Node): void => {
      at.test ??= test;
      at = next(at);
    };
    const wild = (n: Node): Node => (n.wild ??= newNode());
    const shape = (s: Shape, op: Opcode): void => {
      const me = count++;
      if (s.op !== null)
        s.fixed.forEach((index, group) => {
          step({ at: me, group, src: -1, base: false }, (n) =>
            index < 0 ? wild(n) : child(n.values, index),
          );
        });
      if (s.op === null) {
        const a = s.src[0];
        if (a.k === 'address') part(a.base, me, addressSlot(op), true);
      } else s.src.forEach((p, i) => part(p, me, i, false));
    };
    const part = (p: Part, me: number, src: number, base: boolean): void => {
      step({ at: me, group: -1, src, base }, (n) => {
        switch (p.k) {
          case 'const':
            return (n.constant ??= newNode());
          case 'literal':
            return child(n.values, literalKey(p.value));
          case 'def':
            return child(n.defs, defKey(p.shape.op!, p.dst));
          default:
            return wild(n);
        }
      });
      if (p.k === 'def') shape(p.shape, p.shape.op!);
    };
    shape(v.root, rootOp);
    at.leaves.push(v);
  }

  /** Rules whose shape fits the instruction, best first. The array is reused by the next call. */
  candidates(flow: Flow, root: Place): readonly Variant[] {
    const { found, reached } = this;
    found.length = 0;
    const node = this.rootFor(root.ins.op);
    if (node === null) return found;
    reached.length = 0;
    reached.push(root);
    this.walk(node, flow);
    if (found.length > 1) found.sort((a, b) => a.rank - b.rank);
    return found;
  }

  private walk(node: Node, flow: Flow): void {
    for (let i = 0; i < node.leaves.length; i++)
      if (agrees(node.leaves[i], this.reached[0].ins.src)) this.found.push(node.leaves[i]);
    const { test } = node;
    if (test === null) return;
    const place = this.reached[test.at];
    const { ins } = place;
    if (test.group >= 0) {
      const g = ins.op.groups[test.group];
      const next = node.values.get((ins.mods >>> g.shift) & g.mask);
      if (next !== undefined) this.walk(next, flow);
    } else {
      const o = ins.src[test.src];
      if (o.kind === Kind.Imm && !test.base) {
        const next = node.values.size > 0 ? node.values.get(constantKey(o, ins.op, test.src)) : undefined;
        if (next !== undefined) this.walk(next, flow);
        if (node.constant !== null) this.walk(node.constant, flow);
      } else if (node.defs.size > 0 && o.reg !== NO_REG && (o.kind === Kind.Reg || test.base)) {
        const d = flow.reaching(o.reg, place);
        if (d !== null) {
          const next = node.defs.get(defKey(d.ins.op, d.ins.dst.indexOf(o.reg)));
          if (next !== undefined) {
            const depth = this.reached.length;
            this.reached.push(d);
            this.walk(next, flow);
            this.reached.length = depth;
          }
        }
      }
    }
    if (node.wild !== null) this.walk(node.wild, flow);
  }
}

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
