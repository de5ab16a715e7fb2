import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { type HistoryStep, historyOf, occurrencesOf } from '../model/history.ts';
import type { HitRow, PhaseRow, RuleRow, RunRow } from '../recording.ts';
import { Ins } from './ins.tsx';
import { Knobs } from './knobs.tsx';
import { MoveTo } from './move-to.tsx';
import { Overview } from './overview.tsx';
import {
  alignments,
  edit,
  fnName,
  left,
  live,
  phase,
  picked,
  register,
  right,
  run,
  select,
  source,
  tables,
  valueNames,
  view,
} from './store.ts';
import { TableHead } from './table-head.tsx';
import { classes, duration, plural, signed } from './words.ts';

type Tab = 'phase' | 'instruction' | 'rules' | 'remarks' | 'knobs';
/** The details that are shown. */
export const tab = signal<Tab>('phase');
const folded = signal(false);

let seen: unknown = null;
let seenPhase = -1;

/** Details of the selected phase and of the picked instruction. */
export function Inspector() {
  const r = run.value;
  if (r === null) return null;
  if (phase.value !== seenPhase) {
    seenPhase = phase.value;
    if (tab.value === 'instruction') tab.value = 'phase';
  }
  // Show details of what was just clicked.
  if (picked.value !== seen) {
    seen = picked.value;
    if (picked.value !== null && picked.value.ins >= 0) tab.value = 'instruction';
  }
  const p = r.phases[phase.value];
  const tabs: readonly (readonly [Tab, string])[] = [
    ['phase', p === undefined ? 'Overview' : p.id],
    ['instruction', picked.value?.register || 'Instruction'],
    ['rules', `Rules${count(p?.hits.length)}`],
    ['remarks', `Remarks${count(p?.remarks.length)}`],
    ['knobs', `Knobs${count(p?.knobs.length)}`],
  ];
  return (
    <section class={classes('inspector', folded.value && 'folded')} aria-label="Details">
      <div class="tab-line">
        <div role="tablist" aria-label="Details" class="tabs small">
          {tabs.map(([id, text]) => (
            <button
              key={id}
              type="button"
              role="tab"
              id={`tab-${id}`}
              aria-selected={tab.value === id}
              aria-controls="inspector-panel"
              onClick={() => {
                tab.value = id;
                folded.value = false;
              }}
            >
              {text}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="plain"
          aria-expanded={!folded.value}
          aria-label="Details"
          onClick={() => {
            folded.value = !folded.value;
          }}
        >
          {folded.value ? '▴' : '▾'}
        </button>
      </div>
      <div
        class="panel"
        role="tabpanel"
        id="inspector-panel"
        aria-labelledby={`tab-${tab.value}`}
        tabIndex={0}
      >
        {tab.value === 'instruction' ? (
          <Instruction r={r} />
        ) : p === undefined ? (
          <Overview r={r} />
        ) : tab.value === 'phase' ? (
          <PhaseCard p={p} />
        ) : tab.value === 'rules' ? (
          <Rules p={p} r={r} />
        ) : tab.value === 'remarks' ? (
          <Remarks p={p} />
        ) : (
          <Knobs p={p} r={r} />
        )}
      </div>
    </section>
  );
}

const count = (n: number | undefined): string => (n === undefined || n === 0 ? '' : ` ${n}`);

function PhaseCard({ p }: { readonly p: PhaseRow }) {
  const off = source.value?.request.disable.includes(p.id) === true;
  return (
    <div class="card">
      <p class="purpose">{p.purpose}</p>
      <dl>
        <dt>{p.ran ? 'Runs' : 'Not run'}</dt>
        <dd>
          {off ? `switched off${live.value ? ' here' : ''}` : p.why}
          {p.shutFor.map((s) => (
            <div key={s.fn} class="dim">
              not for {s.fn}: {s.why}
            </div>
          ))}
        </dd>
        {p.ran && (
          <>
            <dt>Effect</dt>
            <dd>
              {p.program === null
                ? 'changed nothing'
                : `${plural(p.blocksChanged, 'block')} changed, ${p.before} → ${p.after} instructions${p.after === p.before ? '' : ` (${signed(p.after - p.before)})`}`}
              {' · '}
              {plural(p.pressure, 'register')} at most · {duration(p.ms)}
            </dd>
          </>
        )}
        <dt>Place</dt>
        <dd>
          position {p.position}
          {p.index !== null && `, seed number ${p.index}`} · stage {p.stage} · {p.category} · {p.status}
          {p.required && ' · required'}
        </dd>
        {p.steps.length > 0 && (
          <>
            <dt>Bound to</dt>
            <dd>
              <pre>{p.steps.join('\n')}</pre>
            </dd>
          </>
        )}
        {p.note !== '' && (
          <>
            <dt>Note</dt>
            <dd>{p.note}</dd>
          </>
        )}
      </dl>
      {live.value && (
        <div class="actions">
          {!p.required && (
            <button type="button" onClick={() => void edit({ kind: 'switch', phase: p.id, on: off })}>
              {off ? 'Switch on again' : 'Switch off'}
            </button>
          )}
          <MoveTo p={p} />
        </div>
      )}
    </div>
  );
}

/** The history of an instruction. */
function Instruction({ r }: { readonly r: RunRow }) {
  const p = picked.value;
  const steps = useMemo(
    () => (p === null || p.ins < 0 ? [] : historyOf(tables, alignments, r, fnName.value, p.snapshot, p.ins)),
    [p, r, fnName.value],
  );
  if (p === null || p.ins < 0)
    return (
      <p class="empty">
        Click an instruction, or a register in it, to see which phase introduced it and what became of it.
      </p>
    );
  const [text, line] = tables.ins[p.ins];
  const rules = new Map(r.rules.map((x) => [x.id, x]));
  const src = line > 0 ? (source.value?.text.split('\n')[line - 1] ?? '').trim() : '';
  return (
    <div class="card">
      <code class="whole">
        <Ins text={text} other="" register={register.value} />
      </code>
      {line > 0 && (
        <p class="from">
          <button type="button" class="link" onClick={() => (view.value = 'source')}>
            PTX line {line}
          </button>{' '}
          <code>{src}</code>
        </p>
      )}
      <ol class="history">
        {steps.map((s, i) => (
          <li key={i} class={classes(s.what, s.after === p.ins && 'here')}>
            <button type="button" class="link" onClick={() => showStep(s)}>
              {s.what} by {s.phase < 0 ? 'lowering from PTX' : r.phases[s.phase].id}
            </button>
            {s.rule !== '' && (
              <span class="dim">
                {' '}
                rule {s.rule} <VerdictMark rule={rules.get(s.rule)} />
              </span>
            )}
            {s.what === 'changed' && (
              <div class="step">
                <code class="was">{tables.ins[s.before][0].trim()}</code>
                <code class="is">{tables.ins[s.after][0].trim()}</code>
              </div>
            )}
          </li>
        ))}
      </ol>
      <Value r={r} />
    </div>
  );
}

/** Shows a step in the history of an instruction: the phase, and the instruction there. */
function showStep(s: HistoryStep): void {
  const ins = s.after >= 0 ? s.after : s.before;
  if (s.phase >= 0) select(s.phase);
  else {
    left.value = 'ptx';
    right.value = 0;
  }
  const snapshot = s.after >= 0 ? s.phase + 1 : s.phase;
  picked.value = { snapshot, ins, register: '', line: tables.ins[ins][1] };
}

/** The occurrences of a value from phase to phase, under all of its names. */
function Value({ r }: { readonly r: RunRow }) {
  const names = valueNames.value;
  const rows = useMemo(
    () => (names.length === 0 ? [] : occurrencesOf(tables, r, fnName.value, names)),
    [r, names, fnName.value],
  );
  if (rows.length === 0) return null;
  return (
    <table class="values">
      <caption>
        {register.value} through the phases <span class="dim">marked in both listings</span>
      </caption>
      <TableHead columns={['after', 'is', 'defined', 'used']} numbers={['defined', 'used']} />
      <tbody>
        {rows.map((o) => (
          <tr key={o.snapshot}>
            <td>
              <button type="button" class="link" onClick={() => select(Math.max(0, o.snapshot - 1))}>
                {o.snapshot === 0 ? 'lowering' : r.phases[o.snapshot - 1].id}
              </button>
            </td>
            <td>{o.name === '' ? <span class="dim">not there</span> : <code>{o.name}</code>}</td>
            <td class="num">{o.defined || ''}</td>
            <td class="num">{o.used || ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const GOOD: ReadonlySet<string> = new Set(['verified', 'bounded', 'by argument']);

export const VerdictMark = ({ rule }: { readonly rule: RuleRow | undefined }) => {
  const v = rule?.verdict ?? null;
  if (rule === undefined) return null;
  return (
    <span class={classes('verdict', v === null ? 'open' : GOOD.has(v.kind) ? 'good' : 'bad')} title={v?.text}>
      {v === null ? 'not proved' : v.kind}
    </span>
  );
};

function byRule(hits: readonly HitRow[]): Map<string, HitRow[]> {
  const out = new Map<string, HitRow[]>();
  for (const h of hits) out.set(h.rule, [...(out.get(h.rule) ?? []), h]);
  return out;
}

function Rules({ p, r }: { readonly p: PhaseRow; readonly r: RunRow }) {
  const [shown, setShown] = useState('');
  const groups = useMemo(() => byRule(p.hits), [p]);
  const rules = new Map(r.rules.map((x) => [x.id, x]));
  if (p.hits.length === 0) return <p class="empty">No rule fired in this phase.</p>;
  return (
    <ul class="rules">
      {[...groups]
        .sort((a, b) => b[1].length - a[1].length)
        .map(([id, hits]) => (
          <li key={id}>
            <button
              type="button"
              class="link"
              aria-expanded={shown === id}
              onClick={() => setShown(shown === id ? '' : id)}
            >
              {id}
            </button>{' '}
            <span class="num">{hits.length}×</span> <VerdictMark rule={rules.get(id)} />{' '}
            <span class="dim">{rules.get(id)?.title}</span>
            {shown === id && <RuleCard rule={rules.get(id)!} hits={hits} />}
          </li>
        ))}
    </ul>
  );
}

/** Maximum number of places of a rule that are shown. */
const MOST_HITS = 50;

const RuleCard = ({ rule, hits }: { readonly rule: RuleRow; readonly hits: readonly HitRow[] }) => (
  <div class="rule-card">
    <div class="rule-text">
      <pre>{rule.match}</pre>
      <span aria-hidden="true">→</span>
      <pre>{rule.rewrite}</pre>
    </div>
    {rule.when !== null && <p>when {rule.when}</p>}
    <p class="dim">
      {rule.verdict === null ? 'Nobody has proved it.' : rule.verdict.text} · group {rule.group} ·{' '}
      {rule.source}
    </p>
    <ul class="hits">
      {hits.slice(0, MOST_HITS).map((h, i) => (
        <li key={i}>
          <code class="was">{tables.ins[h.before][0].trim()}</code>
          <code class="is">{h.after.map((x) => tables.ins[x][0].trim()).join('; ')}</code>
        </li>
      ))}
      {hits.length > MOST_HITS && <li class="dim">and {hits.length - MOST_HITS} more</li>}
    </ul>
  </div>
);

function Remarks({ p }: { readonly p: PhaseRow }) {
  const fired = new Set(p.hits.map((h) => h.rule));
  const own = p.remarks.filter((m) => !fired.has(m.name));
  if (own.length === 0)
    return (
      <p class="empty">
        {p.remarks.length > 0
          ? 'All remarks are of rules that fired: see Rules.'
          : 'This phase has no remarks.'}
      </p>
    );
  return (
    <ul class="remarks">
      {own.map((m, i) => (
        <li key={i} class={m.kind}>
          <span class="kind">{m.kind}</span>
          <b>{m.name}</b> {m.message}
          <span class="dim">
            {' '}
            {m.fn}
            {m.block >= 0 && ` BB${m.block}`}
            {m.line > 0 && ` line ${m.line}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
