import fc from 'fast-check';
import { commandStarter } from './commands.ts';
import { runs } from './size.ts';
import { startProcessesElsewhere } from './start-processes.ts';

startProcessesElsewhere();
commandStarter();

// The same cases in every run, also of properties that name no seed of their own, and more of all in a larger size.
fc.configureGlobal({ seed: 20, numRuns: runs(100) });
