import { useEffect, useRef } from 'preact/hooks';
import { Editor } from './editor.tsx';
import { faults, live, open, picked, source } from './store.ts';

/** Pause in typing after which the engine is asked, in milliseconds. */
const PAUSE = 250;

/** The kernel's text. Errors stand under their lines while one types. */
export function SourceView() {
  const s = source.value;
  const timer = useRef<number | undefined>(undefined);
  // What was typed belongs to this file, not to one opened within the pause.
  useEffect(() => () => clearTimeout(timer.current), [s?.file]);
  if (s === null) return <p class="empty">Choose a kernel above, or drop a PTX file anywhere.</p>;
  const changed = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      if (source.value !== null && text !== source.value.text) void open({ ...source.value, text });
    }, PAUSE);
  };
  return (
    <section class="source-view" aria-label="Source">
      <Editor
        label={`Text of ${s.file}`}
        language={s.file.endsWith('.ori') ? 'plain' : 'ptx'}
        text={s.text}
        faults={faults.value.filter((f) => f.file === s.file)}
        line={picked.value?.line ?? 0}
        onText={live.value ? changed : undefined}
      />
    </section>
  );
}
