import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProgram } from '../../src/ir/text.ts';
import { programOf } from '../../src/judge/features.ts';
import { Races } from '../../src/judge/races.ts';
import type { Barrier, Warp } from '../../src/sim/state.ts';
import { testIsa } from '../support/isa.ts';
import { often, runs } from '../support/size.ts';

/* Compares the judge's race detection with sets of preceding accesses, without clocks and without forgetting anything. */

type Act =
  | { readonly k: 'access'; readonly lane: number; readonly word: number; readonly write: boolean }
  | { readonly k: 'release' | 'acquire'; readonly lanes: number; readonly place: number }
  | { readonly k: 'meet'; readonly lanes: number }
  /** A barrier opens at which all threads have arrived; the lanes of the warp wait at it, and with `all` those of the other one too. */
  | { readonly k: 'open'; readonly all: boolean };

const WARPS = 2;
const LANES = 3;
const acts = fc.array(
  fc.tuple(
    fc.nat(WARPS - 1),
    fc.oneof(
      fc.record({
        k: fc.constant('access' as const),
        lane: fc.nat(LANES - 1),
        word: fc.nat(2),
        write: fc.boolean(),
      }),
      fc.record({
        k: fc.constantFrom('release' as const, 'acquire' as const),
        lanes: fc.integer({ min: 1, max: 2 ** LANES - 1 }),
        place: fc.nat(2),
      }),
      fc.record({ k: fc.constant('meet' as const), lanes: fc.integer({ min: 1, max: 2 ** LANES - 1 }) }),
      fc.record({ k: fc.constant('open' as const), all: fc.boolean() }),
    ),
  ),
  { maxLength: 60 },
);

/** Words that two threads access, one of them writing, where neither access comes before the other. */
function racing(list: readonly (readonly [number, Act])[]): number[] {
  const before = Array.from({ length: WARPS * LANES }, () => new Set<number>());
  const told = new Map<number, Set<number>>();
  const done: { thread: number; word: number; write: boolean }[] = [];
  const words = new Set<number>();
  const threads = (warp: number, lanes: number): number[] =>
    Array.from({ length: LANES }, (_, l) => l)
      .filter((l) => (lanes & (1 << l)) !== 0)
      .map((l) => warp * LANES + l);
  const add = (to: Set<number>, from: Iterable<number>): void => {
    for (const x of from) to.add(x);
  };
  for (const [warp, act] of list) {
    if (act.k === 'access') {
      const thread = warp * LANES + act.lane;
      for (const [n, x] of done.entries())
        if (x.word === act.word && x.thread !== thread && (x.write || act.write) && !before[thread].has(n))
          words.add(act.word);
      before[thread].add(done.length);
      done.push({ thread, word: act.word, write: act.write });
      continue;
    }
    if (act.k === 'open') {
      const all = new Set(before.flatMap((b) => [...b]));
      for (const [t, b] of before.entries()) if (act.all || Math.floor(t / LANES) === warp) add(b, all);
      continue;
    }
    const place = act.k === 'meet' ? new Set<number>() : (told.get(act.place) ?? new Set<number>());
    if (act.k !== 'meet') told.set(act.place, place);
    if (act.k !== 'acquire') for (const t of threads(warp, act.lanes)) add(place, before[t]);
    if (act.k !== 'release') for (const t of threads(warp, act.lanes)) add(before[t], place);
  }
  return [...words].sort();
}

/** What the judge finds. */
function found(list: readonly (readonly [number, Act])[]): Races {
  const races = new Races(1, 32 * WARPS);
  const warps = Array.from(
    { length: WARPS },
    (_, index) => ({ index, block: { index: 0 }, exited: 0 }) as Warp,
  );
  for (const [w, act] of list) {
    if (act.k === 'access') races.access(warps[w], act.lane, act.word, act.word, act.write);
    else if (act.k === 'meet') races.meet(warps[w], act.lanes);
    else if (act.k === 'open') {
      const mask = 2 ** LANES - 1;
      const waiting = warps.filter((_, k) => act.all || k === w).map((warp) => ({ warp, path: { mask } }));
      const bar = { waiting } as unknown as Barrier;
      for (const warp of warps) races.arrive(warp, mask, bar);
      races.open(bar);
    } else races[act.k](warps[w], act.lanes, act.place);
  }
  return races;
}

describe('races', () => {
  it('are found in just the words that have one', () => {
    let some = 0;
    fc.assert(
      fc.property(acts, (list) => {
        const races = found(list);
        const expected = racing(list);
        some += expected.length > 0 ? 1 : 0;
        expect([...races.words.keys()].sort()).toEqual(expected);
      }),
      { numRuns: runs(2000), seed: 20261129 },
    );
    expect(some).toBeGreaterThan(often(100));
  });

  it('are not between a thread that tells and one that hears, which knew the same', () => {
    const list: (readonly [number, Act])[] = [
      [0, { k: 'open', all: true }],
      [0, { k: 'access', lane: 0, word: 0, write: true }],
      [0, { k: 'release', lanes: 1, place: 0 }],
      [1, { k: 'acquire', lanes: 1, place: 0 }],
      [1, { k: 'access', lane: 0, word: 0, write: false }],
    ];
    expect([...found(list).words.keys()]).toEqual([]);
    expect([...found(list.filter(([, { k }]) => k !== 'acquire')).words.keys()]).toEqual([0]);
  });
});

describe('the program that a kernel is run in', () => {
  const program = (more: string) => {
    const { program: p, diagnostics } = parseProgram(
      `.program "t" version 8.0 target sm_80 address 64
.func alone { BB0: RET }
.func called { BB0: RET }
.entry other { BB0: EXIT }
.entry k
{
BB0:
  ${more}
  EXIT
}
`
        .replaceAll('{ BB0: RET }', '\n{\nBB0:\n  RET\n}')
        .replaceAll('{ BB0: EXIT }', '\n{\nBB0:\n  EXIT\n}'),
      testIsa(),
    );
    expect(diagnostics).toEqual([]);
    return p;
  };
  const names = (more: string) => programOf(program(more), 'k').functions.map((f) => f.name);

  it('has the functions that it may call, and all where an address of one is known', () => {
    expect(names('')).toEqual(['k']);
    expect(names('CALL {}, &called, &, {}')).toEqual(['called', 'k']);
    expect(names('MOV.64 RD8, &called')).toEqual(['alone', 'called', 'other', 'k']);
    expect(names('CALL {}, RD8, &, {}')).toEqual(['alone', 'called', 'other', 'k']);
  });
});
