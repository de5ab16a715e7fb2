import { type Fn, ownName, type Program, type Variable } from '../../ir/program.ts';

/**
 * Names that a function mentions, and those mentioned by everything that it reaches through them: functions, and variables that hold
 * addresses.
 */
export function namesReached(program: Program, fn: Fn): ReadonlySet<string> {
  const functions = new Map(program.functions.map((f) => [f.name, f]));
  const variables = new Map(program.variables.map((v) => [v.name, v]));
  const reached = new Set<string>();
  const work: Fn[] = [fn];
  const meet = (symbol: string): void => {
    const name = ownName(program, symbol);
    if (name === '' || reached.has(name)) return;
    reached.add(name);
    const callee = functions.get(name);
    if (callee !== undefined) work.push(callee);
    for (const r of variables.get(name)?.relocs ?? []) meet(r.symbol);
  };
  for (let f = work.pop(); f !== undefined; f = work.pop())
    for (const b of f.blocks) for (const i of b.ins) for (const o of i.src) meet(o.sym);
  return reached;
}

/**
 * Bytes of static shared memory of a kernel's block: its variables one after the other in the order of their declarations, each at the
 * next multiple of its alignment. ptxas 13.0.88 places them like that (compared over random declarations,
 * test/passes/shared-layout.test.ts).
 *
 * @param fn a kernel, or a device function: then the bytes that it needs by itself
 */
export function sharedBytes(program: Program, fn: Fn): number {
  if (!program.variables.some(isShared)) return 0;
  const used = namesReached(program, fn);
  return endOf(program.variables.filter((v) => isShared(v) && used.has(v.name)));
}

/** The end, in bytes, of variables that are placed one after the other from 0 on. */
export function endOf(
  variables: readonly Variable[],
  alignOf: (v: Variable) => number = (v) => v.align,
): number {
  let at = 0;
  for (const v of variables) at = alignedTo(at, alignOf(v)) + v.size;
  return at;
}

/** The next multiple of an alignment. */
export const alignedTo = (at: number, align: number): number =>
  Math.ceil(at / Math.max(1, align)) * Math.max(1, align);

/** Is the variable in shared memory? */
export const isShared = (v: Variable): boolean => v.space === 'shared';
