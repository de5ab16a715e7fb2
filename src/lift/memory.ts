import {
  addr,
  cbank,
  imm,
  isZero,
  Mod,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  withOperandMods,
} from '../ir/operand.ts';
import type { Builder, Meaning } from './builder.ts';

/*
 * Memory. An address is the sum of a register (64 bits with .64), a uniform register, and an offset; descriptors do not affect values.
 */

/** An address operand. */
interface Address {
  /** The sum without the offset; NO_REG for none. */
  readonly base: Reg;
  readonly offset: number;
}

/** Computes the sum in an address operand, in 32 or 64 bits. */
function address(b: Builder, name: string, bits: 32 | 64): Address {
  const slot = b.slot(name);
  let base: Operand = RZ;
  let offset = 0;
  for (const t of slot.terms ?? []) {
    if (t.when !== undefined && !t.when(b.i.values)) continue;
    const a = t.atom;
    if (a.kind !== 'R' && a.kind !== 'UR') {
      offset += b.raw(a) * a.scale;
      continue;
    }
    const scale = b.suffix({ name: '', glued: false, signs: [], suffixes: a.suffixes });
    const value = { name: '', glued: false, atom: { ...a, suffixes: [] }, signs: [], suffixes: [] };
    let x: Operand;
    if (bits === 64) {
      const narrow = a.kind === 'R' && scale === 'U32';
      const [lo, hi] = [b.word(value), narrow ? RZ : b.word(value, 1)];
      if (isZero(lo) && isZero(hi)) continue;
      x = reg(b.pure('PAIR', [], [lo, hi], RegFile.RD));
    } else {
      x = b.word(value);
      if (isZero(x)) continue;
      const by = ['', 'X4', 'X8', 'X16'].indexOf(scale);
      if (by > 0) x = reg(b.pure('SHL', [], [x, imm(by + 1)]));
    }
    base =
      base === RZ
        ? x
        : reg(
            b.pure('IADD3', bits === 64 ? ['64'] : [], [base, x, RZ], bits === 64 ? RegFile.RD : RegFile.R),
          );
  }
  if (base !== RZ && base.reg === NO_REG) {
    // An address operand in Ori has a register as its base, so a number is moved to one.
    base = reg(b.pure('MOV', bits === 64 ? ['64'] : [], [base], bits === 64 ? RegFile.RD : RegFile.R));
  }
  return { base: base === RZ ? NO_REG : base.reg, offset };
}

/** A register that holds the complete shared-memory address of an operand. */
export function sharedAddress(b: Builder, name: string): Reg {
  const { base, offset } = address(b, name, 32);
  if (base !== NO_REG && offset === 0) return base;
  return b.pure('IADD3', [], [base === NO_REG ? RZ : reg(base), imm(offset), RZ]);
}

const SPACE: Readonly<Record<string, 32 | 64>> = {
  LDG: 64,
  STG: 64,
  LD: 64,
  ST: 64,
  LDS: 32,
  STS: 32,
  LDL: 32,
  STL: 32,
};

function operandOf(b: Builder, name: string, bits: 32 | 64): Operand {
  const { base, offset } = address(b, name, bits);
  return addr(base, offset);
}

/** Element type and count of an access, from its size modifier. */
function sizeOf(b: Builder): { type: string; count: number } {
  const size = b.mod('size');
  if (size === '64') return { type: 'B32', count: 2 };
  if (size === '128') return { type: 'B32', count: 4 };
  return { type: size || 'B32', count: 1 };
}

/** Scopes by modifier name. */
const SCOPE: Readonly<Record<string, string>> = { CTA: 'CTA', SM: 'CTA', VC: 'CTA', GPU: 'GPU', SYS: 'SYS' };

/** Memory-order modifiers of an access, from one modifier or (Turing) two. */
function orderOf(b: Builder): string[] {
  const order = b.mod('order');
  const [kind, inside] = order.split('.');
  const scope = SCOPE[inside ?? ''] ?? SCOPE[b.mod('scope')] ?? 'SYS';
  if (kind === '' || kind === 'CONSTANT') return [];
  return [kind === 'MMIO' ? 'MMIO' : 'RELAXED', `scope=${scope}`];
}

function nothingElse(b: Builder): void {
  if (b.to('p') !== NO_REG) b.fail('a predicate result that reports a fault');
  if (b.truthOr('q', PT) !== PT) b.fail('a second guard');
}

const load =
  (name: string): Meaning =>
  (b) => {
    if (b.find('q') !== undefined || b.find('p') !== undefined) nothingElse(b);
    const { type, count } = sizeOf(b);
    const readOnly = b.mod('order').startsWith('CONSTANT') && name === 'LDG' ? ['NC'] : [];
    const dst = Array.from({ length: count }, (_, k) => b.to('d', k));
    const mods = name === 'LDL' ? [] : [...orderOf(b), ...readOnly];
    b.write(name, [`type=${type}`, `vec=V${count}`, ...mods], dst, [operandOf(b, 'ad', SPACE[name])]);
  };

const store =
  (name: string): Meaning =>
  (b) => {
    const { type, count } = sizeOf(b);
    const slot = b.slot('b');
    const values = Array.from({ length: count }, (_, k) => b.word(slot, k));
    const unsigned = type === 'S8' ? 'U8' : type === 'S16' ? 'U16' : type;
    const mods = name === 'STL' ? [] : orderOf(b);
    b.write(
      name,
      [`type=${unsigned}`, `vec=V${count}`, ...mods],
      [],
      [operandOf(b, 'ad', SPACE[name]), ...values],
    );
  };

/** LDC: a load from a constant bank, with or without index. */
const constant: Meaning = (b) => {
  b.without('TEXUNPACK');
  if (b.has('way')) b.fail(`.${b.mod('way')} is not supported yet`);
  const slot = b.slot('ad');
  const bank = b.raw(slot.prefix!.term.atom);
  const index = slot.terms!.find((t) => t.atom.kind === 'R' || t.atom.kind === 'UR');
  const offset = slot.terms!.find((t) => t.atom.kind !== 'R' && t.atom.kind !== 'UR')!.atom;
  const at = b.raw(offset) * offset.scale;
  const { type, count } = sizeOf(b);
  const value = index && {
    name: '',
    glued: false,
    atom: { ...index.atom, suffixes: [] },
    signs: [],
    suffixes: [],
  };
  const by = value === undefined ? RZ : b.word(value);
  const dst = Array.from({ length: count }, (_, k) => b.to('d', k));
  if (isZero(by)) {
    if (type === 'B32') {
      const words = dst.map((_, k) => b.bankWord(bank, at + 4 * k));
      b.give('d', ...words);
      return;
    }
    const word = b.bankWord(bank, at - (at % 4));
    const size = /8$/.test(type) ? 8 : 16;
    const sign = type.startsWith('S') ? 'S32' : 'U32';
    b.write('BFE', [sign], [b.to('d')], [word, imm(8 * (at % 4)), imm(size)]);
    return;
  }
  const from = b.banks.loadsFrom(bank);
  if (from === null) return b.fail(`a load from constant bank ${bank} with an index`);
  if (from === 'arguments')
    return b.write('LDC', [`type=${type}`, `vec=V${count}`], dst, [cbank(0, b.banks.argument(at), by.reg)]);
  const places = b.banks.variables(bank);
  const whole = reg(b.pure('IADD3', [], [by, imm(at), RZ]));
  let base: Operand | null = null;
  for (const v of places) {
    const start = b.pure('MOV', ['64'], [v.symbol], RegFile.RD);
    const here = reg(b.pure('IADD3', ['64'], [reg(start), imm64(-v.at), RZ], RegFile.RD));
    if (base === null) base = here;
    else {
      const behind = reg(b.test('ISETP', ['GE', 'U32'], [whole, imm(v.at), PT]));
      base = reg(b.pure('SEL', ['64'], [here, base, behind], RegFile.RD));
    }
  }
  if (base === null) b.fail(`constant bank ${bank} has no variables`);
  const wide = reg(b.pure('PAIR', [], [whole, RZ], RegFile.RD));
  const sum = b.pure('IADD3', ['64'], [base!, wide, RZ], RegFile.RD);
  b.write(from, [`type=${type}`, `vec=V${count}`], dst, [addr(sum, 0)]);
};

const imm64 = (n: number): Operand => ({ ...imm(n), hi: n < 0 ? -1 : 0 });

// -------------------------------------------------------------------- atomics

const TYPES: Readonly<Record<string, string>> = {
  '': 'U32',
  S32: 'S32',
  '64': 'U64',
  S64: 'S64',
  'F32.FTZ.RN': 'F32',
  'F32.RN': 'F32',
  'F64.RN': 'F64',
  'F16x2.RN': 'F16X2',
  'BF16x2.RN': 'BF16X2',
};

const atomic =
  (name: string, bits: 32 | 64): Meaning =>
  (b) => {
    const type = TYPES[b.mod('type')] ?? b.fail(`the type ${b.mod('type')}`);
    const op =
      b.mod('op').startsWith('CAS') || b.i.form.row === 'ATOMS.CAST'
        ? 'CAS'
        : b.mod('op') || b.fail('no operation');
    if (op === 'SAFEADD') b.fail('.SAFEADD is not supported yet');
    const wide = /64$/.test(type);
    const value = (n: string): Operand => (wide ? b.wide(n) : b.word(b.slot(n)));
    const sources = op === 'CAS' ? [value('b'), value('c')] : [value('b'), RZ];
    if (b.mod('op').startsWith('CAST') || b.i.form.row === 'ATOMS.CAST')
      return compareAndTest(b, wide, operandOf(b, 'ad', bits));
    const scope =
      SCOPE[b.mod('order').split('.')[1] ?? ''] ??
      SCOPE[b.mod('scope')] ??
      (name === 'ATOMS' ? 'CTA' : 'GPU');
    const kept = b.find('d') !== undefined && b.to('d') !== NO_REG;
    const d = kept ? (wide ? b.temporary(RegFile.RD) : b.to('d')) : NO_REG;
    const place = operandOf(b, 'ad', bits);
    const mods = [`op=${op}`, `type=${type}`, `scope=${scope}`, kept ? 'KEEP' : 'NORTN'];
    const asks = b.find('p') !== undefined && b.to('p') !== NO_REG;
    if (asks) {
      // p tells whether the operation was done: for shared and local memory ptxas' code continues with a substitute (seen in its code for
      // sm_80).
      const whole = wholeAddress(b);
      const within = (space: string): Operand => reg(b.test('QSPC', [space], [whole]));
      const elsewhere = [within('SHARED'), within('LOCAL'), PT];
      const done = reg(b.test('PLOP3', [], [...elsewhere, imm(0x03)]));
      const { guard, not } = b.condition(done);
      b.under(guard, not, name, mods, [place, ...sources], [d]);
      b.giveTruth('p', done);
    } else b.write(name, mods, [d], [place, ...sources]);
    if (kept && wide) b.giveWide('d', reg(d));
  };

/** CAST: d tells whether the compared value was there, so that it was replaced. */
function compareAndTest(b: Builder, wide: boolean, place: Operand): void {
  const value = (n: string): Operand => (wide ? b.wide(n) : b.word(b.slot(n)));
  const file = wide ? RegFile.RD : RegFile.R;
  const type = wide ? 'U64' : 'U32';
  const expected = value('b');
  const old = b.guarded(
    'ATOMS',
    ['op=CAS', `type=${type}`, 'scope=CTA', 'KEEP'],
    [place, expected, value('c')],
    file,
  );
  const same = reg(b.test('ISETP', ['EQ', type], [reg(old), expected, PT]));
  if (b.find('d') === undefined) return b.giveTruth('p', same);
  b.give('d', reg(b.pure('SEL', [], [imm(1), RZ, same])), ...(wide ? [RZ] : []));
}

/** ATOMS.POPC.INC: every executing lane adds one. */
const count: Meaning = (b) => {
  const kept = b.to('d') !== NO_REG;
  b.write(
    'ATOMS',
    ['op=ADD', 'type=U32', 'scope=CTA', kept ? 'KEEP' : 'NORTN'],
    [b.to('d')],
    [operandOf(b, 'ad', 32), imm(1), RZ],
  );
};

// -------------------------------------------------------------------- copies, fences, spaces

const SIZES: Readonly<Record<string, string>> = { '': 'B4', '64': 'B8', '128': 'B16' };

const copy: Meaning = (b) => {
  const q = b.truthOr('q', PT);
  const size = SIZES[b.mod('size')];
  const mods = [`size=${size}`, b.mod('way') === 'BYPASS' ? 'cache=CG' : 'cache=CA'];
  const bytes = Number(size.slice(1));
  if (b.mod('ZFILL') !== '') return copyPart(b, bytes, mods, q);
  const places = [operandOf(b, 'to', 32), operandOf(b, 'ad', 64)];
  if (q === PT) return b.write('LDGSTS', mods, [], places);
  // If q is false, zeros are written (observed on an H200).
  const n = reg(b.pure('SEL', [], [imm(bytes), RZ, q]));
  b.write('LDGSTS', [...mods, 'ZFILL'], [], [...places, n]);
};

/**
 * A copy that writes zeros for omitted bytes, or only zeros if q is false. The low bits of the address, which alignment leaves free, give
 * the number of bytes omitted at the end (this is how ptxas' code encodes the size of `cp.async`, seen for sm_80 and sm_90).
 */
function copyPart(b: Builder, bytes: number, mods: readonly string[], q: Operand): void {
  const whole = wholeAddress(b);
  const [lo, hi] = [b.temporary(), b.temporary()];
  b.emit('UNPAIR', [], [lo, hi], [whole]);
  const missing = reg(b.pure('LOP3', [], [reg(lo), imm(bytes - 1), RZ, imm(0xc0)]));
  const start = reg(b.pure('LOP3', [], [reg(lo), imm(-bytes), RZ, imm(0xc0)]));
  const from = b.pure('PAIR', [], [start, reg(hi)], RegFile.RD);
  const some = reg(b.pure('IADD3', [], [imm(bytes), withOperandMods(missing, Mod.Neg), RZ]));
  const n = q === PT ? some : reg(b.pure('SEL', [], [some, RZ, q]));
  b.write('LDGSTS', [...mods, 'ZFILL'], [], [operandOf(b, 'to', 32), addr(from, 0), n]);
}

const fence: Meaning = (b) => {
  const sem = b.mod('kind') === 'SC' ? 'SC' : 'ACQ_REL';
  b.write('MEMBAR', [`sem=${sem}`, `scope=${SCOPE[b.mod('scope')] ?? 'SYS'}`], [], []);
};

const SPACES: Readonly<Record<string, string>> = { G: 'GLOBAL', L: 'LOCAL', S: 'SHARED' };

function wholeAddress(b: Builder): Operand {
  const { base, offset } = address(b, 'ad', 64);
  return reg(offset === 0 ? base : b.pure('IADD3', ['64'], [reg(base), imm64(offset), RZ], RegFile.RD));
}

const query: Meaning = (b) => {
  if (b.to('d') !== NO_REG) b.fail('an address of the space');
  b.giveTruth('p', reg(b.test('QSPC', [SPACES[b.mod('space')]], [wholeAddress(b)])));
};

// -------------------------------------------------------------------- memory barrier objects

/** Number of arrivals to which a barrier object counts: it stores the missing ones. */
const MOST_ARRIVALS = 0x100000;

/** A barrier object is written as a 64-bit word. For n arrivals, ptxas' code sets bits 1 to 20 and bits 43 to 62 to MOST_ARRIVALS - n. */
const beginBarrier: Meaning = (b) => {
  if (b.to('d') !== NO_REG) b.fail('a memory barrier object that is read');
  const less = reg(b.pure('SHR', ['U32'], [b.plain('b'), imm(1)]));
  const n = reg(b.pure('IADD3', [], [imm(MOST_ARRIVALS), withOperandMods(less, Mod.Neg), RZ]));
  b.write('MBAR_INIT', [], [], [operandOf(b, 'ad', 32), n]);
};

/** One arrival. Of the previous state, d receives only the phase, in its highest bit. */
const arrive: Meaning = (b) => {
  b.without('way', 'OPTOUT');
  if (b.mod('count') !== 'A1T0' || b.plain('b') !== RZ) b.fail('an arrival with a count other than one');
  const kept = b.to('d') !== NO_REG;
  const state = kept ? b.temporary(RegFile.RD) : NO_REG;
  b.write('MBAR_ARRIVE', ['ARRIVE'], [state], [operandOf(b, 'ad', 32), imm(1)]);
  if (!kept) return;
  const phase = b.temporary();
  b.emit('UNPAIR', [], [phase, NO_REG], [reg(state)]);
  b.give('d', RZ, reg(b.pure('SHL', [], [reg(phase), imm(31)])));
};

/**
 * Before sm_90 a barrier object for n arrivals is a plain 64-bit word: 2^30 - n in the lower half; in the upper half the phase in bit 31
 * and 2^31 - n, which counts up (as seen in ptxas' code that initialises and polls one). An arrival adds one; the last one of a phase
 * carries into the phase bit and restarts the count.
 */
const arriveInMemory: Meaning = (b) => {
  const place = operandOf(b, 'ad', 32);
  const add = (n: Operand, kept: boolean): Reg => {
    const d = kept ? b.temporary(RegFile.RD) : NO_REG;
    b.write('ATOMS', ['op=ADD', 'type=U64', 'scope=CTA', kept ? 'KEEP' : 'NORTN'], [d], [place, n, RZ]);
    return d;
  };
  const [lo, hi] = [b.temporary(), b.temporary()];
  b.emit('UNPAIR', [], [lo, hi], [reg(add(reg(b.pure('PAIR', [], [RZ, imm(1)], RegFile.RD)), true))]);
  const left = reg(b.pure('LOP3', [], [reg(hi), imm(0x7fffffff), RZ, imm(0xc0)]));
  const last = reg(b.test('ISETP', ['EQ', 'U32'], [left, imm(0x7fffffff), PT]));
  const again = reg(b.pure('IADD3', [], [reg(lo), imm(0x40000000), RZ]));
  const more = reg(b.pure('SEL', [], [again, RZ, last]));
  add(reg(b.pure('PAIR', [], [RZ, more], RegFile.RD)), false);
  b.give('d', reg(lo), reg(hi));
};

/** Tests whether the phase with the parity in the highest bit of b has completed. */
const phaseIsOver: Meaning = (b) => {
  const parity = reg(b.pure('SHR', ['U32'], [b.plain('b'), imm(31)]));
  const mods = [b.has('TRYWAIT') ? 'TRY' : 'TEST', 'PARITY'];
  const d = b.to('p');
  b.write(
    'MBAR_WAIT',
    mods,
    [d === NO_REG ? b.temporary(RegFile.P) : d],
    [operandOf(b, 'ad', 32), parity, RZ],
  );
};

const endBarrier: Meaning = (b) => {
  if (b.mod('op') !== 'IV') b.fail(`.${b.mod('op')} is not supported yet`);
  b.write('MBAR_INVAL', [], [], [operandOf(b, 'ad', 32)]);
};

const nothing: Meaning = () => {};

/** DEPBAR: waits for groups of copies; other waits concern scoreboards and have no meaning in Ori. */
const wait: Meaning = (b) => {
  if (b.raw(b.slot('b').atom!) !== 0 || !b.banks.copies) return;
  b.write('DEPBAR', [], [], [imm(b.raw(b.slot('n').atom!))]);
};

/** Translators by row of the form. */
export const MEMORY: Readonly<Record<string, Meaning>> = {
  LDG: load('LDG'),
  'LDG.r': load('LDG'),
  STG: store('STG'),
  'STG.r': store('STG'),
  LD: load('LD'),
  'LD.r': load('LD'),
  ST: store('ST'),
  'ST.r': store('ST'),
  LDL: load('LDL'),
  STL: store('STL'),
  'STL.u': store('STL'),
  LDS: load('LDS'),
  'LDS.r': load('LDS'),
  STS: store('STS'),
  'STS.u': store('STS'),
  LDC: constant,
  ULDC: constant,
  'ULDC.r': constant,
  LDCU: constant,
  LDGSTS: copy,
  LDGDEPBAR: (b) => b.write('LDGDEPBAR', [], [], []),
  DEPBAR: wait,
  ATOMG: atomic('ATOMG', 64),
  'ATOMG.r': atomic('ATOMG', 64),
  'ATOMG.CAS': atomic('ATOMG', 64),
  ATOM: atomic('ATOM', 64),
  'ATOM.r': atomic('ATOM', 64),
  'ATOM.CAS': atomic('ATOM', 64),
  'ATOM.float': atomic('ATOM', 64),
  'ATOMG.float': atomic('ATOMG', 64),
  RED: atomic('ATOMG', 64),
  'RED.r': atomic('ATOMG', 64),
  'REDG.float': atomic('ATOMG', 64),
  ATOMS: atomic('ATOMS', 32),
  'ATOMS.u': atomic('ATOMS', 32),
  'ATOMS.CAS': atomic('ATOMS', 32),
  'ATOMS.CAST': atomic('ATOMS', 32),
  'ATOMS.POPC': count,
  'ATOMS.ARRIVE': arriveInMemory,
  QSPC: query,
  'QSPC.u': query,
  'SYNCS.EXCH': beginBarrier,
  'SYNCS.ARRIVE': arrive,
  'SYNCS.PHASECHK': phaseIsOver,
  'SYNCS.CCTL': endBarrier,
  CCTL: nothing,
  MEMBAR: fence,
  ERRBAR: nothing,
  CGAERRBAR: nothing,
  FENCE: nothing,
};
