import { PTX_SYNTAX } from './syntax.generated.ts';

/** The PTX version that introduced each architecture. */
const FIRST: ReadonlyMap<string, string> = new Map(
  Object.entries(PTX_SYNTAX.targets).flatMap(([version, names]) =>
    names.split(' ').map((name) => [name, version] as const),
  ),
);

/** Names of GPU architectures, as `sm_90a`. */
export const ARCHITECTURE_NAMES: readonly string[] = [...FIRST.keys()];

/** Names after `.target`. */
export const PTX_TARGETS: ReadonlySet<string> = new Set([...FIRST.keys(), ...PTX_SYNTAX.modes.split(' ')]);

/** The first PTX version that knows a target; '0.0' for what is no architecture. */
export const firstVersion = (target: string): string => FIRST.get(target) ?? '0.0';

/** PTX versions whose instructions and directives are known, oldest first. */
export const PTX_VERSIONS: readonly string[] = PTX_SYNTAX.versions.split(' ');

/** The newest version of PTX whose instructions and directives the parser knows. */
export const NEWEST_VERSION = PTX_VERSIONS.at(-1)!;

/** Is a version, as `.version` names it, newer than any that is known here? */
export function isNewer(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [most, least] = NEWEST_VERSION.split('.').map(Number);
  return major > most || (major === most && minor > least);
}
