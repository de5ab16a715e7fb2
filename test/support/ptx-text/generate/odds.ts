import { type Context, computation, guard, label, type Maker } from './context.ts';
import { lines, type Part } from './part.ts';
import { COUNTS } from './registers.ts';

/*
 * Self-contained pieces: nested scopes, address space queries, mbarriers, fences, an early exit.
 */

const reg = (c: Context, kind: 'r' | 'd' | 'p' | 'h'): string => `%${kind}${c.random.register(COUNTS[kind])}`;

/** A nested scope whose registers hide those outside. */
const scope: Maker = {
  weight: 1,
  make: (c) => {
    const [hidden, from, to] = [reg(c, 'r'), reg(c, 'r'), reg(c, 'r')];
    if (hidden === from || hidden === to) return null;
    return lines(
      '{',
      `.reg .b32 ${hidden}, y;`,
      `mov.b32 ${hidden}, ${from};`,
      `${guard(c)}xor.b32 ${hidden}, ${hidden}, ${c.random.below(2 ** 16)};`,
      `{ .reg .b32 y; mov.b32 y, 7; add.u32 ${hidden}, ${hidden}, y; }`,
      `mov.b32 y, ${hidden};`,
      `${guard(c)}mov.b32 ${to}, y;`,
      '}',
    );
  },
};

/** Queries of the space of a generic address, and its conversion back to an address of the space. */
const spaces: Maker = {
  weight: 0.7,
  make: (c) => {
    const [space, pointer, base] = c.random.pick([
      ['shared', '%gs', '%y'],
      ['local', '%gl', '%x'],
    ]);
    if (c.random.chance(0.4))
      return lines(
        `${guard(c)}isspacep.${c.random.pick(['shared', 'local', 'global', 'const'])} ${reg(c, 'p')}, ${pointer};`,
      );
    return lines(
      `add.u64 %u2, ${pointer}, 4;`,
      `cvta.to.${space}.u64 %u2, %u2;`,
      'cvt.u32.u64 %t1, %u2;',
      `sub.u32 %t1, %t1, ${base};`,
      `${guard(c)}xor.b32 ${reg(c, 'r')}, ${reg(c, 'r')}, %t1;`,
      `${guard(c)}ld.${space}.b32 ${reg(c, 'r')}, [%u2];`,
    );
  },
};

/** A select between pointers to two spaces. */
const eitherSpace: Maker = {
  weight: 1,
  make: (c) => {
    const p = reg(c, 'p');
    const [a, b] = c.random.pick([
      ['%gs', '%gl'],
      ['%gs', '%scratch'],
      ['%scratch', '%gl'],
    ]);
    const at = 4 * c.random.below(4);
    const read = c.random.chance(0.5) ? ['shared', '%y'] : ['local', '%x'];
    return lines(
      `selp.b64 %u3, ${a}, ${b}, ${p};`,
      c.random.chance(0.5)
        ? `${guard(c)}st.u32 [%u3+${at}], ${reg(c, 'r')};`
        : `${guard(c)}ld.u32 ${reg(c, 'r')}, [%u3+${at}];`,
      `ld.${read[0]}.b32 ${reg(c, 'r')}, [${read[1]}+${at}];`,
    );
  },
};

const fence: Maker = {
  weight: 0.4,
  make: (c) => lines(c.random.pick(['membar.cta;', 'membar.gl;', 'fence.sc.gpu;', 'fence.acq_rel.cta;'])),
};

/** An mbarrier in shared memory, at which every thread of the block arrives. */
const barrierInMemory: Maker = {
  weight: 0.4,
  make: (c): Part | null => {
    if (!c.together || c.sm < 80 || c.names.ended) return null;
    const [skip, wait] = [label(c), label(c)];
    return lines(
      '{ .reg .pred first, done; .reg .b64 state; .reg .b32 n;',
      'setp.ne.u32 first, %thread, 0;',
      'mov.u32 n, %ntid.x;',
      `@first bra ${skip};`,
      'mbarrier.init.shared.b64 [mb], n;',
      `${skip}: bar.sync 0;`,
      `st.shared.b32 [%y], ${reg(c, 'r')};`,
      'mbarrier.arrive.shared.b64 state, [mb];',
      `${wait}: mbarrier.test_wait.shared.b64 done, [mb], state;`,
      `@!done bra ${wait};`,
      'xor.b32 n, %lane, 1;',
      'sub.u32 n, n, %lane;',
      'mad.lo.u32 n, n, 16, %y;',
      `ld.shared.b32 ${reg(c, 'r')}, [n];`,
      'bar.sync 0;',
      '@!first mbarrier.inval.shared.b64 [mb];',
      'bar.sync 0; }',
    );
  },
};

/** elect.sync chooses exactly one lane; which one is not specified. */
const elected: Maker = {
  weight: 0.3,
  make: (c) => {
    if (c.sm < 90 || c.mask === null) return null;
    return lines(
      `{ .reg .pred e; .reg .b32 b; elect.sync _|e, ${c.mask};`,
      `vote.sync.ballot.b32 b, e, ${c.mask};`,
      `popc.b32 ${reg(c, 'r')}, b; }`,
    );
  },
};

/** Some threads exit early and store nothing. */
const end: Maker = {
  weight: 0.15,
  make: (c) => {
    if (c.depth > 0) return null;
    c.names.ended = true;
    return lines(`setp.eq.u32 %c5, %lane, ${c.random.below(32)};`, '@%c5 exit;');
  },
};

/** A chain of instructions that read and write the same few registers. */
const chain: Maker = {
  weight: 3,
  make: (c) => {
    const p = reg(c, 'p');
    const at = `@${c.random.chance(0.5) ? '!' : ''}${p} `;
    return {
      ...lines(),
      inner: Array.from({ length: 2 + c.random.below(3) }, () => {
        const text = computation(c);
        return lines(text.startsWith('@') ? text : at + text);
      }),
    };
  },
};

/** 128-bit values. */
const quad: Maker = {
  weight: 0.3,
  make: (c) =>
    lines(
      '{ .reg .b128 %w, %z;',
      `mov.b128 %w, {${reg(c, 'd')}, ${reg(c, 'd')}};`,
      `${guard(c)}mov.b128 %w, {${reg(c, 'd')}, ${reg(c, 'd')}};`,
      'mov.b128 %z, %w;',
      'mov.b128 {%d1, %d2}, %z; }',
    ),
};

export const ODDS: readonly Maker[] = [
  scope,
  spaces,
  eitherSpace,
  fence,
  barrierInMemory,
  elected,
  end,
  chain,
  quad,
];
