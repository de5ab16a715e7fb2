import { liveInOf, livenessOf } from '../analysis/liveness.ts';
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

/** A program and what goes wrong with it, which a smaller one has to do as well. */
export interface Failing {
  readonly judge: Judge;
  readonly failure: Verdict;
  /** Called before each program is tried. */
  readonly before?: () => Promise<void>;
}

/** Is a failure the one that is looked for? One that does not hang on the order of threads is as good as one that does, and clearer. */
export const isSame = (v: Verdict, failure: Verdict): boolean =>
  v.state === 'bad' && (v.kind === failure.kind || failure.kind === `${v.kind}${RACED}`);

/** A run that throws or is refused by the verifier; others are found by the judge. */
export const isFault = (failure: Verdict): boolean =>
  /^(internal fault|invalid program|error): /.test(failure.kind);

/**
 * Whether a subject fails in the way that is looked for, and may be believed. So that a reduction does not slip to another failure, it
 * has to be of the same kind, and the program has to be a good one as long as no phase has run: good by the judge, and without
 * registers that are read before anything writes them, since of those a phase may make what it likes.
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
    // Who cannot judge it does not say that it fails.
    return false;
  }
}

/** By name of a function: how many registers it may read before it writes them. */
export type Undefined = ReadonlyMap<string, number>;

const undefinedReads = (fn: Fn): number => (fn.blocks.length === 0 ? 0 : liveInOf(livenessOf(fn), 0).length);

export const undefinedIn = (p: Program): Undefined =>
  new Map(p.functions.map((f) => [f.name, undefinedReads(f)]));

/** A program as far as it was reduced. */
export interface Reduced {
  readonly text: string;
  readonly subject: Subject;
  /** Instructions of the text. */
  readonly size: number;
  /** Candidates that were tried. */
  readonly tests: number;
}

/**
 * Makes a program smaller for as long as it fails in the same way: functions, instructions, guards, values, operands, constants,
 * parameters. PTX stays PTX, Ori stays Ori; comments go.
 *
 * @param best told of every smaller program that fails, with its text
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

/** Instructions of a program as it was read. */
export const sizeOf = ({ program }: Subject): number =>
  program.functions.reduce((n, f) => f.blocks.reduce((k, b) => k + b.ins.length, n), 0);

/** A program from its text; null where it is none, or more than `skipped` functions of it have no Ori form. */
export function read(text: string, plan: Plan, ptx: boolean, skipped = 0): Subject | null {
  try {
    const { program, module } = ptx ? readPtx(text, plan, 'reduced.ptx') : readOri(text, plan, 'reduced.ori');
    return program.skipped.length > skipped ? null : { program, module, plan };
  } catch {
    // A mistake of ours in a candidate that is no program would not be the one that is looked for.
    return null;
  }
}
