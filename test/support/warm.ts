/**
 * Environment of a command that allows the suite's server to run it although a user's server would not (`OWN` in bin/client.cjs). For
 * commands that read no standard input, are not interrupted, and whose cost is not measured; cold, most of their cost is compiling code and
 * reading specs again. By default, or without a server, commands run cold.
 */
export const WARM: Readonly<Record<string, string>> = { ORRERY_TESTS_WARM: '1' };
