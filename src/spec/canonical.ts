import { isMap } from '../ir/data.ts';

/**
 * JSON with the keys of every map sorted, so that their order in a file does not matter.
 *
 * @param absent text of `undefined`, where it is to differ from null
 */
export function canonical(v: unknown, absent = 'null'): string {
  const text = (x: unknown): string => canonical(x, absent);
  if (Array.isArray(v)) return `[${v.map(text).join(',')}]`;
  if (!isMap(v)) return JSON.stringify(v) ?? absent;
  const keys = Object.keys(v).sort();
  return `{${keys.map((k) => `${JSON.stringify(k)}:${text(v[k])}`).join(',')}}`;
}
