import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { type Diagnostic, DiagnosticError } from '../../ir/diagnostic.ts';
import { launchFor } from '../model/launch-text.ts';
import type { BufferRow, EqualRow, LaunchRow, Simulated } from '../protocol.ts';
import type { Source } from '../recording.ts';
import { Editor } from './editor.tsx';
import { Cancelled } from './engine.ts';
import { FaultList } from './faults.tsx';
import { NoEngine } from './no-engine.tsx';
import {
  blockRuns,
  fnName,
  launchData,
  launches,
  live,
  run,
  runnerOf,
  source,
  stopLaunch,
  tables,
} from './store.ts';
import { TableHead } from './table-head.tsx';
import { classes, grouped, plural } from './words.ts';

/** The launch that is edited, and the kernel that it was written for. */
const text = signal('');
const running = signal(false);

/** The last answer, and the source that it is for; it does not apply to another one. */
interface Answer {
  readonly of: Source | null;
  readonly result: Simulated | null;
  readonly equal: readonly EqualRow[] | null;
  readonly faults: readonly Diagnostic[];
}

const NONE: Answer = { of: null, result: null, equal: null, faults: [] };

/** Runs the kernel in the simulator: memory before and after, counters, equality. */
export function Launch() {
  const [answer, setAnswer] = useState(NONE);
  const { result, equal, faults } = answer.of === source.value ? answer : NONE;
  const r = run.value;
  const file = source.value?.file;
  useEffect(() => {
    const fn =
      r?.input.find((f) => tables.fns[f].kind === 'entry' && tables.fns[f].name === fnName.value) ??
      r?.input[0];
    text.value =
      launches.value[0]?.text ?? (fn === undefined ? '' : launchFor(file ?? 'kernel.ptx', tables.fns[fn]));
  }, [file, launches.value]);
  if (!live.value) return <NoEngine what="kernels cannot be run here" />;
  if (r === null || source.value === null) return <p class="empty">Open a kernel first.</p>;
  const ask = async (work: (of: Source) => Promise<Partial<Answer>>): Promise<void> => {
    const of = source.value!;
    const answered = (found: Partial<Answer>): void =>
      setAnswer((before) => ({ ...(before.of === of ? before : NONE), of, ...found }));
    running.value = true;
    answered({ faults: [] });
    try {
      answered(await work(of));
    } catch (e) {
      if (e instanceof DiagnosticError) answered({ faults: e.diagnostics });
      else if (!(e instanceof Cancelled)) throw e;
    } finally {
      running.value = false;
    }
  };
  const simulate = (): Promise<void> =>
    ask(async (of) => {
      const s = await runnerOf().ask('simulate', { source: of, launch: text.value, data: launchData.value });
      if (source.value === of) blockRuns.value = { before: s.lowered.blocks, after: s.optimized.blocks };
      return { result: s };
    });
  const compare = (): Promise<void> => ask(async (of) => ({ equal: await runnerOf().ask('equal', of) }));
  return (
    <section class="launch page" aria-label="Run">
      <div class="launch-edit">
        <div class="code-bar">
          {launches.value.length > 1 && (
            <label class="field">
              <span>Launch</span>
              <select
                onChange={(e) =>
                  (text.value = launches.value.find((l) => l.name === e.currentTarget.value)?.text ?? '')
                }
              >
                {launches.value.map((l) => (
                  <option key={l.name} value={l.name}>
                    {l.name}
                  </option>
                ))}
              </select>
            </label>
          )}
          <button type="button" class="main" disabled={running.value} onClick={() => void simulate()}>
            Run
          </button>
          <button type="button" disabled={running.value} onClick={() => void compare()}>
            Compare without a launch
          </button>
          {running.value && (
            <>
              <span class="dim">Running…</span>
              <button type="button" class="plain" onClick={stop}>
                Stop
              </button>
            </>
          )}
        </div>
        <Editor
          label="Launch"
          language="yaml"
          text={text.value}
          faults={faults}
          onText={(t) => (text.value = t)}
          schema="launch"
        />
      </div>
      <div class="launch-out" tabIndex={0} role="group" aria-label="Results">
        <FaultList faults={faults} />
        {equal !== null && <Equal rows={equal} />}
        {result !== null && <Result r={result} />}
        {result === null && equal === null && faults.length === 0 && (
          <div class="empty">
            <p>
              <b>Run</b> carries out the launch in the simulator, as lowered and after the plan, and compares
              the memory.
            </p>
            <p>
              <b>Compare without a launch</b> runs both in worlds in which every address exists, so that it
              needs no data.
            </p>
          </div>
        )}
      </div>
    </section>
  );
}

/** Aborts a run that takes too long. */
function stop(): void {
  stopLaunch();
  running.value = false;
}

const Equal = ({ rows }: { readonly rows: readonly EqualRow[] }) => (
  <ul class="equal">
    {rows.map((e) => (
      <li key={e.kernel}>
        <b class={e.same ? 'helped' : 'hurt'}>{e.same ? 'equal' : 'DIFFERENT'}</b> {e.kernel}: {e.text}
      </li>
    ))}
  </ul>
);

const STATUS: Readonly<Record<LaunchRow['status'], string>> = {
  ok: 'right',
  mismatch: 'WRONG',
  fault: 'fault',
  budget: 'stopped',
};

function Result({ r }: { readonly r: Simulated }) {
  const names = [...new Set([...r.lowered.counters, ...r.optimized.counters].map((c) => c.name))];
  const value = (l: LaunchRow, name: string): number => l.counters.find((c) => c.name === name)?.value ?? 0;
  return (
    <>
      <p class="verdicts">
        <span class={r.lowered.status === 'ok' ? 'helped' : 'hurt'}>
          as lowered: {STATUS[r.lowered.status]}
        </span>
        <span class={r.optimized.status === 'ok' ? 'helped' : 'hurt'}>
          optimized: {STATUS[r.optimized.status]}
        </span>
        <span class={r.same ? 'helped' : 'hurt'}>{r.same ? 'equal memory' : 'DIFFERENT memory'}</span>
      </p>
      {[r.lowered, r.optimized].map(
        (l, i) =>
          l.error !== null && (
            <p key={i} class="hurt">
              {l.error}
            </p>
          ),
      )}
      {r.optimized.output !== '' && <pre class="printed">{r.optimized.output}</pre>}
      <table class="grid">
        <caption>Counters</caption>
        <TableHead columns={['what', 'as lowered', 'optimized']} numbers={['as lowered', 'optimized']} />
        <tbody>
          {names.map((n) => {
            const [a, b] = [value(r.lowered, n), value(r.optimized, n)];
            return (
              <tr key={n}>
                <th scope="row">{n}</th>
                <td class="num">{grouped(a)}</td>
                <td class={classes('num', b < a ? 'helped' : b > a && 'hurt')}>{grouped(b)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {r.optimized.buffers.map((b) => (
        <Buffer key={b.param} b={b} />
      ))}
      <Blocks r={r} />
    </>
  );
}

/** Number of elements of a buffer per row. */
const ACROSS = 8;

function Buffer({ b }: { readonly b: BufferRow }) {
  const [open, setOpen] = useState(false);
  const shown = open ? b.after.length : 2 * ACROSS;
  const changed = b.after.filter((v, i) => v !== b.before[i]).length;
  const rows = Array.from(
    { length: Math.ceil(Math.min(shown, b.after.length) / ACROSS) },
    (_, i) => i * ACROSS,
  );
  return (
    <table class="grid buffer">
      <caption>
        Parameter {b.param} {b.name}{' '}
        <span class="dim">
          {b.type}, {plural(b.length, 'element')}
          {changed === 0 ? ', not written' : ''}
          {b.expected !== null && (b.wrong === 0 ? ', as expected' : `, ${grouped(b.wrong)} wrong`)}
        </span>
      </caption>
      <tbody>
        {rows.map((from) => (
          <tr key={from}>
            <th scope="row" class="num">
              {from}
            </th>
            {b.after.slice(from, from + ACROSS).map((v, k) => {
              const i = from + k;
              const wrong = b.expected !== null && b.expected[i] !== v && b.wrong > 0;
              return (
                <td
                  key={k}
                  class={classes('num', v !== b.before[i] && 'written', wrong && 'hurt')}
                  title={`before ${b.before[i]}${b.expected === null ? '' : `, expected ${b.expected[i]}`}`}
                >
                  {v}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
      {b.after.length > 2 * ACROSS && (
        <tfoot>
          <tr>
            <td colSpan={ACROSS + 1}>
              <button type="button" class="link" onClick={() => setOpen(!open)}>
                {open ? 'less' : `${b.after.length} of ${grouped(b.length)}`}
              </button>
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

/** How often warps ran each block of the kernel. */
function Blocks({ r }: { readonly r: Simulated }) {
  const [a, b] = [r.lowered.blocks[r.kernel] ?? {}, r.optimized.blocks[r.kernel] ?? {}];
  const ids = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort((x, y) => Number(x) - Number(y));
  if (ids.length === 0) return null;
  return (
    <table class="grid">
      <caption>
        Runs of blocks by warps <span class="dim">the flow graph shows them as colour</span>
      </caption>
      <TableHead columns={['block', 'as lowered', 'optimized']} numbers={['as lowered', 'optimized']} />
      <tbody>
        {ids.map((id) => (
          <tr key={id}>
            <th scope="row">BB{id}</th>
            <td class="num">{grouped(a[id] ?? 0)}</td>
            <td class="num">{grouped(b[id] ?? 0)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
