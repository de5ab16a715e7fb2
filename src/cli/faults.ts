import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCubin } from '../cubin/read.ts';
import { nearest } from '../ir/diagnostic.ts';
import { type Listed, listCode } from '../machine/listing.ts';
import { instructionText } from '../machine/text.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { loadLaunch } from '../spec/node-launch.ts';
import { loadMachine } from '../spec/node-machine.ts';
import { hasFault, PTXAS_LEVEL, type PtxasFault, ptxasFaults } from '../spec/ptxas-faults.ts';
import { ptxasNeeded } from './compare-ptxas.ts';
import { ptxasCommand, ptxasVersion } from './ptxas-run.ts';
import { table } from './table.ts';
import { failWith, out, pc } from './ui.ts';

/** Target for which inputs are assembled, where it has the fault. */
const USUAL_SM = 'sm_90';

interface FaultsOptions {
  readonly sm?: string;
  readonly ptxas?: boolean;
  readonly json?: boolean;
}

/** `orrery faults`. */
export async function faults(name: string | undefined, o: FaultsOptions): Promise<void> {
  const all = ptxasFaults((await loadShipped()).ptxasFaults);
  if (name !== undefined && !all.some((f) => f.name === name)) {
    const near = nearest(
      name,
      all.map((f) => f.name),
    );
    failWith(
      `there is no fault '${name}'`,
      near.length > 0
        ? `did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`
        : '`orrery faults` lists all',
    );
  }
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
  rules: f.rules,
  input: f.input,
  source: f.source,
});

/** Targets of a fault in words. */
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
    ['rules', f.rules.join(', ')],
    ['input', f.input],
    ['source', f.source],
  ];
  return `${pc.bold(f.name)}\n${table(
    rows.map(([k, v]) => [`  ${k}`, v]),
    'll',
  )}`;
}

/**
 * Whether the code that ptxas makes of a fault's input is wrong as the fault says.
 * @param sm target; undefined: sm_90, or the first that has the fault
 */
async function showsIn(f: PtxasFault, sm?: string): Promise<boolean> {
  const target = sm ?? (f.targets === 'all' || f.targets.includes(USUAL_SM) ? USUAL_SM : f.targets[0]);
  const launch = await loadLaunch(join(ROOT, f.input));
  const listings = await listingsOf(readFileSync(launch.modulePath, 'utf8'), target);
  return matchesMachine(f, listings.get(launch.kernel) ?? '');
}

/** Whether a listing holds what stands where the code is wrong. */
export const matchesMachine = (f: PtxasFault, listing: string): boolean =>
  new RegExp(f.machine, 'm').test(listing);

/** The instructions that ptxas makes of each function of PTX at -O3, one a line, by its name. Ends the command where ptxas refuses it. */
export async function listingsOf(ptx: string, sm: string): Promise<ReadonlyMap<string, string>> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-faults-'));
  try {
    const [input, cubin] = [join(dir, 'in.ptx'), join(dir, 'out.cubin')];
    writeFileSync(input, ptx);
    const options = [`-arch=${sm}`, `-O${PTXAS_LEVEL}`, input, '-o', cubin];
    const r = spawnSync(ptxasCommand(), options, { encoding: 'utf8' });
    if (r.status !== 0) failWith(`ptxas refuses the input for ${sm}`, r.stderr.trim());
    const machine = await loadMachine(sm);
    if (machine === null) return failWith(`code of ${sm} cannot be read`);
    const text = (w: Listed): string =>
      w.instruction === null ? 'unknown' : instructionText(machine, w.instruction, w.address);
    return new Map(
      listCode(readCubin(readFileSync(cubin)), machine).map((f) => [f.fn.name, f.code.map(text).join('\n')]),
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
