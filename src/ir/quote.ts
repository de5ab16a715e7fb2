/*
 * Quoting of text that comes from files (names, messages, source lines), for output that people and programs read. There is one
 * function for each medium. For any text, no line break, escape sequence, markup or mention in it takes effect. JSON needs none.
 */

/**
 * Characters that are invisible or affect surrounding text: controls (C0, DEL, C1), line and paragraph separators, direction marks,
 * tags, joiners, fillers, and surrogates (Unicode 16, categories Cc, Cf, Zl, Zp and Cs, and Default_Ignorable_Code_Point).
 */
const ACTING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** A quick test: a superset of these characters. Most texts contain none. */
const UNUSUAL = /[^\x20-\x7e]/;
const UNUSUAL_IN_LINES = /[^\n\t\x20-\x7e]/;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A character as JSON escapes it. */
const escaped = (c: string): string =>
  SHORT[c] ??
  Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

/** A text in one line, for terminals and logs: control and invisible characters are shown as escapes, as in JSON. */
export const visible = (text: string): string => (UNUSUAL.test(text) ? text.replace(ACTING, escaped) : text);

/** The same for a text of several lines, which keeps its line breaks and tabs. */
export const visibleLines = (text: string): string =>
  UNUSUAL_IN_LINES.test(text)
    ? text.replace(ACTING, (c) => (c === '\n' || c === '\t' ? c : escaped(c)))
    : text;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text in HTML, SVG or XML: between tags, or as a quoted attribute value. */
export const html = (text: string): string => visible(text).replace(/[&<>"']/g, (c) => ENTITIES[c]);

/** The same for a text of several lines, in an element that preserves line breaks. */
export const htmlLines = (text: string): string => visibleLines(text).replace(/[&<>"']/g, (c) => ENTITIES[c]);

/** A zero-width space. GitHub detects mentions, references, addresses and emoji after it has decoded entities. */
const APART = '&#8203;';
const entity = (c: string): string => ENTITIES[c] ?? `&#${c.codePointAt(0)};`;

/** What GitHub's Markdown does not treat as plain text: markup (group 1), anywhere or at the beginning; then what it links or replaces. */
const MARKUP =
  /([&<>\\`*[\]|~$]|(?<![a-z0-9])_|_(?![a-z0-9])|^[-+=])|[@#]|(?<![a-z0-9])(?:gh(?=-\d)|www(?=\.))|:(?=\/\/|[\w+-]+:)|^\d+(?=[.)](?:\s|$))/gi;

/**
 * A text in a paragraph, a heading or a table cell of GitHub's Markdown (GFM 0.29, and what GitHub links or renders in addition:
 * mentions, issues, addresses, emoji, formulas).
 */
export const markdownText = (text: string): string =>
  visible(text)
    .trim()
    .replace(MARKUP, (found, markup?: string) => (markup === undefined ? found + APART : entity(found)));

/** A name in GitHub's Markdown, as code, where nothing is linked. It is also safe in a table cell. */
export function markdownCode(text: string): string {
  const shown = visible(text);
  if (shown === '') return '';
  // Markdown parsers differ in whether a `|` between backticks ends a table cell.
  if (/^[^`|\\]+$/.test(shown) && shown.trim() !== '') return `\`${shown}\``;
  return `<code>${shown.replace(/[^a-z0-9 /-]|^ | $/giu, entity).replaceAll('&#64;', `&#64;${APART}`)}</code>`;
}

/**
 * A text of several lines in GitHub's Markdown: a code block whose fence is longer than any in the text.
 *
 * @param language GitHub's name of the language, such as `diff`; '' for none
 * @param indent spaces before each line, inside a list item
 * @returns the lines of the block
 */
export function markdownBlock(text: string, language = '', indent = ''): string[] {
  const shown = visibleLines(text);
  let longest = 2;
  for (const [run] of shown.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  const fence = '`'.repeat(longest + 1);
  return [`${fence}${language}`, ...shown.split('\n'), fence].map((l) => indent + l);
}

/**
 * The message of a workflow command of GitHub Actions, in several lines if it has them (format and escapes: docs.github.com, "Workflow
 * commands for GitHub Actions", and the toolkit's `command.ts`).
 */
export const annotationText = (text: string): string =>
  visibleLines(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

/** A property of a workflow command of GitHub Actions, such as a file or a title. */
export const annotationProperty = (text: string): string =>
  annotationText(visible(text)).replaceAll(':', '%3A').replaceAll(',', '%2C');

/**
 * A text as one word of a POSIX shell (POSIX.1-2017, Shell Command Language, 2.2); of bash and zsh if it has control or invisible
 * characters. A tilde stays unquoted only after a letter or digit, where no shell expands it to a home folder.
 */
export function shellWord(word: string): string {
  if (/^(?:[\w./:=@%+,-]|(?<=\w)~)+$/.test(word)) return word;
  if (visible(word) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${[...word.replace(/['\\]/g, '\\$&')].map((c) => (visible(c) === c ? c : octal(c))).join('')}'`;
}

/** A path as a shell word of a suggested command. A name that begins with `-` is not taken for an option. */
export const fileWord = (path: string): string => shellWord(path.replace(/^-(?=.)/s, './-'));

/** The bytes of a character as the escapes of `$'...'`. */
const octal = (c: string): string =>
  [...new TextEncoder().encode(c)].map((b) => `\\${b.toString(8).padStart(3, '0')}`).join('');

/** A text as a string of Graphviz' DOT language. Its label escapes (`\N` is the name of the node) have no effect. */
export const dotString = (text: string): string =>
  `"${visible(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** A text as a YAML scalar in one line (YAML 1.2, which accepts JSON strings). */
export const yamlScalar = (text: string): string =>
  /^[a-z](?:[\w ()%+./-]|,(?= ))*$/i.test(text) && !/ $|^(?:true|false|null|y|n|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text).replace(ACTING, (c) => (c === '\n' ? c : escaped(c)));
