import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import { type Fill, fillBuffer } from '../sim/fill.ts';
import { ELEMENT_BYTES, type Launch, type LaunchParam } from '../sim/launch.ts';
import type { SpecFile } from './document.ts';
import { loadSpec } from './node.ts';

interface ParamRow {
  readonly scalar?: string;
  readonly value?: number | string;
  readonly buffer?: string;
  readonly length?: number;
  readonly data?: string;
  readonly fill?: Fill;
  readonly expect?: string;
  readonly tolerance?: number;
  readonly bytes?: number;
}

/** A launch with the path of its module. */
export interface LoadedLaunch extends Launch {
  readonly modulePath: string;
  readonly file: string;
}

/**
 * Reads a launch file and the data that it names.
 * @throws DiagnosticError with every fault: a missing file, a file of the wrong size, a value that is none
 */
export async function loadLaunch(path: string): Promise<LoadedLaunch> {
  const spec = await loadSpec(path, 'launch');
  const d = spec.data as {
    module: string;
    kernel: string;
    grid: number[];
    block: number[];
    'dynamic-shared'?: number;
    params: ParamRow[];
    title?: string;
  };
  const faults: { at: (string | number)[]; code: string; message: string; notes?: string[] }[] = [];
  const dir = dirname(path);
  const read = (name: string, size: number, at: (string | number)[]): Uint8Array => {
    let bytes: Uint8Array;
    try {
      bytes = new Uint8Array(readFileSync(join(dir, name)));
    } catch {
      faults.push({
        at,
        code: 'launch-data',
        message: `cannot read '${name}'`,
        notes: [`it is looked for in ${dir}`],
      });
      return new Uint8Array(size);
    }
    if (bytes.length !== size)
      faults.push({
        at,
        code: 'launch-data',
        message: `'${name}' has ${bytes.length} bytes, expected ${size}`,
      });
    return bytes;
  };
  const params = d.params.map((p, k): LaunchParam => {
    const at = (key: string) => ['params', k, key];
    if (p.scalar !== undefined) {
      const v = p.value!;
      if (typeof v === 'number') return { kind: 'scalar', type: p.scalar, value: v };
      const number = /^-?(0x[0-9a-fA-F]+|\d+)$/.test(v)
        ? v.startsWith('-')
          ? -BigInt(v.slice(1))
          : BigInt(v)
        : Number(v);
      if (typeof number === 'number' && Number.isNaN(number) && v.toLowerCase() !== 'nan')
        faults.push({ at: at('value'), code: 'launch-value', message: `'${v}' is no number` });
      return { kind: 'scalar', type: p.scalar, value: number };
    }
    if (p.buffer !== undefined) {
      const size = ELEMENT_BYTES[p.buffer] * p.length!;
      const bytes =
        p.data !== undefined
          ? read(p.data, size, at('data'))
          : fillBuffer(p.buffer, p.length!, p.fill ?? 'zero');
      const expect = p.expect === undefined ? null : read(p.expect, size, at('expect'));
      return {
        kind: 'buffer',
        type: p.buffer,
        length: p.length!,
        bytes,
        expect,
        tolerance: p.tolerance ?? 0,
      };
    }
    return {
      kind: 'bytes',
      bytes: p.data === undefined ? new Uint8Array(p.bytes!) : read(p.data, p.bytes!, at('data')),
    };
  });
  if (faults.length > 0) throw new DiagnosticError(await placed(spec, faults));
  const three = (a: readonly number[]): [number, number, number] => [a[0], a[1] ?? 1, a[2] ?? 1];
  return {
    name: d.title ?? d.kernel,
    kernel: d.kernel,
    grid: three(d.grid),
    block: three(d.block),
    dynamicShared: d['dynamic-shared'] ?? 0,
    params,
    modulePath: join(dir, d.module),
    file: spec.file,
  };
}

/** Faults with their places: the YAML reader is loaded only when there is something to say. */
async function placed(
  spec: SpecFile,
  faults: readonly { at: (string | number)[]; code: string; message: string; notes?: string[] }[],
): Promise<Diagnostic[]> {
  const { specError } = await import('./document.ts');
  return faults.map((f) => specError(spec, f.at, f.code, f.message, { notes: f.notes }));
}
