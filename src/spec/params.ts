import { match } from 'ts-pattern';
import type { ParamType, ParamTypes } from '../ir/pass.ts';
import type { SpecFile } from './document.ts';
import type { Host } from './host.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { type StepSpec, stepLists } from './steps.ts';

/** Reports a pass that does not exist. */
export const unknownPass = (at: Spot, pass: string, passes: ReadonlySet<string>, issues: Issues): void =>
  issues.unknown(
    at,
    'unknown-pass',
    `there is no pass '${pass}'`,
    pass,
    passes,
    `passes are ${[...passes].join(', ')}`,
  );

/** Reports parameters that a pass does not have, and values of the wrong type. */
export function checkParams(
  at: Spot,
  pass: string,
  params: Readonly<Record<string, unknown>> | undefined,
  known: ParamTypes | undefined,
  issues: Issues,
): void {
  if (params === undefined || known === undefined) return;
  for (const [name, value] of Object.entries(params)) {
    const type = Object.hasOwn(known, name) ? known[name] : undefined;
    const names = Object.keys(known);
    if (type === undefined)
      issues.unknown(
        below(at, 'params', name),
        'pass-params',
        `pass '${pass}' has no parameter '${name}'`,
        name,
        names,
        names.length === 0 ? 'it takes none' : `its parameters are ${names.join(', ')}`,
        { key: true },
      );
    else if (!fits(type, value))
      issues.error(
        below(at, 'params', name),
        'pass-params',
        `parameter '${name}' of pass '${pass}' cannot be ${JSON.stringify(value)}: ${wanted(type)}`,
      );
  }
}

/** Phase tables that were checked without faults, with the set of passes that they were checked against. */
const checked = new WeakMap<SpecFile, Host['passes']>();

/** Checks the passes and parameters in the rows and named step lists of a phase table. */
export function checkRows(phases: SpecFile, host: Pick<Host, 'passes' | 'passParams'>, issues: Issues): void {
  if (checked.get(phases) === host.passes) return;
  const before = issues.list.length;
  const walk = (steps: readonly StepSpec[], at: Spot): void =>
    steps.forEach((s, i) => {
      if (s.pass !== undefined && !host.passes.has(s.pass))
        unknownPass(below(at, i, 'pass'), s.pass, host.passes, issues);
      else if (s.pass !== undefined)
        checkParams(below(at, i), s.pass, s.params, host.passParams?.(s.pass), issues);
      if (s.repeat !== undefined) walk(s.repeat, below(at, i, 'repeat'));
    });
  (phases.data.phases as readonly { readonly steps?: readonly StepSpec[] }[]).forEach((row, i) =>
    walk(row.steps ?? [], { file: phases, path: ['phases', i, 'steps'] }),
  );
  for (const [name, steps] of Object.entries(stepLists(phases)))
    walk(steps, { file: phases, path: ['stepLists', name] });
  if (issues.list.length === before) checked.set(phases, host.passes);
}

const fits = (type: ParamType, value: unknown): boolean =>
  match(type)
    .with({ kind: 'flag' }, () => typeof value === 'boolean')
    .with({ kind: 'word' }, ({ words }) => words.includes(value as string))
    .with(
      { kind: 'number' },
      ({ least, whole }) =>
        typeof value === 'number' && value >= least && (!whole || Number.isInteger(value)),
    )
    .exhaustive();

const wanted = (type: ParamType): string =>
  match(type)
    .with({ kind: 'flag' }, () => 'it must be true or false')
    .with({ kind: 'word' }, ({ words }) => `it must be ${words.join(' or ')}`)
    .with(
      { kind: 'number' },
      ({ least, whole }) => `it must be ${whole ? 'a whole number' : 'a number'} of at least ${least}`,
    )
    .exhaustive();
