import { host } from '../../engine/pipeline.ts';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { checkFileQuickly } from '../../spec/node-check.ts';

/**
 * The errors of a spec that can be found between two keys: those of its form and its names, and of one plan that uses it. `orrery check`
 * makes plans for every level and target, evaluates rules and reads launches; that follows in the background.
 */
export const quickFaults = async (path: string): Promise<Diagnostic[]> =>
  (await checkFileQuickly(path, host)).filter((d) => d.severity === 'error');
