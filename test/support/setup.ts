import fc from 'fast-check';
import { commandStarter } from './commands.ts';
import { runs } from './size.ts';
import { startProcessesElsewhere } from './start-processes.ts';

startProcessesElsewhere();
commandStarter();

// The same cases in every run, even of properties without a seed of their own, and more of them in a larger size.
fc.configureGlobal({ seed: 20, numRuns: runs(100) });
