import { contextOutside } from '../engine/settle.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';
import { congruential } from '../ir/random.ts';
import { parseProgram } from '../ir/text.ts';
import { switchOpt } from '../passes/flow/switch-opt.ts';
import type { PassContext } from '../passes/pass.ts';
import { type Launch, runLaunch } from '../sim/launch.ts';

/** Offset of kernel parameters in constant bank 0. */
const BASE = 0x160;
const LANES = 32;
/** Number of warps whose lanes have random selectors. */
const WARPS = 16;
/** Block id of the first target, above those of the comparisons. */
const FIRST = 10_000;
const END = 20_000;
/** Number of instructions of a target: a store and a branch. */
const ARM = 2;

/** The forms of a switch, with the parameters of `switch-opt` that make each form the cheapest; null: the original code. */
const FORMS: Readonly<Record<string, Readonly<Record<string, number>> | null>> = {
  cascade: null,
  tree: { 'table-entries': 0 },
  table: { 'table-entries': 1024, 'table-cost': 0 },
  'bit test': { 'table-entries': 0 },
};

/** Kinds of switches: numbers of cases, the value of each case, and whether all cases share a target. */
const VALUES: Readonly<
  Record<string, { sizes: readonly number[]; of: (k: number) => number; targets: 'own' | 'one' }>
> = {
  dense: { sizes: [4, 8, 16, 32], of: (k) => k, targets: 'own' },
  sparse: { sizes: [4, 8, 16, 32], of: (k) => 1021 * k * (k + 1), targets: 'own' },
  set: { sizes: [4, 8, 16], of: (k) => 2 * k, targets: 'one' },
};

/** Figures of seeds 000 and 003 for a form with n cases: maximum number of instructions, and number of places where lanes diverge. */
const SEED_FIGURES: Readonly<Record<string, (n: number) => string>> = {
  cascade: (n) => `${2 * n} | ${n}`,
  tree: (n) => `${2 * Math.ceil(Math.log2(n))} | ${Math.ceil(Math.log2(n))}`,
  table: () => '3 | 1',
  'bit test': () => ' | ',
};

/** A kernel with a cascade of equality tests on a selector per thread; each target stores its number. */
function cascade(isa: Isa, values: readonly number[], targets: 'own' | 'one'): Program {
  const arm = (k: number): number => FIRST + (targets === 'own' ? k : 0);
  const tests = values.map(
    (v, k) => `BB${k + 1}:\n ISETP.EQ P${100 + k}, R6, ${v}\n @P${100 + k} BRA BB${arm(k)}`,
  );
  const arms = [...new Set(values.map((_, k) => arm(k)))].map(
    (b) => `BB${b}:\n STG [RD5+4], ${b}\n BRA BB${END}`,
  );
  const text = `.program "t" version 9.0 target sm_80 address 64
.entry k
  .param u64 p size 8 align 8 at 0
{
BB0:
 LDC.B64 RD1, c[0x0][0x160]\n S2R.TID.X R2\n S2R.CTAID.X R3\n IMAD R4, R3, ${LANES}, R2
 IMAD_WIDE.U32 RD5, R4, 8, RD1\n LDG R6, [RD5]
${tests.join('\n')}
BB${FIRST + values.length}:\n STG [RD5+4], 1\n BRA BB${END}
${arms.join('\n')}
BB${END}:\n EXIT
}`;
  const { program, diagnostics } = parseProgram(text, isa, 'switch.ori');
  if (diagnostics.length > 0) throw new Error(diagnostics.map((d) => d.message).join('\n'));
  return program;
}

/** A minimal context for `switch-opt`. */
const contextOf = (program: Program, isa: Isa, params: PassContext['params']): PassContext => ({
  ...contextOutside(program, isa),
  phase: 'DoSwitchOptSecond',
  params,
  sm: 'sm_80',
});

/** The program with its switch in a form; null if `switch-opt` does not produce that form for these cases. */
function inForm(program: Program, isa: Isa, form: string): Program | null {
  const params = FORMS[form];
  if (params === null) return program;
  const [fn] = program.functions;
  const out = switchOpt(fn, contextOf(program, isa, { lanes: 1, ...params }));
  const names = new Set(out.blocks.flatMap((b) => b.ins.map((i) => i.op.name)));
  const made = names.has('BRX') ? 'table' : names.has('SHL') ? 'bit test' : out === fn ? 'cascade' : 'tree';
  return made === form ? { ...program, functions: [out] } : null;
}

interface Run {
  readonly instructions: number;
  readonly divergent: number;
}

/** Runs warps with the given selectors of their lanes. Counts are per warp, without instructions that are not part of the switch. */
function measure(program: Program, isa: Isa, selectors: readonly number[]): Run {
  const bytes = new Uint8Array(8 * selectors.length);
  const view = new DataView(bytes.buffer);
  selectors.forEach((v, k) => void view.setUint32(8 * k, v, true));
  const warps = selectors.length / LANES;
  const launch: Launch = {
    name: 't',
    kernel: 'k',
    grid: [warps, 1, 1],
    block: [LANES, 1, 1],
    dynamicShared: 0,
    params: [
      { kind: 'buffer', type: 'u32', length: 2 * selectors.length, bytes, expect: null, tolerance: 0 },
    ],
  };
  const r = runLaunch(program, isa, launch, BASE, { counters: true });
  if (r.status !== 'ok' || r.counters === null) throw new Error(r.error ?? r.status);
  const { warpInstructions, divergentBranches, blocks } = r.counters;
  const [fn] = program.functions;
  const arms = Object.entries(blocks[fn.name]).reduce(
    (n, [b, times]) => n + (Number(b) >= FIRST && Number(b) < END ? times : 0),
    0,
  );
  const ends = blocks[fn.name][END] ?? 0;
  const before = fn.blocks[0].ins.findIndex((i) => i.op.name === 'LDG') + 1;
  return {
    instructions: (warpInstructions - ARM * arms - ends) / warps - before,
    divergent: divergentBranches / warps,
  };
}

/** A generator of pseudo-random numbers below `n` with a fixed seed. */
function randomBelow(): (n: number) => number {
  const next = congruential(20261126);
  return (n) => Math.floor((next() / 2 ** 32) * n);
}

const shown = (x: number): string => (Number.isInteger(x) ? `${x}` : x.toFixed(1));

/**
 * A Markdown table of the costs of the forms of a switch in the simulator, with the figures of seeds 000 and 003.
 * @throws Error if a switch does not run
 */
export function switchForms(isa: Isa): string {
  const lines: string[] = [];
  for (const [name, { sizes, of, targets }] of Object.entries(VALUES))
    for (const n of sizes) {
      const values = Array.from({ length: n }, (_, k) => of(k));
      const plain = cascade(isa, values, targets);
      // One more selector that matches no case.
      const all = [...values, of(n) + 1];
      const random = randomBelow();
      const mixed = Array.from({ length: LANES * WARPS }, () => all[random(all.length)]);
      for (const form of Object.keys(FORMS)) {
        const program = inForm(plain, isa, form);
        if (program === null) continue;
        const each = all.map((v) =>
          measure(
            program,
            isa,
            Array.from({ length: LANES }, () => v),
          ),
        );
        const mean = each.reduce((sum, r) => sum + r.instructions, 0) / each.length;
        const worst = Math.max(...each.map((r) => r.instructions));
        const apart = measure(program, isa, mixed);
        const cells = [mean, worst, apart.instructions, apart.divergent].map(shown);
        lines.push(`| ${name} | ${n} | ${form} | ${cells.join(' | ')} | ${SEED_FIGURES[form](n)} |`);
      }
    }
  return [
    '| values | cases | form | agree: instructions | at worst | differ: instructions | divergent branches | seeds: at worst | places |',
    '|---|---:|---|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ].join('\n');
}
