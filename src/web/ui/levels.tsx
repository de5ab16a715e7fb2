import { computed, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import type { MachineCode } from '../machine-code.ts';
import { huesOf, type PtxLines, ptxLines } from '../model/lines.ts';
import { Ins } from './ins.tsx';
import { useMachine, usePtxas } from './machine.ts';
import { FnChoice, SnapshotChoice } from './panes.tsx';
import {
  fnAt,
  fnName,
  live,
  picked,
  ptxasOf,
  right,
  run,
  snapshots,
  source,
  sources,
  tables,
  valueNames,
} from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes, plural } from './words.ts';

type Column = 'source' | 'ptx' | 'ori' | 'machine' | 'ptxas';
const TITLES: Readonly<Record<Column, string>> = {
  source: 'Source',
  ptx: 'PTX',
  ori: 'Ori',
  machine: 'Machine code',
  ptxas: 'ptxas',
};

const hidden = signal<ReadonlySet<Column>>(new Set());
/** PTX lines of what is under the pointer, and of what was clicked last. */
const hovered = signal<ReadonlySet<number> | null>(null);
const pinned = signal<ReadonlySet<number>>(new Set());
/** The source file that is shown; the one with most code if the kernel does not come from it. */
const chosenFile = signal('');

const ROW = 20;

/** A row of a column. */
interface Row {
  readonly lines: readonly number[];
  readonly hue: number;
  /** What stands at the left: a line number or an address. */
  readonly at: string;
  readonly body: ComponentChildren;
  /** Instruction of a snapshot; -1 for none. */
  readonly ins?: number;
}

/** The program at every level side by side: source, PTX, Ori and machine code; the same thing is lit in all. */
export function Levels() {
  const s = source.value;
  const text = s?.text ?? '';
  const lines = useMemo(() => ptxLines(text), [text]);
  const hue = useMemo(() => huesOf(lines), [lines]);
  const machine = useMachine(s);
  const ptxas = usePtxas(s);
  if (s === null || run.value === null) return null;
  const there: readonly Column[] = [
    ...(lines.by.size > 0 ? (['source'] as const) : []),
    ...(s.file.endsWith('.ori') ? [] : (['ptx'] as const)),
    'ori',
    'machine',
    ...(live.value && ptxasOf.value ? (['ptxas'] as const) : []),
  ];
  const shown = there.filter((c) => !hidden.value.has(c));
  return (
    <section class="levels" aria-label="Levels">
      <div class="code-bar">
        <FnChoice />
        <SnapshotChoice label="Ori after" />
        <span class="legend">
          {there.map((c) => (
            <label key={c} class="check">
              <input
                type="checkbox"
                checked={!hidden.value.has(c)}
                onChange={() => {
                  const next = new Set(hidden.value);
                  if (!next.delete(c)) next.add(c);
                  hidden.value = next;
                }}
              />
              {TITLES[c]}
            </label>
          ))}
        </span>
        <span class="dim">
          {lines.by.size > 0 ? 'coloured by source line' : 'coloured by PTX line: the PTX names no source'}
        </span>
      </div>
      <div
        class="level-columns"
        style={{
          gridTemplateColumns: `repeat(${Math.max(1, shown.length)}, minmax(var(--level-least), 1fr))`,
        }}
        onPointerLeave={() => (hovered.value = null)}
      >
        {shown.map((c) =>
          c === 'source' ? (
            <SourceColumn key={c} lines={lines} hue={hue} />
          ) : c === 'ptx' ? (
            <PtxColumn key={c} text={text} hue={hue} />
          ) : c === 'ori' ? (
            <OriColumn key={c} hue={hue} />
          ) : (
            <MachineColumn key={c} kind={c} code={c === 'machine' ? machine : ptxas} hue={hue} />
          ),
        )}
      </div>
    </section>
  );
}

type Hue = (line: number) => number;

const NOTHING: ReadonlySet<number> = new Set();
/** What stays lit: what was clicked here, or else the line of what was picked in another view. */
const marked = computed(() => {
  const line = picked.value?.line ?? 0;
  return pinned.value.has(line) ? pinned.value : line > 0 ? new Set([line]) : NOTHING;
});

const lit = (lines: readonly number[]): boolean => {
  const set = hovered.value ?? marked.value;
  return lines.some((l) => set.has(l));
};

/** Lights lines until others are clicked. */
function pin(lines: readonly number[], ins = -1, register = '', snapshot = 0): void {
  pinned.value = new Set(lines);
  hovered.value = null;
  picked.value = { snapshot, ins, register, line: lines[0] ?? 0 };
}

function List({
  of,
  title,
  rows,
  note,
  onPick,
}: {
  readonly of: Column;
  readonly title: ComponentChildren;
  readonly rows: readonly Row[];
  readonly note?: string;
  readonly onPick?: (row: Row, register: string) => void;
}) {
  const pick = onPick ?? ((r: Row) => pin(r.lines));
  const current = rows.findIndex((r) => r.lines.some((l) => marked.value.has(l)));
  return (
    <div class="level" data-level={of}>
      <h2>{title}</h2>
      {note !== undefined && <p class="empty">{note}</p>}
      <VirtualList
        class="listing"
        label={`${typeof title === 'string' ? title : 'Source'}; arrow keys light lines`}
        count={rows.length}
        height={ROW}
        current={current}
        reveal={marked.value}
        onCurrent={(i) => {
          const step = i >= current ? 1 : -1;
          for (let k = i; k >= 0 && k < rows.length; k += step)
            if (rows[k].lines.length > 0 && !rows[k].lines.some((l) => marked.value.has(l)))
              return pick(rows[k], '');
        }}
        row={(i) => {
          const r = rows[i];
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
            <div
              key={i}
              class={classes('line ins', r.hue >= 0 && `hue hue-${r.hue}`, lit(r.lines) && 'lit')}
              onPointerEnter={() => {
                hovered.value = r.lines.length === 0 ? null : new Set(r.lines);
              }}
              onClick={(e) =>
                pick(r, (e.target as HTMLElement).closest<HTMLElement>('[data-reg]')?.dataset['reg'] ?? '')
              }
            >
              <span class="src">{r.at}</span>
              <code>{r.body}</code>
            </div>
          );
        }}
      />
    </div>
  );
}

const whole = (line: string): string => line.replaceAll('\t', '  ');

function SourceColumn({ lines, hue }: { readonly lines: PtxLines; readonly hue: Hue }) {
  const names = [...lines.by.keys()];
  // What was clicked elsewhere is shown in the file that it comes from.
  const clicked = [...marked.value].map((l) => lines.of[l]?.file).find((f) => f !== undefined);
  const most = names.reduce((a, b) => (lines.by.get(b)!.size > lines.by.get(a)!.size ? b : a));
  const file = names.includes(chosenFile.value) ? chosenFile.value : (clicked ?? most);
  const text = sources.value[file];
  const own = lines.by.get(file)!;
  const rows = useMemo((): readonly Row[] => {
    // Of a file that is not there, only the numbers of lines are known: those that the PTX has, which may be any.
    const all: (readonly [line: number, body: string])[] =
      text === undefined
        ? [...own.keys()].sort((a, b) => a - b).map((line) => [line, ''])
        : text.split('\n').map((body, i) => [i + 1, body]);
    return all.map(([line, body]) => {
      const of = own.get(line) ?? [];
      return { lines: of, hue: hue(of[0] ?? 0), at: String(line), body: whole(body) || ' ' };
    });
  }, [text, own]);
  const title =
    names.length === 1 ? (
      file
    ) : (
      <select
        aria-label="Source file"
        value={file}
        onChange={(e) => (chosenFile.value = e.currentTarget.value)}
      >
        {names.map((n) => (
          <option key={n} value={n}>
            {n}
          </option>
        ))}
      </select>
    );
  return (
    <List
      of="source"
      title={title}
      rows={rows}
      note={text === undefined ? `The text of ${file} is not there: drop it on this page.` : undefined}
    />
  );
}

function PtxColumn({ text, hue }: { readonly text: string; readonly hue: Hue }) {
  const rows = useMemo(
    () =>
      text
        .split('\n')
        .map((l, i): Row => ({ lines: [i + 1], hue: hue(i + 1), at: String(i + 1), body: whole(l) || ' ' })),
    [text],
  );
  return <List of="ptx" title="PTX" rows={rows} />;
}

function OriColumn({ hue }: { readonly hue: Hue }) {
  const snapshot = typeof right.value === 'number' ? right.value : snapshots.value.length - 1;
  const fn = fnAt(snapshot);
  const register = valueNames.value[snapshot] ?? '';
  const rows = useMemo((): readonly Row[] => {
    if (fn < 0) return [];
    return tables.fns[fn].blocks.flatMap((b) => [
      { lines: [], hue: -1, at: '', body: <b>BB{tables.blocks[b].id}</b> },
      ...tables.blocks[b].ins.map((ins): Row => {
        const [text, line] = tables.ins[ins];
        return {
          lines: line > 0 ? [line] : [],
          hue: hue(line),
          at: line > 0 ? String(line) : '',
          body: <Ins text={text} other="" register={register} />,
          ins,
        };
      }),
    ]);
  }, [fn, hue, register]);
  return (
    <List
      of="ori"
      title="Ori"
      rows={rows}
      onPick={(r, reg) => {
        if (r.ins !== undefined) pin(r.lines, r.ins, reg, snapshot);
      }}
    />
  );
}

/** Machine code has its guard in front; the columns of Ori make both comparable. */
const inColumns = (text: string): string => {
  const guard = /^(@\S+) /.exec(text)?.[1] ?? '';
  return `${guard.padStart(6)} ${text.slice(guard === '' ? 0 : guard.length + 1)}`;
};

function MachineColumn({
  kind,
  code,
  hue,
}: {
  readonly kind: 'machine' | 'ptxas';
  readonly code: MachineCode | string | null;
  readonly hue: Hue;
}) {
  const kernel = code === null || typeof code === 'string' ? undefined : kernelOf(code, fnName.value);
  const rows = useMemo(
    () =>
      (kernel?.code ?? []).map(
        (r): Row => ({
          lines: r.line > 0 ? [r.line] : [],
          hue: hue(r.line),
          at: r.address.toString(16).padStart(4, '0'),
          body: (
            <span title={r.control}>
              <Ins text={inColumns(r.text)} other="" register="" />
            </span>
          ),
        }),
      ),
    [kernel, hue],
  );
  if (code === null) return <Wait kind={kind} />;
  if (typeof code === 'string') return <List of={kind} title={TITLES[kind]} rows={[]} note={code} />;
  const why = code.why ?? (kernel === undefined ? `It has no kernel ${fnName.value}.` : kernel.why);
  const facts =
    kernel === undefined || why !== null
      ? ''
      : `, ${plural(kernel.code.length, 'instruction')}, ${plural(kernel.registers, 'register')}`;
  return <List of={kind} title={`${code.by}, ${code.sm}${facts}`} rows={rows} note={why ?? undefined} />;
}

export const kernelOf = (code: MachineCode, name: string) => code.kernels.find((k) => k.name === name);

const Wait = ({ kind }: { readonly kind: 'machine' | 'ptxas' }) => (
  <div class="level">
    <h2>{TITLES[kind]}</h2>
    <p class="empty">Compiling…</p>
  </div>
);
