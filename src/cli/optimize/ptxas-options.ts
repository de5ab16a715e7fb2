import { type Stats, statSync } from 'node:fs';
import { visible } from '../../ir/quote.ts';
import { readRegular, reason, Unreadable } from '../../spec/node-files.ts';
import { isDevice } from '../../spec/node-paths.ts';
import { err, failWith } from '../terminal/ui.ts';

/*
 * The options of ptxas, those in options files too, as far as the drop-in must know what ptxas reads and writes (13.0.88).
 */

/** What ptxas writes where nothing says another name (13.0.88, --help). */
const USUAL_OUTPUT = 'elf.o';

export const OUTPUT = ['-o', '--output-file'];
const OPTIONS_FILES = ['-optf', '--options-file'];

/** Most options files that are looked at; one may name itself. */
const MOST_FILES = 1000;

/** The file that an argument names; undefined for none, and for what cannot be the name of a file. */
export function fileOf(argument: string): Stats | undefined {
  try {
    return statSync(argument, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * The bytes of a file that ptxas is given; null for what is for ptxas alone: folders, pipes, devices that are named as such, and files
 * that are too large or have odd names. Ends the command for what would never end, which ptxas would wait for: a link may lead there.
 */
export function bytesFor(file: string): Buffer | null {
  const seen = fileOf(file);
  if (seen === undefined || seen.isDirectory() || seen.isFIFO()) return null;
  if (!seen.isFile() && isDevice(file)) return null;
  try {
    return readRegular(file, 'input');
  } catch (e) {
    if (e instanceof Unreadable && e.code === 'EFBIG') return null;
    if (e instanceof Unreadable && e.code === 'ENAME') {
      err(`orrery: warning: ${visible(file)} is used unmodified: ${e.message}`);
      return null;
    }
    return failWith(`cannot read ${file}: ${e instanceof Unreadable ? e.message : reason(e)}`);
  }
}

/** The words of an options file: white space parts them, double quotes and backslashes keep what follows in one. */
export function optionWords(text: string): string[] {
  const words = text.match(/(?:"(?:\\[\s\S]|[^"\\])*"?|\\[\s\S]|[^\s"\\])+/g) ?? [];
  return words.map((w) => w.replace(/\\([\s\S])|"/g, '$1'));
}

function optionsIn(file: string): string {
  if (fileOf(file)?.isFIFO() === true)
    failWith(
      `${file} is a pipe, which can be read once, and only by ptxas`,
      'write these options into a file',
    );
  return bytesFor(file)?.toString() ?? '';
}

/** Arguments with the words of options files, and of those that these name, in the places of these. */
export function withOptionsFiles(args: readonly string[]): string[] {
  let left = MOST_FILES;
  const expand = (words: readonly string[]): string[] =>
    words.flatMap((word, k) => {
      const named = OPTIONS_FILES.includes(words[k - 1] ?? '')
        ? word
        : OPTIONS_FILES.flatMap((o) => (word.startsWith(`${o}=`) ? [word.slice(o.length + 1)] : []))[0];
      if (named === undefined) return OPTIONS_FILES.includes(word) ? [] : [word];
      return named
        .replaceAll('"', '')
        .split(',')
        .flatMap((f) => (left-- > 0 ? expand(optionWords(optionsIn(f))) : []));
    });
  return expand(args);
}

/** Value of an option in any form that ptxas accepts: `-arch sm_90`, `-arch=sm_90`, `-O3`. */
export function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  let found: string | undefined;
  for (const [k, a] of args.entries())
    for (const n of names) {
      if (a === n) found = args[k + 1];
      else if (a.startsWith(`${n}=`)) found = a.slice(n.length + 1);
      else if (n === '-O' && /^-O\d$/.test(a)) found = a.slice(2);
    }
  return found;
}

/** Where ptxas would write. @param all its arguments, with those of options files */
export const outputOf = (all: readonly string[]): string => optionValue(all, OUTPUT) ?? USUAL_OUTPUT;

/** Files that ptxas reads: what is there, and no value of an option. @param all its arguments, with those of options files */
export const filesIn = (all: readonly string[]): string[] =>
  all.filter(
    (a, k) => ![...OUTPUT, '-e', '--entry'].includes(all[k - 1] ?? '') && fileOf(a)?.isFile() === true,
  );

/** Arguments of which the output is another file: ptxas takes the last that is named. */
export const writingTo = (output: string, args: readonly string[]): string[] => [
  ...args.filter((a, k) => !/^(-o|--output-file)(=|$)/.test(a) && !OUTPUT.includes(args[k - 1] ?? '')),
  '-o',
  output,
];

/** What ptxas has printed, without its warning that an options file and `writingTo` name two outputs. */
export const withoutOutputWarning = (said: string): string =>
  said.replace(/^ptxas warning : incompatible redefinition for option 'output-file'.*\n?/gm, '');
