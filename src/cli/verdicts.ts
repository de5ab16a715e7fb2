import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdicts } from '../rules/prove/verdict.ts';
import { ROOT } from '../spec/node.ts';

/** Where the verdicts of the shipped rules are kept. */
export const VERDICTS = join(ROOT, 'pipelines', 'rules', 'verdicts.json');

/** Stored verdicts; none where there is no file yet. */
export const readVerdicts = (): Verdicts =>
  existsSync(VERDICTS) ? (JSON.parse(readFileSync(VERDICTS, 'utf8')) as Verdicts) : {};
