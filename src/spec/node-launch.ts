import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import { ELEMENT_BYTES, type Launch, pointerSizes, tooManyBytes } from '../sim/launch.ts';
import type { SpecFile } from './document.ts';
import { Issues } from './issues.ts';
import { launchOf } from './launch-data.ts';
import { loadSpec, SpecFaults, toDiagnostics, withRest } from './node.ts';
import { readNamed, reason, Unreadable } from './node-files.ts';
import { namedPath } from './node-paths.ts';

/** A launch with its spec and the path of its module; the path is as shown to the user. */
export interface LoadedLaunch extends Launch {
  readonly modulePath: string;
  readonly file: string;
  readonly spec: SpecFile;
}

/**
 * Reads a launch file and the data files that it names.
 *
 * @param needModule true if the module must exist; false if the caller provides another one
 * @throws DiagnosticError with every fault at its line
 */
export async function loadLaunch(path: string, needModule = false): Promise<LoadedLaunch> {
  const { spec, faults } = await readLaunch(path);
  const { launch, issues } = launchOf(spec, (name, size) => {
    try {
      return new Uint8Array(readNamed(namedPath(name, path), 'input', size));
    } catch (e) {
      return e instanceof Unreadable
        ? [e.message, ...e.notes].join('; ')
        : (e as NodeJS.ErrnoException).code === 'ENOENT'
          ? 'there is no such file'
          : reason(e);
    }
  });
  const module = String(spec.data.module);
  const at = { severity: 'error', code: 'launch-module', file: spec, path: ['module'] } as const;
  let modulePath = '';
  try {
    // The path as shown: relative if the path of the launch file is.
    modulePath = isAbsolute(module) ? module : join(dirname(path), module);
    if (!existsSync(namedPath(module, path)) && needModule)
      issues.push({
        ...at,
        message: `there is no module '${module}'`,
        notes: ['it is relative to the launch file'],
      });
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    issues.push({ ...at, message: `the module '${module}' is not read: ${e.message}`, notes: e.notes });
  }
  const found = await toDiagnostics(issues);
  if (faults.length > 0) throw new DiagnosticError(withRest(faults, found));
  if (launch === null || found.length > 0) throw new DiagnosticError(found);
  return { ...launch, modulePath, file: spec.file, spec };
}

/** Reads a launch file; if its form is invalid, the result has the valid entries and the faults. */
async function readLaunch(path: string): Promise<{ spec: SpecFile; faults: readonly Diagnostic[] }> {
  try {
    return { spec: await loadSpec(path, 'launch'), faults: [] };
  } catch (e) {
    if (!(e instanceof SpecFaults) || e.rest === undefined) throw e;
    return { spec: e.rest, faults: e.diagnostics };
  }
}

/**
 * Checks that a launch fits a program: the kernel exists, its parameters have the sizes that the launch gives, there is enough shared
 * memory, and the variables of the program do not exceed what a launch can load.
 * @param most maximum bytes of dynamic shared memory of a block on the target; absent: no limit
 * @throws DiagnosticError at the line that does not fit
 */
export async function fitLaunch(launch: LoadedLaunch, program: Program, most?: number): Promise<void> {
  const kernels = program.functions.filter((f) => f.kind === 'entry');
  const kernel = kernels.find((f) => f.name === launch.kernel);
  const issues = new Issues();
  const pointers = pointerSizes(program);
  const at = (...path: (string | number)[]) => ({ file: launch.spec, path });
  if (kernel === undefined) {
    const names = kernels.map((f) => f.name);
    issues.unknown(
      at('kernel'),
      'launch-kernel',
      `there is no kernel '${launch.kernel}' in ${program.name}`,
      launch.kernel,
      names,
      names.length > 0 ? `kernels are ${names.join(', ')}` : 'no kernel of it was lowered',
    );
  } else if (kernel.params.length !== launch.params.length)
    issues.error(
      at('params'),
      'launch-params',
      `kernel '${kernel.name}' takes ${kernel.params.length} parameters, the launch gives ${launch.params.length}`,
      {
        key: true,
        notes: kernel.params.map((p, i) => `${i}: ${p.name}, ${p.size} bytes`),
      },
    );
  else
    launch.params.forEach((given, i) => {
      const { name, size } = kernel.params[i];
      const [bytes, what] =
        given.kind === 'buffer'
          ? [pointers.includes(size) ? size : pointers[0], 'a pointer']
          : given.kind === 'scalar'
            ? [ELEMENT_BYTES[given.type], given.type]
            : [given.bytes.length, 'the launch'];
      if (given.kind === 'bytes' ? bytes > size : bytes !== size)
        issues.error(
          at('params', i),
          'launch-params',
          `parameter ${i} (${name}) of '${kernel.name}' has ${size} bytes, ${what} has ${bytes}`,
        );
    });
  const tooMany = tooManyBytes(program);
  if (tooMany !== null) issues.error(at('module'), 'launch-variables', tooMany);
  if (most !== undefined && launch.dynamicShared > most)
    issues.error(
      at('dynamic-shared'),
      'launch-shared',
      `${launch.dynamicShared} bytes of shared memory: a block of ${program.target} has at most ${most}`,
    );
  if (issues.failed) throw new DiagnosticError(await toDiagnostics(issues.list));
}
