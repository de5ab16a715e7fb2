import { failWith } from './ui.ts';

/**
 * The format in which a command writes: that of `--format`, `json` with `--json`, or else the first.
 * Fails if the format is not known, or if the two options contradict each other.
 */
export function formatOf(
  { json, format }: { readonly json?: boolean; readonly format?: string },
  formats: readonly string[],
): string {
  if (format !== undefined && !formats.includes(format))
    failWith(`--format ${format} is not known`, `it is one of ${formats.join(', ')}`);
  if (json === true && format !== undefined && format !== 'json')
    failWith(`--json and --format ${format} contradict each other`, 'leave one of them out');
  return json === true ? 'json' : (format ?? formats[0]);
}
