import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdicts } from '../rules/prove/verdict.ts';
import { ROOT } from '../spec/node.ts';

/** Path of the verdicts of the shipped rules, in the folder of the project. */
export const VERDICTS_FILE = 'pipelines/rules/verdicts.json';

/** Where the verdicts of the shipped rules are kept. */
export const VERDICTS = join(ROOT, ...VERDICTS_FILE.split('/'));

/** Stored verdicts; none where there is no file yet. */
export const readVerdicts = (): Verdicts =>
  existsSync(VERDICTS) ? (JSON.parse(readFileSync(VERDICTS, 'utf8')) as Verdicts) : {};
