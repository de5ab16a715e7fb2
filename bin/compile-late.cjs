const { setFlagsFromString } = require('node:v8');

// By default V8 optimizes a function soon after it has begun to run often. One run of the pipeline is many functions that each run for a
// short while: on a kernel of 10,000 instructions optimizing them took half of all CPU time, and code that has not been optimized
// would have been through long before. With these flags 16 files of 1,000 to 9,000 lines take half of the time with Node 20, and a kernel
// of 4,600 lines 0.6 with 22 and 0.8 with 24; one of 30,000 no longer than without them.
// A process that runs many commands meets each function again, but not soon: with a budget between these and the default, 61 files that it
// had not met took 0.86 of the time with Node 20, and no longer when it met them again. With 22 and 24 they took a tenth longer then.
// V8 prints an error for a flag that it does not know, and gives them other names at times: each line is for versions with which it was
// tried, those of Node 20, and of 22, 24, 25 and 26.
const [major, minor] = process.versions.v8.split('.').map(Number);

/** Flags for `setFlagsFromString` or the command line of a process. */
const flags =
  major === 11 && minor === 3
    ? // Bytes of bytecode that a function runs; 67,584 by default.
      { one: ['--interrupt-budget=2000000'], server: ['--interrupt-budget=300000'] }
    : (major === 12 && minor >= 4) || major === 13 || (major === 14 && minor <= 6)
      ? // Runs of a function: ten times as many as by default.
        { one: ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=40000'], server: [] }
      : { one: [], server: [] };

let runsOneCommand = false;

/** Flags of a process that runs one command. */
exports.flags = flags.one;

/** Sets the flags of this process. @param isServer whether it runs many commands */
exports.setFlags = (isServer) => {
  for (const flag of isServer ? flags.server : flags.one) setFlagsFromString(flag);
  runsOneCommand = !isServer;
};

// The simulator is few functions that run for long: with this budget, in place of that for one command, a check that runs 600,000 warp
// instructions takes about 0.75 of the time with Node 20, and a short one as long as before. With 144,000 a short check makes the whole
// command take a tenth longer. Processes that run many commands keep their flags: theirs are lower.
/** Sets the flags with which the simulator runs, in a process that `setFlags` has set up for one command; none in others. */
exports.setCheckFlags = () => {
  if (runsOneCommand && major === 11 && minor === 3) setFlagsFromString('--interrupt-budget=500000');
};
