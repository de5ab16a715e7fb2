import { failWith } from './ui.ts';

/**
 * The output format of a command: that of `--format`, `json` with `--json`, or else the first. An unknown format, or contradicting options,
 * end the command.
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
