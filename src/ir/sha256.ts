/* SHA-256 (FIPS 180-4), for code that also runs in browsers, whose own function is asynchronous. */

/** The first 32 bits of the fractional parts of roots of the first primes (FIPS 180-4, 4.2.2 and 5.3.3). */
const fraction = (n: number): number => ((n - Math.floor(n)) * 2 ** 32) | 0;
const PRIMES = primes(64);
const START = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const ROUNDS = Int32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)));

function primes(count: number): number[] {
  const out: number[] = [];
  for (let n = 2; out.length < count; n++) if (out.every((p) => n % p !== 0)) out.push(n);
  return out;
}

const BLOCK = 64;
const rotated = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

/** SHA-256 of a text in UTF-8, as 64 hexadecimal digits. */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text);
  // A 1, zeros, and the length in bits as a number of 64 bits fill the last block.
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  const state = Int32Array.from(START);
  const words = new Int32Array(ROUNDS.length);
  for (let at = 0; at < padded.byteLength; at += BLOCK) {
    for (let k = 0; k < 16; k++) words[k] = padded.getInt32(at + 4 * k);
    addBlock(state, words);
  }
  return [...state].map((x) => (x >>> 0).toString(16).padStart(8, '0')).join('');
}

/**
 * Adds a block to the state (FIPS 180-4, 6.2.2). Each start hashes the text of a plan before V8 has optimized anything, where
 * destructuring arrays costs several times as much as plain assignments.
 *
 * @param words the first 16 hold it
 */
function addBlock(state: Int32Array, words: Int32Array): void {
  for (let k = 16; k < 64; k++) {
    const x = words[k - 15];
    const y = words[k - 2];
    const low = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const high = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    words[k] = words[k - 16] + low + words[k - 7] + high;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let k = 0; k < 64; k++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const t = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + ROUNDS[k] + words[k]) | 0;
    const sum = (t + (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t) | 0;
    d = c;
    c = b;
    b = a;
    a = sum;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}
