import { usingDocument, withDocument } from '../model/documents.ts';
import { ptxLines } from '../model/lines.ts';
import type { GalleryEntry, OpenedFile } from '../protocol.ts';
import {
  files,
  launchData,
  launches,
  newSource,
  note,
  open,
  origin,
  source,
  sources,
  view,
} from './store.ts';

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/** Fetches a kernel of the gallery. */
export async function galleryEntry(name: string): Promise<GalleryEntry | null> {
  const r = await fetch(`gallery/${name}.json`);
  return r.ok ? ((await r.json()) as GalleryEntry) : null;
}

/**
 * Takes over what stands beside a kernel: its launches, so that it can be run, and the texts that it was compiled from.
 *
 * @param from where the server has it
 */
export function takeFiles(
  entry: Pick<GalleryEntry, 'launches' | 'data' | 'sources'>,
  from: typeof origin.value,
): void {
  launches.value = entry.launches;
  sources.value = entry.sources;
  origin.value = from;
  launchData.value = Object.fromEntries(
    Object.entries(entry.data).map(([file, text]) => [file, bytesOf(text)]),
  );
}

/** Opens a kernel of the gallery. */
export async function openGallery(name: string): Promise<void> {
  const entry = await galleryEntry(name).catch(() => null);
  if (entry === null) {
    note.value = `The gallery has no kernel '${name}'.`;
    return;
  }
  takeFiles(entry, { path: `gallery/${name}`, text: entry.text });
  await open(newSource(entry.file, entry.text), 'new');
}

/** Opens a file of the command line. */
export async function openNamed(f: OpenedFile): Promise<void> {
  takeFiles(f, { path: `file/${files.value.findIndex((x) => x.file === f.file)}`, text: f.text });
  await open(newSource(f.file, f.text), 'new');
}

/** Maximum size in bytes of a file that is opened. */
const MOST_BYTES = 64 << 20;

/** Opens files that were dropped or chosen: the first kernel, then what belongs to it. */
export async function openFiles(files: readonly File[]): Promise<void> {
  const isKernel = (f: File): boolean => !SOURCES.test(f.name) && !/\.ya?ml$/.test(f.name);
  const kernel = files.find(isKernel);
  for (const f of [...(kernel === undefined ? [] : [kernel]), ...files.filter((x) => !isKernel(x))])
    await openFile(f);
}

/** Opens a file that was dropped or chosen. */
export async function openFile(file: File): Promise<void> {
  if (file.size > MOST_BYTES) {
    note.value = `${file.name} has ${file.size} bytes; ${MOST_BYTES} are the most that is opened here.`;
    return;
  }
  const text = await file.text();
  if (text.includes('\0')) {
    note.value = `${file.name} is not a text file; PTX or Ori text is expected. \`cuobjdump -ptx\` writes what a cubin carries.`;
    return;
  }
  if (/\.ya?ml$/.test(file.name)) return openSpec(file.name, text);
  if (SOURCES.test(file.name) && source.value !== null) return takeSource(file.name, text);
  takeFiles(NOTHING, null);
  view.value = 'code';
  await open(newSource(file.name, text), 'new');
}

/** Names of texts that PTX is compiled from. */
const SOURCES = /\.(cu|cuh|c|cc|cpp|cxx|h|hpp|cl|py|jl|ll|f90)$/i;
const NOTHING = { launches: [], data: {}, sources: {} };

const baseOf = (name: string): string => name.replace(/^.*[\\/]/, '');

/** Takes over a text that the opened PTX was compiled from. */
function takeSource(name: string, text: string): void {
  const named = [...ptxLines(source.value!.text).by.keys()].filter((f) => baseOf(f) === name);
  if (named.length === 0) {
    note.value = `The PTX that is open has no line of ${name}: it names its source by .loc if it was compiled with -lineinfo.`;
    return;
  }
  sources.value = { ...sources.value, ...Object.fromEntries(named.map((f) => [f, text])) };
  view.value = 'levels';
}

/** Takes over a dropped spec: a launch to run, any other to plan with. */
async function openSpec(name: string, text: string): Promise<void> {
  if (/^kind: launch\b/m.test(text)) {
    launches.value = [{ name, text }, ...launches.value.filter((l) => l.name !== name)];
    view.value = 'run';
  } else if (source.value === null) note.value = `Open a kernel first: ${name} says how one is optimized.`;
  else {
    view.value = 'specs';
    await open(usingDocument(withDocument(source.value, name, text), name));
  }
}

/** An empty program to type into. */
export const EMPTY = `.version 8.0
.target sm_90
.address_size 64

.visible .entry kernel(
  .param .u64 out
)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd2], %r1;
  ret;
}
`;

export function openEmpty(): void {
  takeFiles(NOTHING, null);
  view.value = 'source';
  void open(newSource('kernel.ptx', EMPTY), 'new');
}
