import { hex } from '../../cubin/bytes.ts';
import { membersOf } from '../../cubin/containers.ts';
import { ptxLines } from '../../cubin/source-lines.ts';
import type { Machine } from '../../machine/forms.ts';
import { hasLines, type ListedFunction, listCode } from '../../machine/listing.ts';
import { wordText } from '../../machine/word.ts';
import { loadMachine, targetsOfMachines } from '../../spec/node-machine.ts';
import { failWith, out } from '../terminal/ui.ts';
import { bytesOf, type Chosen, chosenOf, failTooLong, parsed } from './cubin-file.ts';
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
  if (o.function !== undefined) mustName(file, o.function, cubins);
  const unknown = new UnknownWords();
  // One cubin after another: the code of all that a file may hold, in parts, takes many times the memory of one.
  const shownOf = async (c: Chosen): Promise<ListedCubin> => {
    const listed = await listedOf(file, c, isShown);
    unknown.add(c, listed);
    return listed;
  };
  if (o.json === true) {
    const members: string[] = [];
    let length = 0;
    for (const c of cubins) {
      const listed = o.sections === true ? null : await shownOf(c);
      const text = parsed(file, c.member.where, () => {
        const json = JSON.stringify(
          {
            where: c.member.where,
            target: c.target,
            ...(listed === null
              ? sectionsJson(c.elf, c.bytes)
              : {
                  functions: codeJson(
                    c.elf,
                    listed.functions,
                    spellingOf(listed.machine, o),
                    o.lines === true,
                    executions,
                  ),
                }),
          },
          null,
          2,
        );
        return json.replaceAll('\n', '\n    ');
      });
      length += text.length;
      if (length > MOST_CHARACTERS) failTooLong(file);
      members.push(text);
    }
    const others = all
      .filter((m) => m.kind !== 'cubin')
      .map((m) => ({ where: m.where, kind: m.kind, target: m.target, bytes: m.size }));
    out(parsed(file, '', () => documentOf({ version: 1, file }, members, { others })));
  } else
    for (const [k, c] of cubins.entries()) {
      const place = c.member.where === '' ? '' : ` ${c.member.where}`;
      out(`${k > 0 ? '\n' : ''}${file}${place}: cubin for ${c.target}`);
      const listed = o.sections === true ? null : await shownOf(c);
      const text = (): string => {
        if (listed === null) return sectionsText(c.elf, c.bytes);
        const ptx = o.lines === true ? ptxLines(c.elf) : null;
        return codeText(listed.functions, spellingOf(listed.machine, o), ptx, executions);
      };
      out(parsed(file, c.member.where, text));
    }
  unknown.refuse(file);
}

/** Maximum number of characters of the members in a JSON document, of which V8 makes one string. */
const MOST_CHARACTERS = 2 ** 29 - 2 ** 20;

/** A JSON document with two spaces of indentation, as `JSON.stringify` writes it, of which the members are written and indented already. */
function documentOf(head: object, members: readonly string[], rest: object): string {
  const list = members.map((m) => `\n    ${m}`).join(',');
  const part = (fields: object): string => JSON.stringify(fields, null, 2).slice(2, -2);
  return `{\n${part(head)},\n  "members": [${list}\n  ],\n${part(rest)}\n}`;
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

/** Words that cannot be decoded: they are never skipped silently. */
class UnknownWords {
  private count = 0;
  private readonly named: string[] = [];

  add({ target }: Chosen, { functions }: ListedCubin): void {
    for (const { fn, code } of functions)
      for (const i of code)
        if (i.instruction === null && ++this.count <= MOST_NAMED)
          this.named.push(`${target} ${fn.name} ${hex(i.address)}: ${wordText(i.word)}: ${i.why}`);
  }

  /** Ends the command with an error if there are any. */
  refuse(file: string): void {
    if (this.count === 0) return;
    failWith(
      `${file}: ${this.count} instruction word${this.count > 1 ? 's are' : ' is'} not known`,
      ...this.named,
      ...(this.count > MOST_NAMED ? [`and ${this.count - MOST_NAMED} more`] : []),
    );
  }
}
