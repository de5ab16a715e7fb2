/**
 * A table of texts that are Markdown already.
 *
 * @param align a letter for each column: l or r
 */
export const tableRows = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  align: string,
): string[] => [
  `| ${head.join(' | ')} |`,
  `|${[...align].map((a) => (a === 'r' ? '---:' : '---')).join('|')}|`,
  ...rows.map((r) => `| ${r.join(' | ')} |`),
];
