import { relative } from 'node:path';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { annotationProperty, annotationText, visible } from '../ir/quote.ts';
import { brokenText } from './budget.ts';
import type { Review } from './review.ts';

type Severity = 'error' | 'warning' | 'notice';
const SEVERITIES: readonly Severity[] = ['error', 'warning', 'notice'];

/** One annotation; `place` is `file:line`, `file` or ''. */
function annotation(
  severity: Severity,
  title: string,
  place: string,
  prefix: string,
  message: string,
): string {
  const at = /^(.*?)(?::(\d+))?$/s.exec(place.startsWith(prefix) ? place.slice(prefix.length) : place)!;
  const properties = [
    ...(at[1] === '' ? [] : [`file=${annotationProperty(relative('.', at[1]))}`]),
    ...(at[2] === undefined ? [] : [`line=${at[2]}`]),
    `title=${annotationProperty(title)}`,
  ];
  return `::${severity} ${properties.join(',')}::${annotationText(message)}`;
}

/**
 * The faults of specs that cannot be read, as annotations.
 *
 * @param prefix prefix of the head's paths: `REF:`
 */
export const faultAnnotations = (diagnostics: readonly Diagnostic[], prefix: string): string[] =>
  diagnostics
    .filter((d) => d.severity === 'error')
    .map((d) => {
      const place = `${d.file}${d.line > 0 ? `:${d.line}` : ''}`;
      return annotation(
        'error',
        'no plan',
        place,
        prefix,
        [d.message, ...(d.notes ?? [])].map(visible).join('\n'),
      );
    });

/**
 * The results of a review as annotations of GitHub Actions. Errors come first, because only the first ten of a step
 * are shown. Errors are whatever must not be merged: plans that do not resolve, broken kernels, refuted and unproved
 * rules, broken limits. A waived constraint is a warning, every other change a notice.
 *
 * @param prefix prefix of the head's paths: `REF:`
 */
export function annotations(r: Review, prefix: string): string[] {
  const found: { readonly severity: Severity; readonly line: string }[] = [];
  const add = (severity: Severity, title: string, place: string, message: string): void => {
    found.push({ severity, line: annotation(severity, title, place, prefix, message) });
  };
  for (const f of r.faults) add('error', 'no plan', f.place, f.text);
  for (const k of r.kernels?.kernels ?? [])
    if (!k.equal[1].ok)
      add('error', 'broken kernel', '', visible(`${k.label} (${k.file}): ${k.equal[1].note}`));
    else if (!k.equal[0].ok)
      add(
        'error',
        'broken kernel',
        '',
        visible(`${k.label} (${k.file}), at the base already: ${k.equal[0].note}`),
      );
  for (const b of r.broken) add('error', 'broken limit', b.place, brokenText(b));
  for (const c of r.changes) {
    const severity = !c.alarm ? 'notice' : c.kind === 'rules' ? 'error' : 'warning';
    const message = [
      visible(`${c.name}: ${c.before} -> ${c.after}`),
      ...(c.note === '' ? [] : [c.note]),
      // An annotation marks a line of the head, and what is gone has none there.
      ...(c.basePlace === '' ? [] : [`it was at ${c.basePlace}`]),
    ].join('\n');
    add(severity, c.kind === 'rules' ? 'rule' : c.kind, c.place, message);
  }
  return SEVERITIES.flatMap((s) => found.filter((x) => x.severity === s).map((x) => x.line));
}
