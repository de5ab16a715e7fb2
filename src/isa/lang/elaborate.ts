import { didYouMean } from '../../ir/diagnostic.ts';
import { Mod, type ModGroup, type ModValue, type Opcode, type Slot, slotWidth } from '../../ir/opcode.ts';
import { Kind } from '../../ir/operand.ts';
import { TextError } from '../../ir/text-error.ts';
import { FORMATS, PACKED } from '../formats.ts';
import { BUILTINS } from './builtins.ts';
import { evalNode } from './evaluate.ts';
import { type Graph, GraphBuilder } from './graph.ts';
import type { Assign, Expr } from './parse.ts';
import { bitsOf, type Scope, type Value } from './values.ts';

/** The modifiers and constants for which a meaning is specialised. */
export interface Specialisation {
  readonly op: Opcode;
  readonly mods: number;
  /** `Mod` bits of each source; missing ones are 0. */
  readonly srcMods: readonly number[];
  /** Values of sources that are part of the specialisation (constants), null or missing elsewhere. */
  readonly consts: readonly (bigint | number | null)[];
}

/** Does the slot accept only constants? Their values are then part of a specialisation. */
export const isConstantSlot = (s: Slot): boolean => s.kinds === 1 << Kind.Imm;

/**
 * Elaborates a meaning for one choice of modifiers and constants.
 * @throws TextError on unknown names, different widths, missing destinations
 */
export function elaborate(meaning: readonly Assign[], spec: Specialisation): Graph {
  return new Elaborator(spec).run(meaning);
}

class Elaborator implements Scope {
  readonly b: GraphBuilder;
  private readonly spec: Specialisation;
  private readonly locals = new Map<string, Value>();

  constructor(spec: Specialisation) {
    this.spec = spec;
    this.b = new GraphBuilder(evalNode);
  }

  run(meaning: readonly Assign[]): Graph {
    const { op, mods } = this.spec;
    const dsts: number[] = op.dsts.map(() => -1);
    for (const a of meaning) {
      const k = op.dsts.findIndex((d) => d.name === a.name);
      if (this.locals.has(a.name)) throw new TextError(`'${a.name}' is assigned twice`, a.at);
      if (op.srcs.some((s) => s.name === a.name) || op.groupByName.has(a.name))
        throw new TextError(`'${a.name}' is an operand or a modifier; a local needs another name`, a.at);
      if (k < 0) {
        this.locals.set(a.name, this.eval(a.value, null));
        continue;
      }
      const width = slotWidth(op, mods, op.dsts[k]);
      const id = this.bits(this.eval(a.value, width), width, a.value.at);
      if (this.b.width(id) !== width)
        throw new TextError(`'${a.name}' has ${width} bits, the expression ${this.b.width(id)}`, a.at, 1, [
          `write zext(..., width(${a.name})) or sext(..., width(${a.name})) for a narrower value`,
        ]);
      dsts[k] = id;
      this.locals.set(a.name, { k: 'bits', id, float: null });
    }
    const missing = op.dsts.filter((_, k) => dsts[k] < 0).map((d) => `'${d.name}'`);
    if (missing.length > 0) throw new TextError(`no value for destination ${missing.join(', ')}`, 0);
    return { nodes: this.b.nodes, dsts, srcWidths: op.srcs.map((s) => slotWidth(op, mods, s)) };
  }

  // ------------------------------------------------------------------ expressions

  /** Value of an expression; `want` is the width that the context expects, if known. */
  eval(e: Expr, want: number | null): Value {
    switch (e.k) {
      case 'int':
        return { k: 'int', value: e.value };
      case 'name':
        return this.name(e.name, e.at);
      case 'unary':
        return this.unary(e.op, this.eval(e.a, e.op === '!' ? 1 : want), want, e.at);
      case 'binary':
        return this.binary(e.op, e.a, e.b, want, e.at);
      case 'cond':
        return this.conditional(e.c, e.a, e.b, want);
      case 'call': {
        const f = BUILTINS.get(e.fn);
        if (f === undefined)
          throw new TextError(`unknown function '${e.fn}'`, e.at, 1, didYouMean(e.fn, BUILTINS.keys()));
        if (e.args.length < f.least || e.args.length > f.names.length)
          throw new TextError(`${e.fn}(${f.names.join(', ')}) got ${e.args.length} arguments`, e.at);
        return f.make(this, e.args, want, e.at);
      }
    }
  }

  private name(name: string, at: number): Value {
    const { op, mods } = this.spec;
    const local = this.locals.get(name);
    if (local !== undefined) return local;
    const k = op.srcs.findIndex((s) => s.name === name);
    if (k >= 0) return { k: 'bits', id: this.source(k), float: null };
    const g = op.groupByName.get(name);
    if (g !== undefined) {
      const v = g.values[(mods >>> g.shift) & g.mask];
      return { k: 'name', name: v.name, type: v.type, group: g };
    }
    if (name === 'true' || name === 'false') return { k: 'bool', value: name === 'true' };
    if (isBareName(op, name)) return { k: 'name', name, type: null, group: null };
    throw new TextError(`unknown name '${name}'`, at, 1, didYouMean(name, this.names()));
  }

  private names(): string[] {
    const { op } = this.spec;
    return [
      ...this.locals.keys(),
      ...op.srcs.map((s) => s.name),
      ...op.groups.flatMap((g) => [g.name, ...g.values.map((v) => v.name)]),
    ];
  }

  /** Number of the source operand that a bare name refers to, or -1. */
  sourceIndex(e: Expr): number {
    if (e.k !== 'name' || this.locals.has(e.name)) return -1;
    return this.spec.op.srcs.findIndex((s) => s.name === e.name);
  }

  /** Width of a destination or source by name, or null. */
  slotWidthOf(name: string): number | null {
    const { op, mods } = this.spec;
    const s = op.dsts.find((d) => d.name === name) ?? op.srcs.find((d) => d.name === name);
    return s === undefined ? null : slotWidth(op, mods, s);
  }

  /** A source before its modifiers. */
  rawSource(k: number): number {
    const { op, mods, consts } = this.spec;
    const width = slotWidth(op, mods, op.srcs[k]);
    const c = consts[k] ?? null;
    return c === null ? this.b.source(k, width) : this.b.constant(BigInt(c), width);
  }

  sourceMods(k: number): number {
    return this.spec.srcMods[k] ?? 0;
  }

  /** A source as an integer or truth value, with its modifiers applied: absolute value, then complement, then negation. */
  private source(k: number): number {
    let x = this.rawSource(k);
    const m = this.sourceMods(k);
    const w = this.b.width(x);
    if ((m & Mod.Abs) !== 0) {
      const negative = this.b.make('slt', 1, [x, this.b.constant(0n, w)], '', '', w);
      x = this.b.make('ite', w, [negative, this.negate(x), x]);
    }
    if ((m & Mod.Not) !== 0) x = this.b.make('not', w, [x]);
    if ((m & Mod.Neg) !== 0) x = this.negate(x);
    return x;
  }

  private negate(x: number): number {
    const w = this.b.width(x);
    return this.b.make('sub', w, [this.b.constant(0n, w), x]);
  }

  private unary(op: string, a: Value, want: number | null, at: number): Value {
    if (a.k === 'int' && op === '-') return { k: 'int', value: -a.value };
    if (op === '!') {
      if (isStatic(a)) return { k: 'bool', value: !this.truth(a, at) };
      return bitsOf(this.b.make('not', 1, [this.bits(a, 1, at)]));
    }
    const x = this.bits(a, want, at);
    return bitsOf(op === '-' ? this.negate(x) : this.b.make('not', this.b.width(x), [x]));
  }

  private binary(op: string, ea: Expr, eb: Expr, want: number | null, at: number): Value {
    if (op === '&&' || op === '||') {
      const a = this.eval(ea, 1);
      if (isStatic(a)) {
        const t = this.truth(a, ea.at);
        return t === (op === '&&') ? this.asTruth(this.eval(eb, 1), eb.at) : { k: 'bool', value: t };
      }
      const x = this.bits(a, 1, ea.at);
      return bitsOf(this.b.make(op === '&&' ? 'and' : 'or', 1, [x, this.bits(this.eval(eb, 1), 1, eb.at)]));
    }
    if (op in ORDER) return this.ordered(op, ea, eb, at);
    const relation = op === '==' || op === '!=';
    const groups = relation ? [this.groupOf(ea), this.groupOf(eb)] : [null, null];
    // Two modifier groups are compared by the names of their chosen values.
    const group = groups[0] !== null && groups[1] !== null ? null : (groups[0] ?? groups[1]);
    const a = group !== null ? this.member(ea, group) : this.eval(ea, relation ? null : want);
    const b = group !== null ? this.member(eb, group) : this.eval(eb, relation ? null : want);
    if (relation && a.k === 'name' && b.k === 'name')
      return { k: 'bool', value: (a.name === b.name) === (op === '==') };
    if (a.k === 'int' && b.k === 'int') return staticArithmetic(op, a.value, b.value, at);
    if (relation && a.k === 'bool' && b.k === 'bool')
      return { k: 'bool', value: (a.value === b.value) === (op === '==') };
    const [x, y] = this.together(a, b, relation ? null : want, ea.at, eb.at);
    const w = this.b.width(x);
    if (!relation) return bitsOf(this.b.make(CORE_OPERATOR[op], w, [x, y]));
    const eq = this.b.make('eq', 1, [x, y]);
    return bitsOf(op === '==' ? eq : this.b.make('not', 1, [eq]));
  }

  /** `<`, `<=`, `>`, `>=` compare static numbers only, because bit vectors are neither signed nor unsigned. */
  private ordered(op: string, ea: Expr, eb: Expr, at: number): Value {
    const a = this.eval(ea, null);
    const b = this.eval(eb, null);
    if (a.k !== 'int' || b.k !== 'int')
      throw new TextError(`'${op}' compares numbers known from the modifiers`, at, 1, [
        'slt(x, y) and ult(x, y) compare values, with and without sign',
      ]);
    return { k: 'bool', value: ORDER[op](a.value, b.value) };
  }

  /** The modifier group that a bare name refers to, or null. */
  private groupOf(e: Expr): ModGroup | null {
    if (e.k !== 'name' || this.locals.has(e.name)) return null;
    return this.spec.op.groupByName.get(e.name) ?? null;
  }

  /** One side of a comparison with a modifier group: the group itself, or one of its values by name. */
  private member(e: Expr, g: ModGroup): Value {
    if (e.k === 'name' && e.name === g.name) return this.name(e.name, e.at);
    const name = e.k === 'name' ? e.name : e.k === 'int' ? String(e.value) : null;
    const v: ModValue | undefined = g.values.find((x) => x.name === name);
    if (v === undefined)
      throw new TextError(`'${name ?? 'this'}' is not a value of the modifier ${g.name}`, e.at, 1, [
        `${g.name} is one of ${g.values.map((x) => x.name).join(', ')}`,
      ]);
    return { k: 'name', name: v.name, type: v.type, group: g };
  }

  private conditional(ec: Expr, ea: Expr, eb: Expr, want: number | null): Value {
    const c = this.eval(ec, 1);
    if (isStatic(c)) return this.eval(this.truth(c, ec.at) ? ea : eb, want);
    const a = this.eval(ea, want);
    const b = this.eval(eb, want);
    const [x, y] = this.together(a, b, want, ea.at, eb.at);
    const float = a.k === 'bits' && b.k === 'bits' && a.float?.element === b.float?.element ? a.float : null;
    return { k: 'bits', id: this.b.make('ite', this.b.width(x), [this.bits(c, 1, ec.at), x, y]), float };
  }

  // ------------------------------------------------------------------ coercions

  /** Two values as bit vectors of the same width; a static one takes the width of the other. */
  together(a: Value, b: Value, want: number | null, atA: number, atB: number): [number, number] {
    const wa = a.k === 'bits' ? this.b.width(a.id) : null;
    const wb = b.k === 'bits' ? this.b.width(b.id) : null;
    const x = this.bits(a, wa ?? wb ?? want, atA);
    const y = this.bits(b, wb ?? wa ?? want, atB);
    if (this.b.width(x) !== this.b.width(y))
      throw new TextError(`operands of ${this.b.width(x)} and ${this.b.width(y)} bits`, atB, 1, [
        'zext, sext, trunc and resize change the width',
      ]);
    return [x, y];
  }

  /** Node for a value; a static one becomes a constant of `want` bits. */
  bits(v: Value, want: number | null, at: number): number {
    switch (v.k) {
      case 'bits':
        return v.id;
      case 'bool':
        return this.b.constant(v.value ? 1n : 0n, 1);
      case 'int': {
        if (want === null)
          throw new TextError('the width of this number is not determined', at, 1, [
            'resize(number, width) states it',
          ]);
        if (BigInt.asUintN(want, v.value) !== v.value && BigInt.asIntN(want, v.value) !== v.value)
          throw new TextError(`${v.value} does not fit ${want} bits`, at);
        return this.b.constant(v.value, want);
      }
      case 'name':
        if (isFlag(v.group))
          return this.b.constant(v.group.values.findIndex((x) => x.name === v.name) === 1 ? 1n : 0n, 1);
        throw new TextError(`'${v.name}' is not a number`, at);
    }
  }

  /** Truth of a static value. */
  truth(v: Value, at: number): boolean {
    if (v.k === 'bool') return v.value;
    if (v.k === 'name' && isFlag(v.group)) return v.group.values[1].name === v.name;
    throw new TextError('expected a truth value', at);
  }

  private asTruth(v: Value, at: number): Value {
    return isStatic(v) ? { k: 'bool', value: this.truth(v, at) } : bitsOf(this.bits(v, 1, at));
  }
}

const CORE_OPERATOR: Readonly<Record<string, 'add' | 'sub' | 'mul' | 'and' | 'or' | 'xor'>> = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
};

const ORDER: Readonly<Record<string, (a: bigint, b: bigint) => boolean>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

const isStatic = (v: Value): boolean => v.k !== 'bits';

/** Is a group a flag such as `FTZ?`, whose second value means true? */
const isFlag = (g: ModGroup | null): g is ModGroup =>
  g !== null && g.values.length === 2 && g.values[0].name === 'NONE' && !g.required;

function staticArithmetic(op: string, a: bigint, b: bigint, at: number): Value {
  switch (op) {
    case '+':
      return { k: 'int', value: a + b };
    case '-':
      return { k: 'int', value: a - b };
    case '*':
      return { k: 'int', value: a * b };
    case '==':
      return { k: 'bool', value: a === b };
    case '!=':
      return { k: 'bool', value: a !== b };
    case '&':
      return { k: 'int', value: a & b };
    case '|':
      return { k: 'int', value: a | b };
    case '^':
      return { k: 'int', value: a ^ b };
    default:
      throw new TextError(`'${op}' of two numbers`, at);
  }
}

/** Words that some function accepts as arguments. Values of the opcode's groups and float formats need no definition either. */
const WORDS = new Set([
  'RN',
  'RZ',
  'RM',
  'RP',
  'RNA',
  'CONTRACT',
  'MIN',
  'MAX',
  'EQ',
  'NE',
  'LT',
  'LE',
  'GT',
  'GE',
  'NUM',
  'NAN',
  'IDX',
]);
const isBareName = (op: Opcode, name: string): boolean =>
  WORDS.has(name) ||
  Object.hasOwn(FORMATS, name.toLowerCase()) ||
  Object.hasOwn(PACKED, name.toLowerCase()) ||
  op.groups.some((g) => g.values.some((v) => v.name === name));
