import type { Fn, Program } from '../ir/program.ts';
import type { KnobValue, PassContext, Remark } from '../passes/pass.ts';
import type { Plan, PlanPhase, ResolvedKnob } from '../spec/plan.ts';

/** A pass read something that its phase does not declare: a mistake in `phases.yaml` or in the pass. */
export class UndeclaredRead extends Error {
  constructor(phase: string, what: string, name: string) {
    super(
      `phase ${phase} read the ${what} '${name}' without declaring it: add it to '${what}s' of that row in pipelines/phases.yaml`,
    );
    this.name = 'UndeclaredRead';
  }
}

/** Counters of budget knobs. One set lives as long as one run of a plan over one program. */
export class Budgets {
  private readonly used = new Map<string, number>();
  private readonly plan: Plan;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  /** Takes one unit; false once the limit is reached. A knob that is not set has no limit. */
  take(name: string): boolean {
    const limit = this.plan.knobs.get(name)?.value;
    if (typeof limit !== 'number') return true;
    const used = this.used.get(name) ?? 0;
    if (used >= limit) return false;
    this.used.set(name, used + 1);
    return true;
  }

  /** State that decides future answers, for cache keys: units used of every limited knob. */
  state(): string {
    return [...this.used].map(([k, v]) => `${k}:${v}`).join(',');
  }

  restore(state: string): void {
    this.used.clear();
    for (const part of state.split(','))
      if (part !== '') {
        const at = part.lastIndexOf(':');
        this.used.set(part.slice(0, at), Number(part.slice(at + 1)));
      }
  }
}

/** True where a `*`/`?` pattern covers the whole name. */
export function globMatch(pattern: string, name: string): boolean {
  const re = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${re}$`).test(name);
}

/** Value of a knob for a function: a conditional value holds only where its pattern covers the name. */
export function knobFor(k: ResolvedKnob | undefined, fn: string): KnobValue {
  if (k === undefined) return null;
  if (k.when === null || globMatch(k.when, fn)) return k.value;
  const before = k.overridden[k.overridden.length - 1];
  return before === undefined ? null : before.value;
}

/** A path such as 'limits.max-registers' in plain data; undefined where there is nothing. */
export function factAt(facts: Readonly<Record<string, unknown>>, path: string): unknown {
  let v: unknown = facts;
  for (const part of path.split('.')) {
    if (v === null || typeof v !== 'object') return undefined;
    v = (v as Record<string, unknown>)[part];
  }
  return v;
}

/** Collects what a phase reads and says. */
export interface PhaseLog {
  readonly knobs: Set<string>;
  readonly facts: Set<string>;
  readonly remarks: Remark[];
  readonly reports: string[];
}

export const newLog = (): PhaseLog => ({ knobs: new Set(), facts: new Set(), remarks: [], reports: [] });

/** The context of one phase over one function. */
export function makeContext(
  plan: Plan,
  phase: PlanPhase,
  program: Program,
  fn: Fn,
  level: number,
  budgets: Budgets,
  log: PhaseLog,
): Omit<PassContext, 'params'> {
  const declare = (name: string) => {
    if (!phase.knobs.includes(name)) throw new UndeclaredRead(phase.name, 'knob', name);
    log.knobs.add(name);
  };
  return {
    program,
    isa: plan.isa,
    phase: phase.id,
    level,
    knob(name) {
      declare(name);
      return knobFor(plan.knobs.get(name), fn.name);
    },
    budget(name) {
      declare(name);
      return budgets.take(name);
    },
    fact(path) {
      if (!phase.facts.some((f) => path === f || path.startsWith(`${f}.`)))
        throw new UndeclaredRead(phase.name, 'fact', path);
      log.facts.add(path);
      return factAt(plan.backend.facts, path);
    },
    remark(kind, name, message, at) {
      log.remarks.push({
        kind,
        name,
        message,
        fn: fn.name,
        block: at?.block ?? -1,
        loc: at?.ins?.loc ?? 0,
      });
    },
    report(text) {
      log.reports.push(text);
    },
  };
}
