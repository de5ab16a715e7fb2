// By default V8 optimizes a function soon after it has begun to run often. One run of the pipeline is many functions that each run for a
// short while: on a kernel of 10,000 instructions optimizing them took half of all CPU time, and code that has not been optimized
// would have been through long before. With these flags such a kernel takes 0.55 of the time with Node 20, 0.75 with Node 24, and one of
// 30,000 or 100,000 instructions no longer than before.
// V8 prints an error for a flag that it does not know, and names them anew at times: each line is of the versions that it was tried with.
const [major, minor] = process.versions.v8.split('.').map(Number);

/** Flags of this V8, for `setFlagsFromString` or the command line of a process. */
exports.flags =
  major === 11 && minor === 3
    ? // Bytes of bytecode that a function runs.
      ['--interrupt-budget=1000000']
    : (major === 12 && minor >= 4) || major === 13 || major === 14
      ? // Runs of a function: ten times as many as by default.
        ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=40000']
      : [];
