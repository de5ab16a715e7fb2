import { randomInt } from 'node:crypto';
import { visible, visibleLines } from '../../ir/quote.ts';
import { beforeEachCommand } from '../command-state.ts';

/*
 * Colours, and what reaches a terminal. A colour that this process paints carries a number in its escape sequence that no file knows; it
 * is taken out where the text is printed, and every other escape sequence is shown as text there.
 */

/**
 * Whether colours belong on a stream: on a terminal, unless NO_COLOR says no or FORCE_COLOR says yes. That a build server
 * runs the command (`CI`) is no reason: what it prints is read by scripts there.
 */
const coloured = (stream: NodeJS.WriteStream): boolean =>
  (process.env.NO_COLOR ?? '') === '' &&
  ((process.env.FORCE_COLOR ?? '') !== '' || (stream.isTTY === true && process.env.TERM !== 'dumb'));

const OURS = randomInt(2 ** 47);

/** Codes that begin and end a colour or a weight (ECMA-48, SGR). */
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
  // What is painted within ends with a code that would end this too.
  return (text) => begin + text.replaceAll(end, `${end}${begin}`) + end;
}

/** Colours for a stream, where they belong on it at the time of the command that paints. */
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
/** A text without its colours. */
export const uncoloured = (text: string): string => text.replace(ANSI, '');

const PAINTED = new RegExp(`\u001b\\[(\\d+);${OURS}m`);

/** A text of several lines as a terminal or a log gets it: with our colours, and nothing else that acts on it. */
export function printable(text: string): string {
  if (!text.includes(String(OURS))) return visibleLines(text);
  // The number of a colour comes behind each text.
  return text
    .split(PAINTED)
    .map((part, i) => (i % 2 === 0 ? visibleLines(part) : `\u001b[${part}m`))
    .join('');
}

/** A text in one line, likewise. */
export const printableLine = (text: string): string => visible(uncoloured(text));
