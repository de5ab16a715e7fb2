import { extname } from 'node:path';
import { failWith } from './ui.ts';

/** Formats by the extension of the file to which they are written. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.csv': 'csv',
  '.dot': 'dot',
  '.htm': 'html',
  '.html': 'html',
  '.json': 'json',
  '.md': 'markdown',
  '.svg': 'svg',
};

/**
 * The output format of a command: that of `--format`, `json` with `--json`, that of the extension of the file, or else the first. An
 * unknown format, or contradicting options, end the command.
 *
 * @param file the file to which the result is written, if any
 */
export function formatOf(
  { json, format }: { readonly json?: boolean; readonly format?: string },
  formats: readonly string[],
  file?: string,
): string {
  if (format !== undefined && !formats.includes(format))
    failWith(`--format ${format} is not known`, `it is one of ${formats.join(', ')}`);
  if (json === true && format !== undefined && format !== 'json')
    failWith(`--json and --format ${format} contradict each other`, 'leave one of them out');
  if (json === true) return 'json';
  const byExtension = file === undefined ? undefined : BY_EXTENSION[extname(file).toLowerCase()];
  return format ?? (byExtension !== undefined && formats.includes(byExtension) ? byExtension : formats[0]);
}
