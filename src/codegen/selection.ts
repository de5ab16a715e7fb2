import { TextError } from '../ir/text-error.ts';
import type { SelectionFile } from './rows.ts';
import { parseTemplate, type Template } from './template.ts';

/** A parsed row of pipelines/selection. */
export interface Rule {
  readonly when: readonly { readonly key: string; readonly values: readonly string[] }[];
  readonly emit: readonly Template[];
  /** Modifier groups that the row, or a condition of any row of the opcode, names. */
  readonly groups: ReadonlySet<string>;
  /** Operands that the row names. */
  readonly slots: ReadonlySet<string>;
}

/** Parsed rows of pipelines/selection. */
export interface Selection {
  readonly words: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Machine instructions whose operands a and b may be exchanged. */
  readonly commutes: ReadonlySet<string>;
  readonly rules: ReadonlyMap<string, readonly Rule[]>;
}

/** Parses files of kind 'selection'. @throws TextError on a row that is not understood, with its opcode */
export function parseSelection(files: readonly SelectionFile[]): Selection {
  const words = new Map<string, Readonly<Record<string, string>>>();
  const rules = new Map<string, readonly Rule[]>();
  const commutes = new Set(files.flatMap((f) => f.commutes ?? []));
  for (const f of files) {
    for (const [group, names] of Object.entries(f.words ?? {})) words.set(group, names);
    for (const [op, rows] of Object.entries(f.rows)) {
      if (rules.has(op)) throw new TextError(`two files have rows for ${op}`);
      try {
        const tested = rows.flatMap(({ when = {} }) => Object.keys(when));
        rules.set(
          op,
          rows.map(({ when = {}, emit }): Rule => {
            const lines = (typeof emit === 'string' ? [emit] : emit).map(parseTemplate);
            return {
              when: Object.entries(when).map(([key, text]) => ({ key, values: text.split('|') })),
              emit: lines,
              groups: new Set([
                ...tested,
                ...lines.flatMap((t) => t.name.flatMap((p) => (p.isGroup ? [p.text] : []))),
                ...lines.flatMap((t) =>
                  t.values.flatMap(({ value }) =>
                    value.kind === 'word' && value.group !== null ? [value.group] : [],
                  ),
                ),
              ]),
              slots: new Set([
                ...Object.keys(when),
                ...lines.flatMap((t) =>
                  t.values.flatMap(({ value }) => (value.kind === 'slot' ? [value.name] : [])),
                ),
              ]),
            };
          }),
        );
      } catch (e) {
        if (e instanceof TextError) throw new TextError(`${op}: ${e.message}`);
        throw e;
      }
    }
  }
  return { words, commutes, rules };
}
