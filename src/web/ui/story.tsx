import { signal } from '@preact/signals';
import { STORIES, type Story } from '../model/stories.ts';
import { tab } from './inspector.tsx';
import { openGallery } from './open.ts';
import { fnName, open, picked, run, select, snapshots, source, tables, view } from './store.ts';

/** The story that is told; null for none. */
const told = signal<Story | null>(null);

const PREFIX = 'story=';

/** The story that an address names by what stands behind its #; undefined if it names none. */
export const storyIn = (hash: string): Story | undefined =>
  hash.startsWith(PREFIX) ? STORIES.find((s) => s.id === hash.slice(PREFIX.length)) : undefined;

/** Opens the kernel of a story where it is to be seen. */
export async function openStory(story: Story): Promise<void> {
  await openGallery(story.kernel);
  const s = source.value;
  if (s === null || run.value === null) return;
  if (story.request !== undefined) await open({ ...s, request: { ...s.request, ...story.request } });
  if (story.fn !== undefined) fnName.value = story.fn;
  const at = run.value.phases.findIndex((p) => p.id === story.phase);
  if (at >= 0) select(at);
  view.value = story.view;
  if (story.pick !== undefined) pick(story.pick);
  if (story.details !== undefined) tab.value = story.details;
  told.value = story;
}

/** Picks an instruction of the result by its text. */
function pick({ text, register }: NonNullable<Story['pick']>): void {
  const snapshot = snapshots.value.length - 1;
  for (const fn of snapshots.value[snapshot])
    for (const b of tables.fns[fn].blocks)
      for (const ins of tables.blocks[b].ins) {
        if (!tables.ins[ins][0].slice(7).startsWith(text)) continue;
        fnName.value = tables.fns[fn].name;
        picked.value = { snapshot, ins, register, line: tables.ins[ins][1] };
        return;
      }
}

/** What a story is about, with a way to the next. */
export function StoryBar() {
  const story = told.value;
  if (story === null || source.value?.file.startsWith(`${story.kernel}.`) !== true) return null;
  const next = STORIES[(STORIES.indexOf(story) + 1) % STORIES.length];
  return (
    <div class="story" role="status">
      <p>
        <b>{story.title}.</b> {story.text}
      </p>
      <button type="button" onClick={() => void openStory(next)}>
        Next: {next.title}
      </button>
      <button type="button" class="plain" aria-label="Close the story" onClick={() => (told.value = null)}>
        ×
      </button>
    </div>
  );
}
