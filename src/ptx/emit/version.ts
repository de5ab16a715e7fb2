import { WITHOUT_TEX } from '../check-variable.ts';
import { versionNumber } from '../forms.ts';
import { firstVersion } from '../targets.ts';
import type { PtxTable } from './table.ts';

/** The first version that has lists of parameters, and .ftz, without which sm_1x flushes too (ptxas 13.0). */
const OLDEST = '1.4';

/** The version that a module must declare: its own, or the first that knows the target and what is written. */
const versionFor = (target: string, own: string): string =>
  [own, firstVersion(target), OLDEST].reduce((a, b) => (versionNumber(b) > versionNumber(a) ? b : a));

/** The first version that has `.address_size` (PTX ISA 9.0, 11.1.3); before it, ptxas goes by the machine. */
const ADDRESS_SIZE = '2.3';

export interface Header {
  readonly version: string;
  readonly lines: readonly string[];
  /** What differs from the request, and the instruction that requires it. */
  readonly raised: readonly string[];
}

/** The header for a text: the requested version and target, or the first that have everything in it. */
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

/** Declarations of `.tex`, which only old versions have, as a version writes them. */
export const texturesFor = (version: string, lines: readonly string[]): readonly string[] =>
  versionNumber(version) < versionNumber(WITHOUT_TEX)
    ? lines
    : lines.map((l) => l.replace(/^((?:\.(?:extern|visible) )?)\.tex \.u(?:32|64) /, '$1.global .texref '));

/** Every mnemonic at the start of a line, after its guard if there is one. */
const mnemonics = (text: readonly string[]): Set<string> =>
  new Set(
    text.flatMap((t) =>
      [...t.matchAll(/^[^\S\n\r\u2028\u2029]*(?:@!?\S+ )?([a-z]\w*(?:\.[\w:]+)*)\s/gm)].map((m) => m[1]),
    ),
  );
