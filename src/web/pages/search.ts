/* Search in the documentation: sections that contain every word, those with a word in their heading first. */

/** A section of a page, as `src/tools/site-pages.ts` writes it to `search.json`. */
export interface Section {
  /** Address from the root of the documentation, with the anchor. */
  readonly at: string;
  /** Titles of the page and of the section. */
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** Maximum number of sections that are listed. */
const MOST = 20;
/** Characters of text that are shown around the first word. */
const SHOWN = 120;

/** Sections that contain every word of a query, in any case; the best first. */
export function found(sections: readonly Section[], query: string): Section[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((w) => w !== '');
  if (words.length === 0) return [];
  return sections
    .map((section) => {
      const head = `${section.page} ${section.heading}`.toLowerCase();
      const all = `${head} ${section.text.toLowerCase()}`;
      const inHead = words.filter((w) => head.includes(w)).length;
      return { section, rank: words.every((w) => all.includes(w)) ? 1 + inHead : 0 };
    })
    .filter((x) => x.rank > 0)
    .sort((x, y) => y.rank - x.rank)
    .slice(0, MOST)
    .map((x) => x.section);
}

/** The text around the first word of a query that it contains. */
export function excerpt(text: string, query: string): string {
  const lower = text.toLowerCase();
  const places = query
    .toLowerCase()
    .split(/\s+/)
    .map((w) => (w === '' ? -1 : lower.indexOf(w)))
    .filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, text.length) - SHOWN / 2);
  const part = text.slice(from, from + SHOWN);
  return `${from > 0 ? '… ' : ''}${part}${from + SHOWN < text.length ? ' …' : ''}`;
}
