import { plural } from '../lab/render/table.ts';
import { mainParts } from './requests.ts';

/**
 * Text for the plans to which a change applies: 'everywhere', the targets if it applies at every level, the levels if it applies to every
 * target, or both.
 *
 * @param where names of the plans to which it applies
 * @param plans names of all plans
 */
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

/** If there are more targets than this, they are counted and not listed. */
const MOST_NAMES = 6;

/** Text for the plans that were not measured: targets without any measurement, and missing levels of the other targets. */
export function restText(rest: readonly string[], measured: readonly string[]): string {
  const of = (names: readonly string[]) => names.flatMap((n) => mainParts(n) ?? []);
  const measuredTargets = new Set(of(measured).map((x) => x.sm));
  const others = [...new Set(of(rest).map((x) => x.sm))].filter((sm) => !measuredTargets.has(sm));
  const levels = [...new Set(of(rest).flatMap((x) => (measuredTargets.has(x.sm) ? [x.level] : [])))].sort();
  return [
    ...(others.length === 0
      ? []
      : [others.length > MOST_NAMES ? plural(others.length, 'other target') : others.join(', ')]),
    ...(levels.length === 0 ? [] : [`-O${levels.join(', ')}`]),
  ].join(', and ');
}
