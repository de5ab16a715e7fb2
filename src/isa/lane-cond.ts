import type { FormatName, Relation } from './formats.ts';
import { lop3Code } from './lane-logic.ts';
import type { LaneScope } from './lane-scope.ts';
import type { Node } from './lang/graph.ts';

/** A one-bit node as a JavaScript condition. */
export function writeCond(s: LaneScope, id: number, n: Node): string {
  const arg = (k: number): string => s.int(n.args[k]);
  switch (n.op) {
    case 'and':
      return `(${s.cond(n.args[0])}&&${s.cond(n.args[1])})`;
    case 'or':
      return `(${s.cond(n.args[0])}||${s.cond(n.args[1])})`;
    case 'xor':
      return `(${s.cond(n.args[0])}!==${s.cond(n.args[1])})`;
    case 'not':
      return `(!${s.cond(n.args[0])})`;
    case 'ite':
      return `(${s.cond(n.args[0])}?${s.cond(n.args[1])}:${s.cond(n.args[2])})`;
    case 'eq': {
      const w = s.nodes[n.args[0]].width;
      if (w === 1) return `(${s.cond(n.args[0])}===${s.cond(n.args[1])})`;
      if (w !== 64) return `(${arg(0)}===${arg(1)})`;
      const [[al, ah], [bl, bh]] = [s.pair(n.args[0]), s.pair(n.args[1])];
      return `(${al}===${bl}&&${ah}===${bh})`;
    }
    case 'ult':
    case 'slt':
      return less(s, n);
    case 'fcmp':
      return compare(s, n);
    case 'src':
    case 'extract':
      return `(${s.int(id)}!==0)`;
    case 'lop3':
      return `((${lop3Code(n.n, s.atom(arg(0)), s.atom(arg(1)), s.atom(arg(2)))}&1)!==0)`;
    case 'add':
    case 'sub':
      return `(${s.cond(n.args[0])}!==${s.cond(n.args[1])})`;
    case 'mul':
      return `(${s.cond(n.args[0])}&&${s.cond(n.args[1])})`;
    case 'zext':
    case 'sext':
      return s.cond(n.args[0]);
    default:
      throw new Error(`no 1-bit code for core operation '${n.op}'`);
  }
}

function less(s: LaneScope, n: Node): string {
  const [a, b] = n.args;
  const signed = n.op === 'slt';
  if (s.nodes[a].width === 64) {
    const [[al, ah], [bl, bh]] = [s.words(a), s.words(b)];
    const high = signed ? `${ah}<${bh}` : `(${ah}>>>0)<(${bh}>>>0)`;
    return `(${ah}===${bh}?(${al}>>>0)<(${bl}>>>0):${high})`;
  }
  if (signed) return `(${s.signedInt(a)}<${s.signedInt(b)})`;
  return s.nodes[a].width === 32 ? `((${s.int(a)}>>>0)<(${s.int(b)}>>>0))` : `(${s.int(a)}<${s.int(b)})`;
}

function compare(s: LaneScope, n: Node): string {
  const fmt = n.fmt as FormatName;
  const a = s.atom(s.num(n.args[0], fmt));
  const b = s.atom(s.num(n.args[1], fmt));
  switch (n.aux as Relation) {
    case 'EQ':
      return `(${a}===${b})`;
    case 'NE':
      return `(${a}<${b}||${a}>${b})`;
    case 'LT':
      return `(${a}<${b})`;
    case 'LE':
      return `(${a}<=${b})`;
    case 'GT':
      return `(${a}>${b})`;
    case 'GE':
      return `(${a}>=${b})`;
    case 'EQU':
      return `(!(${a}<${b}||${a}>${b}))`;
    case 'NEU':
      return `(${a}!==${b})`;
    case 'LTU':
      return `(!(${a}>=${b}))`;
    case 'LEU':
      return `(!(${a}>${b}))`;
    case 'GTU':
      return `(!(${a}<=${b}))`;
    case 'GEU':
      return `(!(${a}<${b}))`;
    case 'NUM':
      return `(${a}===${a}&&${b}===${b})`;
    case 'NAN':
      return `(${a}!==${a}||${b}!==${b})`;
  }
}
