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

/** A failure that a smaller program must show too, and how to judge it. */
export interface Failing {
  readonly judge: Judge;
  readonly failure: Verdict;
  /** Called before each candidate is tried. */
  readonly before?: () => Promise<void>;
}

/**
 * True if a verdict is the failure in question. The same failure without dependence on the order of threads (`RACED`) also counts, because
 * it is clearer.
 */
export const isSame = (v: Verdict, failure: Verdict): boolean =>
  v.state === 'bad' && (v.kind === failure.kind || failure.kind === `${v.kind}${RACED}`);

/** True if the failure is a run that threw or a result that the verifier rejected; the judge finds all other failures. */
export const isFault = (failure: Verdict): boolean =>
  /^(internal fault|invalid program|error): /.test(failure.kind);

/**
 * True if a subject still fails in the given way. To keep a reduction from drifting to another failure, the failure must be of the same
 * kind, and the program must be good before any phase: good by the judge, and without additional registers that may be used uninitialized,
 * because phases may change the values of those arbitrarily.
 *
 * @param undefinedBefore the uninitialized registers of the original program (`undefinedIn`)
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
    // If the judge itself fails, it has not shown a failure of the program.
    return false;
  }
}

/** For each function name, the number of registers that may be used before they are defined (live into the entry block). */
export type Undefined = ReadonlyMap<string, number>;

const undefinedReads = (fn: Fn): number => (fn.blocks.length === 0 ? 0 : liveInOf(livenessOf(fn), 0).length);

/** Counts the registers that may be used before they are defined, for each function of a program. */
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
 * Makes a program smaller as long as it fails in the same way, by removing or simplifying functions, instructions, guards, values,
 * operands, constants and parameters. The result is in the language of the input, PTX or Ori; comments are lost.
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
  /** Whether a text fails, by its hash, so that none is tried twice. */
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

/** Number of Ori instructions of a program before any phase. */
export const sizeOf = ({ program }: Subject): number =>
  program.functions.reduce((n, f) => f.blocks.reduce((k, b) => k + b.ins.length, n), 0);

/** Reads a program; null if the text is invalid, or if more than `skipped` of its functions have no Ori form. */
export function read(text: string, plan: Plan, ptx: boolean, skipped = 0): Subject | null {
  try {
    const { program, module } = ptx ? readPtx(text, plan, 'reduced.ptx') : readOri(text, plan, 'reduced.ori');
    return program.skipped.length > skipped ? null : { program, module, plan };
  } catch {
    // Even an internal error of the reader is not the failure in question.
    return null;
  }
}
