import type { ErrorObject } from 'ajv';

type Tree = Record<string, unknown> | unknown[];

/** Most rounds of removing faulty entries; each round may uncover faults that an earlier one hid. */
const ROUNDS = 4;

/**
 * A spec without the entries that its schema rejects, so that the rest can still be checked and all faults reported together. A
 * single list element is never removed, since that would shift the places of the others; the entry that holds the list is.
 *
 * @param validate errors of a spec; none if it is valid
 * @returns null if the fault is in the spec as a whole
 */
export function salvage(
  data: Readonly<Record<string, unknown>>,
  validate: (data: unknown) => readonly ErrorObject[],
): Record<string, unknown> | null {
  const rest = structuredClone(data) as Record<string, unknown>;
  for (let round = 0; round < ROUNDS; round++) {
    const errors = validate(rest);
    if (errors.length === 0) return rest;
    for (const e of errors) {
      const path = e.instancePath
        .split('/')
        .slice(1)
        .map((x) => x.replaceAll('~1', '/').replaceAll('~0', '~'));
      if (e.keyword === 'additionalProperties') path.push(String(e.params.additionalProperty));
      else if (e.propertyName !== undefined) path.push(e.propertyName);
      if (!takeOut(rest, path)) return null;
    }
  }
  return null;
}

/** Removes the entry of a map that a path leads to, or the last one on the way to it. */
function takeOut(root: Tree, path: readonly string[]): boolean {
  let holder: Record<string, unknown> | null = null;
  let key = '';
  let at: unknown = root;
  for (const step of path) {
    if (at === null || typeof at !== 'object') break;
    if (!Array.isArray(at)) {
      holder = at as Record<string, unknown>;
      key = step;
    }
    at = (at as Record<string, unknown>)[step];
  }
  if (holder === null || (holder === root && key === 'kind')) return false;
  delete holder[key];
  return true;
}
