import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileWord, shellWord } from '../../ir/quote.ts';
import { armText } from '../../lab/arms.ts';
import { isLaunchFile, kernelAndLaunchFiles } from '../../lab/files.ts';
import { loadModules, type Module } from '../../lab/kernels.ts';
import type { MeasureOptions } from '../../lab/measure.ts';
import { DEFAULT_SM } from '../../lab/plans.ts';
import { specsOfPlace } from '../../lab/refs.ts';
import { PtxTable } from '../../ptx/emit/table.ts';
import { servingTarget } from '../../read.ts';
import { ReviewRunner, type SideOptions } from '../../review/cells.ts';
import type { Comparison, KernelFiles } from '../../review/comparisons.ts';
import type { Row } from '../../review/effect.ts';
import { canonical } from '../../spec/canonical.ts';
import type { SpecFile } from '../../spec/document.ts';
import { loadShipped, pathNamedBy, ROOT, shownPath } from '../../spec/node.ts';
import { DEFAULT_ORDER, type Specs } from '../../spec/specs.ts';
import { targetsOf } from '../../spec/targets.ts';
import type { RecipeSpec } from '../../spec/types.generated.ts';
import { type MeasureCliOptions, measureOptions } from '../lab/lab.ts';

/** Locations of both sides: a commit or a folder; undefined: the specs of this installation. */
export type Places = readonly [base: string, head: string | undefined];

/** Settings that worker threads need to run cells of a review. */
export interface ReviewCells {
  readonly places: Places;
  readonly comparisons: readonly Comparison[];
  readonly measure: MeasureCliOptions;
  /** Kernel files as given by the user; for some, launch files were given instead. */
  readonly patterns: readonly string[];
}

/** The specs at a place. */
export const specsAtPlace = (place: string | undefined): Promise<Specs> =>
  place === undefined ? loadShipped() : specsOfPlace(place);

/** Measurement options of both sides: equal, except that each writes PTX by its own table. */
export function sideOptions(
  base: Specs,
  head: Specs,
  o: MeasureCliOptions,
  tell?: MeasureOptions['tell'],
): [SideOptions, SideOptions] {
  const common = { ...measureOptions(o, head), tell };
  const table = (s: Specs) => (s.ptx === undefined ? undefined : new PtxTable(s.ptx.data as never));
  const ofHead: MeasureOptions = { ...common, table: table(head) };
  const same = canonical(base.ptx?.data ?? null) === canonical(head.ptx?.data ?? null);
  const ofBase = same ? ofHead : { ...ofHead, table: table(base) };
  return [
    { specs: base, measure: ofBase },
    { specs: head, measure: ofHead },
  ];
}

/**
 * Makes the runner of the cells of a review.
 *
 * @param tell called with what is done next
 */
export async function reviewRunner(
  { places, measure, patterns }: ReviewCells,
  tell?: MeasureOptions['tell'],
): Promise<ReviewRunner> {
  const [base, head] = [await specsAtPlace(places[0]), await specsAtPlace(places[1])];
  return new ReviewRunner(...sideOptions(base, head, measure, tell), moduleLoader(patterns));
}

/** Makes a loader of modules; a module whose launches were named has only these launches. */
function moduleLoader(patterns: readonly string[]): (file: string) => Promise<Module> {
  const launches = kernelAndLaunchFiles(patterns).filter(isLaunchFile);
  let named: Promise<readonly Module[]> | undefined;
  return async (file) => {
    if (launches.length > 0) {
      const known = (await (named ??= loadModules(launches))).find((m) => m.file === file);
      if (known !== undefined) return known;
    }
    return (await loadModules([file]))[0];
  };
}

/**
 * The kernels of a review: the named ones, or else those of the project.
 *
 * @param all whether kernels that did not change are measured too
 */
export async function kernelFilesOf(
  patterns: readonly string[],
  head: string | undefined,
  specs: Specs,
  all: boolean,
): Promise<KernelFiles> {
  const backends = targetsOf(specs);
  const byTarget = new Map<string, string[]>();
  for (const m of await loadModules(patterns)) {
    const sm = servingTarget(m.target ?? DEFAULT_SM, backends);
    byTarget.set(sm, [...(byTarget.get(sm) ?? []), m.file]);
  }
  const folder = head !== undefined && existsSync(head) ? resolve(head) : ROOT;
  return {
    byTarget,
    all,
    find: async (spec, at) => {
      const path = await measuredPath(spec, at, folder);
      if (path === undefined) return undefined;
      const [m] = await loadModules([path]);
      return { file: m.file, target: servingTarget(m.target ?? DEFAULT_SM, backends) };
    },
  };
}

/** The path of a file that a recipe lists under `measured`, in the folder of the head or here; undefined: there is none. */
async function measuredPath(spec: SpecFile, at: number, folder: string): Promise<string | undefined> {
  const { kernels } = spec.data.measured as RecipeSpec.Measured;
  for (const top of new Set([folder, ROOT])) {
    const naming = { spec, at: ['measured', 'kernels', at, 'file'] };
    const path = await pathNamedBy(kernels[at].file, naming, top);
    if (existsSync(path)) return shownPath(path);
  }
  return undefined;
}

/** The kernels of the project, as patterns; none if it has none. */
export function projectKernels(): readonly string[] {
  const own = join(ROOT, 'test', 'kernels');
  return existsSync(own) ? [`${shownPath(own)}/*/*.ptx`] : [];
}

/** The command that shows how the code of a kernel differs between both sides, or the reason why there is none. */
export function diffOf(row: Row, places: Places, forceRules: boolean): string {
  const { comparison: c, file, kernel } = row;
  const spaced = places.find((p) => p !== undefined && /\s/.test(p));
  if (spaced !== undefined)
    return `\`orrery ab\` shows it for a folder whose name has no space in it, as '${spaced}' has`;
  const arms = c.sides.map(({ of, request, moves }) => {
    const ref = places[of === 'base' ? 0 : 1];
    return armText({
      name: '',
      ...(ref !== undefined && { ref }),
      ...(request.order !== DEFAULT_ORDER && { order: request.order }),
      ...((request.recipes ?? []).length > 0 && { recipe: request.recipes }),
      ...(request.knobSets.length > 0 && { knobs: request.knobSets }),
      ...(request.set.length > 0 && { set: request.set }),
      ...(moves.length > 0 && { moves }),
    });
  });
  const { level, sm, nvopt } = c.sides[1].request;
  return [
    'orrery ab',
    ...arms.map(shellWord),
    ...(level === null ? [] : [`-O ${level}`]),
    `--sm ${sm}`,
    ...(nvopt === undefined ? [] : [`--nvopt ${nvopt}`]),
    ...(forceRules ? ['--force-rules'] : []),
    `--kernels ${fileWord(file)} --diff ${shellWord(kernel)}`,
  ].join(' ');
}
