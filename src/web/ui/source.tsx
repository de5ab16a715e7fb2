import { useEffect } from 'preact/hooks';
import { Editor } from './editor.tsx';
import { applyTyped, faults, live, open, picked, source, takeTyped } from './store.ts';

/** Pause in typing after which a request is sent to the engine, in milliseconds. */
const PAUSE = 250;

/** The text of the kernel. Errors are shown under their lines while typing. */
export function SourceView() {
  const s = source.value;
  // Typed text is not lost when another view is shown.
  useEffect(() => () => void applyTyped(), []);
  if (s === null) return <p class="empty">Choose a kernel above, or drop a PTX file anywhere.</p>;
  const changed = (text: string): void =>
    takeTyped(async () => {
      const now = source.value;
      // Typed text belongs to this file, not to one that is opened within the pause.
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
