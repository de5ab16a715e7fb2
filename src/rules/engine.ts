import type { WorkList } from '../analysis/flow/changes.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Draft } from '../ir/draft/index.ts';
import type { Isa } from '../ir/opcode.ts';
import { isSet, type PassContext } from '../ir/pass.ts';
import type { Instr } from '../ir/program.ts';
import type { Expr } from '../isa/lang/parse.ts';
import type { Miss } from './bind.ts';
import { holdsIn, type Setting } from './conditions.ts';
import type { GroupDoc } from './document.ts';
import { Driver, RulesDiverge } from './driver.ts';
import { indexOfGroup, rulesOfGroup } from './group.ts';
import { Matcher, type RuleIndex } from './matcher.ts';
import type { Rule } from './rule.ts';

/** Sorts by descending priority, then by the given order of groups, then by file order. */
export const byPrecedence = (rules: readonly Rule[]): Rule[] =>
  rules
    .map((r, i) => ({ r, i }))
    .sort((a, b) => b.r.priority - a.r.priority || a.i - b.i)
    .map((x) => x.r);

/** The knob that every run of rules reads: how one of several matching rules is chosen. */
export const BANDS_KNOB = 'RulePriorityBands';
/** One application of a rule. */
export interface RuleHit {
  readonly rule: Rule;
  readonly phase: string;
  readonly fn: string;
  readonly before: Instr;
  readonly after: readonly Instr[];
}

/** A rule whose shape fitted an instruction, and why it was not applied. */
export interface RuleMiss {
  readonly rule: Rule;
  readonly phase: string;
  readonly fn: string;
  readonly ins: Instr;
  readonly why: Miss;
}

/** What the rule runner needs beside the groups' rules. */
export interface RunnerOptions {
  readonly isa: Isa;
  /** Documents by group name. */
  readonly groups: ReadonlyMap<string, GroupDoc>;
  /** Names of the phases that can own rules; hooks and inserted steps run whatever groups they are given. */
  readonly phases: ReadonlySet<string>;
  readonly onHit?: (hit: RuleHit) => void;
  readonly onMiss?: (miss: RuleMiss) => void;
}

/** The setting of a phase. Getters, so that only what is asked for counts as read. */
const settingOf = (ctx: PassContext): Setting => ({
  get level() {
    return ctx.level;
  },
  get sm() {
    return Number(/\d+/.exec(ctx.sm)?.[0] ?? 0);
  },
  knob: (name) => ctx.knob(name),
});

/** Level and target for rules that ask for neither. */
const NOWHERE = { level: 0, sm: 0 } as const;

/** Sets of rules that run together, keyed by their contents: plans that run the same rules share them. */
interface RuleSet {
  readonly matcher: Matcher;
  /** The rules and their precedence as a text, equal for sets that do the same. */
  readonly identity: string;
  readonly readsKnobs: boolean;
  readonly readsLevelOrSm: boolean;
}
/** The rules of a phase's groups, before conditions on target, level and knobs choose among them. */
interface Candidates {
  readonly rules: readonly Rule[];
  /** The indexes that match them, group by group. */
  readonly indexes: readonly RuleIndex[];
  /** The conditions that choose among the rules, and which of these conditions each rule needs. */
  readonly statics: readonly Expr[];
  readonly needs: readonly (readonly number[])[];
  readonly sets: Map<string, RuleSet>;
}
const shared = new WeakMap<Isa, Map<string, Candidates>>();

const numbers = new WeakMap<Rule, number>();
let numbered = 0;
/** A unique number for each rule. */
function numberOf(r: Rule): number {
  let n = numbers.get(r);
  if (n === undefined) numbers.set(r, (n = numbered++));
  return n;
}

const identities = new Map<string, string>();
/** A short text for a list of rules in their order, the same for equal lists: it is part of a key that is compared often. */
function identityOf(rules: readonly Rule[]): string {
  const whole = rules.map(numberOf).join();
  let identity = identities.get(whole);
  if (identity === undefined) identities.set(whole, (identity = `${identities.size}`));
  return identity;
}

/** A set of rules as a step that edits drafts. */
export interface RuleStep {
  /** Equal for steps that do the same; null if the result depends on more than rules, level and target. */
  readonly key: string | null;
  /** Whether a budget prevented rewrites. */
  readonly cutShort: () => boolean;
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/**
 * Makes the function that the engine calls for steps that run rules. The groups of a step form one set. A matcher is
 * made for each combination of groups and phase that occurs, and kept.
 * @throws DiagnosticError if rules of any group are faulty
 */
export function ruleRunner(o: RunnerOptions): (groups: readonly string[], ctx: PassContext) => RuleStep {
  let sets = shared.get(o.isa);
  if (sets === undefined) shared.set(o.isa, (sets = new Map()));
  const known = sets;
  for (const doc of o.groups.values()) rulesOfGroup(doc, o.isa);
  const candidatesOf = (groups: readonly string[], phase: string): Candidates => {
    const owned = o.phases.has(phase);
    const key = `${owned ? phase : ''}|${groups.map((g) => o.groups.get(g)?.hash ?? g).join()}`;
    let found = known.get(key);
    if (found === undefined) {
      const docs = groups.map((g) => {
        const doc = o.groups.get(g);
        if (doc === undefined) throw new Error(`rule group '${g}' is not in the plan`);
        return doc;
      });
      const rules = docs.flatMap((doc) =>
        rulesOfGroup(doc, o.isa).filter((r) => r.owner === null || !owned || r.owner.includes(phase)),
      );
      const statics: Expr[] = [];
      const needs = rules.map((r) => r.statics.map((e) => statics.push(e) - 1));
      // Phases that own the same rules share the sets.
      const same = [...known.values()].find(
        (c) => c.rules.length === rules.length && c.rules.every((r, i) => r === rules[i]),
      );
      found = same ?? {
        rules,
        indexes: docs.map((doc) => indexOfGroup(doc, o.isa)),
        statics,
        needs,
        sets: new Map(),
      };
      known.set(key, found);
    }
    return found;
  };
  const setFor = (groups: readonly string[], phase: string, setting: Setting): RuleSet => {
    const { rules, indexes, statics, needs, sets } = candidatesOf(groups, phase);
    // A listener for rules that did not fire is told about all rules, including those that this phase leaves out.
    const hold = statics.map((e) => o.onMiss !== undefined || holdsIn(e, setting));
    const key = hold.map(Number).join('');
    let set = sets.get(key);
    if (set === undefined) {
      const live = rules.filter((_, i) => needs[i].every((k) => hold[k]));
      const ordered = byPrecedence(live);
      set = {
        matcher: new Matcher(ordered, indexes),
        identity: identityOf(ordered),
        readsKnobs: live.some((r) => r.readsKnobs),
        readsLevelOrSm: live.some((r) => r.readsLevelOrSm),
      };
      sets.set(key, set);
    }
    return set;
  };
  return (groups, ctx) => {
    const phase = ctx.phase.replace(/#\d+$/, '');
    const setting = settingOf(ctx);
    const { matcher, identity, readsKnobs, readsLevelOrSm } = setFor(groups, phase, setting);
    // If no rule of the set asks for level or target, neither is read, so the result does not depend on them.
    const { level, sm } = readsLevelOrSm ? setting : NOWHERE;
    const bands = isSet(ctx.knob(BANDS_KNOB));
    const budget = ctx.ruleBudget;
    let refused = false;
    return {
      key: readsKnobs || o.onMiss !== undefined ? null : `rules ${identity}|${level}|${sm}|${bands}`,
      // Once the budget is spent, further rewrites may be possible.
      cutShort: () => refused,
      open: (d) => {
        const { fn } = d;
        const driver = new Driver(d, matcher, {
          level,
          sm,
          knob: setting.knob,
          mode: bands ? 'bands' : 'precedence',
          allow: () => {
            if (budget === null || ctx.budgetLeft(budget)) return true;
            refused = true;
            return false;
          },
          mayRewrite: (rule, block, ins) => ctx.mayRewrite(rule.id, d.id(block), ins),
          onHit: (rule, block, before, after) => {
            if (budget !== null) ctx.budget(budget);
            ctx.remark('passed', rule.id, rule.title, { block: d.id(block), ins: before });
            o.onHit?.({ rule, phase: ctx.phase, fn: fn.name, before, after });
          },
          onMiss:
            o.onMiss === undefined
              ? undefined
              : (rule, ins, why) => o.onMiss!({ rule, phase: ctx.phase, fn: fn.name, ins, why }),
        });
        return (work) => {
          try {
            driver.run(work);
          } catch (e) {
            throw e instanceof RulesDiverge ? diverged(e, ctx, fn.name, groups) : e;
          }
        };
      },
    };
  };
}

/** The diagnostic for rules that did not terminate. */
const diverged = (
  e: RulesDiverge,
  ctx: PassContext,
  fn: string,
  groups: readonly string[],
): DiagnosticError =>
  new DiagnosticError([
    {
      severity: 'error',
      code: 'rules-diverge',
      message: `phase ${ctx.phase}, function ${fn}: ${e.message}`,
      file: ctx.program.name,
      line: 0,
      column: 0,
      length: 0,
      notes: [
        `rule groups ${groups.join(', ')}; fired most often:`,
        ...e.fired.slice(0, 8).map((f) => `  ${String(f.count).padStart(7)}  ${f.rule}`),
        '`orrery check` on the files of the groups looks for rules that undo one another',
      ],
    },
  ]);
