/**
 * Architectures by the first PTX version that knows them (PTX ISA 9.0, 11.1.2 and the release notes; ptxas 13.0 takes the same, and
 * sm_88 from 7.3 on).
 */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  '1.0': '10 11',
  '1.2': '12 13',
  '2.0': '20 21',
  '3.0': '30',
  '3.1': '35',
  '4.0': '32 50',
  '4.1': '37 52',
  '4.2': '53',
  '5.0': '60 61 62',
  '6.0': '70',
  '6.1': '72',
  '6.3': '75',
  '7.0': '80',
  '7.1': '86',
  '7.3': '88',
  '7.4': '87',
  '7.8': '89 90',
  '8.0': '90a',
  '8.6': '100 100a 101 101a',
  '8.7': '120 120a',
  '8.8': '100f 101f 103 103a 103f 120f 121 121a 121f',
  '9.0': '110 110a 110f',
};

const FIRST: ReadonlyMap<string, string> = new Map(
  Object.entries(ARCHITECTURES).flatMap(([version, names]) =>
    names.split(' ').map((n) => [`sm_${n}`, version] as const),
  ),
);

/** Names of GPU architectures, as `sm_90a`. */
export const ARCHITECTURE_NAMES: readonly string[] = [...FIRST.keys()];

/** Names after `.target`. */
export const PTX_TARGETS: ReadonlySet<string> = new Set([
  ...FIRST.keys(),
  'texmode_unified',
  'texmode_independent',
  'texmode_raw',
  'debug',
  'map_f64_to_f32',
]);

/** The first PTX version that knows a target; '0.0' for what is no architecture. */
export const firstVersion = (target: string): string => FIRST.get(target) ?? '0.0';

/** The versions for which what instructions and directives need is known (PTX ISA 9.0, release notes), the oldest first. */
export const PTX_VERSIONS: readonly string[] = (
  '3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 6.0 6.1 6.2 6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 ' +
  '8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0'
).split(' ');

/** The newest version of PTX whose instructions and directives the parser knows. */
export const NEWEST_VERSION = PTX_VERSIONS.at(-1)!;

/** Is a version, as `.version` names it, newer than any that is known here? */
export function isNewer(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [most, least] = NEWEST_VERSION.split('.').map(Number);
  return major > most || (major === most && minor > least);
}
