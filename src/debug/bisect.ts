import { FunctionPlans } from '../engine/function-plans.ts';
import { MemoryCache } from '../engine/memory-cache.ts';
import type { Rewrite } from '../engine/rewrites.ts';
import { withFunctions } from '../ir/edit.ts';
import type { Fn, Program } from '../ir/program.ts';
import { groupsOf, type PlanPhase, passesOf } from '../spec/plan.ts';
import { type Attempt, attempt } from './attempt.ts';
import { GOOD, type Judge, type Subject, type Verdict } from './judge.ts';
import { boundary } from './search.ts';

/** Options of `bisect`. */
export interface BisectOptions {
  /** True to test the states one after another, which finds the very first bad one. */
  readonly inTurn?: boolean;
  /** Called with each test's description. */
  readonly tell?: (text: string) => void;
}

/** A rewrite that turns a good program into a bad one. */
export interface RewriteFound extends Rewrite {
  /** Its number among the counted rewrites of the phase, from 1. With a limit of one less, the program is good. */
  readonly number: number;
  /** The function whose rewrites are counted; null: those of all functions. */
  readonly counted: string | null;
  /** The rule that made it, with its index in the file; null for a pass. */
  readonly rule: {
    readonly id: string;
    readonly title: string;
    readonly file: string;
    readonly place: number;
  } | null;
}

/** The cause of a failure. */
export interface Finding {
  readonly failure: Verdict;
  /** The bad phase, and the last phase before it that is known to be good (null: the input). */
  readonly phase: PlanPhase;
  readonly lastGood: PlanPhase | null;
  /** Phases between the two that could not be judged. */
  readonly unclear: readonly PlanPhase[];
  /** The responsible function; null if no single one is. */
  readonly fn: string | null;
  /** Number of functions that the phase changed. */
  readonly changedFunctions: number;
  /** The responsible rewrite; null if it could not be determined, for the reason in `whyNoRewrite`. */
  readonly rewrite: RewriteFound | null;
  readonly whyNoRewrite: string;
  /** The function without and with the rewrite (or the phase); null if there is none, or a pass threw. */
  readonly before: Fn | null;
  readonly after: Fn | null;
  /** True if the run itself failed: a pass threw, or the verifier rejected its result. */
  readonly thrown: boolean;
  /** Number of programs judged. */
  readonly tests: number;
}

/** Why there is nothing to search for: the plan is good, the input is bad, the verdict is unclear, or the error is outside of any phase. */
export interface NoFinding {
  readonly why: 'good' | 'input' | 'unclear' | 'outside';
  readonly verdict: Verdict;
}

/**
 * Finds the phase that makes a program bad, then the function, then the single rewrite. Each is found as the difference between two judged
 * programs: good without it, bad with it.
 *
 * Snapshots after phases are judged as they are, so that a phase is not blamed for a fault that it merely exposes, unless the fault shows
 * nowhere else. To find the function, functions are exchanged one by one between the snapshots before and after the phase; to find the
 * rewrite, rewrites are limited (`RewriteLimit`).
 */
export async function bisect(
  subject: Subject,
  judge: Judge,
  o: BisectOptions = {},
): Promise<Finding | NoFinding> {
  return new Bisection(subject, judge, o).run();
}

class Bisection {
  private readonly subject: Subject;
  private readonly judge: Judge;
  private readonly o: BisectOptions;
  private readonly plans: FunctionPlans;
  private readonly cache = { of: new MemoryCache(), key: 'subject' };
  private tests = 0;

  constructor(subject: Subject, judge: Judge, o: BisectOptions) {
    this.subject = subject;
    this.judge = judge;
    this.o = o;
    this.plans = new FunctionPlans(subject.plan, subject.program);
  }

  async run(): Promise<Finding | NoFinding> {
    const { subject } = this;
    const whole = attempt(subject, { verify: true }, this.cache);
    if (whole.fault.state !== 'good') return this.ofFault(whole);
    const failure = await this.ask(whole.last, 'the whole plan');
    if (failure.state !== 'bad')
      return { why: failure.state === 'good' ? 'good' : 'unclear', verdict: failure };
    const input = await this.ask(subject.program, 'no phase');
    if (input.state !== 'good') return { why: 'input', verdict: input };

    const changing = whole.records.filter((r, i) => {
      const before = i === 0 ? subject.program : whole.records[i - 1].program;
      return r.program !== before;
    });
    const states = [subject.program, ...changing.map((r) => r.program)];
    const pair = await boundary(
      0,
      changing.length,
      failure,
      (i) => this.ask(states[i], `after ${changing[i - 1].phase.id}`),
      this.o.inTurn,
    );
    const phases = changing.map((r) => r.phase);
    const phase = phases[pair.bad - 1];
    const found = {
      failure: pair.verdict,
      thrown: false,
      phase,
      lastGood: pair.good === 0 ? null : phases[pair.good - 1],
      unclear: phases.slice(pair.good, pair.bad - 1),
    };
    const from = states[pair.good];
    const to = states[pair.bad];
    if (found.unclear.length > 0)
      return this.found({ ...found, ...NOWHERE, whyNoRewrite: 'phases in front of it could not be judged' });
    const fn = await this.function(from, to, pair.verdict);
    const changed = changedFunctions(from, to) ?? [];
    if (fn === null)
      return this.found({
        ...found,
        ...NOWHERE,
        changedFunctions: changed.length,
        whyNoRewrite: 'the phase changes the program as a whole',
      });
    const place = { ...found, fn: fn.name, changedFunctions: changed.length };
    const was = functionOf(from, fn.name);
    const now = functionOf(to, fn.name);
    const rewrite = await this.rewrite(phase, fn.name, (a) => {
      if (a.fault.state !== 'good') return { ...a.fault, state: 'unclear' };
      const made = functionOf(a.last, fn.name);
      return made === null
        ? { ...GOOD, state: 'unclear' }
        : this.ask(withFunction(fn.without, made), `rewrites of ${phase.id}`);
    });
    return this.found({ ...place, before: was, after: now, ...rewrite });
  }

  /** Searches for the cause if a pass threw or the verifier rejected its result. */
  private async ofFault(whole: Attempt): Promise<Finding | NoFinding> {
    const { fault, where, records } = whole;
    const phase = this.subject.plan.phases.find((p) => p.id === where?.phase);
    if (where === null || phase === undefined) return { why: 'outside', verdict: fault };
    const place = {
      failure: fault,
      thrown: true,
      phase,
      lastGood: records.findLast((r) => r.outcome === 'ran' && r.blocksChanged > 0)?.phase ?? null,
      unclear: [],
      fn: where.fn,
      changedFunctions: where.fn === null ? 0 : 1,
      before: where.fn === null ? null : functionOf(whole.last, where.fn),
      after: null,
    };
    // The run goes over all functions, and others may throw too, so the rewrites of all are counted.
    const rewrite = await this.rewrite(phase, null, ({ fault: f }) => {
      this.tests++;
      return f.state === 'good' || f.kind === fault.kind ? f : { ...f, state: 'unclear' };
    });
    return this.found({ ...place, ...rewrite });
  }

  /** The function that makes the program bad, and a good program in which this function is unchanged by the phase. */
  private async function(
    from: Program,
    to: Program,
    verdict: Verdict,
  ): Promise<{ readonly name: string; readonly without: Program } | null> {
    const names = changedFunctions(from, to);
    if (names === null || names.length === 0) return null;
    /** The program with the first n changed functions in their new version, and the others in their old one. */
    const mixed = (n: number): Program => {
      const new_ = new Set(names.slice(0, n));
      return withFunctions(
        to,
        to.functions.map((f) => (new_.has(f.name) ? f : (functionOf(from, f.name) ?? f))),
      );
    };
    const pair = await boundary(
      0,
      names.length,
      verdict,
      (n) => this.ask(mixed(n), `function ${names[n - 1]}`),
      this.o.inTurn,
    );
    if (pair.bad - pair.good > 1) return null;
    return { name: names[pair.bad - 1], without: mixed(pair.good) };
  }

  /**
   * Finds the rewrite of a phase.
   * @param fn the function whose rewrites are counted; null: all functions
   * @param judged returns the verdict on a run under a limit
   */
  private async rewrite(
    phase: PlanPhase,
    fn: string | null,
    judged: (a: Attempt) => Verdict | Promise<Verdict>,
  ): Promise<Pick<Finding, 'rewrite' | 'whyNoRewrite'> & Partial<Finding>> {
    const run = (count: number): Attempt =>
      attempt(
        this.subject,
        { until: phase.id, verify: true, rewriteLimit: { phase: phase.id, count, fn } },
        this.cache,
      );
    const none = (whyNoRewrite: string) => ({ rewrite: null, whyNoRewrite });
    const first = run(0);
    if ((await judged(first)).state !== 'good')
      return none('it is bad before the first rewrite that the phase asks for');
    if (first.records.at(-1)?.rewrites?.refused !== true)
      return none('the phase asks for no rewrite there: it changes the function as a whole');
    // The limit is doubled until the result is bad, because the number of rewrites is unknown: a run that throws has no record of it.
    let good = 0;
    let bad = 1;
    for (; ; good = bad, bad *= 2) {
      const a = run(bad);
      const v = await judged(a);
      if (v.state === 'bad') {
        const pair = await boundary(good, bad, v, async (n) => judged(run(n)));
        if (pair.bad - pair.good > 1) return none('some of its rewrites could not be judged');
        return this.rewriteAt(phase, fn, pair.bad, run);
      }
      if (v.state === 'unclear') return none('some of its rewrites could not be judged');
      if (a.records.at(-1)?.rewrites?.refused !== true)
        return none('it is good with all of the rewrites that the phase asks for, alone');
    }
  }

  private rewriteAt(
    phase: PlanPhase,
    fn: string | null,
    number: number,
    run: (count: number) => Attempt,
  ): Pick<Finding, 'rewrite' | 'whyNoRewrite'> & Partial<Finding> {
    const without = run(number - 1);
    const next = without.records.at(-1)!.rewrites!.next!;
    const withIt = run(number);
    return {
      rewrite: {
        ...next,
        number,
        counted: fn,
        rule: this.ruleOf(this.phaseIn(phase, next.fn), next.fn, next.name),
      },
      whyNoRewrite: '',
      fn: next.fn,
      before: functionOf(without.last, next.fn),
      // Records do not contain programs that the verifier rejected.
      after: withIt.fault.state === 'good' ? functionOf(withIt.last, next.fn) : null,
    };
  }

  /** A phase in the plan of a function, to which another recipe may apply. */
  private phaseIn(phase: PlanPhase, fn: string | null): PlanPhase {
    return fn === null ? phase : (this.plans.of(fn).phases.find((p) => p.id === phase.id) ?? phase);
  }

  private ruleOf(phase: PlanPhase, fn: string, id: string): RewriteFound['rule'] {
    for (const g of groupsOf(phase)) {
      const doc = this.plans.of(fn).rules.get(g);
      if (doc === undefined) continue;
      const { rules } = doc.data as { rules: readonly { readonly id: string; readonly title: string }[] };
      const place = rules.findIndex((r) => r.id === id);
      if (place >= 0) return { id, title: rules[place].title, file: doc.file, place };
    }
    return null;
  }

  private async ask(program: Program, what: string): Promise<Verdict> {
    this.tests++;
    this.o.tell?.(`test ${this.tests}: ${what}`);
    return this.judge.judge(this.subject, program);
  }

  private found(f: Omit<Finding, 'tests'>): Finding {
    return { ...f, phase: this.phaseIn(f.phase, f.fn), tests: this.tests };
  }
}

const NOWHERE = { fn: null, changedFunctions: 0, rewrite: null, before: null, after: null } as const;

/** Names of the passes, then of the rule groups, that a phase runs. */
export const workersOf = (p: PlanPhase): string[] => [...passesOf(p), ...groupsOf(p)];

const functionOf = (p: Program, name: string): Fn | null => p.functions.find((f) => f.name === name) ?? null;

const withFunction = (p: Program, fn: Fn): Program =>
  withFunctions(
    p,
    p.functions.map((f) => (f.name === fn.name ? fn : f)),
  );

/** Names of the functions that differ; null if the programs differ in more than the bodies of functions. */
function changedFunctions(a: Program, b: Program): string[] | null {
  if (a.functions.length !== b.functions.length || a.variables !== b.variables) return null;
  if (a.functions.some((f, i) => f.name !== b.functions[i].name)) return null;
  return b.functions.filter((f, i) => f !== a.functions[i]).map((f) => f.name);
}
