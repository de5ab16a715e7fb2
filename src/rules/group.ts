import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Isa, Opcode } from '../ir/opcode.ts';
import { type Expr, MeaningError } from '../isa/lang/parse.ts';
import type { Automaton } from './automaton.ts';
import { type Compiled, compileRule } from './compile.ts';
import { asksFigures, isStatic, isStructural, knobsOf, mayAskSetting, partsOf } from './conditions.ts';
import { type RulesDoc, textOf } from './document.ts';
import { indexRules, type RuleIndex } from './matcher.ts';
import type { Rule, RuleBody, RuleIssue } from './rule.ts';
import { lastOpcode } from './syntax.ts';

/**
 * The rules of a document. Most of the rules that ship look for opcodes that a program does not hold, and are never compiled.
 */

/** How much is found out about rules before they are given. */
export type Care =
  /** Nothing: they are known to be whole. */
  | 'none'
  /** Faults of the texts; not what only some choice of modifiers brings out. */
  | 'texts'
  /** Also whether widths agree and conditions can hold at all, which takes most of the time. */
  | 'all';

/** A rule as it stands in a document, compiled when its body is first asked for. */
class TextRule implements Rule {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly source: string;
  readonly owner: readonly string[] | null;
  readonly priority: number;
  readonly ranked: boolean;
  readonly place: number;
  readonly holds: string | null;
  readonly inexact: string | null;
  readonly cost: number | null;
  readonly text: Rule['text'];
  private readonly doc: RulesDoc;
  private readonly isa: Isa;
  private compiled: Compiled | null = null;
  private body: RuleBody | null = null;
  private rootOp: Opcode | null | undefined;
  private asked: readonly Expr[] | null = null;

  constructor(doc: RulesDoc, place: number, isa: Isa) {
    const spec = doc.rules[place];
    this.doc = doc;
    this.isa = isa;
    this.place = place;
    this.group = doc.group;
    this.id = spec.id;
    this.title = spec.title;
    this.source = spec.source;
    this.owner = spec.owner ?? doc.owner ?? null;
    this.priority = spec.priority ?? doc.priority ?? 0;
    this.ranked = spec.priority !== undefined;
    this.holds = spec.holds ?? null;
    this.inexact = spec.inexact ?? null;
    this.cost = spec.cost ?? null;
    this.text = textOf(spec);
  }

  // ------------------------------------------------------------------ without compiling

  get root(): Opcode | null {
    if (this.rootOp === undefined) {
      const name = lastOpcode(this.text.match);
      this.rootOp = name === '*' ? null : (this.isa.byName.get(name) ?? this.match[this.match.length - 1].op);
    }
    return this.rootOp;
  }
  get statics(): readonly Expr[] {
    return this.setting.filter(isStatic);
  }
  get readsFigures(): boolean {
    return this.setting.some((e) => !isStatic(e) && asksFigures(e));
  }
  get readsKnobs(): boolean {
    return this.setting.some((e) => !isStatic(e) && knobsOf(e).length > 0);
  }

  /** Structural conditions, if any of them can ask about target, level or knobs. */
  private get setting(): readonly Expr[] {
    this.asked ??= [this.doc.when ?? '', this.text.when ?? '']
      .filter(mayAskSetting)
      .flatMap(readable)
      .filter(isStructural);
    return this.asked;
  }

  // ------------------------------------------------------------------ the body

  get vars(): RuleBody['vars'] {
    return (this.body ?? this.whole()).vars;
  }
  get modVars(): RuleBody['modVars'] {
    return (this.body ?? this.whole()).modVars;
  }
  get match(): RuleBody['match'] {
    return (this.body ?? this.whole()).match;
  }
  get rewrite(): RuleBody['rewrite'] {
    return (this.body ?? this.whole()).rewrite;
  }
  get structural(): RuleBody['structural'] {
    return (this.body ?? this.whole()).structural;
  }
  get instances(): RuleBody['instances'] {
    return (this.body ?? this.whole()).instances;
  }
  get instanceFor(): RuleBody['instanceFor'] {
    return (this.body ?? this.whole()).instanceFor;
  }
  get hash(): RuleBody['hash'] {
    return (this.body ?? this.whole()).hash;
  }

  private compile(): Compiled {
    this.compiled ??= compileRule(this.doc, this.place, this.isa);
    return this.compiled;
  }

  private whole(): RuleBody {
    const { body, issues } = this.compile();
    if (body === null) throw new DiagnosticError(issues.map((i) => ruleDiagnostic(i, this.group)));
    this.body = body;
    return body;
  }

  /** What is wrong with it, as far as it is to be found out. */
  faults(care: Care): readonly RuleIssue[] {
    if (care === 'none') return [];
    const { issues, idle } = this.compile();
    const more = care === 'all' ? idle() : null;
    return more === null ? issues : [...issues, more];
  }
}

/** Parts of a condition; none where it cannot be read, which is found when the rule is compiled. */
function readable(when: string): Expr[] {
  try {
    return partsOf(when);
  } catch (e) {
    if (!(e instanceof MeaningError)) throw e;
    return [];
  }
}

interface Known {
  readonly isa: Isa;
  readonly all: readonly TextRule[];
  readonly found: Map<Care, GroupRules>;
  index: RuleIndex | null;
}

/** The rules of a document that are whole, and everything that is wrong with the others. */
export interface GroupRules {
  readonly rules: readonly Rule[];
  readonly issues: readonly RuleIssue[];
}

/** The rules of a document that is not kept. */
export const compileGroup = (
  doc: RulesDoc,
  isa: Isa,
  care: Care = 'all',
): { rules: Rule[]; issues: RuleIssue[] } => looked(rulesIn(doc, isa), care);

const rulesIn = (doc: RulesDoc, isa: Isa): TextRule[] =>
  doc.rules.map((_, place) => new TextRule(doc, place, isa));

function looked(all: readonly TextRule[], care: Care): { rules: Rule[]; issues: RuleIssue[] } {
  const issues: RuleIssue[] = [];
  const rules = all.filter((r) => {
    const faults = r.faults(care);
    issues.push(...faults);
    return faults.length === 0;
  });
  return { rules, issues };
}

const documents = new WeakMap<object, Known>();

function knownOf(doc: RulesDoc, isa: Isa): Known {
  let known = documents.get(doc);
  if (known === undefined || known.isa !== isa) {
    known = { isa, all: rulesIn(doc, isa), found: new Map(), index: null };
    documents.set(doc, known);
  }
  return known;
}

/** Rules of a document; they are the same objects for an instruction set, whatever is found out about them. */
export function rulesOfDoc(data: unknown, isa: Isa, care: Care = 'all'): GroupRules {
  const doc = data as RulesDoc;
  const known = knownOf(doc, isa);
  let found = known.found.get(care);
  if (found === undefined) known.found.set(care, (found = looked(known.all, care)));
  return found;
}

/**
 * What finds the rules of a document that are whole, as far as `care` looks. Every set that some of them are in shares it.
 * @param built the document's automaton, if the build made it for this instruction set
 */
export function indexOfDoc(data: unknown, isa: Isa, care: Care, built: Automaton | null): RuleIndex {
  const known = knownOf(data as RulesDoc, isa);
  if (known.index === null) {
    const { rules } = rulesOfDoc(data, isa, care);
    const whole = new Set<Rule>(rules);
    const places = known.all.map((r) => (whole.has(r) ? r : null));
    known.index = indexRules(places, isa, built ?? undefined);
  }
  return known.index;
}

/** A rule's fault as a diagnostic without a line; whoever has the text finds the place from the issue itself. */
export const ruleDiagnostic = (i: RuleIssue, file: string) => ({
  severity: i.severity,
  code: i.code,
  message: `rule ${i.rule + 1} of group '${i.group}', ${i.field}: ${i.message}`,
  file,
  line: 0,
  column: 0,
  length: 0,
  notes: i.notes,
});
