import type { Part, Shape } from './shape.ts';

/** Witness that pattern `a` matches wherever `b` does: a map of its variables and lines to those of `b`. */
export interface Covering {
  /** Variable of `a` -> part of `b`, as JSON. */
  readonly bound: Map<number, string>;
  /** Line of `a` -> line of `b`. */
  readonly lines: Map<number, number>;
}

/** Matches pattern `a` against pattern `b`; null if `b` matches code that `a` does not. Conditions are not compared. */
export function covering(a: Shape, b: Shape): Covering | null {
  const c: Covering = { bound: new Map(), lines: new Map() };
  return covers(a, b, c) ? c : null;
}

function covers(a: Shape, b: Shape, c: Covering): boolean {
  if (a.op !== b.op || a.src.length !== b.src.length) return false;
  for (let g = 0; g < a.fixed.length; g++) if (a.fixed[g] >= 0 && a.fixed[g] !== b.fixed[g]) return false;
  c.lines.set(a.line, b.line);
  return a.src.every((p, i) => coversPart(p, b.src[i], c));
}

function coversPart(a: Part, b: Part, c: Covering): boolean {
  const { bound } = c;
  const key = (): string =>
    JSON.stringify(b, (k, v: unknown) => (k === 'shape' ? undefined : typeof v === 'bigint' ? String(v) : v));
  const bindOnce = (v: number, part: string): boolean => {
    const earlier = bound.get(v);
    if (earlier === undefined) bound.set(v, part);
    return earlier === undefined || earlier === part;
  };
  switch (a.k) {
    case 'any':
      return true;
    case 'var':
      if (b.k === 'any') return false;
      if (a.mods === 0) return bindOnce(a.v, key());
      return (
        b.k === 'var' &&
        (b.mods & a.mods) === a.mods &&
        bindOnce(a.v, JSON.stringify({ ...b, mods: b.mods ^ a.mods }))
      );
    case 'const':
      return (b.k === 'const' || b.k === 'literal') && bindOnce(a.v, key());
    case 'literal':
      return b.k === 'literal' && b.value === a.value;
    case 'def':
      return (
        b.k === 'def' &&
        a.mods === b.mods &&
        a.dst === b.dst &&
        bindOnce(a.v, key()) &&
        covers(a.shape, b.shape, c)
      );
    case 'address':
      return b.k === 'address' && coversPart(a.base, b.base, c) && coversPart(a.offset, b.offset, c);
  }
}
