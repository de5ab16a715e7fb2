import { checkPtx } from './check.ts';
import { versionNumber } from './forms.ts';
import { parsePtx } from './parse.ts';
import { firstVersion, PTX_VERSIONS } from './targets.ts';

/** The `.version` of a module, which stands before all else but comments. */
const DIRECTIVE = /^([^\S\n\r\u2028\u2029]*\.version\s+)(\d+\.\d+)/m;

/**
 * The text with the lowest version that has its target and all of its instructions; as it is where no known version has them.
 *
 * @param declared opcodes besides those of the PTX ISA, which any version may have
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
  // What one version has, later ones have too, but for the few forms that end.
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (has(versions[middle])) high = middle;
    else low = middle + 1;
  }
  return low < versions.length ? as(versions[low]) : text;
}
