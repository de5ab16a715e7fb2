import { FORMATS, type FormatName } from './formats.ts';
import { writeCond } from './lane-cond.ts';
import { lop3Code, prmtCode } from './lane-logic.ts';
import { arithmetic, integral } from './lane-number.ts';
import { type LaneScope, shiftAmount } from './lane-scope.ts';
import type { Node } from './lang/graph.ts';

/** Generates code for integers of up to 32 bits, and for values kept as bit patterns: predicates and halves. */

/** A node of up to 32 bits as an int32 expression. */
export function writeInt(s: LaneScope, id: number, n: Node): string {
  if (n.width === 1) return intOfBit(s, id, n);
  const w = n.width;
  if (s.isNumber(id)) return `${s.help('f32ToBits')}(${s.num(id)})`;
  const fit = (js: string): string => (w === 32 ? `(${js}|0)` : `(${js}&${2 ** w - 1})`);
  const arg = (k: number): string => s.int(n.args[k]);
  switch (n.op) {
    case 'src':
      s.useSource(n.n);
      return `I[S${n.n}+l]`;
    case 'add':
      return fit(`${arg(0)}+${arg(1)}`);
    case 'sub':
      return fit(`${arg(0)}- ${arg(1)}`);
    case 'mul':
      return w === 32 ? `Math.imul(${arg(0)},${arg(1)})` : fit(`Math.imul(${arg(0)},${arg(1)})`);
    case 'umulh':
    case 'smulh':
      if (w === 32) return `${s.help(n.op)}(${arg(0)},${arg(1)})`;
      return fit(
        `Math.floor(${signedIf(s, n.args[0], n.op === 'smulh')}*${signedIf(s, n.args[1], n.op === 'smulh')}/${2 ** w})`,
      );
    case 'udiv':
    case 'urem':
      return fit(`${s.help(n.op)}(${arg(0)},${arg(1)})`);
    case 'sdiv':
    case 'srem':
      return fit(`${s.help(n.op)}(${s.signedInt(n.args[0])},${s.signedInt(n.args[1])})`);
    case 'and':
      return `(${arg(0)}&${arg(1)})`;
    case 'or':
      return `(${arg(0)}|${arg(1)})`;
    case 'xor':
      return `(${arg(0)}^${arg(1)})`;
    case 'not':
      return w === 32 ? `(~${arg(0)})` : fit(`~${arg(0)}`);
    case 'shl':
    case 'lshr':
    case 'ashr':
      return shift(s, n, fit);
    case 'ite':
      return `(${s.cond(n.args[0])}?${arg(1)}:${arg(2)})`;
    case 'zext':
      return arg(0);
    case 'sext':
      return w === 32 ? s.signedInt(n.args[0]) : fit(s.signedInt(n.args[0]));
    case 'extract':
      return extract(s, n);
    case 'concat':
      return `(${arg(0)}<<${n.n}|${arg(1)})`;
    case 'popc': {
      if (n.n !== 64) return `${s.help('popc')}(${arg(0)})`;
      const [lo, hi] = s.pair(n.args[0]);
      return `(${s.help('popc')}(${lo})+popc(${hi}))`;
    }
    case 'clz': {
      if (n.n !== 64) return n.n === 32 ? `Math.clz32(${arg(0)})` : `(Math.clz32(${arg(0)})-${32 - n.n})`;
      const [lo, hi] = s.pair(n.args[0]);
      const h = s.atom(hi);
      return `(${h}!==0?Math.clz32(${h}):32+Math.clz32(${lo}))`;
    }
    case 'brev':
      return w === 32 ? `${s.help('brev')}(${arg(0)})` : `(${s.help('brev')}(${arg(0)})>>>${32 - w})`;
    case 'lop3': {
      const js = lop3Code(n.n, s.atom(arg(0)), s.atom(arg(1)), s.atom(arg(2)));
      return w === 32 ? js : fit(js);
    }
    case 'prmt':
      return prmt(s, n);
    case 'fneg':
      return w === 32 ? `(${arg(0)}^0x80000000)` : `(${arg(0)}^${2 ** (w - 1)})`;
    case 'fabs':
      return `(${arg(0)}&${2 ** (w - 1) - 1})`;
    case 'ftz': {
      const x = s.atom(arg(0));
      const f = FORMATS[n.fmt as FormatName];
      const exponent = (2 ** (f.bits - 1 - f.mant) - 1) * 2 ** f.mant;
      return `((${x}&${exponent})===0?${x}&${2 ** (w - 1)}:${x})`;
    }
    case 'f2i':
      return toInteger(s, n);
    default:
      return half(s, n);
  }
}

function intOfBit(s: LaneScope, id: number, n: Node): string {
  if (n.op === 'src') {
    s.useSource(n.n);
    return `(p${n.n}>>>l&1)`;
  }
  return n.op === 'extract' ? extract(s, n) : `(${writeCond(s, id, n)}?1:0)`;
}

function signedIf(s: LaneScope, id: number, signed: boolean): string {
  return signed ? s.signedInt(id) : s.int(id);
}

function shift(s: LaneScope, n: Node, fit: (js: string) => string): string {
  const w = n.width;
  const c = shiftAmount(s, n.args[1]);
  if (n.op === 'ashr') {
    const x = s.signedInt(n.args[0]);
    const js = typeof c === 'number' ? `(${x}>>${Math.min(c, 31)})` : `(${x}>>((${c}>>>0)>31?31:${c}))`;
    return w === 32 ? js : fit(js);
  }
  const x = s.int(n.args[0]);
  if (typeof c === 'number') {
    if (c >= w) return '0';
    return n.op === 'shl' ? (w === 32 ? `(${x}<<${c})` : fit(`${x}<<${c}`)) : `(${x}>>>${c}|0)`;
  }
  const inside = n.op === 'shl' ? `${x}<<${c}` : `${x}>>>${c}|0`;
  return `((${c}>>>0)<${w}?${n.op === 'shl' && w < 32 ? fit(inside) : inside}:0)`;
}

function extract(s: LaneScope, n: Node): string {
  const [a] = n.args;
  const mask = n.width === 32 ? '' : `&${2 ** n.width - 1}`;
  if (s.nodes[a].width !== 64) return n.n === 0 ? `(${s.int(a)}${mask})` : `(${s.int(a)}>>>${n.n}${mask})`;
  const [lo, hi] = s.pair(a);
  if (n.n >= 32) return n.n === 32 && mask === '' ? hi : `(${hi}>>>${n.n - 32}${mask})`;
  if (n.n === 0) return mask === '' ? lo : `(${lo}${mask})`;
  if (n.n + n.width <= 32) return `(${lo}>>>${n.n}${mask})`;
  return mask === '' ? `(${lo}>>>${n.n}|${hi}<<${32 - n.n})` : `((${lo}>>>${n.n}|${hi}<<${32 - n.n})${mask})`;
}

function prmt(s: LaneScope, n: Node): string {
  const [a, b] = [s.atom(s.int(n.args[0])), s.atom(s.int(n.args[1]))];
  const sel = s.nodes[n.args[2]];
  if (sel.op === 'const' && n.aux === 'IDX') return prmtCode(Number(sel.value & 0xffffn), a, b);
  const x = s.int(n.args[2]);
  const picked = n.aux === 'IDX' ? x : `${s.help('selectorOf')}('${n.aux}',${x})`;
  return `${s.help('prmt')}(${a},${b},${picked})`;
}

function toInteger(s: LaneScope, n: Node): string {
  const x = s.atom(integral(s, s.num(n.args[0], n.fmt as FormatName), n.aux.slice(1)));
  const signed = n.aux.startsWith('s');
  const max = 2 ** (signed ? n.width - 1 : n.width) - 1;
  const min = signed ? -max - 1 : 0;
  const nan = n.fmt === 'f64' ? 2 ** (n.width - 1) : 0;
  const js = `(${x}!==${x}?${nan}:${x}<${min}?${min}:${x}>${max}?${max}:${x})`;
  return n.width === 32 ? `(${js}|0)` : `(${js}&${2 ** n.width - 1})`;
}

/** A 16-bit float operation: computed as a number and rounded to a bit pattern. */
function half(s: LaneScope, n: Node): string {
  const to = (n.op === 'f2f' ? n.aux.split(':')[0] : n.fmt) as 'f16' | 'bf16';
  const name = to === 'f16' ? 'F16' : 'BF16';
  const { js, mode } = arithmetic(s, n);
  return mode === 'RN' ? `${s.help(`pack${name}`)}(${js})` : `${s.help(`round${name}`)}(${js},'${mode}')`;
}
