import { type Context, guard, type Maker } from './context.ts';
import { lines, type Part } from './part.ts';
import { COUNTS } from './registers.ts';

/*
 * Instructions across lanes. The lanes of a mask all execute them, so that their results are defined.
 */

const reg = (c: Context, kind: 'r' | 'd' | 'p'): string => `%${kind}${c.random.register(COUNTS[kind])}`;
const predicate = (c: Context): string => (c.random.chance(0.3) ? '!' : '') + reg(c, 'p');

/** A shuffle whose source lane is always in the mask: if the mask is not full, each lane reads itself. */
function shuffle(c: Context, mask: string, whole: boolean): string {
  const both = c.random.chance(0.5) ? `%r${c.random.register(COUNTS.r)}|${reg(c, 'p')}` : reg(c, 'r');
  const [mode, amount, clamp] = whole
    ? [
        c.random.pick(['up', 'down', 'bfly', 'idx']),
        c.random.chance(0.5) ? String(c.random.below(32)) : reg(c, 'r'),
        c.random.chance(0.6) ? c.random.pick(['0', '31', '0x1c1f', '0x181f', '0x1003']) : reg(c, 'r'),
      ]
    : ['bfly', '0', '31'];
  return `shfl.sync.${mode}.b32 ${both}, ${reg(c, 'r')}, ${amount}, ${clamp}, ${mask};`;
}

function crossing(c: Context, mask: string, whole: boolean): string {
  switch (c.random.below(c.sm >= 80 ? 7 : 6)) {
    case 0:
      return shuffle(c, mask, whole);
    case 1:
      return `vote.sync.ballot.b32 ${reg(c, 'r')}, ${predicate(c)}, ${mask};`;
    case 2:
      return `vote.sync.${c.random.pick(['all', 'any', 'uni'])}.pred ${reg(c, 'p')}, ${predicate(c)}, ${mask};`;
    case 3:
      return `match.any.sync.b32 ${reg(c, 'r')}, ${reg(c, 'r')}, ${mask};`;
    case 4:
      return `match.all.sync.b64 ${reg(c, 'r')}|${reg(c, 'p')}, ${reg(c, 'd')}, ${mask};`;
    case 5:
      return `bar.warp.sync ${mask};`;
    default: {
      const op = c.random.pick([
        'add.s32',
        'add.u32',
        'min.s32',
        'min.u32',
        'max.s32',
        'max.u32',
        'and.b32',
        'or.b32',
        'xor.b32',
      ]);
      return `redux.sync.${op} ${reg(c, 'r')}, ${reg(c, 'r')}, ${mask};`;
    }
  }
}

/** An instruction across all active lanes. */
const here: Maker = {
  weight: 3,
  make: (c) => (c.mask === null ? null : lines(crossing(c, c.mask, c.mask === '-1'))),
};

/** An instruction across the lanes whose predicate holds, with that predicate as its guard. */
const guarded: Maker = {
  weight: 1,
  make: (c) => {
    if (c.mask === null || c.names.mask >= 12) return null;
    const m = `%m${c.names.mask++}`;
    const p = reg(c, 'p');
    // The guard is kept, since the instruction may write the predicate.
    return lines(`vote.sync.ballot.b32 ${m}, ${p}, ${c.mask};`, `@${p} ${crossing(c, m, false)}`);
  },
};

/** Lanes exchange words through shared memory, between two barriers. */
const exchange: Maker = {
  weight: 1,
  make: (c): Part | null => {
    if (!c.together && (c.mask === null || c.mask !== '-1')) return null;
    const barrier = c.together
      ? c.random.pick(['bar.sync 0;', 'barrier.sync 1;', 'bar.warp.sync -1;'])
      : 'bar.warp.sync -1;';
    const space = c.random.chance(0.7) ? '.shared' : '.volatile.shared';
    const to = c.random.pick([1, 2, 4, 8, 16]);
    return lines(
      `st${space}.b32 [%y], ${reg(c, 'r')};`,
      barrier,
      `xor.b32 %t0, %lane, ${to};`,
      'sub.u32 %t0, %t0, %lane;',
      'mad.lo.u32 %t0, %t0, 16, %y;',
      `${guard(c)}ld${space}.b32 ${reg(c, 'r')}, [%t0];`,
      barrier,
    );
  },
};

/** A block barrier with a reduction of predicates. */
const blockReduction: Maker = {
  weight: 0.6,
  make: (c) => {
    if (!c.together) return null;
    return c.random.chance(0.5)
      ? lines(`bar.red.popc.u32 ${reg(c, 'r')}, 2, ${predicate(c)};`)
      : lines(`bar.red.${c.random.pick(['and', 'or'])}.pred ${reg(c, 'p')}, 2, ${predicate(c)};`);
  },
};

export const LANES: readonly Maker[] = [here, guarded, exchange, blockReduction];
