import { excerpt, found, type Section } from './search.ts';

/** Connects the field `#search` of a page with its list `#found`. */
function connect(root: string): void {
  const field = document.querySelector<HTMLInputElement>('#search')!;
  const list = document.querySelector<HTMLElement>('#found')!;
  let sections: Promise<readonly Section[]> | undefined;
  field.addEventListener('input', async () => {
    const query = field.value;
    sections ??= fetch(`${root}search.json`).then((r) => r.json() as Promise<readonly Section[]>);
    const all = await sections;
    // A later key may have been pressed meanwhile.
    if (field.value !== query) return;
    const hits = found(all, query);
    list.replaceChildren(...hits.map((s) => entry(root, s, query)));
    if (hits.length === 0 && query.trim() !== '') list.textContent = 'No section has all of these words.';
  });
}

function entry(root: string, { at, page, heading, text }: Section, query: string): HTMLElement {
  const link = document.createElement('a');
  link.href = root + at;
  link.textContent = heading === page ? page : `${page}: ${heading}`;
  const shown = document.createElement('p');
  shown.textContent = excerpt(text, query);
  const item = document.createElement('li');
  item.append(link, shown);
  return item;
}

connect(document.body.dataset['root'] ?? '');
