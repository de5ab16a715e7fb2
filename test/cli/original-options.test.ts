import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/* Options that the pages on the original spell as its command line does. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const plan = (...args: string[]) => {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), 'plan', '--sm', 'sm_80', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', COLUMNS: '200' },
  });
  expect([r.status, r.stderr]).toEqual([0, '']);
  return r.stdout;
};

it('--no-phase switches off the phases with a name, also several times', () => {
  expect(plan('--no-phase', 'ConvertMemoryToRegisterOrUniform')).toMatch(
    /switched off, knob DisablePhases names 'ConvertMemoryToRegisterOrUniform':\s+ConvertMemoryToRegisterOrUniform, GeneralOptimizeMid\b/,
  );
  const words =
    '--set DisablePhases=Sink,GvnCse --no-phase=loopunrolling --set FPFoldDisable --no-phase Predication';
  const two = plan(...words.split(' '));
  expect(two).toMatch(/DisablePhases .*"Sink\+GvnCse\+loopunrolling\+Predication"/);
  expect(two).toMatch(/FPFoldDisable .*true/);
});

it('--limit-fold-fp is the knob LimitFoldFp, which --set finds by this name too', () => {
  expect(plan('--limit-fold-fp', '--set', 'FPFoldDisable')).toMatch(
    /FPFoldDisable .*true[\s\S]*LimitFoldFp .*true/,
  );
  for (const set of ['limit-fold-fp', 'limit-fold-fp=true'])
    expect(plan('--set', set)).toMatch(/LimitFoldFp .*true/);
  expect(plan('--set', 'limit-fold-fp=false')).toMatch(/LimitFoldFp .*false/);
  expect(plan()).not.toContain('LimitFoldFp');
});
