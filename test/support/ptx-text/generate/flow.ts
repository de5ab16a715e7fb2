import { type Context, computation, guard, label, type Maker } from './context.ts';
import { lines, type Part } from './part.ts';
import { COUNTS } from './registers.ts';

/*
 * Branches, loops, jump tables, calls and carry chains.
 */

const MOST_DEPTH = 3;
const predicate = (c: Context): string => `%p${c.random.register(COUNTS.p)}`;

/** A divergent branch. If the active mask is known, the masks of both sides may be computed before it. */
const divergent: Maker = {
  weight: 2,
  make: (c, body) => {
    if (c.depth >= MOST_DEPTH) return null;
    const p = predicate(c);
    const q = `%q${c.names.label % 12}`;
    const [otherwise, end] = [label(c), label(c)];
    const asks = c.mask !== null && c.names.mask < 10 && c.random.chance(0.5);
    const [yes, no] = asks ? [`%m${c.names.mask++}`, `%m${c.names.mask++}`] : [null, null];
    const before = [`mov.pred ${q}, ${p};`];
    if (asks)
      before.push(
        `vote.sync.ballot.b32 ${yes}, ${q}, ${c.mask};`,
        `vote.sync.ballot.b32 ${no}, !${q}, ${c.mask};`,
      );
    const inside = { ...c, depth: c.depth + 1, together: false };
    const both = c.random.chance(0.6);
    return {
      before: [...before, `@!${q} bra ${otherwise};`],
      inner: body({ ...inside, mask: yes }, 4),
      between: both ? [`bra ${end};`, `${otherwise}:`] : [`${otherwise}:`],
      other: both ? body({ ...inside, mask: no }, 4) : [],
      after: both ? [`${end}:`] : [],
    };
  },
};

/** A loop with the same trip count for every lane of the block. */
const counted: Maker = {
  weight: 1,
  make: (c, body) => {
    if (c.depth >= MOST_DEPTH || c.names.counter >= 6) return null;
    const i = `%i${c.names.counter++}`;
    const [top, n] = [label(c), 1 + c.random.below(4)];
    const p = `%c${c.names.counter - 1}`;
    const up = c.random.chance(0.7);
    return {
      before: [`mov.u32 ${i}, ${up ? 0 : n};`, `${top}:`],
      inner: body({ ...c, depth: c.depth + 1 }, 4),
      between: [],
      other: [],
      after: [
        up ? `add.u32 ${i}, ${i}, 1;` : `sub.u32 ${i}, ${i}, 1;`,
        up ? `setp.lt.u32 ${p}, ${i}, ${n};` : `setp.ne.u32 ${p}, ${i}, 0;`,
        `@${p} bra ${top};`,
      ],
    };
  },
};

/** A loop whose trip count depends on each lane's data. */
const uneven: Maker = {
  weight: 1,
  make: (c, body) => {
    if (c.depth >= MOST_DEPTH || c.names.counter >= 6) return null;
    const k = c.names.counter++;
    const [i, n, p] = [`%i${k}`, `%n${k}`, `%c${k}`];
    const [top, end] = [label(c), label(c)];
    const asks = c.mask !== null && c.names.mask < 11 && c.random.chance(0.5);
    const m = asks ? `%m${c.names.mask++}` : null;
    return {
      before: [
        `and.b32 ${n}, %r${c.random.register(COUNTS.r)}, 3;`,
        `mov.u32 ${i}, 0;`,
        ...(asks ? [`mov.b32 ${m}, ${c.mask};`] : []),
        `${top}:`,
        `setp.lt.u32 ${p}, ${i}, ${n};`,
        ...(asks ? [`vote.sync.ballot.b32 ${m}, ${p}, ${m};`] : []),
        `@!${p} bra ${end};`,
      ],
      inner: body({ ...c, depth: c.depth + 1, together: false, mask: m }, 4),
      between: [],
      other: [],
      after: [`add.u32 ${i}, ${i}, 1;`, `bra ${top};`, `${end}:`],
    };
  },
};

/** A jump table. */
const table: Maker = {
  weight: 0.7,
  make: (c, body) => {
    if (c.depth >= MOST_DEPTH) return null;
    const cases = [label(c), label(c), label(c), label(c)];
    const [end, list] = [label(c), label(c)];
    const inside: Context = { ...c, depth: MOST_DEPTH, together: false, mask: null };
    return {
      before: [
        `and.b32 %t0, %r${c.random.register(COUNTS.r)}, 3;`,
        `${list}: .branchtargets ${cases.join(', ')};`,
        `brx.idx %t0, ${list};`,
      ],
      inner: cases.map((l) => ({ ...lines(`${l}:`), inner: body(inside, 2), after: [`bra ${end};`] })),
      between: [`${end}:`],
      other: [],
      after: [],
    };
  },
};

/** Multi-word sums or differences; each word adds the carry of the one before. */
const carries: Maker = {
  weight: 1,
  make: (c) => {
    const wide = c.random.chance(0.3);
    const kind = wide ? 'd' : 'r';
    const t = `${c.random.pick(['u', 's'])}${wide ? 64 : 32}`;
    const reg = (): string => `%${kind}${c.random.register(COUNTS[kind])}`;
    const n = 1 + c.random.below(3);
    const word = c.random.pick(['add', 'sub', 'mad']);
    const part = word === 'mad' ? `.${c.random.pick(['lo', 'hi'])}` : '';
    const operands = (): string => Array.from({ length: word === 'mad' ? 4 : 3 }, reg).join(', ');
    const first = `${word}${part}.cc.${t} ${operands()};`;
    const rest = Array.from({ length: n }, (_, k) => {
      const kind = word === 'mad' ? c.random.pick(['madc.lo', 'madc.hi', 'addc']) : `${word}c`;
      const args = kind.startsWith('madc') ? [reg(), reg(), reg(), reg()] : [reg(), reg(), reg()];
      const middle = k < n - 1 ? (c.random.chance(0.2) ? computation(c) : '') : '';
      return [`${guard(c)}${kind}${k < n - 1 ? '.cc' : ''}.${t} ${args.join(', ')};`, middle];
    }).flat();
    return lines(first, ...rest.filter((l) => l !== ''));
  },
};

/** A call of a device function that is generated for it. */
const call: Maker = {
  weight: 0.7,
  make: (c): Part | null => {
    if (c.functions.length >= 3) return null;
    const name = `f${c.functions.length}`;
    const [a, b] = [c.random.register(COUNTS.r), c.random.register(COUNTS.d)];
    c.functions.push(deviceFunction(c, name));
    const at = guard(c);
    const end = label(c);
    const skip =
      at === '' ? [] : [`${at.startsWith('@!') ? at.replace('@!', '@') : at.replace('@', '@!')}bra ${end};`];
    return lines(
      ...skip,
      '{',
      '.param .b32 a0; .param .align 8 .b8 a1[16]; .param .b32 v;',
      `st.param.b32 [a0], %r${a};`,
      `st.param.b64 [a1], %d${b};`,
      `st.param.b32 [a1+8], %r${c.random.register(COUNTS.r)};`,
      `call (v), ${name}, (a0, a1);`,
      `ld.param.b32 %r${c.random.register(COUNTS.r)}, [v];`,
      '}',
      ...(at === '' ? [] : [`${end}:`]),
    );
  },
};

/** A call of a function whose parameters are registers. */
const callByRegister: Maker = {
  weight: 0.4,
  make: (c) => {
    const [a, b, d] = [c.random.register(COUNTS.r), c.random.register(COUNTS.d), c.random.register(COUNTS.r)];
    return lines(`call (%r${d}), byregister, (%r${a}, %d${b}, ${c.random.below(1000) - 500});`);
  },
};

/** The function that `callByRegister` calls. */
export const BY_REGISTER = `.func (.reg .b32 v) byregister(.reg .b32 x, .reg .b64 y, .reg .b32 z) {
.reg .b32 low, high; mov.b64 {low, high}, y; mad.lo.s32 v, x, z, high; xor.b32 v, v, low; ret; }`;

/** A device function that takes a word and a structure, and may be inlined or not. */
function deviceFunction(c: Context, name: string): string {
  const compute = (): string => {
    // Only registers of the function's own.
    for (;;) {
      const text = computation(c);
      if (!/%[gf]\d|\bmov\.b64 \{|\bmov\.b32 \{/.test(text)) return text;
    }
  };
  return [
    `.func (.param .b32 v) ${name}(.param .b32 a0, .param .align 8 .b8 a1[16]) {`,
    '.local .align 8 .b8 mine[16];',
    `.reg .b32 %r<${COUNTS.r}>; .reg .b64 %d<${COUNTS.d}>; .reg .b16 %h<${COUNTS.h}>; .reg .pred %p<${COUNTS.p}>;`,
    'ld.param.b32 %r0, [a0]; ld.param.b64 %d0, [a1]; ld.param.b32 %r1, [a1+8];',
    ...Array.from({ length: COUNTS.r - 2 }, (_, k) => `add.u32 %r${k + 2}, %r${k}, ${k * 77};`),
    ...Array.from({ length: COUNTS.d - 1 }, (_, k) => `xor.b64 %d${k + 1}, %d${k}, ${k * 99991};`),
    ...Array.from({ length: COUNTS.h }, (_, k) => `cvt.u16.u32 %h${k}, %r${k};`),
    ...Array.from({ length: COUNTS.p }, (_, k) => `setp.lt.s32 %p${k}, %r${k}, %r${k + 1};`),
    'st.local.b64 [mine], %d0; st.local.b32 [mine+8], %r1;',
    compute(),
    compute(),
    compute(),
    'ld.local.b32 %r9, [mine+4];',
    'xor.b32 %r0, %r0, %r9;',
    'xor.b32 %r0, %r0, %r3;',
    'st.param.b32 [v], %r0;',
    'ret; }',
  ].join('\n');
}

export const FLOW: readonly Maker[] = [divergent, counted, uneven, table, carries, call, callByRegister];
