import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SelectionFile, SelectionRow } from '../codegen/rows.ts';
import { parseSelection, type Selection } from '../codegen/selection.ts';
import { parseTemplate, type Template } from '../codegen/template.ts';
import { didYouMean } from '../ir/diagnostic.ts';
import type { Opcode } from '../ir/opcode.ts';
import { TextError } from '../ir/text-error.ts';
import { buildIsa } from '../isa/build.ts';
import type { SpecFile } from './document.ts';
import type { SpecIssue } from './issues.ts';
import { loadSpec } from './node.ts';
import { ROOT, SELECTION_FOLDER } from './node-cache.ts';
import { loadMachine, targetsOfMachines } from './node-machine.ts';
import { isaDocs } from './plan-skeleton.ts';
import type { Specs } from './specs.ts';

/* Loads and checks the rows of instruction selection. Only code that writes machine code loads them. */

/** Full paths of the shipped files. */
export const selectionFiles = (): string[] =>
  readdirSync(join(ROOT, SELECTION_FOLDER))
    .filter((f) => f.endsWith('.yaml'))
    .sort()
    .map((f) => join(ROOT, SELECTION_FOLDER, f));

let loaded: Selection | null = null;

/** The rows of instruction selection; they are loaded once. @throws DiagnosticError where a file is invalid */
export async function loadSelection(): Promise<Selection> {
  loaded ??= parseSelection(
    (await Promise.all(selectionFiles().map((path) => loadSpec(path, 'selection')))).map(
      (f) => f.data as unknown as SelectionFile,
    ),
  );
  return loaded;
}

/** Values of conditions on operands. */
const OPERAND_TESTS: readonly string[] = ['0', 'all', 'imm', '_', '!neg'];

/** Faults of a file: names that the instruction set does not have, machine instructions that no target has, and text that is no row. */
export async function selectionFaults(file: SpecFile, specs: Specs): Promise<SpecIssue[]> {
  const { isa } = buildIsa(isaDocs(specs));
  const names = new Set<string>();
  for (const sm of await targetsOfMachines())
    for (const name of (await loadMachine(sm))!.byName.keys()) names.add(name);
  const issues: SpecIssue[] = [];
  const data = file.data as unknown as SelectionFile;
  for (const [k, name] of (data.commutes ?? []).entries())
    if (!names.has(name))
      issues.push({
        severity: 'error',
        code: 'selection',
        message: `no target has an instruction ${name}`,
        notes: [...didYouMean(name, names)],
        file,
        path: ['commutes', k],
      });
  for (const [op, rows] of Object.entries(data.rows)) {
    const opcode = isa.byName.get(op);
    const report = (
      path: readonly (string | number)[],
      message: string,
      notes: readonly string[] = [],
    ): void =>
      void issues.push({
        severity: 'error',
        code: 'selection',
        message: `${op}: ${message}`,
        notes: [...notes],
        file,
        path: ['rows', op, ...path],
      });
    if (opcode === undefined) {
      report([], `there is no opcode '${op}'`, didYouMean(op, isa.byName.keys()));
      continue;
    }
    rows.forEach((row, k) => {
      checkRow(opcode, row, names, (path, message, notes) => report([k, ...path], message, notes));
    });
  }
  return issues;
}

type Report = (path: readonly (string | number)[], message: string, notes?: readonly string[]) => void;

function checkRow(op: Opcode, row: SelectionRow, names: ReadonlySet<string>, report: Report): void {
  const operands = [...op.dsts, ...op.srcs].map((s) => s.name);
  const groups = op.groups.map((g) => g.name);
  for (const [key, text] of Object.entries(row.when ?? {})) {
    const group = op.groupByName.get(key);
    const known = group?.values.map((v) => (v.name === 'NONE' ? '' : v.name)) ?? OPERAND_TESTS;
    if (group === undefined && !operands.includes(key))
      report(
        ['when', key],
        `it has no modifier and no operand '${key}'`,
        didYouMean(key, [...groups, ...operands]),
      );
    else
      for (const v of text.split('|'))
        if (!known.includes(v)) report(['when', key], `'${key}' is never '${v}'`, didYouMean(v, known));
  }
  const lines = typeof row.emit === 'string' ? [row.emit] : row.emit;
  lines.forEach((line, i) => {
    const at = typeof row.emit === 'string' ? ['emit'] : ['emit', i];
    let t: Template;
    try {
      t = parseTemplate(line);
    } catch (e) {
      if (e instanceof TextError) return report(at, e.message);
      throw e;
    }
    const [{ text, isGroup }] = t.name;
    if (isGroup || !names.has(text))
      report(at, `no target has an instruction ${text}`, didYouMean(text, names));
    for (const part of t.name)
      if (part.isGroup && !groups.includes(part.text))
        report(at, `it has no modifier '${part.text}'`, didYouMean(part.text, groups));
    for (const { value } of t.values)
      if (value.kind === 'slot' && !operands.includes(value.name))
        report(at, `it has no operand '${value.name}'`, didYouMean(value.name, operands));
  });
}
