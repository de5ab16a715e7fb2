/** A hash table's key with one more part: multiplication by the golden ratio spreads the bits upwards, the shift brings them back. */
export const mix = (hash: number, part: number): number => {
  const x = Math.imul(hash ^ part, 0x9e3779b1);
  return x ^ (x >>> 15);
};
