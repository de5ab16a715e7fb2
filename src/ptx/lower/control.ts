import { label, NO_REG, type Operand, PT, type Reg, RZ, reg, sym, table } from '../../ir/operand.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { type Handler, need, typeOf } from './arith.ts';
import { pairOf } from './convert.ts';
import type { FnLower } from './function.ts';
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
const exit: Handler = (f) => f.emit('EXIT', [], [], []);
const trap: Handler = (f, i) => f.emit('BPT', [i.opcode === 'trap' ? 'TRAP' : 'BRKPT'], [], []);
const griddepcontrol: Handler = (f, i) => f.emit(has(i, 'wait') ? 'ACQBULK' : 'PREEXIT', [], [], []);
const pmevent: Handler = (f, i) =>
  f.emit('PMTRIG', has(i, 'mask') ? ['MASK'] : [], [], [f.src(i.operands[0], 32)]);

/** `bar`, `barrier` and the cluster barrier. */
const bar: Handler = (f, i) => {
  if (i.mods[0] === 'warp') return f.emit('WARPSYNC', [], [], [f.src(i.operands[0], 32)]);
  if (i.mods[0] === 'cluster') {
    const mode = has(i, 'wait') ? 'WAIT' : 'ARRIVE';
    const sem = i.mods.find((m) => /^(relaxed|release|acquire)$/.test(m));
    return f.emit(
      'CGABAR',
      [mode, ...(sem === undefined ? [] : [sem.toUpperCase()]), ...(has(i, 'aligned') ? [] : ['UNALIGNED'])],
      [],
      [],
    );
  }
  const aligned = i.opcode === 'bar' || has(i, 'aligned') ? [] : ['UNALIGNED'];
  const ops = i.operands;
  if (has(i, 'red')) {
    const op = ['popc', 'and', 'or'].find((m) => has(i, m)) as string;
    const d = f.dst(ops[0], op === 'popc' ? 32 : 1).reg;
    const withCount = ops.length > 3;
    const n = withCount ? f.src(ops[2], 32) : RZ;
    const p = f.pred(ops[withCount ? 3 : 2]);
    return f.emit(
      'BAR',
      ['RED', `op=${op.toUpperCase()}`, ...aligned],
      [op === 'popc' ? d : NO_REG, op === 'popc' ? NO_REG : d],
      [f.src(ops[1], 32), n, p],
    );
  }
  const mode = has(i, 'arrive') ? 'ARRIVE' : 'SYNC';
  f.emit(
    'BAR',
    [mode, ...aligned],
    [NO_REG, NO_REG],
    [ops.length > 0 ? f.src(ops[0], 32) : RZ, ops.length > 1 ? f.src(ops[1], 32) : RZ, PT],
  );
};

/** The member mask of a form without `.sync`: the lanes that execute it. */
const present = (f: FnLower): Operand => f.value('ACTIVEMASK', [], []);

const shfl: Handler = (f, i) => {
  const mode = ['up', 'down', 'bfly', 'idx'].find((m) => has(i, m));
  if (mode === undefined) throw new Unsupported();
  const [d, p] = pairOf(f, i.operands[0], 32);
  const mask = has(i, 'sync') ? f.src(i.operands[4], 32) : present(f);
  f.emit(
    'SHFL',
    [mode.toUpperCase()],
    [d, p],
    [f.src(i.operands[1], 32), f.src(i.operands[2], 32), f.src(i.operands[3], 32), mask],
  );
};

const vote: Handler = (f, i) => {
  const mask = has(i, 'sync') ? f.src(i.operands[2], 32) : present(f);
  const a = f.pred(i.operands[1]);
  if (has(i, 'ballot')) return f.emit('VOTE', ['ANY'], [f.dst(i.operands[0], 32).reg, NO_REG], [a, mask]);
  const mode = has(i, 'all') ? 'ALL' : has(i, 'any') ? 'ANY' : 'EQ';
  f.emit('VOTE', [mode], [NO_REG, f.dst(i.operands[0], 1).reg], [a, mask]);
};

const match: Handler = (f, i) => {
  const t = typeOf(i);
  const [d, p] = pairOf(f, i.operands[0], 32);
  f.emit(
    'MATCH',
    [has(i, 'any') ? 'ANY' : 'ALL', t.bits === 64 ? '64' : 'B32'],
    [d, p],
    [f.src(i.operands[1], t.bits), f.src(i.operands[2], 32)],
  );
};

const redux: Handler = (f, i) => {
  const t = typeOf(i);
  const op = ['add', 'min', 'max', 'and', 'or', 'xor'].find((m) => has(i, m));
  if (op === undefined) throw new Unsupported();
  if (t.kind === 'float') {
    const mods = [op.toUpperCase(), ...(has(i, 'abs') ? ['ABS'] : []), ...(has(i, 'NaN') ? ['NAN'] : [])];
    f.emit(
      'REDUX_F32',
      mods,
      [f.dst(i.operands[0], 32).reg],
      [f.src(i.operands[1], 32), f.src(i.operands[2], 32)],
    );
    return;
  }
  f.emit(
    'REDUX',
    [op.toUpperCase(), t.kind === 'signed' ? 'S32' : 'U32'],
    [f.dst(i.operands[0], 32).reg],
    [f.src(i.operands[1], 32), f.src(i.operands[2], 32)],
  );
};

const activemask: Handler = (f, i) => f.emit('ACTIVEMASK', [], [f.dst(i.operands[0], 32).reg], []);

const elect: Handler = (f, i) => {
  const [d, p] = pairOf(f, i.operands[0], 32);
  f.emit('ELECT', [], [d, p === NO_REG ? f.tempPred() : p], [f.src(i.operands[1], 32)]);
};

const nanosleep: Handler = (f, i) => {
  need(i, 1);
  f.emit('NANOSLEEP', [], [], [f.src(i.operands[0], 32)]);
};

/** Handlers by opcode: control flow, barriers and communication within a warp. */
export const controlHandlers: Readonly<Record<string, Handler>> = {
  bra,
  brx,
  call,
  ret,
  exit,
  trap,
  brkpt: trap,
  pmevent,
  griddepcontrol,
  bar,
  barrier: bar,
  shfl,
  vote,
  match,
  redux,
  activemask,
  elect,
  nanosleep,
};
