/** Checks the shared memory that each entry uses, callees included (PTX ISA 9.0, 5.1.7). */
import type { Init, PtxFunction, PtxModule, PtxOperand, PtxStatement, VarDecl } from './ast.ts';
import type { CheckReport } from './check-report.ts';
import { bytesOf, elementBytes } from './check-variable.ts';

/** Maximum bytes of static shared memory of an entry (ptxas 13.0: 0xc000); dynamic shared memory of a launch is not included. */
const MOST_SHARED = 49_152;

/**
 * Reports entries that use too much shared memory. As in ptxas 13.0.88, all variables of a reachable function count, used or not; variables
 * of the module count if a reachable function or initialiser names them.
 */
export function checkShared(module: PtxModule, report: CheckReport): void {
  const outside = module.items.filter((x) => x.kind === 'variable');
  const functions = module.items.filter((x) => x.kind === 'function' && x.body !== null) as PtxFunction[];
  const own = new Map(functions.map((f) => [f.name, declaredIn(f.body!).filter(isShared)]));
  const everything = [...[...own.values()].flat(), ...outside.filter(isShared)];
  // If everything fits, it does not matter who uses what.
  if (everything.reduce((n, v) => n + bytesOf(v) + alignOf(v), 0) <= MOST_SHARED) return;
  const named = new Map<string, ReadonlySet<string>>(functions.map((f) => [f.name, namesIn(f)]));
  const initial = new Map(
    outside.flatMap((v) => (v.init === null ? [] : [[v.name, addressesIn(v.init)] as const])),
  );
  const other = new Map(module.items.flatMap((x) => (x.kind === 'alias' ? [[x.name, x.of] as const] : [])));
  for (const entry of functions) {
    if (!entry.entry) continue;
    const reached = new Set<string>();
    const work = [entry.name];
    for (let name = work.pop(); name !== undefined; name = work.pop()) {
      if (reached.has(name)) continue;
      reached.add(name);
      for (const x of named.get(name) ?? initial.get(name) ?? []) work.push(x);
      if (other.has(name)) work.push(other.get(name)!);
    }
    const used = [
      ...functions.flatMap((f) => (reached.has(f.name) ? own.get(f.name)! : [])),
      ...outside.filter((v) => isShared(v) && reached.has(v.name)),
    ];
    const bytes = used.reduce((at, v) => Math.ceil(at / alignOf(v)) * alignOf(v) + bytesOf(v), 0);
    if (bytes > MOST_SHARED)
      report(
        entry.span,
        'ptx-size',
        `'${entry.name}' uses ${bytes} bytes of shared memory: at most ${MOST_SHARED} have room`,
        () => [
          `the largest is '${used.reduce((a, b) => (bytesOf(b) > bytesOf(a) ? b : a)).name}'`,
          "a launch gives more to '.extern .shared .b8 name[]'",
        ],
      );
  }
}

const isShared = (v: VarDecl): boolean => v.space === 'shared';
const alignOf = (v: VarDecl): number => Math.max(v.align, elementBytes(v));

const declaredIn = (body: readonly PtxStatement[]): VarDecl[] =>
  body.flatMap((s) => (s.kind === 'variable' ? [s] : s.kind === 'scope' ? declaredIn(s.body) : []));

/** Names that a function mentions and does not declare. */
function namesIn(fn: PtxFunction): Set<string> {
  const names = new Set<string>();
  const visit = (o: PtxOperand): void => {
    if (o.kind === 'sym' || o.kind === 'reg') names.add(o.name);
    else if (o.kind === 'vector' || o.kind === 'list') o.items.forEach(visit);
    else if (o.kind === 'addr') {
      names.add(o.base);
      o.extra.forEach(visit);
    } else if (o.kind === 'pair') [o.first, o.second].forEach(visit);
  };
  const walk = (body: readonly PtxStatement[]): void => {
    for (const s of body)
      if (s.kind === 'instr') s.operands.forEach(visit);
      else if (s.kind === 'scope') walk(s.body);
      else if (s.kind === 'calltargets') for (const f of s.functions) names.add(f);
  };
  const body = fn.body ?? [];
  walk(body);
  for (const { name } of [...fn.returns, ...fn.params, ...declaredIn(body)]) names.delete(name);
  return names;
}

const addressesIn = (init: Init): string[] =>
  init.kind === 'address' ? [init.symbol] : init.kind === 'list' ? init.items.flatMap(addressesIn) : [];
