import { PREDICATE, U32 } from '../../values/types.ts';
import type { Effect, Effects } from '../effects.ts';
import type { Step } from '../lane.ts';
import type { Operands, Read, Write } from '../operands.ts';
import { warpBarrier } from './warp.ts';

/*
 * Barriers of blocks and clusters: PTX ISA, 9.7.13.1 and 9.7.13.3.
 */

const REDUCTIONS: Readonly<Record<string, (predicates: readonly bigint[]) => bigint>> = {
  popc: (p) => p.reduce((a, b) => a + b, 0n),
  and: (p) => (p.every((x) => x === 1n) ? 1n : 0n),
  or: (p) => (p.some((x) => x === 1n) ? 1n : 0n),
};

function barrierStep(
  id: Read,
  threads: Read | null,
  arrives: boolean,
  predicate: Read | null,
  write: { readonly to: Write; readonly of: (predicates: readonly bigint[]) => bigint } | null,
): Step {
  return (lane) => ({
    kind: 'barrier',
    id: Number(id(lane)),
    threads: threads === null ? null : Number(threads(lane)),
    arrives,
    predicate: predicate?.(lane) ?? 0n,
    resume: (predicates) => write?.to(lane, write.of(predicates)),
  });
}

function reduction(word: string, o: Operands): Step {
  const four = o.count === 4;
  const t = word === 'popc' ? U32 : PREDICATE;
  const write = { to: o.write(0, t), of: REDUCTIONS[word] };
  return barrierStep(
    o.read(1, U32),
    four ? o.read(2, U32) : null,
    false,
    o.read(four ? 3 : 2, PREDICATE),
    write,
  );
}

const cluster = (arrives: boolean): Step =>
  arrives
    ? (lane) => {
        lane.block.cluster.arrive(lane);
        return undefined;
      }
    : (lane) => ({ kind: 'until', holds: () => lane.block.cluster.phase > lane.arrivedPhase });

const bar: Effect = (m, o) => {
  m.flag('aligned');
  if (m.flag('warp')) return warpBarrier(m, o);
  if (m.flag('cluster')) {
    m.ignore(/^(acquire|release|relaxed)$/);
    return cluster(m.need(['arrive', 'wait']) === 'arrive');
  }
  m.flag('cta');
  const kind = m.need(['sync', 'arrive', 'red']);
  if (kind === 'red') {
    const word = m.need(Object.keys(REDUCTIONS));
    m.need(word === 'popc' ? ['u32'] : ['pred']);
    return reduction(word, o);
  }
  return barrierStep(o.read(0, U32), o.count > 1 ? o.read(1, U32) : null, kind === 'arrive', null, null);
};

export const barriers: Effects = { bar, barrier: bar };
