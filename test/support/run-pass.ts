import { ChangeLog, WorkList } from '../../src/analysis/flow/changes.ts';
import { edit } from '../../src/ir/draft/index.ts';
import type { Fn } from '../../src/ir/program.ts';
import type { PassContext } from '../../src/passes/pass.ts';
import { passes } from '../../src/passes/registry.ts';

/** Runs a registered pass of any kind on one function; of the result of a program pass only the function is used. */
export function runPass(name: string, fn: Fn, ctx: PassContext): Fn {
  const entry = passes.get(name);
  if (entry === undefined) throw new Error(`no pass ${name}`);
  if ('pass' in entry) return entry.pass(fn, ctx);
  if ('programPass' in entry) {
    const { isa, phase, params } = ctx;
    return entry.programPass(ctx.program, { isa, phase, params, functions: [fn], of: () => ctx })
      .functions[0];
  }
  if ('machineCode' in entry) throw new Error(`${name} runs over machine code`);
  return edit(fn, (d) => entry.edit(d, new WorkList(new ChangeLog(d)), ctx));
}
