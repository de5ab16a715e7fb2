import { halfToNumber } from '../../isa/floats.ts';
import { FORMATS, type FormatName } from '../../isa/formats.ts';
import type { CoreOp } from '../../isa/lang/graph.ts';
import type { Instance, Rule } from '../rule.ts';
import { goalOf } from './goal.ts';

/** Float operations whose result is not a float of their operands' format. */
const OTHER_RESULT: ReadonlySet<CoreOp> = new Set(['fcmp', 'f2f', 'f2i']);

/** The float format of each variable that is an operand or result of a float operation, by variable. */
export function floatVariables(rule: Rule, instance: Instance): ReadonlyMap<number, FormatName> {
  const { nodes, inputs, results } = goalOf(rule, instance);
  const formats = new Map<number, FormatName>();
  const put = (v: number, fmt: FormatName | '', width: number): void => {
    if (v >= 0 && fmt !== '' && FORMATS[fmt].bits === width && !formats.has(v)) formats.set(v, fmt);
  };
  for (const n of nodes)
    if (n.op !== 'i2f')
      for (const a of n.args) if (nodes[a].op === 'src') put(inputs[nodes[a].n].v, n.fmt, nodes[a].width);
  for (const r of results)
    for (const side of [nodes[r.left], nodes[r.right]])
      if (!OTHER_RESULT.has(side.op)) put(r.v, side.fmt, side.width);
  return formats;
}

/** A bit pattern of a float format in decimal, with as few digits as identify it. */
export function decimal(pattern: bigint, fmt: FormatName): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt.asUintN(64, pattern));
  const x =
    fmt === 'f64'
      ? view.getFloat64(0)
      : FORMATS[fmt].bits === 32
        ? view.getFloat32(4)
        : halfToNumber(view.getUint16(6), fmt);
  if (Object.is(x, -0)) return '-0';
  if (fmt === 'f64' || !Number.isFinite(x)) return String(x);
  const back = FORMATS[fmt].bits === 32 ? Math.fround : (n: number): number => n;
  for (let digits = 1; digits < 17; digits++) {
    const short = Number(x.toPrecision(digits));
    if (back(short) === x) return String(short);
  }
  return String(x);
}
