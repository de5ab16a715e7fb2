/** What Node's `process` has that a browser's global object has not. */
interface MayBeNode {
  readonly process?: { readonly hrtime?: () => readonly [seconds: number, nanoseconds: number] };
}

const hrtime = (globalThis as MayBeNode).process?.hrtime;

/** Milliseconds since a fixed moment in the past. On Node without `performance`, which takes some milliseconds to load there. */
export const now: () => number =
  hrtime === undefined
    ? () => performance.now()
    : () => {
        const [s, ns] = hrtime();
        return s * 1e3 + ns / 1e6;
      };
