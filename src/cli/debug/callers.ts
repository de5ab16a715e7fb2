import { NO_REG } from '../../ir/operand.ts';
import type { Fn, Param, Program } from '../../ir/program.ts';
import { readPtx } from '../../read.ts';
import type { Plan } from '../../spec/plan.ts';

/**
 * Functions that no kernel of a program calls or takes the address of, and that a kernel can call, because their parameters are in memory.
 */
export function uncalled(program: Program): Fn[] {
  const byName = new Map(program.functions.map((f) => [f.name, f]));
  const called = new Set<string>();
  const queue = program.functions.filter((f) => f.kind === 'entry');
  for (let f = queue.pop(); f !== undefined; f = queue.pop()) {
    if (called.has(f.name)) continue;
    called.add(f.name);
    for (const b of f.blocks)
      for (const ins of b.ins)
        for (const { sym } of ins.src) if (byName.has(sym)) queue.push(byName.get(sym)!);
  }
  const inMemory = (p: Param): boolean => p.reg === NO_REG;
  return program.functions.filter(
    (f) => f.kind === 'func' && !called.has(f.name) && f.params.every(inMemory) && f.returns.every(inMemory),
  );
}

/** Name of the kernel that calls a function. */
export const callerOf = (fn: Fn): string => `call_of_${fn.name}`;

const isBlob = (p: Param): boolean => p.array || p.size > 8;
/** Size in bytes of the accesses by which a parameter is copied. */
const pieceOf = (p: Param): number => (isBlob(p) ? Math.min(8, Math.max(1, p.align)) : p.size);

const declared = (p: Param, name: string): string =>
  isBlob(p) ? `.param .align ${p.align} .b8 ${name}[${p.size}]` : `.param .${p.type} ${name}`;

/** Distance in bytes between the results of consecutive threads. */
const STRIDE = 256;

/** PTX of a kernel that passes its own arguments to a function and stores the results, each thread at its own address. */
function callerText(fn: Fn, version: string, target: string): string {
  const registers: string[] = [];
  const copy = (p: Param, load: string, from: string, store: string, to: string, base = 0): string[] => {
    const size = pieceOf(p);
    return Array.from({ length: Math.ceil(p.size / size) }, (_, k) => {
      const value = `%v${registers.length}`;
      registers.push(`.reg .b${Math.max(16, 8 * size)} ${value};`);
      const at = k * size;
      return `ld.${load}.b${8 * size} ${value}, [${from}+${at}];\nst.${store}.b${8 * size} [${to}+${base + at}], ${value};`;
    });
  };
  const name = callerOf(fn);
  const list = (ps: readonly Param[], of: string): string =>
    ps.map((p, k) => declared(p, `${of}${k}`)).join(', ');
  const names = (ps: readonly Param[], of: string): string => ps.map((_, k) => `${of}${k}`).join(', ');
  const result = fn.returns.length === 0 ? '' : `(${list(fn.returns, 'r')}) `;
  const given = fn.params.flatMap((p, k) => copy(p, 'param', `k${k}`, 'param', `a${k}`));
  let at = 0;
  const stored = fn.returns.flatMap((p, k) => {
    const base = at;
    at += Math.ceil(p.size / 16) * 16;
    return copy(p, 'param', `r${k}`, 'global', '%to', base);
  });
  const slots = [
    ...fn.params.map((p, k) => declared(p, `a${k}`)),
    ...fn.returns.map((p, k) => declared(p, `r${k}`)),
  ];
  return `.version ${version}
.target ${target}
.address_size 64
.extern .func ${result}${fn.name}(${list(fn.params, 'p')});
.visible .entry ${name}(${[`.param .u64 .ptr .global .align 16 out`, ...fn.params.map((p, k) => declared(p, `k${k}`))].join(', ')})
{
.reg .b64 %to; .reg .b32 %t<5>;
${registers.join('\n')}
ld.param.u64 %to, [out];
mov.u32 %t0, %tid.x; mov.u32 %t1, %ntid.x; mov.u32 %t2, %ctaid.x; mad.lo.u32 %t3, %t1, %t2, %t0;
mad.wide.u32 %to, %t3, ${STRIDE}, %to;
{
${slots.map((s) => `${s};`).join('\n')}
${given.join('\n')}
call ${fn.returns.length === 0 ? '' : `(${names(fn.returns, 'r')}), `}${fn.name}, (${names(fn.params, 'a')});
${stored.join('\n')}
}
ret;
}
`;
}

/**
 * Kernels that call functions of a program, to be added to it and to other versions of it (`withCallers`).
 *
 * @throws DiagnosticError if a function has parameters that PTX cannot pass
 */
export function callersOf(program: Program, functions: readonly Fn[], plan: Plan): Fn[] {
  return functions.map((fn) => {
    const read = readPtx(
      callerText(fn, program.version, program.target.split(',')[0]),
      plan,
      fn.name,
    ).program;
    const caller = read.functions.find((f) => f.name === callerOf(fn))!;
    // The instructions have no location in the text of the program.
    const blocks = caller.blocks.map((b) => ({ ...b, ins: b.ins.map((i) => ({ ...i, loc: 0 })) }));
    return { ...caller, blocks };
  });
}

/** A program extended by kernels that call its functions. */
export const withCallers = (program: Program, callers: readonly Fn[]): Program =>
  callers.length === 0 ? program : { ...program, functions: [...program.functions, ...callers] };
