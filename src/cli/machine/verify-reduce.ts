import { setImmediate as turn } from 'node:timers/promises';
import { liveInOf, livenessOf } from '../../analysis/registers/liveness.ts';
import { BinaryError } from '../../cubin/bytes.ts';
import { targetName } from '../../cubin/functions.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import type { Program } from '../../ir/program.ts';
import { KernelJudge } from '../../judge/judge.ts';
import type { Machine } from '../../machine/forms.ts';
import { paramBase, readPtx } from '../../read.ts';
import { loadMachine } from '../../spec/node-machine.ts';
import type { Plan } from '../../spec/plan.ts';
import { PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import { Progress } from '../terminal/progress.ts';
import { liftedOf } from './lifted.ts';
import { cubinMadeOf } from './verify-code.ts';
import { effortOf, type Finding, type VerifyOptions, whyNot } from './verify-finding.ts';

/** Maximum number of programs that are tried: each is assembled and compared, some ten per second. */
const TESTS = 3000;

/** Number of registers that the functions of a program may read before they write them, parameters aside. */
const readUnwritten = ({ functions }: Program): number =>
  functions.reduce((n, f) => {
    const params = new Set(f.params.map((p) => p.reg));
    return n + (f.blocks.length === 0 ? 0 : liveInOf(livenessOf(f), 0).filter((r) => !params.has(r)).length);
  }, 0);

/**
 * The smallest part of a PTX text, line by line, for whose kernel ptxas still generates code that differs from the text (ddmin: Zeller and
 * Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002). No part reads more unwritten registers than the whole: what ptxas
 * makes of such a read is a difference, but not a fault.
 *
 * @param wrong the finding for the whole text
 * @returns null if the difference does not show without comments and line numbers
 */
export async function reduceWrong(
  text: string,
  plan: Plan,
  { kernel, level }: Pick<Finding, 'kernel' | 'level'>,
  o: VerifyOptions,
): Promise<string | null> {
  const progress = new Progress();
  let lines = text.split('\n').filter((l) => l.trim() !== '' && !/^\s*(\/\/|\.loc\b|\.file\b)/.test(l));
  const all = lines.length;
  const machines = new Map<string, Machine | null>();
  let tests = 0;
  let unwritten = Number.POSITIVE_INFINITY;
  const isWrong = async (some: readonly string[]): Promise<boolean> => {
    tests++;
    await turn();
    const elf = cubinMadeOf(some.join('\n'), level ?? String(PTXAS_LEVEL), o);
    if (elf === null) return false;
    const target = targetName(elf);
    if (!machines.has(target)) machines.set(target, await loadMachine(target));
    const machine = machines.get(target);
    if (machine == null) return false;
    try {
      const { program } = readPtx(some.join('\n'), plan, 'reduced');
      const read = readUnwritten(program);
      if (read > unwritten) return false;
      if (tests === 1) unwritten = read;
      return program.functions.some((k) => {
        if (k.name !== kernel || whyNot(program, k) !== null) return false;
        const lifted = liftedOf({ elf }, machine, plan, program, k.name);
        if (typeof lifted === 'string') return false;
        const options = { machine: true, constantsAt: lifted.constantsAt, effort: effortOf(o) };
        return !new KernelJudge(program, lifted.program, k.name, paramBase(plan), options).against(
          lifted.program,
        ).same;
      });
    } catch (e) {
      if (e instanceof DiagnosticError || e instanceof BinaryError) return false;
      throw e;
    }
  };
  if (!(await isWrong(lines))) {
    progress.done();
    return null;
  }
  for (let size = lines.length >> 1, again = false; size >= 1 && tests < TESTS; ) {
    again = false;
    for (let k = 0; k < lines.length && tests < TESTS; ) {
      const fewer = [...lines.slice(0, k), ...lines.slice(k + size)];
      progress.update(`test ${tests}: ${lines.length} of ${all} lines`);
      if (await isWrong(fewer)) {
        lines = fewer;
        again = true;
      } else k += size;
    }
    if (size === 1 && !again) break;
    size = Math.max(1, size >> 1);
  }
  progress.done();
  return `${lines.join('\n')}\n`;
}
