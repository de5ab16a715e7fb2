/**
 * Formats a device printf: C conversions of arguments packed as in a C structure, each at its natural alignment (int 4 bytes; long long,
 * double and pointers 8).
 *
 * @param at the bytes of the arguments starting at an offset
 * @param text reads the string at an address
 */
export function formatPrintf(
  format: string,
  at: (offset: number, size: 4 | 8) => DataView,
  text: (address: number) => string,
): string {
  let offset = 0;
  const take = (size: 4 | 8): DataView => {
    offset = Math.ceil(offset / size) * size;
    const v = at(offset, size);
    offset += size;
    return v;
  };
  let made = 0;
  return format.replace(
    // A width has no leading zero, since 0 is a flag; otherwise a long run of zeros could be split in as many ways (quadratic
    // backtracking).
    /%([-+ #0]*)(\*|[1-9]\d*)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t)?([diouxXcspfFeEgGaA%])/g,
    (
      _all,
      flags: string,
      width: string | undefined,
      precision: string | undefined,
      length: string | undefined,
      conv: string,
    ) => {
      if (conv === '%') return '%';
      if (made > LONGEST) return '';
      const int = () => take(4).getInt32(0, true);
      const w = Math.min(width === '*' ? int() : Number(width ?? 0), WIDEST);
      const p = Math.min(
        precision === '*' ? int() : precision === undefined ? -1 : Number(precision),
        WIDEST,
      );
      const wide = length === 'll' || length === 'l' || length === 'z' || length === 'j' || length === 't';
      const slot = take(wide || 'spfFeEgGaA'.includes(conv) ? 8 : 4);
      let s: string;
      switch (conv) {
        case 'd':
        case 'i':
          s = wide ? slot.getBigInt64(0, true).toString() : String(slot.getInt32(0, true));
          break;
        case 'o':
        case 'u':
        case 'x':
        case 'X': {
          const v = wide ? slot.getBigUint64(0, true) : BigInt(slot.getUint32(0, true));
          s = v.toString(conv === 'u' ? 10 : conv === 'o' ? 8 : 16);
          if (conv === 'X') s = s.toUpperCase();
          if (flags.includes('#') && v !== 0n && conv !== 'u') s = (conv === 'o' ? '0' : `0${conv}`) + s;
          break;
        }
        case 'c':
          s = String.fromCharCode(slot.getUint8(0));
          break;
        case 's':
          s = text(slot.getUint32(4, true) * 4294967296 + slot.getUint32(0, true));
          if (p >= 0) s = s.slice(0, p);
          break;
        case 'p':
          s = `0x${slot.getBigUint64(0, true).toString(16)}`;
          break;
        default:
          s = float(slot.getFloat64(0, true), conv, p < 0 ? 6 : p);
      }
      // For integers, a precision is the minimum number of digits and overrides the 0 flag.
      if (p >= 0 && 'diouxX'.includes(conv))
        s = s.replace(/[0-9a-fA-F]+$/, (digits) => digits.padStart(p, '0'));
      if ('dif'.includes(conv) && !s.startsWith('-'))
        s = (flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '') + s;
      made += Math.max(s.length, w);
      if (s.length >= w) return s;
      if (flags.includes('-')) return s.padEnd(w);
      if (flags.includes('0') && !'scp'.includes(conv) && (p < 0 || !'diouxX'.includes(conv))) {
        const sign = /^[-+ ]/.test(s) ? 1 : 0;
        return s.slice(0, sign) + s.slice(sign).padStart(w - sign, '0');
      }
      return s.padStart(w);
    },
  );
}

/** Maximum width or precision; a larger one is a mistake and must not exhaust memory. */
const WIDEST = 4096;
/** Number of characters after which conversions give nothing more: a format has room for 2,000 conversions of 4,096 characters each. */
const LONGEST = 65_536;
/** Maximum number of digits that JavaScript prints; further digits are printed as zeros. */
const MOST_DIGITS = 100;

/** `%f` with all digits before the point; JavaScript switches to an exponent at 10^21. */
function fixed(v: number, p: number): string {
  const n = Math.min(p, MOST_DIGITS);
  const s = Math.abs(v) < 1e21 ? v.toFixed(n) : `${BigInt(v)}${n > 0 ? `.${'0'.repeat(n)}` : ''}`;
  return s + '0'.repeat(p - n);
}

/** `%e`. */
function exponential(v: number, p: number): string {
  const n = Math.min(p, MOST_DIGITS);
  return v.toExponential(n).replace('e', `${'0'.repeat(p - n)}e`);
}

function float(v: number, conv: string, p: number): string {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? 'nan' : v < 0 ? '-inf' : 'inf';
  const exp = (s: string) => s.replace(/e([-+])(\d)$/, 'e$10$2');
  let s: string;
  if (conv === 'f' || conv === 'F') s = fixed(v, p);
  else if (conv === 'e' || conv === 'E') s = exp(exponential(v, p));
  else {
    const e = v === 0 ? 0 : Math.floor(Math.log10(Math.abs(v)));
    const n = p === 0 ? 1 : p;
    s = e < -4 || e >= n ? exp(exponential(v, n - 1)) : fixed(v, Math.max(0, n - 1 - e));
    if (s.includes('.') && !s.includes('e')) s = s.replace(/\.?0+$/, '');
  }
  return conv === conv.toUpperCase() ? s.toUpperCase() : s;
}
