/** Where a run stopped because a pass threw. */
export interface Where {
  /** Id of the phase; '' if unknown. */
  readonly phase: string;
  /** The function that was processed; null if it was not a single one. */
  readonly fn: string | null;
}

const places = new WeakMap<object, Where>();

/** The location that `within` recorded for an error; null if there is none. */
export const whereOf = (e: unknown): Where | null =>
  e !== null && typeof e === 'object' ? (places.get(e) ?? null) : null;

/** Runs `body` and records the location for errors that it throws. Parts that an inner call recorded are kept. */
export function within<T>(where: Partial<Where>, body: () => T): T {
  try {
    return body();
  } catch (e) {
    if (e !== null && typeof e === 'object')
      places.set(e, { phase: where.phase ?? '', fn: where.fn ?? null, ...knownParts(places.get(e)) });
    throw e;
  }
}

/** The known parts of a location. */
const knownParts = (w: Where | undefined): Partial<Where> => ({
  ...(w !== undefined && w.phase !== '' && { phase: w.phase }),
  ...(w !== undefined && w.fn !== null && { fn: w.fn }),
});
