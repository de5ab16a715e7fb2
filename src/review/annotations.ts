import { relative } from 'node:path';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { firstLines } from '../ir/listed.ts';
import { annotationProperty, annotationText, visible } from '../ir/quote.ts';
import { oneEach } from './effect.ts';
import { isAlarm, type Review, wrongRows } from './reviewed.ts';
import {
  breakers,
  changeEffectText,
  followingLines,
  limitsOf,
  otherFilesText,
  toldChanges,
  unreadNames,
  wrongText,
} from './words.ts';

/** Maximum number of kernels that are named for a broken limit. */
const MOST_NAMED = 5;

type Severity = 'error' | 'warning' | 'notice';
const SEVERITIES: readonly Severity[] = ['error', 'warning', 'notice'];

const without = (prefix: string, place: string): string =>
  place.startsWith(prefix) ? place.slice(prefix.length) : place;

/** One annotation in the syntax of GitHub Actions; `place` is `file:line`, `file` or ''. */
function annotation(
  severity: Severity,
  title: string,
  place: string,
  prefix: string,
  message: string,
): string {
  const at = /^(.*?)(?::(\d+))?$/s.exec(without(prefix, place))!;
  const properties = [
    ...(at[1] === '' ? [] : [`file=${annotationProperty(relative('.', at[1]))}`]),
    ...(at[2] === undefined ? [] : [`line=${at[2]}`]),
    `title=${annotationProperty(title)}`,
  ];
  return `::${severity} ${properties.join(',')}::${annotationText(message)}`;
}

/**
 * Annotations for errors in specs that cannot be loaded.
 *
 * @param prefix prefix of the head's paths, such as `REF:`, which annotations omit
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
 * The results of a review as annotations of GitHub Actions. Errors come first, because GitHub shows only the first ten annotations of a
 * step. Errors are: plans that do not resolve, broken kernels, refuted and unproved rules, opcodes whose change refutes rules, and broken
 * limits. Other alarms, such as a waived constraint, are warnings; every other change is a notice.
 *
 * @param prefix prefix of the head's paths, such as `REF:`, which annotations omit
 */
export function annotations(r: Review, prefix: string): string[] {
  const found: { readonly severity: Severity; readonly line: string }[] = [];
  const add = (severity: Severity, title: string, place: string, message: string): void => {
    found.push({ severity, line: annotation(severity, title, place, prefix, message) });
  };
  for (const f of r.faults) add('error', 'no plan', f.place, f.text);
  for (const f of r.warnings) add('warning', 'warning', f.place, f.text);
  const plans = new Map(r.effect?.comparisons.map((c) => [c.name, c.plan]));
  /** Where the change is stated that alone affects a kernel, or alone its plan; '' if there is no such change. */
  const blamed = (kernel: string, comparison: string): string => {
    const plan = plans.get(comparison) ?? '';
    const acting = r.changes.filter((c) => c.where.includes(plan));
    const first = r.changes.filter((_, i) => {
      const e = r.effects[i];
      return (
        e.state === 'measured' &&
        e.first?.some((x) => x.label === kernel && x.comparison.name === comparison) === true
      );
    });
    return [acting, first].find((list) => list.length === 1)?.[0].place ?? '';
  };
  for (const k of oneEach(wrongRows(r)))
    add('error', 'broken kernel', blamed(k.row.label, k.row.comparison.name), visible(wrongText(k)));
  for (const { limit, by } of limitsOf(r.broken)) {
    const who = firstLines(breakers(by), MOST_NAMED).join('; ');
    const { place, basePlace } = by[0];
    const causes = new Set(by.map((b) => blamed(b.kernel, b.plan)));
    const cause = causes.size === 1 ? [...causes][0] : '';
    const was =
      basePlace !== ''
        ? `, which the base states at ${basePlace}`
        : cause === ''
          ? ''
          : `, stated at ${without(prefix, place)}`;
    add('error', 'broken limit', cause === '' ? place : cause, visible(`${limit}${was}: ${who}`));
  }
  for (const [c, i] of toldChanges(r)) {
    const e = r.effects[i];
    const isWrong = c.kind === 'rules' || (c.kind === 'opcodes' && c.alarm);
    const severity = !isAlarm(c, e) ? 'notice' : isWrong ? 'error' : 'warning';
    const message = [
      visible(`${c.name}: ${c.before} -> ${c.after}`),
      ...(c.note === '' ? [] : [c.note]),
      ...(r.faults.length > 0 ? [] : [visible(changeEffectText(e, r.effect?.measures ?? []))]),
      // Annotations mark lines of the head, where removed things have none.
      ...(c.basePlace === '' ? [] : [`it was at ${c.basePlace}`]),
    ].join('\n');
    add(severity, c.kind === 'rules' ? 'rule' : c.kind, c.place, message);
  }
  for (const l of otherFilesText(r)) add('warning', 'other files', '', `${l}: ${unreadNames(r.unread)}`);
  for (const l of followingLines(r)) add('error', 'rules', '', visible(l));
  return SEVERITIES.flatMap((s) => found.filter((x) => x.severity === s).map((x) => x.line));
}
