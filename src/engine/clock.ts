/** The part of Node's global object that browsers lack. */
interface MayBeNode {
  readonly process?: { readonly hrtime?: () => readonly [seconds: number, nanoseconds: number] };
}

const hrtime = (globalThis as MayBeNode).process?.hrtime;

/**
 * Milliseconds since a fixed moment in the past. Node's `hrtime` is preferred, because loading `performance` takes some milliseconds there.
 */
export const now: () => number =
  hrtime === undefined
    ? () => performance.now()
    : () => {
        const [s, ns] = hrtime();
        return s * 1e3 + ns / 1e6;
      };
