/** Where a run stopped because a pass threw. */
export interface Where {
  /** Id of the phase; '' if unknown. */
  readonly phase: string;
  /** The function that was processed; null if it was not a single one. */
  readonly fn: string | null;
}

const places = new WeakMap<object, Where>();

/** Where an error was thrown; null if not in a phase. */
export const whereOf = (e: unknown): Where | null =>
  e !== null && typeof e === 'object' ? (places.get(e) ?? null) : null;

/** Runs `body` and records the place on errors that it throws. Earlier records take precedence. */
export function within<T>(where: Partial<Where>, body: () => T): T {
  try {
    return body();
  } catch (e) {
    if (e !== null && typeof e === 'object')
      places.set(e, { phase: where.phase ?? '', fn: where.fn ?? null, ...stripped(places.get(e)) });
    throw e;
  }
}

/** The known parts of a place. */
const stripped = (w: Where | undefined): Partial<Where> => ({
  ...(w !== undefined && w.phase !== '' && { phase: w.phase }),
  ...(w !== undefined && w.fn !== null && { fn: w.fn }),
});
