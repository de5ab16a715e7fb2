/** True for a map of plain data, as JSON and YAML have them: an object that is not a list. */
export const isMap = (v: unknown): v is Readonly<Record<string, unknown>> =>
  v !== null && typeof v === 'object' && !Array.isArray(v);
