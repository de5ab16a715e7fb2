import type { PtxasUse } from '../../lab/measure.ts';
import type { PtxFunction, PtxStatement } from '../../ptx/ast.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { err } from '../terminal/ui.ts';
import { assemble } from './ptxas-run.ts';

/** Maximum number of loops that are tried: each takes a run of ptxas, of some 20 ms for a small module. */
const MOST_LOOPS = 32;

/** Pragma that forbids unrolling of a loop, at its header (PTX ISA 9.0, 11.4, Pragma Strings: "nounroll"). */
const NO_UNROLL = '.pragma "nounroll";';

interface Loop {
  readonly fn: string;
  readonly label: string;
  /** Offset in the text at which the pragma is inserted. */
  readonly at: number;
}

/**
 * The loops that ptxas unrolls, by function. Each is found by forbidding its unrolling: with the pragma `nounroll` at its header, the code
 * of ptxas is shorter. Loops that already have the pragma are not included. At most `most` loops are tried; a note reports the others.
 *
 * @param plain the result of ptxas for the unchanged text
 * @returns labels of headers, in their order
 */
export function unrolledLoops(
  text: string,
  plain: readonly PtxasUse[],
  options: readonly string[],
  most = MOST_LOOPS,
): ReadonlyMap<string, readonly string[]> {
  const { module } = parsePtx(text, '');
  const loops = module.items.flatMap((f) => (f.kind === 'function' ? loopsIn(f) : []));
  const found = new Map<string, string[]>();
  const shorter = (of: readonly Loop[]): ReadonlySet<string> => {
    if (of.length === 0) return new Set();
    const { functions } = assemble(withPragmas(text, of), options);
    const before = new Map(plain.map((f) => [f.name, f.instructions]));
    return new Set(functions.filter((f) => f.instructions < (before.get(f.name) ?? 0)).map((f) => f.name));
  };
  const unrolled = shorter(loops);
  const candidates = loops.filter((l) => unrolled.has(l.fn));
  if (candidates.length > most)
    err(
      `note: ptxas unrolls some of ${candidates.length} loops; only the first ${most} are tried one by one`,
    );
  for (const loop of candidates.slice(0, most))
    if (shorter([loop]).has(loop.fn)) {
      const labels = found.get(loop.fn);
      if (labels === undefined) found.set(loop.fn, [loop.label]);
      else labels.push(loop.label);
    }
  return found;
}

/** Labels that a later branch jumps back to, without those that have the pragma. */
function loopsIn(fn: PtxFunction): Loop[] {
  const open = new Map<string, { at: number; pragma: boolean }>();
  const loops = new Map<string, Loop>();
  let last: { at: number; pragma: boolean } | null = null;
  const visit = (list: readonly PtxStatement[]): void => {
    for (const s of list) {
      if (s.kind === 'scope') visit(s.body);
      else if (s.kind === 'pragma' && last !== null && s.text.includes('nounroll')) last.pragma = true;
      else if (s.kind === 'label') {
        last = { at: s.span.end, pragma: false };
        open.set(s.name, last);
        continue;
      } else if (s.kind === 'instr' && s.opcode === 'bra') {
        const target = s.operands[0];
        const name = target?.kind === 'sym' ? target.name : '';
        const header = open.get(name);
        if (header !== undefined && !header.pragma)
          loops.set(name, { fn: fn.name, label: name, at: header.at });
      }
      if (s.kind === 'instr') last = null;
    }
  };
  visit(fn.body ?? []);
  return [...loops.values()].sort((a, b) => a.at - b.at);
}

function withPragmas(text: string, loops: readonly Loop[]): string {
  let out = '';
  let from = 0;
  for (const { at } of [...loops].sort((a, b) => a.at - b.at)) {
    out += `${text.slice(from, at)}\n${NO_UNROLL}\n`;
    from = at;
  }
  return out + text.slice(from);
}
