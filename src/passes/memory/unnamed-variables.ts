import { withDeclarations } from '../../ir/edit.ts';
import type { Fn } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

/** The function without its variables that no instruction names. */
export function withoutUnnamed(fn: Fn, ctx: PassContext): Fn {
  if (fn.variables.length === 0) return fn;
  const named = new Set<string>();
  for (const b of fn.blocks) for (const x of b.ins) for (const o of x.src) named.add(o.sym);
  const variables = fn.variables.filter((v) => {
    if (named.has(v.name) || !ctx.mayRewrite('variable-removed')) return true;
    ctx.remark('passed', 'variable-removed', `nothing refers to ${v.name} any more`);
    return false;
  });
  return variables.length === fn.variables.length ? fn : withDeclarations(fn, variables);
}
