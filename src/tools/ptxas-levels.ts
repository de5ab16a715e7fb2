// `node dist/tools/ptxas-levels.js [sm]`: compares the original and our output kernel by kernel: Ori instructions, executed warp
// instructions, and code size and registers by ptxas at -O0, -O1 and -O3. Rewrites src/ptx/emit/LEVELS.md after its mark.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { assemble, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { loadModules, lowerModule } from '../lab/kernels.ts';
import { Measurer } from '../lab/measure.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import { shippedPlan } from './shipped-plan.ts';

/** The value of the original, and ours; null if either is unknown. */
export type Pair = readonly [number, number] | null;

/** One kernel: its name, and a pair for each column. */
export interface LevelRow {
  readonly kernel: string;
  readonly pairs: readonly Pair[];
}

const LEVELS = [0, 1, 3];
/** Headings of the columns after the kernel. */
export const COLUMNS: readonly string[] = [
  'Ori',
  'executed',
  ...LEVELS.flatMap((l) => [`-O${l} code`, `-O${l} registers`]),
];
const MARK = '<!-- table -->';

/** The table, with a first row of geometric means of ours over the original. */
export function levelTable(rows: readonly LevelRow[]): string {
  const cell = (p: Pair): string => (p === null ? '' : p[0] === p[1] ? String(p[0]) : `${p[0]} → ${p[1]}`);
  const means = COLUMNS.map((_, k) => {
    const known = rows.flatMap(({ pairs }) => {
      const p = pairs[k];
      return p === null || p[0] === 0 || p[1] === 0 ? [] : [Math.log(p[1] / p[0])];
    });
    if (known.length === 0) return '';
    return `**${Math.exp(known.reduce((a, b) => a + b, 0) / known.length).toFixed(3)}** of ${known.length}`;
  });
  return [
    `| kernel | ${COLUMNS.join(' | ')} |`,
    `|---|${COLUMNS.map(() => '---:|').join('')}`,
    `| geometric mean | ${means.join(' | ')} |`,
    ...rows.map(({ kernel, pairs }) => `| ${[kernel, ...pairs.map(cell)].join(' | ')} |`),
  ].join('\n');
}

/** The resources that ptxas reports for a text at each level, by function. */
function assembled(name: string, text: string, sm: string) {
  return LEVELS.map((level) => {
    const a = assemble(text, [`-arch=${sm}`, `-O${level}`]);
    if (!a.ok) throw new Error(`${name}: ${a.messages}`);
    return new Map(a.functions.map((f) => [f.name, f]));
  });
}

async function measured(sm: string): Promise<LevelRow[]> {
  const specs = await loadShipped();
  const plan = await shippedPlan(specs, sm);
  const table = new PtxTable(specs.ptx?.data as unknown as PtxDoc);
  const paramBase = Number(plan.backend.facts['param-base']);
  const rows: LevelRow[] = [];
  for (const m of await loadModules([`test/kernels/*/*.${sm}.ptx`], ROOT)) {
    const input = lowerModule(m, plan);
    const { last } = runPipeline(input.program, plan, { snapshots: 'ends' });
    const measurer = new Measurer(m, input, {});
    const [before, after] = [
      await measurer.kernels(input.program, plan),
      new Map((await measurer.kernels(last, plan)).map((k) => [k.kernel, k.values])),
    ];
    const theirs = assembled(m.file, m.text, sm);
    const ours = assembled(m.file, emitPtx(last, { table, paramBase, module: input.ptx! }).text, sm);
    for (const { kernel, values } of before) {
      const now = after.get(kernel);
      const pair = (a: number | undefined, b: number | undefined): Pair =>
        a === undefined || b === undefined ? null : [a, b];
      rows.push({
        kernel: `${basename(m.file).split('.')[0]}: ${kernel}`,
        pairs: [
          pair(values.instructions, now?.instructions),
          pair(values['warp-instructions'], now?.['warp-instructions']),
          ...LEVELS.flatMap((_, k) => {
            const [a, b] = [theirs[k].get(kernel), ours[k].get(kernel)];
            return [pair(a?.code, b?.code), pair(a?.registers, b?.registers)];
          }),
        ],
      });
    }
  }
  return rows;
}

if (process.argv[1]?.endsWith('ptxas-levels.js') === true) {
  if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
  const sm = process.argv[2] ?? 'sm_80';
  const page = join(ROOT, 'src', 'ptx', 'emit', 'LEVELS.md');
  const text = readFileSync(page, 'utf8');
  const at = text.indexOf(MARK);
  if (at < 0) throw new Error(`${page} has lost its mark`);
  const says = `Target ${sm}, order ${DEFAULT_ORDER}.`;
  writeFileSync(page, `${text.slice(0, at + MARK.length)}\n\n${says}\n\n${levelTable(await measured(sm))}\n`);
}
