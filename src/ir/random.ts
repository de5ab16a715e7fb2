/*
 * Seeded generators of pseudo-random 32-bit words (unsigned). What is drawn from them is recorded in tests and results, so each user
 * keeps its generator.
 */

/** The linear congruential generator of Numerical Recipes. Its low bits have short periods. */
export function congruential(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s;
  };
}

/** mulberry32 (Tommy Ettinger; public domain). */
export function mulberry32(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** xorshift32 (Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8, 2003). The seed must not be 0. */
export function xorshift32(seed: number): () => number {
  let s = seed;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return s >>> 0;
  };
}
