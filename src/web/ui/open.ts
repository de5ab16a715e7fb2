import { usingDocument, withDocument } from '../model/documents.ts';
import type { GalleryEntry, OpenedFile } from '../protocol.ts';
import { launchData, launches, newSource, note, open, source, view } from './store.ts';

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/** Fetches a kernel of the gallery. */
export async function galleryEntry(name: string): Promise<GalleryEntry | null> {
  const r = await fetch(`gallery/${name}.json`);
  return r.ok ? ((await r.json()) as GalleryEntry) : null;
}

/** Takes over the launches of a kernel of the gallery, so that it can be run. */
export function takeLaunches(entry: Pick<GalleryEntry, 'launches' | 'data'>): void {
  launches.value = entry.launches;
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
  takeLaunches(entry);
  await open(newSource(entry.file, entry.text), 'new');
}

/** Opens a file of the command line. */
export async function openNamed(f: OpenedFile): Promise<void> {
  takeLaunches(f);
  await open(newSource(f.file, f.text), 'new');
}

/** Maximum size in bytes of a file that is opened. */
const MOST_BYTES = 64 << 20;

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
  launches.value = [];
  launchData.value = {};
  view.value = 'code';
  await open(newSource(file.name, text), 'new');
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
  launches.value = [];
  launchData.value = {};
  view.value = 'source';
  void open(newSource('kernel.ptx', EMPTY), 'new');
}
