/** Rare constants: for each arm of the expressions that a rule computes from its constants, constants that take it. See `arms.ts`. */
import { evalGraph } from '../../isa/lang/evaluate.ts';
import type { Instance, Rule } from '../rule.ts';
import { type Sample, sample } from '../sample.ts';
import { constantsFor } from '../witness.ts';
import { type Arms, armsOf } from './arms.ts';
import { Draw } from './draw.ts';
import { type Goal, goalOf, prune } from './goal.ts';
import { inverted } from './invert.ts';
import { possible, type Question } from './question.ts';
import type { Answer } from './solver.ts';
import { specialsByVariable } from './specials.ts';

/** Constants of a pattern, by variable. */
export type Choice = ReadonlyMap<number, bigint>;

/** Makes one query to a solver, with a limit in steps. */
export type LimitedAsk = (q: Question, limit: number) => Promise<Answer>;

/** Constants for the arms of one instance. */
export interface Rare {
  readonly choices: readonly Choice[];
  /** Number of sides of conditions for which no constants were found although there may be some. */
  readonly open: number;
}

/** Attempts to find constants for one arm without a solver. */
const ATTEMPTS = 6;
/** Maximum number of choices; those for sides of conditions come first. */
const MOST_CHOICES = 160;
/** Solver steps for one arm, and for all arms of one instance. */
const ARM_LIMIT = 2_000_000;
const ARMS_LIMIT = 10_000_000;
/** Maximum number of pairs of sides that are queried. */
const MOST_PAIRS = 64;

/** Number of known solutions of the condition from which the search starts. */
const BASES = 4;

class Search {
  private readonly arms: Arms;
  private readonly draw: Draw;
  private readonly bases: readonly (readonly bigint[])[];
  /** The choices found, as values of the inputs. */
  readonly found: bigint[][] = [];
  private readonly triedChoices = new Set<string>();
  /** For each choice found, whether it takes each arm. */
  private readonly taken: boolean[][] = [];

  constructor(arms: Arms, rule: Rule, instance: Instance) {
    this.arms = arms;
    this.draw = new Draw(`${rule.id} arms`);
    const bases: bigint[][] = [];
    for (let k = 0; k < BASES; k++) {
      const values = constantsFor(rule, instance, k);
      if (values === null) break;
      bases.push(arms.inputs.map((x) => values[x.v]));
    }
    this.bases = bases;
  }

  private base(k: number): readonly bigint[] {
    return k < this.bases.length
      ? this.bases[k]
      : this.arms.inputs.map((x) => this.draw.value(x.width, true));
  }

  add(values: bigint[]): void {
    const key = values.join();
    if (this.triedChoices.has(key)) return;
    this.triedChoices.add(key);
    const { nodes, arms } = this.arms;
    this.found.push(values);
    this.taken.push(
      evalGraph({ nodes, dsts: arms.map((a) => a.node), srcWidths: [] }, values).map((x) => x === 1n),
    );
  }

  /** Whether some choice takes all of these arms. */
  covers(...which: readonly number[]): boolean {
    return this.taken.some((t) => which.every((i) => t[i]));
  }

  /** Finds constants by inversion: for each arm that no choice takes yet, and up to two for each side of a condition. */
  invert(sidesOnly: boolean): void {
    for (const [i, arm] of this.arms.arms.entries()) {
      if (this.found.length >= MOST_CHOICES || (sidesOnly && !arm.side)) return;
      if (!arm.side && this.covers(i)) continue;
      for (let k = 0, got = 0; k < ATTEMPTS && got < (arm.side ? 2 : 1); k++) {
        const values = inverted(this.arms, arm.node, this.base(k), this.draw);
        if (values === null) continue;
        got++;
        this.add(values);
      }
    }
  }

  /** Finds constants with the solver: for the remaining arms, then for pairs of sides. @returns the number of open sides */
  async solve(ask: LimitedAsk): Promise<number> {
    const { nodes, inputs, given, arms } = this.arms;
    let left = ARMS_LIMIT;
    const asked = async (limit: number, ...which: readonly number[]): Promise<'found' | 'none' | 'open'> => {
      if (left <= 0) return 'open';
      const part = prune(nodes, inputs, [...given, ...which.map((i) => arms[i].node)], []);
      const a = await ask(possible(part, null), Math.min(limit, left));
      left -= Math.max(a.spent, 1);
      if (a.k !== 'sat') return a.k === 'unsat' ? 'none' : 'open';
      const base = this.base(0);
      this.add(
        inputs.map((x, i) => {
          const at = part.inputs.findIndex((y) => y.v === x.v);
          return at < 0 ? base[i] : (a.model.get(`v${at}`) ?? 0n);
        }),
      );
      return 'found';
    };
    const never = new Set<number>();
    // Hard arms are retried with the full limit after all others.
    let open: number[] = arms.map((_, i) => i);
    for (const limit of [ARM_LIMIT / 10, ARM_LIMIT]) {
      const next: number[] = [];
      for (const i of open) {
        if (this.found.length >= MOST_CHOICES || this.covers(i)) continue;
        const answer = await asked(limit, i);
        if (answer === 'none') never.add(i);
        else if (answer === 'open') next.push(i);
      }
      open = next;
    }
    const unmet = arms.filter((arm, i) => arm.side && !never.has(i) && !this.covers(i)).length;
    const sides = arms.flatMap((a, i) => (a.side && !never.has(i) ? [i] : []));
    let pairs = 0;
    for (const [k, i] of sides.entries())
      for (const j of sides.slice(k + 1)) {
        if (pairs >= MOST_PAIRS || this.found.length >= MOST_CHOICES) return unmet;
        if (this.covers(i, j)) continue;
        pairs++;
        await asked(ARM_LIMIT / 10, i, j);
      }
    return unmet;
  }

  choices(): Choice[] {
    return this.found.map((values) => new Map(this.arms.inputs.map((x, i) => [x.v, values[i]])));
  }
}

/** Constants for the arms of a goal, by inversion and then by the solver, within the bounds above. */
export async function rareConstants(
  goal: Goal,
  rule: Rule,
  instance: Instance,
  ask: LimitedAsk,
): Promise<Rare> {
  const arms = armsOf(goal);
  if (arms === null) return { choices: [], open: 0 };
  const search = new Search(arms, rule, instance);
  search.invert(false);
  const open = arms.cut + (await search.solve(ask));
  return { choices: search.choices(), open };
}

/** Number of choices of operands for which the constants stay symbolic. */
const OPERAND_CHOICES = 8;
/** Number of leading special values from which operands are chosen. */
const LEADING = 10;

/** Some choices of a goal's operands among special values, by variable; none if the goal reads only constants or none. */
export function operandChoices(goal: Goal, rule: Rule, instance: Instance): readonly Choice[] {
  const operands = goal.inputs.filter((x) => !x.constant && x.v >= 0);
  if (operands.length === 0 || operands.length === goal.inputs.length) return [];
  const draw = new Draw(`${rule.id} operands`);
  const specials = specialsByVariable(rule, instance);
  return Array.from(
    { length: OPERAND_CHOICES },
    () => new Map(operands.map((x) => [x.v, specials[x.v][draw.next() % LEADING]])),
  );
}

/** Samples of operands for each choice of constants. */
const TRIED = 96;
/** The same when a rule is loaded. */
const TRIED_AT_LOAD = 16;

/** Evaluates both sides exactly at given constants, with special and random operands; the first sample that differs, or null. */
export function differsAt(
  rule: Rule,
  instance: Instance,
  choices: readonly Choice[],
  tries: number = TRIED,
): Sample | null {
  const draw = new Draw(`${rule.id} at`);
  const specials = specialsByVariable(rule, instance);
  for (const choice of choices) {
    // A quotient by a constant changes at its multiples, a comparison with it at its neighbours.
    const near = [...choice.values()].flatMap((c) => [c, c - 1n, c + 1n, 2n * c, -c, ~c]);
    for (let n = 0; n < tries; n++) {
      const values = rule.vars.map((v, i) => {
        const fixed = choice.get(i);
        if (fixed !== undefined) return fixed;
        const list = n % 3 === 0 && near.length > 0 ? near : specials[i];
        // The minimum of two draws favours the front of the list, where the values are that reveal most.
        return v.kind === 'const' || draw.next() % 4 === 0
          ? draw.value(instance.widths[i] || 32, v.kind === 'const')
          : list[Math.min(draw.next() % list.length, draw.next() % list.length)];
      });
      const s = sample(rule, instance, values);
      if (s.applies && s.results.some((r) => r.left !== r.right)) return s;
    }
  }
  return null;
}

/** A sample on a side of a condition whose results differ, found without a solver; null if none is found. */
export function differsAtArms(rule: Rule, instance: Instance): Sample | null {
  if (!rule.vars.some((v) => v.kind === 'const')) return null;
  const arms = armsOf(goalOf(rule, instance));
  if (arms === null || !arms.arms.some((a) => a.side)) return null;
  const search = new Search(arms, rule, instance);
  search.invert(true);
  return differsAt(rule, instance, search.choices(), TRIED_AT_LOAD);
}
