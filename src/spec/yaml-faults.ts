import { isAlias, type Node, visit, type YAMLError } from 'yaml';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { type ParsedYaml, placeAt } from './places.ts';

/** Maximum number of faults reported for one text: further ones are nearly always consequences. */
const MOST_FAULTS = 10;

/** Maximum number of aliases in one text: to resolve one, the parser searches all anchors and aliases before it. */
const MOST_ALIASES = 1000;

/** Messages and hints for errors of the YAML parser, by error code (`yaml` package, ErrorCode). */
const WORDS: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  DUPLICATE_KEY: ['this key occurs twice in one map', 'join the two, or rename one'],
  TAB_AS_INDENT: ['a tab cannot be used for indentation', 'use spaces'],
  BLOCK_IN_FLOW: [
    'an indented block is not allowed inside { } or [ ]',
    'close the bracket first, or write it all in one style',
  ],
  MULTILINE_IMPLICIT_KEY: ['a key ends at the end of its line', "a ':' is missing, or a text is not quoted"],
  KEY_OVER_1024_CHARS: ['a key is longer than 1024 characters', 'a quote or a bracket may be missing'],
  ALIAS_PROPS: ['an alias cannot have a tag or an anchor', ''],
  BAD_ALIAS: ['this alias has no name', "quote a text that starts with '*'"],
  BAD_DQ_ESCAPE: ['unknown escape in a text in double quotes', "in single quotes nothing is escaped but ''"],
  BAD_SCALAR_START: ['a text cannot start with this character', 'quote it'],
  MULTIPLE_ANCHORS: ['a value has one anchor at most', "quote a text that starts with '&'"],
  MULTIPLE_TAGS: ['a value has one tag at most', "quote a text that starts with '!'"],
  BAD_PROP_ORDER: ['an anchor or a tag is in the wrong place', "put it after '-', '?' or ':'"],
  MULTIPLE_DOCS: ["a spec is one document: '---' starts another", 'put it into a file of its own'],
  TAG_RESOLVE_FAILED: ['this tag is not known', "quote a text that starts with '!'"],
};

/** The same for errors whose code is too general, by the parser's message. */
const BY_TEXT: readonly (readonly [text: RegExp, message: string, hint: string])[] = [
  [
    /^Sequence item without -/,
    'an element of this list has no dash',
    "write '- ' before it, or indent it as a part of the element above",
  ],
  [/^Missing , (or : )?between/, "a ',' is missing between two elements", 'quote a text that contains one'],
  [/^Missing space after :/, "a space is missing after ':'", ''],
  [/^Implicit map keys need to be followed/, "this key has no ':' after it", "write 'key: value'"],
  [/^Comments must be separated/, "a space is missing before '#'", 'quote a text that contains one'],
  [
    /^Tags and anchors must be separated/,
    'a space is missing after this tag or anchor',
    "quote a text that starts with '!' or '&'",
  ],
  [/^Unexpected (, |empty item)/, "there is nothing before this ','", 'leave it out'],
  [/^Unexpected flow-(map|seq)-end/, 'this bracket closes nothing', 'leave it out, or quote the text'],
  [/at node end$/, 'the value has ended before this', 'quote the whole text'],
  [/^Block scalar header/, "nothing may follow '|' or '>' in its line", 'the text begins in the next line'],
];

/** The YAML syntax faults of a text, the first of each line; if there are none, the faulty aliases. */
export function yamlFaults(file: string, text: string, { doc, lines }: ParsedYaml): Diagnostic[] {
  const errors = [...doc.errors, ...doc.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const out: Diagnostic[] = [];
  for (const e of errors) {
    // One long line may have thousands of errors, and finding a location scans to the end of the line.
    const line = Math.max(1, lines.linePos(e.pos[0]).line);
    if (out.some((d) => d.line === line)) continue;
    const place = placeAt(text, lines, e.pos[0], e.pos[1]);
    const [message, notes] = inWords(e, text);
    out.push({ severity: 'error', code: 'yaml', message, file, ...place, notes });
    if (out.length === MOST_FAULTS) break;
  }
  return out.length > 0 ? out : faultyAliases(file, text, { doc, lines });
}

/** Aliases inside of the node that they name, which would make the document infinite; and the first alias beyond the maximum. */
function faultyAliases(file: string, text: string, { doc, lines }: ParsedYaml): Diagnostic[] {
  const out: Diagnostic[] = [];
  let aliases = 0;
  // The last node of each anchor so far, which is what an alias refers to. The package would search the whole document for each alias.
  const named = new Map<string, Node>();
  visit(doc, {
    Node: (_, node, above) => {
      if (!isAlias(node)) {
        if (node.anchor !== undefined) named.set(node.anchor, node);
        return undefined;
      }
      const tooMany = ++aliases > MOST_ALIASES;
      const at = named.get(node.source);
      if (!tooMany && (at === undefined || !above.includes(at))) return undefined;
      const [from, to] = node.range!;
      out.push({
        severity: 'error',
        code: 'yaml',
        message: tooMany
          ? `more than ${MOST_ALIASES} aliases are not read`
          : `the alias '*${node.source}' is inside of the node that it names`,
        file,
        ...placeAt(text, lines, from, to),
      });
      return tooMany || out.length === MOST_FAULTS ? visit.BREAK : undefined;
    },
  });
  return out;
}

function inWords(e: YAMLError, text: string): [string, string[]] {
  const reported = e.message.split('\n')[0];
  if (/call stack/i.test(reported)) return ['the text is nested too deeply', []];
  const open = /^Flow (map|sequence)/.exec(reported)?.[1];
  if (open !== undefined)
    return [`a '${open === 'map' ? '{' : '['}' that was opened before is not closed`, []];
  if (/^Missing closing/.test(reported)) return [`a quoted text is not closed`, []];
  if (e.code === 'BAD_INDENT') return ['the indentation does not fit', indentNotes(e.pos[0], text)];
  if (e.code === 'BLOCK_AS_IMPLICIT_KEY') return secondColon(e, text);
  const known = WORDS[e.code];
  if (known === undefined) {
    const [, message, hint] = BY_TEXT.find(([form]) => form.test(reported)) ?? [
      reported,
      'this is not valid YAML',
      reported,
    ];
    return [message, hint === '' ? [] : [hint]];
  }
  const notes = known[1] === '' ? [] : [known[1]];
  if (e.code !== 'DUPLICATE_KEY') return [known[0], notes];
  const key = /^(["']?)([\w.# -]+)\1/.exec(text.slice(e.pos[0], e.pos[0] + 80))?.[2].trim() ?? '';
  return [key === '' ? known[0] : `the key '${key}' occurs twice in one map`, notes];
}

/** A note on how the line at an offset may be indented: like one of the enclosing blocks before it, each named by its first key. */
function indentNotes(offset: number, text: string, which = 'the line'): string[] {
  const lines = text.slice(0, offset).split('\n');
  const rest = text.slice(offset).split('\n', 1)[0];
  const line = `${lines.pop()}${rest}`;
  const spaces = (l: string): number => /^ */.exec(l)![0].length;
  const open: { readonly at: number; readonly name: string }[] = [];
  for (const l of lines.reverse()) {
    if (/^\s*(#|$)/.test(l)) continue;
    const at = spaces(l);
    // The first key of an element follows its dash; a line may be aligned with either.
    const key = at + /^(?:- +)*/.exec(l.slice(at))![0].length;
    const outermost = open.at(-1)?.at ?? Number.POSITIVE_INFINITY;
    if (key < outermost) open.push({ at: key, name: /^["']?([\w.-]+)/.exec(l.slice(key))?.[1] ?? l.trim() });
    if (at < key && at < outermost) open.push({ at, name: '-' });
    if (at === 0) break;
  }
  const places = open.map(({ at, name }) => `by ${at} as '${name}'`);
  const own = spaces(line);
  return [
    `${which} is indented by ${own === 1 ? '1 space' : `${own} spaces`}; indent it ${places.join(', or ')}`,
  ];
}

/** Message for a map where only a scalar is allowed: a second colon in a line, or a line indented under a complete value. */
function secondColon(e: YAMLError, text: string): [string, string[]] {
  const end = text.indexOf('\n', e.pos[0]);
  const rest = text.slice(e.pos[0], end < 0 ? undefined : end);
  if (end < 0 || /:(\s|$)/.test(rest)) return ["a second ': ' in one line: quote a text that holds one", []];
  const next = end + /^\s*/.exec(text.slice(end))![0].length;
  return [
    'this line has its value already, but the next one is indented under it',
    indentNotes(next, text, 'the next line'),
  ];
}
