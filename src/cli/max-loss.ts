import { runPipeline } from '../engine/pipeline.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { Plan } from '../spec/plan.ts';
import type { Assembled, FunctionUse } from './ptxas-run.ts';
import { failWith } from './ui.ts';

/** Recipes that are tried in turn for kernels that lose, before their input is taken as it came. */
export const FALLBACKS: readonly string[] = ['few-registers', 'quick-build'];

/** A kernel of which the plan makes too much, and what is taken for it. */
export interface Retreat {
  readonly fn: string;
  /** The recipe whose result is taken; null: the input, as it came. */
  readonly by: string | null;
  readonly before: FunctionUse;
  /** What ptxas made of it by the plan. */
  readonly lost: FunctionUse;
  /** What it makes of what is taken. */
  readonly now: FunctionUse;
}

/** A program in which no kernel loses too much. */
export interface Limited {
  /** What the plan made, with the functions that are taken from elsewhere. */
  readonly program: Program;
  /** Functions whose text is to be kept as it came. */
  readonly keep: ReadonlySet<string>;
  readonly retreats: readonly Retreat[];
}

export interface LossQuestion {
  /** The input: its text, and the program that was lowered from it. */
  readonly text: string;
  readonly input: Program;
  /** What the plan made of it. */
  readonly made: Program;
  /** Makes the plan with one of the recipes. */
  readonly fallback: (recipe: string) => Promise<Plan>;
  readonly fallbacks: readonly string[];
  readonly write: (program: Program, keep: ReadonlySet<string>) => Promise<string>;
  readonly assemble: (text: string) => Assembled;
  /** Percent by which code and registers may grow. */
  readonly percent: number;
}

/** The percentage of `--max-loss`. */
export function percentOf(text: string, option: string): number {
  const percent = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(percent <= 1000))
    failWith(`${option} ${text} is no percentage`, 'from 0 to 1000: 2 lets code and registers grow by 2 %');
  return percent;
}

/** Does a function need more than it may: registers or code beyond the percentage, or any more spills? */
export const loses = (before: FunctionUse, now: FunctionUse, percent: number): boolean =>
  now.spillStores > before.spillStores ||
  now.spillLoads > before.spillLoads ||
  now.registers > before.registers * (1 + percent / 100) ||
  now.code > before.code * (1 + percent / 100);

/**
 * Takes for each kernel of which ptxas makes too much another result: that of the first recipe with which it is not too much, or the
 * input as it came. What a kernel calls goes with it, because ptxas inlines and counts it there; other kernels that call the same are
 * judged again with what it then is.
 *
 * Ends the command where ptxas refuses the input or what is made of it. Bound: in each round at least one function goes down the ladder,
 * whose steps are the plan, the recipes and the input; most modules need a round for each step.
 */
export async function limitLoss(q: LossQuestion): Promise<Limited> {
  const uses = (r: Assembled, what: string): Map<string, FunctionUse> => {
    if (!r.ok) failWith(`ptxas refuses ${what}`, r.said.trimEnd());
    return new Map(r.functions.map((f) => [f.name, f]));
  };
  const before = uses(q.assemble(q.text), 'the input');
  const steps = [q.made];
  const names: (string | null)[] = [''];
  const step = async (k: number): Promise<Program> => {
    while (steps.length <= k && names.length <= q.fallbacks.length) {
      const by = q.fallbacks[names.length - 1];
      const { last } = runPipeline(q.input, await q.fallback(by), { snapshots: 'ends' });
      names.push(by);
      // What is declared around functions has to fit those of both.
      steps.push(declaresSame(last, q.made) ? last : q.made);
    }
    return steps[k] ?? q.input;
  };
  const bottom = q.fallbacks.length + 1;
  /** By function: how far down the ladder it is. */
  const depth = new Map(q.made.functions.map((f) => [f.name, 0]));
  const calls = calledBy(q.input);
  let program = q.made;
  let now = uses(q.assemble(await q.write(program, new Set())), 'the output');
  const byPlan = now;
  for (;;) {
    let moved = false;
    for (const { name, kind } of q.made.functions) {
      const [was, is] = [before.get(name), now.get(name)];
      if (kind !== 'entry' || was === undefined || is === undefined || !loses(was, is, q.percent)) continue;
      const to = Math.min(bottom, depth.get(name)! + 1);
      for (const fn of calls(name))
        if ((depth.get(fn) ?? to) < to) {
          depth.set(fn, to);
          moved = true;
        }
    }
    if (!moved) break;
    const functions: Fn[] = [];
    for (const f of q.made.functions) {
      const at = await step(depth.get(f.name)!);
      functions.push(at.functions.find((g) => g.name === f.name) ?? f);
    }
    program = { ...q.made, functions };
    now = uses(q.assemble(await q.write(program, kept(depth, bottom))), 'what is optimized less');
  }
  const retreats = q.made.functions.flatMap(({ name, kind }): Retreat[] => {
    const at = depth.get(name)!;
    if (kind !== 'entry' || at === 0) return [];
    const by = at === bottom ? null : names[at];
    return [{ fn: name, by, before: before.get(name)!, lost: byPlan.get(name)!, now: now.get(name)! }];
  });
  return { program, keep: kept(depth, bottom), retreats };
}

const kept = (depth: ReadonlyMap<string, number>, bottom: number): ReadonlySet<string> =>
  new Set([...depth].flatMap(([fn, at]) => (at === bottom ? [fn] : [])));

/** A function with all that it names, directly or not: what it calls, and what it takes the address of. */
function calledBy(program: Program): (name: string) => ReadonlySet<string> {
  const named = new Map(
    program.functions.map((f) => [
      f.name,
      new Set(
        f.blocks.flatMap((b) => b.ins.flatMap((x) => x.src.flatMap((o) => (o.sym === '' ? [] : o.sym)))),
      ),
    ]),
  );
  return (name) => {
    const found = new Set([name]);
    for (const fn of found) for (const other of named.get(fn) ?? []) if (named.has(other)) found.add(other);
    return found;
  };
}

const declaresSame = (a: Program, b: Program): boolean =>
  a.locs.length === b.locs.length && JSON.stringify(a.variables) === JSON.stringify(b.variables);

/** One line about a kernel that retreats. */
export function retreatText({ fn, by, before, lost, now }: Retreat): string {
  const grown = (
    [
      ['registers', (u) => u.registers],
      ['bytes of code', (u) => u.code],
      ['bytes of spills stored', (u) => u.spillStores],
      ['bytes of spills loaded', (u) => u.spillLoads],
    ] as readonly (readonly [string, (u: FunctionUse) => number])[]
  )
    .filter(([, of]) => of(lost) > of(before))
    .map(
      ([what, of]) =>
        `${of(before)} -> ${of(lost)} ${what}${of(now) === of(before) ? '' : ` (now ${of(now)})`}`,
    );
  const plan = grown.length === 0 ? '' : `: by the plan, ${grown.join(', ')}`;
  return `'${fn}' ${by === null ? 'stays as it came' : `is what recipe '${by}' makes of it`}${plan}`;
}
