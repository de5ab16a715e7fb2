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
      /** Type that determines how constants are written and modifiers applied; 'reg': it must be a register. */
      readonly type: string;
      /** Whether a predicate may be written with `!`. */
      readonly not: boolean;
      /** Whether it stands for this and all further operands, in braces if there are several. */
      readonly all: boolean;
    }
  | {
      readonly kind: 'dst';
      readonly at: number;
      readonly width: number;
      /** Whether to write `_` for an unused result instead of a temporary. */
      readonly sink: boolean;
      readonly all: boolean;
    }
  | { readonly kind: 'temp'; readonly name: string; readonly file: 't' | 'w' | 'p' | 'h' };

/** One line of a template. */
export interface Line {
  readonly pieces: readonly Piece[];
  /** Whether the line is cheap and has no effect other than its results, so that it may be executed when the guard is false. */
  readonly pure: boolean;
}

/** Opcodes of pure lines. Excluded are divisions and functions, which ptxas expands to calls, and uses of the carry bit. */
const PURE =
  /^(?:add|sub|mul|mad|fma|min|max|abs|neg|and|or|xor|not|shl|shr|shf|bfi|bfe|prmt|mov|cvt|selp|set|setp)\.(?!cc\b)/;

const GROUP = /\{(\.?)([a-z_]+)(?:\.(bits|half))?\}/g;
const PIECE = /\$(!?)([a-z]\w*)(\?|\.\.\.)?(?::(\w+))?|%([twph])(\d*)\b/g;

/** The lines of a template for one choice of modifiers. @throws Error on a group or operand that the opcode lacks */
export function specialise(text: string, op: Opcode, mods: number, words: Words): Line[] {
  return text
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l !== '')
    .map((l) => l.replace(GROUP, (_m, dot, g, p) => group(op, mods, words, dot, g, p)))
    .map((l) => ({ pieces: pieces(l, op, mods), pure: PURE.test(l) }));
}

/** The PTX spelling of a modifier group: `.ftz`, `s32`, or nothing. The group `space` may also be fixed by the opcode. */
function group(op: Opcode, mods: number, words: Words, dot: string, name: string, part?: string): string {
  const g = op.groupByName.get(name);
  if (g === undefined) {
    if (name !== 'space') throw new Error(`${op.name} has no modifier group '${name}'`);
    return op.space === null || op.space === 'generic' ? '' : dot + op.space;
  }
  const v = g.values[(mods >>> g.shift) & g.mask];
  if (part === 'bits') return String(bitsOf(v.type) ?? v.width);
  if (part === 'half') return String(v.type?.replace(/x2$/, ''));
  const word = words[`${op.name}.${name}`]?.[v.name] ?? words[name]?.[v.name];
  const text = word ?? (v.name === 'NONE' ? '' : (v.type ?? v.name.toLowerCase()));
  return text === '' ? '' : dot + text;
}

/** Bits of a type by its name; for a pair, the bits of both halves. */
function bitsOf(type: string | null): number | undefined {
  const m = /^\D*(\d+)(x2)?$/.exec(type ?? '');
  return m === null ? undefined : Number(m[1]) * (m[2] === undefined ? 1 : 2);
}

const TYPE = /^(?:[subf]\d+|f16x2|bf16x2|bf16|tf32|pred)$/;

/** The last type of a mnemonic, which is that of its sources; 'b32' if there is none. */
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
