import { ChangeLog, WorkList } from '../../src/analysis/changes.ts';
import { edit } from '../../src/ir/draft/index.ts';
import type { Fn } from '../../src/ir/program.ts';
import type { PassContext } from '../../src/passes/pass.ts';
import { passes } from '../../src/passes/registry.ts';

/** Runs a registered pass, of either kind, over one function. */
export function runPass(name: string, fn: Fn, ctx: PassContext): Fn {
  const entry = passes.get(name);
  if (entry === undefined) throw new Error(`no pass ${name}`);
  if ('pass' in entry) return entry.pass(fn, ctx);
  if (!('edit' in entry)) throw new Error(`${name} runs over whole programs`);
  return edit(fn, (d) => entry.edit(d, new WorkList(new ChangeLog(d)), ctx));
}
