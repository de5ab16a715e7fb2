import type { FormatName } from './formats.ts';
import { lop3Code } from './lane-logic.ts';
import { integral } from './lane-number.ts';
import { type LaneScope, shiftAmount, type Words } from './lane-scope.ts';
import type { Node } from './lang/graph.ts';

/** A node of 64 bits as two int32 expressions, low word first. */
export function writePair(s: LaneScope, id: number): Words {
  const n = s.nodes[id];
  if (s.isNumber(id)) return s.outWords(`${s.help('words64')}(${s.num(id)},${s.help('out')})`);
  const two = (k: number) => s.words(n.args[k]);
  switch (n.op) {
    case 'const':
      return [String(Number(BigInt.asIntN(32, n.value))), String(Number(BigInt.asIntN(32, n.value >> 32n)))];
    case 'src':
      s.useSource(n.n);
      return [`I[S${n.n}+2*l]`, `I[S${n.n}+2*l+1]`];
    case 'add': {
      const [[al, ah], [bl, bh]] = [two(0), two(1)];
      const lo = s.atom(`${al}+${bl}|0`);
      return [lo, `(${ah}+${bh}+((${lo}>>>0)<(${al}>>>0)?1:0)|0)`];
    }
    case 'sub': {
      const [[al, ah], [bl, bh]] = [two(0), two(1)];
      return [`(${al}- ${bl}|0)`, `(${ah}- ${bh}-((${al}>>>0)<(${bl}>>>0)?1:0)|0)`];
    }
    case 'mul':
      return multiply(s, n);
    case 'umulh':
    case 'smulh':
    case 'udiv':
    case 'sdiv':
    case 'urem':
    case 'srem': {
      const [[al, ah], [bl, bh]] = [two(0), two(1)];
      return s.outWords(`${s.help(`${n.op}64`)}(${al},${ah},${bl},${bh})`);
    }
    case 'and':
    case 'or':
    case 'xor': {
      const op = n.op === 'and' ? '&' : n.op === 'or' ? '|' : '^';
      const [[al, ah], [bl, bh]] = [s.pair(n.args[0]), s.pair(n.args[1])];
      return [`(${al}${op}${bl})`, `(${ah}${op}${bh})`];
    }
    case 'not': {
      const [lo, hi] = s.pair(n.args[0]);
      return [`(~${lo})`, `(~${hi})`];
    }
    case 'shl':
    case 'lshr':
    case 'ashr':
      return shiftPair(s, n);
    case 'ite': {
      const c = s.atom(s.cond(n.args[0]));
      const [[al, ah], [bl, bh]] = [s.pair(n.args[1]), s.pair(n.args[2])];
      return [`(${c}?${al}:${bl})`, `(${c}?${ah}:${bh})`];
    }
    case 'zext':
      return [s.int(n.args[0]), '0'];
    case 'sext': {
      const lo = s.atom(s.signedInt(n.args[0]));
      return [lo, `(${lo}>>31)`];
    }
    case 'concat':
      return [s.int(n.args[1]), s.int(n.args[0])];
    case 'brev': {
      const [lo, hi] = s.pair(n.args[0]);
      return [`${s.help('brev')}(${hi})`, `brev(${lo})`];
    }
    case 'lop3': {
      const [[al, ah], [bl, bh], [cl, ch]] = [two(0), two(1), two(2)];
      return [lop3Code(n.n, al, bl, cl), lop3Code(n.n, ah, bh, ch)];
    }
    case 'fneg': {
      const [lo, hi] = s.pair(n.args[0]);
      return [lo, `(${hi}^0x80000000)`];
    }
    case 'fabs': {
      const [lo, hi] = s.pair(n.args[0]);
      return [lo, `(${hi}&0x7fffffff)`];
    }
    case 'ftz': {
      const [lo, hi] = two(0);
      const zero = s.atom(`(${hi}&0x7ff00000)===0`);
      return [`(${zero}?0:${lo})`, `(${zero}?${hi}&0x80000000:${hi})`];
    }
    case 'f2i': {
      const x = integral(s, s.num(n.args[0], n.fmt as FormatName), n.aux.slice(1));
      return s.outWords(`${s.help('clamp64')}(${x},${n.aux.startsWith('s')},${s.help('out')})`);
    }
    default:
      throw new Error(`no 64-bit code for core operation '${n.op}'`);
  }
}

function multiply(s: LaneScope, n: Node): Words {
  const wide = n.args.map((a) => s.nodes[a]);
  for (const ext of ['sext', 'zext'] as const)
    if (wide.every((x) => x.op === ext)) {
      const [a, b] = wide.map((x) => s.atom(ext === 'sext' ? s.signedInt(x.args[0]) : s.int(x.args[0])));
      return [`Math.imul(${a},${b})`, `${s.help(ext === 'sext' ? 'smulh' : 'umulh')}(${a},${b})`];
    }
  const [[al, ah], [bl, bh]] = [s.words(n.args[0]), s.words(n.args[1])];
  return [
    `Math.imul(${al},${bl})`,
    `(${s.help('umulh')}(${al},${bl})+Math.imul(${al},${bh})+Math.imul(${ah},${bl})|0)`,
  ];
}

function shiftPair(s: LaneScope, n: Node): Words {
  const [lo, hi] = s.words(n.args[0]);
  const c = shiftAmount(s, n.args[1]);
  const fill = n.op === 'ashr' ? `(${hi}>>31)` : '0';
  const sh = n.op === 'ashr' ? '>>' : '>>>';
  if (typeof c === 'number') {
    if (n.op === 'shl') {
      if (c >= 64) return ['0', '0'];
      if (c >= 32) return ['0', `(${lo}<<${c - 32})`];
      return [`(${lo}<<${c})`, `(${hi}<<${c}|${lo}>>>${32 - c})`];
    }
    if (c >= 64) return [fill, fill];
    if (c >= 32) return [`(${hi}${sh}${c - 32}|0)`, fill];
    return [`(${lo}>>>${c}|${hi}<<${32 - c})`, `(${hi}${sh}${c}|0)`];
  }
  const u = s.atom(`${c}>>>0`);
  if (n.op === 'shl')
    return [
      `(${u}<32?${lo}<<${u}:0)`,
      `(${u}<32?${u}===0?${hi}:${hi}<<${u}|${lo}>>>32- ${u}:${u}<64?${lo}<<${u}:0)`,
    ];
  return [
    `(${u}<32?${u}===0?${lo}:${lo}>>>${u}|${hi}<<32- ${u}:${u}<64?${hi}${sh}${u}|0:${fill})`,
    `(${u}<32?${hi}${sh}${u}|0:${fill})`,
  ];
}
