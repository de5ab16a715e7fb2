import { memo } from '../../ir/memo.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn, Instr, Program } from '../../ir/program.ts';
import { type Accesses, accessesOf, Does, rowsOf } from '../memory/address.ts';
import { Mem, MUTABLE } from '../memory/memory-ops.ts';
import { calleeName, callGraphOf } from './call-graph.ts';

/** Memory that code may read and may write (`Mem` bits). */
export interface Effect {
  readonly reads: number;
  readonly writes: number;
}

/** The effect of unknown code. */
const ANYTHING: Effect = { reads: MUTABLE | Mem.Const, writes: MUTABLE };
const NOTHING: Effect = { reads: 0, writes: 0 };

const both = (a: Effect, b: Effect): Effect => ({ reads: a.reads | b.reads, writes: a.writes | b.writes });

/**
 * What each function of a module may do to its caller's memory, by position. Functions that call each other share one
 * summary; an indirect call, a function without a body, and a weak one, which another module may replace, may do
 * anything. A function's local variables are not its caller's memory; its parameters are passed by the call, which
 * itself counts as touching parameter memory.
 */
export const effectsOf: (program: Program) => readonly Effect[] = memo((program) => {
  const g = callGraphOf(program);
  const out: Effect[] = program.functions.map(() => NOTHING);
  for (const members of g.components) {
    const isUnknown = members.some(
      (f) => g.leavesModule[f] === 1 || program.functions[f].attrs.linkage === 'weak',
    );
    let sum = isUnknown ? ANYTHING : NOTHING;
    if (sum === NOTHING)
      for (const f of members) {
        sum = both(sum, ownEffect(program.functions[f], program));
        for (let e = g.calleeStart[f]; e < g.calleeStart[f + 1]; e++) sum = both(sum, out[g.callees[e]]);
      }
    for (const f of members) out[f] = sum;
  }
  return out;
});

/** What the instructions of a function, except calls, do to memory that its caller shares. */
function ownEffect(fn: Fn, program: Program): Effect {
  const a = accessesOf(fn, program.variables);
  const own = new Set(fn.variables.map((v) => v.name));
  let reads = 0;
  let writes = 0;
  for (let x = 0; x < a.count; x++) {
    if ((a.does[x] & Does.Call) !== 0) continue;
    let memory = a.memory[x] & ~Mem.Param;
    const o = a.object[x];
    if (o >= 0 && own.has(a.objects[o].name)) memory &= ~Mem.Local;
    if ((a.does[x] & Does.Read) !== 0) reads |= memory;
    if ((a.does[x] & Does.Write) !== 0) writes |= memory & MUTABLE;
  }
  return { reads, writes };
}

/** What a call may do, including to its parameters and return values. */
export function callEffect(program: Program, call: Instr): Effect {
  const g = callGraphOf(program);
  const name = calleeName(call);
  const f = name === '' ? undefined : g.indexOf.get(name);
  const e = f === undefined ? ANYTHING : effectsOf(program)[f];
  return { reads: e.reads | Mem.Param, writes: e.writes | Mem.Param };
}

/**
 * What an instruction may do to memory: its accesses, and everything that it orders. Leaving a function makes its writes observable, so
 * it counts as a read.
 */
export function effectOf(a: Accesses, program: Program, n: number): Effect {
  const ins = a.du.ins[n];
  const { first, end } = rowsOf(a, n);
  let reads = 0;
  let writes = 0;
  for (let x = first; x < end; x++) {
    if ((a.does[x] & Does.Call) !== 0) return callEffect(program, ins);
    if ((a.does[x] & Does.Read) !== 0) reads |= a.memory[x];
    if ((a.does[x] & Does.Write) !== 0) writes |= a.memory[x] & MUTABLE;
  }
  if (leaves(ins)) reads |= MUTABLE;
  return { reads, writes };
}

/** Does it end the function where it executes: control without a target inside? */
const leaves = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.NoFallThrough) !== 0 &&
  ins.op.srcs.every((s) => (s.kinds & ((1 << Kind.Label) | (1 << Kind.Table))) === 0);
