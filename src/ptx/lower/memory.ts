import { toOperands, toRegs } from '../../ir/edit.ts';
import {
  addr,
  cbank,
  imm,
  immOf,
  NO_REG,
  type Operand,
  RegFile,
  RZ,
  reg,
  regFile,
} from '../../ir/operand.ts';
import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxOperand } from '../ast.ts';
import type { FnLower } from './function.ts';
import { type Handler, typeOf } from './handler.ts';
import { type Modifiers, type ReadingHandler, readingAll } from './modifiers.ts';
import type { Declared } from './scopes.ts';
import type { PtxType } from './types.ts';

const SPACES = [
  'global',
  'shared',
  'shared::cta',
  'local',
  'const',
  'param',
  'param::entry',
  'param::func',
] as const;

/** The state space among the modifiers; '' for generic. */
const spaceOf = (w: Modifiers): string => w.oneOf(SPACES)?.split('::')[0] ?? '';

/** Lowers an address operand: a base register or symbol, and an offset. */
function address(f: FnLower, o: PtxOperand): Operand {
  if (o.kind !== 'addr') throw new Unsupported('address operand expected');
  const d = o.base === '' ? undefined : f.find(o.base);
  if (d !== undefined) return fromRegister(f, d, o.offset);
  if (o.base === '') {
    if (isNear(o.offset)) return addr(NO_REG, Number(o.offset));
    return addr(f.value('MOV', ['64'], [immOf(o.offset, 64)], 64).reg, 0);
  }
  const s = f.symbol(o.base);
  if (s === undefined) throw new Unsupported(`'${o.base}' is not declared`);
  if (s.kind === 'entry-param') throw new Unsupported(`address of parameter '${o.base}' outside .param`);
  if (isNear(o.offset)) return addr(NO_REG, Number(o.offset), s.name);
  if (s.kind !== 'variable' || s.space !== 'global') throw far(o.base, o.offset);
  return addr(f.addressOf(o.base, Number(o.offset), 64).reg, 0);
}

/**
 * An address operand with a base register. Offsets in Ori are signed 32-bit numbers. Any other offset, those between 2^31 and 2^32
 * included, is added to the base first; ptxas 13.0.88 adds it to all 64 bits of the address too.
 */
function fromRegister(f: FnLower, d: Declared, offset: bigint): Operand {
  if (d.bits <= 32 || isNear(offset)) return addr(d.reg, Number(BigInt.asIntN(32, offset)));
  return addr(f.value('IADD3', ['64'], [reg(d.reg), immOf(offset, 64), imm(0)], 64).reg, 0);
}

const isNear = (offset: bigint): boolean => BigInt.asIntN(32, offset) === offset;

const far = (base: string, offset: bigint): Unsupported =>
  new Unsupported(`offset ${offset} of '${base}' has more than 32 bits`);

/** The space of the symbol at the base of an address; '' if the base is not a variable. */
function symbolSpace(f: FnLower, o: PtxOperand): string {
  if (o.kind !== 'addr' || o.base === '' || f.find(o.base) !== undefined) return '';
  const s = f.symbol(o.base);
  return s?.kind === 'variable' ? s.space : '';
}

const CACHE = ['ca', 'cg', 'cs', 'lu', 'cv', 'nc', 'wb', 'wt'] as const;
const SCOPES = ['cta', 'cluster', 'gpu', 'sys'] as const;
const ORDERS = ['relaxed', 'acquire', 'release', 'acq_rel', 'volatile', 'mmio'] as const;
const FETCHES = ['L2::64B', 'L2::128B', 'L2::256B'] as const;
const EVICTS: Readonly<Record<string, string>> = {
  'L1::evict_normal': 'EVICT_NORMAL',
  'L1::evict_unchanged': 'EVICT_UNCHANGED',
  'L1::evict_first': 'EVICT_FIRST',
  'L1::evict_last': 'EVICT_LAST',
  'L1::no_allocate': 'NO_ALLOCATE',
  'L2::evict_normal': 'L2_EVICT_NORMAL',
  'L2::evict_first': 'L2_EVICT_FIRST',
  'L2::evict_last': 'L2_EVICT_LAST',
};

const upper = (m: string): string => m.toUpperCase();
const fetches = (w: Modifiers): string[] => w.among(FETCHES).map((m) => `L2_${m.slice(4)}`);

/** Cache, ordering and scope modifiers of loads and stores. */
function hints(w: Modifiers): string[] {
  const orders = w.among(ORDERS);
  // .mmio is written .mmio.relaxed, but orders more than .relaxed alone.
  const order = orders.includes('mmio') ? orders.filter((m) => m !== 'relaxed') : orders;
  return [
    ...order.map(upper),
    ...w.among(SCOPES).map(upper),
    ...w.among(CACHE).map(upper),
    ...w.among(Object.keys(EVICTS)).map((m) => EVICTS[m]),
    ...fetches(w),
  ];
}

/** Access type of a load or store. */
function accessType(t: PtxType, load: boolean): string {
  if (t.bits === 128) return 'B128';
  if (t.bits === 64) return 'B64';
  if (t.bits === 32) return 'B32';
  return `${load && t.kind === 'signed' ? 'S' : 'U'}${t.bits}`;
}

const vecOf = (w: Modifiers): string => w.oneOf(['v2', 'v4', 'v8'])?.toUpperCase() ?? 'V1';
const items = (o: PtxOperand): readonly PtxOperand[] => (o.kind === 'vector' ? o.items : [o]);

const OPS: Readonly<Record<string, readonly [string, string]>> = {
  '': ['LD', 'ST'],
  global: ['LDG', 'STG'],
  shared: ['LDS', 'STS'],
  local: ['LDL', 'STL'],
};

const load: ReadingHandler = (f, i, w) => {
  const t = typeOf(i);
  const [to, from] = i.operands;
  const ofEntry = i.mods.includes('param::entry');
  let space = spaceOf(w);
  const accessHints = hints(w);
  if (space === '') space = symbolSpace(f, from);
  let op: string;
  let ad: Operand;
  let mods: string[];
  if (space === 'param' || space === 'const') {
    mods = [];
    [op, ad] = paramOrConst(f, from, space, ofEntry);
  } else {
    op = OPS[space][0];
    ad = address(f, from);
    mods = accessHints;
  }
  const targets = items(to);
  const width = t.bits >= 64 ? t.bits : 32;
  const after: (() => void)[] = [];
  const dst = toRegs(targets, (o) => {
    if (o.kind === 'sink') return NO_REG;
    const d = f.dst(o, t.bits);
    const file = regFile(d.reg);
    // A register wider than the type receives the extended value; a 16-bit register stays zero-extended.
    if (width === 32 && file === RegFile.RD) {
      const r = f.temp();
      after.push(() =>
        f.emit('I2I', ['dt=S64', t.kind === 'signed' ? 'st=S32' : 'st=U32'], [d.reg], [reg(r)]),
      );
      return r;
    }
    if (t.kind === 'signed' && t.bits < 32 && d.bits < 32) {
      const r = f.temp();
      after.push(() => f.maskInto(d.reg, reg(r), d.bits));
      return r;
    }
    return d.reg;
  });
  f.emit(op, [accessType(t, true), vecOf(w), ...mods], dst, [ad]);
  for (const g of after) g();
};

/** Opcode and address of a load from parameters or constants. */
function paramOrConst(f: FnLower, o: PtxOperand, space: string, entry: boolean): [string, Operand] {
  if (o.kind !== 'addr') throw new Unsupported('address operand expected');
  const d = o.base === '' ? undefined : f.find(o.base);
  if (space === 'const') return ['LDC', address(f, o)];
  // The address of a device function's parameter is one of local memory.
  if (d !== undefined && !f.isEntry && !entry) return ['LDL', fromRegister(f, d, o.offset)];
  if (!isNear(o.offset)) throw far(o.base, o.offset);
  const offset = Number(o.offset);
  if (d !== undefined) return ['LDC', cbank(0, offset, d.reg)];
  const s = f.symbol(o.base);
  if (s?.kind === 'entry-param') return ['LDC', cbank(0, f.module.paramBase + s.param.offset + offset)];
  if (s?.kind === 'call-param') return ['LDPRM', addr(NO_REG, offset, s.name)];
  if (s?.kind === 'variable' && s.space === 'local') return ['LDL', addr(NO_REG, offset, s.name)];
  throw new Unsupported(`'${o.base}' is not a parameter`);
}

const store: ReadingHandler = (f, i, w) => {
  const t = typeOf(i);
  const [to, from] = i.operands;
  let space = spaceOf(w);
  const accessHints = hints(w);
  const vec = vecOf(w);
  if (space === '') space = symbolSpace(f, to);
  const values = toOperands(items(from), (o) => f.src(o, t.bits));
  const type = accessType(t, false);
  if (space === 'param') {
    if (to.kind !== 'addr') throw new Unsupported('address operand expected');
    const d = f.find(to.base);
    const s = d === undefined ? f.symbol(to.base) : undefined;
    // The address of a device function's parameter is one of local memory.
    if (d !== undefined && !f.isEntry)
      return f.emit('STL', [type, vec], [], [fromRegister(f, d, to.offset), ...values]);
    if (!isNear(to.offset)) throw far(to.base, to.offset);
    const offset = Number(to.offset);
    if (s?.kind === 'variable' && s.space === 'local')
      return f.emit('STL', [type, vec], [], [addr(NO_REG, offset, s.name), ...values]);
    if (s?.kind !== 'call-param')
      throw new Unsupported(`'${to.base}' is not a parameter that can be written`);
    return f.emit('STPRM', [type, vec], [], [addr(NO_REG, offset, s.name), ...values]);
  }
  if (space === 'const') throw new Unsupported('store to .const');
  f.emit(OPS[space][1], [type, vec, ...accessHints], [], [address(f, to), ...values]);
};

const ATOMIC_OPS = ['add', 'min', 'max', 'inc', 'dec', 'and', 'or', 'xor', 'exch', 'cas'] as const;

const atomic: ReadingHandler = (f, i, w) => {
  const t = typeOf(i);
  const op = w.oneOf(ATOMIC_OPS);
  if (op === undefined || vecOf(w) !== 'V1') throw new Unsupported();
  // Atomics on halves never flush, and PTX requires `.noftz` (PTX ISA 9.0, atom).
  if (t.kind === 'half') w.has('noftz');
  const red = i.opcode === 'red';
  const ops = red ? i.operands : i.operands.slice(1);
  let space = spaceOf(w);
  if (space === '') space = symbolSpace(f, ops[0]);
  const name = space === 'global' ? 'ATOMG' : space === 'shared' ? 'ATOMS' : 'ATOM';
  if (space === 'local' || space === 'const') throw new Unsupported(`atomics on .${space}`);
  const type =
    t.kind === 'half'
      ? t.name.toUpperCase()
      : t.kind === 'float'
        ? `F${t.bits}`
        : t.bits === 16
          ? 'B16'
          : `${t.kind === 'signed' ? 'S' : 'U'}${t.bits}`;
  const mods = [op.toUpperCase(), type, ...w.among(ORDERS).map(upper), ...w.among(SCOPES).map(upper)];
  const ret = red || i.operands[0].kind === 'sink';
  if (ret) mods.push('NORTN');
  const d = ret ? NO_REG : f.dst(i.operands[0], t.bits).reg;
  f.emit(
    name,
    mods,
    [d],
    [address(f, ops[0]), f.src(ops[1], t.bits), op === 'cas' ? f.src(ops[2], t.bits) : RZ],
  );
};

/** Operation of CCTL for prefetches and other hints about cache lines, by opcode and level. */
const LINE_HINTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  prefetch: {
    L1: 'PF1',
    L2: 'PF2',
    'L2::evict_last': 'PF2_EVICT_LAST',
    'L2::evict_normal': 'PF2_EVICT_NORMAL',
  },
  prefetchu: { L1: 'PFU' },
  discard: { L2: 'DISCARD' },
  applypriority: { 'L2::evict_normal': 'APPLY_NORMAL' },
};

const hint: ReadingHandler = (f, i, w) => {
  const space = spaceOf(w);
  const known = LINE_HINTS[i.opcode];
  const level = w.oneOf(Object.keys(known));
  if (level === undefined) throw new Unsupported();
  f.emit(
    'CCTL',
    [known[level], space === 'global' ? 'GLOBAL' : space === 'local' ? 'LOCAL' : 'GENERIC'],
    [],
    [address(f, i.operands[0])],
  );
};

const cp: ReadingHandler = (f, i, w) => {
  if (!w.has('async')) throw new Unsupported();
  const kind = w.oneOf(['commit_group', 'wait_group', 'wait_all', 'mbarrier', 'ca', 'cg']);
  switch (kind) {
    case undefined:
      throw new Unsupported();
    case 'commit_group':
      return f.emit('LDGDEPBAR', [], [], []);
    case 'wait_group':
      return f.emit('DEPBAR', [], [], [f.src(i.operands[0], 32)]);
    case 'wait_all':
      return f.emit('DEPBAR', ['ALL'], [], [imm(0)]);
    case 'mbarrier':
      if (!w.has('arrive')) throw new Unsupported();
      return f.emit(
        'MBAR_ARRIVE',
        [w.has('noinc') ? 'ASYNC_NOINC' : 'ASYNC'],
        [NO_REG],
        [sharedAddress(f, w, i.operands[0]), imm(1)],
      );
  }
  w.among(['global', 'shared', 'shared::cta']);
  const [to, from, size, rest] = i.operands;
  if (size?.kind !== 'int') throw new Unsupported('its size is not a constant');
  const mods = [`size=B${size.value}`, upper(kind), ...fetches(w)];
  let n: Operand = imm(-1);
  const policy = i.mods.includes('L2::cache_hint');
  if (rest !== undefined && !(policy && i.operands.length === 4)) {
    mods.push('ZFILL');
    const d = rest.kind === 'reg' || rest.kind === 'sym' ? f.find(rest.name) : undefined;
    // A true predicate means that the source is ignored: nothing is read, and all bytes are zero.
    n =
      d !== undefined && d.bits === 1
        ? f.value('SEL', [], [RZ, imm(Number(size.value)), f.pred(rest)])
        : f.src(rest, 32);
  }
  f.emit('LDGSTS', mods, [], [address(f, to), address(f, from), n]);
};

/** The shared address of a barrier object; a generic address is converted. */
function sharedAddress(f: FnLower, w: Modifiers, o: PtxOperand): Operand {
  const space = spaceOf(w);
  const a = address(f, o);
  if (a.reg === NO_REG || space !== '') return a;
  return addr(f.value('CVTA', ['SHARED', 'TO'], [f.resize(reg(a.reg), 64)], 64).reg, a.lo);
}

const MBARRIER_KINDS = [
  'init',
  'inval',
  'arrive',
  'arrive_drop',
  'test_wait',
  'try_wait',
  'complete_tx',
  'pending_count',
] as const;

/** Default memory ordering of operations on barrier objects (PTX ISA 9.0, mbarrier). */
const MBARRIER_ORDER: Readonly<Record<string, string>> = {
  arrive: 'release',
  arrive_drop: 'release',
  test_wait: 'acquire',
  try_wait: 'acquire',
  expect_tx: 'relaxed',
};

const mbarrier: ReadingHandler = (f, i, w) => {
  const kind = w.oneOf(MBARRIER_KINDS) ?? w.oneOf(['expect_tx']);
  if (kind === undefined) throw new Unsupported();
  w.among([MBARRIER_ORDER[kind] ?? '', 'cta']);
  const at = (k: number) => sharedAddress(f, w, i.operands[k]);
  switch (kind) {
    case 'init':
      return f.emit('MBAR_INIT', [], [], [at(0), f.src(i.operands[1], 32)]);
    case 'inval':
      return f.emit('MBAR_INVAL', [], [], [at(0)]);
    case 'expect_tx':
      return f.emit('MBAR_ARRIVE', ['EXPECT_TX'], [NO_REG], [at(0), f.src(i.operands[1], 32)]);
    case 'arrive':
    case 'arrive_drop': {
      const state = i.operands[0];
      const d = state.kind === 'sink' ? NO_REG : f.dst(state, 64).reg;
      const n = i.operands.length > 2 ? f.src(i.operands[2], 32) : imm(1);
      const tx = w.has('expect_tx');
      const op = kind === 'arrive_drop' ? 'ARRIVE_DROP' : tx ? 'ARRIVE_EXPECT_TX' : 'ARRIVE';
      if (kind === 'arrive_drop' && tx) throw new Unsupported();
      return f.emit('MBAR_ARRIVE', w.has('noComplete') ? [op, 'NOCOMPLETE'] : [op], [d], [at(1), n]);
    }
    case 'test_wait':
    case 'try_wait': {
      const parity = w.has('parity');
      const s = f.src(i.operands[2], parity ? 32 : 64);
      const t = i.operands.length > 3 ? f.src(i.operands[3], 32) : RZ;
      return f.emit(
        'MBAR_WAIT',
        [kind === 'test_wait' ? 'TEST' : 'TRY', parity ? 'PARITY' : 'STATE'],
        [f.dst(i.operands[0], 1).reg],
        [at(1), s, t],
      );
    }
    default:
      throw new Unsupported();
  }
};

/** Proxy fences, which order different paths to the same memory. Those for tensor maps are carried as foreign instructions. */
const PROXIES: Readonly<Record<string, string>> = {
  alias: 'ALIAS',
  async: 'ASYNC',
  'async.global': 'ASYNC_GLOBAL',
  'async.shared::cta': 'ASYNC_SHARED_CTA',
  'async.shared::cluster': 'ASYNC_SHARED_CLUSTER',
};

const PROXY_WORDS = ['alias', 'async', 'global', 'shared::cta', 'shared::cluster'] as const;

/** Restrictions of fences. */
const RESTRICTIONS: Readonly<Record<string, string>> = {
  mbarrier_init: 'MBARRIER_INIT',
  'sync_restrict::shared::cta': 'SYNC_SHARED_CTA',
  'sync_restrict::shared::cluster': 'SYNC_SHARED_CLUSTER',
};

const fence: ReadingHandler = (f, i, w) => {
  if (w.has('proxy')) {
    const kind = PROXIES[w.among(PROXY_WORDS).join('.')];
    if (kind === undefined) throw new Unsupported();
    return f.emit('MEMBAR', ['PROXY', kind], [], []);
  }
  if (i.opcode === 'membar') {
    const level = w.oneOf(['cta', 'gl', 'sys']) ?? '';
    return f.emit('MEMBAR', ['SC', { cta: 'CTA', gl: 'GPU', sys: 'SYS' }[level] ?? 'GPU'], [], []);
  }
  const sem = w.oneOf(['sc', 'acq_rel', 'acquire', 'release']) ?? 'acq_rel';
  const scope = w.oneOf(SCOPES) ?? 'gpu';
  const restrictions = w.among(Object.keys(RESTRICTIONS)).map((m) => RESTRICTIONS[m]);
  f.emit('MEMBAR', [upper(sem), upper(scope), ...restrictions], [], []);
};

const handlers: Readonly<Record<string, ReadingHandler>> = {
  ld: load,
  ldu: load,
  st: store,
  atom: atomic,
  red: atomic,
  prefetch: hint,
  prefetchu: hint,
  discard: hint,
  applypriority: hint,
  cp,
  mbarrier,
  membar: fence,
  fence,
};

/** Handlers by opcode: memory accesses, atomics, asynchronous copies, barrier objects and fences. */
export const memoryHandlers: Readonly<Record<string, Handler>> = Object.fromEntries(
  Object.entries(handlers).map(([opcode, h]) => [opcode, readingAll(h)]),
);
