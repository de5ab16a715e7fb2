/** Execution counts of blocks by function name and block id, summed over the runs of a profile. */
export type Profile = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Execution counts of one function by block id; null if the profile does not contain the function. */
export function countsIn(profile: Profile | null, fn: string): ReadonlyMap<number, number> | null {
  if (profile === null || !Object.hasOwn(profile, fn)) return null;
  return new Map(Object.entries(profile[fn]).map(([id, n]) => [Number(id), n]));
}
