import { useLayoutEffect, useState } from 'preact/hooks';

/**
 * The size of an element's inside in pixels, as it is drawn and whenever it changes.
 *
 * @param of reference to the element; null while it is not there
 * @param first what is taken for its size before it has been drawn
 * @param again with another value the element is looked up again
 */
export function useSize(
  of: { readonly current: HTMLElement | null },
  first: readonly [width: number, height: number],
  again: unknown = null,
): readonly [width: number, height: number] {
  const [size, setSize] = useState(first);
  useLayoutEffect(() => {
    const el = of.current;
    if (el === null) return undefined;
    const watch = new ResizeObserver(() => setSize([el.clientWidth, el.clientHeight]));
    watch.observe(el);
    return () => watch.disconnect();
  }, [again]);
  return size;
}
