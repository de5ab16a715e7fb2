import { Kind } from '../../ir/operand.ts';
import type { Fn, Instr, Program } from '../../ir/program.ts';
import { invert } from '../flow/cfg.ts';
import { isCall } from '../memory/memory-ops.ts';
import { memo } from '../structures/memo.ts';

/**
 * Which functions of a module may call which. Functions are identified by position; edges are stored in compressed
 * rows, each callee once. A function with an indirect call may call every function whose address the module takes,
 * and functions of other modules.
 */
export interface CallGraph {
  readonly program: Program;
  readonly indexOf: ReadonlyMap<string, number>;
  readonly calleeStart: Int32Array;
  readonly callees: Int32Array;
  readonly callerStart: Int32Array;
  readonly callers: Int32Array;
  /** 1 if a function has a call through a register. */
  readonly indirect: Uint8Array;
  /** 1 if a function may run code outside the module: a declared function, or an indirect call. */
  readonly leavesModule: Uint8Array;
  /** 1 if the address of a function is taken, so that it may be called from anywhere. */
  readonly addressTaken: Uint8Array;
  /** Strongly connected components, callees before callers. */
  readonly components: readonly (readonly number[])[];
  readonly componentOf: Int32Array;
  /** 1 if a function may call itself, directly or through others. */
  readonly recursive: Uint8Array;
}

/** The name of the called function, '' if the call is indirect. */
export const calleeName = (call: Instr): string => (call.src[0].kind === Kind.Sym ? call.src[0].sym : '');

/** The call graph of a module. */
export const callGraphOf: (program: Program) => CallGraph = memo((program) => {
  const fns = program.functions;
  const count = fns.length;
  const indexOf = new Map(fns.map((f, i) => [f.name, i]));
  const indirect = new Uint8Array(count);
  const leavesModule = new Uint8Array(count);
  const addressTaken = new Uint8Array(count);
  const direct: number[][] = [];
  const take = (name: string): void => {
    const t = name === '' ? undefined : indexOf.get(name);
    if (t !== undefined) addressTaken[t] = 1;
  };
  for (const v of program.variables) for (const r of v.relocs) take(r.symbol);
  // An alias makes the function callable under another name, from anywhere.
  for (const a of program.aliases) take(a.of);
  for (let f = 0; f < count; f++) direct.push(callsOf(fns[f], f));

  const taken: number[] = [];
  for (let f = 0; f < count; f++) if (addressTaken[f] === 1) taken.push(f);
  const calleeStart = new Int32Array(count + 1);
  const edges: number[] = [];
  const seenBy = new Int32Array(count).fill(-1);
  for (let f = 0; f < count; f++) {
    for (const t of indirect[f] === 1 ? [...direct[f], ...taken] : direct[f]) {
      if (seenBy[t] === f) continue;
      seenBy[t] = f;
      edges.push(t);
    }
    calleeStart[f + 1] = edges.length;
  }
  const callees = Int32Array.from(edges);
  const { start: callerStart, items: callers } = invert(count, calleeStart, callees);
  const { components, componentOf } = connected(count, calleeStart, callees);
  const recursive = new Uint8Array(count);
  for (let f = 0; f < count; f++)
    for (let e = calleeStart[f]; e < calleeStart[f + 1]; e++)
      if (componentOf[callees[e]] === componentOf[f]) recursive[f] = 1;
  return {
    program,
    indexOf,
    calleeStart,
    callees,
    callerStart,
    callers,
    indirect,
    leavesModule,
    addressTaken,
    components,
    componentOf,
    recursive,
  };

  /** Functions that a function calls by name; also records its indirect calls and taken addresses. */
  function callsOf(fn: Fn, f: number): number[] {
    const out: number[] = [];
    for (const b of fn.blocks)
      for (const x of b.ins) {
        const call = isCall(x);
        // The first two sources of a call are its target and the name of its prototype.
        for (let i = call ? 2 : 0; i < x.src.length; i++) take(x.src[i].sym);
        if (!call) continue;
        const name = calleeName(x);
        const t = indexOf.get(name);
        if (name === '') indirect[f] = 1;
        if (t === undefined) leavesModule[f] = 1;
        else out.push(t);
      }
    return out;
  }
});

/** Strongly connected components (Tarjan 1972, with explicit stacks), callees before callers. */
function connected(
  count: number,
  start: Int32Array,
  items: Int32Array,
): { components: number[][]; componentOf: Int32Array } {
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const edge = new Int32Array(count);
  const componentOf = new Int32Array(count).fill(-1);
  const components: number[][] = [];
  const path: number[] = [];
  const open: number[] = [];
  let next = 0;
  const enter = (v: number): void => {
    index[v] = low[v] = next++;
    edge[v] = start[v];
    path.push(v);
    open.push(v);
  };
  for (let s = 0; s < count; s++) {
    if (index[s] >= 0) continue;
    enter(s);
    while (path.length > 0) {
      const v = path[path.length - 1];
      if (edge[v] < start[v + 1]) {
        const t = items[edge[v]++];
        if (index[t] < 0) enter(t);
        else if (componentOf[t] < 0) low[v] = Math.min(low[v], index[t]);
        continue;
      }
      path.pop();
      if (path.length > 0) {
        const parent = path[path.length - 1];
        low[parent] = Math.min(low[parent], low[v]);
      }
      if (low[v] !== index[v]) continue;
      const members: number[] = [];
      for (let m = -1; m !== v; ) {
        m = open.pop()!;
        componentOf[m] = components.length;
        members.push(m);
      }
      components.push(members);
    }
  }
  return { components, componentOf };
}
