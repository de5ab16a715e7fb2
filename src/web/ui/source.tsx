import { useEffect } from 'preact/hooks';
import { Editor } from './editor.tsx';
import { applyTyped, faults, live, open, picked, source, takeTyped } from './store.ts';

/** Pause in typing after which the engine is asked, in milliseconds. */
const PAUSE = 250;

/** The kernel's text. Errors stand under their lines while one types. */
export function SourceView() {
  const s = source.value;
  // Nothing that was typed is lost where one looks at something else.
  useEffect(() => () => void applyTyped(), []);
  if (s === null) return <p class="empty">Choose a kernel above, or drop a PTX file anywhere.</p>;
  const changed = (text: string): void =>
    takeTyped(async () => {
      const now = source.value;
      // What was typed belongs to this file, not to one opened within the pause.
      if (now !== null && now.file === s.file && text !== now.text) await open({ ...now, text });
      return true;
    }, PAUSE);
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
