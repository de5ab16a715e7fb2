import { type } from '../values/types.ts';
import { type Context, guard, type Maker } from './context.ts';
import { lines, type Part } from './part.ts';
import { edgeLiteral } from './random.ts';
import { COUNTS, type Kind, register, wideRegister } from './registers.ts';

/*
 * Loads, stores and atomics. Every lane owns 16 bytes in each space: %x is an address of local memory and %y one of shared memory. The two
 * are the same number if local memory begins at 0 (as in Ori; on a GPU it begins elsewhere).
 */

/** Bytes that each lane owns, per space. */
export const LANE_BYTES = 16;

/** The places of a lane's bytes: the space in the opcode, and the register that holds the address. */
const PLACES: readonly { readonly space: string; readonly base: string; readonly writes: boolean }[] = [
  { space: '.local', base: '%x', writes: true },
  { space: '.shared', base: '%y', writes: true },
  { space: '.shared', base: '%sh', writes: true },
  { space: '', base: '%gs', writes: true },
  { space: '', base: '%gl', writes: true },
  { space: '.global', base: '%scratch', writes: true },
  { space: '', base: '%scratch', writes: true },
  { space: '.const', base: '%gc', writes: false },
];

const WIDTHS = [8, 16, 32, 32, 64];

function typeWord(c: Context, width: number): string {
  const kinds = width === 32 || width === 64 ? ['b', 's', 'u', 'f'] : ['b', 's', 'u'];
  return `${c.random.pick(kinds)}${width}`;
}

/** A register for a value that is loaded or stored, perhaps wider than the value. */
function data(c: Context, word: string, wide = true): string {
  const t = type(word);
  return t.kind === 'float' || !wide || c.random.chance(0.6) ? narrowest(c, word) : wideRegister(c.random, t);
}

function narrowest(c: Context, word: string): string {
  const t = type(word);
  return t.width === 8 ? wideRegister(c.random, t) : register(c.random, t);
}

/** `n` distinct registers that fit a type. */
function several(c: Context, word: string, n: number): string[] {
  const width = Math.max(16, type(word).width);
  const kind: Kind =
    width === 16 ? 'h' : width === 32 ? (word[0] === 'f' ? 'f' : 'r') : word[0] === 'f' ? 'g' : 'd';
  const all = Array.from({ length: COUNTS[kind] }, (_, k) => `%${kind}${k}`);
  return Array.from({ length: n }, () => all.splice(c.random.below(all.length), 1)[0]);
}

interface Access {
  readonly space: string;
  readonly base: string;
  readonly writes: boolean;
  readonly word: string;
  readonly count: number;
  readonly offset: number;
}

/** A random access to a lane's own bytes. */
function access(c: Context): Access {
  const place = c.random.pick(PLACES);
  const width = c.random.pick(WIDTHS);
  const count = c.random.chance(0.3) ? c.random.pick([2, 4].filter((n) => n * width <= 8 * LANE_BYTES)) : 1;
  const size = (count * width) / 8;
  const offset = size * c.random.below(LANE_BYTES / size);
  return { ...place, word: typeWord(c, width), count, offset };
}

const address = (a: Access): string => `[${a.base}${a.offset === 0 ? '' : `+${a.offset}`}]`;

/** The modifiers between the opcode and the space. */
function manner(c: Context, a: Access, store: boolean): string {
  if (a.space === '.const' || a.space === '.local' || !c.random.chance(0.15)) return '';
  const ordered = a.base !== '%gl';
  if (ordered && c.random.chance(0.5))
    return store ? '.relaxed.gpu' : c.random.pick(['.relaxed.gpu', '.acquire.cta']);
  return '.volatile';
}

function load(c: Context, a: Access): string {
  const vector = a.count > 1 ? `.v${a.count}` : '';
  const to = a.count > 1 ? `{${several(c, a.word, a.count).join(', ')}}` : data(c, a.word);
  return `${guard(c)}ld${manner(c, a, false)}${a.space}${vector}.${a.word} ${to}, ${address(a)};`;
}

function store(c: Context, a: Access): string {
  const vector = a.count > 1 ? `.v${a.count}` : '';
  const number = a.count === 1 && c.random.chance(0.2) ? edgeLiteral(c.random, type(a.word)) : null;
  const from = a.count > 1 ? `{${several(c, a.word, a.count).join(', ')}}` : (number ?? data(c, a.word));
  return `${guard(c)}st${manner(c, a, true)}${a.space}${vector}.${a.word} ${address(a)}, ${from};`;
}

const one: Maker = {
  weight: 6,
  make: (c) => {
    const a = access(c);
    return lines(a.writes && c.random.chance(0.55) ? store(c, a) : load(c, a));
  },
};

/** Stores to the same numeric address in several spaces, then loads. */
const crossing: Maker = {
  weight: 2,
  make: (c) => {
    const some = PLACES.filter((p) => p.writes && p.base !== '%sh' && p.base !== '%scratch');
    const a: Access = { ...access(c), ...c.random.pick(some) };
    const b: Access = { ...a, ...c.random.pick(some) };
    return {
      ...lines(),
      inner: [lines(store(c, a)), lines(store(c, b)), lines(load(c, a)), lines(load(c, b))],
    };
  },
};

/** Loads from the constant table and from parameters, at a data-dependent index. */
const indexed: Maker = {
  weight: 1,
  make: (c) => {
    const r = c.random.register(COUNTS.r);
    const word = typeWord(c, c.random.pick([8, 16, 32]));
    const to = data(c, word);
    const [base, space] = c.random.pick([
      ['table', '.const'],
      ['blob', '.param'],
    ]);
    return lines(
      `and.b32 %t0, %r${r}, 28;`,
      'cvt.u64.u32 %u0, %t0;',
      `mov.u64 %u1, ${base};`,
      'add.u64 %u1, %u1, %u0;',
      `${guard(c)}ld${space}.${word} ${to}, [%u1];`,
    );
  },
};

/** A lane reads or writes its local bytes at a data-dependent index. */
const dynamic: Maker = {
  weight: 1,
  make: (c) => {
    const r = c.random.register(COUNTS.r);
    const width = c.random.pick([8, 16, 32]);
    const word = typeWord(c, width);
    const [space, base] = c.random.pick([
      ['.local', '%x'],
      ['.shared', '%y'],
    ]);
    const first = [`and.b32 %t0, %r${r}, ${LANE_BYTES - width / 8};`, `add.u32 %t0, %t0, ${base};`];
    const last = c.random.chance(0.5)
      ? `${guard(c)}ld${space}.${word} ${data(c, word)}, [%t0];`
      : `${guard(c)}st${space}.${word} [%t0], ${data(c, word)};`;
    return lines(...first, last);
  },
};

const OWN = [
  'and.b32',
  'or.b32',
  'xor.b32',
  'exch.b32',
  'add.u32',
  'add.s32',
  'min.s32',
  'min.u32',
  'max.s32',
  'max.u32',
  'inc.u32',
  'dec.u32',
];
const OWN_WIDE = [
  'and.b64',
  'or.b64',
  'xor.b64',
  'exch.b64',
  'add.u64',
  'min.s64',
  'min.u64',
  'max.s64',
  'max.u64',
];

/** An atomic operation on a lane's own bytes; its result is the old value. */
const ownAtomic: Maker = {
  weight: 2,
  make: (c) => {
    const [space, base] = c.random.pick([
      ['.global', '%scratch'],
      ['', '%scratch'],
      ['.shared', '%y'],
      ['', '%gs'],
    ]);
    const cas = c.random.chance(0.2);
    const wide = c.random.chance(0.3);
    const size = wide ? 8 : 4;
    const kind: Kind = wide ? 'd' : 'r';
    const at = size * c.random.below(LANE_BYTES / size);
    const reg = (): string => `%${kind}${c.random.register(COUNTS[kind])}`;
    const op = cas ? `cas.b${8 * size}` : c.random.pick(wide ? OWN_WIDE : OWN);
    const place = `[${base}+${at}]`;
    const values = cas ? `${reg()}, ${reg()}` : reg();
    if (!cas && !op.startsWith('exch') && c.random.chance(0.3))
      return lines(`${guard(c)}red${space}.${op} ${place}, ${values};`);
    return lines(`${guard(c)}atom${space}.${op} ${reg()}, ${place}, ${values};`);
  },
};

const FLOAT_ADDS: readonly (readonly [string, Kind, number])[] = [
  ['add.f32', 'f', 75],
  ['add.f64', 'g', 75],
  ['add.noftz.f16x2', 'r', 75],
  ['add.noftz.f16', 'h', 75],
  ['add.noftz.bf16x2', 'r', 90],
];

/** An atomic floating-point sum. */
const floatAtomic: Maker = {
  weight: 1,
  make: (c) => {
    const [op, kind] = c.random.pick(FLOAT_ADDS.filter(([, , sm]) => sm <= c.sm));
    const [space, base] = c.random.pick([
      ['.global', '%scratch'],
      ['.shared', '%y'],
    ]);
    const reg = (): string => `%${kind}${c.random.register(COUNTS[kind])}`;
    return lines(`${guard(c)}atom${space}.${op} ${reg()}, [${base}], ${reg()};`);
  },
};

/** Commutative operations that all lanes may apply to one location in any order; each operation has its own location. */
export const COMMON = [
  'add.u32',
  'and.b32',
  'or.b32',
  'xor.b32',
  'min.s32',
  'max.s32',
  'min.u32',
  'max.u32',
  'add.u64',
] as const;

const commonAtomic: Maker = {
  weight: 1,
  make: (c) => {
    const k = c.random.below(COMMON.length);
    const kind = COMMON[k].endsWith('64') ? 'd' : 'r';
    const value = `%${kind}${c.random.register(COUNTS[kind])}`;
    const place = `[%common+${8 * k}]`;
    return lines(
      c.random.chance(0.5)
        ? `${guard(c)}red.global.${COMMON[k]} ${place}, ${value};`
        : `${guard(c)}atom.global.${COMMON[k]} _, ${place}, ${value};`,
    );
  },
};

/** An asynchronous copy to shared memory, and the wait for it. */
const asyncCopy: Maker = {
  weight: 0.7,
  make: (c): Part | null => {
    if (c.sm < 80) return null;
    const size = c.random.pick([4, 8, 16]);
    const extra = c.random.chance(0.3) ? `, ${c.random.below(size + 1)}` : '';
    const level = size === 16 && c.random.chance(0.5) ? 'cg' : 'ca';
    return lines(
      `cp.async.${level}.shared.global [%y], [%scratch], ${size}${extra};`,
      'cp.async.commit_group;',
      'cp.async.wait_group 0;',
      `ld.shared.b32 %r${c.random.register(COUNTS.r)}, [%y];`,
    );
  },
};

export const MEMORY: readonly Maker[] = [
  one,
  crossing,
  indexed,
  dynamic,
  ownAtomic,
  floatAtomic,
  commonAtomic,
  asyncCopy,
];
