/** How often blocks ran: by name of the function and block id, summed over the runs of a profile. */
export type Profile = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Counts of the blocks of one function; null if the profile has none. */
export function countsIn(profile: Profile | null, fn: string): ReadonlyMap<number, number> | null {
  if (profile === null || !Object.hasOwn(profile, fn)) return null;
  return new Map(Object.entries(profile[fn]).map(([id, n]) => [Number(id), n]));
}
