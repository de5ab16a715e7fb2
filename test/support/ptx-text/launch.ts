import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import type { Argument, Launch } from './run/run.ts';
import { bitsOfNumber, numberOf } from './table/float.ts';
import { decode, F64, round } from './values/floats.ts';
import { type Type, type } from './values/types.ts';

/** The expected contents of a buffer, as a launch file states them. */
export interface Expectation {
  readonly argument: number;
  readonly type: Type;
  readonly bytes: Uint8Array;
  /** Relative tolerance; 0 for an exact comparison. */
  readonly tolerance: number;
}

/** A launch file; `orrery run --help` documents its contents. */
export interface LaunchFile {
  /** Name of the file that contains the module, relative to the launch file. */
  readonly module: string;
  readonly launch: Launch;
  readonly expected: readonly Expectation[];
}

interface Param {
  readonly scalar?: string;
  readonly value?: number | string;
  readonly buffer?: string;
  readonly length?: number;
  readonly data?: string;
  readonly fill?: unknown;
  readonly expect?: string;
  readonly tolerance?: number;
  readonly bytes?: number;
}

interface Document {
  readonly module: string;
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly cluster?: readonly number[];
  readonly 'dynamic-shared'?: number;
  readonly params: readonly Param[];
}

const three = (n: readonly number[]): [number, number, number] => [n[0], n[1] ?? 1, n[2] ?? 1];

/** The little-endian bytes of a number of a type. */
function bytesOf(t: Type, value: number | string): Uint8Array {
  const text = String(value);
  const bits = t.format === undefined ? BigInt(text) : floatBits(t, text);
  return littleEndian(BigInt.asUintN(t.width, bits), t.width / 8);
}

function floatBits(t: Type, text: string): bigint {
  const x = decode(F64, bitsOfNumber(Number(text)));
  if (x.kind !== 'finite') throw new Error(`a launch with ${text}`);
  return round(t.format!, x, 'rn');
}

const littleEndian = (bits: bigint, size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, k) => Number((bits >> BigInt(8 * k)) & 0xffn));

function argument(p: Param, read: (name: string) => Uint8Array): Argument {
  if (p.scalar !== undefined) return { kind: 'value', bytes: bytesOf(type(p.scalar), p.value!) };
  if (p.bytes !== undefined)
    return { kind: 'value', bytes: p.data === undefined ? new Uint8Array(p.bytes) : read(p.data) };
  const t = type(p.buffer!);
  if (p.data !== undefined) return { kind: 'buffer', bytes: read(p.data) };
  if (p.fill !== undefined && p.fill !== 'zero')
    throw new Error(`a launch with the fill ${JSON.stringify(p.fill)}`);
  return { kind: 'buffer', bytes: new Uint8Array((p.length! * t.width) / 8) };
}

/** Reads a launch file and the data files that it names. @throws Error for fills other than zeros */
export function readLaunch(file: string): LaunchFile {
  const d = parse(readFileSync(file, 'utf8')) as Document;
  const read = (name: string): Uint8Array => new Uint8Array(readFileSync(join(dirname(file), name)));
  const expected = d.params.flatMap((p, k): Expectation[] =>
    p.expect === undefined
      ? []
      : [{ argument: k, type: type(p.buffer!), bytes: read(p.expect), tolerance: p.tolerance ?? 0 }],
  );
  const launch: Launch = {
    kernel: d.kernel,
    grid: three(d.grid),
    block: three(d.block),
    ...(d.cluster === undefined ? {} : { cluster: three(d.cluster) }),
    dynamicShared: d['dynamic-shared'] ?? 0,
    args: d.params.map((p) => argument(p, read)),
  };
  return { module: d.module, launch, expected };
}

/** The bits of an element of a buffer. */
function elementBits(t: Type, bytes: Uint8Array, index: number): bigint {
  const size = t.width / 8;
  let bits = 0n;
  for (let k = size - 1; k >= 0; k--) bits = (bits << 8n) | BigInt(bytes[index * size + k]);
  return bits;
}

/** The first element in which two buffers differ by more than a relative tolerance (NaN equals NaN); null if none does. */
export function difference(
  { type: t, bytes, tolerance }: Omit<Expectation, 'argument'>,
  got: Uint8Array,
): { readonly index: number; readonly expected: string; readonly got: string } | null {
  for (let index = 0; index < bytes.length / (t.width / 8); index++) {
    const [a, b] = [elementBits(t, bytes, index), elementBits(t, got, index)];
    if (a === b) continue;
    const [x, y] =
      t.format === undefined ? [Number(a), Number(b)] : [numberOf(t.format, a), numberOf(t.format, b)];
    if (x === y || (x !== x && y !== y)) continue;
    if (Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y))) continue;
    return { index, expected: `${x} (0x${a.toString(16)})`, got: `${y} (0x${b.toString(16)})` };
  }
  return null;
}
