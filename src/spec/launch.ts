import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Launch } from '../sim/launch.ts';
import { launchOf } from './launch-data.ts';
import { loadSpec, toDiagnostics } from './node.ts';

/** A launch with the path of its module. */
export interface LoadedLaunch extends Launch {
  readonly modulePath: string;
  readonly file: string;
}

/**
 * Reads a launch file and the data that it names.
 *
 * @param needModule the module must be there too; not so where another takes its place
 * @throws DiagnosticError with every fault, each at its line
 */
export async function loadLaunch(path: string, needModule = false): Promise<LoadedLaunch> {
  const spec = await loadSpec(path, 'launch');
  const folder = dirname(path);
  const { launch, issues } = launchOf(spec, (name) => {
    try {
      return new Uint8Array(readFileSync(join(folder, name)));
    } catch {
      return null;
    }
  });
  const module = String(spec.data.module);
  const modulePath = join(folder, module);
  if (needModule && !existsSync(modulePath))
    issues.push({
      severity: 'error',
      code: 'launch-module',
      message: `there is no module '${module}'`,
      file: spec,
      path: ['module'],
      notes: ['it is relative to the launch file'],
    });
  if (launch === null || issues.length > 0) throw new DiagnosticError(await toDiagnostics(issues));
  return { ...launch, modulePath, file: spec.file };
}
