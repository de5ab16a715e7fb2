/** `1,234`. */
export const grouped = (n: number): string => n.toLocaleString('en-US');

/** `0.12 ms`, `4.5 s`. */
export const duration = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(2)} ms` : ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;

/** `+3`, `−12`, `` for zero. */
export const signed = (n: number): string => (n === 0 ? '' : n > 0 ? `+${grouped(n)}` : `−${grouped(-n)}`);

export const plural = (n: number, word: string): string => `${grouped(n)} ${word}${n === 1 ? '' : 's'}`;

export const classes = (...names: readonly (string | false | undefined)[]): string =>
  names.filter((n) => typeof n === 'string' && n !== '').join(' ');
