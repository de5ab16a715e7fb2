/** The lowest lane of a mask that is not 0. */
export const lowest = (m: number): number => 31 - Math.clz32(m & -m);
