import type { Reaching } from '../analysis/values/reaching.ts';
import type { Draft, Ins } from '../ir/draft/index.ts';
import { memo } from '../ir/memo.ts';
import { TABLE_SOURCE } from '../ir/moves.ts';
import { Mod, OpFlag, slotWidth } from '../ir/opcode.ts';
import {
  immOf,
  immValue,
  Kind,
  NO_REG,
  type Operand,
  type Reg,
  regWidth,
  sameOperand,
  withOperandMods,
} from '../ir/operand.ts';
import { wordsOf } from '../isa/words.ts';
import { addressSlot } from './automaton.ts';
import { holds, type Setting, type Situation } from './conditions.ts';
import type { Instance, Rule } from './rule.ts';
import type { Part, Shape, Variant } from './shape.ts';
import { inverseOrder, permuteTable } from './tables.ts';

/** The reason why a rule whose shape fits was not applied. */
export type Miss =
  | 'operands differ'
  | 'a value has changed since'
  | 'modifiers'
  | 'condition'
  | 'situation'
  | 'operand does not fit';

/** A match: the operand that each variable of the rule is bound to. */
export interface Match {
  readonly variant: Variant;
  readonly instance: Instance;
  /** By variable: its operand with the operand's own modifiers; null if the root discards that result. */
  readonly operands: readonly (Operand | null)[];
  /** Instruction of each line of the pattern. */
  readonly places: readonly Ins[];
  /** Results of the instance's constant graph: the condition, then the computed sources. */
  readonly outputs: readonly bigint[];
}

/** The code around a match, as structural conditions see it. */
export interface Surroundings extends Setting {
  /** Loop depth of a block. */
  readonly depthOf: (block: number) => number;
}

const NO_OUTPUTS: readonly bigint[] = [1n];

/**
 * Checks a candidate completely and binds its variables.
 * @returns the match, or the reason why there is none
 */
export function bind(v: Variant, reaching: Reaching, root: Ins, where: Surroundings): Match | Miss {
  return new Binder(v, reaching, root).run(where);
}

class Binder {
  private readonly v: Variant;
  private readonly reaching: Reaching;
  private readonly d: Draft;
  private readonly root: Ins;
  private readonly operands: (Operand | null)[];
  private readonly places: Ins[] = [];
  /** Registers read at an instruction other than the root: at the root they must still hold the same value. */
  private readonly early: { reg: Reg; at: Ins }[] = [];

  constructor(v: Variant, reaching: Reaching, root: Ins) {
    this.v = v;
    this.reaching = reaching;
    this.d = reaching.d;
    this.root = root;
    this.operands = v.rule.vars.map(() => null);
  }

  run(where: Surroundings): Match | Miss {
    const { rule } = this.v;
    const { d, reaching, root, operands, places } = this;
    if (!this.shape(this.v.root, root)) return 'operands differ';
    const mods = rule.match.map((l, i) => (l.op === null ? 0 : d.at(places[i]).mods));
    const instance = rule.instanceFor(mods);
    if (instance === null) return 'modifiers';
    for (const e of this.early)
      if (!reaching.unchanged(e.reg, e.at, root)) return 'a value has changed since';
    // The rewrite reads results of inner lines at the root, where another definition may reach by then.
    for (const x of innerRead(rule)) {
      const o = operands[x];
      if (o !== null && reaching.at(o.reg, root) !== places[rule.vars[x].line])
        return 'a value has changed since';
    }
    for (const p of instance.plain) {
      const o = operands[p];
      if (o !== null && o.mods !== 0) return 'operand does not fit';
    }
    for (let i = 0; i < operands.length; i++) {
      const o = operands[i];
      if (
        o !== null &&
        o.kind === Kind.Reg &&
        instance.widths[i] > 0 &&
        regWidth(o.reg) !== instance.widths[i]
      )
        return 'modifiers';
    }
    if (rule.structural.length > 0 && !this.situation(where)) return 'situation';
    const outputs =
      instance.always && instance.constants.dsts.length === 1 ? NO_OUTPUTS : this.compute(instance);
    if (outputs[0] === 0n) return 'condition';
    return { variant: this.v, instance, operands, places, outputs };
  }

  private compute(instance: Instance): bigint[] {
    const { rule } = this.v;
    const srcs = new Int32Array(rule.vars.length * 2);
    rule.vars.forEach((x, i) => {
      const o = this.operands[i];
      if (x.kind !== 'const' || o === null) return;
      srcs[2 * i] = o.lo;
      srcs[2 * i + 1] = o.hi;
    });
    const words = wordsOf(instance.constants);
    words.run(srcs);
    return instance.constants.dsts.map((n) => words.value(n));
  }

  private situation(where: Surroundings): boolean {
    const { rule } = this.v;
    const names = namesOf(rule);
    const { d, root, operands, places } = this;
    const line = (x: number): Ins => (x >= 0 && rule.vars[x].line >= 0 ? places[rule.vars[x].line] : root);
    const s: Situation = {
      uses: (x) => {
        const o = operands[x];
        return o === null || o.reg === NO_REG ? Number.POSITIVE_INFINITY : d.useCount(o.reg);
      },
      inTables: (x) => {
        const o = operands[x];
        return o !== null && o.reg !== NO_REG && inTables(d, o.reg);
      },
      isRegister: (x) => operands[x]?.kind === Kind.Reg,
      isPlain: (x) => operands[x]?.mods === 0,
      isSecond: (x) => {
        const reader = rule.match.findIndex((l) => l.src.some((r) => r.k === 'var' && r.v === x));
        return reader >= 0 && d.at(places[reader]).src[1].reg === operands[x]?.reg;
      },
      sameBlock: (x) => d.block(line(x)) === d.block(root),
      isLocal: () => d.at(root).op.space === 'local',
      depth: (x) => where.depthOf(d.block(line(x))),
      level: where.level,
      sm: where.sm,
      knob: where.knob,
    };
    return rule.structural.every((e) => holds(e, names, s));
  }

  private shape(s: Shape, at: Ins): boolean {
    const ins = this.d.at(at);
    const { rule } = this.v;
    this.places[s.line] = at;
    if (s.op === null) {
      const a = s.src[0];
      const o = ins.src[addressSlot(ins.op)];
      return (
        a.k === 'address' &&
        o.sym === '' &&
        o.reg !== NO_REG &&
        this.part(a.base, { kind: Kind.Reg, reg: o.reg, lo: 0, hi: 0, sym: '', mods: 0 }, at, 0) &&
        this.part(a.offset, immOf(BigInt(o.lo), 64), at, 64)
      );
    }
    const line = rule.match[s.line];
    const isRoot = at === this.root;
    for (let i = 0; i < line.dst.length; i++) {
      const d = line.dst[i];
      const r = ins.dst[i];
      if (d < 0) {
        // The rewrite would drop this result of the root. Inner lines are kept, so their unnamed results may be live.
        if (isRoot && r !== NO_REG && this.d.useCount(r) > 0) return false;
        continue;
      }
      this.operands[d] = r === NO_REG ? null : { kind: Kind.Reg, reg: r, lo: 0, hi: 0, sym: '', mods: 0 };
    }
    for (let i = 0; i < s.src.length; i++) {
      const slot = s.op.srcs[i];
      const width = slotWidth(s.op, ins.mods, slot) || 64;
      const o = ins.src[i];
      if (s.table !== null && i === TABLE_SOURCE && s.src[i].k === 'const') {
        const original = immOf(BigInt(permuteTable(o.lo & 0xff, inverseOrder(s.table))), 32);
        if (!this.part(s.src[i], original, at, 32)) return false;
      } else if (!this.part(s.src[i], o, at, slot.bank === 'p' ? 1 : width)) return false;
    }
    return true;
  }

  private part(p: Part, o: Operand, at: Ins, width: number): boolean {
    switch (p.k) {
      case 'any':
        return true;
      case 'literal': {
        if (o.kind !== Kind.Imm) return false;
        const value = immValue(o, width);
        return (width === 1 && o.mods !== 0 ? 1n - value : value) === BigInt.asUintN(width, p.value);
      }
      case 'const':
        if (o.kind !== Kind.Imm || o.mods !== 0) return false;
        return this.bindTo(p.v, o);
      case 'address':
        return false;
      case 'def': {
        if (o.kind !== Kind.Reg) return false;
        const under = stripped(o, p.mods);
        if (under === null || under.mods !== 0) return false;
        const def = this.reaching.at(o.reg, at);
        if (def < 0 || this.d.at(def).op !== p.shape.op || this.d.at(def).dst[p.dst] !== o.reg) return false;
        this.operands[p.v] = under;
        if (!this.shape(p.shape, def)) return false;
        // Matching the line binds its results, and this variable among them, again: to the same register.
        return this.operands[p.v]?.reg === o.reg;
      }
      case 'var': {
        const under = stripped(o, p.mods);
        if (under === null) return false;
        const { line, dst } = this.v.rule.vars[p.v];
        // The variable is the result of a line: only the register that this line defines can match, and no constant.
        if (
          line >= 0 &&
          (o.reg === NO_REG ||
            under.mods !== 0 ||
            this.d.at(this.places[line]).dst[dst] !== o.reg ||
            this.reaching.at(o.reg, at) !== this.places[line])
        )
          return false;
        if (at !== this.root && o.reg !== NO_REG && line < 0) this.early.push({ reg: o.reg, at });
        return this.bindTo(p.v, under);
      }
    }
  }

  private bindTo(v: number, o: Operand): boolean {
    const known = this.operands[v];
    if (known === null) {
      this.operands[v] = o;
      return true;
    }
    return sameOperand(known, o);
  }
}

/** A register with more uses than this is not examined: the search would repeat at each of its readers. */
const MOST_USES = 16;

/** Is the register read only as an input of truth tables, and at most `MOST_USES` times? */
function inTables(d: Draft, r: Reg): boolean {
  const uses = d.useCount(r);
  if (uses > MOST_USES) return false;
  let inside = 0;
  d.eachUse(r, (n) => {
    const { op, guard } = d.at(n);
    if (op.primitive === null && (op.flags & OpFlag.Table) !== 0 && guard !== r) inside++;
  });
  return inside === uses;
}

const namesOf = memo((rule: Rule) => new Map(rule.vars.map((v, i) => [v.name, i])));

/** Results of inner lines that the rewrite reads. */
const innerRead = memo((rule: Rule): readonly number[] => {
  const read = new Set(
    rule.rewrite.flatMap((l) =>
      l.src
        .flatMap((s) => (s.k === 'address' ? [s.base, s.offset] : [s]))
        .map((s) => (s.k === 'var' ? s.v : -1)),
    ),
  );
  const root = rule.match.length - 1;
  return rule.vars.flatMap((v, i) => (v.line >= 0 && v.line < root && read.has(i) ? [i] : []));
});

/**
 * The operand without the modifiers that the pattern puts on its variable: `-$a` matched against `-R1` binds `$a` to R1, and against R1 it
 * binds `$a` to -R1, because negation is its own inverse. Null if there is no such operand: `|$a|` matches only an operand that has an
 * absolute value itself.
 */
function stripped(o: Operand, mods: number): Operand | null {
  if (mods === 0) return o;
  if (o.kind === Kind.Imm) return null;
  if ((mods & Mod.Abs) !== 0) {
    // `$a` is bound to the operand inside the absolute value, without any sign.
    if (o.mods !== mods) return null;
    return withOperandMods(o, 0);
  }
  return toggled(o, mods);
}

/** Applies negation or complement to an operand; null if the operand's own modifiers cannot be applied before it. */
export function toggled(o: Operand, mods: number): Operand | null {
  if ((mods & Mod.Not) !== 0 && (o.mods & Mod.Neg) !== 0) return null;
  return withOperandMods(o, o.mods ^ mods);
}
