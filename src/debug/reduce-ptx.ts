import type { PtxFunction, PtxInstr, PtxItem, PtxModule, PtxOperand, PtxStatement } from '../ptx/ast.ts';
import { offering, type Reduction } from './parts.ts';

/*
 * Reductions of PTX modules. Many candidates are not valid PTX, for instance because something is used but not declared; parsing rejects
 * them. Every reduction makes the module simpler, so no two can undo each other.
 */

const withItems = (m: PtxModule, items: readonly PtxItem[]): PtxModule => ({ ...m, items });

/** Replaces each statement of every body by a list of statements, inner scopes first. */
function mapStatements(
  m: PtxModule,
  change: (s: PtxStatement, fn: PtxFunction) => readonly PtxStatement[],
): PtxModule {
  const list = (body: readonly PtxStatement[], fn: PtxFunction): PtxStatement[] =>
    body.flatMap((s) => change(s.kind === 'scope' ? { ...s, body: list(s.body, fn) } : s, fn));
  return withItems(
    m,
    m.items.map((x) => (x.kind === 'function' && x.body !== null ? { ...x, body: list(x.body, x) } : x)),
  );
}

const mapInstructions = (
  m: PtxModule,
  change: (i: PtxInstr, fn: PtxFunction) => readonly PtxStatement[],
): PtxModule => mapStatements(m, (s, fn) => (s.kind === 'instr' ? change(s, fn) : [s]));

const items = offering<PtxModule>('functions and variables', (m, goes) =>
  withItems(
    m,
    m.items.filter(() => !goes()),
  ),
);

const statements = offering<PtxModule>('instructions', (m, goes) =>
  mapStatements(m, (s) => (goes() ? [] : [s])),
);

/** Removes guards, so that instructions always run and branches are always taken. */
const guards = offering<PtxModule>('guards', (m, goes) =>
  mapInstructions(m, (i) => (i.guard !== null && goes() ? [{ ...i, guard: null }] : [i])),
);

/** Types of the registers of a function, by name; `%r*` for the names that `%r<N>` declares. */
function registersOf(fn: PtxFunction): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  const walk = (body: readonly PtxStatement[]): void => {
    for (const s of body) {
      if (s.kind === 'scope') walk(s.body);
      if (s.kind !== 'variable' || s.space !== 'reg') continue;
      types.set(s.count > 0 ? `${s.name}*` : s.name, s.type);
    }
  };
  walk(fn.body ?? []);
  return types;
}

const typeOf = (types: ReadonlyMap<string, string>, name: string): string | undefined =>
  types.get(name) ?? types.get(`${name.replace(/\d+$/, '')}*`);

const FLOAT_ONE: Readonly<Record<string, bigint>> = { f32: 0x3f800000n, f64: 0x3ff0000000000000n };

/** The constant 0 or 1 of a type. */
const constant = (type: string, value: 0n | 1n): PtxOperand =>
  FLOAT_ONE[type] === undefined
    ? { kind: 'int', value, unsigned: false }
    : { kind: 'float', bits: value * FLOAT_ONE[type], width: type === 'f32' ? 32 : 64 };

/** An instruction that sets `d` to a constant: `mov`, or `setp` for a predicate; null for types without constants. */
function setTo(like: PtxInstr, d: PtxOperand, type: string | undefined, value: 0n | 1n): PtxInstr | null {
  if (type === undefined || !/^([bsu](16|32|64)|f(32|64)|pred)$/.test(type)) return null;
  const predicate = type === 'pred';
  const operands = predicate ? [d, constant('u32', value), constant('u32', 0n)] : [d, constant(type, value)];
  return {
    ...like,
    guard: null,
    opcode: predicate ? 'setp' : 'mov',
    mods: predicate ? ['ne', 'u32'] : [type.replace(/^b/, 'u')],
    operands,
  };
}

/** The registers that an instruction writes, assuming that its first operand is the destination. */
function written(i: PtxInstr): readonly PtxOperand[] {
  const [d] = i.operands;
  if (d === undefined || i.operands.length < 2) return [];
  if (d.kind === 'reg') return [d];
  if (d.kind === 'vector') return d.items;
  return d.kind === 'pair' ? [d.first, d.second] : [];
}

const isConstant = (o: PtxOperand): boolean => o.kind === 'int' || o.kind === 'float';

/** Replaces an instruction that computes or loads a value by one that sets its result to a constant. */
const values = (value: 0n | 1n): Reduction<PtxModule> =>
  offering<PtxModule>(`values to ${value}`, (m, goes) => {
    const registersByFn = new Map<PtxFunction, ReadonlyMap<string, string>>();
    return mapInstructions(m, (i, fn) => {
      const to = written(i);
      if (to.length === 0 || i.operands.slice(1).every(isConstant)) return [i];
      if (!registersByFn.has(fn)) registersByFn.set(fn, registersOf(fn));
      const made = to.flatMap((d) =>
        d.kind === 'sink'
          ? []
          : d.kind === 'reg'
            ? [setTo(i, d, typeOf(registersByFn.get(fn)!, d.name), value)]
            : [null],
      );
      return made.every((x) => x !== null) && goes() ? made : [i];
    });
  });

/** Replaces register operands by constants, each element of a vector separately. */
const operands = (value: 0n | 1n): Reduction<PtxModule> =>
  offering<PtxModule>(`operands to ${value}`, (m, goes) =>
    mapInstructions(m, (i) => {
      const type = i.mods.findLast((x) => /^(pred|[busf]\d+)$/.test(x)) ?? 'b32';
      const simpler = (o: PtxOperand): PtxOperand => {
        if (o.kind === 'vector') return { ...o, items: o.items.map(simpler) };
        return o.kind === 'reg' && goes() ? constant(type, value) : o;
      };
      return [{ ...i, operands: i.operands.map((o, k) => (k === 0 ? o : simpler(o))) }];
    }),
  );

/** Removes an instruction and replaces uses of its result by one of its operands of the same type. */
const copies = offering<PtxModule>('steps', (m, goes) => {
  /** For each function, the replacements of registers. */
  const instead = new Map<PtxFunction, Map<string, PtxOperand>>();
  const shorter = mapInstructions(m, (i, fn) => {
    const [d] = i.operands;
    if (d?.kind !== 'reg' || i.opcode === 'st' || i.operands.length < 2) return [i];
    let renames = instead.get(fn);
    if (renames === undefined) instead.set(fn, (renames = new Map()));
    const types = registersOf(fn);
    for (const o of i.operands.slice(1)) {
      if (o.kind !== 'reg' || o.neg || o.not || o.part !== '' || o.name === d.name) continue;
      if (typeOf(types, o.name) === undefined || typeOf(types, o.name) !== typeOf(types, d.name)) continue;
      if (!goes() || renames.has(d.name)) continue;
      renames.set(d.name, o);
    }
    return renames.has(d.name) ? [] : [i];
  });
  return mapInstructions(shorter, (i, fn) => {
    const renames = instead.get(
      m.items.find((x) => x.kind === 'function' && x.name === fn.name) as PtxFunction,
    );
    if (renames === undefined || renames.size === 0) return [i];
    return [renamed(i, renames)];
  });
});

/** An instruction with registers replaced; replacements are applied transitively. */
function renamed(i: PtxInstr, renames: ReadonlyMap<string, PtxOperand>): PtxInstr {
  const nameOf = (name: string): string => {
    let at = name;
    for (let n = 0; n <= renames.size; n++) {
      const to = renames.get(at);
      if (to?.kind !== 'reg') return at;
      at = to.name;
    }
    return at;
  };
  const change = (o: PtxOperand): PtxOperand => {
    switch (o.kind) {
      case 'reg':
        return { ...o, name: nameOf(o.name) };
      case 'addr':
        return { ...o, base: nameOf(o.base), extra: o.extra.map(change) };
      case 'vector':
      case 'list':
        return { ...o, items: o.items.map(change) };
      default:
        return o;
    }
  };
  const guard = i.guard === null ? null : { ...i.guard, name: nameOf(i.guard.name) };
  return { ...i, guard, operands: i.operands.map(change) };
}

/** Replaces integer constants other than 0 and 1 by 1, and address offsets by 0. */
const constants = offering<PtxModule>('constants', (m, goes) =>
  mapInstructions(m, (i) => [
    {
      ...i,
      operands: i.operands.map((o) => {
        if (o.kind === 'int' && o.value !== 0n && o.value !== 1n && goes()) return { ...o, value: 1n };
        if (o.kind === 'addr' && o.base !== '' && o.offset !== 0n && goes()) return { ...o, offset: 0n };
        return o;
      }),
    },
  ]),
);

/** Removes parameters and directives of functions. */
const headers = offering<PtxModule>('parameters and directives', (m, goes) =>
  withItems(
    m,
    m.items.map((x) =>
      x.kind === 'function'
        ? {
            ...x,
            params: x.params.filter(() => !goes()),
            directives: x.directives.filter(() => !goes()),
          }
        : x,
    ),
  ),
);

/** All reductions, the most effective first. */
export const PTX_REDUCTIONS: readonly Reduction<PtxModule>[] = [
  items,
  statements,
  guards,
  copies,
  values(0n),
  values(1n),
  operands(0n),
  operands(1n),
  constants,
  headers,
];
