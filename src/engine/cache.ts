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
 * Results of phases, found in two steps. The first key is what is known before a phase runs: the program's contents,
 * the bound code, the functions that it runs over. It leads to lists of what earlier runs of the phase have read. The
 * current values of such a list make the second key, which leads to the result. A pass is a function of the program
 * and of what it reads, so a result whose reads all have their current values is the current result.
 */

/** What runs of a phase over a program read; several lists if a value that was read decided what else was read. */
export interface ReadLists {
  readonly kind: 'reads';
  readonly lists: readonly (readonly Read[])[];
}

/** What the verifier checked of a snapshot: nothing ('no'), or the IR's rules and these properties, joined by '+'. */
export type Verified = string;

/** The result of a phase. */
export interface CachedPhase {
  readonly kind: 'result';
  /** null: nothing changed. */
  readonly program: Program | null;
  /** Key of that program, whichever phases made it; '' if nothing changed. */
  readonly programKey: string;
  readonly reads: readonly Read[];
  /** Units that it took from budgets. */
  readonly taken: readonly Taken[];
  readonly remarks: readonly Remark[];
  readonly reports: readonly Report[];
  readonly functionsChanged: number;
  readonly blocksChanged: number;
  readonly verified: Verified;
}

export type CacheEntry = ReadLists | CachedPhase;

/** Storage for results. Any map will do. */
export interface PrefixCache {
  get(key: string): CacheEntry | undefined;
  set(key: string, value: CacheEntry): unknown;
}

/** Key of an input program. Messages, which are part of results, contain its name. */
export const inputKeyOf = (key: string, input: Program, plan: Plan): string =>
  keyedHash(JSON.stringify([key, input.name, plan.isa.hash]));

/** Key of a program by its contents: later phases have the same results, however it came about. */
export const programKey = (program: Program, plan: Plan): string =>
  keyedHash(`${contentHash(program)} ${plan.isa.hash}`);

/** Passes by name, with the versions that their results depend on. */
interface Versions {
  get(pass: string): { readonly version: number } | undefined;
}

/** Hash of the code bound to a phase, and its inputs: plans that share their phases share the hash. */
const bound = new WeakMap<PlanPhase, { rules: Plan['rules']; passes: Versions; hash: string }>();

function boundHash(phase: PlanPhase, { rules }: Plan, passes: Versions): string {
  const known = bound.get(phase);
  if (known?.rules === rules && known.passes === passes) return known.hash;
  const said = (s: Step): unknown =>
    s.kind === 'repeat'
      ? [s.rounds, s.leastCost, s.weights, s.steps.map(said)]
      : s.kind === 'pass'
        ? [s.pass, passes.get(s.pass)?.version, s.params]
        : s.groups.map((g) => `${g}@${rules.get(g)?.hash ?? '?'}`);
  const hash = keyedHash(JSON.stringify([phase.id, phase.steps.map(said), phase.ruleBudget]));
  bound.set(phase, { rules, passes, hash });
  return hash;
}

/** The first key of a phase over a group of functions: everything that can decide its result before it reads anything. */
export function phaseKey(
  before: string,
  groups: readonly PlanGroup[],
  gate: GateResult,
  passes: Versions,
): string {
  const without = gate.shutFor.map((x) => x.fn);
  const bound = groups.map(({ plan, phase, functions }) => {
    const hash = boundHash(phase, plan, passes);
    return functions === null || groups.length === 1 ? hash : [hash, [...functions]];
  });
  return keyedHash(JSON.stringify([before, ...bound, without]));
}

const resultKey = (first: string, reads: readonly Read[], scene: Scene): string =>
  keyedHash(JSON.stringify([first, ...reads.map((r) => [r, seenValue(r, scene)])]));

/** The cached result of a phase whose reads have their current values, if there is one, and its key. */
export function findResult(
  cache: PrefixCache,
  first: string,
  phases: readonly PlanPhase[],
  scene: Scene,
): { readonly key: string; readonly result: CachedPhase } | null {
  const known = cache.get(first);
  if (known?.kind !== 'reads') return null;
  for (const list of known.lists) {
    // A read that this phase may not make is a fault, which a run reports.
    if (!list.every((r) => phases.some((p) => mayRead(p, r)))) continue;
    const key = resultKey(first, list, scene);
    const result = cache.get(key);
    if (result?.kind === 'result') return { key, result };
  }
  return null;
}

/** Stores a result and returns its key. `scene` is that of the start of the phase. */
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
