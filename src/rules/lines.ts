import { match } from 'ts-pattern';
import { meantNote, nearest } from '../ir/diagnostic.ts';
import { type Isa, OpFlag, type Slot } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import { writtenOperands } from '../ir/parse-instr.ts';
import { defaultOperand } from '../ir/text.ts';
import type { Expr } from '../isa/lang/parse.ts';
import type { RulesDoc } from './document.ts';
import type { LineDraft } from './instances.ts';
import { readModifiers } from './modifiers.ts';
import type { Source, Variable } from './rule.ts';
import type { LineText, OperandText } from './syntax.ts';
import type { LineField, TextFaults } from './text-faults.ts';

/** A variable of a rule under compilation. */
export interface VariableDraft {
  readonly name: string;
  readonly kind: Variable['kind'];
  line: number;
  dst: number;
  fresh: boolean;
}

/** Resolves opcodes, variables and modifiers of the lines of one rule. The lines of `match` must be read first. */
export class LineReader {
  readonly vars: VariableDraft[] = [];
  readonly byName = new Map<string, number>();
  /** Expressions over constants in the rewrite. */
  readonly outputs: Expr[] = [];
  private readonly isa: Isa;
  private readonly tables: RulesDoc['tables'];
  private readonly faults: TextFaults;

  constructor(isa: Isa, tables: RulesDoc['tables'], faults: TextFaults) {
    this.isa = isa;
    this.tables = tables;
    this.faults = faults;
  }

  /** Resolves one line. @param index its number @param root whether it is the last line of the match @throws Stop */
  read(l: LineText, field: LineField, index: number, root: boolean): LineDraft {
    if (l.opcode === '*') return this.addressLine(l, field, root);
    const op = this.isa.byName.get(l.opcode);
    if (op === undefined) {
      const near = nearest(l.opcode, this.isa.byName.keys());
      this.faults.stopAt(field, l, l.at, 'rule-opcode', `unknown opcode '${l.opcode}'`, meantNote(near));
    }
    const lacks =
      (op.flags & OpFlag.Pure) === 0
        ? `${op.name} is not pure: rules may contain only pure instructions`
        : op.means === null
          ? `${op.name} states no meaning: rules may contain only instructions with one (means:)`
          : null;
    if (lacks !== null) this.faults.stopAt(field, l, l.at, 'rule-opcode', lacks);
    const mods = readModifiers(op, l, field, this.tables, this.faults);
    const nd = op.dsts.length;
    const ns = op.srcs.length;
    const { dsts, srcs, missing } = writtenOperands(op, l.operands.length);
    if (missing !== 0) {
      const names = [...op.dsts, ...op.srcs].map((s) => s.name).join(', ');
      this.faults.stopAt(
        field,
        l,
        l.at,
        'rule-operands',
        `${op.name} takes ${nd + ns} operands (${names}), found ${l.operands.length}`,
      );
    }
    // Sources first, so that a line of `match` that uses its own result is a fault.
    const src = op.srcs.map(
      (slot, i): Source =>
        i < srcs ? this.source(l.operands[dsts + i], slot, l, field) : defaultSource(slot),
    );
    const dst = op.dsts.map((_, i) => (i < dsts ? this.destination(l.operands[i], l, field, index, i) : -1));
    return { op, dst, src, mods, text: l.text.trim() };
  }

  private addressLine(l: LineText, field: LineField, root: boolean): LineDraft {
    const o = l.operands[0];
    if ((field === 'match' && !root) || l.mods.length > 0 || l.operands.length !== 1 || o.k !== 'address')
      this.faults.stopAt(
        field,
        l,
        l.at,
        'rule-syntax',
        "'*' stands for the root and takes one address: * [$base+#offset]",
      );
    const base = this.source(o.base, { ...ADDRESS_PART, kinds: 1 << Kind.Reg }, l, field);
    const offset = this.source(o.offset, { ...ADDRESS_PART, kinds: 1 << Kind.Imm }, l, field);
    return { op: null, dst: [], src: [{ k: 'address', base, offset }], mods: [], text: l.text.trim() };
  }

  private variable(name: string, kind: Variable['kind']): number {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    this.vars.push({ name, kind, line: -1, dst: -1, fresh: false });
    this.byName.set(name, this.vars.length - 1);
    return this.vars.length - 1;
  }

  private destination(o: OperandText, l: LineText, field: LineField, index: number, dst: number): number {
    if (o.k === 'any') return -1;
    if (o.k !== 'var' || o.mods !== 0)
      this.faults.stopAt(field, l, o.at, 'rule-operands', 'a destination is a variable: $name, or _');
    const fresh = !this.byName.has(o.name);
    const v = this.variable(o.name, 'value');
    if (field === 'match') {
      if (!fresh)
        this.faults.stopAt(
          field,
          l,
          o.at,
          'rule-variable',
          `$${o.name} is defined after it is used, or twice`,
          ['a variable is defined once, before its uses'],
        );
      this.vars[v].line = index;
      this.vars[v].dst = dst;
    } else if (fresh) this.vars[v].fresh = true;
    return v;
  }

  private source(o: OperandText, slot: Slot, l: LineText, field: LineField): Source {
    const stop = (code: string, message: string): never => this.faults.stopAt(field, l, o.at, code, message);
    return match(o)
      .with({ k: 'any' }, (): Source => {
        if (field === 'match') return { k: 'any' };
        return stop('rule-operands', "'_' is not a value: say which operand to use");
      })
      .with({ k: 'literal' }, ({ predicate, value }): Source => {
        if (predicate !== (slot.bank === 'p'))
          stop(
            'rule-operands',
            `operand ${slot.name} is ${slot.bank === 'p' ? 'a predicate' : 'no predicate'}`,
          );
        return { k: 'literal', value };
      })
      .with({ k: 'address' }, () =>
        stop('rule-operands', 'an address may appear only in a line for any instruction: * [$a+#o]'),
      )
      .with({ k: 'const' }, (x) => this.constantSource(x, slot, l, field))
      .with({ k: 'var' }, ({ name, at, mods }): Source => {
        if (field === 'rewrite' && !this.byName.has(name)) this.unknown(name, l, at, field);
        const v = this.variable(name, 'value');
        if (this.vars[v].kind !== 'value') stop('rule-variable', `#${name} is a constant; write it with '#'`);
        if ((slot.kinds & (1 << Kind.Reg)) === 0)
          stop('rule-operands', `operand ${slot.name} takes only a constant: #${name}`);
        if ((mods & ~(slot.bank === 'p' ? 4 : slot.mods)) !== 0)
          stop('rule-operands', `operand ${slot.name} does not take that sign modifier`);
        return { k: 'var', v, mods };
      })
      .exhaustive();
  }

  private constantSource(o: OperandText & { k: 'const' }, slot: Slot, l: LineText, field: LineField): Source {
    if ((slot.kinds & (1 << Kind.Imm)) === 0)
      this.faults.stopAt(field, l, o.at, 'rule-operands', `operand ${slot.name} takes no constant`);
    if (field === 'match') {
      if (o.name === '')
        this.faults.stopAt(
          field,
          l,
          o.at,
          'rule-operands',
          "an expression cannot be matched: write #name, and a condition in 'when'",
        );
      const v = this.variable(o.name, 'const');
      if (this.vars[v].kind !== 'const')
        this.faults.stopAt(
          field,
          l,
          o.at,
          'rule-variable',
          `$${o.name} is an operand; a constant needs another name`,
        );
      return { k: 'const', v };
    }
    const bound = o.name === '' ? undefined : this.byName.get(o.name);
    if (bound !== undefined && this.vars[bound].kind === 'const') return { k: 'const', v: bound };
    if (o.name !== '') this.unknown(o.name, l, o.at, field);
    this.outputs.push(o.expr);
    return { k: 'computed', x: this.outputs.length - 1 };
  }

  private unknown(name: string, l: LineText, at: number, field: LineField): never {
    const near = nearest(name, this.byName.keys());
    this.faults.stopAt(
      field,
      l,
      at,
      'rule-variable',
      `'${name}' is not defined by the match`,
      meantNote(near),
    );
  }
}

/** Slot of an address base or offset: any width. */
const ADDRESS_PART: Slot = {
  name: 'address',
  bank: 'r',
  width: 0,
  widthFrom: null,
  kinds: 0,
  mods: 0,
  optional: false,
  variadic: false,
  default: null,
};

const defaultSource = (slot: Slot): Source => ({ k: 'literal', value: BigInt(defaultOperand(slot).lo) });
