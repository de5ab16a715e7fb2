import { BinaryError, hex } from './bytes.ts';
import { EM_CUDA } from './codes.ts';
import { contentOf, type FatEntry, isFatbin, MOST_MEMBERS, MOST_TOGETHER, readFatbins } from './fatbin.ts';
import { isElf, readRawElf } from './read.ts';

/*
 * Finds the cubins in a file: the file itself, or the members of fat binaries, which may be embedded in a host object, library or program.
 */

/** Sections of host files that contain fat binaries; the second for separately linked device code (`-rdc=true`). */
const FATBIN_SECTIONS: ReadonlySet<string> = new Set(['.nv_fatbin', '__nv_relfatbin']);

/** A cubin or PTX in a file. */
export interface Member {
  readonly kind: FatEntry['kind'];
  /** Position in the file: '' for the whole file, otherwise such as `.nv_fatbin at 0x748`. */
  readonly where: string;
  /** Target number in the container; null for a bare cubin. */
  readonly target: number | null;
  readonly packing: FatEntry['packing'];
  readonly size: number;
  /** Its unpacked bytes. @throws BinaryError if they are damaged */
  content(): Uint8Array;
}

/**
 * The device code in a file, in file order.
 *
 * @throws BinaryError if the file is neither a cubin nor a container of device code, or is truncated or damaged
 */
export function membersOf(file: Uint8Array): Member[] {
  // The `slice` of a Node Buffer does not copy, so views into one are re-wrapped.
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

/** Checks the total unpacked size that the members claim. @throws BinaryError if it exceeds `MOST_TOGETHER` */
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
