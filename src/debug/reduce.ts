import { liveInOf, livenessOf } from '../analysis/registers/liveness.ts';
import { hashText } from '../ir/hash.ts';
import type { Fn, Program } from '../ir/program.ts';
import { printProgram } from '../ir/text.ts';
import type { PtxModule } from '../ptx/ast.ts';
import { printPtxModule } from '../ptx/print.ts';
import { readOri, readPtx } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import { outcome } from './attempt.ts';
import { type Judge, RACED, type Subject, type Verdict } from './judge.ts';
import { type Limits, reduceBy } from './parts.ts';
import { oriReductions } from './reduce-ori.ts';
import { PTX_REDUCTIONS } from './reduce-ptx.ts';

/** A program and its failure, which a smaller program must show too. */
export interface Failing {
  readonly judge: Judge;
  readonly failure: Verdict;
  /** Called before each program is tried. */
  readonly before?: () => Promise<void>;
}

/**
 * Is it the failure in question? One that does not depend on the order of threads is as good as one that does, and
 * clearer.
 */
export const isSame = (v: Verdict, failure: Verdict): boolean =>
  v.state === 'bad' && (v.kind === failure.kind || failure.kind === `${v.kind}${RACED}`);

/** Did the run throw, or did the verifier reject its result? Other failures are found by the judge. */
export const isFault = (failure: Verdict): boolean =>
  /^(internal fault|invalid program|error): /.test(failure.kind);

/**
 * Does a subject still fail in the given way, credibly? So that a reduction does not switch to a different failure,
 * the failure must be of the same kind. The program must also be good before any phase: good by the judge, and
 * without registers that are read before they are written, because a phase may change the values of those
 * arbitrarily.
 */
export async function stillFails(
  s: Subject,
  { judge, failure, before }: Failing,
  undefinedBefore: Undefined,
): Promise<boolean> {
  await before?.();
  for (const fn of s.program.functions)
    if (undefinedReads(fn) > (undefinedBefore.get(fn.name) ?? 0)) return false;
  try {
    if (
      !isFault(failure) &&
      judge.comparesInput !== true &&
      (await judge.judge(s, s.program)).state !== 'good'
    )
      return false;
    return isSame(await outcome(s, judge, isFault(failure)), failure);
  } catch {
    // A judge that fails has not shown a failure.
    return false;
  }
}

/** By function name: how many registers it may read before writing them. */
export type Undefined = ReadonlyMap<string, number>;

const undefinedReads = (fn: Fn): number => (fn.blocks.length === 0 ? 0 : liveInOf(livenessOf(fn), 0).length);

export const undefinedIn = (p: Program): Undefined =>
  new Map(p.functions.map((f) => [f.name, undefinedReads(f)]));

/** The result of reducing a program. */
export interface Reduced {
  readonly text: string;
  readonly subject: Subject;
  /** Number of instructions in the text. */
  readonly size: number;
  /** Number of candidates tried. */
  readonly tests: number;
}

/**
 * Makes a program smaller as long as it fails in the same way: functions, instructions, guards, values, operands,
 * constants, parameters. PTX stays PTX, Ori stays Ori; comments are lost.
 *
 * @param best called with every smaller failing program and its text
 */
export async function reduceProgram(
  subject: Subject,
  failing: Failing,
  limits: Limits,
  best: (what: string, r: Reduced) => void = () => {},
): Promise<Reduced> {
  const undef = undefinedIn(subject.program);
  const { plan, module } = subject;
  let tests = 0;
  /** Whether a text fails, by its hash: none is tried twice. */
  const tried = new Map<string, boolean>();
  const test = async (text: string): Promise<Subject | null> => {
    const key = hashText(text);
    if (tried.get(key) === false) return null;
    const s = read(text, plan, module !== null, subject.program.skipped.length);
    if (s === null || tried.get(key) === true) return s;
    tests++;
    const fails = await stillFails(s, failing, undef);
    tried.set(key, fails);
    return fails ? s : null;
  };
  const run = async <S>(start: S, text: (s: S) => string, reductions: Parameters<typeof reduceBy<S>>[1]) => {
    let last: Reduced = { text: text(start), subject, size: sizeOf(subject), tests };
    await reduceBy(
      start,
      reductions,
      async (candidate) => {
        const t = text(candidate);
        const s = await test(t);
        if (s === null) return false;
        last = { text: t, subject: s, size: sizeOf(s), tests };
        return true;
      },
      limits,
      (what) => best(what, last),
    );
    return { ...last, tests };
  };
  return module !== null
    ? run<PtxModule>(module, printPtxModule, PTX_REDUCTIONS)
    : run<Program>(subject.program, printProgram, oriReductions(plan.isa));
}

/** Number of instructions of a program as it was read. */
export const sizeOf = ({ program }: Subject): number =>
  program.functions.reduce((n, f) => f.blocks.reduce((k, b) => k + b.ins.length, n), 0);

/** A program from its text; null if it is not one, or more than `skipped` of its functions have no Ori form. */
export function read(text: string, plan: Plan, ptx: boolean, skipped = 0): Subject | null {
  try {
    const { program, module } = ptx ? readPtx(text, plan, 'reduced.ptx') : readOri(text, plan, 'reduced.ori');
    return program.skipped.length > skipped ? null : { program, module, plan };
  } catch {
    // An internal error on an invalid candidate is not the failure in question.
    return null;
  }
}
