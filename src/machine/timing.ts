import type { Form, Timing } from './forms.ts';
import type { TimingRow } from './rows.ts';

const wordsOf = (list: string | undefined): string[] => list?.trim().split(/\s+/) ?? [];

/** Finds the list that contains a form: by its row, by the first part of its row, or by its pipe. */
function finder(lists: Readonly<Record<string, string>>): (f: Form) => string | null {
  const of = new Map(Object.entries(lists).flatMap(([name, list]) => wordsOf(list).map((w) => [w, name])));
  return (f) => of.get(f.row) ?? of.get(f.row.split('.')[0]) ?? of.get(f.pipe) ?? null;
}

/** Compiles the timing rows of a family. */
export function timingOf(row: TimingRow): Timing {
  const late = finder({ late: row.late ?? '' });
  const queue = finder(row.queues ?? {});
  const group = finder(row.classes ?? {});
  const halves = new Set(wordsOf(row.halves));
  const classOf = (f: Form): string => group(f) ?? f.pipe;
  const halfOf = (f: Form, second: boolean): string =>
    `${classOf(f)}${second && halves.has(classOf(f)) ? '.hi' : ''}`;
  const distances = new Map(
    Object.entries(row.distances ?? {}).map(([result, readers]) => [
      result,
      new Map(Object.entries(readers).map(([reader, text]) => [reader, Number.parseInt(text, 10)])),
    ]),
  );
  return {
    late: (f) => late(f) !== null,
    queue: (f) => queue(f) ?? f.pipe,
    result: halfOf,
    reader: halfOf,
    distance: (result, reader) => distances.get(result)?.get(reader) ?? null,
  };
}
