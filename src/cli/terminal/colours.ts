import { visible, visibleLines } from '../../ir/quote.ts';
import { beforeEachCommand } from '../command-state.ts';

/*
 * Colours, and escaping of text for a terminal. A colour that this process writes carries a secret number in its escape sequence; the
 * number is removed when the text is printed, and every other escape sequence is printed as visible text.
 */

/**
 * Whether a stream gets colours: on a terminal, unless NO_COLOR or FORCE_COLOR says otherwise. A build server (`CI`) does not count:
 * scripts read its output.
 */
const coloured = (stream: NodeJS.WriteStream): boolean =>
  (process.env.NO_COLOR ?? '') === '' &&
  ((process.env.FORCE_COLOR ?? '') !== '' || (stream.isTTY === true && process.env.TERM !== 'dumb'));

// The number is never printed, so the texts to escape cannot depend on it: V8's generator will do. Loading node:crypto takes longer than
// most commands need to print.
const OURS = Math.floor(Math.random() * 2 ** 47);

/** SGR codes that begin and end a colour or a weight (ECMA-48). */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Painter = (text: string) => string;
export type Colours = Readonly<Record<keyof typeof CODES, Painter>>;

const sequence = (code: number): string => `\u001b[${code};${OURS}m`;

function painter([on, off]: readonly [number, number]): Painter {
  const [begin, end] = [sequence(on), sequence(off)];
  // A nested colour ends with a code that would end this one too.
  return (text) => begin + text.replaceAll(end, `${end}${begin}`) + end;
}

/** Colours for a stream, if it gets colours at the time of the command that prints. */
function coloursFor(stream: NodeJS.WriteStream): Colours {
  let on = coloured(stream);
  beforeEachCommand(() => {
    on = coloured(stream);
  });
  const painters = Object.entries(CODES).map(([name, codes]) => {
    const paint = painter(codes);
    return [name, (text: string) => (on ? paint(text) : text)];
  });
  return Object.fromEntries(painters) as Colours;
}

/** Colours for standard output. */
export const pc = coloursFor(process.stdout);
/** Colours for standard error. */
export const pcErr = coloursFor(process.stderr);

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes start with ESC
const ANSI = /\u001b\[[0-9;]*m/g;
/** A text without its colour codes. */
export const uncoloured = (text: string): string => text.replace(ANSI, '');

const PAINTED = new RegExp(`\u001b\\[(\\d+);${OURS}m`);

/** A multi-line text for a terminal or a log: with our colours, and nothing else that controls the terminal. */
export function printable(text: string): string {
  if (!text.includes(String(OURS))) return visibleLines(text);
  // The secret number of a colour follows each text.
  return text
    .split(PAINTED)
    .map((part, i) => (i % 2 === 0 ? visibleLines(part) : `\u001b[${part}m`))
    .join('');
}

/** A text in one line, escaped likewise. */
export const printableLine = (text: string): string => visible(uncoloured(text));
