/**
 * In the environment of a command: the suite's server may run it though a user's would not (`OWN` in bin/client.cjs). It is for commands
 * that read no standard input, that nobody interrupts and of whose costs nobody asks; cold, most of what such a command costs is code
 * that is compiled and specs that are read once more. Where a test says nothing of it, or there is no server, a command is cold.
 */
export const WARM: Readonly<Record<string, string>> = { ORRERY_TESTS_WARM: '1' };
