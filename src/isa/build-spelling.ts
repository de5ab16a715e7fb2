import type { Opcode, SpelledRow, Spelling } from '../ir/opcode.ts';

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
}

/** The rows with `both`. Rows of unknown opcodes are skipped; `checkPtxTable` reports them. */
export function buildSpelling(data: unknown, byName: ReadonlyMap<string, Opcode>): Spelling {
  if (data === undefined) return { words: {}, rows: [] };
  const { words, opcodes } = data as TableDoc;
  const rows = Object.entries(opcodes).flatMap(([name, list]) => {
    const op = byName.get(name);
    if (op === undefined) return [];
    return list
      .filter((r) => r.both === true)
      .map((r) => ({ op, mods: r.mods ?? {}, src: r.src, ptx: r.ptx ?? '' }));
  });
  return { words, rows };
}
