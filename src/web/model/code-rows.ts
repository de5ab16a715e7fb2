import type { BlockPair, Change } from './align.ts';
import type { Tables } from './tables.ts';

/** A row of a listing of two snapshots. */
export type CodeRow =
  | {
      readonly kind: 'block';
      readonly id: number;
      readonly name: string;
      readonly inA: boolean;
      readonly inB: boolean;
      readonly change: '' | 'new' | 'gone' | 'moved';
    }
  | {
      readonly kind: 'ins';
      readonly a: number;
      readonly b: number;
      readonly change: Change;
      /** How the row is shown: in one column, a change is a removed row and an added row. */
      readonly shown: Change;
    }
  | {
      readonly kind: 'fold';
      readonly key: string;
      /** Number of hidden instructions, and of hidden blocks if whole blocks are hidden. */
      readonly count: number;
      readonly blocks: number;
    };

export interface CodeLook {
  readonly folded: boolean;
  readonly unified: boolean;
  /** Ids of open folds. */
  readonly opened: ReadonlySet<string>;
}

/** Number of unchanged instructions that stay visible around a change. */
const CONTEXT = 3;
/** Minimum number of instructions for a fold. */
const LEAST = 4;

/** The rows of a listing. If nothing changed, nothing is folded. */
export function codeRows(t: Tables, blocks: readonly BlockPair[], look: CodeLook): CodeRow[] {
  const out: CodeRow[] = [];
  const any = blocks.some((b) => b.a < 0 || b.b < 0 || b.moved || b.pairs.some((p) => p.change !== 'same'));
  const unchanged = (b: BlockPair): boolean =>
    b.a >= 0 && b.b >= 0 && !b.moved && b.pairs.every((p) => p.change === 'same');
  for (let k = 0; k < blocks.length; k++) {
    const block = blocks[k];
    const { id, a, b, moved } = block;
    if (any && look.folded && unchanged(block) && !look.opened.has(`block ${id}`)) {
      const key = `block ${id}`;
      const last = out.at(-1);
      const joins = last?.kind === 'fold' && last.blocks > 0;
      const before = joins ? last : { key, count: 0, blocks: 0 };
      if (joins) out.pop();
      const fold = { key: joins ? `${before.key},${key}` : key, count: before.count + block.pairs.length };
      out.push({ kind: 'fold', ...fold, blocks: before.blocks + 1 });
      continue;
    }
    const change = a < 0 ? 'new' : b < 0 ? 'gone' : moved ? 'moved' : '';
    out.push({
      kind: 'block',
      id,
      name: t.blocks[a < 0 ? b : a].name,
      inA: a >= 0,
      inB: b >= 0,
      change,
    });
    const keep = any && look.folded ? near(block) : null;
    for (let i = 0; i < block.pairs.length; ) {
      let end = i;
      while (keep !== null && end < block.pairs.length && !keep[end]) end++;
      const key = `${id}:${i}`;
      if (end - i >= LEAST && !look.opened.has(key)) {
        out.push({ kind: 'fold', key, count: end - i, blocks: 0 });
        i = end;
        continue;
      }
      for (end = Math.max(end, i + 1); i < end; i++) put(out, block.pairs[i], look.unified);
    }
  }
  return out;
}

function put(out: CodeRow[], p: BlockPair['pairs'][number], unified: boolean): void {
  if (!unified || p.change !== 'changed') out.push({ kind: 'ins', ...p, shown: p.change });
  else {
    out.push({ kind: 'ins', ...p, shown: 'removed' });
    out.push({ kind: 'ins', ...p, shown: 'added' });
  }
}

/** Which instructions of a block changed or are near one that did. */
function near({ pairs }: BlockPair): boolean[] {
  const out = new Array<boolean>(pairs.length).fill(false);
  pairs.forEach((p, i) => {
    if (p.change === 'same') return;
    for (let k = Math.max(0, i - CONTEXT); k <= Math.min(pairs.length - 1, i + CONTEXT); k++) out[k] = true;
  });
  return out;
}
