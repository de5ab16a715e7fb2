import { plural } from '../lab/render/table.ts';
import { mainParts } from './requests.ts';

/** Where a change applies: targets that have it at every level, levels at which every target has it, or both named. */
export function whereText(where: readonly string[], plans: readonly string[]): string {
  const main = (list: readonly string[]) => list.filter((w) => / -O\d$/.test(w));
  const here = main(where);
  const extra = where.filter((w) => !/ -O\d$/.test(w));
  if (here.length === 0) return extra.join(', ');
  const of = (list: readonly string[], part: 0 | 1) => [...new Set(list.map((w) => w.split(' ')[part]))];
  const all = main(plans);
  if (here.length === all.length) return 'everywhere';
  const [targets, levels] = [of(here, 0), of(here, 1)];
  if (here.length !== targets.length * levels.length)
    return `${here.length} of ${all.length} plans: ${here.slice(0, 4).join(', ')}, ...`;
  const short = levels.map((l) => l.slice(2)).join(', ');
  const t = targets.length === of(all, 0).length ? '' : targets.join(', ');
  const l = levels.length === of(all, 1).length ? '' : `-O${short}`;
  return [t, l].filter((x) => x !== '').join(' ');
}

/** Names that are listed before they are only counted. */
const MOST_NAMES = 6;

/** Plans of targets and levels that were not measured, in words: which targets not at all, and which levels of the others. */
export function restText(rest: readonly string[], measured: readonly string[]): string {
  const of = (names: readonly string[]) => names.flatMap((n) => mainParts(n) ?? []);
  const known = new Set(of(measured).map((x) => x.sm));
  const others = [...new Set(of(rest).map((x) => x.sm))].filter((sm) => !known.has(sm));
  const levels = [...new Set(of(rest).flatMap((x) => (known.has(x.sm) ? [x.level] : [])))].sort();
  return [
    ...(others.length === 0
      ? []
      : [others.length > MOST_NAMES ? plural(others.length, 'other target') : others.join(', ')]),
    ...(levels.length === 0 ? [] : [`-O${levels.join(', ')}`]),
  ].join(', and ');
}
