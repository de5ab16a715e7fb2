/**
 * An integer with commas between groups of three digits. Avoids `Intl`, whose locale data takes longer to load than a short command takes
 * to run.
 */
export const grouped = (n: number): string => String(n).replace(/\d(?=(\d{3})+$)/g, '$&,');

/** A count with its noun: `1 kernel`, `2 kernels`. */
export const counted = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
