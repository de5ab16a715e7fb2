import { useEffect, useMemo, useState } from 'preact/hooks';
import { Ins } from './ins.tsx';
import { fnAt, outputOf, type Pane, picked, source, tables, valueNames } from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes } from './words.ts';

const ROW = 20;

/** Two panes of which at least one is PTX: they scroll independently, and lines from the same source line are marked in both. */
export const TextPanes = ({ a, b }: { readonly a: Pane; readonly b: Pane }) => (
  <div class="text-panes">
    <OnePane pane={a} />
    <OnePane pane={b} />
  </div>
);

const OnePane = ({ pane }: { readonly pane: Pane }) =>
  typeof pane === 'number' ? <Listing snapshot={pane} /> : pane === 'ptx' ? <Ptx /> : <Output />;

function Ptx() {
  const text = source.value?.text ?? '';
  const lines = useMemo(() => text.split('\n'), [text]);
  const line = picked.value?.line ?? 0;
  return (
    <VirtualList
      class="listing ptx"
      label="PTX as it came in"
      count={lines.length}
      height={ROW}
      current={line - 1}
      onCurrent={(i) => (picked.value = { snapshot: 0, ins: -1, register: '', line: i + 1 })}
      row={(i) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
        <div
          key={i}
          class={classes('line ins', i + 1 === line && 'current')}
          onClick={() => (picked.value = { snapshot: 0, ins: -1, register: '', line: i + 1 })}
        >
          <span class="src">{i + 1}</span>
          <code>{lines[i].replaceAll('\t', '  ')}</code>
        </div>
      )}
    />
  );
}

function Output() {
  const s = source.value;
  const [out, setOut] = useState<Awaited<ReturnType<typeof outputOf>> | null>(null);
  useEffect(() => {
    let here = true;
    setOut(null);
    if (s !== null)
      outputOf(s)
        .then((o) => here && setOut(o))
        .catch((e: Error) => here && setOut({ fault: e.message }));
    return () => {
      here = false;
    };
  }, [s]);
  const lines = useMemo(() => (out !== null && 'text' in out ? out.text.split('\n') : []), [out]);
  const [current, setCurrent] = useState(-1);
  if (out === null) return <p class="empty">Writing PTX…</p>;
  if ('fault' in out) return <p class="empty">No PTX can be written: {out.fault}</p>;
  return (
    <VirtualList
      class="listing ptx"
      label="PTX as it comes out"
      count={lines.length}
      height={ROW}
      current={current}
      onCurrent={setCurrent}
      row={(i) => (
        <div key={i} class={classes('line ins', i === current && 'current')}>
          <span class="src">{i + 1}</span>
          <code>{lines[i].replaceAll('\t', '  ')}</code>
        </div>
      )}
    />
  );
}

/** A single snapshot. */
function Listing({ snapshot }: { readonly snapshot: number }) {
  const fn = fnAt(snapshot);
  const rows = useMemo(
    () =>
      fn < 0
        ? []
        : tables.fns[fn].blocks.flatMap((b) => [
            { block: b, ins: -1 },
            ...tables.blocks[b].ins.map((ins) => ({ block: b, ins })),
          ]),
    [fn],
  );
  const p = picked.value;
  const current = rows.findIndex(
    (r) => r.ins >= 0 && (r.ins === p?.ins || (p?.ins === -1 && tables.ins[r.ins][1] === p.line)),
  );
  const pick = (i: number, register: string): void => {
    const { ins } = rows[i];
    if (ins >= 0) picked.value = { snapshot, ins, register, line: tables.ins[ins][1] };
  };
  return (
    <VirtualList
      class="listing"
      label={`Code after snapshot ${snapshot}`}
      count={rows.length}
      height={ROW}
      current={current}
      onCurrent={(i) => pick(i, '')}
      row={(i) => {
        const { block, ins } = rows[i];
        if (ins < 0)
          return (
            <div key={i} class="line block">
              <b>BB{tables.blocks[block].id}</b>
              <span class="dim"> {tables.blocks[block].name}</span>
            </div>
          );
        const [text, line] = tables.ins[ins];
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
          <div
            key={i}
            class={classes(
              'line ins',
              ins === p?.ins && 'current',
              p !== null && p.line > 0 && p.line === line && 'same-line',
            )}
            onClick={(e) =>
              pick(i, (e.target as HTMLElement).closest<HTMLElement>('[data-reg]')?.dataset['reg'] ?? '')
            }
          >
            <span class="src">{line > 0 ? line : ''}</span>
            <code>
              <Ins text={text} other="" register={valueNames.value[snapshot] ?? ''} />
            </code>
          </div>
        );
      }}
    />
  );
}
