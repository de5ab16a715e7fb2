import { hex } from '../../cubin/bytes.ts';
import { membersOf } from '../../cubin/containers.ts';
import { ptxLines } from '../../cubin/source-lines.ts';
import type { Machine } from '../../machine/forms.ts';
import { type FunctionWords, functionWords, hasLines, type Listed } from '../../machine/listing.ts';
import { wordText } from '../../machine/word.ts';
import { loadMachine, targetsOfMachines } from '../../spec/node-machine.ts';
import { failWith, out } from '../terminal/ui.ts';
import { bytesOf, type Chosen, chosenOf, failTooLong, parsed } from './cubin-file.ts';
import { codeJson, codeLines, type Spelling, sectionsJson, sectionsText } from './disasm-text.ts';
import { jsonLines, listLines, Parts } from './json-lines.ts';

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
  const isShown = (f: FunctionWords): boolean =>
    (o.function === undefined || f.fn.name === o.function) &&
    (executions === null || o.function !== undefined || executions.has(f.fn.name));
  if (o.function !== undefined) mustName(file, o.function, cubins);
  const unknown = new UnknownWords();
  const shown: Shown[] = [];
  for (const c of cubins) shown.push({ c, machine: o.sections === true ? null : await machineOf(c.target) });
  const functionsIn = ({ c, machine }: Shown): FunctionWords[] =>
    parsed(file, c.member.where, () => functionWords(c.elf, machine!))
      .filter(isShown)
      .map((f) => unknown.seenIn(c.target, f));
  if (o.json === true) {
    const parts = new Parts();
    const memberLines = (s: Shown): Iterable<string> => {
      const head = { where: s.c.member.where, target: s.c.target };
      if (s.machine === null)
        return jsonLines({ ...head, ...parsed(file, head.where, () => sectionsJson(s.c.elf, s.c.bytes)) });
      const spelling = spellingOf(s.machine, o);
      const functions = codeJson(s.c.elf, functionsIn(s), spelling, o.lines === true, executions);
      return listLines(head, 'functions', functions, (lines) => lines);
    };
    const others = all
      .filter((m) => m.kind !== 'cubin')
      .map((m) => ({ where: m.where, kind: m.kind, target: m.target, bytes: m.size }));
    parsed(file, '', () => {
      const lines = listLines({ version: 1, file }, 'members', shown, memberLines, { others });
      parts.add(withinLimit(file, lines));
    });
    parts.print(out);
  }
  // One cubin after another: the code of all that a file may hold takes many times the memory of one.
  else
    for (const [k, s] of shown.entries()) {
      const { c, machine } = s;
      const place = c.member.where === '' ? '' : ` ${c.member.where}`;
      out(`${k > 0 ? '\n' : ''}${file}${place}: cubin for ${c.target}`);
      const parts = new Parts();
      parsed(file, c.member.where, () => {
        if (machine === null) return parts.add([sectionsText(c.elf, c.bytes)]);
        const ptx = o.lines === true ? ptxLines(c.elf) : null;
        parts.add(codeLines(functionsIn(s), spellingOf(machine, o), ptx, executions));
      });
      parts.print(out);
    }
  unknown.refuse(file);
}

/** A cubin with the forms of its machine code; null if only its sections are shown. */
interface Shown {
  readonly c: Chosen;
  readonly machine: Machine | null;
}

/** Maximum number of characters of a JSON document. */
const MOST_CHARACTERS = 2 ** 29;

/** Passes lines through until their total length exceeds the limit, which ends the command. */
function* withinLimit(file: string, lines: Iterable<string>): Generator<string> {
  let left = MOST_CHARACTERS;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) failTooLong(file);
    yield line;
  }
}

const spellingOf = (machine: Machine, o: DisasmOptions): Spelling => ({ machine, vendor: o.vendor === true });

/** The forms of the machine code of a target; if they are not known, the command ends. */
async function machineOf(target: string): Promise<Machine> {
  const machine = await loadMachine(target);
  if (machine === null)
    failWith(
      `the machine code of ${target} is not known`,
      `known are ${(await targetsOfMachines()).join(', ')}`,
      '--sections shows what the file holds without reading its code',
    );
  return machine;
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

  /** A function whose unknown words are counted while its code is read, which happens once. */
  seenIn(target: string, { fn, code }: FunctionWords): FunctionWords {
    const seen = (i: Listed): void => {
      if (i.instruction === null && ++this.count <= MOST_NAMED)
        this.named.push(`${target} ${fn.name} ${hex(i.address)}: ${wordText(i.word)}: ${i.why}`);
    };
    function* words(): Generator<Listed> {
      for (const i of code) {
        seen(i);
        yield i;
      }
    }
    return { fn, code: words() };
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
