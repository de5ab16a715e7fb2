import type { Fn, Program } from '../../src/ir/program.ts';
import type { KnobValue, PassContext, Remark } from '../../src/passes/pass.ts';
import { factOf } from '../../src/spec/backend.ts';
import type { Backend } from '../../src/spec/plan.ts';
import { testIsa } from './isa.ts';

/** A pass context for tests: knobs by name, budgets that count down, and a record of all remarks. */
export function testContext(
  fn: Fn,
  opts: {
    knobs?: Record<string, KnobValue>;
    params?: Record<string, unknown>;
    facts?: Record<string, unknown>;
    /** A back end that provides the facts not given here. */
    backend?: Backend;
    /** Execution counts by block id. */
    profile?: Record<number, number>;
    /** Number of allowed rewrites; unlimited if absent. */
    rewrites?: { left: number };
  } = {},
): PassContext & { remarks: Remark[]; reports: string[] } {
  const left = new Map(
    Object.entries(opts.knobs ?? {}).filter((e): e is [string, number] => typeof e[1] === 'number'),
  );
  const remarks: Remark[] = [];
  const reports: string[] = [];
  return {
    program: programOf(fn),
    isa: testIsa(),
    phase: 'Test',
    params: opts.params ?? {},
    level: 3,
    sm: 'sm_80',
    ruleBudget: null,
    recipes: () => [],
    profile: () =>
      opts.profile === undefined
        ? null
        : new Map(Object.entries(opts.profile).map(([b, n]) => [Number(b), n])),
    knob: (name) => opts.knobs?.[name] ?? null,
    budget(name) {
      const n = left.get(name);
      if (n === undefined) return true;
      if (n <= 0) return false;
      left.set(name, n - 1);
      return true;
    },
    budgetLeft: (name) => (left.get(name) ?? 1) > 0,
    mayRewrite: () => opts.rewrites === undefined || opts.rewrites.left-- > 0,
    // Without a cost table every opcode costs the same.
    fact: (path) =>
      opts.facts?.[path] ??
      (opts.backend === undefined ? undefined : factOf(opts.backend, path)) ??
      (path === 'costs' ? {} : undefined),
    remark(kind, name, message, at) {
      const { block = -1, ins, count = 1 } = at ?? {};
      remarks.push({ kind, name, message, fn: fn.name, block, loc: ins?.loc ?? 0, count });
    },
    report: (make) => void reports.push(make()),
    remarks,
    reports,
  };
}

/** A program with a single function. */
export const programOf = (fn: Fn): Program => ({
  name: 'test.ori',
  version: '9.0',
  target: 'sm_80',
  addressSize: 64,
  functions: [fn],
  variables: [],
  prototypes: [],
  aliases: [],
  locs: [{ line: 0, file: 0, srcLine: 0, srcColumn: 0 }],
  files: [],
  skipped: [],
});
