import type { Isa, Opcode } from '../ir/opcode.ts';
import { sha256 } from '../ir/sha256.ts';
import { TextError } from '../ir/text-error.ts';
import type { Expr } from '../isa/lang/parse.ts';
import { isStatic, isStructural, partsOf, structuralFault } from './conditions.ts';
import { type RulesDoc, textOf } from './document.ts';
import { type Draft, enumerate, instanceOf, type LineDraft } from './instances.ts';
import { LineReader } from './lines.ts';
import { once } from './once.ts';
import type { Instance, Line, RuleBody, RuleIssue, Source } from './rule.ts';
import { MOST_VARIANTS, orderCount } from './shape.ts';
import { type LineText, MOST_LINES, MOST_REWRITE_LINES, parseLines } from './syntax.ts';
import { Stop, TextFaults } from './text-faults.ts';

/** Hexadecimal digits of the hash of a rule: 160 bits. */
const DIGITS = 40;

/** The result of compiling the texts of a rule. */
export interface Compiled {
  /** null if the texts have faults. */
  readonly body: RuleBody | null;
  readonly issues: readonly RuleIssue[];
  /** Computes the fault of a rule that has no instances and so can never fire; null if it has some. This enumerates them all. */
  readonly idle: () => RuleIssue | null;
}

/** Compiles one rule of a group: resolves opcodes, variables and modifiers. Instances are computed on first use. */
export const compileRule = (doc: RulesDoc, place: number, isa: Isa): Compiled =>
  new RuleCompiler(doc, place, isa).compile();

class RuleCompiler {
  private readonly doc: RulesDoc;
  private readonly place: number;
  private readonly faults: TextFaults;
  private readonly reader: LineReader;

  constructor(doc: RulesDoc, place: number, isa: Isa) {
    this.doc = doc;
    this.place = place;
    this.faults = new TextFaults(doc.group, place);
    this.reader = new LineReader(isa, doc.tables, this.faults);
  }

  compile(): Compiled {
    const { issues } = this.faults;
    try {
      const draft = this.draft();
      if (draft !== null) return this.whole(draft);
    } catch (e) {
      if (!(e instanceof Stop)) throw e;
    }
    return { body: null, issues, idle: () => null };
  }

  private draft(): (Draft & { structural: readonly Expr[] }) | null {
    const match = this.lines('match').map((l, i, all) =>
      this.reader.read(l, 'match', i, i === all.length - 1),
    );
    this.checkUsed(match);
    this.checkOrders(match);
    const rewrite = this.lines('rewrite').map((l, i) => this.reader.read(l, 'rewrite', i, false));
    this.checkRewrite(match[match.length - 1], rewrite);
    const { constant, structural } = this.condition(this.doc.rules[this.place].when);
    const all = [...this.ofGroup(), ...structural];
    if (this.faults.issues.length > 0) return null;
    const { vars, outputs } = this.reader;
    const tables = this.doc.tables ?? {};
    return { vars, match, rewrite, tables, condition: constant, outputs, structural: all };
  }

  private whole(draft: Draft & { structural: readonly Expr[] }): Compiled {
    const { vars, match, rewrite, structural } = draft;
    const { issues } = this.faults;
    const instances = new Map<string, Instance | null>();
    const enumerated = once(() => enumerate(draft));
    const hashed = once(() => this.hashOf(match, rewrite));
    const body: RuleBody = {
      vars,
      modVars: modVarsOf([...match, ...rewrite]),
      match: match.map(finish),
      rewrite: rewrite.map(finish),
      structural,
      get instances() {
        return enumerated().instances;
      },
      instanceFor: (mods) => {
        const key = mods.join();
        let i = instances.get(key);
        if (i === undefined) instances.set(key, (i = instanceOf(draft, mods)));
        return i;
      },
      get hash() {
        return hashed();
      },
    };
    const idle = (): RuleIssue | null => {
      const { instances, fault } = enumerated();
      return instances.length > 0
        ? null
        : this.faults.issue(fault.field, fault.code, fault.message, fault.notes);
    };
    return { body, issues, idle };
  }

  private hashOf(match: readonly LineDraft[], rewrite: readonly LineDraft[]): string {
    const spec = this.doc.rules[this.place];
    const text = textOf(spec);
    const ops = [...new Set([...match, ...rewrite].flatMap((l) => (l.op === null ? [] : [l.op])))];
    const meanings = ops.map(definitionOf);
    const { holds, inexact } = spec;
    const used = new Set(
      [...match, ...rewrite].flatMap((l) => l.mods.flatMap((m) => (m.k === 'map' ? [m.table] : []))),
    );
    const tables = Object.entries(this.doc.tables ?? {}).filter(([name]) => used.has(name));
    // Verdicts and reviews are keyed by this hash. Rules come from third parties, so it must resist collisions.
    return sha256(JSON.stringify([text, holds ?? null, inexact ?? null, tables, meanings])).slice(0, DIGITS);
  }

  private lines(field: 'match' | 'rewrite'): LineText[] {
    const text = this.doc.rules[this.place][field];
    try {
      return parseLines(text, field === 'match' ? MOST_LINES : MOST_REWRITE_LINES);
    } catch (e) {
      if (!(e instanceof TextError)) throw e;
      const line = text.split('\n')[e.line] ?? '';
      return this.faults.stop(field, 'rule-syntax', e.message, [
        `  ${line}`,
        `  ${' '.repeat(e.at)}^`,
        ...e.notes,
      ]);
    }
  }

  /** Checks that a later line uses each inner line; an unused line would match unrelated code. */
  private checkUsed(match: readonly LineDraft[]): void {
    const used = new Set(match.flatMap((l) => l.src.flatMap(varsIn)));
    for (const l of match.slice(0, -1))
      if (!l.dst.some((d) => d >= 0 && used.has(d)))
        this.faults.report('match', 'rule-variable', 'no later line uses what this one defines', [
          `  ${l.text}`,
        ]);
  }

  /** Limits the number of variants, which is the product of the numbers of operand orders of all lines. */
  private checkOrders(match: readonly LineDraft[]): void {
    const orders = orderCount(match);
    if (orders > MOST_VARIANTS)
      this.faults.report(
        'match',
        'rule-operands',
        `its operands can appear in ${orders} orders, more than ${MOST_VARIANTS}`,
        ['split the rule: each line with exchangeable operands multiplies the orders'],
      );
  }

  /** Checks that the rewrite defines each destination of the root exactly once, and redefines no other variable of the match. */
  private checkRewrite(root: LineDraft, rewrite: readonly LineDraft[]): void {
    const last = rewrite[rewrite.length - 1];
    if ((root.op === null) !== (last.op === null) || rewrite.slice(0, -1).some((l) => l.op === null))
      return this.faults.report(
        'rewrite',
        'rule-operands',
        "the root stays '*' in the rewrite, as its last line",
      );
    const wanted = new Set(root.dst.filter((d) => d >= 0));
    const defined = new Set<number>();
    for (const l of rewrite)
      for (const d of l.dst) {
        if (d < 0) continue;
        const name = this.reader.vars[d].name;
        if (defined.has(d))
          this.faults.report('rewrite', 'rule-variable', `$${name} is defined twice`, [`  ${l.text}`]);
        else if (!wanted.has(d) && !this.reader.vars[d].fresh)
          this.faults.report('rewrite', 'rule-variable', `$${name} is not a destination of the root`, [
            `  ${l.text}`,
          ]);
        defined.add(d);
      }
    for (const d of wanted)
      if (!defined.has(d))
        this.faults.report(
          'rewrite',
          'rule-variable',
          `the rewrite does not define $${this.reader.vars[d].name}`,
        );
  }

  /** The group's condition. It applies to all rules of the group, so it may read only target, level and knobs. */
  private ofGroup(): Expr[] {
    const { constant, structural } = this.condition(this.doc.when);
    const fault = constant ?? structural.find((e) => !isStatic(e));
    if (fault !== undefined)
      this.faults.report(
        'when',
        'rule-condition',
        "the group's condition can read only level, sm and knob(Name)",
        [`  ${this.doc.when}`, `  ${' '.repeat(fault.at)}^`],
      );
    return structural;
  }

  private condition(when: string | undefined): { constant: Expr | null; structural: Expr[] } {
    if (when === undefined) return { constant: null, structural: [] };
    let parts: Expr[];
    try {
      parts = partsOf(when);
    } catch (e) {
      if (!(e instanceof TextError)) throw e;
      return this.faults.stop('when', 'rule-condition', e.message, [
        `  ${when}`,
        `  ${' '.repeat(e.at)}^`,
        ...e.notes,
      ]);
    }
    const structural = parts.filter(isStructural);
    for (const s of structural) {
      const fault = structuralFault(s, this.reader.byName);
      if (fault !== null) this.faults.report('when', 'rule-condition', fault.message, fault.notes);
    }
    const constant = parts
      .filter((p) => !isStructural(p))
      .reduce<Expr | null>((a, b) => (a === null ? b : { k: 'binary', at: b.at, op: '&&', a, b }), null);
    return { constant, structural };
  }
}

function varsIn(s: Source): number[] {
  if (s.k === 'var') return [s.v];
  return s.k === 'address' ? [...varsIn(s.base), ...varsIn(s.offset)] : [];
}

const modVarsOf = (lines: readonly LineDraft[]): string[] => [
  ...new Set(lines.flatMap((l) => l.mods.flatMap((m) => (m.k === 'var' ? [m.name] : [])))),
];

const finish = (l: LineDraft): Line => ({
  op: l.op,
  dst: l.dst,
  src: l.src,
  fixed: l.mods.map((m) => (m.k === 'fixed' ? m.index : -1)),
  text: l.text,
});

/** The parts of an opcode's definition that a proof of a rule depends on. */
export const definitionOf = (o: Opcode): unknown => [
  o.name,
  o.means,
  o.groups.map((g) => [g.name, g.values.map((v) => [v.name, v.width, v.type])]),
  [...o.dsts, ...o.srcs].map((s) => [s.name, s.bank, s.width, s.widthFrom, s.mods, s.default]),
];
