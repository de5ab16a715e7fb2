import type { Isa } from '../opcode.ts';
import type { Program } from '../program.ts';
import { ByteReader, checksum } from './bytes.ts';
import { HEAD, MAGIC, PACK_VERSION, PackError } from './format.ts';
import { Unpacker } from './read.ts';
import { Packer } from './write.ts';

export { checksum } from './bytes.ts';
export { PACK_VERSION, PackError } from './format.ts';

/** Packs one snapshot; see `packPrograms`. */
export const packProgram = (program: Program, isa: Isa): Uint8Array => packPrograms([program], isa);

/**
 * Packs snapshots; every object that they share is stored once.
 * @param isa the instruction set that they use
 * @throws PackError for an instruction of another set
 */
export function packPrograms(programs: readonly Program[], isa: Isa): Uint8Array {
  // Snapshots of one run share most of their contents, so the largest one predicts the total size.
  let size = 0;
  for (const x of programs) size = Math.max(size, instructions(x));
  const p = new Packer(isa, size, programs.length > 1);
  for (const x of programs) p.program(x);
  return p.finish();
}

function instructions(p: Program): number {
  let n = 0;
  for (const f of p.functions) for (const b of f.blocks) n += b.ins.length;
  return n;
}

/**
 * The only snapshot of a pack.
 * @throws PackError as `unpackPrograms` does, and if there is not exactly one
 */
export function unpackProgram(bytes: Uint8Array, isa: Isa): Program {
  const all = unpackPrograms(bytes, isa);
  if (all.length !== 1) throw new PackError(`the pack holds ${all.length} snapshots, not one`);
  return all[0];
}

/**
 * The snapshots of a pack, in order.
 * @param isa the instruction set that they were packed with; the result uses its opcodes
 * @throws PackError for bytes that are not a pack, that are damaged, or that have another version or instruction set
 */
export function unpackPrograms(bytes: Uint8Array, isa: Isa): Program[] {
  if (bytes.length < 4 || MAGIC.some((b, i) => bytes[i] !== b))
    throw new PackError('these bytes are not a packed snapshot');
  if (bytes[3] !== PACK_VERSION)
    throw new PackError(
      `this snapshot was packed in format ${bytes[3]}, this version of orrery reads format ${PACK_VERSION}: pack it again`,
    );
  const body = bytes.subarray(HEAD);
  if (bytes.length < HEAD || new DataView(bytes.buffer, bytes.byteOffset).getUint32(4) !== checksum(body))
    throw new PackError('this packed snapshot was damaged: its checksum is wrong');
  return new Unpacker(new ByteReader(body), isa).programs();
}
