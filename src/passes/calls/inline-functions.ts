import { calleeName, callGraphOf } from '../../analysis/calls/call-graph.ts';
import { isCall } from '../../analysis/memory/memory-ops.ts';
import type { Fn, Program } from '../../ir/program.ts';
import type { ProgramPass } from '../pass.ts';
import { type Callee, inlineCalls, type Limits, whyNever } from './inline-calls.ts';

/**
 * Replaces calls of device functions by their code (recipe `inline`, at the hook after phase 2).
 *
 *     before                                     after
 *     .func f                                    .entry k
 *     BB0:                                       BB0:
 *           LDPRM R1, [f_param_0]                      STL [param0], R2
 *           IADD3 R2, R1, 1                      BB2:
 *           STPRM [func_retval0], R2                   LDL R4, [param0]
 *           RET                                        IADD3 R5, R4, 1
 *                                                      STL [retval0], R5
 *     .entry k                                   BB1:
 *     BB0:                                             LDL R3, [retval0]
 *           STPRM [param0], R2                         ...
 *           CALL.U {}, &f, &, {&param0, &retval0}
 *     BB1:
 *           LDPRM R3, [retval0]
 *           ...
 *
 * The variables of the call site become local ones, for caller and callee alike, and phase 37 promotes them to
 * registers like any other: so parameters of every size and shape go through one mechanism.
 *
 * Callees come before their callers, so that chains of calls collapse from the leaves up. A function that can no longer be called is
 * removed.
 *
 * A call stays, with a remark, if it is guarded; if the function is recursive, weak (another definition may replace it) or has
 * directives; if a parameter is used by anything but plain loads and stores, or its variable by another call; or if the function is too
 * large. The limits: `max-instructions` per function, `max-instructions-once` for a function with a single call, `max-growth` for all
 * that is inlined into a caller.
 *
 * Requires: control-last, phi-free. Guarantees: both. A second application inlines only what growth had ruled out.
 * Bound: each call is examined once; a function grows by at most `max-growth` instructions.
 */
export const inlineFunctions: ProgramPass = (program, ctx) => {
  const graph = callGraphOf(program);
  const open = new Set(ctx.functions);
  const limits: Limits = {
    usual: Number(ctx.params['max-instructions'] ?? Number.POSITIVE_INFINITY),
    once: Number(ctx.params['max-instructions-once'] ?? Number.POSITIVE_INFINITY),
    growth: Number(ctx.params['max-growth'] ?? Number.POSITIVE_INFINITY),
  };
  const calls = callCounts(program);
  const now = [...program.functions];
  const calleeOf = (name: string): Callee | string => {
    if (name === '') return 'its target is known only at run time';
    const c = graph.indexOf.get(name);
    if (c === undefined) return 'the function is defined elsewhere';
    if (graph.recursive[c] === 1) return 'the function may call itself';
    return whyNever(now[c]) ?? { fn: now[c], once: graph.addressTaken[c] === 0 && calls.get(name) === 1 };
  };
  for (const component of graph.components)
    for (const f of component) {
      const fn = program.functions[f];
      if (open.has(fn)) now[f] = inlineCalls(program, fn, ctx.of(fn), limits, calleeOf);
    }
  if (now.every((f, i) => f === program.functions[i])) return program;
  const mayRemove = (i: number): boolean =>
    open.has(program.functions[i]) && calls.has(program.functions[i].name);
  return withoutUncalled(program, now, mayRemove);
};

/** Number of calls of each function by name. */
function callCounts(program: Program): Map<string, number> {
  const calls = new Map<string, number>();
  for (const f of program.functions)
    for (const b of f.blocks)
      for (const x of b.ins) if (isCall(x)) calls.set(calleeName(x), (calls.get(calleeName(x)) ?? 0) + 1);
  return calls;
}

/** The program with the functions `now`, without the removable ones that nothing can call any more. */
function withoutUncalled(program: Program, now: readonly Fn[], mayRemove: (i: number) => boolean): Program {
  const places = new Map(now.map((f, i) => [f, i]));
  for (let after: Program = { ...program, functions: now }; ; ) {
    const g = callGraphOf(after);
    const stays = (f: Fn, i: number): boolean =>
      f.kind === 'entry' ||
      f.attrs.linkage !== '' ||
      g.addressTaken[i] === 1 ||
      g.callerStart[i] < g.callerStart[i + 1] ||
      !mayRemove(places.get(f)!);
    const functions = after.functions.filter(stays);
    if (functions.length === after.functions.length) return after;
    after = { ...after, functions };
  }
}
