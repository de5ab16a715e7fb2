// Parses the output of a disassembler: the name with its suffixes, and operands with their values.

/** A register, number or name in an operand. */
export interface TextValue {
  /** R, UR, P, UP, B, SB or UB for a register, I for a hexadecimal integer, F for any other number. */
  readonly kind: string;
  readonly text: string;
}

/** An instruction as a disassembler prints it. */
export interface VendorText {
  readonly guard: string;
  /** The name and its suffixes. */
  readonly head: readonly string[];
  /** The operands, with registers replaced by `<R>`, `<UR>` and so on, and numbers by `<I>`. */
  readonly shapes: readonly string[];
  readonly values: readonly (readonly TextValue[])[];
}

const TOKEN =
  /(?<![A-Za-z0-9_])(?<reg>(?:UR|UP|R|P|B|SB|UB)(?:\d+|Z|T)(?![A-Za-z0-9_]))|(?<hex>-?0x[0-9a-f]+)|(?<float>[-+](?:INF|QNAN|SNAN)\b|(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]))/g;

/** Splits a text at commas outside of brackets. */
function operandsOf(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let part = '';
  for (const c of text) {
    if ('[{('.includes(c)) depth++;
    if (')}]'.includes(c)) depth--;
    if (c === ',' && depth === 0) {
      out.push(part.trim());
      part = '';
    } else part += c;
  }
  return part.trim() === '' ? out : [...out, part.trim()];
}

/** Parses one instruction. */
export function parseVendor(text: string): VendorText {
  const guard = /^@!?U?P[0-9T]\s+/.exec(text)?.[0] ?? '';
  const rest = text.slice(guard.length);
  const space = rest.indexOf(' ');
  const head = (space < 0 ? rest : rest.slice(0, space)).split('.');
  const values: TextValue[][] = [];
  const shapes = operandsOf(space < 0 ? '' : rest.slice(space + 1)).map((o) => {
    const own: TextValue[] = [];
    values.push(own);
    return o.replace(TOKEN, (...m: unknown[]) => {
      const { reg, hex, float } = m.at(-1) as { reg?: string; hex?: string; float?: string };
      if (reg !== undefined) {
        const kind = /^(?:UR|UP|R|P|B|SB|UB)/.exec(reg)![0];
        own.push({ kind, text: reg.slice(kind.length) });
        return `<${kind}>`;
      }
      own.push(hex !== undefined ? { kind: 'I', text: hex } : { kind: 'F', text: float! });
      return '<I>';
    });
  });
  return { guard: guard.trim(), head, shapes, values };
}

/** Name, suffixes and operand shapes without values; equal for words of one form with the same modifiers. */
export const shapeKey = (t: VendorText): string => `${t.head.join('.')} ${t.shapes.join(', ')}`;
