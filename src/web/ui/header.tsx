import { useState } from 'preact/hooks';
import { STORIES } from '../model/stories.ts';
import type { Request, RunRow } from '../recording.ts';
import { Exports } from './export.tsx';
import { OnSite } from './no-engine.tsx';
import { openEmpty, openFiles, openGallery, openNamed } from './open.ts';
import {
  about,
  answered,
  baselineRun,
  busy,
  cancel,
  differs,
  faults,
  files,
  gallery,
  live,
  open,
  run,
  source,
  still,
  undo,
  undoable,
} from './store.ts';
import { openStory } from './story.tsx';
import { cycleTheme, theme } from './theme.ts';
import { duration, grouped } from './words.ts';

/** The top line: the kernel, the plan, and the result. */
export function Header() {
  return (
    <header class="top">
      <div class="brand">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <circle cx="10" cy="10" r="8" />
          <circle class="full" cx="10" cy="10" r="2.4" />
          <circle class="full" cx="16" cy="4.7" r="1.9" />
        </svg>
        <h1>Orrery</h1>
      </div>
      {live.value ? <SourceMenu /> : <span class="file">{source.value?.file}</span>}
      {live.value ? <PlanControls /> : <PlanText />}
      <Outcome />
      <div class="right">
        {live.value && (
          <button
            type="button"
            class="plain"
            onClick={undo}
            disabled={undoable.value.length === 0}
            title="Undo (Ctrl+Z)"
          >
            Undo
          </button>
        )}
        {!live.value && <OnSite />}
        <Exports />
        <button
          type="button"
          class="plain"
          onClick={cycleTheme}
          title="Colours: light, dark, or as the system has them"
        >
          {{ light: 'Light', dark: 'Dark', system: 'Light or dark' }[theme.value]}
        </button>
      </div>
    </header>
  );
}

const nameOf = (file: string): string => file.replace(/^.*[\\/]/, '');

function SourceMenu() {
  const now = source.value?.file ?? '';
  const own = files.value.map((f) => f.file);
  const fromGallery = gallery.value.find((g) => now.startsWith(`${g.name}.`));
  const value = own.includes(now)
    ? `file:${now}`
    : fromGallery !== undefined
      ? `gallery:${fromGallery.name}`
      : 'own';
  const choose = (word: string): void => {
    const [kind, name] = [word.slice(0, word.indexOf(':')), word.slice(word.indexOf(':') + 1)];
    if (kind === 'gallery') void openGallery(name);
    else if (kind === 'file') {
      const f = files.value.find((x) => x.file === name);
      if (f !== undefined) void openNamed(f);
    } else if (kind === 'story') {
      const story = STORIES.find((s) => s.id === name);
      if (story !== undefined) void openStory(story);
    } else if (kind === 'new') openEmpty();
    else if (kind === 'choose') document.getElementById('choose-file')?.click();
  };
  return (
    <div class="field source">
      <select
        aria-label="Kernel"
        value={value}
        onChange={(e) => {
          choose(e.currentTarget.value);
          e.currentTarget.value = value;
        }}
      >
        {value === 'own' && <option value="own">{now === '' ? 'Choose a kernel' : nameOf(now)}</option>}
        {own.length > 0 && (
          <optgroup label="Files">
            {own.map((f) => (
              <option key={f} value={`file:${f}`} title={f}>
                {nameOf(f)}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="Yours">
          <option value="choose:">Open a file…</option>
          <option value="new:">New kernel</option>
        </optgroup>
        {gallery.value.length > 0 && (
          <optgroup label="Stories">
            {STORIES.map((s) => (
              <option key={s.id} value={`story:${s.id}`}>
                {s.title}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="Gallery">
          {gallery.value.map((g) => (
            <option key={g.name} value={`gallery:${g.name}`}>
              {g.name}
            </option>
          ))}
        </optgroup>
      </select>
      <input
        id="choose-file"
        type="file"
        accept=".ptx,.ori,.txt,.yaml,.yml,.cu,.cuh,.h,.hpp,.c,.cc,.cpp"
        multiple
        hidden
        aria-label="File to open"
        onChange={(e) => {
          void openFiles([...(e.currentTarget.files ?? [])]);
          e.currentTarget.value = '';
        }}
      />
    </div>
  );
}

const LEVELS = [0, 1, 2, 3, 4, 5];

function PlanControls() {
  const s = source.value;
  const a = about.value;
  if (s === null || a === null) return null;
  const { request } = s;
  const change = (c: Partial<Request>): void => void open({ ...s, request: { ...request, ...c } });
  const documents = Object.keys(s.documents);
  const orders = [
    ...a.orders.map((o) => o.name),
    ...documents.filter((d) => /^kind: order\b/m.test(s.documents[d])),
  ];
  const recipes = [
    ...a.recipes.map((r) => r.name),
    ...documents.filter((d) => /^kind: recipe\b/m.test(s.documents[d])),
  ];
  return (
    <div class="plan-controls">
      <Choose
        label="Level"
        value={request.level === null ? '' : String(request.level)}
        options={[
          ['', `-O${run.value?.plan.level ?? 3}`],
          ...LEVELS.map((l): [string, string] => [String(l), `-O${l}`]),
        ]}
        onChange={(v) => change({ level: v === '' ? null : Number(v) })}
      />
      <Choose
        label="Target"
        value={request.sm ?? ''}
        options={[
          ['', run.value?.plan.sm ?? 'as the file says'],
          ...a.targets.map((t): [string, string] => [t, t]),
        ]}
        onChange={(v) => change({ sm: v === '' ? null : v })}
      />
      <Choose
        label="Order"
        value={request.order}
        options={orders.map((o) => [o, o])}
        onChange={(v) => change({ order: v })}
      />
      <Choose
        label="Recipe"
        value={request.recipes[0] ?? ''}
        options={[['', 'no recipe'], ...recipes.map((r): [string, string] => [r, r])]}
        onChange={(v) => change({ recipes: v === '' ? [] : [v] })}
      />
    </div>
  );
}

interface Choice {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (v: string) => void;
}

const Choose = ({ label, value, options, onChange }: Choice) => (
  <label class="field">
    <span aria-hidden="true">{label}</span>
    <select aria-label={label} title={label} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
      {options.map(([v, text]) => (
        <option key={v} value={v}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

function PlanText() {
  const r = still.value;
  if (r === null) return null;
  const { level, sm, order, recipe } = r.run.plan;
  return (
    <span class="plan-text">
      -O{level} · {sm} · order {order}
      {recipe !== null && ` · recipe ${recipe}`} · Orrery {r.orrery}
    </span>
  );
}

/** The result in one line. */
function Outcome() {
  const r = run.value;
  const [slow, setSlow] = useState(false);
  if (busy.value && !slow) setTimeout(() => setSlow(busy.peek()), 600);
  else if (!busy.value && slow) setSlow(false);
  if (busy.value && slow)
    return (
      <output class="outcome">
        Running…{' '}
        <button type="button" class="plain" onClick={cancel}>
          Stop
        </button>
      </output>
    );
  if (r === null) return <output class="outcome" />;
  const [from, to] = [r.phases[0]?.before ?? 0, r.phases.at(-1)?.after ?? 0];
  return (
    <output class="outcome" title={live.value ? `answered in ${duration(answered.value)}` : undefined}>
      <b>{grouped(from)}</b> → <b class={to < from ? 'good' : to > from ? 'bad' : ''}>{grouped(to)}</b>{' '}
      <span class="unit">instructions</span>
      {live.value && <span class="dim"> · {duration(answered.value)}</span>}
    </output>
  );
}

/** The changes of the plan, and their effect. */
export function Changed() {
  const [now, before] = [run.value, baselineRun.value];
  const s = source.value;
  if (!differs.value || s === null || now === null || before === null) return null;
  const { request } = s;
  const parts = [
    ...(request.level === before.source.request.level ? [] : [`-O${now.plan.level}`]),
    ...(now.plan.sm === before.plan.sm ? [] : [now.plan.sm]),
    ...(request.order === before.source.request.order ? [] : [`order ${request.order}`]),
    ...request.recipes.filter((r) => !before.source.request.recipes.includes(r)).map((r) => `recipe ${r}`),
    ...request.set.filter((x) => !before.source.request.set.includes(x)),
    ...request.disable.filter((x) => !before.source.request.disable.includes(x)).map((x) => `${x} off`),
    ...(s.text === before.source.text ? [] : ['the kernel']),
  ];
  const [a, b] = [before.phases.at(-1)?.after ?? 0, now.phases.at(-1)?.after ?? 0];
  const at = firstDifference();
  return (
    <div class="changed" role="status">
      <span>
        Changed: <b>{parts.join(', ') || 'specs'}</b>
      </span>
      {faults.value.some((f) => f.severity === 'error') ? (
        <span>no result yet; what stands below is the one before</span>
      ) : (
        <>
          <span>
            {grouped(a)} → <b class={b < a ? 'good' : b > a ? 'bad' : ''}>{grouped(b)}</b> instructions
          </span>
          <span class="dim">
            {at === null ? 'the same code after every phase' : `differs first after ${at}`}
          </span>
        </>
      )}
      <button
        type="button"
        class="plain"
        onClick={() =>
          void open({
            ...s,
            request: before.source.request,
            documents: before.source.documents,
            text: before.source.text,
          })
        }
      >
        Reset
      </button>
    </div>
  );
}

/** The first phase after which the runs have different functions, as far as numbers distinguish them. */
function firstDifference(): string | null {
  const [now, before] = [run.value!, baselineRun.value!];
  const changed = (r: RunRow) =>
    r.phases.flatMap(({ id, program, position }) =>
      program === null ? [] : [{ id, key: program.join(), position }],
    );
  const [x, y] = [changed(now), changed(before)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const [p, q] = [x[i], y[i]];
    if (p?.key === q?.key) continue;
    // Of two phases, the earlier one made the difference, by what it did or did not do.
    return p === undefined || (q !== undefined && q.position < p.position) ? q.id : p.id;
  }
  return now.input.join() === before.input.join() ? null : 'lowering';
}
