import { OpFlag } from '../../ir/opcode.ts';
import type { Fn, Variable } from '../../ir/program.ts';
import { type Accesses, accessesOf, Does } from './address.ts';
import { type Elements, loadedElements, storedElements } from './loads-stores.ts';
import { Mem } from './memory-ops.ts';
import { Origin } from './provenance.ts';

/** Bytes of a local variable that can live in a register of their own. */
export interface Cell {
  readonly variable: string;
  readonly at: number;
  /** 1, 2, 4 or 8. */
  readonly bytes: number;
}

/** A load or store (its number in `DefUse`) of promotable memory. */
export interface PromotableAccess {
  readonly n: number;
  readonly isStore: boolean;
  readonly elements: Elements;
  /** By element: the cell that contains it, or the first of two that it spans, and its first byte there. */
  readonly pieces: readonly { readonly cell: number; readonly at: number }[];
}

/** A local variable that can be promoted to registers. */
export interface Promotable {
  readonly cells: readonly Cell[];
  /** Its loads and stores, in the order of the function; cells are positions in `cells`. */
  readonly accesses: readonly PromotableAccess[];
}

/** The bytes of an element of an access. */
interface Span {
  readonly at: number;
  readonly bytes: number;
}

/** An access to a variable at a constant offset. */
interface Fixed {
  readonly n: number;
  readonly isStore: boolean;
  readonly elements: Elements;
  readonly at: number;
}

/** Bytes of the words into which memory is cut if accesses of several sizes overlap. */
const WORD = 4;

/**
 * Local variables that are only loaded and stored, plainly and at constant offsets, and whose address does not
 * escape; their bytes are cut into cells. Bytes that all accesses touch in the same way form a cell; if accesses
 * overlap in different ways, the cells are words.
 *
 * Variables that are never stored to are left out.
 *
 * These keep a variable in memory: an index that is not constant; an address that escapes, is stored, or is selected among several
 * variables; a strong access; an access with 16-byte elements; and an access at an address that is not a multiple of its size.
 */
export function promotable(fn: Fn, variables: readonly Variable[]): Promotable[] {
  const out: Promotable[] = [];
  const a = accessesOf(fn, variables);
  for (const [object, fixed] of fixedAccesses(a)) {
    if (!fixed.some((f) => f.isStore)) continue;
    const v = fn.variables.find((x) => x.name === a.objects[object].name)!;
    const own = cellsOf(v, fixed.flatMap(spansOf));
    if (own === null) continue;
    const at = new Map(own.map((c, k) => [c.at, k]));
    const accesses = fixed.map((f) => ({
      n: f.n,
      isStore: f.isStore,
      elements: f.elements,
      pieces: spansOf(f).map((s) => {
        // A byte at which no cell starts lies inside a word.
        const start = at.has(s.at) ? s.at : s.at - (s.at % WORD);
        return { cell: at.get(start)!, at: s.at - start };
      }),
    }));
    out.push({ cells: own.map((c) => ({ variable: v.name, ...c })), accesses });
  }
  return out;
}

/** By object: the accesses of each variable that has only such accesses. */
function fixedAccesses(a: Accesses): Map<number, Fixed[]> {
  const out = new Map<number, Fixed[]>();
  const own = new Set(a.fn.variables.map((v) => v.name));
  const kept = new Set<number>();
  for (let x = 0; x < a.count; x++) {
    if ((a.memory[x] & Mem.Local) === 0) continue;
    const ins = a.du.ins[a.at[x]];
    const o = a.object[x];
    // A callee cannot know these variables; an unknown address is not derived from one.
    if ((ins.op.flags & OpFlag.Control) !== 0 || o === Origin.Foreign) continue;
    if (o < 0) return new Map();
    const v = a.objects[o];
    if (v.kind === 'parameter') continue;
    if (v.kind === 'space') return new Map();
    const elements = loadedElements(ins) ?? storedElements(ins);
    if (elements === null || !own.has(v.name) || a.unshared[o] === 0 || !isFixed(a, x)) kept.add(o);
    else {
      const list = out.get(o);
      const fixed = { n: a.at[x], isStore: (a.does[x] & Does.Write) !== 0, elements, at: a.offset[x] };
      if (list === undefined) out.set(o, [fixed]);
      else list.push(fixed);
    }
  }
  for (const o of kept) out.delete(o);
  return out;
}

/** Is the address a variable plus a constant? Only such expressions have no width: see `Linear`. */
export function isFixed(a: Accesses, row: number): boolean {
  const form = a.form[row];
  if (form < 0) return false;
  const { atoms, width } = a.forms[form];
  return atoms.length === 1 && width === 0;
}

const spansOf = ({ at, elements: { bytes, count } }: Fixed): Span[] =>
  Array.from({ length: count }, (_, k) => ({ at: at + k * bytes, bytes }));

/** Cuts a variable into cells; null if that is impossible. */
function cellsOf(v: Variable, spans: Span[]): Span[] | null {
  if (spans.some((s) => s.at % s.bytes !== 0)) return null;
  spans.sort((p, q) => p.at - q.at || q.bytes - p.bytes);
  const cells: Span[] = [];
  for (let i = 0; i < spans.length; ) {
    // Spans that share words with one another are cut together.
    let end = wordEnd(spans[i]);
    let k = i;
    let even = true;
    for (; k < spans.length && spans[k].at < end; k++) {
      const before = spans[k - 1];
      if (k > i && spans[k].at < before.at + before.bytes && !isSame(spans[k], before)) even = false;
      end = Math.max(end, wordEnd(spans[k]));
    }
    if (even) {
      for (; i < k; i++)
        if (cells.length === 0 || !isSame(cells[cells.length - 1], spans[i])) cells.push(spans[i]);
      continue;
    }
    // The bytes of a word that are not stored come from memory, so the whole word must exist.
    if (end > v.size) return null;
    for (let at = spans[i].at - (spans[i].at % WORD); at < end; at += WORD) cells.push({ at, bytes: WORD });
    i = k;
  }
  return cells;
}

const isSame = (p: Span, q: Span): boolean => p.at === q.at && p.bytes === q.bytes;
const wordEnd = ({ at, bytes }: Span): number => Math.ceil((at + bytes) / WORD) * WORD;
