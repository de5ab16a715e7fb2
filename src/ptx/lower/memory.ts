import { addr, cbank, imm, NO_REG, type Operand, RegFile, RZ, reg, regFile } from '../../ir/operand.ts';
import type { PtxInstr, PtxOperand } from '../ast.ts';
import { type Handler, typeOf } from './arith.ts';
import { type FnLower, NoForm } from './function.ts';
import type { PtxType } from './types.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'shared', 'local', 'const', 'param']);

/** State space among the modifiers, '' for generic. */
function spaceOf(i: PtxInstr): string {
  for (const m of i.mods) {
    const [s, sub] = m.split('::');
    if (!SPACES.has(s)) continue;
    if (sub === 'cluster') throw new NoForm();
    return s;
  }
  return '';
}

/** An address operand: base register or symbol, and offset. */
function address(f: FnLower, o: PtxOperand): Operand {
  if (o.kind !== 'addr') throw new NoForm('address operand expected');
  const offset = Number(BigInt.asIntN(32, o.offset));
  if (o.base === '') return addr(NO_REG, offset);
  const d = f.find(o.base);
  if (d !== undefined) return addr(d.reg, offset);
  const s = f.symbol(o.base);
  if (s === undefined) throw new NoForm(`'${o.base}' is not declared`);
  if (s.kind === 'entry-param') throw new NoForm(`address of parameter '${o.base}' outside .param`);
  return addr(NO_REG, offset, s.name);
}

/** Space of the symbol an address starts from, where it starts from one. */
function symbolSpace(f: FnLower, o: PtxOperand): string {
  if (o.kind !== 'addr' || o.base === '' || f.find(o.base) !== undefined) return '';
  const s = f.symbol(o.base);
  return s?.kind === 'variable' ? s.space : '';
}

const UPPER: ReadonlySet<string> = new Set([
  'relaxed',
  'acquire',
  'release',
  'volatile',
  'mmio',
  'cta',
  'cluster',
  'gpu',
  'sys',
  'ca',
  'cg',
  'cs',
  'lu',
  'cv',
  'nc',
  'wb',
  'wt',
]);
const EVICT: Readonly<Record<string, string>> = {
  'L1::evict_normal': 'EVICT_NORMAL',
  'L1::evict_unchanged': 'EVICT_UNCHANGED',
  'L1::evict_first': 'EVICT_FIRST',
  'L1::evict_last': 'EVICT_LAST',
  'L1::no_allocate': 'NO_ALLOCATE',
  evict_first: 'EVICT_FIRST',
  evict_last: 'EVICT_LAST',
};

/** Cache, ordering and scope modifiers of loads and stores. */
function hints(i: PtxInstr): string[] {
  const m: string[] = [];
  for (const x of i.mods) {
    // .mmio is spelled .mmio.relaxed, but orders more than .relaxed alone.
    if (x === 'relaxed' && i.mods.includes('mmio')) continue;
    if (UPPER.has(x)) m.push(x.toUpperCase());
    else if (EVICT[x] !== undefined) m.push(EVICT[x]);
    else if (/^L2::(64|128|256)B$/.test(x)) m.push(`L2_${x.slice(4)}`);
  }
  return m;
}

/** Access type of a load or store. */
function accessType(t: PtxType, load: boolean): string {
  if (t.bits === 128) return 'B128';
  if (t.bits === 64) return 'B64';
  if (t.bits === 32) return 'B32';
  return `${load && t.kind === 'signed' ? 'S' : 'U'}${t.bits}`;
}

const vecOf = (i: PtxInstr): string => i.mods.find((m) => /^v[248]$/.test(m))?.toUpperCase() ?? 'V1';
const items = (o: PtxOperand): readonly PtxOperand[] => (o.kind === 'vector' ? o.items : [o]);

const OPS: Readonly<Record<string, readonly [string, string]>> = {
  '': ['LD', 'ST'],
  global: ['LDG', 'STG'],
  shared: ['LDS', 'STS'],
  local: ['LDL', 'STL'],
};

const load: Handler = (f, i) => {
  const t = typeOf(i);
  const [to, from] = i.operands;
  let space = spaceOf(i);
  if (space === '') space = symbolSpace(f, from);
  let op: string;
  let ad: Operand;
  let mods: string[];
  if (space === 'param' || space === 'const') {
    mods = [];
    [op, ad] = paramOrConst(f, from, space, i.mods.includes('param::entry'));
  } else {
    op = OPS[space][0];
    ad = address(f, from);
    mods = hints(i).filter((m) => m !== 'WB');
    if (op !== 'LDG' && op !== 'LD') mods = mods.filter((m) => m !== 'NC');
  }
  const targets = items(to);
  const width = t.bits >= 64 ? t.bits : 32;
  const after: (() => void)[] = [];
  const dst = targets.map((o) => {
    if (o.kind === 'sink') return NO_REG;
    const d = f.dst(o, t.bits);
    const file = regFile(d.reg);
    // A register wider than the type gets the value extended; a 16-bit register stays zero-extended.
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
  f.emit(op, [accessType(t, true), vecOf(i), ...mods], dst, [ad]);
  for (const g of after) g();
};

/** Opcode and address of a load from parameters or constants. */
function paramOrConst(f: FnLower, o: PtxOperand, space: string, entry: boolean): [string, Operand] {
  if (o.kind !== 'addr') throw new NoForm('address operand expected');
  const offset = Number(BigInt.asIntN(32, o.offset));
  const d = o.base === '' ? undefined : f.find(o.base);
  if (space === 'const') return ['LDC', d !== undefined ? addr(d.reg, offset) : address(f, o)];
  if (d !== undefined) {
    // The address of a device function's parameter is one of local memory.
    if (f.isEntry || entry) return ['LDC', cbank(0, offset, d.reg)];
    return ['LDL', addr(d.reg, offset)];
  }
  const s = f.symbol(o.base);
  if (s?.kind === 'entry-param') return ['LDC', cbank(0, f.module.paramBase + s.param.offset + offset)];
  if (s?.kind === 'call-param') return ['LDPRM', addr(NO_REG, offset, s.name)];
  if (s?.kind === 'variable' && s.space === 'local') return ['LDL', addr(NO_REG, offset, s.name)];
  throw new NoForm(`'${o.base}' is no parameter`);
}

const store: Handler = (f, i) => {
  const t = typeOf(i);
  const [to, from] = i.operands;
  let space = spaceOf(i);
  if (space === '') space = symbolSpace(f, to);
  const values = items(from).map((o) => f.src(o, t.bits));
  const type = accessType(t, false);
  if (space === 'param') {
    if (to.kind !== 'addr') throw new NoForm('address operand expected');
    const offset = Number(to.offset);
    const d = f.find(to.base);
    const s = d === undefined ? f.symbol(to.base) : undefined;
    // The address of a device function's parameter is one of local memory.
    if (d !== undefined && !f.isEntry)
      return f.emit('STL', [type, vecOf(i)], [], [addr(d.reg, offset), ...values]);
    if (s?.kind === 'variable' && s.space === 'local')
      return f.emit('STL', [type, vecOf(i)], [], [addr(NO_REG, offset, s.name), ...values]);
    if (s?.kind !== 'call-param') throw new NoForm(`'${to.base}' is no parameter that can be written`);
    return f.emit('STPRM', [type, vecOf(i)], [], [addr(NO_REG, offset, s.name), ...values]);
  }
  if (space === 'const') throw new NoForm('store to .const');
  f.emit(
    OPS[space][1],
    [type, vecOf(i), ...hints(i).filter((m) => m !== 'NC')],
    [],
    [address(f, to), ...values],
  );
};

const ATOMIC_OPS: ReadonlySet<string> = new Set([
  'add',
  'min',
  'max',
  'inc',
  'dec',
  'and',
  'or',
  'xor',
  'exch',
  'cas',
]);

const atomic: Handler = (f, i) => {
  const t = typeOf(i);
  const op = i.mods.find((m) => ATOMIC_OPS.has(m));
  if (op === undefined || t.bits === 128 || vecOf(i) !== 'V1') throw new NoForm();
  const red = i.opcode === 'red';
  const ops = red ? i.operands : i.operands.slice(1);
  let space = spaceOf(i);
  if (space === '') space = symbolSpace(f, ops[0]);
  const name = space === 'global' ? 'ATOMG' : space === 'shared' ? 'ATOMS' : 'ATOM';
  if (space === 'local' || space === 'const') throw new NoForm(`atomics on .${space}`);
  const type =
    t.kind === 'half'
      ? t.name.toUpperCase()
      : t.kind === 'float'
        ? `F${t.bits}`
        : t.bits === 16
          ? 'B16'
          : `${t.kind === 'signed' ? 'S' : 'U'}${t.bits}`;
  const mods = [op.toUpperCase(), type];
  for (const m of i.mods)
    if (/^(relaxed|acquire|release|acq_rel|cta|cluster|gpu|sys)$/.test(m)) mods.push(m.toUpperCase());
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

const PREFETCH: Readonly<Record<string, string>> = { L1: 'PF1', L2: 'PF2' };

const hint: Handler = (f, i) => {
  const space = spaceOf(i);
  const op =
    i.opcode === 'discard'
      ? 'DISCARD'
      : i.opcode === 'applypriority'
        ? 'APPLY_NORMAL'
        : i.opcode === 'prefetchu'
          ? 'PFU'
          : (PREFETCH[i.mods[i.mods.length - 1].split('::')[0]] ?? 'PF2');
  if (i.mods.includes('tensormap')) throw new NoForm();
  f.emit(
    'CCTL',
    [op, space === 'global' ? 'GLOBAL' : space === 'local' ? 'LOCAL' : 'GENERIC'],
    [],
    [address(f, i.operands[0])],
  );
};

const cp: Handler = (f, i) => {
  if (i.mods[0] !== 'async' || i.mods.includes('bulk')) throw new NoForm();
  const kind = i.mods[1];
  switch (kind) {
    case 'commit_group':
      return f.emit('LDGDEPBAR', [], [], []);
    case 'wait_group':
      return f.emit('DEPBAR', [], [], [f.src(i.operands[0], 32)]);
    case 'wait_all':
      return f.emit('DEPBAR', ['ALL'], [], [imm(0)]);
    case 'mbarrier':
      return f.emit(
        'MBAR_ARRIVE',
        [i.mods.includes('noinc') ? 'ASYNC_NOINC' : 'ASYNC'],
        [NO_REG],
        [sharedAddress(f, i, i.operands[0]), imm(1)],
      );
  }
  if (i.mods.includes('shared::cluster')) throw new NoForm();
  const [to, from, size, rest] = i.operands;
  if (size?.kind !== 'int') throw new NoForm('its size is no constant');
  const mods = [`size=B${size.value}`, kind === 'cg' ? 'CG' : 'CA'];
  for (const m of i.mods) if (/^L2::(64|128|256)B$/.test(m)) mods.push(`L2_${m.slice(4)}`);
  let n: Operand = imm(-1);
  const policy = i.mods.includes('L2::cache_hint');
  if (rest !== undefined && !(policy && i.operands.length === 4)) {
    mods.push('ZFILL');
    const d = rest.kind === 'reg' || rest.kind === 'sym' ? f.find(rest.name) : undefined;
    // A predicate says "ignore the source": then nothing is read and all bytes are zero.
    n =
      d !== undefined && d.bits === 1
        ? f.value('SEL', [], [RZ, imm(Number(size.value)), f.pred(rest)])
        : f.src(rest, 32);
  }
  f.emit('LDGSTS', mods, [], [address(f, to), address(f, from), n]);
};

/** Address of a barrier object: one that is given as generic is converted. */
function sharedAddress(f: FnLower, i: PtxInstr, o: PtxOperand): Operand {
  const a = address(f, o);
  if (a.reg === NO_REG || spaceOf(i) !== '') return a;
  return addr(f.value('CVTA', ['SHARED', 'TO'], [f.resize(reg(a.reg), 64)], 64).reg, a.lo);
}

const mbarrier: Handler = (f, i) => {
  if (i.mods.includes('shared::cluster') || i.mods.some((m) => m === 'cluster')) throw new NoForm();
  const kind = i.mods[0];
  const at = (k: number) => sharedAddress(f, i, i.operands[k]);
  switch (kind) {
    case 'init':
      return f.emit('MBAR_INIT', [], [], [at(0), f.src(i.operands[1], 32)]);
    case 'inval':
      return f.emit('MBAR_INVAL', [], [], [at(0)]);
    case 'expect_tx':
      return f.emit('MBAR_ARRIVE', ['EXPECT_TX'], [NO_REG], [at(0), f.src(i.operands[1], 32)]);
    case 'arrive':
    case 'arrive_drop': {
      const first = i.operands[0];
      const plain = first.kind === 'addr';
      const d = plain || first.kind === 'sink' ? NO_REG : f.dst(first, 64).reg;
      const k = plain ? 0 : 1;
      const n = i.operands.length > k + 1 ? f.src(i.operands[k + 1], 32) : imm(1);
      const tx = i.mods[1] === 'expect_tx';
      const op = kind === 'arrive_drop' ? 'ARRIVE_DROP' : tx ? 'ARRIVE_EXPECT_TX' : 'ARRIVE';
      if (kind === 'arrive_drop' && tx) throw new NoForm();
      return f.emit(
        'MBAR_ARRIVE',
        i.mods.includes('noComplete') ? [op, 'NOCOMPLETE'] : [op],
        [d],
        [at(k), n],
      );
    }
    case 'test_wait':
    case 'try_wait': {
      const parity = i.mods.includes('parity');
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
      throw new NoForm();
  }
};

const createpolicy: Handler = (f, i) => f.emit('MOV', ['64'], [f.dst(i.operands[0], 64).reg], [RZ]);

/** Proxy fences, which order different paths to the same memory; those for tensor maps go with instructions without an Ori form. */
const PROXIES: Readonly<Record<string, string>> = {
  alias: 'ALIAS',
  async: 'ASYNC',
  'async.global': 'ASYNC_GLOBAL',
  'async.shared::cta': 'ASYNC_SHARED_CTA',
  'async.shared::cluster': 'ASYNC_SHARED_CLUSTER',
};

const proxyFence: Handler = (f, i) => {
  const kind = PROXIES[i.mods.slice(i.mods.indexOf('proxy') + 1).join('.')];
  if (kind === undefined) throw new NoForm();
  f.emit('MEMBAR', ['PROXY', kind], [], []);
};

const fence: Handler = (f, i) => {
  if (i.opcode === 'membar') {
    if (i.mods[0] === 'proxy') return proxyFence(f, i);
    return f.emit('MEMBAR', ['SC', { cta: 'CTA', gl: 'GPU', sys: 'SYS' }[i.mods[0]] ?? 'GPU'], [], []);
  }
  if (i.mods.includes('proxy')) return proxyFence(f, i);
  const sem = i.mods.find((m) => /^(sc|acq_rel|acquire|release)$/.test(m)) ?? 'acq_rel';
  const scope = i.mods.find((m) => /^(cta|cluster|gpu|sys)$/.test(m)) ?? 'gpu';
  f.emit('MEMBAR', [sem.toUpperCase(), scope.toUpperCase()], [], []);
};

export const memoryHandlers: Readonly<Record<string, Handler>> = {
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
  createpolicy,
  membar: fence,
  fence,
};
