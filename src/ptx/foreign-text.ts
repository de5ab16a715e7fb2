/**
 * How an instruction that Ori carries as it is stands in its first operand: PTX with places for registers and symbols.
 *
 *     ldmatrix.sync.aligned.m8n8.x2.shared.b16 {<d0>, <d1>}, [<s0:64>+16]
 */

/** A place for an operand. */
export interface Place {
  /** Number of the result that stands there, -1 for a source. */
  readonly dst: number;
  /** Number of the source that stands there, or whose value a result has before; -1 for a result that is only written. */
  readonly src: number;
  /** What PTX calls the register: bits, `p` for a predicate, `sym` for a symbol. */
  readonly size: string;
}

const PLACE = /<(?:d(\d+)(?:=s(\d+))?|s(\d+))(?::(\w+))?>/g;

/** A place as it is written. */
export function placeText(p: Place): string {
  const name = p.dst < 0 ? `s${p.src}` : p.src < 0 ? `d${p.dst}` : `d${p.dst}=s${p.src}`;
  return `<${name}${p.size === '32' ? '' : `:${p.size}`}>`;
}

/** The text with every place replaced. */
export const fillPlaces = (text: string, fill: (p: Place) => string): string =>
  text.replace(PLACE, (_m, d?: string, tied?: string, s?: string, size = '32') =>
    fill({ dst: d === undefined ? -1 : Number(d), src: Number(tied ?? s ?? -1), size }),
  );
