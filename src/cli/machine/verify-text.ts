import { basename, dirname, relative } from 'node:path';
import { Document, isCollection, isSeq } from 'yaml';
import type { FaultSite } from '../../known-faults.ts';
import { PTXAS_LEVEL } from '../../spec/ptxas-faults.ts';
import { keepInputs, writeTogether } from '../input/files.ts';
import { ptxasVersion } from '../optimize/ptxas-run.ts';
import { out, pc } from '../terminal/ui.ts';
import type { Finding, StoredText } from './verify-finding.ts';

/**
 * Writes the launch of the first difference that has one.
 *
 * @returns its path
 */
export function writeLaunch(path: string, ptx: string, found: readonly Partial<Finding>[]): string | null {
  const f = found.find((x) => x.launch !== undefined);
  if (f?.launch === undefined) return null;
  const { launch, expect } = f.launch;
  const stem = path.replace(/\.ya?ml$/, '');
  const file = `${stem}.yaml`;
  const data = new Map<string, Uint8Array>();
  const name = (k: number, what: string): string => `${basename(stem)}.${k}${what}.bin`;
  const params = launch.params.map((p, k) => {
    if (p.kind === 'scalar') return { scalar: p.type, value: scalarText(p.value) };
    data.set(name(k, ''), p.bytes);
    if (p.kind === 'bytes') return { bytes: p.bytes.length, data: name(k, '') };
    const e = expect[k];
    const changed = e?.some((x, i) => x !== p.bytes[i]) === true;
    if (e != null && changed) data.set(name(k, '.out'), e);
    // Bytes that the PTX leaves unchanged must stay unchanged: wrong code may store there.
    const expected = e == null ? {} : { expect: name(k, changed ? '.out' : '') };
    return { buffer: p.type, length: p.length, data: name(k, ''), ...expected };
  });
  const folder = path.slice(0, path.length - basename(path).length);
  keepInputs([file, ...[...data.keys()].map((n) => `${folder}${n}`)], [ptx]);
  const text = inRows({
    kind: 'launch',
    module: relative(dirname(file), ptx),
    kernel: launch.kernel,
    grid: launch.grid,
    block: launch.block,
    'dynamic-shared': launch.dynamicShared,
    params,
  });
  writeTogether([...[...data].map(([n, bytes]) => [`${folder}${n}`, bytes] as const), [file, text]]);
  return file;
}

/** A number as written in a launch file: as text if it is beyond the numbers of YAML. */
function scalarText(value: number | bigint): number | string {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Object.is(value, -0)) return '-0';
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
}

/** YAML with the shape of the launch and each of its parameters on one line. */
function inRows(data: Readonly<Record<string, unknown>>): string {
  const doc = new Document(data);
  const flow = (node: unknown): void => {
    if (isCollection(node)) node.flow = true;
  };
  for (const key of ['grid', 'block']) flow(doc.get(key, true));
  const params = doc.get('params', true);
  if (isSeq(params)) params.items.forEach(flow);
  return doc.toString();
}

/** The findings as text. */
export function report(
  file: string,
  target: string,
  found: readonly Finding[],
  known: (f: Finding) => readonly FaultSite[],
  written: readonly string[],
): void {
  const version = ptxasVersion();
  for (const code of new Set(found.map((f) => f.code))) {
    const own = found.filter((f) => f.code === code);
    const by = code.startsWith('ptxas ') && version !== null ? ` (ptxas ${version.split(' ')[0]})` : '';
    out(`${file} and ${code}${by}, ${target}`);
    for (const f of own) {
      const word = {
        equal: pc.green('equal'),
        different: pc.red('DIFFERENT'),
        'not compared': pc.yellow('not compared'),
      }[f.verdict];
      const notes = f.notes.length > 0 && f.verdict === 'equal' ? ` (${f.notes.join('; ')})` : '';
      out(`  ${word}  ${f.kernel}${f.verdict === 'not compared' ? `: ${f.why}` : notes}`);
      if (f.verdict !== 'different') continue;
      for (const line of [...differenceText(file, f), ...faultText(file, f, known(f))]) out(`    ${line}`);
    }
  }
  for (const line of written) out(line);
}

/** Known faults of ptxas whose shapes the kernel has, with the remedy for each. */
function faultText(file: string, f: Finding, known: readonly FaultSite[]): string[] {
  const what =
    f.level === null
      ? `perhaps a known fault of ptxas, if it made the code at -O${PTXAS_LEVEL}`
      : 'a known fault of ptxas';
  const lines = [...new Set(known.map((k) => k.fault))].flatMap(({ name, title, instead }) => {
    const at = known.find((k) => k.fault.name === name)!.line;
    return [`${what} (${name}): ${title}, ${file}:${at}`, `  instead: ${instead.trim()}`];
  });
  return lines.length === 0
    ? []
    : [...lines, '  or have `orrery opt --emit ptx` write PTX without the shape'];
}

function differenceText(file: string, f: Finding): string[] {
  const lines = [f.difference === 'timing' ? `it computes the same, but ${f.why}` : (f.why ?? '')];
  const at = (s: StoredText): string => `thread (${s.thread.join(', ')}) of block (${s.block.join(', ')})`;
  const { ptx, machine } = f.stores ?? { ptx: null, machine: null };
  if (ptx !== null) lines.push(`PTX: ${at(ptx)} stores ${ptx.value} at ${ptx.address}, ${file}:${ptx.line}`);
  else if (machine !== null) lines.push('PTX: no thread stores there');
  if (machine !== null) {
    lines.push(`machine code: ${at(machine)} stores ${machine.value} at ${machine.address}`);
    lines.push(`  ${machine.instruction}${machine.line > 0 ? `  (${file}:${machine.line})` : ''}`);
  } else if (ptx !== null) lines.push('machine code: no thread stores there');
  if (f.launch !== undefined) lines.push('confirmed by a launch with this memory: --launch FILE writes it');
  return lines;
}
