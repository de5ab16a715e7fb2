import type { FnRow } from '../recording.ts';

/** Number of elements of a buffer of unknown size. */
const ELEMENTS = 256;

/** A template of a launch for a kernel, made from its parameters: pointers get buffers, everything else a small number. */
export function launchFor(module: string, fn: FnRow): string {
  const params = fn.head.flatMap((line) => {
    const m = /^ {2}\.param (\w+) (\S+) size (\d+) align \d+ at \d+(.*)$/.exec(line);
    if (m === null) return [];
    const [, type, name, size, rest] = m;
    return [`  - ${paramFor(type, Number(size), rest)} # ${name}`];
  });
  return `kind: launch
module: ${module.replace(/^.*[\\/]/, '')}
kernel: ${fn.name}
grid: [1, 1, 1]
block: [32, 1, 1]
params:${params.length === 0 ? ' []' : `\n${params.join('\n')}`}
`;
}

function paramFor(type: string, size: number, rest: string): string {
  if (/\barray\b/.test(rest)) return `{ bytes: ${size} }`;
  // A 64-bit integer is usually a pointer.
  if (/^[ub]64$/.test(type)) return `{ buffer: u32, length: ${ELEMENTS} }`;
  return `{ scalar: ${type}, value: 1 }`;
}
