/**
 * The entry of a table for a name from input; undefined if there is none. A plain property access would find inherited properties
 * such as `constructor`.
 */
export const entryOf = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;
