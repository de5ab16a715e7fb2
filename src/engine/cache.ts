import { keyedHash } from '../ir/keyed-hash.ts';
import type { Program } from '../ir/program.ts';
import type { Remark } from '../passes/pass.ts';
import type { Plan, PlanPhase, Step } from '../spec/plan.ts';
import { contentHash } from './content.ts';
import type { Taken } from './context.ts';
import type { PlanGroup } from './function-plans.ts';
import type { GateResult } from './gate.ts';
import type { Report } from './journal.ts';
import { mayRead, type Read, type Scene, seenValue } from './reads.ts';

/*
 * Cached results of phases are found in two steps. The first key covers what is known before a phase runs: the contents of the program, the
 * code bound to the phase, and the functions that it runs over. Under it are lists of what earlier runs of the phase read. The second key
 * consists of the first and the current values of one such list, and the result is stored under it. A pass is a function of the program and
 * of what it reads, so a result for equal values of all its reads is the current result.
 */

/** What runs of a phase over a program read. There are several lists if one value that was read determined what else was read. */
export interface ReadLists {
  readonly kind: 'reads';
  readonly lists: readonly (readonly Read[])[];
}

/** What the verifier checked of a snapshot: 'no' for nothing, or the IR's rules and some properties ('rules+control-last,+ssa'). */
export type Verified = string;

/** The result of a phase. */
export interface CachedPhase {
  readonly kind: 'result';
  /** Null: nothing changed. */
  readonly program: Program | null;
  /** Key of that program by contents (`programKey`); '' if nothing changed. */
  readonly programKey: string;
  readonly reads: readonly Read[];
  /** Units that the phase took from budgets. */
  readonly taken: readonly Taken[];
  readonly remarks: readonly Remark[];
  readonly reports: readonly Report[];
  readonly functionsChanged: number;
  readonly blocksChanged: number;
  readonly verified: Verified;
}

export type CacheEntry = ReadLists | CachedPhase;

/** Storage for results; a `Map` is one. */
export interface PrefixCache {
  get(key: string): CacheEntry | undefined;
  set(key: string, value: CacheEntry): unknown;
}

/** Key of an input program. It includes the program's name because messages, which are part of results, contain the name. */
export const inputKeyOf = (key: string, input: Program, plan: Plan): string =>
  keyedHash(JSON.stringify([key, input.name, plan.isa.hash]));

/** Key of a program by its contents: later phases give the same results, whichever phases produced it. */
export const programKey = (program: Program, plan: Plan): string =>
  keyedHash(`${contentHash(program)} ${plan.isa.hash}`);

/** Hash of the code bound to a phase, and its inputs: plans that share their phases share the hash. */
const bound = new WeakMap<PlanPhase, { rules: Plan['rules']; hash: string }>();

function boundHash(phase: PlanPhase, { rules }: Plan): string {
  const known = bound.get(phase);
  if (known?.rules === rules) return known.hash;
  const said = (s: Step): unknown =>
    s.kind === 'repeat'
      ? [s.rounds, s.roundsBy, s.leastCost, s.weights, s.steps.map(said)]
      : s.kind === 'pass'
        ? [s.pass, s.params]
        : s.groups.map((g) => `${g}@${rules.get(g)?.hash ?? '?'}`);
  const hash = keyedHash(JSON.stringify([phase.id, phase.steps.map(said), phase.ruleBudget]));
  bound.set(phase, { rules, hash });
  return hash;
}

/**
 * The first key of a phase: everything known before it runs that can affect its result.
 * @param before key of the program before the phase
 */
export function phaseKey(before: string, groups: readonly PlanGroup[], gate: GateResult): string {
  const without = gate.shutFor.map((x) => x.fn);
  const bound = groups.map(({ plan, phase, functions }) => {
    const hash = boundHash(phase, plan);
    return functions === null || groups.length === 1 ? hash : [hash, [...functions]];
  });
  return keyedHash(JSON.stringify([before, ...bound, without]));
}

const resultKey = (first: string, reads: readonly Read[], scene: Scene): string =>
  keyedHash(JSON.stringify([first, ...reads.map((r) => [r, seenValue(r, scene)])]));

/** A result in the cache, with its key. */
export interface CacheHit {
  readonly key: string;
  readonly result: CachedPhase;
}

/** The cached result of a phase whose reads have the values that they have now, with its key; null if there is none. */
export function findResult(
  cache: PrefixCache,
  first: string,
  phases: readonly PlanPhase[],
  scene: Scene,
): CacheHit | null {
  const known = cache.get(first);
  if (known?.kind !== 'reads') return null;
  for (const list of known.lists) {
    // If a phase does not declare one of these reads, running it must report that fault.
    if (!list.every((r) => phases.some((p) => mayRead(p, r)))) continue;
    const key = resultKey(first, list, scene);
    const result = cache.get(key);
    if (result?.kind === 'result') return { key, result };
  }
  return null;
}

/** Stores a result and returns its key. `scene` must be that of the start of the phase. */
export function keepResult(cache: PrefixCache, first: string, scene: Scene, result: CachedPhase): string {
  const known = cache.get(first);
  const lists = known?.kind === 'reads' ? known.lists : [];
  const same = lists.some(
    (l) => l.length === result.reads.length && l.every((r, i) => r === result.reads[i]),
  );
  if (!same) cache.set(first, { kind: 'reads', lists: [...lists, result.reads] });
  const key = resultKey(first, result.reads, scene);
  cache.set(key, result);
  return key;
}
