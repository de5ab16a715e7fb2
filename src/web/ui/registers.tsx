import { useEffect, useMemo, useState } from 'preact/hooks';
import { HUES } from '../model/lines.ts';
import type { LiveRange, LiveRanges } from '../protocol.ts';
import { Cancelled, failureText } from './engine.ts';
import { Ins } from './ins.tsx';
import { NoEngine } from './no-engine.tsx';
import { FnChoice, SnapshotChoice } from './panes.tsx';
import {
  engineOf,
  fnAt,
  fnName,
  live,
  picked,
  register,
  right,
  run,
  snapshots,
  source,
  tables,
} from './store.ts';
import { VirtualList } from './virtual.tsx';
import { classes, plural } from './words.ts';

const ROW = 20;
/** Width of a lane in pixels. */
const LANE = 9;
/** Most lanes that are drawn. */
const MOST_LANES = 64;

/** Where each register is live, beside the code, and how many that are, with the numbers at which an SM holds fewer warps. */
export function Registers() {
  const snapshot = typeof right.value === 'number' ? right.value : snapshots.value.length - 1;
  const fn = fnAt(snapshot);
  const s = source.value;
  const [found, setFound] = useState<{ readonly fn: number; readonly l: LiveRanges | string } | null>(null);
  useEffect(() => {
    let here = true;
    if (fn >= 0 && s !== null && live.value)
      engineOf()
        .ask('registers', { source: s, fn })
        .then((l) => here && setFound({ fn, l }))
        .catch((e: unknown) => here && !(e instanceof Cancelled) && setFound({ fn, l: failureText(e) }));
    return () => {
      here = false;
    };
  }, [fn]);
  if (!live.value) return <NoEngine what="live ranges cannot be computed here" />;
  if (run.value === null) return null;
  const l = found?.fn === fn ? found.l : null;
  return (
    <section class="registers" aria-label="Registers">
      <div class="code-bar">
        <FnChoice />
        <SnapshotChoice label="After" />
        {l !== null && typeof l !== 'string' && <Told l={l} fn={fn} />}
      </div>
      {fn < 0 ? (
        <p class="empty">There is no function {fnName.value} here.</p>
      ) : l === null ? (
        <p class="empty">Computing…</p>
      ) : typeof l === 'string' ? (
        <p class="empty">{l}</p>
      ) : (
        <Lanes key={fn} l={l} fn={fn} snapshot={snapshot} />
      )}
    </section>
  );
}

/** Instructions of a function through all its blocks. */
const instructionsOf = (fn: number): readonly number[] =>
  tables.fns[fn].blocks.flatMap((b) => tables.blocks[b].ins);

/** Who made the picked register, and who keeps it alive; else how many there are at most. */
function Told({ l, fn }: { readonly l: LiveRanges; readonly fn: number }) {
  const ins = instructionsOf(fn);
  const range = l.ranges.find((x) => x.register === register.value);
  const text = (row: number | undefined): string => (row === undefined ? '' : tables.ins[ins[row]][0].trim());
  if (range === undefined) {
    const most = Math.max(0, ...l.pressure);
    const cliff = l.cliffs.find((c) => most <= c.registers);
    return (
      <span class="told">
        <b>{plural(most, 'register')} at most</b>
        {cliff !== undefined &&
          `: ${plural(cliff.warps, 'warp')} fit an SM, up to ${cliff.registers} registers, in blocks of ${l.threads} threads${l.stated ? '' : ' (assumed)'}`}
        . Click a lane.
      </span>
    );
  }
  const rows = range.parts.reduce((n, [from, to]) => n + to - from + 1, 0);
  const last = range.used.at(-1);
  return (
    <span class="told">
      <b>{range.register}</b>, {32 * range.units} bits, live at {plural(rows, 'instruction')};{' '}
      {range.defined.length === 0 ? (
        'set before the function'
      ) : (
        <>
          made by <code>{text(range.defined[0])}</code>
        </>
      )}
      {last === undefined ? (
        ', never read'
      ) : (
        <>
          , kept alive until <code>{text(last)}</code>
        </>
      )}
    </span>
  );
}

interface LanesProps {
  readonly l: LiveRanges;
  readonly fn: number;
  readonly snapshot: number;
}

interface Cell {
  readonly range: LiveRange;
  readonly kind: 'def' | 'use' | 'live';
}

/** What each instruction has in its lanes. */
function cellsOf(l: LiveRanges): Cell[][] {
  const out: Cell[][] = l.pressure.map(() => []);
  for (const range of l.ranges) {
    const [defined, used] = [new Set(range.defined), new Set(range.used)];
    for (const [from, to] of range.parts)
      for (let i = from; i <= to; i++)
        out[i].push({ range, kind: defined.has(i) ? 'def' : used.has(i) ? 'use' : 'live' });
  }
  return out;
}

function Lanes({ l, fn, snapshot }: LanesProps) {
  const cells = useMemo(() => cellsOf(l), [l]);
  const rows = useMemo(() => {
    let at = 0;
    return tables.fns[fn].blocks.flatMap((b) => [
      { block: b, ins: -1, at: -1 },
      ...tables.blocks[b].ins.map((ins) => ({ block: b, ins, at: at++ })),
    ]);
  }, [fn]);
  const p = picked.value;
  const current = p === null ? -1 : rows.findIndex((r) => r.ins >= 0 && r.ins === p.ins);
  const most = Math.max(1, ...l.pressure);
  const width = Math.min(MOST_LANES, l.lanes) * LANE;
  const pick = (i: number, reg: string): void => {
    const { ins } = rows[i];
    if (ins >= 0) picked.value = { snapshot, ins, register: reg, line: tables.ins[ins][1] };
  };
  const name = register.value;
  return (
    <>
      <PressureCurve
        l={l}
        onPick={(at) =>
          pick(
            rows.findIndex((r) => r.at === at),
            '',
          )
        }
      />
      <VirtualList
        class="listing lanes"
        label="Live ranges beside the code"
        count={rows.length}
        height={ROW}
        current={current}
        reveal={p}
        onCurrent={(i) => pick(rows[i].ins < 0 ? i + (i >= current ? 1 : -1) : i, '')}
        row={(i) => {
          const { ins, at, block } = rows[i];
          if (ins < 0)
            return (
              <div key={i} class="line block">
                <span class="side">
                  <b>BB{tables.blocks[block].id}</b>
                </span>
              </div>
            );
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: keys act on the list
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys act on the list
            <div
              key={i}
              class={classes('line ins', i === current && 'current')}
              style={{ gridTemplateColumns: `${width + 12}px 64px minmax(0, max-content)` }}
              onClick={(e) =>
                pick(i, (e.target as HTMLElement).closest<HTMLElement>('[data-reg]')?.dataset['reg'] ?? '')
              }
            >
              <span class="lane-box">
                {cells[at].map(({ range, kind }) =>
                  range.lane < MOST_LANES ? (
                    <i
                      key={range.register}
                      class={classes(
                        'lane',
                        kind,
                        `hue-${range.lane % HUES}`,
                        range.register === name && 'hit',
                        range.units > 1 && 'wide',
                      )}
                      data-reg={range.register}
                      title={range.register}
                      style={{ left: `${6 + range.lane * LANE}px` }}
                    />
                  ) : null,
                )}
              </span>
              <span class="pressure" title={`${plural(l.pressure[at], 'register')} live here`}>
                <i style={{ width: `${(36 * l.pressure[at]) / most}px` }} /> {l.pressure[at]}
              </span>
              <code>
                <Ins text={tables.ins[ins][0]} other="" register={name} />
              </code>
            </div>
          );
        }}
      />
    </>
  );
}

const [CURVE_WIDTH, CURVE_HEIGHT] = [1000, 84];

/** Registers over the instructions, with the numbers above which an SM holds fewer warps. */
function PressureCurve({ l, onPick }: { readonly l: LiveRanges; readonly onPick: (at: number) => void }) {
  const most = Math.max(1, ...l.pressure);
  const near = l.cliffs.filter((c) => c.registers <= most * 1.4);
  const next = l.cliffs.find((c) => c.registers >= most);
  const shown = [...new Set([...near, ...(next === undefined ? [] : [next])])].slice(-4);
  const top = Math.max(most, ...shown.map((c) => c.registers)) * 1.08;
  const y = (n: number): number => CURVE_HEIGHT - (n / top) * CURVE_HEIGHT;
  const step = CURVE_WIDTH / Math.max(1, l.pressure.length);
  const line = l.pressure.map((n, i) => `${i === 0 ? `M0 ${y(n)}` : `V${y(n)}`}H${(i + 1) * step}`).join('');
  return (
    <div class="pressure-curve">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list below is for the keyboard */}
      <svg
        viewBox={`0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Registers by instruction, ${most} at most; ${shown.map((c) => `${c.warps} warps up to ${c.registers}`).join(', ')}`}
        onClick={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          const i = Math.floor(((e.clientX - box.left) / box.width) * l.pressure.length);
          onPick(Math.max(0, Math.min(l.pressure.length - 1, i)));
        }}
      >
        <path class="area" d={`${line}V${CURVE_HEIGHT}H0Z`} />
        <path class="line" d={line} />
        {shown.map((c) => (
          <path key={c.registers} class="cliff" d={`M0 ${y(c.registers)}H${CURVE_WIDTH}`} />
        ))}
      </svg>
      {shown.map((c) => (
        <span
          key={c.registers}
          class="cliff-name"
          style={{ top: `${Math.max(0, (y(c.registers) / CURVE_HEIGHT) * 100 - 1)}%` }}
        >
          {c.registers} registers: {plural(c.warps, 'warp')}
        </span>
      ))}
    </div>
  );
}
