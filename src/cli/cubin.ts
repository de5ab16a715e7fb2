/** Bytes of one instruction from Volta on. */
const INSTRUCTION = 16;
/** Low 12 bits of NOP and of BRA: what follows the last instruction of a function (seen in cubins of ptxas 13.0.88). */
const NOP = 0x918;
const BRA = 0x947;

/** Instructions of each function without the padding at its end: NOPs, and the branch to itself before them. */
export function instructionCounts(cubin: Uint8Array): Map<string, number> {
  const view = new DataView(cubin.buffer, cubin.byteOffset, cubin.byteLength);
  const out = new Map<string, number>();
  for (const [name, { offset, size }] of textSections(cubin)) {
    const opcode = (k: number): number => view.getUint16(offset + INSTRUCTION * k, true) & 0xfff;
    let n = Math.floor(size / INSTRUCTION);
    while (n > 0 && opcode(n - 1) === NOP) n--;
    if (n > 0 && opcode(n - 1) === BRA) n--;
    out.set(name, n);
  }
  return out;
}

/** Bytes of code of each function in a cubin, padding included. */
export const codeSizes = (cubin: Uint8Array): Map<string, number> =>
  new Map([...textSections(cubin)].map(([name, s]) => [name, s.size]));

/** Where a cubin (ELF64, little-endian) holds the code of each function: the sections `.text.NAME`. Empty for any other file. */
function textSections(cubin: Uint8Array): Map<string, { offset: number; size: number }> {
  const out = new Map<string, { offset: number; size: number }>();
  const view = new DataView(cubin.buffer, cubin.byteOffset, cubin.byteLength);
  if (cubin.length < 64 || view.getUint32(0) !== 0x7f454c46 || cubin[4] !== 2 || cubin[5] !== 1) return out;
  const headers = Number(view.getBigUint64(0x28, true));
  const each = view.getUint16(0x3a, true);
  const count = view.getUint16(0x3c, true);
  if (headers + each * count > cubin.length || count === 0) return out;
  const section = (k: number) => {
    const at = headers + k * each;
    return {
      name: view.getUint32(at, true),
      offset: Number(view.getBigUint64(at + 0x18, true)),
      size: Number(view.getBigUint64(at + 0x20, true)),
    };
  };
  const names = section(view.getUint16(0x3e, true));
  const text = new TextDecoder();
  for (let k = 0; k < count; k++) {
    const s = section(k);
    const from = names.offset + s.name;
    let to = from;
    while (to < cubin.length && cubin[to] !== 0) to++;
    const name = text.decode(cubin.subarray(from, to));
    if (name.startsWith('.text.')) out.set(name.slice('.text.'.length), { offset: s.offset, size: s.size });
  }
  return out;
}
