import { existsSync } from 'node:fs';
import { BinaryError } from '../cubin/bytes.ts';
import { type Member, membersOf } from '../cubin/containers.ts';
import { isFatbin } from '../cubin/fatbin.ts';
import { isElf } from '../cubin/read.ts';
import { firstLines } from '../ir/listed.ts';
import { decodeText, Unreadable } from '../spec/node-files.ts';

/*
 * Extracts PTX from other files: fat binaries, and object files, libraries and executables that contain them; and listings of
 * `cuobjdump -ptx`.
 */

/** A PTX module in a file. */
interface Contained {
  /** Target and location for messages: `for sm_90, at 0x50`, or `line 9`. */
  readonly where: string;
  /** @throws BinaryError if it is damaged, and Unreadable if it is not UTF-8 text */
  readonly text: () => string;
}

/** The text of a module, or why there is none. */
export type TextOrFault = string | { readonly fault: string; readonly notes: readonly string[] };

/** Splits a name into a file and the number of a module in it: `app.o#2` is the second module of `app.o`, unless a file has that name. */
export function namedModule(name: string): { readonly file: string; readonly nth: number | null } {
  const m = /^(.+)#([1-9]\d{0,5})$/.exec(name);
  return m === null || existsSync(name) || !existsSync(m[1])
    ? { file: name, nth: null }
    : { file: m[1], nth: Number(m[2]) };
}

/**
 * The PTX that a binary or a listing contains; null for any other file.
 *
 * @param nth number of the module, from 1; null: the only one
 */
export function containedText(file: string, bytes: Uint8Array, nth: number | null): TextOrFault | null {
  try {
    const found = isElf(bytes) || isFatbin(bytes) ? inBinary(bytes) : inListing(bytes);
    if (found === null) return null;
    if (found.length === 0) return { fault: `${file} holds machine code and no PTX`, notes: [NO_PTX] };
    if (nth === null && found.length === 1) return found[0].text();
    if (nth !== null && nth <= found.length) return found[nth - 1].text();
    const list = found.map(({ where }, i) => `${file}#${i + 1}: ${where}`);
    const modules = found.length === 1 ? 'one module' : `${found.length} modules`;
    return {
      fault: `${file} holds ${modules} of PTX${nth === null ? '' : `, and no number ${nth}`}`,
      notes: firstLines(list, MOST_LISTED),
    };
  } catch (e) {
    if (e instanceof Unreadable) return { fault: `${file}: ${e.message}`, notes: [] };
    if (!(e instanceof BinaryError)) throw e;
    return {
      fault: `${file} is not a text file, and holds no PTX that can be read: ${e.message}`,
      notes: [],
    };
  }
}

const NO_PTX =
  '`nvcc -gencode arch=compute_90,code=[sm_90,compute_90]` puts PTX beside it; `orrery disasm` prints machine code';

/** Maximum number of modules that a fault lists. */
const MOST_LISTED = 20;

function inBinary(bytes: Uint8Array): Contained[] {
  const is = (m: Member): boolean => m.kind === 'ptx';
  return membersOf(bytes)
    .filter(is)
    .map((m) => ({
      where: `${m.target === null ? '' : `for sm_${m.target}, `}${m.where}`,
      // The text is padded with zeros.
      text: () => {
        const content = m.content();
        const end = content.indexOf(0);
        return decodeText(Buffer.from(end < 0 ? content : content.subarray(0, end)));
      },
    }));
}

/** Heading that `cuobjdump` prints for a member of a fat binary. */
const HEADING = /^Fatbin (ptx|elf|lto ptx|nvvm-ir) code:\s*$/;
/** The first heading of a listing must be within this many bytes. */
const HEAD = 2000;

/** The modules of a listing; null if a text is not a listing. Empty lines before each keep its line numbers those of the listing. */
function inListing(bytes: Uint8Array): Contained[] | null {
  const head = Buffer.from(bytes.subarray(0, HEAD)).toString('latin1');
  if (
    !head.split(/\r?\n/).some((l) => HEADING.test(l)) ||
    /^[^\S\n\r]*\.version\s/m.test(head.split('Fatbin ')[0])
  )
    return null;
  const lines = decodeText(Buffer.from(bytes)).split('\n');
  const starts = lines.flatMap((l, i) => (HEADING.test(l) ? [i] : []));
  return starts.flatMap((from, k): Contained[] => {
    if (HEADING.exec(lines[from])![1] !== 'ptx') return [];
    const to = starts[k + 1] ?? lines.length;
    let first = from + 1;
    while (first < to && !/^\s*\.version\s/.test(lines[first])) first++;
    if (first === to) return [];
    return [
      {
        where: `line ${first + 1}`,
        text: () => '\n'.repeat(first) + lines.slice(first, to).join('\n'),
      },
    ];
  });
}
