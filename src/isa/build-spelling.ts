import { NO_SPELLING, type Opcode, type SpelledRow, type Spelling } from '../ir/opcode.ts';

/** The part of the document `ptx.yaml` that lowering reads, validated against its schema. */
interface TableDoc {
  readonly words: Spelling['words'];
  readonly opcodes: Readonly<
    Record<
      string,
      readonly {
        readonly both?: true;
        readonly mods?: SpelledRow['mods'];
        readonly src?: string;
        readonly ptx?: string;
      }[]
    >
  >;
  readonly lowering: {
    readonly sets: Spelling['sets'];
    readonly names: Spelling['names'];
    readonly rows: readonly { readonly ptx: string; readonly ori: string }[];
  };
}

/** What lowering reads of the table. Rows of unknown opcodes are skipped; `checkPtxTable` reports them. */
export function buildSpelling(data: unknown, byName: ReadonlyMap<string, Opcode>): Spelling {
  if (data === undefined) return NO_SPELLING;
  const { words, opcodes, lowering } = data as TableDoc;
  const rows = Object.entries(opcodes).flatMap(([name, list]) => {
    const op = byName.get(name);
    if (op === undefined) return [];
    return list
      .filter((r) => r.both === true)
      .map((r) => ({ op, mods: r.mods ?? {}, src: r.src, ptx: r.ptx ?? '' }));
  });
  const forms = lowering.rows.map(({ ptx, ori }) => ({ ptx, ori: linesIn(ori) }));
  return { words, rows, lowering: forms, sets: lowering.sets, names: lowering.names };
}

const linesIn = (text: string): string[] =>
  text
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '');
