import { render } from 'preact';
import type { GalleryRow, Start } from '../protocol.ts';
import type { Recording } from '../recording.ts';
import { App } from './app.tsx';
import { readLink, watchLink } from './link.ts';
import { openGallery, openNamed } from './open.ts';
import {
  about,
  engineOf,
  files,
  gallery,
  note,
  open,
  origin,
  ptxasOf,
  showRecording,
  source,
  startWith,
} from './store.ts';
import { openStory, storyIn } from './story.tsx';

/** The recording that is embedded in the page, packed by gzip and base64. */
async function embedded(text: string): Promise<Recording> {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(stream).json()) as Recording;
}

const fetched = async <T,>(path: string, otherwise: T): Promise<T> => {
  try {
    const r = await fetch(path);
    return r.ok ? ((await r.json()) as T) : otherwise;
  } catch {
    return otherwise;
  }
};

/** Listens for files that change on the server. */
function follow(): void {
  const events = new EventSource('events');
  events.onmessage = ({ data }: MessageEvent<string>) => {
    const changed = JSON.parse(data) as { file: string; text: string };
    files.value = files.value.map((f) => (f.file === changed.file ? { ...f, ...changed } : f));
    const at = files.value.findIndex((f) => f.file === changed.file);
    if (origin.value?.path === `file/${at}`) origin.value = { ...origin.value, text: changed.text };
    if (source.value?.file === changed.file) void open({ ...source.value, text: changed.text });
  };
}

async function begin(): Promise<void> {
  const recording = document.getElementById('recording');
  if (recording !== null) {
    showRecording(await embedded(recording.textContent ?? ''));
    watchLink();
    return;
  }
  const nothing: Start = { files: [], request: {}, documents: {}, live: false, ptxas: false };
  const [start, rows] = await Promise.all([
    fetched('start.json', nothing),
    fetched<readonly GalleryRow[]>('gallery/index.json', []),
  ]);
  gallery.value = rows;
  files.value = start.files;
  ptxasOf.value = start.ptxas;
  engineOf()
    .ask('about', null)
    .then((a) => {
      about.value = a;
    })
    .catch((e: Error) => {
      note.value = e.message;
    });
  const story = storyIn(location.hash.slice(1));
  const linked = story === undefined ? await readLink() : null;
  startWith(start.request, start.documents);
  if (story !== undefined) await openStory(story);
  else if (linked === null && start.files.length > 0) await openNamed(start.files[0]);
  else if (linked === null && rows.length > 0) await openGallery('saxpy');
  watchLink();
  if (start.live) follow();
}

render(<App />, document.getElementById('app')!);
void begin();
