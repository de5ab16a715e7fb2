import { DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import type { Isa, Opcode } from '../ir/opcode.ts';
import { fileWord } from '../ir/quote.ts';
import { TextError } from '../ir/text-error.ts';
import type { Expr } from '../isa/lang/parse.ts';
import type { Automaton } from './automaton.ts';
import { type Compiled, compileRule } from './compile.ts';
import { isStatic, isStructural, knobsOf, mayReadSetting, partsOf, readsLevelOrSm } from './conditions.ts';
import { type GroupDoc, type RulesDoc, textOf } from './document.ts';
import { indexRules, type RuleIndex } from './matcher.ts';
import { once } from './once.ts';
import type { Rule, RuleBody, RuleIssue } from './rule.ts';
import { lastOpcode } from './syntax.ts';

/**
 * The rules of a document, compiled lazily: a given program contains only some of the opcodes that the shipped rules look for. A rule is
 * compiled in three steps, each taken once, when its result is first needed:
 *
 * 1. its head, from the text alone: the opcode of its root, and the conditions on target, level and knobs (`statics`);
 * 2. its body: lines, variables and conditions, all faults of the texts, and its hash;
 * 3. its instances, the choices of modifiers under which it can fire: one by one for the matcher (`instanceFor`), or all of them
 *    (`instances`), which takes most of the time.
 *
 * `CheckDepth` selects the steps that are taken at once. A matcher takes none: it compiles the body of a rule when the shape of the rule
 * first matches.
 */

/** How thoroughly rules are checked before they are handed out. */
export type CheckDepth =
  /** Not at all: they are known to be correct. */
  | 'none'
  /** Faults of the texts, but not those that only some choice of modifiers reveals. */
  | 'texts'
  /** Also whether widths agree and conditions can hold at all, which takes most of the time. */
  | 'all';

/** A rule of a document; its getters compile what they return. */
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
  private readonly rootOp: () => Opcode | null;
  private readonly setting: () => Setting;
  private readonly compiled: () => Compiled;

  constructor(doc: RulesDoc, place: number, isa: Isa) {
    const spec = doc.rules[place];
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
    this.compiled = once(() => compileRule(doc, place, isa));
    this.rootOp = once(() => rootOf(this, isa));
    this.setting = once(() => settingOf([doc.when ?? '', this.text.when ?? '']));
  }

  get root(): Opcode | null {
    return this.rootOp();
  }
  get statics(): readonly Expr[] {
    return this.setting().statics;
  }
  get readsLevelOrSm(): boolean {
    return this.setting().others.some(readsLevelOrSm);
  }
  get readsKnobs(): boolean {
    return this.setting().others.some((e) => knobsOf(e).length > 0);
  }

  get vars(): RuleBody['vars'] {
    return this.body.vars;
  }
  get modVars(): RuleBody['modVars'] {
    return this.body.modVars;
  }
  get match(): RuleBody['match'] {
    return this.body.match;
  }
  get rewrite(): RuleBody['rewrite'] {
    return this.body.rewrite;
  }
  get structural(): RuleBody['structural'] {
    return this.body.structural;
  }
  get instances(): RuleBody['instances'] {
    return this.body.instances;
  }
  get instanceFor(): RuleBody['instanceFor'] {
    return this.body.instanceFor;
  }
  get hash(): RuleBody['hash'] {
    return this.body.hash;
  }

  /** @throws DiagnosticError if the texts have faults */
  private get body(): RuleBody {
    const { body, issues } = this.compiled();
    if (body === null) throw new DiagnosticError(issues.map((i) => ruleDiagnostic(i, this.group)));
    return body;
  }

  /** The faults that a check of the given depth finds. */
  faults(depth: CheckDepth): readonly RuleIssue[] {
    if (depth === 'none') return [];
    const { issues, idle } = this.compiled();
    const more = depth === 'all' ? idle() : null;
    return more === null ? issues : [...issues, more];
  }
}

/** The opcode of the root, from the text alone. An unknown name is a fault that compiling reports. */
function rootOf(rule: TextRule, isa: Isa): Opcode | null {
  const name = lastOpcode(rule.text.match);
  return name === '*' ? null : (isa.byName.get(name) ?? rule.match[rule.match.length - 1].op);
}

/** The structural conjuncts of conditions that mention target, level or knobs. */
interface Setting {
  /** Conjuncts whose value is the same for a whole phase. */
  readonly statics: readonly Expr[];
  /** The other conjuncts. */
  readonly others: readonly Expr[];
}

function settingOf(conditions: readonly string[]): Setting {
  const structural = conditions.filter(mayReadSetting).flatMap(readable).filter(isStructural);
  return { statics: structural.filter(isStatic), others: structural.filter((e) => !isStatic(e)) };
}

/** The conjuncts of a condition; none if it cannot be parsed, which compiling reports. */
function readable(when: string): Expr[] {
  try {
    return partsOf(when);
  } catch (e) {
    if (!(e instanceof TextError)) throw e;
    return [];
  }
}

/** The compiled rules of one document for one instruction set. */
interface CachedDoc {
  readonly isa: Isa;
  readonly all: readonly TextRule[];
  readonly found: Map<CheckDepth, GroupRules>;
  index: RuleIndex | null;
}

/** The rules of a document that have no faults, and the faults of the others. */
export interface GroupRules {
  readonly rules: readonly Rule[];
  readonly issues: readonly RuleIssue[];
}

/** Compiles the rules of a document anew, without the cache of `rulesOfDoc`. */
export const compileGroup = (
  doc: RulesDoc,
  isa: Isa,
  depth: CheckDepth = 'all',
): { rules: Rule[]; issues: RuleIssue[] } => checked(rulesIn(doc, isa), depth);

const rulesIn = (doc: RulesDoc, isa: Isa): TextRule[] =>
  doc.rules.map((_, place) => new TextRule(doc, place, isa));

function checked(all: readonly TextRule[], depth: CheckDepth): { rules: Rule[]; issues: RuleIssue[] } {
  const issues: RuleIssue[] = [];
  const rules = all.filter((r) => {
    const faults = r.faults(depth);
    issues.push(...faults);
    return faults.length === 0;
  });
  return { rules, issues };
}

const documents = new WeakMap<object, CachedDoc>();

function cachedDoc(doc: RulesDoc, isa: Isa): CachedDoc {
  let cached = documents.get(doc);
  if (cached === undefined || cached.isa !== isa) {
    cached = { isa, all: rulesIn(doc, isa), found: new Map(), index: null };
    documents.set(doc, cached);
  }
  return cached;
}

/** The rules of a document, cached: for one instruction set these are always the same objects, at any depth. */
export function rulesOfDoc(data: unknown, isa: Isa, depth: CheckDepth = 'all'): GroupRules {
  const doc = data as RulesDoc;
  const cached = cachedDoc(doc, isa);
  let found = cached.found.get(depth);
  if (found === undefined) cached.found.set(depth, (found = checked(cached.all, depth)));
  return found;
}

/** How thoroughly the rules of a group are checked when a plan loads them. */
const depthFor = ({ wholeFor }: GroupDoc, isa: Isa): CheckDepth =>
  // A group that was correct before the instruction set changed can only name opcodes or modifiers that are gone.
  wholeFor === isa.hash ? 'none' : wholeFor === null ? 'all' : 'texts';

/**
 * The rules of a group of a plan. Rules known to be correct are compiled when an instruction appears that they may match; all other rules
 * are checked now, so that their faults are reported whether or not such an instruction appears.
 * @throws DiagnosticError with all faults that are errors
 */
export function rulesOfGroup(doc: GroupDoc, isa: Isa): readonly Rule[] {
  const { data, file } = doc;
  const { rules, issues } = rulesOfDoc(data, isa, depthFor(doc, isa));
  const wrong = issues.filter((i) => i.severity === 'error');
  if (wrong.length > 0)
    throw new DiagnosticError(
      wrong.map((i) => {
        const d = ruleDiagnostic(i, file);
        return { ...d, notes: [...d.notes, `\`orrery check ${fileWord(file)}\` shows the place`] };
      }),
    );
  return rules;
}

/** The index that matches the rules of a group: the automaton of the build, or a new one if the group has changed since. */
export const indexOfGroup = (doc: GroupDoc, isa: Isa): RuleIndex =>
  indexOfDoc(doc.data, isa, depthFor(doc, isa), doc.wholeFor === isa.hash ? doc.automaton : null);

/**
 * The index that matches those rules of a document in which a check of the given depth finds no faults. All rule sets share it.
 * @param built the document's automaton, if the build made it for this instruction set
 */
export function indexOfDoc(data: unknown, isa: Isa, depth: CheckDepth, built: Automaton | null): RuleIndex {
  const cached = cachedDoc(data as RulesDoc, isa);
  if (cached.index === null) {
    const { rules } = rulesOfDoc(data, isa, depth);
    const correct = new Set<Rule>(rules);
    const byPlace = cached.all.map((r) => (correct.has(r) ? r : null));
    cached.index = indexRules(byPlace, isa, built ?? undefined);
  }
  return cached.index;
}

/** A rule's fault as a diagnostic without a line; a caller that has the file's text can find the line from the issue. */
export const ruleDiagnostic = (i: RuleIssue, file: string) => ({
  ...fileFault(file, `rule ${i.rule + 1} of group '${i.group}', ${i.field}: ${i.message}`, i.notes, i.code),
  severity: i.severity,
});
