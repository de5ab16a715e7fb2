import { nearest } from '../../ir/diagnostic.ts';
import { fileWord, shellWord } from '../../ir/quote.ts';
import { type AbResult, type KernelPair, runAb } from '../../lab/ab.ts';
import { type Arm, armsOfRange, parseArm } from '../../lab/arms.ts';
import { loadModules } from '../../lab/kernels.ts';
import { abCsv } from '../../lab/render/ab-csv.ts';
import { abHtml } from '../../lab/render/ab-html.ts';
import { abMarkdown } from '../../lab/render/ab-markdown.ts';
import { abText, diffText } from '../../lab/render/ab-text.ts';
import { statusLine } from '../../lab/render/ab-words.ts';
import { abJson } from '../../lab/render/json.ts';
import { PLAIN } from '../../lab/render/table.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Specs } from '../../spec/specs.ts';
import { planWords } from '../command-line.ts';
import { writeWhole } from '../input/files.ts';
import { warnOtherFunctions } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { type CacheOptions, cacheOf } from '../optimize/cache.ts';
import { formatOf } from '../terminal/format.ts';
import { Progress } from '../terminal/progress.ts';
import { CliExit, err, failWith, out, outExactly, show, tableColumns } from '../terminal/ui.ts';
import {
  clock,
  decidingMetric,
  heap,
  knownFor,
  type MeasureCliOptions,
  makersText,
  measureOptions,
  paint,
  plansOf,
  tellMissing,
} from './lab.ts';

interface AbCommand extends PlanOptions, MeasureCliOptions, CacheOptions {
  readonly kernels?: readonly string[];
  readonly by?: string;
  readonly repeat: string;
  readonly minEffect: string;
  readonly seed: string;
  readonly diff?: string;
  readonly format?: string;
  readonly json?: boolean;
  readonly output?: string;
}

const FORMATS = ['text', 'markdown', 'json', 'html', 'csv'];

/** `orrery ab`: compares two arms over kernels. */
export async function ab(texts: readonly string[], o: AbCommand): Promise<void> {
  const arms = armsOf(texts);
  const format = formatOf(o, FORMATS, o.output);
  if (o.kernels === undefined || o.kernels.length === 0)
    failWith('--kernels is missing', "name PTX files, folders or patterns: --kernels 'kernels/*.ptx'");
  const specs = await loadShipped();
  const modules = await loadModules(o.kernels);
  const plans = plansOf(o, specs);
  const known = await knownFor(o.by, o, modules, plans);
  const by = decidingMetric(o.by, known);
  const progress = new Progress();
  const result = await runAb(modules, arms, plans, {
    measure: {
      ...measureOptions(o, specs, by === undefined ? [] : [by]),
      tell: (text) => progress.detail(text),
    },
    disk: cacheOf(o),
    by,
    repeat: whole(o.repeat, '--repeat'),
    minEffect: percentOf(o.minEffect),
    seed: whole(o.seed, '--seed'),
    heap,
    clock,
    progress: (done, all, text) => progress.of(done, all, text),
  });
  progress.done();
  show(result.warnings);
  if (o.profile !== undefined && result.kernels.length > 0)
    warnOtherFunctions(
      o.profile,
      result.kernels.map((k) => k.kernel),
    );
  if (o.by !== undefined && result.status === 'measured')
    tellMissing(
      o.by,
      result.kernels.map((k) => Object.fromEntries(Object.entries(k.values).map(([name, [a]]) => [name, a]))),
      known,
    );
  const text =
    o.diff === undefined
      ? rendered(result, format, texts, o, specs)
      : oneDiff(result, o.diff, o.output === undefined);
  // Lines of CSV end as the format requires.
  if (o.output === undefined) (format === 'csv' ? outExactly : out)(text);
  else {
    writeWhole(o.output, text.endsWith('\n') ? text : `${text}\n`);
    err(`wrote ${o.output}; ${statusLine(result)}`);
  }
  if (!result.equal) throw new CliExit(1);
}

/** The two arms; one text may give both, as `main..branch`. */
function armsOf(texts: readonly string[]): readonly [Arm, Arm] {
  const long = texts.find((t) => /^--?\w/.test(t) && !/[\s=]/.test(t));
  if (long !== undefined)
    failWith(
      `unknown option '${long}'`,
      "an arm that begins with a dash is quoted whole: '--set NAME=VALUE'",
    );
  if (texts.length === 1) {
    const range = armsOfRange(texts[0]);
    if (range !== null) return range;
  }
  if (texts.length !== 2)
    failWith(
      `ab compares two arms, and here ${texts.length === 1 ? 'is one' : `are ${texts.length}`}: ${texts.map((t) => `'${t}'`).join(', ')}`,
      "orrery ab base '--set NAME=VALUE' --kernels 'kernels/*.ptx'",
      'an arm of several words is quoted; main..branch stands for two refs',
      ...(texts.length > 2
        ? [
            'more arms: `orrery sweep EXPERIMENT.yaml`, a file of the kind experiment that lists them under `arms:`',
          ]
        : []),
    );
  return [parseArm(texts[0]), parseArm(texts[1])];
}

function whole(text: string, option: string): number {
  const n = Number(text);
  return Number.isSafeInteger(n) && n >= 0 ? n : failWith(`${option} ${text} is not a whole number`);
}

function percentOf(text: string): number {
  const n = Number(text);
  return Number.isFinite(n) && n >= 0 ? n / 100 : failWith(`--min-effect ${text} is not a percentage`);
}

function rendered(r: AbResult, format: string, texts: readonly string[], o: AbCommand, specs: Specs): string {
  if (format === 'json') return JSON.stringify(abJson(r), null, 2);
  if (format === 'markdown') return abMarkdown(r);
  if (format === 'html') return abHtml(r, [makersText(measureOptions(o, specs)), commandOf(texts, o)]);
  if (format === 'csv') return abCsv(r, makersText(measureOptions(o, specs)));
  return abText(
    r,
    o.output === undefined ? paint : PLAIN,
    (k) => diffCommand(texts, o, k),
    o.output === undefined ? tableColumns() : undefined,
  );
}

/** The command of a comparison, with all kernels. */
const commandOf = (arms: readonly string[], o: AbCommand): string =>
  [
    'orrery ab',
    ...arms.map(shellWord),
    ...planWords(o, true),
    ...(o.kernels === undefined ? [] : ['--kernels', ...o.kernels.map(fileWord)]),
  ].join(' ');

/**
 * The command that shows how the code of a kernel differs between two arms.
 *
 * @param arms as words of a command line
 * @param o plan options of both
 */
export const diffCommand = (
  arms: readonly string[],
  o: PlanOptions,
  { file, kernel }: Pick<KernelPair, 'file' | 'kernel'>,
): string =>
  [
    'orrery ab',
    ...arms.map(shellWord),
    ...planWords(o, true),
    `--kernels ${fileWord(file)} --diff ${shellWord(kernel)}`,
  ].join(' ');

function oneDiff(r: AbResult, name: string, coloured: boolean): string {
  if (r.status === 'no effect') return 'both arms give the same code everywhere';
  const found = r.kernels.filter((k) => k.label === name || k.kernel === name);
  if (found.length === 0) {
    const names = r.kernels.map((k) => k.label);
    const near = nearest(name, names);
    failWith(
      `there is no kernel '${name}' among those that were compared`,
      near.length > 0 ? `did you mean '${near[0]}'?` : `kernels are ${names.slice(0, 20).join(', ')}`,
    );
  }
  return found.map((k) => diffText(k, coloured ? paint : PLAIN)).join('\n');
}
