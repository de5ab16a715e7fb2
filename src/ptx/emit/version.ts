import { WITHOUT_TEX } from '../check-variable.ts';
import { versionNumber } from '../forms.ts';
import { firstVersion } from '../targets.ts';
import type { PtxTable } from './table.ts';

/** The first PTX version with lists of parameters, and with `.ftz`; targets sm_1x flush without it too (ptxas 13.0). */
const OLDEST = '1.4';

/** The least version to declare: that of the module, the first that has the target, or the first whose syntax is written. */
const versionFor = (target: string, own: string): string =>
  [own, firstVersion(target), OLDEST].reduce((a, b) => (versionNumber(b) > versionNumber(a) ? b : a));

/** The first version with `.address_size` (PTX ISA 9.0, 11.1.3); older modules do not state their address size. */
const ADDRESS_SIZE = '2.3';

/** The header of a module: `.version`, `.target` and `.address_size`. */
export interface Header {
  readonly version: string;
  readonly lines: readonly string[];
  /** Messages for each difference from the request, with the instruction that requires it. */
  readonly raised: readonly string[];
}

/**
 * The header for a text: the requested version and target, raised as far as its instructions need.
 * @param own version of the module
 */
export function headerFor(
  text: readonly string[],
  own: string,
  target: readonly string[],
  addressSize: number,
  table: PtxTable,
): Header {
  let version = versionFor(target[0], own);
  let sm = Number(/\d+/.exec(target[0])?.[0] ?? 0);
  const raised = new Map<string, string>();
  if (table.allNeeds.some((need) => versionNumber(need.version) > versionNumber(version) || need.sm > sm))
    for (const mnemonic of mnemonics(text)) {
      const need = table.needOf(mnemonic);
      if (need === null) continue;
      if (versionNumber(need.version) > versionNumber(version)) {
        version = need.version;
        raised.set('version', `.version ${version} instead of ${own}: '${mnemonic}' needs it`);
      }
      if (need.sm > sm) {
        sm = need.sm;
        raised.set('target', `.target sm_${sm} instead of ${target[0]}: '${mnemonic}' needs it`);
      }
    }
  const named = raised.has('target') ? [`sm_${sm}`, ...target.slice(1)] : target;
  return {
    version,
    lines: [
      `.version ${version}`,
      `.target ${named.join(', ')}`,
      ...(versionNumber(version) < versionNumber(ADDRESS_SIZE) ? [] : [`.address_size ${addressSize}`]),
    ],
    raised: [...raised.values()],
  };
}

/** The lines with declarations in `.tex`, which only old versions have, rewritten to `.global .texref` for newer ones. */
export const texturesFor = (version: string, lines: readonly string[]): readonly string[] =>
  versionNumber(version) < versionNumber(WITHOUT_TEX)
    ? lines
    : lines.map((l) => l.replace(/^((?:\.(?:extern|visible) )?)\.tex \.u(?:32|64) /, '$1.global .texref '));

/** The mnemonics at the start of lines, after an optional guard. */
const mnemonics = (text: readonly string[]): Set<string> =>
  new Set(
    text.flatMap((t) =>
      [...t.matchAll(/^[^\S\n\r\u2028\u2029]*(?:@!?\S+ )?([a-z]\w*(?:\.[\w:]+)*)\s/gm)].map((m) => m[1]),
    ),
  );
