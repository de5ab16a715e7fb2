import { match, P } from 'ts-pattern';
import { entryOf } from '../ir/entry-of.ts';
import { numberToHalf } from '../isa/floats.ts';
import { type Fill, fillBuffer } from '../sim/fill.ts';
import { ELEMENT_BYTES, type Launch, type LaunchParam, MOST_LOADED } from '../sim/launch.ts';
import type { SpecFile } from './document.ts';
import { Issues, type SpecIssue, type SpecPath } from './issues.ts';
import type { LaunchSpec } from './types.generated.ts';

/**
 * Reads a data file by the path that the launch gives. `size` is the number of bytes that it must have.
 *
 * @returns the contents; a text that says why the file cannot be read; null if it does not exist
 */
export type ReadData = (name: string, size: number) => Uint8Array | string | null;

/** One parameter as written; the schema allows no other form. */
type Parameter =
  | { readonly scalar: string; readonly value: number | string }
  | {
      readonly buffer: string;
      readonly length: number;
      readonly data?: string;
      readonly fill?: Fill;
      readonly expect?: string;
      readonly tolerance?: number;
    }
  | { readonly bytes: number; readonly data?: string };

/** Maximum bytes of shared memory of a block on any target (CUDA C Programming Guide, technical specifications: 227 KB from sm_90 on). */
const MOST_SHARED = 232448;

/** Maximum number of threads of a block (CUDA C Programming Guide, technical specifications). */
const MOST_THREADS = 1024;

/**
 * Converts a launch spec and its data files to a launch for the simulator.
 *
 * @returns the launch, or null on errors; and all issues: missing files, files of the wrong size, values that do not fit their type
 */
export function launchOf(spec: SpecFile, read: ReadData): { launch: Launch | null; issues: SpecIssue[] } {
  const d = spec.data as unknown as LaunchSpec.Launch;
  const issues = new Issues();
  const error = (path: SpecPath, code: string, message: string, notes?: readonly string[]) =>
    issues.error({ file: spec, path }, code, message, { notes });

  /** Contents of a data file; empty if the file is faulty, so that checking can go on. */
  const data = (name: string, size: number, path: SpecPath): Uint8Array => {
    const bytes = read(name, size);
    if (bytes === null || typeof bytes === 'string')
      error(path, 'launch-data', `cannot read '${name}': ${bytes ?? 'there is no such file'}`, [
        'data files are relative to the launch file',
      ]);
    else if (bytes.length !== size)
      error(path, 'launch-data', `'${name}' has ${bytes.length} bytes, expected ${size}`);
    else return bytes;
    return new Uint8Array(0);
  };

  let total = 0;
  /** Reports a parameter with which the buffers exceed the limit on their size, or on their total size. */
  const tooLarge = (size: number, path: SpecPath): boolean => {
    if (size > MOST_LOADED) {
      error(path, 'launch-value', `${size} bytes are more than the ${MOST_LOADED} of the largest buffer`);
      return true;
    }
    total += size;
    if (total > MOST_LOADED)
      error(path, 'launch-value', `with it, buffers have ${total} bytes: more than ${MOST_LOADED} in all`);
    return total > MOST_LOADED;
  };

  const param = (p: Parameter, k: number): LaunchParam => {
    const at = (key: string): SpecPath => ['params', k, key];
    return match<Parameter, LaunchParam>(p)
      .with({ scalar: P.string }, ({ scalar, value: given }) => {
        const value = scalarValue(scalar, given);
        if (typeof value === 'object') error(at('value'), 'launch-value', value.problem);
        const number = typeof value === 'object' ? 0 : value;
        // The simulator takes half-precision values as bits.
        return scalar.endsWith('f16')
          ? { kind: 'scalar', type: 'b16', value: numberToHalf(Number(number), scalar) }
          : { kind: 'scalar', type: scalar, value: number };
      })
      .with({ buffer: P.string }, (b) => {
        const size = ELEMENT_BYTES[b.buffer] * b.length;
        if (tooLarge(size, at('length'))) return { kind: 'bytes', bytes: new Uint8Array(0) };
        return {
          kind: 'buffer',
          type: b.buffer,
          length: b.length,
          bytes:
            b.data === undefined
              ? fillBuffer(b.buffer, b.length, b.fill ?? 'zero')
              : data(b.data, size, at('data')),
          expect: b.expect === undefined ? null : data(b.expect, size, at('expect')),
          tolerance: b.tolerance ?? 0,
        };
      })
      .with({ bytes: P.number }, ({ bytes: size, data: file }) => {
        if (tooLarge(size, at('bytes'))) return { kind: 'bytes', bytes: new Uint8Array(0) };
        return {
          kind: 'bytes',
          bytes: file === undefined ? new Uint8Array(size) : data(file, size, at('data')),
        };
      })
      .exhaustive();
  };

  const three = (a: readonly number[]): [number, number, number] => [a[0], a[1] ?? 1, a[2] ?? 1];
  const block = three(d.block);
  const threads = block[0] * block[1] * block[2];
  if (threads > MOST_THREADS)
    error(['block'], 'launch-block', `a block of ${threads} threads: at most ${MOST_THREADS} are possible`);
  const shared = d['dynamic-shared'] ?? 0;
  if (shared > MOST_SHARED)
    error(
      ['dynamic-shared'],
      'launch-shared',
      `${shared} bytes of shared memory: no target has more than ${MOST_SHARED} for a block`,
    );
  const launch: Launch = {
    name: d.title ?? d.kernel,
    kernel: d.kernel,
    grid: three(d.grid),
    block,
    ...(d.cluster === undefined ? {} : { cluster: three(d.cluster) }),
    dynamicShared: shared,
    ...(d.stack === undefined ? {} : { stack: d.stack }),
    params: (d.params as unknown as readonly Parameter[]).map(param),
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

/** Converts a number or text to a scalar of a PTX type; `problem` says why it cannot. Integers beyond 2^53 are BigInt. */
export function scalarValue(type: string, given: number | string): number | bigint | { problem: string } {
  const text = String(given).trim().toLowerCase();
  if (FLOAT.test(type)) {
    if (typeof given === 'number') return given;
    const v = entryOf(WORDS, text) ?? (text === '' ? Number.NaN : Number(text));
    return Number.isNaN(v) && text !== 'nan' ? { problem: `'${given}' is not a number` } : v;
  }
  const m = /^([-+]?)(0x[0-9a-f]+|\d+)$/.exec(text);
  if (typeof given === 'number' && Number.isInteger(given) && !Number.isSafeInteger(given))
    return { problem: `${given} is beyond 2^53 and lost its last digits: write it as text, in quotes` };
  if (typeof given === 'number' ? !Number.isInteger(given) : m === null)
    return { problem: `${type} takes an integer, not '${given}'` };
  const v = m === null ? BigInt(given) : m[1] === '-' ? -BigInt(m[2]) : BigInt(m[2]);
  const bits = BigInt(type.replace(/\D/g, ''));
  // Untyped values (b8 to b64) may be written signed or unsigned.
  const low = type.startsWith('u') ? 0n : -(1n << (bits - 1n));
  const high = type.startsWith('s') ? (1n << (bits - 1n)) - 1n : (1n << bits) - 1n;
  if (v < low || v > high) return { problem: `${given} does not fit ${type}: ${low} to ${high}` };
  return Number.isSafeInteger(Number(v)) ? Number(v) : v;
}
