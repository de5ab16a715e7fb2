import { isValue } from '../../analysis/calls/effects.ts';
import { type Cfg, cfgOf } from '../../analysis/flow/cfg.ts';
import { type DefUse, defUseOf, singleDef, useCount, usesOf } from '../../analysis/values/defuse.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Operand, type Reg, regWidth } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { floatTypeOf } from '../../isa/meaning.ts';
import { inSsa } from '../../ssa/registers.ts';

/** Settings of the walk; the numbers are parameters of the phase's row (seed 001, forward walk of phase 29). */
export interface MarkRules {
  /** The bits of the three marks. */
  readonly propagated: number;
  readonly deferred: number;
  readonly underGuard: number;
  /** 0 under `tierMask`: bold. Otherwise conservative, and if it has bits of `scanMask`, always with a scan. */
  readonly tier: number;
  readonly tierMask: number;
  readonly scanMask: number;
  /** Code of the target, and the greatest one for which the constraint bits do not matter. */
  readonly code: number;
  readonly shortCodes: number;
  /** Constraint bits of a chosen constant: it needs more than 32 bits, the extension of its sign, or a constant bank. */
  readonly wide: number;
  readonly sign: number;
  readonly bank: number;
  readonly constraints: number;
  /** Whether the back end lets predicates be marked (slot 1312). */
  readonly marksPredicates: boolean;
  /** Whether a comparison is checked for the kinds of its operands (slot 1320 has no handler). */
  readonly asksKinds: boolean;
  /** Whether the target's class is one of those that take constants into selections only under conditions (seed 001, 0x8F29C0). */
  readonly careful: boolean;
}

/** A destination with a mark, or why it has none. */
export interface OperandMark {
  readonly block: number;
  readonly ins: Instr;
  readonly bits: number;
  readonly why: string;
}

/** Marks by the register that the instruction writes, in the order of the walk. */
export type OperandMarks = ReadonlyMap<Reg, OperandMark>;

/** Maximum number of single predecessors followed to find the comparison that decides a selection: our own bound. */
const MOST_LINKS = 16;

/** Does it write a predicate by comparing two values? */
const compares = (x: Instr): boolean =>
  x.dst.length > 0 && isPredReg(x.dst[0]) && x.op.groupByName.has('cmp') && isValue(x);

const selects = (x: Instr): boolean => (x.op.flags & OpFlag.Selects) !== 0 && x.dst[0] !== NO_REG;

/**
 * One walk over the function in layout order, which marks what comparisons and selections write. It changes nothing.
 *
 * A comparison of registers is marked as known under a guard, if the back end marks predicates. A selection is marked at once in the
 * bold tier. In a conservative tier, one of an integer constant is marked if the class of the target is careful with them; any other is
 * converted, if a scan finds the comparison that decides it: forwards, from the start of its block to it, and, unless that found
 * something else, backwards over single predecessors.
 *
 * Bound: each instruction once; the conservative tiers also examine the users of a selection and 16 blocks.
 */
export function operandMarks(fn: Fn, rules: MarkRules): OperandMarks {
  return new Walk(fn, rules).marks;
}

type Found = 'hit' | 'partial' | 'none';

class Walk {
  readonly marks = new Map<Reg, OperandMark>();
  private readonly fn: Fn;
  private readonly rules: MarkRules;
  private readonly cfg: Cfg;
  /** Definitions and uses, which only the conservative tiers need. */
  private chains: DefUse | null = null;
  /** False if a comparison that may be propagated has come since the start of the block, and nothing whose result is used since then. */
  private copySeen = true;

  constructor(fn: Fn, rules: MarkRules) {
    this.fn = fn;
    this.rules = rules;
    this.cfg = cfgOf(fn);
    const bold = (rules.tier & rules.tierMask) === 0;
    for (let at = 0; at < fn.blocks.length; at++) {
      this.copySeen = true;
      for (const x of fn.blocks[at].ins)
        if (selects(x)) this.selection(x, at, bold);
        else if (compares(x)) this.comparison(x, at);
        else if (!bold && !this.copySeen)
          this.copySeen = x.dst.some((r) => r !== NO_REG && useCount(this.defUse(), r) > 0);
    }
  }

  private defUse(): DefUse {
    this.chains ??= defUseOf(this.fn);
    return this.chains;
  }

  private mark(x: Instr, at: number, bits: number, why: string): void {
    this.marks.set(x.dst[0], { block: this.fn.blocks[at].id, ins: x, bits, why });
  }

  private comparison(x: Instr, at: number): void {
    if (!this.isFreeComparison(x)) return;
    this.copySeen = false;
    if (this.rules.marksPredicates) this.mark(x, at, this.rules.underGuard, '');
  }

  /** May a predicate be propagated? It must compare registers that are single values, without a guard. */
  private isFreeComparison(x: Instr): boolean {
    if (x.guard !== NO_REG || !inSsa(x.dst[0])) return false;
    if (!this.rules.asksKinds) return false;
    const [a, b] = x.src;
    return a.kind === Kind.Reg && inSsa(a.reg) && (b.kind !== Kind.Reg || inSsa(b.reg));
  }

  private selection(x: Instr, at: number, bold: boolean): void {
    const { rules } = this;
    const bits = x.src.reduce((all, o) => all | constraintsOf(o, regWidth(x.dst[0]), rules), 0);
    if (rules.code > rules.shortCodes && (bits & rules.constraints) !== 0)
      this.mark(x, at, 0, `a constant has constraint bits ${hex(bits & rules.constraints)}`);
    else if (bold) this.mark(x, at, rules.propagated, '');
    else if (this.isIntegerConstant(x)) this.integerConstant(x, at);
    else if (rules.careful && (rules.tier & rules.scanMask) === 0) this.convert(x, at, '');
    else this.scanned(x, at);
  }

  /** The path of integer constants: marked, unless a copy was seen and the target marks no predicates. */
  private integerConstant(x: Instr, at: number): void {
    const { rules } = this;
    if (!rules.careful) this.mark(x, at, 0, 'an integer constant, and the class of the target takes none');
    else if (!this.copySeen || rules.marksPredicates) this.mark(x, at, rules.propagated, '');
    else if (this.scan(x, at, false) === 'hit') this.mark(x, at, rules.propagated, 'found backwards');
    else this.mark(x, at, 0, 'an integer constant, and what decides it is not on a single path to it');
  }

  private scanned(x: Instr, at: number): void {
    const forwards = this.scan(x, at, true);
    if (forwards === 'hit') this.convert(x, at, 'found forwards');
    else if (forwards === 'none' && this.scan(x, at, false) === 'hit') this.convert(x, at, 'found backwards');
    else this.mark(x, at, 0, 'no comparison that decides it is found in either direction');
  }

  private convert(x: Instr, at: number, why: string): void {
    this.mark(x, at, this.rules.deferred, why);
  }

  /** Searches for the comparison that decides a selection. A constant predicate needs none. */
  private scan(x: Instr, at: number, forwards: boolean): Found {
    const p = x.src[2];
    if (p.kind !== Kind.Reg) return 'hit';
    const du = this.defUse();
    const n = singleDef(du, p.reg);
    if (n < 0) return 'none';
    const found: Found = compares(du.ins[n]) && this.isFreeComparison(du.ins[n]) ? 'hit' : 'partial';
    if (forwards) return du.blockAt[n] === at ? found : 'none';
    const { predStart, pred } = this.cfg;
    let b = at;
    for (let k = 0; k < MOST_LINKS && predStart[b + 1] - predStart[b] === 1; k++) {
      b = pred[predStart[b]];
      if (du.blockAt[n] === b) return found;
    }
    return 'none';
  }

  /** Does it choose a constant that no float operation reads? */
  private isIntegerConstant(x: Instr): boolean {
    if (x.src[0].kind !== Kind.Imm && x.src[1].kind !== Kind.Imm) return false;
    const { blocks } = this.fn;
    let floats = false;
    usesOf(this.defUse(), x.dst[0], (block, index) => {
      const user = blocks[block].ins[index];
      const known = user.op.means !== null ? Math.min(user.src.length, user.op.srcs.length) : 0;
      for (let k = 0; k < known; k++)
        if (user.src[k].kind === Kind.Reg && user.src[k].reg === x.dst[0])
          floats ||= floatTypeOf(user.op, user.mods, k) !== null;
    });
    return !floats;
  }
}

/** The constraint bits of an operand, as a constant of long encodings. */
function constraintsOf(o: Operand, width: number, { wide, sign, bank }: MarkRules): number {
  if (o.kind === Kind.CBank) return bank;
  if (o.kind !== Kind.Imm || width <= 32 || o.hi === 0) return 0;
  return o.hi === -1 && o.lo < 0 ? sign : wide;
}

const hex = (n: number): string => `0x${n.toString(16)}`;

/** The marks as lines of a report: block, instruction, bits or the reason why there are none. */
export function marksText(fn: Fn, marks: OperandMarks, printed: (x: Instr) => string): string {
  const lines = [...marks.values()].map(({ block, ins, bits, why }) => {
    const parts = [...(bits === 0 ? ['-'] : [hex(bits)]), ...(why === '' ? [] : [why])];
    return `; BB${block}: ${printed(ins)}  ${parts.join(', ')}`;
  });
  return [`; marks on operands of ${fn.name}`, ...lines].join('\n');
}
