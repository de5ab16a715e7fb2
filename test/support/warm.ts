/**
 * Environment variables with which the test suite's server runs a command that a server for users would refuse (`OWN` in bin/client.cjs).
 * This saves compiling code and reading specs again. Only for commands that read no standard input, are not interrupted, and whose cost
 * is not measured. Without these variables, or without a server, a command runs in a process of its own.
 */
export const WARM: Readonly<Record<string, string>> = { ORRERY_TESTS_WARM: '1' };
