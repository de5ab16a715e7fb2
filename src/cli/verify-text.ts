import { writeFileSync } from 'node:fs';
import { basename, dirname, relative } from 'node:path';
import { Document, isCollection, isSeq } from 'yaml';
import type { FaultSite } from '../known-faults.ts';
import { keepInputs, writeWhole } from './files.ts';
import { ptxasVersion } from './ptxas-run.ts';
import { out, pc } from './ui.ts';
import type { Finding, StoredText } from './verify-finding.ts';

/** Writes the launch of the first difference that has one. @returns its file */
export function writeLaunch(path: string, ptx: string, found: readonly Finding[]): string | null {
  const f = found.find((x) => x.launch !== undefined);
  if (f?.launch === undefined) return null;
  const { launch, expect } = f.launch;
  const stem = path.replace(/\.ya?ml$/, '');
  const file = `${stem}.yaml`;
  const data = new Map<string, Uint8Array>();
  const name = (k: number, what: string): string => `${basename(stem)}.${k}${what}.bin`;
  const params = launch.params.map((p, k) => {
    if (p.kind === 'scalar')
      return { scalar: p.type, value: typeof p.value === 'bigint' ? Number(p.value) : p.value };
    data.set(name(k, ''), p.bytes);
    if (p.kind === 'bytes') return { bytes: p.bytes.length, data: name(k, '') };
    const e = expect[k];
    const changed = e?.some((x, i) => x !== p.bytes[i]) === true;
    if (e !== null && changed) data.set(name(k, '.out'), e);
    return {
      buffer: p.type,
      length: p.length,
      data: name(k, ''),
      ...(changed && { expect: name(k, '.out') }),
    };
  });
  const folder = path.slice(0, path.length - basename(path).length);
  keepInputs([ptx], [file, ...[...data.keys()].map((n) => `${folder}${n}`)]);
  for (const [n, bytes] of data) writeFileSync(`${folder}${n}`, bytes);
  writeWhole(
    file,
    inRows({
      kind: 'launch',
      module: relative(dirname(file), ptx),
      kernel: launch.kernel,
      grid: launch.grid,
      block: launch.block,
      'dynamic-shared': launch.dynamicShared,
      params,
    }),
  );
  return file;
}

/** YAML with the shape of the launch and each of its parameters in a line. */
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

/** What was found, for people. */
export function report(
  file: string,
  target: string,
  found: readonly Finding[],
  known: readonly FaultSite[],
  launch: string | null,
  reduced: string | null,
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
      for (const line of [...differenceText(file, f), ...faultText(file, f, known)]) out(`    ${line}`);
    }
  }
  if (reduced !== null) out(`written: ${reduced}, the lines that ptxas still gets wrong`);
  if (launch !== null) out(`written: ${launch}, a launch that shows it: orrery run ${launch} --cubin FILE`);
}

/** Known faults of ptxas whose shapes the kernel has, and what to do about each. */
function faultText(file: string, f: Finding, known: readonly FaultSite[]): string[] {
  const own = known.filter((k) => k.fn === f.kernel);
  const lines = [...new Set(own.map((k) => k.fault))].flatMap(({ name, title, instead }) => {
    const at = own.find((k) => k.fault.name === name)!.line;
    return [`a known fault of ptxas (${name}): ${title}, ${file}:${at}`, `  instead: ${instead.trim()}`];
  });
  return lines.length === 0
    ? []
    : [...lines, '  or have `orrery opt --emit ptx` write PTX without the shape'];
}

function differenceText(file: string, f: Finding): string[] {
  const lines = [f.why ?? ''];
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
