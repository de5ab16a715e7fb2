import { hex } from '../../cubin/bytes.ts';
import { membersOf } from '../../cubin/containers.ts';
import { ptxLines } from '../../cubin/source-lines.ts';
import { firstLines } from '../../ir/listed.ts';
import type { Machine } from '../../machine/forms.ts';
import { hasLines, type ListedFunction, listCode } from '../../machine/listing.ts';
import { wordText } from '../../machine/word.ts';
import { loadMachine, targetsOfMachines } from '../../spec/node-machine.ts';
import { failWith, out } from '../terminal/ui.ts';
import { bytesOf, type Chosen, chosenOf, parsed } from './cubin-file.ts';
import { codeJson, codeText, type Spelling, sectionsJson, sectionsText } from './disasm-text.ts';

export interface DisasmOptions {
  readonly sections?: boolean;
  readonly lines?: boolean;
  readonly hazards?: boolean;
  readonly profile?: string;
  readonly vendor?: boolean;
  readonly function?: string;
  readonly sm?: string;
  readonly json?: boolean;
}

/** `orrery disasm`: prints machine code. */
export async function disasm(file: string, o: DisasmOptions): Promise<void> {
  if (o.sections === true && o.lines === true)
    failWith('--sections shows no code, so --lines has nothing to say', 'take one of the two');
  const other = (['sections', 'lines', 'vendor', 'profile'] as const).find((k) => o[k] !== undefined);
  if (o.hazards === true && other !== undefined)
    failWith(`--hazards shows no code, so --${other} has nothing to say`, 'take one of the two');
  const all = parsed(file, '', () => membersOf(bytesOf(file)));
  const cubins = chosenOf(file, all, o.sm);
  if (o.hazards === true) {
    if (o.function !== undefined) mustName(file, o.function, cubins);
    return (await import('./hazards.ts')).hazards(file, cubins, o);
  }
  if (o.lines === true && !cubins.some((c) => parsed(file, c.member.where, () => hasLines(c.elf))))
    failWith(
      `${file} has no tables of lines`,
      'nvcc and ptxas write them with -lineinfo (ptxas takes those of the source from PTX that was made with it)',
    );
  if (o.profile !== undefined && o.sections === true)
    failWith('--sections shows no code, so --profile has nothing to say', 'take one of the two');
  if (o.profile !== undefined && cubins.length > 1)
    failWith(`${file} holds ${cubins.length} cubins, and a launch runs one of them`, '--sm chooses');
  const executions =
    o.profile === undefined
      ? null
      : await (await import('./executions.ts')).executionsIn(file, cubins[0], o.profile);
  const isShown = (f: ListedFunction): boolean =>
    (o.function === undefined || f.fn.name === o.function) &&
    (executions === null || o.function !== undefined || executions.has(f.fn.name));
  const listed =
    o.sections === true ? null : await Promise.all(cubins.map((c) => listedOf(file, c, isShown)));
  if (o.function !== undefined) mustName(file, o.function, cubins);
  if (o.json === true) {
    const member = (c: Chosen, k: number): object => ({
      where: c.member.where,
      target: c.target,
      ...(listed === null
        ? sectionsJson(c.elf, c.bytes)
        : {
            functions: codeJson(
              c.elf,
              listed[k].functions,
              spellingOf(listed[k].machine, o),
              o.lines === true,
              executions,
            ),
          }),
    });
    const others = all
      .filter((m) => m.kind !== 'cubin')
      .map((m) => ({ where: m.where, kind: m.kind, target: m.target, bytes: m.size }));
    out(
      parsed(file, '', () =>
        JSON.stringify({ version: 1, file, members: cubins.map(member), others }, null, 2),
      ),
    );
  } else
    cubins.forEach((c, k) => {
      const place = c.member.where === '' ? '' : ` ${c.member.where}`;
      out(`${k > 0 ? '\n' : ''}${file}${place}: cubin for ${c.target}`);
      const text = (): string => {
        if (listed === null) return sectionsText(c.elf, c.bytes);
        const ptx = o.lines === true ? ptxLines(c.elf) : null;
        return codeText(listed[k].functions, spellingOf(listed[k].machine, o), ptx, executions);
      };
      out(parsed(file, c.member.where, text));
    });
  refuseUnknown(file, cubins, listed ?? []);
}

const spellingOf = (machine: Machine, o: DisasmOptions): Spelling => ({ machine, vendor: o.vendor === true });

interface ListedCubin {
  readonly machine: Machine;
  readonly functions: readonly ListedFunction[];
}

async function listedOf(
  file: string,
  c: Chosen,
  isShown: (f: ListedFunction) => boolean,
): Promise<ListedCubin> {
  const machine = await loadMachine(c.target);
  if (machine === null)
    failWith(
      `the machine code of ${c.target} is not known`,
      `known are ${(await targetsOfMachines()).join(', ')}`,
      '--sections shows what the file holds without reading its code',
    );
  const functions = parsed(file, c.member.where, () => listCode(c.elf, machine));
  return { machine, functions: functions.filter(isShown) };
}

function mustName(file: string, name: string, cubins: readonly Chosen[]): void {
  const names = new Set(
    cubins.flatMap((c) =>
      c.elf.sections.flatMap((s) => (s.content.kind === 'code' ? [s.name.slice('.text.'.length)] : [])),
    ),
  );
  if (!names.has(name)) failWith(`${file} has no function '${name}'`, `it has ${[...names].join(', ')}`);
}

/** Maximum number of undecodable words that are listed. */
const MOST_NAMED = 20;

/** Ends the command with an error if a word cannot be decoded: unknown words are never skipped silently. */
function refuseUnknown(file: string, cubins: readonly Chosen[], listed: readonly ListedCubin[]): void {
  const unknown = listed.flatMap(({ functions }, k) =>
    functions.flatMap(({ fn, code }) =>
      code
        .filter((i) => i.instruction === null)
        .map((i) => `${cubins[k].target} ${fn.name} ${hex(i.address)}: ${wordText(i.word)}: ${i.why}`),
    ),
  );
  if (unknown.length === 0) return;
  failWith(
    `${file}: ${unknown.length} instruction word${unknown.length > 1 ? 's are' : ' is'} not known`,
    ...firstLines(unknown, MOST_NAMED),
  );
}
