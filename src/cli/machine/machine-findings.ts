import type { Elf } from '../../cubin/elf.ts';
import { targetName } from '../../cubin/functions.ts';
import { grouped } from '../../ir/counts.ts';
import type { Fn, Program } from '../../ir/program.ts';
import type { Machine } from '../../machine/forms.ts';
import { type ListedFunction, listCode } from '../../machine/listing.ts';
import { readPtx } from '../../read.ts';
import { loadMachine } from '../../spec/node-machine.ts';
import type { Plan } from '../../spec/plan.ts';
import { hazardsOf } from '../../timing/check.ts';
import { accessesIn } from '../../timing/code.ts';
import type { Verdict } from '../check/checks.ts';
import { cubinOf, ptxasLevel } from '../optimize/ptxas-run.ts';
import { Progress } from '../terminal/progress.ts';
import { pc } from '../terminal/ui.ts';
import { hazardText } from './hazards.ts';
import { liftedOf } from './lifted.ts';
import { type Code, type Finding, findingOf, type VerifyOptions, whyNot } from './verify-finding.ts';

/** Compares kernels with machine code, one code after another, and collects the findings. */
export function findingsOf(
  codes: readonly Code[],
  kernels: readonly Fn[],
  program: Program,
  machine: Machine,
  plan: Plan,
  o: Pick<VerifyOptions, 'thorough'>,
): Finding[] {
  const progress = new Progress();
  const found: Finding[] = [];
  for (const code of codes) {
    // Code that is not a sequence of words is not lifted either, which reports the reason.
    let listed: readonly ListedFunction[] | undefined;
    for (const kernel of kernels) {
      progress.update(`${code.name}: ${kernel.name}`);
      const lifted = whyNot(program, kernel) ?? liftedOf(code, machine, plan, program, kernel.name);
      found.push(
        typeof lifted === 'string'
          ? {
              code: code.name,
              level: code.level,
              kernel: kernel.name,
              verdict: 'not compared',
              notes: [],
              why: lifted,
            }
          : inTime(
              findingOf(code, lifted, kernel, program, plan, o, (world) =>
                progress.update(`${code.name}: ${kernel.name}: ${world}`),
              ),
              (listed ??= listCode(code.elf, machine)).filter((f) =>
                lifted.words.some((w) => w.fn === f.fn.name),
              ),
              code.elf,
              machine,
              plan,
            ),
      );
    }
  }
  progress.done();
  return found;
}

/**
 * A finding, extended by hazards: code that computes the same but reads or writes registers too early is a difference.
 *
 * @param listed the functions that the kernel may reach
 */
function inTime(
  f: Finding,
  listed: readonly ListedFunction[],
  elf: Elf,
  machine: Machine,
  plan: Plan,
): Finding {
  if (f.verdict !== 'equal') return f;
  for (const own of listed) {
    const [first] = hazardsOf(own.fn, own.code, accessesIn(own, elf, machine, plan.isa), machine);
    if (first === undefined) continue;
    const [what, a, b] = hazardText(first, own, machine).map((l) => l.trim());
    return { ...f, verdict: 'different', difference: 'timing', why: `${what}: ${a}, ${b}` };
  }
  return f;
}

/** The difference as the end of a sentence: the machine code of a kernel ... */
export const differenceText = (f: Finding): string =>
  f.difference === 'timing' ? 'computes the same, but too early' : 'does something else';

/** Kernels of a program. */
export const kernelsOf = (program: Program): Fn[] => program.functions.filter((f) => f.kind === 'entry');

/**
 * Compares all kernels of a program with machine code.
 *
 * @param elf the machine code; a string says why there is none
 */
export async function machineFindings(
  elf: Code['elf'] | string,
  name: string,
  program: Program,
  plan: Plan,
): Promise<Finding[]> {
  const kernels = kernelsOf(program);
  const notCompared = (why: string): Finding[] =>
    kernels.map((k) => ({
      code: name,
      level: null,
      kernel: k.name,
      verdict: 'not compared',
      notes: [],
      why,
    }));
  if (typeof elf === 'string') return notCompared(elf);
  const target = targetName(elf);
  const machine = await loadMachine(target);
  if (machine === null) return notCompared(`the machine code of ${target} is not known`);
  return findingsOf([{ name, level: null, elf }], kernels, program, machine, plan, {});
}

/**
 * `--check machine`: compares the input with the machine code that ptxas generates for the written PTX.
 *
 * @param before the input
 * @param ptx the written text
 * @param arch target of ptxas
 */
export async function checkMachine(before: Program, ptx: string, arch: string, plan: Plan): Promise<Verdict> {
  const level = ptxasLevel(plan);
  const elf = cubinOf(ptx, [`-arch=${arch}`, `-O${level}`]);
  if (typeof elf === 'string') return { ok: false, text: `${pc.red('not checked')}: ${elf}` };
  const name = `ptxas -O${level}`;
  const found = await machineFindings(elf, name, before, plan);
  const wrong = found.filter((f) => f.verdict === 'different');
  if (wrong.length === 0) return rightText(found, name);
  // Find out which one is wrong: ptxas or the output.
  const written = await machineFindings(elf, name, readPtx(ptx, plan, before.name).program, plan);
  const culprit = (f: Finding): string =>
    written.some((w) => w.kernel === f.kernel && w.verdict === 'different')
      ? 'ptxas makes other code than the PTX that it is given says'
      : 'the PTX that is written differs';
  return {
    ok: false,
    text: [
      `${pc.red('DIFFERENT')}: the machine code of ${name} does not do what the input says`,
      ...wrong.map((f) => `  ${f.kernel} ${differenceText(f)}: ${f.why} (${culprit(f)})`),
    ].join('\n'),
  };
}

function rightText(found: readonly Finding[], name: string): Verdict {
  const equal = found.filter((f) => f.verdict === 'equal').length;
  const left = found.filter((f) => f.verdict === 'not compared');
  const head =
    equal === 0
      ? `${pc.yellow('not checked')}: no kernel could be compared with the machine code of ${name}`
      : `${pc.green('equal')}: the machine code of ${name} does what the input says, ${grouped(equal)} of ${found.length} kernels`;
  return {
    ok: equal > 0 || found.length === 0,
    text: [head, ...left.map((f) => `  ${f.kernel}: not compared: ${f.why}`)].join('\n'),
  };
}
