import { OpFlag } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { isValue } from '../calls/effects.ts';
import { type Condition, conditionOf } from './condition.ts';
import { type DefUse, defUseOf, singleDef } from './defuse.ts';
import type { LinearForm } from './linear.ts';
import { singleValuesOf } from './single-values.ts';

/** The meaning of a predicate register, in a form that is equal for registers that always have the same, or the opposite, value. */
export interface ConditionKey {
  readonly key: string;
  /** Whether the register holds the opposite. */
  readonly not: boolean;
  /**
   * Whether a fact about it holds at every place dominated by the place where it was established; if not, it holds until the register
   * is written.
   */
  readonly stays: boolean;
}

/** A text that stands for a truth value, and whether it is negated. */
interface TruthText {
  readonly text: string;
  readonly not: boolean;
}

/** Maximum length of the chain of negations and combinations that is followed. */
const MOST_DEPTH = 8;
/** Maximum depth of the expressions by which two compared values are found equal (seed 001, comparison of expressions in phase 13). */
const MOST_EQUAL = 2;

/**
 * Conditions of a snapshot, in SSA or not, by what they compare: copies and negations are resolved, `a < b` is the opposite of `b <=
 * a`, and comparisons of equal linear forms are equal. Two values are equal if the same expression computes both, down to two
 * operations. Registers with several definitions stand for themselves.
 */
export class ConditionKeys {
  private readonly du: DefUse;
  private readonly single: Uint8Array;
  private readonly cache = new Map<Reg, ConditionKey>();

  constructor(fn: Fn) {
    this.du = defUseOf(fn);
    this.single = singleValuesOf(fn);
  }

  of(r: Reg): ConditionKey {
    let k = this.cache.get(r);
    if (k === undefined) {
      const stays = this.single[regIndex(r)] === 1;
      const textOfCondition = this.textOf(r, 0);
      this.cache.set(r, (k = { key: textOfCondition.text, not: textOfCondition.not, stays }));
    }
    return k;
  }

  private textOf(r: Reg, depth: number): TruthText {
    const itself = { text: `r${r}`, not: false };
    const n = this.single[regIndex(r)] === 1 ? singleDef(this.du, r) : -1;
    if (n < 0 || depth === MOST_DEPTH) return itself;
    const x = this.du.ins[n];
    if (x.guard !== NO_REG || (x.op.flags & OpFlag.Pure) === 0 || !this.readsValues(x)) return itself;
    const k = x.dst.indexOf(r);
    const c = conditionOf(x, k);
    if (c !== null) return this.textOfCondition(c, depth) ?? itself;
    return { text: `${x.op.name}:${x.mods}:${k}:${x.src.map((o) => this.value(o)).join()}`, not: false };
  }

  private textOfCondition(c: Condition, depth: number): TruthText | null {
    switch (c.kind) {
      case 'known':
        return { text: 'true', not: !c.value };
      case 'predicate':
        return this.textOf(c.reg, depth + 1);
      case 'not': {
        const of = this.textOfCondition(c.of, depth);
        return of === null ? null : { text: of.text, not: !of.not };
      }
      case 'compare': {
        const sides = [this.form(c.a), this.form(c.b)];
        if (c.test === 'eq') sides.sort();
        return { text: `${c.test}:${sides.join(':')}`, not: false };
      }
      default: {
        const sides = [this.textOfCondition(c.a, depth + 1), this.textOfCondition(c.b, depth + 1)];
        if (sides.includes(null)) return null;
        // A disjunction is the negated conjunction of the negations.
        const flip = c.kind === 'or';
        const texts = sides.map((s) => (s!.not === flip ? '' : '!') + s!.text).sort();
        return { text: `(${texts.join('&')})`, not: flip };
      }
    }
  }

  private form(f: LinearForm): string {
    const terms = f.terms.map(
      (t) => `+${t.coefficient}*${this.value(t.operand)}/${t.bits}${t.signed ? 's' : ''}`,
    );
    return `${f.width}+${f.constant}${terms.join('')}`;
  }

  /** The text of an operand, by the expression that computes it. */
  private value(o: Operand, depth = 0): string {
    if (o.kind !== Kind.Reg || depth === MOST_EQUAL || this.single[regIndex(o.reg)] !== 1) return operand(o);
    const n = singleDef(this.du, o.reg);
    if (n < 0) return operand(o);
    const x = this.du.ins[n];
    if (!isValue(x) || x.guard !== NO_REG || !this.readsValues(x)) return operand(o);
    const inputs = x.src.map((s) => this.value(s, depth + 1));
    return `${o.mods}(${x.op.name}:${x.mods}:${x.dst.indexOf(o.reg)}:${inputs.join()})`;
  }

  private readsValues(x: Instr): boolean {
    return x.src.every((o) => o.reg === NO_REG || this.single[regIndex(o.reg)] === 1);
  }
}

const operand = (o: Operand): string => `${o.kind}.${o.mods}.${o.reg}.${o.lo}.${o.hi}.${o.sym}`;
