import { statSync } from 'node:fs';
import { STANDARD_INPUT } from '../input/files.ts';
import { warnOtherFunctions } from '../input/input.ts';
import { jobsOf } from '../input/jobs.ts';
import { CliExit } from '../terminal/ui.ts';
import { asksForCode, optCode } from './opt-code.ts';
import { optMany } from './opt-many.ts';
import type { OptOptions } from './opt-options.ts';
import { optimize } from './optimize.ts';

/** `orrery opt`: optimizes one file or several. */
export async function opt(files: readonly string[], o: OptOptions): Promise<void> {
  const [file] = files;
  if (files.length > 1 || isFolderOrPattern(file)) return optMany(files, o);
  jobsOf(o.jobs, 1);
  if (asksForCode(o)) return optCode(file, o);
  const { equal, functions } = await optimize(file, o, o.quiet !== true);
  if (o.profile !== undefined) warnOtherFunctions(o.profile, functions);
  if (equal === false) throw new CliExit(1);
}

/** `-` is standard input, even if a file of that name exists. */
const isFolderOrPattern = (file: string): boolean =>
  file !== STANDARD_INPUT && (statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? /[*?]/.test(file));
