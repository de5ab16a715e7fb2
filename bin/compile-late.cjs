// By default V8 optimizes a function soon after it has begun to run often. One run of the pipeline is many functions that each run for a
// short while: on a kernel of 10,000 instructions optimizing them took half of all CPU time, and code that has not been optimized
// would have been through long before. With these flags 16 files of 1,000 to 9,000 lines take half of the time with Node 20, and a kernel
// of 4,600 lines 0.6 with 22 and 0.8 with 24; one of 30,000 no longer than without them.
// A process that runs many commands meets each function again, but not soon: with flags between these and the defaults, 61 files that it
// had not met took 0.85 of the time with Node 20 and 22, and as long with 24, and no longer when it met them again.
// V8 prints an error for a flag that it does not know, and gives them other names at times: each line is for versions with which it was
// tried, those of Node 20, and of 22, 24, 25 and 26.
const [major, minor] = process.versions.v8.split('.').map(Number);

/** Flags for `setFlagsFromString` or the command line of a process, by how often functions run before they are optimized. */
const flags =
  major === 11 && minor === 3
    ? // Bytes of bytecode that a function runs.
      { late: ['--interrupt-budget=2000000'], between: ['--interrupt-budget=300000'] }
    : (major === 12 && minor >= 4) || major === 13 || (major === 14 && minor <= 6)
      ? // Runs of a function: ten times as many as by default, and two and a half times.
        {
          late: ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=40000'],
          between: ['--invocation-count-for-maglev=1000', '--invocation-count-for-turbofan=10000'],
        }
      : { late: [], between: [] };

/** Flags of a process that runs one command. */
exports.flags = flags.late;
/** Flags of a process of the server. */
exports.serverFlags = flags.between;
