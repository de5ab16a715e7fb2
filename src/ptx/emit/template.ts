import type { Opcode } from '../../ir/opcode.ts';
import { slotWidth } from '../../ir/opcode.ts';

/** PTX spelling of each modifier value, by group name or `OPCODE.group`. */
export type Words = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A piece of a PTX line: literal text, or an operand or temporary to fill in. */
export type Piece =
  | string
  | {
      readonly kind: 'src';
      readonly at: number;
      readonly width: number;
      /** Type that says how a constant is spelled and a modifier applied; 'reg': it must be a register. */
      readonly type: string;
      /** A predicate is allowed there with its `!`. */
      readonly not: boolean;
      /** This and all further operands, in braces if there is more than one. */
      readonly all: boolean;
    }
  | {
      readonly kind: 'dst';
      readonly at: number;
      readonly width: number;
      /** If the result is unused, write `_` instead of a register that nobody reads. */
      readonly sink: boolean;
      readonly all: boolean;
    }
  | { readonly kind: 'temp'; readonly name: string; readonly file: 't' | 'w' | 'p' | 'h' };

/** One line. */
export interface Line {
  readonly pieces: readonly Piece[];
  /** Computes results from its sources, cheaply, and nothing else: it may run where its guard does not hold. */
  readonly pure: boolean;
}

/** Not division and functions, for which ptxas calls code of its own, and nothing that reads or writes the carry. */
const PURE =
  /^(?:add|sub|mul|mad|fma|min|max|abs|neg|and|or|xor|not|shl|shr|shf|bfi|bfe|prmt|mov|cvt|selp|set|setp)\.(?!cc\b)/;

const GROUP = /\{(\.?)([a-z_]+)(?:\.(bits|half))?\}/g;
const PIECE = /\$(!?)([a-z]\w*)(\?|\.\.\.)?(?::(\w+))?|%([twph])(\d*)\b/g;

/** Lines of a template for one choice of modifiers. Throws on a name that the opcode lacks. */
export function specialise(text: string, op: Opcode, mods: number, words: Words): Line[] {
  return text
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '')
    .map((l) => l.replace(GROUP, (_m, dot, g, p) => group(op, mods, words, dot, g, p)))
    .map((l) => ({ pieces: pieces(l, op, mods), pure: PURE.test(l) }));
}

/** What a modifier group says in PTX: `.ftz`, `s32`, or nothing; a space is also known where the opcode fixes it. */
function group(op: Opcode, mods: number, words: Words, dot: string, name: string, part?: string): string {
  const g = op.groupByName.get(name);
  if (g === undefined) {
    if (name !== 'space') throw new Error(`${op.name} has no modifier group '${name}'`);
    return op.space === null || op.space === 'generic' ? '' : dot + op.space;
  }
  const v = g.values[(mods >>> g.shift) & g.mask];
  if (part === 'bits') return String(bitsOf(v.type) ?? v.width);
  if (part === 'half') return String(v.type?.replace(/x2$/, ''));
  const said = words[`${op.name}.${name}`]?.[v.name] ?? words[name]?.[v.name];
  const text = said ?? (v.name === 'NONE' ? '' : (v.type ?? v.name.toLowerCase()));
  return text === '' ? '' : dot + text;
}

/** Bits of a type by its name, of pairs for both. */
function bitsOf(type: string | null): number | undefined {
  const m = /^\D*(\d+)(x2)?$/.exec(type ?? '');
  return m === null ? undefined : Number(m[1]) * (m[2] === undefined ? 1 : 2);
}

const TYPE = /^(?:[subf]\d+|f16x2|bf16x2|bf16|tf32|pred)$/;

/** The last type of a mnemonic: that of its sources. */
function typeOf(mnemonic: string): string {
  const parts = mnemonic.split('.');
  for (let i = parts.length - 1; i > 0; i--) if (TYPE.test(parts[i])) return parts[i];
  return 'b32';
}

function pieces(line: string, op: Opcode, mods: number): Piece[] {
  const type = typeOf(line.split(' ', 1)[0]);
  const out: Piece[] = [];
  let from = 0;
  for (const m of line.matchAll(PIECE)) {
    if (m.index > from) out.push(line.slice(from, m.index));
    from = m.index + m[0].length;
    if (m[5] !== undefined) {
      out.push({ kind: 'temp', name: m[5] + m[6], file: m[5] as 't' | 'w' | 'p' | 'h' });
      continue;
    }
    const d = op.dsts.findIndex((s) => s.name === m[2]);
    const s = op.srcs.findIndex((x) => x.name === m[2]);
    const all = m[3] === '...';
    if (d >= 0)
      out.push({ kind: 'dst', at: d, width: slotWidth(op, mods, op.dsts[d]), sink: m[3] === '?', all });
    else if (s >= 0)
      out.push({
        kind: 'src',
        at: s,
        width: slotWidth(op, mods, op.srcs[s]),
        type: op.srcs[s].bank === 'p' ? 'pred' : (m[4] ?? type),
        not: m[1] === '!',
        all,
      });
    else throw new Error(`${op.name} has no operand '${m[2]}'`);
  }
  if (from < line.length) out.push(line.slice(from));
  return out;
}
