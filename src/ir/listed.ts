/** The first `most` of some lines; if there are more, a last line counts the others. */
export const firstLines = (lines: readonly string[], most: number): readonly string[] =>
  lines.length > most ? [...lines.slice(0, most), `and ${lines.length - most} more`] : lines;

/** The first `most` of some names in one text, followed by the number of the others. */
export function firstNames(names: readonly string[], most: number, separator = ', '): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(separator)}${more}`;
}

/** Some words as English lists them: `a`, `a and b`, `a, b and c`. */
export const enumerated = (words: readonly string[], conjunction: 'and' | 'or'): string =>
  words.length < 2
    ? words.join('')
    : `${words.slice(0, -1).join(', ')} ${conjunction} ${words[words.length - 1]}`;

/** The same for the first `most` of some words and the number of the others. A single other word is named, as it is no longer. */
export const enumeratedFirst = (words: readonly string[], most: number): string =>
  enumerated(
    words.length > most + 1 ? [...words.slice(0, most), `${words.length - most} more`] : words,
    'and',
  );
