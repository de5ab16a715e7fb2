/** Integer helpers of generated lane code: 64-bit values are two int32 words, results' high words go to `high`. */
export let high = 0;

/** High word of the unsigned 32 x 32 product. */
export function umulh(a: number, b: number): number {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const mid = ah * bl + ((al * bl) >>> 16);
  const low = (mid & 0xffff) + al * bh;
  return (ah * bh + Math.floor(mid / 65536) + Math.floor(low / 65536)) | 0;
}
/** High word of the signed product. */
export const smulh = (a: number, b: number): number => (umulh(a, b) - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;

const big = (lo: number, hi: number, signed: boolean): bigint =>
  (BigInt(signed ? hi : hi >>> 0) << 32n) | BigInt(lo >>> 0);
function give(v: bigint): number {
  high = Number(BigInt.asIntN(32, v >> 32n));
  return Number(BigInt.asIntN(32, v));
}
export const mulhi64 = (al: number, ah: number, bl: number, bh: number, signed: boolean): number =>
  give((big(al, ah, signed) * big(bl, bh, signed)) >> 64n);

/** 64-bit division; by zero: quotient all ones, remainder the dividend. */
export function div64(al: number, ah: number, bl: number, bh: number, op: string): number {
  const signed = op[0] === 's';
  const a = big(al, ah, signed);
  const b = big(bl, bh, signed);
  if (b === 0n) return give(op.endsWith('div') ? -1n : a);
  return give(op.endsWith('div') ? a / b : a % b);
}
export const udiv = (a: number, b: number): number => (b === 0 ? -1 : Math.floor((a >>> 0) / (b >>> 0)) | 0);
export const sdiv = (a: number, b: number): number => (b === 0 ? -1 : (a / b) | 0);
export const urem = (a: number, b: number): number => (b === 0 ? a : ((a >>> 0) % (b >>> 0)) | 0);
export const srem = (a: number, b: number): number => (b === 0 ? a : (a % b) | 0);

export function popc(x: number): number {
  let v = x - ((x >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
export const popc64 = (lo: number, hi: number): number => popc(lo) + popc(hi);
export const clz64 = (lo: number, hi: number): number => (hi !== 0 ? Math.clz32(hi) : 32 + Math.clz32(lo));
export function brev(x: number): number {
  let v = ((x >>> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  v = ((v >>> 2) & 0x33333333) | ((v & 0x33333333) << 2);
  v = ((v >>> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
  v = ((v >>> 8) & 0x00ff00ff) | ((v & 0x00ff00ff) << 8);
  return (v >>> 16) | (v << 16);
}

/** Selector nibbles of the fixed modes by the low two selector bits (PTX ISA 9.0, 9.7.8 prmt), high byte first. */
const MODES: Readonly<Record<string, readonly number[]>> = {
  F4E: [0x3210, 0x4321, 0x5432, 0x6543],
  B4E: [0x5670, 0x6701, 0x7012, 0x0123],
  RC8: [0x0000, 0x1111, 0x2222, 0x3333],
  ECL: [0x3210, 0x3211, 0x3222, 0x3333],
  ECR: [0x0000, 0x1110, 0x2210, 0x3210],
  RC16: [0x1010, 0x3232, 0x1010, 0x3232],
};

export function prmt(a: number, b: number, sel: number, mode: string): number {
  const s = mode === 'IDX' ? sel : MODES[mode][sel & 3];
  let r = 0;
  for (let k = 0; k < 4; k++) {
    const n = (s >>> (4 * k)) & 15;
    const w = (n & 4) !== 0 ? b : a;
    let byte = (w >>> (8 * (n & 3))) & 0xff;
    if (mode === 'IDX' && (n & 8) !== 0) byte = (byte & 0x80) !== 0 ? 0xff : 0;
    r |= byte << (8 * k);
  }
  return r;
}
