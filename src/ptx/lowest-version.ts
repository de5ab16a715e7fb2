import { checkPtx } from './check.ts';
import { versionNumber } from './forms.ts';
import { parsePtx } from './parse.ts';
import { firstVersion, PTX_VERSIONS } from './targets.ts';

/** The `.version` of a module. */
const DIRECTIVE = /^([^\S\n\r\u2028\u2029]*\.version\s+)(\d+\.\d+)/m;

/**
 * The text with its `.version` lowered to the first one that has its target and all of its instructions; unchanged if no known version up
 * to its own has them.
 *
 * @param declared opcodes in addition to those of the PTX ISA, which every version has
 */
export function withLowestVersion(text: string, declared?: ReadonlySet<string>): string {
  const own = DIRECTIVE.exec(text)?.[2];
  if (own === undefined) return text;
  const as = (version: string): string => text.replace(DIRECTIVE, `$1${version}`);
  const { target } = parsePtx(text, '', declared).module;
  const least = versionNumber(firstVersion(target[0] ?? ''));
  const versions = PTX_VERSIONS.filter(
    (v) => versionNumber(v) >= least && versionNumber(v) <= versionNumber(own),
  );
  const has = (version: string): boolean => {
    const { module, diagnostics } = parsePtx(as(version), '', declared);
    return ![...diagnostics, ...checkPtx(module)].some((d) => d.severity === 'error');
  };
  // Binary search: later versions have what earlier ones have, except for few forms that were removed.
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (has(versions[middle])) high = middle;
    else low = middle + 1;
  }
  return low < versions.length ? as(versions[low]) : text;
}
