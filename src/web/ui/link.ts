import { effect } from '@preact/signals';
import { type Linked, linkedIn } from './linked.ts';
import { galleryEntry, takeFiles } from './open.ts';
import { pack, unpack } from './pack.ts';
import {
  fnName,
  gallery,
  left,
  live,
  newSource,
  note,
  open,
  phase,
  right,
  run,
  select,
  source,
  view,
} from './store.ts';

/** Time without a change after which the address is updated, in milliseconds. */
const SETTLED = 400;

const state = (): Linked => ({
  // A recording is a separate file: its address only needs the state of the view.
  source: live.value && source.value !== null ? source.value : undefined,
  view: view.value,
  phase: run.value?.phases[phase.value]?.id,
  fn: fnName.value,
  panes: [left.value, right.value],
});

/** Keeps the state of the page in its address, after the #, which browsers do not send to servers. */
export function watchLink(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const now = state();
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (run.value !== null) history.replaceState(null, '', `#${await pack(now)}`);
    }, SETTLED);
  });
  if (!live.value) void readLink();
}

/** The address of the shown state. */
export async function linkOf(): Promise<string> {
  return `${location.href.replace(/#.*/, '')}#${await pack(state())}`;
}

/** Shows the state in the address; null if there is none. */
export async function readLink(): Promise<Linked | null> {
  const word = location.hash.slice(1);
  if (word === '') return null;
  let linked: Linked;
  try {
    linked = linkedIn(await unpack(word));
  } catch {
    note.value = 'The link is truncated or was changed: its content cannot be shown.';
    return null;
  }
  if (live.value) {
    if (linked.source === undefined) return null;
    const { file, text } = linked.source;
    // Data of the gallery for a kernel of that name are not part of the link.
    const name = file.replace(/\.sm_\w+\.ptx$/, '');
    if (gallery.value.some((g) => g.name === name)) {
      const entry = await galleryEntry(name).catch(() => null);
      if (entry !== null) takeFiles(entry, { path: `gallery/${name}`, text: entry.text });
    }
    const plain = newSource(file, text);
    const same = JSON.stringify(plain) === JSON.stringify(linked.source);
    await open(plain, 'new');
    if (!same) await open({ ...plain, ...linked.source });
  }
  if (linked.view !== undefined) view.value = linked.view;
  if (linked.fn !== undefined) fnName.value = linked.fn;
  const at = run.value?.phases.findIndex((p) => p.id === linked.phase) ?? -1;
  if (at >= 0) select(at, true);
  if (linked.panes !== undefined) [left.value, right.value] = linked.panes;
  return linked;
}
