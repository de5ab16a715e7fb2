import { BinaryError } from '../../cubin/bytes.ts';
import { baseTarget } from '../../ir/target.ts';
import { functionWords } from '../../machine/listing.ts';
import { plainRows } from '../../machine/plain-rows.ts';
import { loadMachine } from '../../spec/node-machine.ts';
import type { MachineCode } from '../../web/machine-code.ts';
import { cubinOf, ptxasVersion } from '../optimize/ptxas-run.ts';

/** Results that are kept: a page asks again whenever one looks at the kernel again. */
const MOST_KEPT = 32;
const kept = new Map<string, Promise<MachineCode>>();

/** What ptxas makes of a text, for the explorer. The same text is compiled once. */
export function ptxasCode(text: string, sm: string, level: number): Promise<MachineCode> {
  const key = `${sm} ${level} ${text}`;
  let found = kept.get(key);
  if (found === undefined) {
    if (kept.size === MOST_KEPT) kept.clear();
    kept.set(key, (found = compiled(text, sm, level)));
  }
  return found;
}

async function compiled(text: string, sm: string, level: number): Promise<MachineCode> {
  const by = `ptxas ${(ptxasVersion() ?? '').split(' ')[0]}`.trim();
  const none = (why: string): MachineCode => ({ by, sm, why, kernels: [] });
  const machine = await loadMachine(baseTarget(sm));
  if (machine === null) return none(`The machine code of ${sm} is not known.`);
  const elf = cubinOf(text, [`-arch=${sm}`, `-O${level}`, '-lineinfo']);
  if (typeof elf === 'string') return none(elf);
  try {
    const kernels = functionWords(elf, machine).map(({ fn, code }) => {
      const rows = plainRows(code, machine, ({ places }) => places.ptx?.line ?? 0);
      // What fills the code up says nothing: NOPs behind a branch to itself.
      const end = rows.findLastIndex((r) => !/^NOP$/.test(r.text)) + 1;
      return { name: fn.name, why: null, registers: fn.registers ?? 0, code: rows.slice(0, end) };
    });
    return { by, sm, why: null, kernels };
  } catch (e) {
    if (!(e instanceof BinaryError)) throw e;
    return none(`What it made cannot be taken apart: ${e.message}`);
  }
}
