import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Diagnostic, DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import { baseTarget } from '../ir/target.ts';
import { TextError } from '../ir/text-error.ts';
import { buildMachine, type FormFault, machineTargets } from '../machine/build.ts';
import type { Machine } from '../machine/forms.ts';
import type { FamilyRow } from '../machine/rows.ts';
import type { SpecFile } from './document.ts';
import type { SpecIssue } from './issues.ts';
import { loadSpec, toDiagnostics } from './node.ts';
import { MACHINE_FOLDER, ROOT } from './node-cache.ts';

/*
 * Loads the forms of machine code. They are not part of the specs of plans; only code that reads or writes machine code loads them.
 */

/** Full paths of the shipped family files. */
export const machineFiles = (): string[] =>
  readdirSync(join(ROOT, MACHINE_FOLDER))
    .filter((f) => f.endsWith('.yaml'))
    .sort()
    .map((f) => join(ROOT, MACHINE_FOLDER, f));

type Families = ReadonlyMap<string, { readonly row: FamilyRow; readonly file: SpecFile }>;

async function families(): Promise<Families> {
  const out = new Map<string, { row: FamilyRow; file: SpecFile }>();
  for (const path of machineFiles()) {
    const file = await loadSpec(path, 'machine');
    const row = file.data as unknown as FamilyRow;
    out.set(row.name, { row, file });
  }
  return out;
}

const rowsOf = (all: Families): Map<string, FamilyRow> => new Map([...all].map(([n, { row }]) => [n, row]));

/** Targets whose machine code can be decoded. @throws DiagnosticError where a family file is invalid */
export const targetsOfMachines = async (): Promise<string[]> => machineTargets(rowsOf(await families()));

const machines = new Map<string, Machine>();

/**
 * The forms of a target. They are loaded once.
 *
 * @param sm `sm_90` or `sm_90a`
 * @returns null if no family has the target
 * @throws DiagnosticError if the families are faulty
 */
export async function loadMachine(sm: string): Promise<Machine | null> {
  const target = baseTarget(sm);
  const known = machines.get(target);
  if (known !== undefined) return known;
  const all = await families();
  if (![...all.values()].some(({ row }) => row.sms.includes(target))) return null;
  const { machine, faults } = machineOf(rowsOf(all), target);
  if (machine === null || faults.length > 0) throw new DiagnosticError(await diagnosed(faults, all));
  machines.set(target, machine);
  return machine;
}

function machineOf(
  rows: ReadonlyMap<string, FamilyRow>,
  sm: string,
): { machine: Machine | null; faults: FormFault[] } {
  try {
    return buildMachine(rows, sm);
  } catch (e) {
    if (!(e instanceof TextError)) throw e;
    const family = [...rows.values()].find((r) => r.sms.includes(sm))!.name;
    return { machine: null, faults: [{ family, path: ['extends'], message: e.message }] };
  }
}

const issueOf = ({ path, message }: FormFault, file: SpecFile): SpecIssue => ({
  severity: 'error',
  code: 'machine-form',
  message: path[0] === 'forms' ? `${path[1]}: ${message}` : message,
  file,
  path: [...path],
});

async function diagnosed(faults: readonly FormFault[], all: Families): Promise<Diagnostic[]> {
  const issues = faults.flatMap((f) => {
    const file = all.get(f.family)?.file;
    return file === undefined ? [] : [issueOf(f, file)];
  });
  return issues.length > 0
    ? toDiagnostics(issues)
    : [fileFault(MACHINE_FOLDER, 'the forms of this target are faulty')];
}

/**
 * Faults of a family together with the shipped ones: invalid rows, bits that belong to two fields, and words that match two forms. A family
 * with the name of a shipped one replaces it.
 */
export async function machineFaults(spec: SpecFile): Promise<SpecIssue[]> {
  const rows = rowsOf(await families());
  const own = spec.data as unknown as FamilyRow;
  for (const other of rows.values())
    for (const sm of other.name === own.name ? [] : own.sms)
      if (other.sms.includes(sm))
        return [issueOf({ family: own.name, path: ['sms'], message: `${other.name} has ${sm} too` }, spec)];
  rows.set(own.name, own);
  const seen = new Map<string, SpecIssue>();
  for (const { name, sms } of rows.values()) {
    if (!reaches(rows, name, own.name)) continue;
    for (const f of machineOf(rows, sms[0]).faults)
      if (f.family === own.name || f.path[0] === 'extends')
        seen.set(`${f.path.join('.')} ${f.message}`, issueOf(f, spec));
  }
  return [...seen.values()];
}

/** True if a family is another one or extends it, directly or indirectly. */
function reaches(rows: ReadonlyMap<string, FamilyRow>, from: string, to: string): boolean {
  const seen = new Set<string>();
  for (let n: string | undefined = from; n !== undefined && !seen.has(n); n = rows.get(n)?.extends) {
    if (n === to) return true;
    seen.add(n);
  }
  return false;
}
