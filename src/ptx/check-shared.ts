/** Shared memory that entries use, with whatever they reach (PTX ISA 9.0, 5.1.7). */
import type { Init, PtxFunction, PtxModule, PtxOperand, PtxStatement, VarDecl } from './ast.ts';
import type { CheckReport } from './check-report.ts';
import { bytesOf, elementBytes } from './check-variable.ts';

/** Bytes of shared memory that an entry can use, without what a launch gives it (ptxas 13.0: 0xc000). */
const MOST_SHARED = 49_152;

/**
 * Entries use no more shared memory than there is. As with ptxas 13.0.88, variables of a function that is reached count whether they are
 * used or not, and those of the module where something that is reached names them; a module that no entry reaches may have any.
 */
export function checkShared(module: PtxModule, report: CheckReport): void {
  const outside = module.items.filter((x) => x.kind === 'variable');
  const functions = module.items.filter((x) => x.kind === 'function' && x.body !== null) as PtxFunction[];
  const own = new Map(functions.map((f) => [f.name, declaredIn(f.body!).filter(isShared)]));
  const everything = [...[...own.values()].flat(), ...outside.filter(isShared)];
  // Where all of it has room, nobody needs to ask who uses what.
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

/** Names outside a function that it mentions. */
function namesIn(fn: PtxFunction): Set<string> {
  const names = new Set<string>();
  const look = (o: PtxOperand): void => {
    if (o.kind === 'sym' || o.kind === 'reg') names.add(o.name);
    else if (o.kind === 'vector' || o.kind === 'list') o.items.forEach(look);
    else if (o.kind === 'addr') {
      names.add(o.base);
      o.extra.forEach(look);
    } else if (o.kind === 'pair') [o.first, o.second].forEach(look);
  };
  const walk = (body: readonly PtxStatement[]): void => {
    for (const s of body)
      if (s.kind === 'instr') s.operands.forEach(look);
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
