/**
 * What a table has under a name that anybody may have chosen; undefined where it has nothing. A plain look-up of `constructor` or
 * `toString` finds what every object has.
 */
export const entryOf = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
