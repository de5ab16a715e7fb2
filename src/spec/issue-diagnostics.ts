import { type Diagnostic, fileFault } from '../ir/diagnostic.ts';
import type { SpecIssue } from './issues.ts';
import { placeOf, specError } from './places.ts';

/** Converts issues to diagnostics with lines and columns. Issues of a spec without text, such as one given as data, have none. */
export const issueDiagnostics = (issues: readonly SpecIssue[]): Diagnostic[] =>
  issues.map((i) => {
    const { severity, code, label } = i;
    const see = i.see === undefined ? [] : [`${i.see.what}: ${seenAt(i.see)}`];
    const notes = [...(i.notes ?? []), ...see];
    if (i.file !== null && i.file.text !== '')
      return specError(i.file, i.path, code, i.message, { severity, key: i.key, label, notes });
    return { ...fileFault(i.file?.file ?? '', i.message, notes), severity, code, label };
  });

const seenAt = ({ file, path }: NonNullable<SpecIssue['see']>): string =>
  file.text === ''
    ? file.file
    : `${file.file}:${placeOf(file.text, file.pruned?.original(path) ?? path).line}`;
