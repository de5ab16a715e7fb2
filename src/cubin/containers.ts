import { BinaryError, hex } from './bytes.ts';
import { EM_CUDA } from './codes.ts';
import { contentOf, type FatEntry, isFatbin, MOST_MEMBERS, MOST_TOGETHER, readFatbins } from './fatbin.ts';
import { isElf, readRawElf } from './read.ts';

/*
 * The cubins in a file: itself, or those of fat binaries, which stand alone or in an object, a library or a program of the host.
 */

/** Sections of host files that hold fat binaries; the second where device code is linked apart (`-rdc=true`). */
const FATBIN_SECTIONS: ReadonlySet<string> = new Set(['.nv_fatbin', '__nv_relfatbin']);

/** A cubin, or PTX, in a file. */
export interface Member {
  readonly kind: FatEntry['kind'];
  /** Where it stands in the file: '' if it is all of it, or `.nv_fatbin at 0x748`. */
  readonly where: string;
  /** Number of the target that the container names; null for a cubin that stands alone. */
  readonly target: number | null;
  readonly packing: FatEntry['packing'];
  readonly size: number;
  /** Its bytes, unpacked. Throws a BinaryError where they are damaged. */
  content(): Uint8Array;
}

/**
 * What a file holds for a GPU, in its order.
 *
 * @throws BinaryError where it is neither a cubin nor a container of such, or is cut off or damaged
 */
export function membersOf(file: Uint8Array): Member[] {
  // Views into Node's buffers have a `slice` that does not copy.
  const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  if (isFatbin(bytes)) return withinLimits(readFatbins(bytes).map((e) => memberOf(e, '')));
  if (!isElf(bytes))
    throw new BinaryError('it is neither a cubin, nor a fat binary, nor an ELF object or program', 0);
  const { header, sections } = readRawElf(bytes);
  if (header.machine === EM_CUDA)
    return [
      { kind: 'cubin', where: '', target: null, packing: 'none', size: bytes.length, content: () => bytes },
    ];
  const holders = sections.filter((s) => FATBIN_SECTIONS.has(s.name));
  if (holders.length === 0)
    throw new BinaryError(
      `it is an ELF file of the host without device code: it has no section ${[...FATBIN_SECTIONS].join(' or ')}`,
      0,
    );
  const members: Member[] = [];
  for (const s of holders)
    for (const e of readFatbins(s.bytes, s.offset, MOST_MEMBERS - members.length))
      members.push(memberOf(e, s.name));
  return withinLimits(members);
}

/** Members that do not claim more bytes together than a machine should give for a file. @throws BinaryError */
function withinLimits(members: Member[]): Member[] {
  const sum = members.reduce((n, m) => n + m.size, 0);
  if (sum > MOST_TOGETHER)
    throw new BinaryError(
      `its members claim to have ${hex(sum)} bytes together, of which ${hex(MOST_TOGETHER)} are read`,
      0,
    );
  return members;
}

const memberOf = (e: FatEntry, section: string): Member => ({
  kind: e.kind,
  where: `${section === '' ? '' : `${section} `}at ${hex(e.at)}`,
  target: e.target,
  packing: e.packing,
  size: e.size,
  content: () => contentOf(e),
});
