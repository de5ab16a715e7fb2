import type { Diagnostic } from '../../ir/diagnostic.ts';
import { source, undo, undoable, view } from './store.ts';

/** Maximum number of listed faults. */
const MOST = 20;

/** A list of faults with their lines. */
export const FaultList = ({ faults }: { readonly faults: readonly Diagnostic[] }) =>
  faults.length === 0 ? null : (
    <ul class="faults">
      {faults.slice(0, MOST).map((f, i) => (
        <li key={i} class={f.severity}>
          <b>{f.message}</b>
          {f.label !== undefined && <span>: {f.label}</span>}
          {f.file !== '' && (
            <span class="place">
              {f.file}
              {f.line > 0 && `:${f.line}:${f.column}`}
            </span>
          )}
          {(f.notes ?? []).map((n) => (
            <div key={n} class="dim">
              {n}
            </div>
          ))}
        </li>
      ))}
      {faults.length > MOST && <li class="dim">and {faults.length - MOST} more</li>}
    </ul>
  );

/** Why the last change has no result; the previous run stays visible. */
export function FaultBanner({ faults }: { readonly faults: readonly Diagnostic[] }) {
  if (faults.length === 0) return null;
  const inDocument = faults.some((f) => f.file in (source.value?.documents ?? {}));
  const inText = faults.some((f) => f.file === source.value?.file && f.line > 0);
  return (
    <div class="banner" role="alert">
      <FaultList faults={faults.slice(0, 4)} />
      <div class="actions">
        {inText && (
          <button type="button" onClick={() => (view.value = 'source')}>
            Show in the source
          </button>
        )}
        {inDocument && (
          <button type="button" onClick={() => (view.value = 'specs')}>
            Show in the spec
          </button>
        )}
        {undoable.value.length > 0 && (
          <button type="button" onClick={undo}>
            Undo the change
          </button>
        )}
      </div>
    </div>
  );
}
