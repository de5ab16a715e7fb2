import { label, type Operand, type Reg, reg, sym, table } from '../../ir/operand.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import type { Handler } from './handler.ts';
import { copyOut } from './params.ts';
import { has } from './types.ts';
import { makeVariable } from './variables.ts';

const uniform = (i: PtxInstr): string[] => (has(i, 'uni') ? ['U'] : []);

const bra: Handler = (f, i) => {
  const to = i.operands[0];
  if (to?.kind !== 'sym' && to?.kind !== 'reg') throw new Unsupported('it has no label');
  f.emit('BRA', uniform(i), [], [label(f.labelBlock(to.name))]);
};

/**
 * Maximum number of targets of all jumps through tables of a module. Each is an edge of the control flow graph, and their number is
 * quadratic in the size of a file in which many jumps share a table: a million edges take 1.1 GB.
 */
const MOST_TARGETS = 2 ** 19;

const brx: Handler = (f, i) => {
  const list = i.operands[1];
  const t = list?.kind === 'sym' ? f.innermost((scope) => scope.tables.get(list.name)) : undefined;
  if (t === undefined) throw new Unsupported('its .branchtargets is not declared');
  const { jumps } = f.module;
  const targets = jumps.targets + f.tables[t].length;
  if (targets > MOST_TARGETS)
    throw new Unsupported(`the jumps by tables have more than ${MOST_TARGETS} targets together`);
  jumps.targets = targets;
  f.emit('BRX', uniform(i), [], [f.src(i.operands[0], 32), table(t)]);
};

const call: Handler = (f, i) => {
  const ops = [...i.operands];
  const returns: readonly PtxOperand[] =
    ops[0]?.kind === 'list' ? (ops.shift() as { items: readonly PtxOperand[] }).items : [];
  const given = ops.shift();
  const target = given === undefined ? undefined : f.named(given);
  const args: readonly PtxOperand[] =
    ops[0]?.kind === 'list' ? (ops.shift() as { items: readonly PtxOperand[] }).items : [];
  const proto = ops.shift();
  let f0: Operand;
  const indirect = target?.kind === 'reg' || (target?.kind === 'sym' && f.find(target.name) !== undefined);
  if (target?.kind === 'sym' && !indirect) f0 = sym(target.name);
  else if (target !== undefined && indirect) f0 = f.src(target, 64);
  else throw new Unsupported('it has no target');
  let name = '';
  if (proto !== undefined && proto.kind === 'sym') {
    const known = f.innermost((scope) => scope.prototypes.get(proto.name));
    if (known !== undefined) name = known;
    else if (indirect) throw new Unsupported(`call prototype '${proto.name}' is not declared`);
  }
  const dst: Reg[] = [];
  const src: Operand[] = [f0, sym(name)];
  const pass = (operand: PtxOperand): Operand => {
    const o = f.named(operand);
    if (o.kind === 'sym' && f.find(o.name) === undefined) {
      const s = f.symbol(o.name);
      if (s?.kind === 'call-param') return sym(s.name);
      if (s?.kind === 'entry-param') throw new Unsupported('entry parameter passed by reference');
      if (s?.kind === 'variable') throw new Unsupported(`'${o.name}' passed by reference`);
    }
    if (o.kind === 'reg' || o.kind === 'sym') {
      const d = f.find(o.name);
      if (d !== undefined) return reg(d.reg);
    }
    return f.src(o, 64);
  };
  for (const o of args) src.push(pass(o));
  for (const [k, o] of returns.entries()) {
    if (o.kind === 'sink') {
      // The result is unused, but the callee writes it to memory.
      const result = target?.kind === 'sym' ? f.module.functions.get(target.name)?.returns[k] : undefined;
      if (result?.space !== 'param') throw new Unsupported('a result without a name');
      const own = f.unique(result.name);
      f.variables.push(makeVariable(result, own, 'param'));
      src.push(sym(own));
      continue;
    }
    const n = f.named(o);
    const register = n.kind === 'reg' || (n.kind === 'sym' && f.find(n.name) !== undefined);
    if (register) dst.push(f.dst(o, 32).reg);
    else src.push(pass(o));
  }
  f.emit('CALL', uniform(i), dst, src);
};

const ret: Handler = (f, i) => {
  for (const r of f.localResults) copyOut(f, r.param, r.name, r.local);
  f.emit('RET', uniform(i), [], []);
};
/** Handlers by opcode: branches and calls. */
export const controlHandlers: Readonly<Record<string, Handler>> = { bra, brx, call, ret };
