import type { Elf } from '../../cubin/elf.ts';
import { grouped } from '../../ir/counts.ts';
import type { Fn, Program } from '../../ir/program.ts';
import { KernelJudge } from '../../judge/judge.ts';
import type { Judgement } from '../../judge/trial.ts';
import { lastStoreTo, launchFrom, type Stored } from '../../judge/witness.ts';
import type { Lifted } from '../../lift/lift.ts';
import { hexText } from '../../machine/text.ts';
import { paramBase } from '../../read.ts';
import { type Launch, runLaunch } from '../../sim/launch.ts';
import { runsMatrix } from '../../sim/matrix-names.ts';
import type { Plan } from '../../spec/plan.ts';

/** Machine code to compare, and its name. */
export interface Code {
  readonly name: string;
  readonly elf: Elf;
  /** Level of ptxas that generated it; null if unknown. */
  readonly level: string | null;
}

export interface VerifyOptions {
  readonly ptxas?: boolean;
  readonly level?: string;
  readonly with?: string;
  readonly sm?: string;
  readonly kernel?: string;
  readonly levels?: boolean;
  readonly thorough?: boolean;
  readonly launch?: string;
  readonly reduce?: string;
  readonly json?: boolean;
}

/** Effort of the comparison of kernels. */
export const effortOf = (o: Pick<VerifyOptions, 'thorough'>): 'medium' | 'high' =>
  o.thorough === true ? 'high' : 'medium';

/** Result of comparing a kernel. */
export interface Finding {
  readonly code: string;
  /** Level of ptxas that generated the code; null if unknown. */
  readonly level: string | null;
  readonly kernel: string;
  readonly verdict: 'equal' | 'different' | 'not compared';
  readonly notes: readonly string[];
  readonly why?: string;
  /** Kind of difference: results, or only registers that are read or written too early. */
  readonly difference?: 'results' | 'timing';
  readonly world?: string;
  readonly stores?: { readonly ptx: StoredText | null; readonly machine: StoredText | null };
  /** A launch that gives different results with this code than with the PTX; it has been run with both. */
  readonly launch?: { readonly launch: Launch; readonly expect: readonly (Uint8Array | null)[] };
}

/** A store as text. */
export interface StoredText {
  readonly block: readonly number[];
  readonly thread: readonly number[];
  readonly address: string;
  readonly value: string;
  readonly instruction: string;
  readonly line: number;
}

/** A difference of a byte in terms of the two sides, which the judge calls before and after. */
const bySides = (difference: string): string =>
  /\bbyte 0x/.test(difference)
    ? difference.replace(/\bbefore\b/, 'by the PTX').replace(/\bafter\b/, 'by the machine code')
    : difference;

/** Compares a kernel with its machine code. `tell` is called with each world. */
export function findingOf(
  code: Pick<Code, 'name' | 'level'>,
  lifted: Lifted,
  kernel: Fn,
  program: Program,
  plan: Plan,
  o: Pick<VerifyOptions, 'thorough'>,
  tell: (world: string) => void,
): Finding {
  const base = paramBase(plan);
  const judge = new KernelJudge(program, lifted.program, kernel.name, base, {
    machine: true,
    constantsAt: lifted.constantsAt,
    effort: effortOf(o),
    goOn: (world) => {
      tell(world);
      return true;
    },
  });
  const r = judge.against(lifted.program);
  const common = { code: code.name, level: code.level, kernel: kernel.name, notes: notesOf(r) };
  if (r.same && r.undefinedIn >= r.worlds)
    return {
      ...common,
      verdict: 'not compared',
      why: 'in every world that was tried it does what PTX leaves undefined, its lanes race, or it accesses no multiples of sizes',
    };
  if (r.same) return { ...common, verdict: 'equal' };
  const { witness } = r;
  const different = {
    ...common,
    verdict: 'different' as const,
    difference: 'results' as const,
    why: bySides(r.differences[0]),
  };
  if (witness === null) return different;
  const { first, address } = witness;
  const launch = launchFrom(judge.subject, kernel, first);
  const shown = launch === null ? null : confirmed(launch, lifted, program, plan);
  if (address === null)
    return { ...different, world: first.world.name, ...(shown !== null && { launch: shown }) };
  const machine = lastStoreTo(judge.subjectOf(lifted.program), first, address);
  const ptx = lastStoreTo(judge.subject, first, address);
  const [bx, by] = first.world.shape.block;
  const words = (s: Stored, instruction: string, line: number): StoredText => ({
    block: s.block,
    thread: [s.thread % bx, Math.floor(s.thread / bx) % by, Math.floor(s.thread / (bx * by))],
    address: hexText(s.address),
    value: `0x${s.value.toString(16)}`,
    instruction,
    line,
  });
  const inMachine = (s: Stored): StoredText => {
    const w = lifted.words[s.ins.loc - 1];
    return words(s, `${w.offset.toString(16).padStart(4, '0')}  ${w.text}`, w.listed.places.ptx?.line ?? 0);
  };
  const inPtx = (s: Stored): StoredText => {
    const line = program.locs[s.ins.loc]?.line ?? 0;
    return words(s, '', line);
  };
  return {
    ...different,
    world: first.world.name,
    stores: { ptx: ptx && inPtx(ptx), machine: machine && inMachine(machine) },
    ...(shown !== null && { launch: shown }),
  };
}

const notesOf = (r: Judgement): string[] => [
  `${grouped(r.executed)} warp instructions`,
  ...(r.reached.blocks < r.reached.allBlocks
    ? [`${r.reached.blocks} of ${r.reached.allBlocks} blocks of the PTX ran`]
    : []),
  ...(r.partial ? ['compared only as far as the budget went'] : []),
  ...(r.left ? ['not in all worlds: a limit came first'] : []),
  ...(r.raced ? ['compared with fewer threads: its behaviour depends on their order'] : []),
  ...(r.undefinedIn > 0
    ? [
        `${r.undefinedIn} of ${r.worlds} worlds give no result: the behaviour there is undefined, or lanes race`,
      ]
    : []),
  ...(r.approximate ? ['some results within the tolerance of approximations and of fused products'] : []),
];

/** The launch with the results of the PTX as expectation, if the machine code gives different ones. */
function confirmed(launch: Launch, lifted: Lifted, program: Program, plan: Plan): Finding['launch'] | null {
  const base = paramBase(plan);
  const before = runLaunch(program, plan.isa, launch, base);
  if (before.status !== 'ok') return null;
  const params = launch.params.map((p, k) =>
    p.kind === 'buffer' ? { ...p, expect: before.buffers[k] ?? null } : p,
  );
  const after = runLaunch(lifted.program, plan.isa, { ...launch, params }, base);
  return after.status === 'ok' ? null : { launch, expect: before.buffers };
}

/** Why a kernel cannot be compared in made-up memory; null if it can. */
export function whyNot(program: Program, kernel: Fn): string | null {
  for (const fn of [kernel, ...program.functions.filter((f) => f.kind === 'func')])
    for (const b of fn.blocks)
      for (const x of b.ins) {
        const at = `line ${program.locs[x.loc]?.line ?? 0}`;
        if (x.op.name === 'CALL' && x.src[0].sym === '')
          return `it calls a function by a pointer, which made-up memory does not hold (${at})`;
        if (x.op.name.startsWith('FOREIGN') && !runsMatrix(x.src[0].sym.split(' ', 1)[0]))
          return `an instruction is carried without a meaning: ${x.src[0].sym} (${at})`;
      }
  return null;
}
