import { type Isa, slotWidth, withMods } from '../ir/opcode.ts';
import {
  addr,
  immOf,
  isPredReg,
  makeReg,
  NO_REG,
  type Operand,
  type Reg,
  RegFile,
  reg,
  regWidth,
} from '../ir/operand.ts';
import { type Fn, type Instr, instr, newShape, type Param } from '../ir/program.ts';
import { evalGraph } from '../isa/lang/evaluate.ts';
import { FILE_OF_WIDTH } from './fit.ts';
import type { Instance, Rule, Source } from './rule.ts';

/** A small function that contains a rule's pattern; values that the pattern does not define are parameters. */
export interface Witness {
  readonly fn: Fn;
  /** Value of each constant, by variable. */
  readonly constants: readonly bigint[];
}

/** Constants tried when a condition has to be satisfied: edge cases, powers of two, small numbers, masks, floats. */
const TRIED: readonly bigint[] = [
  0n,
  1n,
  2n,
  3n,
  4n,
  5n,
  7n,
  8n,
  10n,
  15n,
  16n,
  24n,
  31n,
  32n,
  33n,
  63n,
  64n,
  100n,
  27n,
  0x7650n,
  0xf0n,
  0xfcn,
  0x3cn,
  0xc0n,
  0xaan,
  0x96n,
  0xffn,
  0x100n,
  0xffffn,
  0x10000n,
  0xff00n,
  0xff0000n,
  0xffff0000n,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  0x3f800000n,
  0x40000000n,
  0xbf800000n,
  0x3ff0000000000000n,
  0x4000000000000000n,
  0xbff0000000000000n,
  0x12345678n,
  1n << 40n,
  1n << 63n,
  (1n << 64n) - 1n,
];
/** Maximum number of combinations of constants tried before a condition counts as unsatisfiable. */
const MOST_TRIES = 120_000;

/** State of the search for constants of an instance: solutions so far, and the next combination to try. */
interface Search {
  readonly found: bigint[][];
  next: number;
}
const searches = new WeakMap<Instance, Search>();

/**
 * Constants that satisfy the condition of an instance, by variable: unsigned, and 0 for variables that are not constants. Null if no
 * further combination that was tried satisfies it.
 * @param skip number of solutions to skip, so that callers can enumerate them
 */
export function constantsFor(rule: Rule, instance: Instance, skip = 0): bigint[] | null {
  let s = searches.get(instance);
  if (s === undefined) searches.set(instance, (s = { found: [], next: 0 }));
  const consts = rule.vars.flatMap((v, i) => (v.kind === 'const' ? [i] : []));
  const all = TRIED.length ** consts.length;
  const total = Math.min(MOST_TRIES, all);
  while (s.found.length <= skip && s.next < total) {
    // With several constants, a large prime stride makes successive combinations differ in all of them.
    let rest = consts.length > 1 ? (s.next * 7919) % all : s.next;
    s.next++;
    const values = rule.vars.map(() => 0n);
    for (const v of consts) {
      values[v] = BigInt.asUintN(instance.widths[v] || 32, TRIED[rest % TRIED.length]);
      rest = Math.floor(rest / TRIED.length);
    }
    if (evalGraph(instance.constants, values)[0] === 1n) s.found.push(values);
  }
  return s.found[skip] ?? null;
}

/** Restrictions on the variables, beyond those of the rule itself. */
export interface Narrowing {
  /** Values of constants, and constants that replace operands. */
  readonly values: ReadonlyMap<number, bigint>;
  /** Variables that must be the same operand. */
  readonly same: ReadonlyMap<number, number>;
}
const NOTHING: Narrowing = { values: new Map(), same: new Map() };

/** Constants that satisfy the condition with those of `narrow` in place; null if there are none. */
function narrowedConstants(rule: Rule, instance: Instance, skip: number, narrow: Narrowing): bigint[] | null {
  const found = constantsFor(rule, instance, skip);
  if (found === null || !rule.vars.some((v, i) => v.kind === 'const' && narrow.values.has(i))) return found;
  const constants = found.map((c, i) => narrow.values.get(i) ?? c);
  return evalGraph(instance.constants, constants)[0] === 1n ? constants : null;
}

/** A parameter in a register. */
const paramIn = (r: Reg, n: number): Param => ({
  name: `p${n}`,
  type: 'b32',
  size: 4,
  align: 4,
  offset: 8 * n,
  reg: r,
  array: false,
  ptr: '',
  pointeeAlign: 0,
});

/** A function of one block. */
const functionOf = (name: string, params: readonly Reg[], ins: Instr[], regCount: number): Fn => ({
  name,
  kind: 'func',
  params: params.map(paramIn),
  returns: [],
  blocks: [{ id: 0, name: '', ins }],
  regCount,
  blockCount: 1,
  variables: [],
  tables: [],
  shape: newShape(),
  attrs: { directives: [], pragmas: [], linkage: '', noreturn: false, counts: [] },
});

/**
 * Builds a function that contains the pattern of a rule and uses its results, so that the rule can fire in it.
 * @param skip number of solutions for the constants to skip
 * @returns null if no constants that were tried satisfy the condition
 */
export function witness(
  rule: Rule,
  instance: Instance,
  isa: Isa,
  skip = 0,
  narrow: Narrowing = NOTHING,
): Witness | null {
  const chosen = narrowedConstants(rule, instance, skip, narrow);
  if (chosen === null) return null;
  let next = 0;
  const regs: Reg[] = rule.vars.map((v, i) =>
    v.kind === 'const' || v.fresh ? NO_REG : makeReg(next++, FILE_OF_WIDTH(instance.widths[i] || 32)),
  );
  const outside = (i: number): boolean =>
    rule.vars[i].kind === 'value' && rule.vars[i].line < 0 && !rule.vars[i].fresh;
  const extra: Reg[] = [];
  const source = (s: Source, width: number): Operand => {
    switch (s.k) {
      case 'var': {
        const value = narrow.values.get(s.v);
        if (value !== undefined) return { ...immOf(value, width || 32), mods: s.mods };
        return reg(regs[narrow.same.get(s.v) ?? s.v], s.mods);
      }
      case 'const':
        return immOf(chosen[s.v], width || 32);
      case 'literal':
        return immOf(s.value, width || 32);
      default: {
        const r = makeReg(next++, FILE_OF_WIDTH(width || 32));
        extra.push(r);
        return reg(r);
      }
    }
  };
  const ins: Instr[] = [];
  const results: Reg[] = [];
  rule.match.forEach((l, i) => {
    if (l.op === null) {
      const a = l.src[0];
      if (a.k !== 'address' || a.base.k !== 'var') return;
      const offset =
        a.offset.k === 'const' ? chosen[a.offset.v] : a.offset.k === 'literal' ? a.offset.value : 0n;
      const d = makeReg(next++, RegFile.R);
      results.push(d);
      ins.push(
        instr(isa.byName.get('LDG')!, 0, [d], [addr(regs[a.base.v], Number(BigInt.asIntN(32, offset)))]),
      );
      return;
    }
    const op = l.op;
    const mods = instance.match[i];
    const dst = l.dst.map((d) => (d < 0 ? NO_REG : regs[d]));
    const src = l.src.map((s, k) => source(s, slotWidth(op, mods, op.srcs[k])));
    ins.push(instr(op, mods, dst, src));
    if (i === rule.match.length - 1) results.push(...dst.filter((d) => d !== NO_REG));
  });
  // Results are stored, or guard a store, so a result that ends as a copy of a value counts as equal to that value.
  const store = isa.byName.get('STG')!;
  const wide = withMods(store, 0, 'B64');
  const where = makeReg(next++, RegFile.RD);
  extra.push(where);
  results.forEach((r, n) => {
    const at = addr(where, 8 * n);
    if (isPredReg(r)) ins.push(instr(store, 0, [], [at, immOf(1n, 32)], 0, r));
    else ins.push(instr(store, regWidth(r) === 64 ? wide : 0, [], [at, reg(r)]));
  });
  ins.push(instr(isa.byName.get('RET')!, 0, [], []));
  const params = [...rule.vars.flatMap((_, i) => (outside(i) ? [regs[i]] : [])), ...extra];
  return {
    constants: chosen,
    fn: functionOf(rule.id, params, ins, next),
  };
}
