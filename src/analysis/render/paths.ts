/** Lines of drawings as SVG path data. */

/** A point of a line, in the units of the drawing. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A coordinate with one decimal, which is enough for a drawing. */
export const round = (v: number): number => Math.round(v * 10) / 10;

/** A smooth line that leaves and enters every point vertically. */
export function curvedPath(p: readonly Point[]): string {
  let d = `M${round(p[0].x)} ${round(p[0].y)}`;
  for (let i = 1; i < p.length; i++) {
    const my = (p[i - 1].y + p[i].y) / 2;
    d += `C${round(p[i - 1].x)} ${round(my)} ${round(p[i].x)} ${round(my)} ${round(p[i].x)} ${round(p[i].y)}`;
  }
  return d;
}

/** Straight pieces with rounded corners, for edges in lanes. */
export function bendyPath(p: readonly Point[]): string {
  let d = `M${round(p[0].x)} ${round(p[0].y)}`;
  for (let i = 1; i < p.length - 1; i++) {
    const a = towards(p[i], p[i - 1]);
    const b = towards(p[i], p[i + 1]);
    d += `L${round(a.x)} ${round(a.y)}Q${round(p[i].x)} ${round(p[i].y)} ${round(b.x)} ${round(b.y)}`;
  }
  const end = p[p.length - 1];
  return `${d}L${round(end.x)} ${round(end.y)}`;
}

/** The point 6 units from `a` towards `b`, or half way if that is nearer. */
function towards(a: Point, b: Point): Point {
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const t = length === 0 ? 0 : Math.min(6 / length, 0.5);
  return { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t };
}
