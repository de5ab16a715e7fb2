/**
 * The lines of a Markdown table. Texts are not escaped.
 *
 * @param align a letter for each column: l (left) or r (right)
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
