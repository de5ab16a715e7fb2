import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useSize } from './size.ts';

interface Props {
  readonly count: number;
  /** Height of a row in pixels. */
  readonly height: number;
  readonly row: (index: number) => ComponentChildren;
  readonly label: string;
  readonly class?: string;
  /** Row with the keyboard focus; -1 for none. */
  readonly current: number;
  readonly onCurrent: (index: number) => void;
  /** Handles keys that do not move the focus. Returns true if the key was handled. */
  readonly onKey?: (e: KeyboardEvent) => boolean;
  /** A change of this value scrolls the current row into view. */
  readonly reveal?: unknown;
}

/** Number of rows that are drawn above and below the visible ones. */
const MARGIN = 12;
/** Browsers do not support elements of more than some 17 million pixels. */
const TALLEST = 15_000_000;

/** A list that renders only visible rows, so that tens of thousands scroll like a hundred. */
export function VirtualList(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [, seen] = useSize(box, [400, 600]);
  useLayoutEffect(() => {
    const el = box.current!;
    if (p.current < 0) return;
    const top = p.current * p.height;
    if (top < el.scrollTop) el.scrollTop = Math.max(0, top - 2 * p.height);
    else if (top + p.height > el.scrollTop + el.clientHeight) el.scrollTop = top - el.clientHeight / 3;
  }, [p.reveal, p.current]);

  const total = Math.min(p.count * p.height, TALLEST);
  const first = Math.max(0, Math.floor(scroll / p.height) - MARGIN);
  const last = Math.min(p.count, Math.ceil((scroll + seen) / p.height) + MARGIN);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(p.row(i));
  const keys = (e: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(seen / p.height) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -p.count, End: p.count }[
      e.key
    ];
    if (p.onKey?.(e) === true) return e.preventDefault();
    if (step === undefined || e.altKey || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    const whole = e.key === 'Home' || e.key === 'End';
    const from = p.current < 0 && !whole ? -Math.sign(step) : Math.max(0, p.current);
    p.onCurrent(Math.max(0, Math.min(p.count - 1, from + step)));
  };
  return (
    <div
      ref={box}
      class={`virtual ${p.class ?? ''}`}
      tabIndex={0}
      role="group"
      aria-label={p.label}
      onScroll={(e) => setScroll(e.currentTarget.scrollTop)}
      onKeyDown={keys}
    >
      <div class="virtual-all" style={{ height: `${total}px` }}>
        <div class="virtual-seen" style={{ transform: `translateY(${first * p.height}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}
