/**
 * 64-bit FNV-1a over UTF-16 code units, as 16 hexadecimal digits: two 32-bit lanes with different offsets. For cache
 * keys inside one trust domain, not against adversaries.
 */
export function hashText(text: string, seed = ''): string {
  let a = 0x811c9dc5;
  let b = 0xc9dc5118;
  for (let pass = 0; pass < 2; pass++) {
    const s = pass === 0 ? seed : text;
    for (let i = 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      a = Math.imul(a ^ (c & 0xff), 0x01000193);
      a = Math.imul(a ^ (c >>> 8), 0x01000193);
      b = Math.imul(b ^ c, 0x01000193) ^ (b >>> 15);
    }
  }
  return (a >>> 0).toString(16).padStart(8, '0') + (b >>> 0).toString(16).padStart(8, '0');
}
