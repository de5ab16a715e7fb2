import { MEMORY_OF, Mem } from '../analysis/memory/memory-ops.ts';
import { memo } from '../ir/memo.ts';
import { Kind } from '../ir/operand.ts';
import type { Fn, Program, Variable } from '../ir/program.ts';
import type { Values } from './values.ts';

/** For each leaf that stands for the address of a variable, the variable. */
export type Symbols = Map<number, Variable>;

/** Memory spaces with 32-bit addresses. */
export const NARROW = Mem.Shared | Mem.Local | Mem.Param;

/** The leaf that stands for the address of a variable; 32 bits wide if its space has 32-bit addresses. */
export function symbolLeaf(values: Values, name: string, x: Variable | undefined, symbols: Symbols): number {
  const narrow = x !== undefined && (MEMORY_OF[x.space] & ~NARROW) === 0;
  const leaf = values.markUniform(values.atom(`address of ${name}`, narrow ? 32 : 64));
  if (x !== undefined) symbols.set(leaf, x);
  return leaf;
}

/** Declares the leaves of all variables that a version names, since registers may hold their addresses at a cut. */
export function declareSymbols(
  { program, fn }: { readonly program: Program; readonly fn: Fn },
  values: Values,
  symbols: Symbols,
): void {
  for (const name of namesIn(fn)) {
    const x = [...fn.variables, ...program.variables].find((v) => v.name === name);
    if (x !== undefined) symbolLeaf(values, name, x, symbols);
  }
}

const namesIn = memo((fn: Fn): ReadonlySet<string> => {
  const out = new Set<string>();
  for (const b of fn.blocks)
    for (const ins of b.ins)
      for (const o of ins.src) if (o.sym !== '' && o.kind !== Kind.Text) out.add(o.sym);
  return out;
});
