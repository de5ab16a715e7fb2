import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { countChanges } from '../model/align.ts';
import { type CodeRow, codeRows } from '../model/code-rows.ts';
import { Ins, registersOf } from './ins.tsx';
import { alignments, type Picked, tables } from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes, plural } from './words.ts';

/** Whether both sides are in one column, with removed and added rows below each other. */
const unified = signal(innerWidth < 900);
/** Whether to show only changes and their context. */
const folded = signal(true);
const opened = signal<ReadonlySet<string>>(new Set());

const ROW = 20;

/** The two sides of a listing. */
export type Side = 'a' | 'b';

interface Props {
  /** Numbers of the functions on the left and on the right; -1 for none. */
  readonly a: number;
  readonly b: number;
  readonly label: string;
  readonly picked: Picked | null;
  /** Names of the picked register on each side. */
  readonly names: readonly [string, string];
  readonly onPick: (ins: number, side: Side, register: string) => void;
}

/** Two versions of a function side by side, by instruction. */
export function Sides({ a, b, label, picked: p, names, onPick }: Props) {
  const blocks = useMemo(() => alignments.of(a, b), [a, b]);
  const rows = useMemo(
    () => codeRows(tables, blocks, { folded: folded.value, unified: unified.value, opened: opened.value }),
    [blocks, folded.value, unified.value, opened.value],
  );
  const counts = useMemo(() => countChanges(blocks), [blocks]);
  const current =
    p === null ? -1 : rows.findIndex((r) => r.kind === 'ins' && (r.a === p.ins || r.b === p.ins));
  const pick = (row: CodeRow, side: Side, register: string): void => {
    if (row.kind !== 'ins') return;
    const ins = row[side] >= 0 ? row[side] : side === 'a' ? row.b : row.a;
    onPick(ins, ins === row.b ? 'b' : 'a', register);
  };
  const keys = (e: KeyboardEvent): boolean => {
    if (p === null || p.ins < 0 || (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight')) return false;
    const all = ['', ...registersOf(tables.ins[p.ins][0])];
    const at = all.indexOf(p.register) + (e.key === 'ArrowRight' ? 1 : all.length - 1);
    const row = rows[current];
    if (row !== undefined) pick(row, row.kind === 'ins' && row.b === p.ins ? 'b' : 'a', all[at % all.length]);
    return true;
  };
  const goto = (i: number): void => {
    const step = i >= current ? 1 : -1;
    for (let k = i; k >= 0 && k < rows.length; k += step)
      if (rows[k].kind === 'ins') return pick(rows[k], 'b', '');
  };
  return (
    <>
      <div class="code-bar">
        <Legend counts={counts} equal={a === b} />
        <label class="check">
          <input
            type="checkbox"
            checked={folded.value}
            onChange={(e) => (folded.value = e.currentTarget.checked)}
          />
          changes only
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={unified.value}
            onChange={(e) => (unified.value = e.currentTarget.checked)}
          />
          one column
        </label>
      </div>
      <VirtualList
        class={classes('listing', unified.value ? 'unified' : 'sides')}
        label={`${label}; up and down pick an instruction, left and right a register of it`}
        count={rows.length}
        height={ROW}
        current={current}
        onCurrent={goto}
        onKey={keys}
        row={(i) => (
          <Row key={i} row={rows[i]} current={i === current} picked={p} names={names} pick={pick} />
        )}
      />
    </>
  );
}

function Legend({
  counts,
  equal,
}: {
  readonly counts: ReturnType<typeof countChanges>;
  readonly equal: boolean;
}) {
  if (equal) return <span class="legend dim">The same on both sides.</span>;
  const parts: readonly (readonly [string, number, string])[] = [
    ['changed', counts.changed, 'changed'],
    ['added', counts.added, 'added'],
    ['removed', counts.removed, 'removed'],
    ['moved', counts.moved, 'moved'],
  ];
  return (
    <span class="legend">
      {parts.map(([cls, n, word]) =>
        n === 0 ? null : (
          <span key={cls} class={cls}>
            {n} {word}
          </span>
        ),
      )}
      {parts.every((p) => p[1] === 0) && (
        <span class="dim">No instruction differs; what stands before the code does.</span>
      )}
    </span>
  );
}

interface RowProps {
  readonly row: CodeRow;
  readonly current: boolean;
  readonly picked: Picked | null;
  /** Names of the picked register on each side. */
  readonly names: readonly [string, string];
  readonly pick: (row: CodeRow, side: Side, register: string) => void;
}

/** Target of a click in a listing: the side, and the register if it was one. */
function hitOf(e: MouseEvent): { side: Side; register: string } {
  const at = e.target as HTMLElement;
  const side = at.closest<HTMLElement>('[data-side]')?.dataset['side'] === 'a' ? 'a' : 'b';
  return { side, register: at.closest<HTMLElement>('[data-reg]')?.dataset['reg'] ?? '' };
}

function Row({ row, current, picked: p, names, pick }: RowProps) {
  if (row.kind === 'fold')
    return (
      <button
        type="button"
        class="line fold"
        tabIndex={-1}
        onClick={() => {
          opened.value = new Set([...opened.value, ...row.key.split(',')]);
        }}
      >
        ⋯ {row.blocks > 0 && `${plural(row.blocks, 'unchanged block')}, `}
        {plural(row.count, row.blocks > 0 ? 'instruction' : 'unchanged instruction')}
      </button>
    );
  if (row.kind === 'block')
    return (
      <div class={classes('line block', row.change)}>
        {(unified.value ? [true] : [row.inA, row.inB]).map((there, k) => (
          <span key={k} class="side">
            {there && (
              <>
                <b>BB{row.id}</b>
                {row.name !== '' && <span class="dim"> {row.name}</span>}
                {row.change !== '' && <em> {row.change}</em>}
              </>
            )}
          </span>
        ))}
      </div>
    );
  const { ins } = tables;
  const cell = (n: number, side: Side, other: number) => {
    if (n < 0) return <span class="side none" data-side={side} />;
    const [text, line] = ins[n];
    const sameLine = p !== null && p.line > 0 && p.line === line;
    return (
      <span class={classes('side', sameLine && 'same-line')} data-side={side}>
        <span class="src">{line > 0 ? line : ''}</span>
        <code>
          <Ins
            text={text}
            other={row.change === 'changed' && other >= 0 ? ins[other][0] : ''}
            register={names[side === 'a' ? 0 : 1]}
          />
        </code>
      </span>
    );
  };
  const sign = { removed: '−', added: '+', moved: '↕', changed: '', same: '' }[row.shown];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
    <div
      class={classes('line ins', row.shown, current && 'current')}
      onClick={(e) => {
        const { side, register } = hitOf(e);
        pick(row, side, register);
      }}
    >
      {unified.value ? (
        <>
          <span class="sign">{sign}</span>
          {row.b >= 0 && row.shown !== 'removed' ? cell(row.b, 'b', row.a) : cell(row.a, 'a', row.b)}
        </>
      ) : (
        <>
          {cell(row.a, 'a', row.b)}
          {cell(row.b, 'b', row.a)}
        </>
      )}
    </div>
  );
}
