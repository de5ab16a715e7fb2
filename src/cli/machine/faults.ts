import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { didYouMean } from '../../ir/diagnostic.ts';
import { baseTarget } from '../../ir/target.ts';
import { ARCHITECTURE_NAMES } from '../../ptx/targets.ts';
import { paramBase, readPtx } from '../../read.ts';
import { type Launch, runLaunch } from '../../sim/launch.ts';
import { loadShipped, ROOT } from '../../spec/node.ts';
import { loadLaunch } from '../../spec/node-launch.ts';
import { hasFault, PTXAS_LEVEL, type PtxasFault, ptxasFaults } from '../../spec/ptxas-faults.ts';
import { targetHint } from '../../spec/targets.ts';
import { planFor } from '../input/input.ts';
import { ptxasNeeded } from '../optimize/compare-ptxas.ts';
import { cubinOf, ptxasVersion } from '../optimize/ptxas-run.ts';
import { table } from '../terminal/table.ts';
import { failWith, out, pc } from '../terminal/ui.ts';
import { liftedOf, machineFor } from './lifted.ts';

/** Target for which inputs are assembled, if it has the fault. */
const USUAL_SM = 'sm_90';

interface FaultsOptions {
  readonly sm?: string;
  readonly ptxas?: boolean;
  readonly json?: boolean;
}

/** `orrery faults`: lists known faults of ptxas, or tests the installed one for them. */
export async function faults(name: string | undefined, o: FaultsOptions): Promise<void> {
  const all = ptxasFaults((await loadShipped()).ptxasFaults);
  if (name !== undefined && !all.some((f) => f.name === name)) {
    const near = didYouMean(
      name,
      all.map((f) => f.name),
    );
    failWith(`there is no fault '${name}'`, near[0] ?? '`orrery faults` lists all');
  }
  if (o.sm !== undefined && !ARCHITECTURE_NAMES.includes(o.sm))
    failWith(`--sm ${o.sm} is not a target`, targetHint(o.sm, ARCHITECTURE_NAMES));
  const chosen = all.filter(
    (f) => (name === undefined || f.name === name) && (o.sm === undefined || hasFault(f, o.sm, PTXAS_LEVEL)),
  );
  if (name !== undefined && chosen.length === 0) failWith(`${o.sm} does not have the fault '${name}'`);
  if (o.ptxas === true) ptxasNeeded();
  const here = new Map<PtxasFault, boolean>();
  if (o.ptxas === true) for (const f of chosen) here.set(f, await showsIn(f, o.sm));
  if (o.json === true) {
    const rows = chosen.map((f) => ({ ...rowOf(f), ...(o.ptxas === true && { here: here.get(f) }) }));
    return out(
      JSON.stringify({ version: 1, ptxas: o.ptxas === true ? ptxasVersion() : null, faults: rows }, null, 2),
    );
  }
  if (name !== undefined) return out(chosen.map((f) => inFull(f, here.get(f))).join('\n'));
  out(
    table(
      [
        ['fault', 'targets', 'ptxas', ...(o.ptxas === true ? ['here'] : []), ''].map((h) => pc.bold(h)),
        ...chosen.map((f) => [
          f.name,
          targetsText(f),
          f.ptxas.seen.join(' '),
          ...(o.ptxas === true ? [hereText(here.get(f))] : []),
          f.title,
        ]),
      ],
      o.ptxas === true ? 'lllll' : 'llll',
    ),
  );
}

const rowOf = (f: PtxasFault) => ({
  name: f.name,
  title: f.title,
  seen: f.ptxas.seen,
  reported: f.ptxas.reported ?? [],
  targets: f.targets,
  levels: f.levels,
  wrong: f.wrong,
  instead: f.instead,
  rules: f.rules ?? [],
  forms: f.forms ?? [],
  input: f.input,
  source: f.source,
});

/** Targets of a fault as text. */
export const targetsText = (f: PtxasFault): string => (f.targets === 'all' ? 'all' : f.targets.join(' '));

const hereText = (shows: boolean | undefined): string => (shows === true ? pc.yellow('yes') : 'no');

function inFull(f: PtxasFault, shows: boolean | undefined): string {
  const rows = [
    ['what', f.title],
    ['wrong', f.wrong],
    ['instead', f.instead],
    ['targets', `${targetsText(f)}, at ${f.levels.map((l) => `-O${l}`).join(' ')}`],
    [
      'ptxas',
      `seen in ${f.ptxas.seen.join(', ')}${f.ptxas.reported ? `, reported of ${f.ptxas.reported.join(', ')}` : ''}`,
    ],
    ...(shows === undefined ? [] : [['here', `${shows ? 'yes' : 'no'}, by ptxas ${ptxasVersion()}`]]),
    ...(f.rules === undefined ? [] : [['rules', f.rules.join(', ')]]),
    ...(f.forms === undefined ? [] : [['forms', f.forms.join(', ')]]),
    ['input', f.input],
    ['source', f.source],
  ];
  return `${pc.bold(f.name)}\n${table(
    rows.map(([k, v]) => [`  ${k}`, v]),
    'll',
  )}`;
}

/**
 * Whether the code that ptxas generates for the input of a fault gives wrong results in its launch.
 *
 * @param sm target; undefined: sm_90, or the first that has the fault
 */
async function showsIn(f: PtxasFault, sm?: string): Promise<boolean> {
  const target = sm ?? (f.targets === 'all' || f.targets.includes(USUAL_SM) ? USUAL_SM : f.targets[0]);
  const launch = await loadLaunch(join(ROOT, f.input));
  const shows = await wrongIn(launch, readFileSync(launch.modulePath, 'utf8'), target);
  return typeof shows === 'string' ? failWith(`${f.input}: ${shows}`) : shows;
}

/** Whether the code that ptxas generates for a text fails a launch; a string says why that cannot be determined. */
export async function wrongIn(launch: Launch, text: string, sm: string): Promise<boolean | string> {
  const elf = cubinOf(text, [`-arch=${sm}`, `-O${PTXAS_LEVEL}`]);
  if (typeof elf === 'string') return elf;
  const plan = await planFor({ sm: baseTarget(sm) }, sm, await loadShipped());
  const { program } = readPtx(text, plan);
  const lifted = liftedOf({ elf }, await machineFor(sm), plan, program, launch.kernel);
  if (typeof lifted === 'string') return lifted;
  const { status, error } = runLaunch(lifted.program, plan.isa, launch, paramBase(plan));
  return status === 'ok' ? false : status === 'mismatch' ? true : (error ?? 'it reaches the budget');
}
