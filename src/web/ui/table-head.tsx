/** The head of a table: the names of its columns; those in `numbers` are aligned at the right. */
export function TableHead({
  columns,
  numbers = [],
}: {
  readonly columns: readonly string[];
  readonly numbers?: readonly string[];
}) {
  return (
    <thead>
      <tr>
        {columns.map((name) => (
          <th key={name} scope="col" class={numbers.includes(name) ? 'num' : undefined}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}
