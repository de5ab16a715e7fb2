import {
  type PlanChoice,
  planFor,
  planText,
  type ReadModule,
  readModule,
  simulated,
  written,
} from './oracle.ts';
import { type Kernel, textOf } from './ptx-text/generate/kernel.ts';
import { launchOf } from './ptx-text/generate/launch.ts';
import { shrink } from './ptx-text/generate/shrink.ts';
import { type Launch, run } from './ptx-text/run/run.ts';
import {
  BUDGET,
  buffersOf,
  differs,
  failed,
  MORE_SEEDS,
  SEEDS,
  type Specified,
  specified,
} from './ptx-text/specified.ts';

/* Compares the interpreter of PTX text with Orrery on a kernel. */

export interface Disagreement {
  /** `interpreter`, `simulator`, `reader`, or a plan. */
  readonly who: string;
  readonly what: string;
  /** Orrery's output, if that is wrong. */
  readonly output: string | null;
}

/**
 * The first disagreement of Orrery's reader, simulator or writer with what is specified, for a text and some plans; null if there is none.
 */
export function disagreement(
  text: string,
  launch: Launch,
  sm: string,
  choices: readonly PlanChoice[],
): Disagreement | null {
  const right = specified(text, launch);
  if (typeof right === 'string') return { who: 'interpreter', what: right, output: null };
  const plain = planFor(sm, { level: 0, order: 'binary' });
  let read: ReadModule;
  try {
    read = readModule(text, sm, plain);
  } catch (e) {
    return { who: 'reader', what: (e as Error).message, output: null };
  }
  const first =
    fromSimulator(read, sm, launch, right) ??
    choices.map((c) => fromWritten(read, sm, c, launch, right)).find((d) => d !== null) ??
    null;
  if (first === null || first.who === 'interpreter') return first;
  // What two runs agree in may still be unspecified.
  const surer = specified(text, launch, [...SEEDS, ...MORE_SEEDS]);
  if (typeof surer === 'string') return { who: 'interpreter', what: surer, output: null };
  if (first.who === 'simulator') return fromSimulator(read, sm, launch, surer);
  const choice = choices.find((c) => planText(c) === first.who)!;
  return fromWritten(read, sm, choice, launch, surer);
}

function fromSimulator(read: ReadModule, sm: string, launch: Launch, right: Specified): Disagreement | null {
  const who = 'simulator';
  if (read.program.skipped.length > 0) return null;
  const r = simulated(read, planFor(sm, { level: 0, order: 'binary' }), launch, BUDGET);
  // The simulator does not run instructions that Orrery only carries.
  if (r.why?.includes('the simulator cannot run')) return null;
  const what = r.why ?? differs(right, r.buffers);
  return what === null ? null : { who, what, output: null };
}

function fromWritten(
  read: ReadModule,
  sm: string,
  choice: PlanChoice,
  launch: Launch,
  right: Specified,
): Disagreement | null {
  const who = planText(choice);
  let output: string;
  try {
    output = written(read, planFor(sm, choice));
  } catch (e) {
    return { who, what: `threw: ${(e as Error).message}`, output: null };
  }
  const r = run(output, launch, { seed: 1, budget: BUDGET });
  const what = failed(r) ?? differs(right, buffersOf(r));
  return what === null ? null : { who, what, output };
}

/** Kind of a disagreement, without positions and numbers. */
export const kindOf = (d: Disagreement): string =>
  `${d.who}: ${d.what.startsWith('argument') ? 'differs' : d.what.replace(/\d+/g, '#').slice(0, 80)}`;

/** The disagreement over a generated kernel; null if there is none. */
export const kernelDisagreement = (k: Kernel, choices: readonly PlanChoice[]): Disagreement | null =>
  disagreement(textOf(k), launchOf(k), `sm_${k.sm}`, choices);

/** Shrinks a kernel with a disagreement to a small one with the same kind of disagreement. */
export function shrunk(k: Kernel, choices: readonly PlanChoice[], found: Disagreement): Kernel {
  const own = choices.filter((c) => planText(c) === found.who);
  const kind = kindOf(found);
  return shrink(k, (small) => {
    const d = kernelDisagreement(small, own);
    return d !== null && kindOf(d) === kind;
  });
}

/** A report on a disagreement with everything needed to reproduce it. */
export function report(seed: number, k: Kernel, choices: readonly PlanChoice[], found: Disagreement): string {
  const small = shrunk(k, choices, found);
  const d =
    kernelDisagreement(
      small,
      choices.filter((c) => planText(c) === found.who),
    ) ?? found;
  return [
    `kernel ${seed}: ${d.who}: ${d.what}`,
    textOf(small),
    ...(d.output === null ? [] : ['written:', d.output]),
  ].join('\n');
}
