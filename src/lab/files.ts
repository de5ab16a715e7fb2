import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DiagnosticError, fileError, fileFault, nearest } from '../ir/diagnostic.ts';
import { covers } from '../ir/glob.ts';
import { shownPath } from '../spec/node.ts';
import { Unreadable } from '../spec/node-files.ts';
import { foundIn } from '../spec/node-paths.ts';
import { namedModule } from './contained.ts';

/** Extensions of kernel files. */
const KERNEL_FILE = /\.(ptx|ori)$/;
const LAUNCH_FILE = /\.ya?ml$/;
const KERNELS = "kernels are .ptx and .ori files, folders of them, and patterns: 'kernels/**/*.ptx'";

/**
 * Finds kernel files by file names, folders (all kernels below them), and patterns with `*`, `?` and `**`. The matches of each are sorted
 * by name.
 *
 * @param base folder to which patterns are relative
 * @returns paths as shown to the user, without duplicates
 * @throws DiagnosticError if one of them matches nothing
 */
export const kernelFiles = (patterns: readonly string[], base = '.'): string[] =>
  filesOf(patterns, base, () => KERNEL_FILE, KERNELS);

/**
 * Like `kernelFiles`, but a name or pattern with a YAML extension means launch files: `k/*` means kernels, `k/*.yaml` launches.
 *
 * @param base folder to which patterns are relative
 * @throws DiagnosticError if one of them matches nothing
 */
export const kernelAndLaunchFiles = (patterns: readonly string[], base = '.'): string[] =>
  filesOf(
    patterns,
    base,
    (pattern) => (isLaunchFile(pattern) ? LAUNCH_FILE : KERNEL_FILE),
    `${KERNELS}; launch files end in .yaml: 'kernels/*/launch.yaml'`,
  );

function filesOf(
  patterns: readonly string[],
  base: string,
  wantedBy: (pattern: string) => RegExp,
  hint: string,
): string[] {
  const out = new Set<string>();
  for (const p of patterns) {
    const found = matches(p, base, wantedBy(p));
    if (found.length === 0) throw new DiagnosticError([nothing(p, base, hint)]);
    for (const f of found) out.add(f);
  }
  return [...out];
}

/** @param wanted matches names of files that a pattern may match */
function matches(pattern: string, base: string, wanted: RegExp): string[] {
  const full = resolve(base, pattern);
  if (existsSync(namedModule(full).file)) {
    if (!existsSync(full)) return [shownPath(full)];
    if (!statSync(full).isDirectory()) return [shownPath(full)];
    const found = filesBelow(full).filter((f) => KERNEL_FILE.test(f));
    for (const f of found) seeFound(full, f);
    return found.map(shownPath);
  }
  if (!/[*?]/.test(pattern)) return [];
  const parts = full.split('/');
  const first = parts.findIndex((x) => /[*?]/.test(x));
  const root = parts.slice(0, first).join('/') || '/';
  const found = walk(root, parts.slice(first), wanted);
  for (const f of found) seeFound(root, f);
  return found.map(shownPath);
}

/**
 * Checks that a file that was found in a folder is not a link to an outside place.
 * @throws DiagnosticError if it is
 */
export function seeFound(folder: string, file: string): void {
  try {
    foundIn(folder, file);
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    throw fileError(shownPath(file), `this is not read: ${e.message}`, e.notes);
  }
}

/**
 * Files below a folder that match the parts of a pattern; `**` stands for any number of folders.
 * @param seen folders that were visited, each with the number of remaining parts: with several `**` a folder is reached in many ways
 */
function walk(
  folder: string,
  parts: readonly string[],
  wanted: RegExp,
  seen: Set<string> = new Set(),
): string[] {
  const key = `${parts.length} ${folder}`;
  if (seen.has(key)) return [];
  seen.add(key);
  const [part, ...rest] = parts;
  if (!existsSync(folder) || !statSync(folder).isDirectory()) return [];
  const out: string[] = [];
  if (part === '**') out.push(...walk(folder, rest, wanted, seen));
  for (const e of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, e.name);
    if (part === '**') {
      if (e.isDirectory() && !e.name.startsWith('.')) out.push(...walk(path, parts, wanted, seen));
      continue;
    }
    if (!covers(part, e.name)) continue;
    if (rest.length > 0) out.push(...walk(path, rest, wanted, seen));
    else if (!e.isDirectory() && wanted.test(e.name)) out.push(path);
  }
  return [...new Set(out)];
}

/** Full paths of all files below a folder, sorted by name. Hidden folders are skipped. */
export const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((e) =>
      e.isDirectory()
        ? e.name.startsWith('.')
          ? []
          : filesBelow(join(folder, e.name))
        : [join(folder, e.name)],
    );

/** Syntax for sets of characters or words in the patterns of shells. */
const OTHER_PATTERN = /\[.*\]|\{.*,.*\}/;

function nothing(pattern: string, base: string, hint: string) {
  // An existing file always matches, so this is a folder.
  if (existsSync(resolve(base, pattern)))
    return fileFault('', `the folder '${pattern}' holds no .ptx or .ori file`, []);
  const folder = dirname(resolve(base, pattern));
  let near: string[] = [];
  try {
    near = nearest(basename(pattern), readdirSync(folder));
  } catch {
    // The folder is missing too.
  }
  return fileFault(
    '',
    /[*?]/.test(pattern) ? `no kernel matches '${pattern}'` : `there is no file or folder '${pattern}'`,
    [
      ...(OTHER_PATTERN.test(pattern)
        ? ['patterns support *, ? and **; brackets and braces have no special meaning']
        : []),
      near.length > 0 ? `did you mean '${join(dirname(pattern), near[0]).replaceAll('\\', '/')}'?` : hint,
    ],
  );
}

/** True if a file has the extension of a launch file. */
export const isLaunchFile = (file: string): boolean => LAUNCH_FILE.test(file);

/** Launch files in the folder of a kernel, by name (`launch*.yaml`); empty if the folder cannot be read. */
export function launchFilesBeside(file: string): string[] {
  const folder = dirname(file);
  try {
    return readdirSync(folder)
      .filter((f) => /^launch.*\.ya?ml$/.test(f))
      .sort()
      .map((f) => join(folder, f));
  } catch {
    return [];
  }
}

/** The base name that a module's versions for several targets share: `saxpy` for `saxpy.sm_90.ptx`. */
export const stemOf = (file: string): string =>
  basename(file)
    .replace(/\.(ptx|ori|ya?ml)$/, '')
    .replace(/\.sm_\d+[af]?$/, '');
