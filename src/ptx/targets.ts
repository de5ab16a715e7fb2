/** Names after `.target` (PTX ISA 9.0, 11.1.2; the list is what ptxas 13.0 names and what earlier versions had). */
const ARCHITECTURES =
  '10 11 12 13 20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 90a 100 100a 100f 101 101a 101f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f';

export const PTX_TARGETS: ReadonlySet<string> = new Set([
  ...ARCHITECTURES.split(' ').map((n) => `sm_${n}`),
  'texmode_unified',
  'texmode_independent',
  'texmode_raw',
  'debug',
  'map_f64_to_f32',
]);

/** The newest version of PTX whose instructions and directives the parser knows. */
export const NEWEST_VERSION = '9.0';

/** Is a version, as `.version` names it, newer than any that is known here? */
export function isNewer(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [most, least] = NEWEST_VERSION.split('.').map(Number);
  return major > most || (major === most && minor > least);
}
