import { nearest } from '../ir/diagnostic.ts';
import type { KnobValue } from '../ir/pass.ts';
import type { KnobsSpec } from './types.generated.ts';

/** The fields of a knob that checking a value needs. */
export type KnobType = Pick<KnobsSpec.Knob, 'type' | 'range'>;

/** A value of the knob's type, or why the given value is not one. */
export type CheckedValue =
  | { readonly value: KnobValue; readonly problem?: undefined }
  | { readonly problem: string; readonly notes?: readonly string[] };

/** The least value of a signed and the greatest value of an unsigned 32-bit integer. */
const LEAST = -(2 ** 31);
const GREATEST = 2 ** 32 - 1;

/** Bounds that stand for the open ends of a range. */
const LOWEST = Number.MIN_SAFE_INTEGER;
const HIGHEST = Number.MAX_SAFE_INTEGER;

const INTEGER = /^[-+]?(0x[0-9a-f]+|0b[01]+|0o[0-7]+|\d+)$/i;
const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** An integer from a YAML number, or from decimal, hexadecimal, octal or binary text; null if it is not one. */
function integer(v: unknown): number | null {
  if (typeof v === 'number') return Number.isSafeInteger(v) ? v : null;
  if (typeof v !== 'string' || !INTEGER.test(v.trim())) return null;
  const t = v.trim();
  const n = Number(t.replace(/^[-+]/, '')) * (t.startsWith('-') ? -1 : 1);
  return Number.isSafeInteger(n) ? n : null;
}

function decimal(v: unknown): number | null {
  if (typeof v === 'number') return Number.isFinite(v) ? v : null;
  if (typeof v !== 'string' || !DECIMAL.test(v.trim())) return integer(v);
  const n = Number(v);
  return Number.isFinite(n) ? n : null;
}

/** Why a number is outside the range of a knob; null if it is inside. Integers have 32 bits, except INT64 (reference knobs, System). */
function inRange(type: KnobType, n: number, what = 'it'): string | null {
  const real = type.type === 'FLOAT' || type.type === 'DBL';
  if (!real && (n < LEAST || n > GREATEST)) return `${what} has more than 32 bits`;
  const [lo, hi] = type.range ?? [null, null];
  if ((lo === null || n >= lo) && (hi === null || n <= hi)) return null;
  return `${what} must lie in ${lo ?? ''}..${hi ?? ''}`;
}

function ranged(type: KnobType, n: number | null, wanted: string): CheckedValue {
  if (n === null) return { problem: wanted };
  const bad = inRange(type, n);
  return bad === null ? { value: n === 0 ? 0 : n } : { problem: bad };
}

/**
 * Checks a value from YAML or the command line against a knob's type and range, and converts it (types: reference knobs, System). `null`
 * and the text `unset` leave the knob unset.
 *
 * @param opcodes names that an opcode list may hold; absent: any name
 */
export function knobValue(type: KnobType, value: unknown, opcodes?: ReadonlySet<string>): CheckedValue {
  if (value === null || value === 'unset') return { value: null };
  if (value === '') return { problem: "the value is empty ('unset' removes a value)" };
  switch (type.type) {
    case 'NONE':
      return flag(value);
    case 'INT':
      return ranged(type, integer(value), 'it must be an integer');
    case 'BDGT': {
      const n = integer(value);
      return n !== null && n < 0
        ? { problem: 'a budget must not be negative' }
        : ranged(type, n, 'it must be a budget: an integer that says how often it may be taken');
    }
    case 'FLOAT':
    case 'DBL':
      return ranged(type, decimal(value), 'it must be a number');
    case 'IRNG':
      return range(type, value);
    case 'ILIST':
      return integers(type, value);
    case 'WHEN':
      return conditions(value);
    case 'OPLIST':
      return opcodeList(value, opcodes);
    case 'INT64':
      return wide(value);
    case 'STR':
      return typeof value === 'string' || typeof value === 'number'
        ? { value: String(value) }
        : { problem: 'it must be text' };
    default:
      return type.type satisfies never;
  }
}

/** A 64-bit integer. If a JavaScript number cannot hold it exactly, the value is its hexadecimal text. */
function wide(value: unknown): CheckedValue {
  const small = integer(value);
  if (small !== null) return { value: small };
  // YAML has already rounded a longer number.
  if (typeof value === 'number' && Number.isInteger(value))
    return { problem: "it loses digits as a number: quote it, as in '0x0123456789abcdef'" };
  const text = String(value).trim();
  if (!INTEGER.test(text)) return { problem: 'it must be an integer of 64 bits' };
  const n = BigInt(text.replace(/^[-+]/, '')) * (text.startsWith('-') ? -1n : 1n);
  if (n < -(2n ** 63n) || n >= 2n ** 64n) return { problem: 'it has more than 64 bits' };
  return { value: `0x${BigInt.asUintN(64, n).toString(16).padStart(16, '0')}` };
}

function flag(value: unknown): CheckedValue {
  const text = String(value).toLowerCase();
  if (text === 'true' || text === '1') return { value: true };
  if (text === 'false' || text === '0') return { value: false };
  return { problem: 'it must be a flag: true or false' };
}

/** A range: `lo..hi`, where either end may be open, one number for both ends, or a list of two. */
function range(type: KnobType, value: unknown): CheckedValue {
  const wanted = "it must be a range: 'lo..hi', where either end may be left out, or one number";
  let lo: number | null;
  let hi: number | null;
  if (Array.isArray(value)) {
    if (value.length !== 2) return { problem: wanted };
    [lo, hi] = value.map(integer);
  } else {
    const ends = String(value).split('..');
    if (ends.length > 2 || (ends.length === 2 && ends.every((x) => x.trim() === '')))
      return { problem: wanted };
    lo = ends[0].trim() === '' ? LOWEST : integer(ends[0]);
    hi = ends.length === 1 ? lo : ends[1].trim() === '' ? HIGHEST : integer(ends[1]);
  }
  if (lo === null || hi === null) return { problem: wanted };
  if (lo > hi) return { problem: `the range is empty: ${lo} is above ${hi}` };
  for (const end of [lo, hi])
    if (end !== LOWEST && end !== HIGHEST) {
      const bad = inRange(type, end, 'each end');
      if (bad !== null) return { problem: bad };
    }
  return { value: [lo, hi] };
}

function integers(type: KnobType, value: unknown): CheckedValue {
  const parts: unknown[] = Array.isArray(value) ? value : String(value).split(',');
  const out: number[] = [];
  for (const p of parts) {
    const n = integer(p);
    if (n === null)
      return {
        problem: `it must be a list of integers such as 1,2,3; '${String(p).trim()}' is not an integer`,
      };
    const bad = inRange(type, n, 'each number');
    if (bad !== null) return { problem: bad };
    out.push(n);
  }
  return { value: out };
}

/** A WHEN value: records separated by `~`, each a shader hash, an instruction hash, or `K=` for always (reference knobs, System). */
function conditions(value: unknown): CheckedValue {
  const wanted = "it must be a list of conditions: SH=<hex> or IH=<hex> or K=<text>, '~' between them";
  if (typeof value !== 'string') return { problem: wanted };
  for (const record of value.split('~')) {
    const at = record.indexOf('=');
    const key = record.slice(0, Math.max(at, 0)).trim().toUpperCase();
    const rest = record.slice(at + 1).trim();
    const good =
      key === 'SH' || key === 'IH' ? /^(0x)?[0-9a-f]{1,32}$/i.test(rest) : key === 'K' && rest !== '';
    if (!good) return { problem: `${wanted}; '${record}' is not one` };
  }
  return { value };
}

/** An opcode list, such as `FADD,3,FMUL,2`: opcodes, each followed by a number. */
function opcodeList(value: unknown, opcodes?: ReadonlySet<string>): CheckedValue {
  const wanted = 'it must be a list of opcodes with a number each: FADD,3,FMUL,2';
  const parts = typeof value === 'string' ? value.split(',').map((x) => x.trim()) : [];
  if (parts.length === 0 || parts.length % 2 !== 0) return { problem: wanted };
  const out: string[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const op = parts[i].toUpperCase();
    const n = integer(parts[i + 1]);
    if (n === null) return { problem: `${wanted}; '${parts[i + 1]}' is not a number` };
    if (opcodes !== undefined && !opcodes.has(op)) {
      const near = nearest(op, opcodes, 1);
      return {
        problem: `there is no opcode '${parts[i]}'`,
        notes: near.length > 0 ? [`did you mean '${near[0]}'?`] : [],
      };
    }
    out.push(op, String(n));
  }
  return { value: out.join(',') };
}
