import type { FnHistory, LineStep, PlacedInstr } from '../../debug/line-history.ts';
import { type Program, sourceOf } from '../../ir/program.ts';
import type { Check } from '../check/checks.ts';
import { lineText, remarkSummary } from '../optimize/report.ts';
import { failWith, pc } from '../terminal/ui.ts';

/**
 * The locations that `--why` names: `57`, a line of the input, or `kernel.cu:12`, a line that `.loc` directives name. A line without
 * instructions ends the command.
 *
 * @returns their indices in `Program.locs`
 */
export function locsOf(program: Program, asked: string): ReadonlySet<number> {
  const line = asked.replace(/^\.\//, '');
  const m = /^(?:(.+):)?(\d+)$/.exec(line);
  if (m === null)
    failWith(
      `--why ${line} names no line`,
      '`--why 57` is a line of the input, `--why kernel.cu:12` of its source',
    );
  const [, file, digits] = m;
  const number = Number(digits);
  const files = new Set(
    program.files.filter((f) => file === undefined || `/${f.name}`.endsWith(`/${file}`)).map((f) => f.index),
  );
  if (file !== undefined && files.size === 0)
    failWith(
      `no instruction comes from a file '${file}'`,
      program.files.length === 0
        ? 'the input names no source files (nvcc writes them with -lineinfo)'
        : `it names ${program.files.map((f) => f.name).join(', ')}`,
    );
  const used = new Set(program.functions.flatMap((f) => f.blocks.flatMap((b) => b.ins.map((i) => i.loc))));
  const lines = new Map<number, number[]>();
  for (const at of used) {
    const loc = program.locs[at];
    if (loc === undefined || (file !== undefined && !files.has(loc.file))) continue;
    const n = file === undefined ? loc.line : loc.srcLine;
    if (n > 0) lines.set(n, [...(lines.get(n) ?? []), at]);
  }
  const found = lines.get(number);
  if (found !== undefined) return new Set(found);
  const all = [...lines.keys()].sort((a, b) => a - b);
  const near = [all.filter((n) => n < number).at(-1), all.find((n) => n > number)].filter(
    (n) => n !== undefined,
  );
  return failWith(
    `no instruction comes from line ${line}`,
    near.length === 0
      ? `instructions name no lines${file === undefined ? '' : ' of that file'} here`
      : `the nearest that have some: ${near.map((n) => (file === undefined ? n : `${file}:${n}`)).join(', ')}`,
  );
}

/**
 * Title of a line, with its text if it is one of the input.
 *
 * @param ptx the PTX that was read; null if the input is Ori text, whose locations name lines of the original PTX
 */
export function titleOf(file: string, line: string, ptx: string | null): string {
  if (line.includes(':')) return `${file}, ${line}`;
  if (ptx === null) return `${file}, line ${Number(line)} of the PTX behind it`;
  return `${file}:${Number(line)}  ${ptx.split('\n')[Number(line) - 1]?.trim() ?? ''}`;
}

/**
 * Changes to the instructions of one line, phase by phase.
 *
 * @param program any state of the program: it has the locations
 */
export function whyText(title: string, program: Program, functions: readonly FnHistory[]): string {
  const out = [pc.bold(title)];
  for (const f of functions) {
    out.push('', pc.bold(f.fn), 'as read', ...f.first.map((i) => row(' ', i)));
    for (const s of f.steps) {
      out.push(
        heading(s),
        ...s.removed.map((i) => pc.red(row('-', i))),
        ...s.added.map((i) => pc.green(row('+', i))),
      );
      for (const m of s.remarks)
        if (m.kind !== 'passed') {
          const line = lineText(program, m.loc);
          out.push(`    ${m.kind}${line === '' ? '' : ` ${line}`}: ${m.name}: ${m.message}`);
        }
    }
    out.push(
      f.last.length === 0 ? 'at the end: nothing is left' : 'at the end',
      ...f.last.map((i) => row(' ', i)),
    );
  }
  return out.join('\n');
}

const row = (sign: string, i: PlacedInstr): string => `  ${sign} ${i.block.padEnd(6)} ${i.text}`;

function heading(s: LineStep): string {
  const [own, readers] = [false, true].map((atReader) =>
    s.rewrites
      .filter((r) => r.atReader === atReader)
      .map((r) => `${r.count} ${r.name}`)
      .join(', '),
  );
  const what = [own === '' ? remarkSummary(s) : own, readers === '' ? '' : `where it was read: ${readers}`];
  return [s.phase, pc.dim(what.filter((w) => w !== '').join('; '))].join('  ').trimEnd();
}

/** The same as JSON: `schemas/output/why.schema.json`. */
export const whyJson = (
  file: string,
  line: string,
  program: Program,
  functions: readonly FnHistory[],
  checks: readonly Check[],
) => ({
  version: 1,
  file,
  line,
  functions: functions.map((f) => ({
    ...f,
    steps: f.steps.map((s) => ({
      ...s,
      remarks: s.remarks.map(({ kind, name, message, loc }) => ({
        kind,
        name,
        message,
        line: program.locs[loc]?.line ?? 0,
        source: sourceOf(program, loc),
      })),
    })),
  })),
  checks,
});
