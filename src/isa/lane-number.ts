import { FORMATS, type FormatName, type Rounding } from './formats.ts';
import type { LaneScope } from './lane-scope.ts';
import type { Node } from './lang/graph.ts';

/** A node of a float format as a JavaScript number. */
export function writeNum(s: LaneScope, id: number, n: Node, fmt: FormatName): string {
  if (FORMATS[fmt].bits === 16)
    return fmt === 'f16' ? `${s.help('f16')}[${s.int(id)}]` : `${s.help('bitsToF32')}(${s.int(id)}<<16)`;
  switch (n.op) {
    case 'src':
      s.useSource(n.n);
      return fmt === 'f64' ? `G[(S${n.n}>>1)+l]` : `F[S${n.n}+l]`;
    case 'const':
      return numberLiteral(n.value, fmt);
    case 'ite':
      return `(${s.cond(n.args[0])}?${s.num(n.args[1], fmt)}:${s.num(n.args[2], fmt)})`;
    case 'fneg':
      return `(-${s.num(n.args[0], fmt)})`;
    case 'fabs':
      return `Math.abs(${s.num(n.args[0], fmt)})`;
    case 'ftz':
      return `${s.help(fmt === 'f64' ? 'ftz64' : 'ftz32')}(${s.num(n.args[0], fmt)})`;
  }
  if (!s.isNumber(id)) {
    if (fmt !== 'f64') return `${s.help('bitsToF32')}(${s.int(id)})`;
    const [lo, hi] = s.pair(id);
    return `${s.help('num64')}(${lo},${hi})`;
  }
  const { js, mode, done } = arithmetic(s, n);
  if (done || fmt === 'f64') return js;
  const to = n.op === 'f2f' ? n.aux.split(':')[0] : fmt;
  if (to === 'tf32') return `${s.help('roundTF32')}(${js},'${mode}')`;
  return mode === 'RN' ? `Math.fround(${js})` : `${s.help('round32')}(${js},'${mode}')`;
}

/**
 * Code of a float operation: an expression that needs one more rounding in `mode`, or none if `done`. For narrow formats the expression is
 * exact, rounded to odd, or of an operation for which rounding twice to nearest is innocuous.
 */
export function arithmetic(s: LaneScope, n: Node): { js: string; mode: Rounding; done?: boolean } {
  const fmt = n.fmt as FormatName;
  const mode = (n.op === 'f2f' ? n.aux.split(':')[1] : n.aux) as Rounding;
  const [a, b, c] = n.op === 'i2f' ? [] : n.args.map((x) => s.num(x, fmt));
  const wide = fmt === 'f64';
  const call = (name: string, ...args: string[]): string => `${s.help(name)}(${args.join(',')})`;
  const exact = (js: string) => ({ js, mode: 'RN' as Rounding, done: true });
  const add = (x: string, y: string): string => call(mode === 'RM' ? 'addOddDown' : 'addOdd', x, y);
  switch (n.op) {
    case 'fadd':
      if (wide) return exact(mode === 'RN' ? `(${a}+${b})` : call('add64', a, b, `'${mode}'`));
      return { js: mode === 'RN' ? `${a}+${b}` : add(a, b), mode };
    case 'fmul':
      if (wide) return exact(mode === 'RN' ? `(${a}*${b})` : call('mul64', a, b, `'${mode}'`));
      return { js: `${a}*${b}`, mode };
    case 'ffma':
      if (wide)
        return exact(mode === 'RN' ? call('fma64', a, b, c) : call('fma64Directed', a, b, c, `'${mode}'`));
      if (fmt === 'f32' && mode === 'RN') return exact(call('fma32', a, b, c));
      return { js: add(`${a}*${b}`, c), mode };
    case 'fdiv':
      if (wide) return exact(mode === 'RN' ? `(${a}/${b})` : call('div64', a, b, `'${mode}'`));
      return { js: mode === 'RN' ? `${a}/${b}` : call('divOdd', a, b), mode };
    case 'fsqrt':
      if (wide) return exact(mode === 'RN' ? `Math.sqrt(${a})` : call('sqrt64', a, `'${mode}'`));
      return { js: mode === 'RN' ? `Math.sqrt(${a})` : call('sqrtOdd', a), mode };
    case 'frint':
      return exact(integral(s, a, mode));
    case 'fmin':
    case 'fmax':
      return exact(n.n === 1 ? `Math.${n.op.slice(1)}(${a},${b})` : call(n.op, a, b));
    case 'approx':
      if (wide) return exact(call('approximateHigh', `'${n.aux}'`, a));
      return { js: call('approximate', `'${n.aux}'`, a), mode: 'RN' };
    case 'f2f':
      return { js: a, mode };
    case 'i2f':
      return fromInteger(s, n);
    default:
      throw new Error(`no code for core operation '${n.op}'`);
  }
}

/** Code for rounding to an integral number. */
export function integral(s: LaneScope, x: string, mode: string): string {
  switch (mode) {
    case 'RZ':
      return `Math.trunc(${x})`;
    case 'RM':
      return `Math.floor(${x})`;
    case 'RP':
      return `Math.ceil(${x})`;
    default:
      return `${s.help('rint')}(${x})`;
  }
}

function fromInteger(s: LaneScope, n: Node): { js: string; mode: Rounding } {
  const mode = n.aux.slice(1) as Rounding;
  const signed = n.aux.startsWith('s');
  const [a] = n.args;
  if (n.n !== 64) {
    const x = signed ? s.signedInt(a) : n.n === 32 ? `(${s.int(a)}>>>0)` : s.int(a);
    return { js: x, mode };
  }
  const [lo, hi] = s.pair(a);
  const high = `${signed ? hi : `(${hi}>>>0)`}*4294967296`;
  const low = `(${lo}>>>0)`;
  if (n.fmt !== 'f64') return { js: `${s.help('addOdd')}(${high},${low})`, mode };
  return {
    js: mode === 'RN' ? `(${high}+${low})` : `${s.help('add64')}(${high},${low},'${mode}')`,
    mode,
  };
}

/** Format of a float node's own value. */
export function formatOf(n: Node): FormatName {
  if (n.op === 'f2f') {
    const to = n.aux.split(':')[0] as FormatName;
    return to === 'tf32' ? 'f32' : to;
  }
  return n.fmt === '' ? (n.width === 64 ? 'f64' : 'f32') : n.fmt;
}

function numberLiteral(value: bigint, fmt: FormatName): string {
  const v = new DataView(new ArrayBuffer(8));
  if (fmt === 'f64') v.setBigUint64(0, value);
  else v.setUint32(0, Number(value));
  const x = fmt === 'f64' ? v.getFloat64(0) : v.getFloat32(0);
  return Object.is(x, -0) ? '(-0)' : x < 0 ? `(${x})` : String(x);
}
