import type { WorkList } from '../analysis/flow/changes.ts';
import { type DiagnosticError, fileError } from '../ir/diagnostic.ts';
import type { Draft } from '../ir/draft/index.ts';
import { memo, numbering } from '../ir/memo.ts';
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

/** The knob that selects how one of several matching rules is chosen; every run of rules reads it. */
export const BANDS_KNOB = 'RulePriorityBands';
/** One application of a rule. */
export interface RuleHit {
  readonly rule: Rule;
  readonly phase: string;
  readonly fn: string;
  readonly before: Instr;
  readonly after: readonly Instr[];
}

/** A rule whose shape fits an instruction, and the reason why it was not applied. */
export interface RuleMiss {
  readonly rule: Rule;
  readonly phase: string;
  readonly fn: string;
  readonly ins: Instr;
  readonly why: Miss;
}

/** The inputs of the rule runner. */
export interface RunnerOptions {
  readonly isa: Isa;
  /** Documents by group name. */
  readonly groups: ReadonlyMap<string, GroupDoc>;
  /** Names of the phases that can own rules; hooks and inserted steps run all rules of their groups, whoever owns them. */
  readonly phases: ReadonlySet<string>;
  readonly onHit?: (hit: RuleHit) => void;
  readonly onMiss?: (miss: RuleMiss) => void;
}

/** The setting of a phase. Getters, so that only values that are used are recorded as read. */
const settingOf = (ctx: PassContext): Setting => ({
  get level() {
    return ctx.level;
  },
  get sm() {
    return Number(/\d+/.exec(ctx.sm)?.[0] ?? 0);
  },
  knob: (name) => ctx.knob(name),
});

/** Level and target for rules that read neither. */
const NO_TARGET = { level: 0, sm: 0 } as const;

/** A set of rules that run together. Plans that run the same rules share it. */
interface RuleSet {
  readonly matcher: Matcher;
  /** Identifies the rules and their precedence; equal for equal sets. */
  readonly identity: string;
  readonly readsKnobs: boolean;
  readonly readsLevelOrSm: boolean;
}
/** The rules of a phase's groups, before static conditions select among them. */
interface Candidates {
  readonly rules: readonly Rule[];
  /** The indexes that match them, one for each group. */
  readonly indexes: readonly RuleIndex[];
  /** The static conditions of all rules, and for each rule the indexes of its own. */
  readonly statics: readonly Expr[];
  readonly needs: readonly (readonly number[])[];
  readonly sets: Map<string, RuleSet>;
}
const candidatesFor = memo((_isa: Isa) => new Map<string, Candidates>());

/** A unique number for each rule. */
const numberOf = numbering<Rule>();

const identities = new Map<string, string>();
/** A short text that identifies a list of rules in their order: part of a key that is compared often. */
function identityOf(rules: readonly Rule[]): string {
  const whole = rules.map(numberOf).join();
  let identity = identities.get(whole);
  if (identity === undefined) identities.set(whole, (identity = `${identities.size}`));
  return identity;
}

/** A step of a phase that applies a set of rules to drafts. */
export interface RuleStep {
  /** Equal for steps with the same effect; null if the result depends on more than rules, level, target and priority bands. */
  readonly key: string | null;
  /** Whether a budget has prevented rewrites. */
  readonly cutShort: () => boolean;
  readonly open: (d: Draft) => (work: WorkList) => void;
}

/** The sets of rules that steps run, cached for all runs of one instruction set. */
class RuleSets {
  private readonly o: RunnerOptions;
  private readonly candidates: Map<string, Candidates>;

  constructor(o: RunnerOptions) {
    this.o = o;
    this.candidates = candidatesFor(o.isa);
  }

  /** The rules of some groups that phase `phase` may run and whose static conditions hold. */
  setFor(groups: readonly string[], phase: string, setting: Setting): RuleSet {
    const { rules, indexes, statics, needs, sets } = this.candidatesOf(groups, phase);
    // A listener for rules that did not fire gets all rules, including those whose static conditions do not hold.
    const hold = statics.map((e) => this.o.onMiss !== undefined || holdsIn(e, setting));
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
  }

  private candidatesOf(groups: readonly string[], phase: string): Candidates {
    const { o, candidates } = this;
    const owned = o.phases.has(phase);
    const key = `${owned ? phase : ''}|${groups.map((g) => o.groups.get(g)?.hash ?? g).join()}`;
    let found = candidates.get(key);
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
      // Phases with the same rules share their sets.
      const same = [...candidates.values()].find(
        (c) => c.rules.length === rules.length && c.rules.every((r, i) => r === rules[i]),
      );
      found = same ?? {
        rules,
        indexes: docs.map((doc) => indexOfGroup(doc, o.isa)),
        statics,
        needs,
        sets: new Map(),
      };
      candidates.set(key, found);
    }
    return found;
  }
}

/**
 * Makes the function that the engine calls for steps that run rules. The groups of a step form one set. Sets and their matchers are cached
 * by groups, owning phase and the static conditions that hold.
 * @throws DiagnosticError if rules of any group are faulty
 */
export function ruleRunner(o: RunnerOptions): (groups: readonly string[], ctx: PassContext) => RuleStep {
  for (const doc of o.groups.values()) rulesOfGroup(doc, o.isa);
  const sets = new RuleSets(o);
  return (groups, ctx) => {
    const phase = ctx.phase.replace(/#\d+$/, '');
    const setting = settingOf(ctx);
    const { matcher, identity, readsKnobs, readsLevelOrSm } = sets.setFor(groups, phase, setting);
    // If no rule of the set reads level or target, neither is recorded as read, so that plans that differ in them share results.
    const { level, sm } = readsLevelOrSm ? setting : NO_TARGET;
    const bands = isSet(ctx.knob(BANDS_KNOB));
    const budget = ctx.ruleBudget;
    let refused = false;
    return {
      key: readsKnobs || o.onMiss !== undefined ? null : `rules ${identity}|${level}|${sm}|${bands}`,
      // When the budget is spent, further rewrites may have been possible.
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
  fileError(
    ctx.program.name,
    `phase ${ctx.phase}, function ${fn}: ${e.message}`,
    [
      `rule groups ${groups.join(', ')}; fired most often:`,
      ...e.fired.slice(0, 8).map((f) => `  ${String(f.count).padStart(7)}  ${f.rule}`),
      '`orrery check` on the files of the groups looks for rules that undo one another',
    ],
    'rules-diverge',
  );
