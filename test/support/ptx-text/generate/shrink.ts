import type { Kernel } from './kernel.ts';
import { type Part, sizeOf } from './part.ts';

/** Whether the kernel still fails with this smaller list of pieces. */
type Attempt = (parts: readonly Part[]) => boolean;

/** Removes as many pieces of a list as possible, in chunks of decreasing size, then shrinks each remaining piece. */
function shrunkList(parts: readonly Part[], fails: Attempt): readonly Part[] {
  let list = parts;
  for (let size = Math.ceil(list.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let at = list.length - size; at >= 0; at -= size) {
      const less = [...list.slice(0, at), ...list.slice(at + size)];
      if (less.length < list.length && fails(less)) {
        list = less;
        at = Math.min(at, list.length - size + size);
      }
    }
  return list.reduce<readonly Part[]>((all, _, k) => {
    const put = (p: Part): readonly Part[] => [...all.slice(0, k), p, ...all.slice(k + 1)];
    return put(
      shrunkPart(
        all[k],
        (p) => fails(put(p)),
        (inner) => fails([...all.slice(0, k), ...inner, ...all.slice(k + 1)]),
      ),
    );
  }, list);
}

function shrunkPart(
  p: Part,
  fails: (p: Part) => boolean,
  replaces: (parts: readonly Part[]) => boolean,
): Part {
  let q = p;
  if (q.inner.length > 0 || q.other.length > 0) {
    const flat: Part = { before: [], inner: [...q.inner, ...q.other], between: [], other: [], after: [] };
    if ((q.before.length > 0 || q.after.length > 0) && replaces([flat])) q = flat;
    q = { ...q, inner: shrunkList(q.inner, (inner) => fails({ ...q, inner })) };
    q = { ...q, other: shrunkList(q.other, (other) => fails({ ...q, other })) };
    return q;
  }
  return shrunkLines(q, fails);
}

/** Removes single lines and guards. */
function shrunkLines(p: Part, fails: (p: Part) => boolean): Part {
  let before = p.before;
  for (let k = before.length - 1; k >= 0; k--) {
    const less = [...before.slice(0, k), ...before.slice(k + 1)];
    if (fails({ ...p, before: less })) before = less;
    else if (before[k].startsWith('@')) {
      const free = before.with(k, before[k].replace(/^@\S+ /, ''));
      if (fails({ ...p, before: free })) before = free;
    }
  }
  return { ...p, before };
}

/**
 * Shrinks a failing kernel: removes pieces, replaces blocks by their contents, and drops guards, as long as it still fails.
 *
 * @param fails whether a kernel still fails in the same way
 */
export function shrink(kernel: Kernel, fails: (k: Kernel) => boolean): Kernel {
  let k = kernel;
  for (let size = Infinity; ; ) {
    k = { ...k, stores: shrunkList(k.stores, (stores) => fails({ ...k, stores })) };
    k = { ...k, parts: shrunkList(k.parts, (parts) => fails({ ...k, parts })) };
    const now = sizeOf(k.parts) + sizeOf(k.stores);
    if (now >= size) return k;
    size = now;
  }
}
