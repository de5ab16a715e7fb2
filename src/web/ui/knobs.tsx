import { useState } from 'preact/hooks';
import type { KnobRow, PhaseRow, RunRow } from '../recording.ts';
import { about, edit, live, source } from './store.ts';
import { TableHead } from './table-head.tsx';

/** Knobs that a phase read. On a live page they can be set. */
export function Knobs({ p, r }: { readonly p: PhaseRow; readonly r: RunRow }) {
  const rows = r.knobs.filter((k) => p.knobs.includes(k.name));
  const set = r.knobs.filter((k) => k.origin === 'command-line' && !p.knobs.includes(k.name));
  return (
    <div class="card">
      {rows.length === 0 ? (
        <p class="empty">This phase read no knob.</p>
      ) : (
        <KnobTable rows={rows} caption="Read by this phase" />
      )}
      {set.length > 0 && <KnobTable rows={set} caption="Set, and not read by this phase" />}
      {p.facts.length > 0 && <p class="dim">Facts of the back end that it read: {p.facts.join(', ')}</p>}
      {live.value && <SetAny />}
    </div>
  );
}

const KnobTable = ({ rows, caption }: { readonly rows: readonly KnobRow[]; readonly caption: string }) => (
  <table class="knobs">
    <caption>{caption}</caption>
    <TableHead columns={['knob', 'value', 'from', 'what it does']} />
    <tbody>
      {rows.map((k) => (
        <tr key={k.name}>
          <th scope="row">{k.name}</th>
          <td>{live.value ? <Value key={`${k.name} ${k.value}`} k={k} /> : k.value}</td>
          <td>{k.origin === 'command-line' ? 'set here' : k.origin}</td>
          <td class="effect">{k.effect}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

function Value({ k }: { readonly k: KnobRow }) {
  const isSet = source.value?.request.set.some((s) => s.startsWith(`${k.name}=`)) === true;
  const value = k.value.replace(/^"(.*)"$/, '$1');
  const apply = (text: string): void => {
    if (text.trim() === '' || text.trim() === value) return;
    void edit({ kind: 'knob', name: k.name, value: text.trim() });
  };
  return (
    <span class="knob-value">
      <input
        aria-label={`Value of ${k.name}`}
        value={value}
        size={8}
        onChange={(e) => apply(e.currentTarget.value)}
        onKeyDown={(e) => e.key === 'Enter' && apply(e.currentTarget.value)}
      />
      {isSet && (
        <button
          type="button"
          class="link"
          onClick={() => void edit({ kind: 'knob', name: k.name, value: null })}
        >
          unset
        </button>
      )}
    </span>
  );
}

/** A form to set any knob by its name. */
function SetAny() {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const known = about.value?.knobs.find((k) => k.name === name);
  return (
    <form
      class="set-knob"
      onSubmit={(e) => {
        e.preventDefault();
        if (name !== '' && value !== '') void edit({ kind: 'knob', name, value });
      }}
    >
      <input
        list="knob-names"
        placeholder="another knob"
        aria-label="Name of a knob"
        value={name}
        onInput={(e) => setName(e.currentTarget.value)}
      />
      <datalist id="knob-names">
        {(about.value?.knobs ?? []).map((k) => (
          <option key={k.name} value={k.name} />
        ))}
      </datalist>
      <input
        placeholder={known === undefined ? 'value' : `${known.type}, ${known.value}`}
        aria-label="Value of the knob"
        value={value}
        onInput={(e) => setValue(e.currentTarget.value)}
      />
      <button type="submit">Set</button>
      {known !== undefined && <span class="dim">{known.effect}</span>}
    </form>
  );
}
