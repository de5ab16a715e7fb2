import type { Program } from '../../ir/program.ts';
import type { PtxasUse } from '../../lab/measure.ts';
import { targetOf } from '../../read.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import { planFor } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { failWith } from '../terminal/ui.ts';
import type { Assembled } from './ptxas-run.ts';

/** Recipes that are tried in order for kernels that lose, before their input is kept unchanged. */
export const FALLBACKS: readonly string[] = ['few-registers', 'quick-build'];

/** A kernel that loses too much with the plan, and its replacement. */
export interface Retreat {
  readonly fn: string;
  /** The recipe whose result is taken; null: the unchanged input. */
  readonly by: string | null;
  readonly before: PtxasUse;
  /** Resource use with the plan. */
  readonly lost: PtxasUse;
  /** Resource use of the replacement. */
  readonly now: PtxasUse;
}

/** A program in which no kernel loses too much. */
export interface Limited {
  /** The result of the plan, with replaced functions. */
  readonly program: Program;
  /** Functions whose text is kept unchanged. */
  readonly keep: ReadonlySet<string>;
  readonly retreats: readonly Retreat[];
}

export interface LossQuestion {
  /** The input: its text, as ptxas accepts it for the target, and the program that was lowered from it. */
  readonly text: string;
  readonly input: Program;
  /** The result of the plan. */
  readonly made: Program;
  /** Runs the plan together with a recipe. */
  readonly makeWith: (recipe: string) => Promise<Program>;
  readonly fallbacks: readonly string[];
  /** PTX of a program for ptxas only: nothing is reported. */
  readonly write: (program: Program, keep: ReadonlySet<string>) => Promise<string>;
  readonly assemble: (text: string) => Assembled;
  /** Percentage by which code and registers may grow. */
  readonly percent: number;
}

/** Parses the percentage of `--max-loss`. */
export function percentOf(text: string, option: string): number {
  const percent = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(percent <= 1000))
    failWith(
      `${option} ${text} is not a percentage`,
      'from 0 to 1000: 2 lets code and registers grow by 2 %',
    );
  return percent;
}

/**
 * The plan of some options together with one of the recipes. If the recipe names a lower level than was requested, the level of the recipe
 * applies: its purpose is to do less.
 *
 * @param text of the input
 */
export async function fallbackPlan(o: PlanOptions, recipe: string, text: string): Promise<Plan> {
  const least = (await loadShipped()).recipes.get(recipe)?.data.level;
  const level = typeof least === 'number' && Number(o.level ?? least) >= least ? undefined : o.level;
  return planFor({ ...o, level, recipe: [...(o.recipe ?? []), recipe] }, targetOf(text), undefined, true);
}

/** Whether a function exceeds the limit: registers or code beyond the percentage, or any additional spills. */
export const loses = (before: PtxasUse, now: PtxasUse, percent: number): boolean =>
  now.spillStores > before.spillStores ||
  now.spillLoads > before.spillLoads ||
  now.registers > before.registers * (1 + percent / 100) ||
  now.code > before.code * (1 + percent / 100);

/**
 * Replaces each kernel that loses too much by another result: that of the first recipe with which it does not, or the unchanged input.
 * Functions that refer to each other, directly or through tables of addresses, are replaced together: ptxas attributes inlined code to the
 * kernel, and a variable that a function declares must stay a single one.
 *
 * Ends the command if ptxas rejects the input or a result. Bound: in each round at least one group of functions moves to the next candidate
 * (plan, recipes, input); most modules need one round per candidate.
 */
export async function limitLoss(q: LossQuestion): Promise<Limited> {
  const uses = (r: Assembled, what: string): Map<string, PtxasUse> => {
    if (!r.ok) failWith(`--max-loss: ptxas refuses ${what}`, r.messages.trimEnd());
    return new Map(r.functions.map((f) => [f.name, f]));
  };
  const before = uses(q.assemble(q.text), 'the input');
  const steps: { readonly by: string | null; readonly program: Program }[] = [{ by: null, program: q.made }];
  const untried = [...q.fallbacks];
  /** Moves to the next candidate that fits the declarations around the functions; the input is the last. */
  const deepen = async (): Promise<void> => {
    const by = untried.shift() ?? null;
    const program = by === null ? q.input : await q.makeWith(by);
    if (by === null || declaresSame(program, q.made)) steps.push({ by, program });
    else await deepen();
  };
  const isInput = (depth: number): boolean => depth > 0 && steps[depth].by === null;
  const groups = groupsOf(q.input);
  /** Index of the current candidate, by group. */
  const depths = new Map<number, number>();
  const depthOf = (fn: string): number => depths.get(groups.get(fn)!) ?? 0;
  const program = (): Program => {
    const byName = steps.map((s) => new Map(s.program.functions.map((f) => [f.name, f])));
    // A function that a candidate has removed is absent.
    return {
      ...q.made,
      functions: q.input.functions.flatMap((f) => byName[depthOf(f.name)].get(f.name) ?? []),
    };
  };
  const keep = (): ReadonlySet<string> =>
    new Set(q.input.functions.flatMap((f) => (isInput(depthOf(f.name)) ? [f.name] : [])));
  const kernels = q.input.functions.filter((f) => f.kind === 'entry').map((f) => f.name);

  const byPlan = uses(q.assemble(await q.write(q.made, new Set())), 'the output');
  let now = byPlan;
  for (;;) {
    const losers = new Set<number>();
    for (const name of kernels) {
      const [was, is] = [before.get(name), now.get(name)];
      if (was !== undefined && is !== undefined && loses(was, is, q.percent) && !isInput(depthOf(name)))
        losers.add(groups.get(name)!);
    }
    if (losers.size === 0) break;
    for (const g of losers) {
      const to = (depths.get(g) ?? 0) + 1;
      if (to === steps.length) await deepen();
      depths.set(g, to);
    }
    now = uses(q.assemble(await q.write(program(), keep())), 'what is optimized less');
  }
  if (depths.size === 0) return { program: q.made, keep: new Set(), retreats: [] };
  const retreats = kernels.flatMap((fn): Retreat[] => {
    const [was, lost, is] = [before.get(fn), byPlan.get(fn), now.get(fn)];
    if (depthOf(fn) === 0 || was === undefined || lost === undefined || is === undefined) return [];
    return [{ fn, by: steps[depthOf(fn)].by, before: was, lost, now: is }];
  });
  return { program: program(), keep: keep(), retreats };
}

const declaresSame = (a: Program, b: Program): boolean =>
  JSON.stringify(a.locs) === JSON.stringify(b.locs) &&
  JSON.stringify(a.variables) === JSON.stringify(b.variables);

/** A group number per function, equal for functions of which one refers to the other: calls it, or holds its address. */
function groupsOf({ functions, variables, aliases }: Program): ReadonlyMap<string, number> {
  const number = new Map(functions.map((f, k) => [f.name, k]));
  /** Union-find: a function of the same group with a lower number, or the function itself for the representative. */
  const link = functions.map((_, k) => k);
  const find = (k: number): number => {
    let at = k;
    while (link[at] !== at) at = link[at] = link[link[at]];
    return at;
  };
  const join = (a: number, b: number): void => {
    const [x, y] = [find(a), find(b)];
    link[Math.max(x, y)] = Math.min(x, y);
  };
  const relocs = new Map(variables.map((v) => [v.name, v.relocs.map((r) => r.symbol)]));
  const aliasTarget = new Map(aliases.map((a) => [a.name, a.of]));
  for (const f of functions) {
    const named = new Set(f.blocks.flatMap((b) => b.ins.flatMap((x) => x.src.map((o) => o.sym))));
    for (const name of named) {
      const other = number.get(aliasTarget.get(name) ?? name);
      if (other !== undefined) join(number.get(f.name)!, other);
      // Functions and variables whose addresses a variable holds, transitively.
      for (const symbol of relocs.get(name) ?? []) named.add(symbol);
    }
  }
  return new Map([...number].map(([name, k]) => [name, find(k)]));
}

/** One line about a replaced kernel. */
export function retreatText({ fn, by, before, lost, now }: Retreat): string {
  const grown = (
    [
      ['registers', (u) => u.registers],
      ['bytes of code', (u) => u.code],
      ['bytes of spills stored', (u) => u.spillStores],
      ['bytes of spills loaded', (u) => u.spillLoads],
    ] as readonly (readonly [string, (u: PtxasUse) => number])[]
  )
    .filter(([, of]) => of(lost) > of(before))
    .map(
      ([what, of]) =>
        `${of(before)} -> ${of(lost)} ${what}${of(now) === of(before) ? '' : ` (now ${of(now)})`}`,
    );
  const plan = grown.length === 0 ? '' : `: by the plan, ${grown.join(', ')}`;
  return `'${fn}' ${by === null ? 'is kept unchanged' : `is optimized with recipe '${by}'`}${plan}`;
}
