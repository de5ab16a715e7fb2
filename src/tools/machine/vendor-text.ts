// Takes what a disassembler prints apart: the name with its suffixes, and operands with their values.

/** A register, number or name in an operand. */
export interface TextValue {
  /** R, UR, P, UP, B, SB; I for a whole number, F for another. */
  readonly kind: string;
  readonly text: string;
}

export interface VendorText {
  readonly guard: string;
  /** The name and its suffixes. */
  readonly head: readonly string[];
  /** The operands with `<R>` in place of each register, `<I>` of each number. */
  readonly shapes: readonly string[];
  readonly values: readonly (readonly TextValue[])[];
}

const TOKEN =
  /(?<![A-Za-z0-9_])(?<reg>(?:UR|UP|R|P|B|SB|UB)(?:\d+|Z|T)(?![A-Za-z0-9_]))|(?<hex>-?0x[0-9a-f]+)|(?<float>[-+](?:INF|QNAN|SNAN)\b|(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]))/g;

/** Splits at the commas that stand in no brackets. */
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

/** Name, suffixes and shapes, without values: what words of one form and the same modifiers have in common. */
export const shapeKey = (t: VendorText): string => `${t.head.join('.')} ${t.shapes.join(', ')}`;
