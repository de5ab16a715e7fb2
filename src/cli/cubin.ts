/** Bytes of code of each function in a cubin (ELF64, little-endian): the sections `.text.NAME`. Empty for any other file. */
export function codeSizes(cubin: Uint8Array): Map<string, number> {
  const out = new Map<string, number>();
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
    if (name.startsWith('.text.')) out.set(name.slice('.text.'.length), s.size);
  }
  return out;
}
