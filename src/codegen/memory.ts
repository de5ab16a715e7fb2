import { modOf, srcSlot } from '../ir/opcode.ts';
import { Kind, Mod, NO_REG } from '../ir/operand.ts';
import { address, SIZES, SPACES, sum } from './address.ts';
import { type Arg, RZ } from './assemble.ts';
import { copy, waitForCopies } from './async-copies.ts';
import { atomic } from './atomics.ts';
import { BANK, type Emitter } from './emitter.ts';
import { acquire, clusterBarrier, membar, order, release } from './memory-order.ts';
import { emit, type Handler, mod, number } from './operands.ts';

/*
 * Instructions that access memory. The hardware loads and stores 1, 2, 4, 8 or 16 bytes to a run of registers; vectors of smaller elements
 * are loaded whole and taken apart, and put together before a store.
 */

const BYTES: Readonly<Record<string, number>> = { B32: 4, U8: 1, S8: 1, U16: 2, S16: 2, B64: 8, B128: 16 };

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
      emit(s, [...name, ...(size === '' ? [] : [size]), ...ordered], { d, ad });
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
  emit(s, ['PRMT'], { d, a: word, b: number(selector), c: RZ });
  if (!type.startsWith('S')) return;
  emit(s, ['SGXT'], { d, a: d, b: number(8 * BYTES[type]) });
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
    emit(s, [...name, ...(size === '' ? [] : [size]), ...(isWide ? order(s) : [])], { ad, b: value });
  };

/** Puts an element of one or two bytes at its place in a word. */
function place(s: Emitter, word: Arg, value: Arg, at: number, bytes: number): void {
  if (at === 0) return s.move(word, value);
  const selector = bytes === 2 ? 0x5410 : [0, 0x3240, 0x3410, 0x4210][at];
  emit(s, ['PRMT'], { d: word, a: word, b: number(selector), c: value });
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
    index = sum(s, index, [number(offset), RZ], false);
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
        emit(s, ['LDC', ...(bytes >= 4 ? [] : [type])], {
          d: s.wordOf(to, k),
          ad: s.bank(bank, at, 1, index ?? RZ),
        });
    }
  });
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
  emit(s, ['CCTL', 'E', name], { ad: address(s, s.ins.src[0], true) });
};

/** Whether a generic address is one of a space. */
const isOfSpace: Handler = (s) => {
  const space = { GLOBAL: 'G', SHARED: 'S', LOCAL: 'L' }[mod(s, 'space')];
  if (space === undefined) throw s.unsupported('it has no machine code yet');
  const a = s.operand(s.ins.src[0], srcSlot(s.ins.op, 0)!);
  const base = a.kind === 'register' ? a : s.loaded(a);
  emit(s, ['QSPC', 'E', space], {
    p: s.register(s.of(s.ins.dst[0])),
    d: RZ,
    ad: { kind: 'address', base, offset: 0, descriptor: null, mods: 0 },
  });
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
    return isTo ? { ...s.loaded(word), mods: Mod.Neg } : word;
  };
  const half = (k: number, name: readonly string[]): void =>
    emit(s, name, {
      d: s.wordOf(d, k),
      [k === 0 ? 'p' : 'ci']: s.register(carry),
      a: halves[k].kind === 'register' ? halves[k] : s.loaded(halves[k]),
      b: base(k),
      c: RZ,
    });
  half(0, ['IADD3']);
  half(1, ['IADD3', 'X']);
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
  LDGDEPBAR: (s) => emit(s, ['LDGDEPBAR']),
  DEPBAR: waitForCopies,
  CVTA: convert,
  CCTL: hint,
  QSPC: isOfSpace,
  CGABAR: clusterBarrier,
};
