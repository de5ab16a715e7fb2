import { chosen, modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, Mod, NO_REG, type Operand } from '../ir/operand.ts';
import { type Arg, RZ } from './assemble.ts';
import { BANK, type Emitter } from './emitter.ts';
import { DESCRIPTOR, STACK } from './stack.ts';
import { needsLoop, type Place, swapUntilDone } from './swap-loops.ts';

/*
 * Instructions that access memory. The hardware loads and stores 1, 2, 4, 8 or 16 bytes to a run of registers; vectors of smaller elements
 * are loaded whole and taken apart, and put together before a store.
 */

type Handler = (s: Emitter) => void;

/** How accesses to a space are written. */
interface SpaceCode {
  readonly load: readonly string[];
  readonly store: readonly string[];
  /** Whether addresses have 64 bits. */
  readonly isWide: boolean;
}

const SPACES: Readonly<Record<string, SpaceCode>> = {
  global: { load: ['LDG', 'E'], store: ['STG', 'E'], isWide: true },
  generic: { load: ['LD', 'E'], store: ['ST', 'E'], isWide: true },
  shared: { load: ['LDS'], store: ['STS'], isWide: false },
  local: { load: ['LDL'], store: ['STL'], isWide: false },
};

/** Names of access sizes by bytes. */
export const SIZES: Readonly<Record<number, string>> = { 1: 'U8', 2: 'U16', 4: '', 8: '64', 16: '128' };

const BYTES: Readonly<Record<string, number>> = { B32: 4, U8: 1, S8: 1, U16: 2, S16: 2, B64: 8, B128: 16 };

const number = (lo: number): Arg => ({ kind: 'number', lo, hi: null, mods: 0 });

/** The modifier chosen in a group; '' if the opcode has no such group. */
function mod(s: Emitter, group: string): string {
  const { op, mods } = s.ins;
  const g = op.groupByName.get(group);
  return g === undefined ? '' : chosen(g, mods).name;
}

/** The address of an access. */
export function address(s: Emitter, o: Operand, isWide: boolean): Arg & { readonly kind: 'address' } {
  const descriptor = isWide && s.around.machine.driver.has('descriptor') ? DESCRIPTOR : null;
  let base: Arg | null = o.reg === NO_REG ? null : s.register(s.of(o.reg));
  // Addresses of shared and local memory are the lower halves of pairs.
  if (!isWide && base?.kind === 'register') base = { ...base, words: 1 };
  let offset = o.lo;
  if (o.sym !== '') {
    const at = s.around.address(o.sym);
    if (at.kind === 'bank' || base !== null) {
      const whole = s.operand(
        { ...o, kind: Kind.Sym, reg: NO_REG },
        { ...srcSlot(s.ins.op, 0)!, widthFrom: null, width: isWide ? 64 : 32 },
      );
      const loaded = whole.kind === 'register' ? whole : s.loaded(whole);
      offset = 0;
      base = base === null ? loaded : sum(s, base, [s.partOf(loaded, 0), s.partOf(loaded, 1)], isWide);
    } else if (at.kind === 'frame') {
      base = { kind: 'fixed', file: 'R', number: STACK, mods: 0 };
      offset += at.offset;
    } else offset += at.offset;
  }
  if (isWide && base === null) {
    base = s.loaded({ kind: 'number', lo: offset, hi: offset >> 31, mods: 0 });
    offset = 0;
  } else if (offset < -0x800000 || offset > 0x7fffff) {
    base = sum(s, base ?? RZ, [number(offset), number(offset >> 31)], isWide);
    offset = 0;
  }
  return { kind: 'address', base, offset, descriptor, mods: 0 };
}

/** The sum of a base, a word or a pair, and the words of a number or another register. */
export function sum(s: Emitter, base: Arg, addend: readonly [Arg, Arg], isWide: boolean): Arg {
  const t = s.make('R', isWide ? 2 : 1);
  const carry = isWide ? s.make('P', 1) : -1;
  s.emitNamed(
    ['IADD3'],
    new Map<string, Arg>([
      ['d', s.wordOf(t, 0)],
      ...(isWide ? [['p', s.register(carry)] as const] : []),
      ['a', s.partOf(base, 0)],
      ['b', addend[0]],
      ['c', RZ],
    ]),
  );
  if (isWide)
    s.emitNamed(
      ['IADD3', 'X'],
      new Map<string, Arg>([
        ['d', s.wordOf(t, 1)],
        ['a', s.partOf(base, 1)],
        ['b', addend[1]],
        ['c', RZ],
        ['ci', s.register(carry)],
      ]),
    );
  return s.register(t);
}

const SCOPES: Readonly<Record<string, string>> = {
  CTA: 'SM',
  CLUSTER: 'GPU',
  GPU: 'GPU',
  SYS: 'SYS',
  NONE: 'SYS',
};

/** The memory order of a load or store of global or generic memory, in parts of the name. */
function order(s: Emitter): string[] {
  const sem = mod(s, 'sem');
  if (sem === 'WEAK') return mod(s, 'nc') === 'NC' ? ['CONSTANT'] : [];
  if (sem === 'MMIO') return ['MMIO', 'SYS'];
  return ['STRONG', sem === 'VOLATILE' ? 'SYS' : SCOPES[mod(s, 'scope')]];
}

const NOTHING: ReadonlyMap<string, Arg> = new Map();

/** Scopes beyond the first-level cache of an SM. */
const isWideScope = (scope: string): boolean => scope === 'GPU' || scope === 'SYS';

/** Waits until all earlier accesses are visible in a scope, and, beyond a block, until their errors are reported: as ptxas writes it. */
function flush(s: Emitter, kind: 'ALL' | 'SC', scope: string): void {
  s.emitNamed(['MEMBAR', kind, scope], NOTHING);
  if (!isWideScope(scope)) return;
  s.emitNamed(['ERRBAR'], NOTHING);
  // From sm_90 on, also for other blocks of the cluster.
  s.emit(['CGAERRBAR'], NOTHING);
}

/** Forgets what the first-level cache holds: later loads see what others have written. */
function forget(s: Emitter, scope: string): void {
  if (isWideScope(scope)) s.emitNamed(['CCTL', 'IVALL'], NOTHING);
}

/** The scope of an ordered access, as MEMBAR names it. */
const scopeOf = (s: Emitter): string => {
  const scope = SCOPES[mod(s, 'scope')];
  return scope === 'SM' ? 'CTA' : scope;
};

/** What precedes an access that releases, and what follows one that acquires. */
const release = (s: Emitter): void => {
  if (['RELEASE', 'ACQ_REL'].includes(mod(s, 'sem'))) flush(s, 'ALL', scopeOf(s));
};
const acquire = (s: Emitter): void => {
  if (['ACQUIRE', 'ACQ_REL'].includes(mod(s, 'sem'))) forget(s, scopeOf(s));
};

const load =
  (space: keyof typeof SPACES): Handler =>
  (s) => {
    const { ins } = s;
    const { load: name, isWide } = SPACES[space];
    const type = modOf(ins.op, ins.mods, 'type');
    const count = ins.dst.length;
    const bytes = BYTES[type];
    const total = bytes * count;
    const ad = address(s, ins.src[0], isWide);
    const ordered = isWide ? order(s) : [];
    const access = (size: string, d: Arg): void =>
      s.emitNamed(
        [...name, ...(size === '' ? [] : [size]), ...ordered],
        new Map<string, Arg>([
          ['d', d],
          ['ad', ad],
        ]),
      );
    const nothing: Arg = RZ;
    if (count === 1 && bytes <= 4) {
      const [d] = ins.dst;
      access(type === 'B32' ? '' : type, d === NO_REG ? nothing : s.register(s.of(d)));
    } else if (count === 1 && ins.dst[0] !== NO_REG) access(SIZES[bytes], s.register(s.of(ins.dst[0])));
    else {
      const words = Math.max(1, total / 4);
      if (SIZES[total] === undefined)
        throw s.unsupported(`an access of ${total} bytes has no machine code yet`);
      const v = s.make('R', words);
      access(SIZES[total], s.register(v));
      ins.dst.forEach((d, i) => {
        if (d === NO_REG) return;
        const to = s.of(d);
        if (bytes < 4) element(s, s.wordOf(to, 0), s.wordOf(v, (i * bytes) >> 2), (i * bytes) & 3, type);
        else for (let k = 0; k < bytes / 4; k++) s.move(s.wordOf(to, k), s.wordOf(v, (i * bytes) / 4 + k));
      });
    }
    acquire(s);
  };

/** Takes an element of one or two bytes out of a word. */
function element(s: Emitter, d: Arg, word: Arg, at: number, type: string): void {
  const selector = BYTES[type] === 1 ? 0x4440 + at : at === 0 ? 0x4410 : 0x4432;
  const args = new Map<string, Arg>([
    ['d', d],
    ['a', word],
    ['b', number(selector)],
    ['c', RZ],
  ]);
  s.emitNamed(['PRMT'], args);
  if (!type.startsWith('S')) return;
  s.emitNamed(
    ['SGXT'],
    new Map<string, Arg>([
      ['d', d],
      ['a', d],
      ['b', number(8 * BYTES[type])],
    ]),
  );
}

const store =
  (space: keyof typeof SPACES): Handler =>
  (s) => {
    const { ins } = s;
    const { store: name, isWide } = SPACES[space];
    const type = modOf(ins.op, ins.mods, 'type');
    const values = ins.src.slice(1);
    const bytes = BYTES[type];
    const total = bytes * values.length;
    release(s);
    const ad = address(s, ins.src[0], isWide);
    const slot = srcSlot(ins.op, 1)!;
    const size = values.length === 1 && bytes < 4 ? type.replace('S', 'U') : SIZES[total];
    if (size === undefined) throw s.unsupported(`an access of ${total} bytes has no machine code yet`);
    let value: Arg;
    if (values.length === 1 && bytes <= 4) value = s.operand(values[0], slot);
    else if (values.length === 1 && values[0].kind === Kind.Reg) value = s.operand(values[0], slot);
    else {
      const v = s.make('R', Math.max(1, total / 4));
      values.forEach((o, i) => {
        const at = i * bytes;
        if (bytes < 4) place(s, s.wordOf(v, at >> 2), s.operand(o, slot), at & 3, bytes);
        else if (bytes === 4) s.move(s.wordOf(v, i), s.operand(o, slot));
        else {
          s.move(s.wordOf(v, 2 * i), s.operand(o, slot, 'lo'));
          s.move(s.wordOf(v, 2 * i + 1), s.operand(o, slot, 'hi'));
        }
      });
      value = s.register(v);
    }
    s.emitNamed(
      [...name, ...(size === '' ? [] : [size]), ...(isWide ? order(s) : [])],
      new Map<string, Arg>([
        ['ad', ad],
        ['b', value],
      ]),
    );
  };

/** Puts an element of one or two bytes at its place in a word. */
function place(s: Emitter, word: Arg, value: Arg, at: number, bytes: number): void {
  if (at === 0) return s.move(word, value);
  const selector = bytes === 2 ? 0x5410 : [0, 0x3240, 0x3410, 0x4210][at];
  s.emitNamed(
    ['PRMT'],
    new Map<string, Arg>([
      ['d', word],
      ['a', word],
      ['b', number(selector)],
      ['c', value],
    ]),
  );
}

/** Loads from a constant bank: whole words are copied, parts and indexed words are loaded. */
const loadConstant: Handler = (s) => {
  const { ins } = s;
  const type = modOf(ins.op, ins.mods, 'type');
  const bytes = BYTES[type];
  const [o] = ins.src;
  let index: Arg | null =
    o.reg === NO_REG ? null : { ...(s.register(s.of(o.reg)) as Arg & { kind: 'register' }), words: 1 };
  let offset = o.lo;
  let bank: number = BANK.constants;
  if (o.kind === Kind.CBank) bank = o.hi;
  else if (o.sym !== '') {
    const at = s.around.address(o.sym);
    if (at.kind !== 'constant') throw s.unsupported(`'${o.sym}' is no constant variable`);
    offset += at.offset;
  }
  if (index !== null && (offset < -0x8000 || offset > 0x7fff)) {
    const t = s.make('R', 1);
    s.emitNamed(
      ['IADD3'],
      new Map<string, Arg>([
        ['d', s.register(t)],
        ['a', index],
        ['b', number(offset)],
        ['c', RZ],
      ]),
    );
    index = s.register(t);
    offset = 0;
  }
  ins.dst.forEach((d, i) => {
    if (d === NO_REG) return;
    const to = s.of(d);
    if (index === null && bytes >= 4)
      s.holdsConstant(d, {
        kind: 'bank',
        bank,
        index: null,
        offset: offset + i * bytes,
        words: bytes / 4,
        mods: 0,
      });
    for (let k = 0; k < Math.max(1, bytes / 4); k++) {
      const at = offset + i * bytes + 4 * k;
      if (index === null && bytes >= 4) s.move(s.wordOf(to, k), s.bank(bank, at, 1));
      else
        s.emitNamed(
          ['LDC', ...(bytes >= 4 ? [] : [type])],
          new Map<string, Arg>([
            ['d', s.wordOf(to, k)],
            ['ad', s.bank(bank, at, 1, index ?? RZ)],
          ]),
        );
    }
  });
};

/** Types of atomic operations by type of Ori: of sums, and of the others. */
const ATOMIC: Readonly<Record<string, string>> = {
  B16: 'B16',
  F16: 'F16',
  BF16: 'BF16',
  BF16X2: 'BF16x2.RN',
  U32: '',
  B32: '',
  S32: 'S32',
  U64: '64',
  S64: 'S64',
  F32: 'F32.FTZ.RN',
  F64: 'F64.RN',
  F16X2: 'F16x2.RN',
};

function atomicType(s: Emitter): string[] {
  const { op, mods } = s.ins;
  const name = ATOMIC[modOf(op, mods, 'type')];
  if (name === undefined) throw s.unsupported('an atomic operation of this type has no machine code yet');
  const isSigned = ['MIN', 'MAX'].includes(mod(s, 'op'));
  if (!isSigned && name.startsWith('S')) return name === 'S32' ? [] : ['64'];
  return name === '' ? [] : name.split('.');
}

const atomic =
  (space: 'global' | 'generic' | 'shared'): Handler =>
  (s) => {
    const { ins } = s;
    const op = mod(s, 'op');
    const isWide = space !== 'shared';
    release(s);
    const ad = address(s, ins.src[0], isWide);
    const slot = srcSlot(ins.op, 1)!;
    const type = atomicType(s);
    const [d = NO_REG] = ins.dst;
    const isUnused = d === NO_REG || mod(s, 'rtn') === 'NORTN' || !s.isRead(d);
    const to: Arg = d === NO_REG ? RZ : s.register(s.of(d));
    const ordered = isWide ? ['STRONG', SCOPES[mod(s, 'scope')]] : [];
    const b = s.operand(ins.src[1], slot);
    const value =
      b.kind === 'register' ? b : b.kind === 'number' && b.lo === 0 && (b.hi ?? 0) === 0 ? RZ : s.loaded(b);
    if (needsLoop(op, type, isWide)) {
      const place: Place = {
        ad,
        load: SPACES[space].load,
        swap: [{ global: 'ATOMG', generic: 'ATOM', shared: 'ATOMS' }[space], ...(isWide ? ['E'] : []), 'CAS'],
        order: ordered,
        isWide,
      };
      const swapped = op === 'CAS' ? s.operand(ins.src[2], slot) : null;
      swapUntilDone(s, place, op, type, value, swapped);
      return acquire(s);
    }
    if (op === 'CAS') {
      const c = s.operand(ins.src[2], slot);
      const name = { global: 'ATOMG', generic: 'ATOM', shared: 'ATOMS' }[space];
      s.emitNamed(
        [name, ...(isWide ? ['E'] : []), 'CAS', ...type.filter((t) => t === '64'), ...ordered],
        new Map<string, Arg>([
          ['d', to],
          ['ad', ad],
          ['b', value],
          ['c', c.kind === 'register' ? c : s.loaded(c)],
        ]),
      );
    } else if (space === 'global' && isUnused && op !== 'EXCH') {
      const args = new Map<string, Arg>([
        ['ad', ad],
        ['b', value],
      ]);
      const rest = ['E', op, ...type, ...ordered];
      // From sm_90 on its name is REDG.
      if (!s.emit(['RED', ...rest], args)) s.emitNamed(['REDG', ...rest], args);
    } else
      s.emitNamed(
        [
          ...{ global: ['ATOMG', 'E'], generic: ['ATOM', 'E'], shared: ['ATOMS'] }[space],
          op,
          ...type,
          ...ordered,
        ],
        new Map<string, Arg>([
          ['d', to],
          ['ad', ad],
          ['b', value],
        ]),
      );
    acquire(s);
  };

/** What orders accesses of asynchronous copies: the fence before, and the memory whose view is updated, as ptxas 13.0.88 writes them. */
const PROXIES: Readonly<Record<string, readonly [fence: string | null, view: 'S' | 'G']>> = {
  ASYNC: ['GPU', 'S'],
  ASYNC_SHARED_CTA: ['CTA', 'S'],
  ASYNC_GLOBAL: [null, 'G'],
};

const membar: Handler = (s) => {
  const sem = mod(s, 'sem');
  const restrict = mod(s, 'restrict');
  // Shared memory is accessed in order.
  if (restrict === 'MBARRIER_INIT') return;
  if (restrict !== 'NONE') throw s.unsupported('this fence has no machine code yet');
  if (sem === 'PROXY') {
    const found = PROXIES[mod(s, 'proxy')];
    if (found === undefined) throw s.unsupported('this fence has no machine code yet');
    const [scope, view] = found;
    if (scope !== null) s.emitNamed(['MEMBAR', 'ALL', scope], NOTHING);
    return s.emitNamed(['FENCE', 'VIEW', 'ASYNC', view], NOTHING);
  }
  flush(s, sem === 'SC' ? 'SC' : 'ALL', scopeOf(s));
  forget(s, scopeOf(s));
};

/** Names of cache operations, as ptxas 13.0.88 writes them. */
const HINTS: Readonly<Record<string, string>> = {
  PF1: 'PF1',
  PF2: 'PF2',
  PFU: 'PF1',
  PF2_EVICT_LAST: 'PML2',
  DISCARD: 'RML2',
  APPLY_NORMAL: 'DML2',
};

const hint: Handler = (s) => {
  // A hint without which nothing else changes.
  if (mod(s, 'space') === 'LOCAL') return;
  const name = HINTS[mod(s, 'op')];
  if (name === undefined) throw s.unsupported('it has no machine code yet');
  s.emitNamed(['CCTL', 'E', name], new Map([['ad', address(s, s.ins.src[0], true)]]));
};

/** Whether a generic address is one of a space. */
const isOfSpace: Handler = (s) => {
  const space = { GLOBAL: 'G', SHARED: 'S', LOCAL: 'L' }[mod(s, 'space')];
  if (space === undefined) throw s.unsupported('it has no machine code yet');
  const a = s.operand(s.ins.src[0], srcSlot(s.ins.op, 0)!);
  const base = a.kind === 'register' ? a : s.loaded(a);
  s.emitNamed(
    ['QSPC', 'E', space],
    new Map<string, Arg>([
      ['p', s.register(s.of(s.ins.dst[0]))],
      ['d', RZ],
      ['ad', { kind: 'address', base, offset: 0, descriptor: null, mods: 0 }],
    ]),
  );
};

/**
 * Copies from global to shared memory. If fewer bytes than the size are copied and zeros written for the rest, the low bits of the address
 * say how many are missing; none are copied if the predicate is false (seen in code of ptxas 13.0.88 for sm_80 and sm_90).
 */
const copy: Handler = (s) => {
  const { ins } = s;
  const bytes = { B4: 4, B8: 8, B16: 16 }[modOf(ins.op, ins.mods, 'size')]!;
  const [to, from] = [address(s, ins.src[0], false), address(s, ins.src[1], true)];
  const n = ins.src[2];
  const fetch = mod(s, 'fetch');
  const name = (isPart: boolean): string[] => [
    'LDGSTS',
    'E',
    ...(mod(s, 'cache') === 'CG' ? ['BYPASS'] : []),
    ...(['', 'NONE'].includes(fetch) ? [] : [`LTC${fetch.replace(/^L2_/, '')}`]),
    ...(bytes === 4 ? [] : [SIZES[bytes]]),
    ...(isPart ? ['ZFILL'] : []),
  ];
  const write = (isPart: boolean, ad: Arg, isAny: Arg): void =>
    s.emitNamed(
      name(isPart),
      new Map<string, Arg>([
        ['to', to],
        ['ad', ad],
        ['q', isAny],
      ]),
    );
  const always: Arg = { kind: 'fixed', file: 'P', number: null, mods: 0 };
  if (n === undefined || (n.kind === Kind.Imm && (n.lo === -1 || n.lo >= bytes)))
    return write(false, from, always);
  if (n.kind === Kind.Imm && n.lo === 0) return write(false, from, { ...always, mods: Mod.Not });
  if (n.kind === Kind.Imm) return write(true, { ...from, offset: from.offset + bytes - n.lo }, always);
  const count = s.operand(n, srcSlot(ins.op, 2)!);
  const missing = s.make('R', 1);
  s.emitNamed(
    ['IADD3'],
    new Map<string, Arg>([
      ['d', s.register(missing)],
      ['a', { ...(count.kind === 'register' ? count : s.loaded(count)), mods: Mod.Neg }],
      ['b', number(bytes)],
      ['c', RZ],
    ]),
  );
  s.emitNamed(
    ['LOP3', 'LUT'],
    new Map<string, Arg>([
      ['d', s.register(missing)],
      ['a', s.register(missing)],
      ['b', number(bytes - 1)],
      ['c', RZ],
      ['t', number(0xc0)],
      ['q', { ...always, mods: Mod.Not }],
    ]),
  );
  const isAny = s.make('P', 1);
  s.emitNamed(
    ['ISETP', 'NE', 'U32', 'AND'],
    new Map<string, Arg>([
      ['d', s.register(isAny)],
      ['a', count.kind === 'register' ? count : s.loaded(count)],
      ['b', RZ],
      ['p', always],
    ]),
  );
  write(true, { ...from, base: sum(s, from.base!, [s.register(missing), RZ], true) }, s.register(isAny));
};

const waitForCopies: Handler = (s) => {
  const all = mod(s, 'all') === 'ALL';
  if (all) s.emitNamed(['LDGDEPBAR'], new Map());
  s.emitNamed(
    ['DEPBAR', 'LE'],
    new Map<string, Arg>([
      ['b', { kind: 'fixed', file: 'SB', number: 0, mods: 0 }],
      ['n', number(all ? 0 : s.ins.src[0].lo)],
    ]),
  );
};

/**
 * Barrier of a cluster. Blocks that were launched without clusters are alone in theirs; then waiting is a barrier of the block, as ptxas
 * 13.0.88 writes it.
 */
const clusterBarrier: Handler = (s) => {
  const at = s.around.machine.driver.get('explicit-cluster');
  if (at === undefined) throw s.unsupported('the target has no clusters');
  const isWait = mod(s, 'mode') === 'WAIT';
  const { ins } = s;
  const [first, inside, after] = [s.newId(), s.newId(), s.newId()];
  if (ins.guard !== NO_REG) {
    s.branchIf(s.of(ins.guard), !ins.guardNot, after);
    s.cut(first, [first, after]);
    s.ins = { ...ins, guard: NO_REG, guardNot: false };
  }
  const isAlone = s.make('P', 1);
  s.emitNamed(
    ['ISETP', 'NE', 'U32', 'AND'],
    new Map<string, Arg>([
      ['d', s.register(isAlone)],
      ['a', s.loaded(s.bank(BANK.arguments, at, 1))],
      ['b', number(1)],
    ]),
  );
  s.branchIf(isAlone, false, after);
  s.cut(inside, [inside, after]);
  const sem = mod(s, 'sem');
  if (isWait) {
    s.emitNamed(['UCGABAR_WAIT'], NOTHING);
    forget(s, 'GPU');
  } else {
    if (sem !== 'RELAXED') flush(s, 'ALL', 'GPU');
    s.emitNamed(['UCGABAR_ARV'], NOTHING);
  }
  s.cut(after, [after]);
  s.ins = ins;
  if (isWait)
    s.emitNamed(
      ['BAR', 'SYNC', 'DEFER_BLOCKING'],
      new Map<string, Arg>([
        ['b', number(0)],
        ['n', number(0)],
      ]),
    );
};

/** Between generic addresses and those of a space: both differ by the address of the space's window. */
const convert: Handler = (s) => {
  const { ins } = s;
  const space = mod(s, 'space');
  const slot = srcSlot(ins.op, 0)!;
  const d = s.of(ins.dst[0]);
  const halves = (['lo', 'hi'] as const).map((part) => s.operand(ins.src[0], slot, part));
  if (space === 'GLOBAL' || space === 'CONST') {
    halves.forEach((h, k) => s.move(s.wordOf(d, k), h));
    return;
  }
  const window = s.around.machine.driver.get(`${space.toLowerCase()}-window`);
  if (window === undefined) throw s.unsupported('the target has no such window');
  const isTo = mod(s, 'to') === 'TO';
  const carry = s.make('P', 1);
  const base = (k: number): Arg => {
    const word = s.bank(BANK.arguments, window + 4 * k, 1);
    return isTo ? { ...s.loaded(word), mods: 1 } : word;
  };
  const half = (k: number): Map<string, Arg> =>
    new Map<string, Arg>([
      ['d', s.wordOf(d, k)],
      [k === 0 ? 'p' : 'ci', s.register(carry)],
      ['a', halves[k].kind === 'register' ? halves[k] : s.loaded(halves[k])],
      ['b', base(k)],
      ['c', RZ],
    ]);
  s.emitNamed(['IADD3'], half(0));
  s.emitNamed(['IADD3', 'X'], half(1));
};

/** Handlers by opcode. */
export const MEMORY: Readonly<Record<string, Handler>> = {
  LDG: load('global'),
  LD: load('generic'),
  LDS: load('shared'),
  LDL: load('local'),
  STG: store('global'),
  ST: store('generic'),
  STS: store('shared'),
  STL: store('local'),
  LDC: loadConstant,
  ATOMG: atomic('global'),
  ATOM: atomic('generic'),
  ATOMS: atomic('shared'),
  MEMBAR: membar,
  // Each fence has written it.
  ERRBAR: () => {},
  LDGSTS: copy,
  LDGDEPBAR: (s) => s.emitNamed(['LDGDEPBAR'], new Map()),
  DEPBAR: waitForCopies,
  CVTA: convert,
  CCTL: hint,
  QSPC: isOfSpace,
  CGABAR: clusterBarrier,
};
