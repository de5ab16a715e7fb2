import { memo } from '../../ir/memo.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn, Instr, Program } from '../../ir/program.ts';
import { invert } from '../flow/cfg.ts';
import { isCall } from '../memory/memory-ops.ts';
import { componentsOf } from '../structures/components.ts';

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
  const { members: components, of: componentOf } = componentsOf(calleeStart, callees, fns.keys());
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
