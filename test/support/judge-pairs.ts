import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { ELEMENT_BYTES, type Launch, type LaunchParam } from '../../src/sim/launch.ts';

/** Two kernels; the second is a wrong or a correct optimization of the first. */
export interface Pair {
  readonly id: string;
  /** Topic, such as `loops` or `floats`. */
  readonly kind: string;
  readonly target: string;
  readonly before: string;
  readonly after: string;
  /** True if the second kernel is wrong: it does what the first cannot do. */
  readonly wrong: boolean;
  readonly why: string;
  readonly shows: string;
  readonly launch: PairLaunch | null;
}

type Value = number | string;

interface PairParam {
  readonly scalar?: string;
  readonly value?: Value;
  readonly words?: readonly number[];
  readonly buffer?: string;
  readonly length?: number;
  readonly data?: readonly Value[];
  readonly before?: readonly Value[];
  readonly after?: readonly Value[];
}

interface PairLaunch {
  readonly kernel?: string;
  readonly grid?: readonly number[];
  readonly block?: readonly number[];
  readonly cluster?: readonly number[];
  readonly 'dynamic-shared'?: number;
  readonly ends?: Readonly<Record<Side, 'ok' | 'fault' | 'budget'>>;
  readonly output?: Readonly<Record<Side, string>>;
  readonly params: readonly PairParam[];
}

export const SIDES = ['before', 'after'] as const;
export type Side = (typeof SIDES)[number];

interface Written {
  readonly id: string;
  readonly kind?: string;
  readonly why: string;
  readonly target: string;
  readonly ptx: string;
  readonly after?: string;
  readonly edits?: readonly { readonly replace: string; readonly by: string }[];
  readonly wrong: boolean;
  readonly shows?: string;
  readonly launch?: PairLaunch;
}

const schema = JSON.parse(readFileSync(new URL('../judge/pairs.schema.json', import.meta.url), 'utf8'));
const isValid = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);

const words = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Texts may omit the header, which follows from the target. */
const whole = (text: string, target: string): string =>
  text.includes('.version ') ? text : `.version 9.0\n.target ${target}\n.address_size 64\n${text}`;

/** Applies edits, each of which must match exactly once; white space in the replaced text matches any. */
function edited(text: string, pair: Written): string {
  let out = text;
  for (const { replace, by } of pair.edits ?? []) {
    const pattern = replace
      .trim()
      .split(/\s+/)
      .map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('\\s+');
    const found = [...out.matchAll(new RegExp(pattern, 'g'))];
    if (found.length !== 1)
      throw new Error(`${pair.id}: '${replace}' occurs ${found.length} times, not once`);
    out = out.slice(0, found[0].index) + by + out.slice(found[0].index + found[0][0].length);
  }
  return out;
}

/**
 * All pairs of a folder.
 *
 * @throws Error that names the file and the pair if one violates the schema, has an edit that does not match exactly once, has the name of
 * another pair, or changes nothing
 */
export function pairsIn(folder: string): Pair[] {
  const out = new Map<string, Pair>();
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.yaml')) continue;
    // Pairs may share a text by a YAML alias.
    const written: unknown = parse(readFileSync(join(folder, file), 'utf8'), { maxAliasCount: -1 });
    if (!isValid(written)) {
      const said = isValid.errors!.map((e) => {
        const id = (written as Partial<Written>[])[Number(e.instancePath.split('/')[1])]?.id;
        return `${id ?? '?'}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`;
      });
      throw new Error(`${file}:\n${said.join('\n')}`);
    }
    for (const w of written as Written[]) {
      const before = whole(w.ptx, w.target);
      const after = whole(w.after ?? edited(w.ptx, w), w.target);
      if (out.has(w.id)) throw new Error(`${file}: there are two pairs '${w.id}'`);
      if (words(before) === words(after)) throw new Error(`${file}: ${w.id} changes nothing`);
      out.set(w.id, {
        ...w,
        kind: w.kind ?? basename(file, '.yaml').replace(/^right-/, ''),
        before,
        after,
        shows: w.shows ?? '',
        launch: w.launch ?? null,
      });
    }
  }
  return [...out.values()];
}

const FLOATS = new Map<Value, number>([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
]);
const floatOf = (value: Value): number => FLOATS.get(value) ?? Number(value);

/** Values as little-endian bytes of a buffer of at least `length` elements. */
export function bytesOf(type: string, values: readonly Value[], length = values.length): Uint8Array {
  const size = ELEMENT_BYTES[type];
  if (size === undefined) throw new Error(`there is no type '${type}'`);
  const bytes = new Uint8Array(size * Math.max(length, values.length));
  const view = new DataView(bytes.buffer);
  values.forEach((value, k) => {
    if (type === 'f32') view.setFloat32(size * k, floatOf(value), true);
    else if (type === 'f64') view.setFloat64(size * k, floatOf(value), true);
    else {
      const bits = BigInt.asUintN(8 * size, BigInt(value));
      for (let i = 0; i < size; i++) view.setUint8(size * k + i, Number((bits >> BigInt(8 * i)) & 0xffn));
    }
  });
  return bytes;
}

const shape = (given: readonly number[] | undefined): readonly [number, number, number] => [
  given?.[0] ?? 1,
  given?.[1] ?? 1,
  given?.[2] ?? 1,
];

/** The simulator launch of a pair; it expects the results of one of the kernels. */
export function launchOfPair(launch: PairLaunch, kernel: string, side: Side): Launch {
  const params = launch.params.map((p): LaunchParam => {
    if (p.words !== undefined) return { kind: 'bytes', bytes: bytesOf('u32', p.words) };
    if (p.scalar !== undefined) {
      const type = p.scalar;
      const value = type.startsWith('f') ? floatOf(p.value!) : BigInt(p.value!);
      return { kind: 'scalar', type, value };
    }
    const type = p.buffer!;
    const bytes = bytesOf(type, p.data ?? [], Math.max(p.length ?? 0, p.before?.length ?? 0, 1));
    const length = bytes.length / ELEMENT_BYTES[type];
    const left = p[side] ?? (side === 'after' ? p.before : undefined);
    const expect = left === undefined ? null : bytes.slice();
    if (left !== undefined) expect!.set(bytesOf(type, left).subarray(0, bytes.length));
    return { kind: 'buffer', type, length, bytes, expect, tolerance: 0 };
  });
  return {
    name: kernel,
    kernel,
    grid: shape(launch.grid),
    block: shape(launch.block),
    ...(launch.cluster === undefined ? {} : { cluster: shape(launch.cluster) }),
    dynamicShared: launch['dynamic-shared'] ?? 0,
    params,
  };
}

/** A judge's verdict on a pair. */
export interface Verdict {
  readonly pair: Pair;
  readonly same: boolean;
  /** The first difference; '' if there is none. */
  readonly difference: string;
}

/** Results of a judge by kind of pair, and every pair that it got wrong. */
export function table(verdicts: readonly Verdict[]): string {
  const rows = [...new Set(verdicts.map((v) => v.pair.kind))].sort().map((kind) => {
    const of = verdicts.filter((v) => v.pair.kind === kind);
    const [wrong, right] = [true, false].map((w) => of.filter((v) => v.pair.wrong === w));
    const seen = wrong.filter((v) => !v.same).length;
    const passed = right.filter((v) => v.same).length;
    return `${kind.padEnd(14)} wrong: ${seen} of ${wrong.length} seen, right: ${passed} of ${right.length} passed`;
  });
  const misses = verdicts.filter((v) => v.pair.wrong && v.same);
  const alarms = verdicts.filter((v) => !v.pair.wrong && !v.same);
  return [
    ...rows,
    ...misses.map((v) => `missed (${v.pair.kind}) ${v.pair.id}: ${v.pair.shows}`),
    ...alarms.map((v) => `false alarm (${v.pair.kind}) ${v.pair.id}: ${v.difference}`),
  ].join('\n');
}
