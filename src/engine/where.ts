/** Where a run stopped because a pass threw. */
export interface Where {
  /** Id of the phase; '' until it is known. */
  readonly phase: string;
  /** The function that it ran over; null where it was no single one. */
  readonly fn: string | null;
}

const places = new WeakMap<object, Where>();

/** Where an error came about; null for one that no phase threw. */
export const whereOf = (e: unknown): Where | null =>
  e !== null && typeof e === 'object' ? (places.get(e) ?? null) : null;

/** Runs `body`; what it throws is known to come from there. What was known before stays. */
export function within<T>(where: Partial<Where>, body: () => T): T {
  try {
    return body();
  } catch (e) {
    if (e !== null && typeof e === 'object')
      places.set(e, { phase: where.phase ?? '', fn: where.fn ?? null, ...stripped(places.get(e)) });
    throw e;
  }
}

/** What is known of a place. */
const stripped = (w: Where | undefined): Partial<Where> => ({
  ...(w !== undefined && w.phase !== '' && { phase: w.phase }),
  ...(w !== undefined && w.fn !== null && { fn: w.fn }),
});
