import { expect, it } from 'vitest';
import { targetName } from '../../src/cubin/functions.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { hashText } from '../../src/ir/hash.ts';
import type { Program } from '../../src/ir/program.ts';
import { baseTarget } from '../../src/ir/target.ts';
import { KernelJudge } from '../../src/judge/judge.ts';
import { liftKernel } from '../../src/lift/lift.ts';
import { paramBase, readPtx } from '../../src/read.ts';
import { makePlan } from '../../src/spec/node.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';
import { type Pair, pairsIn, table, type Verdict } from '../support/judge-pairs.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { allRuns } from '../support/size.ts';
import { passNames, plain, shipped } from '../support/specs.ts';

/*
 * Accuracy of the judge of machine code, by the pairs of test/judge: ptxas -O3 compiles the second kernel of a pair, and its code is
 * compared with the PTX of the first one. ORRERY_JUDGE_TABLE=1 takes all pairs, and prints what the judge gets wrong.
 */
const wholeTable = process.env['ORRERY_JUDGE_TABLE'] === '1';

/** Machine code is not run with simulated other threads, so changes in memory order do not show. */
const UNSEEN = new Set(['memory-order']);
/** Required detection rate for the other wrong pairs: slightly below the actual one. */
const FLOOR = 0.75;

const hasForeign = (p: Program): boolean =>
  p.functions.some((f) =>
    f.blocks.some((b) =>
      b.ins.some((x) => x.op.name.startsWith('FOREIGN') || (x.op.name === 'CALL' && x.src[0].sym === '')),
    ),
  );

/** What the judge says of a pair; null if one of its kernels has no meaning in Ori, or ptxas refuses it. */
async function judged(pair: Pair): Promise<Verdict | null> {
  const { cubin } = ptxas(pair.after, pair.target, '-O3');
  if (cubin === null) return null;
  const { plan } = await makePlan({ ...plain, sm: baseTarget(pair.target) }, passNames, shipped);
  const { program } = readPtx(pair.before, plan!, pair.id);
  if (hasForeign(program)) return null;
  const elf = readCubin(new Uint8Array(cubin));
  const machine = await loadMachine(targetName(elf));
  const at = paramBase(plan!);
  for (const kernel of program.functions.filter((f) => f.kind === 'entry')) {
    const lifted = liftKernel(elf, machine!, plan!.isa, program, kernel.name, at);
    if (lifted.gaps.length > 0) return null;
    const how = { machine: true, constantsAt: lifted.constantsAt };
    const r = new KernelJudge(program, lifted.program, kernel.name, at, how).against(lifted.program);
    if (!r.same) return { pair, same: false, difference: r.differences[0] ?? '' };
  }
  return { pair, same: true, difference: '' };
}

it.skipIf(!hasPtxas('verify-pairs'))(
  "the judge of machine code sees wrong kernels in ptxas' code, and lets right ones pass",
  async () => {
    const all = pairsIn(new URL('../judge/pairs/', import.meta.url).pathname);
    const mixed = all.toSorted((a, b) => (hashText(a.id) < hashText(b.id) ? -1 : 1));
    const taken = wholeTable ? all : mixed.filter((p) => p.before.length < 1000).slice(0, allRuns(24));
    const said: Verdict[] = [];
    for (const pair of taken) {
      const verdict = await judged(pair);
      if (verdict !== null) said.push(verdict);
    }
    if (wholeTable) console.log(`${table(said)}\nnot compared: ${taken.length - said.length}`);
    const wrong = said.filter((v) => v.pair.wrong && !UNSEEN.has(v.pair.kind));
    const right = said.filter((v) => !v.pair.wrong);
    expect(right.length).toBeGreaterThan(0);
    expect(wrong.filter((v) => !v.same).length / wrong.length).toBeGreaterThanOrEqual(FLOOR);
    expect(right.filter((v) => v.same).length / right.length).toBeGreaterThanOrEqual(0.95);
  },
  3_600_000,
);
