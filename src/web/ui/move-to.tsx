import { useEffect, useRef, useState } from 'preact/hooks';
import type { Places } from '../protocol.ts';
import type { PhaseRow } from '../recording.ts';
import { edit, engineOf, run, source } from './store.ts';

/** Moves a phase without dragging, and shows its legal places. */
export function MoveTo({ p }: { readonly p: PhaseRow }) {
  const [places, setPlaces] = useState<Places | 'asked' | null>(null);
  const answer = useRef<HTMLDivElement>(null);
  // The answer stands below the button, often out of sight.
  useEffect(() => answer.current?.scrollIntoView({ block: 'nearest' }), [places]);
  const shown = useRef(p);
  shown.current = p;
  useEffect(() => setPlaces(null), [p]);
  const others = (run.value?.phases ?? []).filter((x) => x.id !== p.id);
  const ask = async (): Promise<void> => {
    setPlaces('asked');
    const found = await engineOf()
      .ask('places', { source: source.value!, phase: p.id })
      .catch(() => null);
    // The answer may arrive when another phase is shown.
    if (shown.current === p) setPlaces(found);
  };
  return (
    <>
      <label class="field">
        <span>Move behind</span>
        <select
          value=""
          onChange={(e) => {
            const { value } = e.currentTarget;
            e.currentTarget.value = '';
            if (value !== '') void edit({ kind: 'move', phase: p.id, after: value === '^' ? null : value });
          }}
        >
          <option value="">…</option>
          <option value="^">first</option>
          {others.map((x) => (
            <option key={x.id} value={x.id}>
              {x.position} {x.id}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={() => void ask()} disabled={places === 'asked'}>
        {places === 'asked' ? 'Trying every place…' : 'Where may it stand?'}
      </button>
      {places !== null && places !== 'asked' && (
        <div ref={answer} class="places" role="status">
          {places.legal.map((l, i) => (
            <p key={i}>
              {l.after === null && l.before === null
                ? 'anywhere'
                : `${l.after === null ? '' : `after ${l.after}`}${l.after !== null && l.before !== null ? ', ' : ''}${l.before === null ? '' : `before ${l.before}`}`}
              {l.current && <b> (it stands here)</b>}
              {l.warnings.map((w) => (
                <span key={w} class="dim">
                  {' '}
                  · {w}
                </span>
              ))}
            </p>
          ))}
          {places.reasons.length > 0 && <p class="dim">Nowhere else: {places.reasons.join('; ')}</p>}
        </div>
      )}
    </>
  );
}
