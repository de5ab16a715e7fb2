import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GOOD,
  type Judge,
  kindOfMessage,
  openWorlds,
  type Subject,
  type Verdict,
} from '../../debug/judge.ts';
import type { Program } from '../../ir/program.ts';
import { shellWord } from '../../ir/quote.ts';
import { emitPtx } from '../../ptx/emit/index.ts';
import type { PtxTable } from '../../ptx/emit/table.ts';
import { mostShared, paramBase } from '../../read.ts';
import { expectsAnything, judging, runLaunch, toleranceText } from '../../sim/launch.ts';
import { loadShipped } from '../../spec/node.ts';
import { fitLaunch, loadLaunch } from '../../spec/node-launch.ts';
import { withoutSsa } from '../../ssa/program.ts';
import { differenceText, machineFindings } from '../machine/machine-findings.ts';
import { ptxasNeeded } from '../optimize/compare-ptxas.ts';
import { ptxTable } from '../optimize/emit.ts';
import { assemble, cubinOf, ptxasLevel } from '../optimize/ptxas-run.ts';
import { failWith } from '../terminal/ui.ts';
import { checkWord, isCheckWord } from './checks.ts';

/** Options that select the judge; at most one of them is given. */
export interface JudgeOptions {
  readonly check?: string;
  readonly launch?: string;
  readonly command?: string;
  readonly ptxas?: boolean;
  readonly timeout?: string;
}

/** The options as words of a command line. */
export const judgeWords = (o: JudgeOptions): string[] => [
  ...(o.launch === undefined ? [] : ['--launch', shellWord(o.launch)]),
  ...(o.command === undefined ? [] : ['--command', shellWord(o.command)]),
  ...(o.timeout === undefined ? [] : ['--timeout', o.timeout]),
  ...(o.ptxas === true ? ['--ptxas'] : []),
];

/** Exit code by which a command says that it cannot decide, as in `git bisect run`. */
const CANNOT_TELL = 125;
/** Default limit on the time of a command, in seconds. */
const TIMEOUT = 60;

/** Replaces `--check FILE`, as `orrery opt` accepts it, by `--launch FILE`. */
export function withLaunch<T extends JudgeOptions>(o: T): T {
  if (o.check === undefined || o.launch !== undefined) return o;
  checkWord(o.check);
  return isCheckWord(o.check) ? o : { ...o, check: undefined, launch: o.check };
}

/** The judge that the options select; open worlds by default. Contradicting options end the command. */
export async function judgeOf(o: JudgeOptions): Promise<Judge> {
  const given = [
    o.check !== undefined && '--check',
    o.launch !== undefined && '--launch',
    o.command !== undefined && '--command',
    o.ptxas === true && '--ptxas',
  ].filter((x) => x !== false);
  if (given.length > 1) failWith(`${given.join(' and ')} exclude each other`, 'one judge at a time');
  if (o.timeout !== undefined && o.command === undefined) failWith('--timeout needs --command');
  if (o.launch !== undefined) return launchJudge(o.launch);
  if (o.command !== undefined) return commandJudge(o.command, secondsOf(o.timeout));
  if (o.ptxas === true) return ptxasJudge();
  if (o.check === 'machine') return machineJudge();
  if (o.check === 'prove') failWith('only orrery opt has --check prove: it proves phases, one by one');
  return openWorlds;
}

function secondsOf(text: string | undefined): number {
  const seconds = Number(text ?? TIMEOUT);
  if (!(seconds > 0 && seconds <= 86_400)) failWith(`--timeout ${text} is not a number of seconds`);
  return seconds;
}

async function launchJudge(file: string): Promise<Judge> {
  const loaded = await loadLaunch(file);
  const comparesInput = !expectsAnything(loaded);
  return {
    what: `the launch ${file}${comparesInput ? ', which expects nothing, before and after' : toleranceText(loaded)}`,
    comparesInput,
    async judge({ program, plan }, after) {
      await fitLaunch(loaded, after, mostShared(plan));
      const judge = judging(loaded, program, plan.isa, paramBase(plan));
      if ('failed' in judge) return { state: 'unclear', kind: '', text: `${file} ${judge.failed}` };
      const r = runLaunch(after, plan.isa, judge.launch, paramBase(plan));
      if (r.status === 'ok' && judge.output !== null && r.output !== judge.output)
        return { state: 'bad', kind: 'prints something else', text: `${file}: it prints something else` };
      if (r.status === 'ok') return GOOD;
      if (r.error !== null)
        return { state: 'bad', kind: kindOfMessage(`${r.status}: ${r.error}`), text: r.error };
      const [m] = r.mismatches;
      const text = `${r.mismatchCount} values differ; parameter ${m.param}[${m.index}] is ${m.got}, expected ${m.expected}`;
      return { state: 'bad', kind: 'values differ', text };
    },
  };
}

/** Makes a function that writes programs as PTX, for judges that need text; a program that cannot be written cannot be judged. */
async function writer(): Promise<(s: Subject, program: Program) => string | Verdict> {
  const table: PtxTable = ptxTable(await loadShipped());
  return ({ plan, module }, program) => {
    const { text, diagnostics } = emitPtx(withoutSsa(program, plan.isa), {
      table,
      paramBase: paramBase(plan),
      module,
    });
    const [first] = diagnostics.filter((d) => d.severity === 'error');
    return first === undefined ? text : { state: 'unclear', kind: '', text: first.message };
  };
}

async function commandJudge(command: string, seconds: number): Promise<Judge> {
  const write = await writer();
  return {
    what: `the command ${command}`,
    judge(subject, after) {
      const text = write(subject, after);
      if (typeof text !== 'string') return text;
      const dir = mkdtempSync(join(tmpdir(), 'orrery-command-'));
      try {
        const file = join(dir, 'kernel.ptx');
        writeFileSync(file, text);
        const line = command.includes('{}')
          ? command.replaceAll('{}', shellWord(file))
          : `${command} ${shellWord(file)}`;
        const r = spawnSync(line, { shell: true, stdio: 'ignore', timeout: seconds * 1000 });
        if (r.status === 0) return GOOD;
        const ended = (r.error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT';
        const kind = ended ? 'time is up' : r.status === null ? `ended by ${r.signal}` : `exit ${r.status}`;
        return { state: r.status === CANNOT_TELL ? 'unclear' : 'bad', kind, text: `the command: ${kind}` };
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

/** The target for which ptxas assembles. */
const archOf = (subject: Subject): string => subject.module?.target[0] ?? subject.plan.sm;

async function machineJudge(): Promise<Judge> {
  ptxasNeeded();
  const write = await writer();
  return {
    what: 'the machine code of ptxas beside the input',
    comparesInput: true,
    async judge(subject, after) {
      const text = write(subject, after);
      if (typeof text !== 'string') return text;
      const elf = cubinOf(text, [`-arch=${archOf(subject)}`, `-O${ptxasLevel(subject.plan)}`]);
      const found = await machineFindings(elf, 'ptxas', subject.program, subject.plan);
      const wrong = found.find((f) => f.verdict === 'different');
      if (wrong !== undefined)
        return {
          state: 'bad',
          kind: `the machine code ${differenceText(wrong)}`,
          text: `${wrong.kernel}: ${wrong.why}`,
        };
      const left = found.find((f) => f.verdict === 'not compared');
      return left === undefined ? GOOD : { state: 'unclear', kind: '', text: `${left.kernel}: ${left.why}` };
    },
  };
}

async function ptxasJudge(): Promise<Judge> {
  ptxasNeeded();
  const write = await writer();
  return {
    what: 'ptxas',
    judge(subject, after) {
      const text = write(subject, after);
      if (typeof text !== 'string') return text;
      const { ok, messages } = assemble(text, [`-arch=${archOf(subject)}`, `-O${ptxasLevel(subject.plan)}`]);
      if (ok) return GOOD;
      const line = messages.split('\n').find((l) => /error|fatal|ended by/.test(l)) ?? messages;
      // The location in a temporary file is meaningless to the user.
      const message = line
        .replace(/^ptxas \S+, line \d+; /, '')
        .replace(/^error\s*:\s*/, '')
        .trim();
      return { state: 'bad', kind: `ptxas: ${kindOfMessage(message)}`, text: `ptxas: ${message}` };
    },
  };
}
