import { numberToHalf } from '../isa/floats.ts';
import { type Fill, fillBuffer } from '../sim/fill.ts';
import { ELEMENT_BYTES, type Launch, type LaunchParam } from '../sim/launch.ts';
import type { SpecFile } from './document.ts';
import { Issues, type SpecIssue, type SpecPath } from './issues.ts';
import type { LaunchSpec } from './types.generated.ts';

/** Reads a file that a launch names, by its path as written there; null where it cannot be read. */
export type ReadData = (name: string) => Uint8Array | null;

/** Most bytes of one buffer: what one typed array holds on every host. */
const MOST_BYTES = 2 ** 31;

/** Threads of a block (CUDA C Programming Guide, technical specifications). */
const MOST_THREADS = 1024;

/**
 * Turns a launch spec and its data files into a launch for the simulator.
 *
 * @returns the launch, null on errors; and everything that is wrong: a missing file, one of the wrong size, a value that
 *   does not fit its type
 */
export function launchOf(spec: SpecFile, read: ReadData): { launch: Launch | null; issues: SpecIssue[] } {
  const d = spec.data as unknown as LaunchSpec.Launch;
  const issues = new Issues();
  const error = (path: SpecPath, code: string, message: string, notes?: readonly string[]) =>
    issues.error({ file: spec, path }, code, message, { notes });

  /** Contents of a data file; zeros where it is faulty, so that the other faults are found too. */
  const data = (name: string, size: number, path: SpecPath): Uint8Array => {
    const bytes = read(name);
    if (bytes === null)
      error(path, 'launch-data', `cannot read '${name}'`, ['data files are relative to the launch file']);
    else if (bytes.length !== size)
      error(path, 'launch-data', `'${name}' has ${bytes.length} bytes, expected ${size}`);
    else return bytes;
    return new Uint8Array(0);
  };

  const param = (p: LaunchSpec.Parameter, k: number): LaunchParam => {
    const at = (key: string): SpecPath => ['params', k, key];
    if (p.scalar !== undefined) {
      const value = scalarValue(p.scalar, p.value!);
      if (typeof value === 'object') error(at('value'), 'launch-value', value.problem);
      const number = typeof value === 'object' ? 0 : value;
      // The simulator takes half precision as its bits.
      return p.scalar.endsWith('f16')
        ? { kind: 'scalar', type: 'b16', value: numberToHalf(Number(number), p.scalar) }
        : { kind: 'scalar', type: p.scalar, value: number };
    }
    const size = p.buffer === undefined ? p.bytes! : ELEMENT_BYTES[p.buffer] * p.length!;
    if (size > MOST_BYTES) {
      const key = p.buffer === undefined ? 'bytes' : 'length';
      error(at(key), 'launch-value', `${size} bytes are more than the ${MOST_BYTES} of the largest buffer`);
      return { kind: 'bytes', bytes: new Uint8Array(0) };
    }
    if (p.buffer === undefined)
      return {
        kind: 'bytes',
        bytes: p.data === undefined ? new Uint8Array(size) : data(p.data, size, at('data')),
      };
    return {
      kind: 'buffer',
      type: p.buffer,
      length: p.length!,
      bytes:
        p.data === undefined
          ? fillBuffer(p.buffer, p.length!, (p.fill as Fill | undefined) ?? 'zero')
          : data(p.data, size, at('data')),
      expect: p.expect === undefined ? null : data(p.expect, size, at('expect')),
      tolerance: p.tolerance ?? 0,
    };
  };

  const three = (a: readonly number[]): [number, number, number] => [a[0], a[1] ?? 1, a[2] ?? 1];
  const block = three(d.block);
  const threads = block[0] * block[1] * block[2];
  if (threads > MOST_THREADS)
    error(['block'], 'launch-block', `a block of ${threads} threads: at most ${MOST_THREADS} are possible`);
  const launch: Launch = {
    name: d.title ?? d.kernel,
    kernel: d.kernel,
    grid: three(d.grid),
    block,
    dynamicShared: d['dynamic-shared'] ?? 0,
    params: d.params.map(param),
  };
  return { launch: issues.failed ? null : launch, issues: issues.list };
}

const FLOAT = /^b?f\d+$/;
const WORDS: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
};

/** A scalar of a type from a number or text, or why it is none. Integers wider than 2^53 are BigInt. */
export function scalarValue(type: string, given: number | string): number | bigint | { problem: string } {
  const text = String(given).trim().toLowerCase();
  if (FLOAT.test(type)) {
    if (typeof given === 'number') return given;
    const v = WORDS[text] ?? (text === '' ? Number.NaN : Number(text));
    return Number.isNaN(v) && text !== 'nan' ? { problem: `'${given}' is no number` } : v;
  }
  const m = /^([-+]?)(0x[0-9a-f]+|\d+)$/.exec(text);
  if (typeof given === 'number' && Number.isInteger(given) && !Number.isSafeInteger(given))
    return { problem: `${given} is beyond 2^53 and lost its last digits: write it as text, in quotes` };
  if (typeof given === 'number' ? !Number.isInteger(given) : m === null)
    return { problem: `${type} takes an integer, not '${given}'` };
  const v = m === null ? BigInt(given) : m[1] === '-' ? -BigInt(m[2]) : BigInt(m[2]);
  const bits = BigInt(type.replace(/\D/g, ''));
  // Bits (b8 to b64) may be written either way; s and u types only as themselves.
  const low = type.startsWith('u') ? 0n : -(1n << (bits - 1n));
  const high = type.startsWith('s') ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
  if (v < low || v > high) return { problem: `${given} does not fit ${type}: ${low} to ${high}` };
  return Number.isSafeInteger(Number(v)) ? Number(v) : v;
}
