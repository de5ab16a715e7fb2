import { targetName } from '../../cubin/functions.ts';
import { fileWord } from '../../ir/quote.ts';
import { baseTarget } from '../../ir/target.ts';
import { type FaultSite, KnownFaults } from '../../known-faults.ts';

import { loadShipped } from '../../spec/node.ts';
import { PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import { keepInputs, readText, writeWhole } from '../input/files.ts';
import { planFor, programFor } from '../input/input.ts';
import { CliExit, failWith, out } from '../terminal/ui.ts';
import { oneCubin } from './cubin-file.ts';
import { machineFor } from './lifted.ts';
import { findingsOf, kernelsOf } from './machine-findings.ts';
import { levelsOf, madeBy } from './verify-code.ts';
import type { Finding, VerifyOptions } from './verify-finding.ts';
import { reduceWrong } from './verify-reduce.ts';
import { report, writeLaunch } from './verify-text.ts';

/** `orrery verify`: compares machine code with its PTX. */
export async function verify(file: string, cubin: string | undefined, o: VerifyOptions): Promise<void> {
  const levels = levelsOf(cubin, o);
  const specs = await loadShipped();
  const text = readText(file);
  const codes =
    cubin === undefined
      ? madeBy(file, text, levels, o)
      : [{ name: cubin, elf: oneCubin(cubin, o.sm).elf, level: null }];
  const target = targetName(codes[0].elf);
  const plan = await planFor({ sm: baseTarget(target) }, target, specs);
  const { program, module } = programFor(file, text, plan);
  const machine = await machineFor(target);
  const kernels = kernelsOf(program).filter((f) => o.kernel === undefined || f.name === o.kernel);
  if (kernels.length === 0)
    failWith(
      o.kernel === undefined ? `${file} has no kernel` : `${file} has no kernel '${o.kernel}'`,
      ...kernelsOf(program).map((f) => `it has ${f.name}`),
    );
  const found = findingsOf(codes, kernels, program, machine, plan, o);
  const sitesAt = new Map<number, readonly FaultSite[]>();
  const known = (f: Finding): readonly FaultSite[] => {
    const level = Number(f.level ?? PTXAS_LEVEL);
    if (!sitesAt.has(level)) {
      const faults = KnownFaults.of(specs, plan.isa, baseTarget(target), level);
      sitesAt.set(level, faults?.sitesIn(program, module) ?? []);
    }
    return sitesAt.get(level)!.filter((s) => s.fn === f.kernel);
  };
  const wrong = found.find((f) => f.verdict === 'different');
  const written: string[] = [];
  let reduced: string | null = null;
  const inTimeOnly = wrong?.difference === 'timing';
  if (o.reduce !== undefined && inTimeOnly) written.push('not reduced: only results that differ are');
  else if (o.reduce !== undefined && wrong !== undefined && cubin === undefined) {
    keepInputs([file], [o.reduce]);
    const small = await reduceWrong(text, plan, wrong, o);
    if (small === null)
      written.push('not reduced: without comments and line numbers the difference does not show');
    else {
      writeWhole(o.reduce, small);
      reduced = o.reduce;
      written.push(`written: ${reduced}, the lines that ptxas still gets wrong`);
    }
  }
  const launch = o.launch === undefined ? null : writeLaunch(o.launch, file, found);
  if (launch !== null)
    written.push(`written: ${launch}, a launch that shows it: orrery run ${fileWord(launch)} --cubin FILE`);
  else if (o.launch !== undefined)
    written.push(
      `no launch is written to ${o.launch}: ${
        wrong === undefined
          ? 'no difference was found'
          : inTimeOnly
            ? 'the results are the same, and a launch shows results'
            : 'the world that shows the difference is none that a launch can set up'
      }`,
    );
  if (o.json === true)
    out(
      JSON.stringify(
        {
          version: 1,
          file,
          target,
          launch,
          reduced,
          findings: found.map(({ launch: shows, ...f }) => ({
            ...f,
            confirmed: shows !== undefined,
            faults: f.verdict === 'different' ? faultsOf(known(f)) : [],
          })),
        },
        null,
        2,
      ),
    );
  else report(file, target, found, known, written);
  if (found.some((f) => f.verdict !== 'equal')) throw new CliExit(1);
}

/** Known faults of ptxas, without duplicates. */
const faultsOf = (known: readonly FaultSite[]): { name: string; line: number }[] =>
  known
    .filter((k, at) => known.findIndex((x) => x.fault === k.fault) === at)
    .map((k) => ({ name: k.fault.name, line: k.line }));
