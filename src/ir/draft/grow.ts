/** A copy with room for index `at`, half as large again. */
export function grown(a: Int32Array, at: number): Int32Array {
  const out = new Int32Array(Math.max(at + 1, Math.ceil(a.length * 1.5)) + 16);
  out.set(a);
  return out;
}
