import type { KernelMeasure } from '../measure.ts';
import { METRICS, type Metric, metricOf, type Values } from '../metrics.ts';
import { metricsJson, OUTPUT_VERSION } from './json.ts';
import { type Cell, columns, number, type Paint, plural, stacked, WIDTH, wrapped } from './table.ts';

/** A module measured after a plan has run. */
export interface ModuleMeasure {
  readonly file: string;
  readonly sm: string;
  readonly level: number;
  readonly order: string;
  readonly plan: string;
  readonly compile: Values;
  readonly kernels: readonly KernelMeasure[];
}

/** Default columns of a table of several kernels, with their headings. Columns without values are omitted. */
const SHORT: Readonly<Record<string, string>> = {
  instructions: 'instr.',
  weighted: 'weighted',
  'pressure.R': 'live R',
  occupancy: 'occup. %',
  'warp-instructions': 'warp instr.',
  cycles: 'cycles',
  'ptxas.registers': 'ptxas R',
  'ptxas.code-bytes': 'ptxas code',
};

const SOURCES: Readonly<Record<Metric['source'], string>> = {
  program: 'of the program',
  model: 'by a model',
  simulator: 'of the launches, in the simulator',
  engine: 'of the run of phases',
  ptxas: 'by ptxas',
  machine: "of the launches, in ptxas' machine code",
};

/** Metrics of modules for a terminal: all metrics of a single kernel, or a table of several. */
export function measureText(
  modules: readonly ModuleMeasure[],
  chosen: readonly Metric[] | null,
  paint: Paint,
  width = WIDTH,
): string {
  const all = modules.flatMap((m) => m.kernels.map((k) => ({ m, k })));
  const out =
    all.length === 1
      ? [one(all[0].m, all[0].k, chosen, paint, width)]
      : [many(all, modules, chosen, paint, width)];
  for (const { m, k } of all)
    if (k.refused !== '') out.push(`${paint.bad('ptxas refuses')}  ${m.file}: ${k.refused}`);
  for (const { k } of all)
    for (const l of k.launches) if (!l.ok) out.push(`${paint.bad('WRONG')}  ${l.file}: ${l.why}`);
  return out.join('\n');
}

function one(
  m: ModuleMeasure,
  k: KernelMeasure,
  chosen: readonly Metric[] | null,
  paint: Paint,
  width: number,
): string {
  const values = { ...k.values, ...m.compile };
  // By default, metrics of classes and spaces are omitted if they are 0.
  const shown = (chosen ?? METRICS).filter(
    ({ name }) =>
      values[name] !== undefined &&
      (values[name] !== 0 || !name.includes('.') || name.startsWith('ptxas') || chosen !== null),
  );
  const rows: Cell[][] = [];
  for (const source of new Set(shown.map((x) => x.source))) {
    rows.push([{ text: SOURCES[source], paint: paint.bold }, '', '', '']);
    for (const x of shown)
      if (x.source === source)
        rows.push([
          `  ${x.name}`,
          number(values[x.name]),
          x.unit,
          { text: `${x.title}${x.noisy ? ' (noisy)' : ''}`, paint: paint.dim },
        ]);
  }
  const right = k.launches.filter((l) => l.ok).length;
  const ran =
    k.launches.length === 0
      ? 'no launch beside it'
      : `${right} of ${k.launches.length} launches right${k.launches.some((l) => l.expects) ? '' : ', nothing expected'}`;
  return [
    `${paint.bold(k.kernel)}  ${m.file}`,
    `-O${m.level} ${m.sm}, order ${m.order}, ${ran}`,
    '',
    columns(rows, 'lrll', width),
  ].join('\n');
}

function many(
  all: readonly { readonly m: ModuleMeasure; readonly k: KernelMeasure }[],
  modules: readonly ModuleMeasure[],
  chosen: readonly Metric[] | null,
  paint: Paint,
  width: number,
): string {
  const wanted = chosen ?? Object.keys(SHORT).map((n) => metricOf(n)!);
  const value = ({ m, k }: (typeof all)[number], x: Metric) => k.values[x.name] ?? m.compile[x.name];
  const shown = wanted.filter((x) => all.some((r) => value(r, x) !== undefined));
  const files = new Set(all.map((r) => r.k.kernel)).size < all.length;
  const head = ['kernel', ...shown.map(headingOf)].map((text) => ({
    text,
    paint: paint.bold,
  }));
  const rows = all.map((r) => [
    files ? `${r.k.kernel} ${r.m.file.split('/').at(-1)}` : r.k.kernel,
    ...shown.map((x) => {
      const v = value(r, x);
      return v === undefined ? '' : number(v);
    }),
  ]);
  const launched = all.filter((r) => r.k.launches.length > 0).length;
  return [
    stacked([head, ...rows], width),
    '',
    ...wrapped(
      `${plural(all.length, 'kernel')} of ${plural(modules.length, 'file')}, ${launched} with a launch; ${columnsHint(chosen)}`,
      width,
    ),
  ].join('\n');
}

/** Units that a heading shows; for counts, the name of the metric says what is counted. */
const MEASURES: ReadonlySet<string> = new Set(['bytes', 'KB', 'ms', '%']);

/** Heading of a metric's column: its name, with its unit if the name does not contain it, and a mark if it is noisy. */
function headingOf(x: Metric): string {
  const short = SHORT[x.name];
  if (short !== undefined) return short;
  const more = [
    ...(MEASURES.has(x.unit) && !x.name.endsWith(x.unit) ? [x.unit] : []),
    ...(x.noisy ? ['noisy'] : []),
  ];
  return more.length === 0 ? x.name : `${x.name} (${more.join(', ')})`;
}

const columnsHint = (chosen: readonly Metric[] | null): string =>
  chosen === null ? '--metrics chooses columns, --json has all' : '--json has all metrics';

/** Metrics of modules as plain data (schemas/output/measure.schema.json). */
export const measureJson = (modules: readonly ModuleMeasure[]) => ({
  version: OUTPUT_VERSION,
  kind: 'measure',
  metrics: metricsJson(METRICS),
  modules,
});
