import { ChangeLog, WorkList } from '../analysis/flow/changes.ts';
import { loopDepth, loopsOf } from '../analysis/loops/loops.ts';
import { type Reaching, reachingIn } from '../analysis/values/reaching.ts';
import { type Draft, edit, type Ins } from '../ir/draft/index.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { priorityBands } from './bands.ts';
import { bind, type Match, type Miss, type Surroundings } from './bind.ts';
import type { Setting } from './conditions.ts';
import type { Matcher } from './matcher.ts';
import { build } from './replace.ts';
import type { Rule } from './rule.ts';

/** How rules are applied: setting, choice among matching rules, callbacks and bound. */
export interface DriverOptions extends Setting {
  /** How one of several matching rules is chosen: the best by precedence, or by the priority bands of the matcher under study. */
  readonly mode: 'precedence' | 'bands';
  /** Called for each rule that fired. */
  readonly onHit?: (rule: Rule, block: number, before: Instr, after: readonly Instr[]) => void;
  /** Called for each rule whose shape fits but that is not applied. */
  readonly onMiss?: (rule: Rule, ins: Instr, why: Miss) => void;
  /** Filter called before the replacement for a matching rule is built; false skips the rule. */
  readonly allow?: (rule: Rule) => boolean;
  /** Filter called before a replacement that fits is made; false skips it. */
  readonly mayRewrite?: (rule: Rule, block: number, ins: Instr) => boolean;
  /** Maximum number of rewrites. */
  readonly bound?: number;
}

/** A set of rules reached its bound on rewrites. */
export class RulesDiverge extends Error {
  readonly fired: readonly { readonly rule: string; readonly count: number }[];
  constructor(bound: number, fired: ReadonlyMap<string, number>) {
    super(`the rules did not terminate after ${bound} rewrites`);
    this.name = 'RulesDiverge';
    this.fired = [...fired].map(([rule, count]) => ({ rule, count })).sort((a, b) => b.count - a.count);
  }
}

/**
 * Maximum number of rewrites per instruction, on average. Chains of rules shrink or canonicalise their input; the test kernels need fewer
 * than one rewrite per instruction. A set that reaches this bound probably contains rules that undo one another.
 */
const REWRITES_EACH = 20;

/**
 * Applies rules to a function until none fires.
 * @throws RulesDiverge when the bound is reached
 */
export const applyRules = (fn: Fn, matcher: Matcher, opts: DriverOptions): Fn =>
  edit(fn, (d) => {
    const work = new WorkList(new ChangeLog(d));
    new Driver(d, matcher, opts).run(work);
  });

/** Applies one set of rules to a draft, as often as `run` is called; the bound covers all calls together. */
export class Driver {
  private readonly d: Draft;
  private readonly reaching: Reaching;
  private readonly matcher: Matcher;
  private readonly opts: DriverOptions;
  private readonly where: Surroundings;
  private readonly bound: number;
  private steps = 0;
  private readonly fired = new Map<string, number>();

  constructor(d: Draft, matcher: Matcher, opts: DriverOptions) {
    this.d = d;
    this.reaching = reachingIn(d);
    this.matcher = matcher;
    this.opts = opts;
    this.where = {
      level: opts.level,
      sm: opts.sm,
      knob: (name) => opts.knob(name),
      depthOf: (b) => loopDepth(loopsOf(d.fn), b),
    };
    this.bound = opts.bound ?? d.instructionNumbers * REWRITES_EACH + 100;
  }

  /**
   * Rewrites until the work list is empty.
   * @throws RulesDiverge when the bound is reached
   */
  run(work: WorkList): void {
    for (let n = work.next(); n >= 0; n = work.next()) this.visit(n);
  }

  private visit(n: Ins): void {
    if (!this.matcher.covers(this.d.at(n).op)) return;
    // A listener for rules that did not fire gets every candidate, even those that the precheck excludes.
    const candidates = this.matcher.candidates(this.reaching, n, this.opts.onMiss !== undefined);
    if (candidates.length === 0) return;
    if (this.opts.mode === 'bands') {
      const chosen = priorityBands(candidates, (v) => bind(v, this.reaching, n, this.where));
      if (chosen !== null && this.opts.allow?.(chosen.variant.rule) !== false) this.rewrite(chosen, n);
      return;
    }
    // The array belongs to the matcher, which reuses it for its next query.
    for (let i = 0; i < candidates.length; i++) {
      const v = candidates[i];
      const m = bind(v, this.reaching, n, this.where);
      if (typeof m === 'string') this.opts.onMiss?.(v.rule, this.d.at(n), m);
      else if (this.opts.allow?.(v.rule) !== false && this.rewrite(m, n)) return;
    }
  }

  /** Replaces the root; false if an operand does not fit or the rewrite is not permitted. */
  private rewrite(m: Match, n: Ins): boolean {
    const { d, opts } = this;
    const { rule } = m.variant;
    const r = build(m, d);
    if (typeof r === 'string') {
      opts.onMiss?.(rule, d.at(n), r);
      return false;
    }
    if (opts.mayRewrite?.(rule, d.block(n), d.at(n)) === false) return false;
    opts.onHit?.(rule, d.block(n), d.at(n), r.ins);
    this.fired.set(rule.id, (this.fired.get(rule.id) ?? 0) + 1);
    if (++this.steps > this.bound) throw new RulesDiverge(this.bound, this.fired);
    d.replaceBy(n, r.ins);
    return true;
  }
}
