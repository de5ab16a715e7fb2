const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/** Milliseconds of a time in an option: `500ms`, `90s`, `10min` or `10m`, `1h`; null if it is not one. */
export function millisecondsOf(text: string): number | null {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|min|m|h)$/.exec(text) ?? [];
  const ms = Number(number) * UNITS[unit];
  return ms > 0 ? ms : null;
}
