import { Sides } from './listing.tsx';
import { PaneChoice } from './panes.tsx';
import { fnAt, fnName, left, picked, right, run, tables, valueNames } from './store.ts';
import { TextPanes } from './text-panes.tsx';

/** Two snapshots side by side, or PTX before and after. */
export function Code() {
  const [a, b] = [left.value, right.value];
  if (run.value === null) return null;
  return (
    <section class="code" aria-label="Code">
      <PaneChoice />
      {typeof a === 'number' && typeof b === 'number' ? <Snapshots a={a} b={b} /> : <TextPanes a={a} b={b} />}
    </section>
  );
}

function Snapshots({ a, b }: { readonly a: number; readonly b: number }) {
  const [x, y] = [fnAt(a), fnAt(b)];
  const names = valueNames.value;
  if (x < 0 && y < 0) return <p class="empty">Neither snapshot has a function {fnName.value}.</p>;
  return (
    <Sides
      a={x}
      b={y}
      label={`Code of ${fnName.value}`}
      picked={picked.value}
      names={[names[a] ?? '', names[b] ?? '']}
      onPick={(ins, side, register) => {
        picked.value = { snapshot: side === 'a' ? a : b, ins, register, line: tables.ins[ins][1] };
      }}
    />
  );
}
