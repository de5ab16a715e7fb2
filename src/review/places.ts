import type { PlacedDifference } from '../lab/plan-differences.ts';
import type { SpecFile } from '../spec/document.ts';
import { RowTable } from '../spec/entries.ts';
import { placeOf } from '../spec/places.ts';
import {
  flatSteps,
  type Origin,
  type Plan,
  type PlanPhase,
  type RepeatStep,
  type Step,
  stepData,
} from '../spec/plan.ts';
import type { Specs } from '../spec/specs.ts';
import { canonical } from './data-diff.ts';

/** All specs of a side, by file name. */
export const filesOf = (specs: Specs): Map<string, SpecFile> =>
  new Map(
    [
      specs.phases,
      specs.constraints,
      specs.knobs,
      ...specs.isa,
      ...(specs.ptx === undefined ? [] : [specs.ptx]),
      ...(specs.ptxasFaults === undefined ? [] : [specs.ptxasFaults]),
      ...specs.orders.values(),
      ...specs.backends.values(),
      ...specs.recipes.values(),
      ...specs.knobSets.values(),
      ...(specs.rules?.values() ?? []),
    ].map((f) => [f.file, f]),
  );

/** The location of a path in a spec as `file:line`, or `file` if the text is not available. */
export function placeText(files: ReadonlyMap<string, SpecFile>, file: string, path: Origin['path']): string {
  const spec = files.get(file);
  if (spec === undefined || spec.text === '') return file;
  return `${file}:${placeOf(spec.text, path).line}`;
}

/** Where the head states something, or, if the head does not, where the base does; as `file:line`, or ''. */
export interface Stated {
  readonly place: string;
  readonly basePlace: string;
}

/** A path in a file of one side. */
export interface At {
  readonly file: string;
  readonly path: Origin['path'];
}

/** Looks up locations in the files of both sides. */
export class Places {
  readonly base: Specs;
  readonly head: Specs;
  private readonly baseFiles: ReadonlyMap<string, SpecFile>;
  private readonly headFiles: ReadonlyMap<string, SpecFile>;

  constructor(base: Specs, head: Specs) {
    this.base = base;
    this.head = head;
    this.baseFiles = filesOf(base);
    this.headFiles = filesOf(head);
  }

  /** The location of something at the head, or else at the base. Undefined, or a path in a file without a name, means no location. */
  of(head: At | undefined, base: At | undefined): Stated {
    const known = (at: At | undefined): at is At => at !== undefined && at.file !== '';
    if (known(head)) return { place: placeText(this.headFiles, head.file, head.path), basePlace: '' };
    return {
      place: '',
      basePlace: known(base) ? placeText(this.baseFiles, base.file, base.path) : '',
    };
  }

  /** The location of a difference between two plans. */
  ofDifference({ difference: d, phase, plans: [base, head] }: PlacedDifference): Stated {
    if (phase !== null) return this.ofPhase(phase, base, head);
    const inOrder = (plan: Plan) => plan.phases.find((p) => p.id === d.name)?.origin;
    const inRules = (s: Specs) => {
      const f = s.rules?.get(d.name);
      return f === undefined ? undefined : { file: f.file, path: [] };
    };
    switch (d.kind) {
      case 'knob':
        return this.of(head.knobs.get(d.name)?.origin, base.knobs.get(d.name)?.origin);
      case 'fact':
        return this.of(head.backend.origins.get(d.name), base.backend.origins.get(d.name));
      case 'rules':
        return this.of(inRules(this.head), inRules(this.base));
      default:
        return this.of(inOrder(head), inOrder(base));
    }
  }

  private ofPhase(phase: NonNullable<PlacedDifference['phase']>, base: Plan, head: Plan): Stated {
    const { about, a, b } = phase;
    if (b === undefined) return this.of(this.replacing(a, head), a?.origin);
    const settingOf = (plan: Plan) =>
      plan.settings.find((s) => s.what === 'phase' && s.name === b.id)?.origin;
    if (a === undefined) return this.of(b.origin, undefined);
    if (about === 'state') return this.of(b.disabled?.origin ?? settingOf(head), a.disabled?.origin);
    if (about === 'steps') return this.ofSteps(a, b);
    if (canonical(a.roundAfter) !== canonical(b.roundAfter)) return this.of(b.origin, undefined);
    return this.of(this.changedKey(b, ['gate', 'noOp']) ?? settingOf(head), settingOf(base) ?? a.origin);
  }

  /** The edit of the head's order that replaces a phase by another; undefined if none does. */
  private replacing(gone: PlanPhase | undefined, head: Plan): At | undefined {
    const replaces = ({ origin: { file, path } }: PlanPhase): boolean => {
      const edits = this.headFiles.get(file)?.data.edits as readonly { replace?: string }[] | undefined;
      const replaced = path[0] === 'edits' ? edits?.[Number(path[1])]?.replace : undefined;
      return replaced !== undefined && (replaced === gone?.id || replaced === gone?.name);
    };
    return head.phases.find(replaces)?.origin;
  }

  /** The location of the first key of a phase's row that differs from the base; the row itself if it no longer has that key. */
  private changedKey({ id }: PlanPhase, keys: readonly ('gate' | 'noOp')[]): At | undefined {
    const [was, is] = [this.base, this.head].map((s) => new RowTable(s.phases));
    const [before, after] = [was.rows[was.find(id)], is.rows[is.find(id)]];
    const key = keys.find((k) => canonical(before?.[k]) !== canonical(after?.[k]));
    return key === undefined ? undefined : this.inRow(id, key);
  }

  /** The location of a key in the head's row of a phase; undefined for an inserted phase, which has no row. */
  private inRow(id: string, key: 'gate' | 'noOp' | 'steps'): At | undefined {
    const table = new RowTable(this.head.phases);
    const i = table.find(id);
    if (i < 0) return undefined;
    const { file } = this.head.phases;
    return { file, path: ['phases', i, ...(table.rows[i][key] === undefined ? [] : [key])] };
  }

  /** The location of the first step that differs; if a step was only removed, the list that contained it. */
  private ofSteps(a: PlanPhase, b: PlanPhase): Stated {
    const { was, is } = firstOther(a.steps, b.steps);
    if (is !== undefined) return this.of({ file: is.origin.file, path: withinStep(was, is) }, undefined);
    const gone = was?.origin;
    if (gone?.source !== 'phases') return this.of(undefined, gone);
    const list = gone.path[0] === 'stepLists' ? String(gone.path[1]) : '';
    const lists = this.head.phases.data.stepLists as Readonly<Record<string, unknown>> | undefined;
    return this.of(
      lists?.[list] === undefined
        ? this.inRow(b.id, 'steps')
        : { file: this.head.phases.file, path: ['stepLists', list] },
      gone,
    );
  }
}

type Other = { readonly was: Step | undefined; readonly is: Step | undefined };

/** The first differing steps of two lists, after their common prefix; undefined for a side whose remainder is the common suffix. */
function firstOther(a: readonly Step[], b: readonly Step[]): Other {
  const same = (x: Step | undefined, y: Step | undefined) =>
    x !== undefined && y !== undefined && canonical(stepData(x)) === canonical(stepData(y));
  let from = 0;
  while (same(a[from], b[from])) from++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - from && same(a.at(-1 - end), b.at(-1 - end))) end++;
  const was = from < a.length - end ? a[from] : undefined;
  const is = from < b.length - end ? b[from] : undefined;
  if (was?.kind === 'repeat' && is?.kind === 'repeat') {
    const inner = firstOther(flatSteps([was]), flatSteps([is]));
    const cost = (s: RepeatStep): string => canonical([s.leastCost, s.weights]);
    if (was.rounds === is.rounds && was.roundsBy === is.roundsBy && cost(was) === cost(is)) return inner;
  }
  return { was, is };
}

/** The path of the part in which a step differs from an earlier version of it. */
function withinStep(was: Step | undefined, is: Step): Origin['path'] {
  const { path } = is.origin;
  if (was?.kind === 'pass' && is.kind === 'pass' && was.pass === is.pass) return [...path, 'params'];
  if (was?.kind === 'rules' && is.kind === 'rules') {
    const i = is.groups.findIndex((g) => !was.groups.includes(g));
    return i < 0 ? [...path, 'rules'] : [...path, 'rules', i];
  }
  return path;
}
