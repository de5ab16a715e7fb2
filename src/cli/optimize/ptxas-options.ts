import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { visible } from '../../ir/quote.ts';
import { readRegular, reason, Unreadable } from '../../spec/node-files.ts';
import { isDevice, namedPath } from '../../spec/node-paths.ts';
import { err, failWith } from '../terminal/ui.ts';

/*
 * The options of ptxas, those in options files too, as far as the drop-in must know what ptxas reads and writes (13.0.88).
 */

/** What ptxas writes where nothing says another name (13.0.88, --help). */
const USUAL_OUTPUT = 'elf.o';

export const OUTPUT = ['-o', '--output-file'];
const OPTIONS_FILES = ['-optf', '--options-file'];

/**
 * Options that an options file may hold: those of --help. Others have ptxas write files as well (--compiler-stats-file, --link-info,
 * --fdevice-time-trace), and an options file may be somebody else's.
 */
const DOCUMENTED: ReadonlySet<string> = new Set(
  `
  --Ofast-compile -Ofc --allow-expensive-optimizations -allow-expensive-optimizations --compile-as-tools-patch -astoolspatch
  --compile-only -c --compiler-annotations -annotate --def-load-cache -dlcm --def-store-cache -dscm --device-debug -g
  --device-function-maxrregcount -func-maxrregcount --device-stack-protector -device-stack-protector
  --disable-optimizer-constants -disable-optimizer-consts --disable-warnings -w --dont-merge-basicblocks -no-bb-merge --entry
  -e --extensible-whole-program -ewp --fmad -fmad --force-load-cache -flcm --force-store-cache -fscm
  --g-tensor-memory-access-check -g-tmem-access-check --generate-line-info -lineinfo --gno-tensor-memory-access-check
  -gno-tmem-access-check --gpu-name -arch --help -h --input-as-string -ias --legacy-bar-warp-wide-behavior
  -legacy-bar-warp-wide-behavior --list-version -version-ls --machine -m --make-errors-visible-at-exit
  -make-errors-visible-at-exit --maxntid -maxntid --maxrregcount -maxrregcount --minnctapersm -minnctapersm --opt-level -O
  --optimize-float-atomics -opt-fp-atomics --options-file -optf --output-file -o --override-directive-values
  -override-directive-values --position-independent-code -pic --preserve-relocs -preserve-relocs --register-usage-level
  -regUsageLevel --return-at-end -ret-end --sanitize -sanitize --sp-bounds-check -sp-bounds-check --split-compile
  -split-compile --suppress-async-bulk-multicast-advisory-warning -suppress-async-bulk-multicast-advisory-warning
  --suppress-debug-info -suppress-debug-info --suppress-double-demote-warning -suppress-double-demote-warning
  --suppress-sparse-mma-advisory-info -suppress-sparse-mma-advisory-info --suppress-stack-size-warning
  -suppress-stack-size-warning --verbose -v --version -V --warn-on-double-precision-use -warn-double-usage
  --warn-on-local-memory-usage -warn-lmem-usage --warn-on-spills -warn-spills --warning-as-error -Werror
  `
    .trim()
    .split(/\s+/),
);

const isDocumented = (option: string): boolean => DOCUMENTED.has(option) || /^-O\d$/.test(option);

/** Most options files that are read; ptxas would read more than these. */
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

/** Ends the command if an options file holds an option that is not documented. However ptxas may take quotes, it is seen. */
function checkOptions(file: string, text: string): void {
  for (const word of [
    ...optionWords(text),
    ...text.replace(/["'\\]/g, '').split(/\s+/),
    ...text.split(/["'\s]+/),
  ]) {
    const [option] = word.split('=', 1);
    if (option.startsWith('-') && !isDocumented(option))
      failWith(
        `${file} holds the option ${option}, which ptxas does not document and which may write files`,
        'where it is meant, give it on the command line',
      );
  }
}

/** Ends the command if an options file names a file that is out of its reach. */
function checkReach(name: string, file: string): void {
  if (fileOf(name) === undefined) return;
  try {
    namedPath(resolve(name), file);
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    failWith(`${file} names ${name}: ${e.message}`, ...e.notes);
  }
}

function textOfOptions(file: string): string {
  if (fileOf(file)?.isFIFO() === true)
    failWith(
      `${file} is a pipe, which can be read once, and only by ptxas`,
      'write these options into a file',
    );
  const text = bytesFor(file)?.toString() ?? '';
  checkOptions(file, text);
  return text;
}

/**
 * Arguments with the words of options files, and of those that these name, in the places of these. Ends the command if one holds an option
 * that may write, or names a file out of its reach.
 */
export function withOptionsFiles(args: readonly string[]): string[] {
  let left = MOST_FILES;
  /** @param within options files that the words are in; one may name itself, and says nothing more then */
  const expand = (words: readonly string[], within: readonly string[]): string[] =>
    words.flatMap((word, k) => {
      const reach = (name: string): void => {
        const by = within.at(-1);
        if (by !== undefined && !OUTPUT.includes(words[k - 1] ?? '')) checkReach(name, by);
      };
      const named = OPTIONS_FILES.includes(words[k - 1] ?? '')
        ? word
        : OPTIONS_FILES.flatMap((o) => (word.startsWith(`${o}=`) ? [word.slice(o.length + 1)] : []))[0];
      if (named === undefined) {
        reach(word);
        return OPTIONS_FILES.includes(word) ? [] : [word];
      }
      return named
        .replaceAll('"', '')
        .split(',')
        .flatMap((f) => {
          reach(f);
          if (within.includes(f)) return [];
          if (left-- <= 0) failWith(`there are more than ${MOST_FILES} options files`);
          return expand(optionWords(textOfOptions(f)), [...within, f]);
        });
    });
  return expand(args, []);
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

/** Options with a value that is another argument unless `=` joins it (ptxas 13.0.88, --help). */
const WITH_VALUE = new Set([
  ...[
    '-arch',
    '--gpu-name',
    '-O',
    '--opt-level',
    ...OUTPUT,
    '-m',
    '--machine',
    '-fmad',
    '--fmad',
    '-e',
    '--entry',
  ],
  ...['-maxrregcount', '--maxrregcount', '-maxntid', '--maxntid', '-minnctapersm', '--minnctapersm'],
  ...['-dlcm', '--def-load-cache', '-dscm', '--def-store-cache', '-flcm', '--force-load-cache'],
  ...[
    '-fscm',
    '--force-store-cache',
    '-ias',
    '--input-as-string',
    '-regUsageLevel',
    '--register-usage-level',
  ],
  ...['-split-compile', '--split-compile', '-sanitize', '--sanitize'],
  ...['-func-maxrregcount', '--device-function-maxrregcount'],
]);

/** An option among the arguments of ptxas: its name, and its value where one is given. */
export interface GivenOption {
  readonly name: string;
  readonly value: string | undefined;
}

/** The options among the arguments of ptxas, and what else is given. */
export function optionsIn(args: readonly string[]): { options: GivenOption[]; others: string[] } {
  const options: GivenOption[] = [];
  const others: string[] = [];
  for (let k = 0; k < args.length; k++) {
    const at = args[k].indexOf('=');
    const name = at < 0 ? args[k] : args[k].slice(0, at);
    const joined = /^(-O)(\d)$|^(-m)(\d+)$/.exec(args[k]);
    if (!name.startsWith('-')) others.push(args[k]);
    else if (joined !== null) options.push({ name: joined[1] ?? joined[3], value: joined[2] ?? joined[4] });
    else if (at >= 0) options.push({ name, value: args[k].slice(at + 1) });
    else options.push({ name, value: WITH_VALUE.has(name) ? args[++k] : undefined });
  }
  return { options, others };
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
