// `node dist/tools/foreign-table.js`: writes pipelines/isa/FOREIGN.md, which lists for every PTX instruction whether it has Ori opcodes of
// its own, is carried unchanged, or prevents its function from being lowered.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ForeignForm, Isa, Opcode } from '../ir/opcode.ts';
import { buildIsa, PROPS } from '../isa/build.ts';
import { hasOpcodes } from '../ptx/lower/handlers.ts';
import { PTX_OPCODES } from '../ptx/opcodes.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { isaDocs } from '../spec/plan-skeleton.ts';

/** Path of the page in the repository. */
export const PAGE = 'pipelines/isa/FOREIGN.md';

const code = (s: string): string => `\`${s}\``;

/** The opcode of a row with its modifiers, as text. */
function opcodeText(f: ForeignForm): string {
  const { op } = f;
  if (op === null) return '';
  return (
    op.name +
    op.groups
      .map((g) => g.values[(f.mods >>> g.shift) & g.mask].name)
      .filter((v) => v !== 'GENERIC')
      .map((v) => `.${v}`)
      .join('')
  );
}

/** The properties of an opcode that carries PTX, as text. */
const propertiesOf = (op: Opcode): string =>
  Object.entries(PROPS)
    .filter(([name, flag]) => name !== 'predicable' && (op.flags & flag) !== 0)
    .map(([name]) => name)
    .join(', ') || 'nothing else';

/** The rows that may match some form of a PTX opcode. */
function rowsOf(opcode: string, isa: Isa): ForeignForm[] {
  const may = (name: string): boolean => {
    const base = name.split('.')[0];
    return base === opcode || (base.length > 1 && base.endsWith('*') && opcode.startsWith(base.slice(0, -1)));
  };
  return isa.foreign.filter((f) => f.names.some(may));
}

/** The text of the page. */
export function foreignPage(isa: Isa): string {
  const own: string[] = [];
  const both: string[] = [];
  const carried: string[] = [];
  const out: string[] = [];
  for (const opcode of [...PTX_OPCODES].sort()) {
    const rows = rowsOf(opcode, isa);
    const carries = rows.some((f) => f.op !== null);
    const list = hasOpcodes(opcode, isa) ? (carries ? both : own) : carries ? carried : out;
    list.push(opcode);
  }
  const family = isa.opcodes.filter((o) => o.primitive === 'foreign');
  const rows = isa.foreign.map((f) => {
    const names = f.names.map(code).join(' ');
    if (f.op === null) return `| ${f.title} | ${names} | left out | ${f.none} |`;
    const results = f.unknown
      ? 'all registers'
      : f.results < 0
        ? 'first operand, unless an address'
        : f.results === 0
          ? 'none'
          : 'first operand';
    return `| ${f.title} | ${names} | ${code(opcodeText(f))} | ${results} |`;
  });
  const list = (l: readonly string[]): string => l.map(code).join(' ');
  return `# What becomes of each PTX instruction

Made by \`node dist/tools/foreign-table.js\` from \`foreign.yaml\` and the lowering; a test holds it current.

An instruction has Ori opcodes of its own, with a meaning that is run, folded and proved; or Ori carries it as it is (a *foreign*
instruction), with its registers and what passes must know of it, and writes it back; or functions with it are left out.

## By opcode

| | PTX opcodes |
|---|---|
| Ori opcodes of its own (${own.length}) | ${list(own)} |
| the same, and forms without are carried (${both.length}) | ${list(both)} |
| carried (${carried.length}) | ${list(carried)} |
${out.length === 0 ? '' : `| left out (${out.length}) | ${list(out)} |\n`}
## Opcodes that carry

| opcode | what it stands for | what passes know |
|---|---|---|
${family.map((o) => `| ${code(o.name)} | ${o.title} | ${propertiesOf(o)} |`).join('\n')}

None is folded, or run more often than it is written. One without \`side-effect\` is removed when
its results are unused. An open world makes results up from name, operands and what memory holds at the addresses.

A launch runs \`ldmatrix\`, \`stmatrix\`, \`movmatrix\`, dense \`mma\` and \`wmma\` of f16, bf16, tf32, f64, integers of 8 and 4
bits, single bits and, mma alone, 8-bit floats (\`src/sim/primitives/matrix.ts\`, \`wmma.ts\`), with fragments as PTX lays them out; \`wmma\`'s, which PTX leaves open, row by row.
PTX leaves order and precision of sums of floats open too: here they are of double precision, in the order of columns, the old value
last, rounded once, so that a GPU may differ in the last places of a result; sums of f64 are fused in that order.

It also runs \`mapa\`, \`getctarank\`, loads, stores and atomic operations on the shared memory of a cluster, \`st.async\`, \`red.async\`,
\`st.bulk\`, moves and atomic operations of 128 bits, atomic operations on vectors (\`foreign-memory.ts\`), \`cp.async.bulk\` and
\`cp.reduce.async.bulk\` of plain bytes, all of \`mbarrier\` (\`bulk.ts\`), and \`cvt\` of 4- and 6-bit floats and of exponents (\`narrow-floats.ts\`). Blocks of a cluster run together; their barrier is
\`src/sim/clusters.ts\`. A copy is done at once: PTX allows that, and a wait that is missing does not show. Fences and hints do
nothing. \`alloca\`, \`stacksave\` and \`stackrestore\` have their meaning in open worlds too (\`stack.ts\`). At any other a launch stops with a message that names the instruction.

Opcodes marked \`both\` in \`ptx.yaml\` are lowered by the row that writes them (\`src/ptx/lower/table-rows.ts\`).

## Measured on the tests and the code of others

None of it in this repository; the first two on 2026-11-24, the others on 2026-11-25:

- Run tests of ZLUDA: 185 of 189 pass. ptxas refuses 3 of the others as well, and 1 reads out of bounds.
- Unit tests of gpuocelot: 418 of 433 pass. ptxas refuses 8 of the others as well, 1 needs the device runtime, and the references of 6
  ignore \`.rz\`.
- CUDA samples and ccminer, compiled for sm_80, 184 files: all compare equal under \`--check auto --verify-each\`, at -O3, at -O5 in the
  order seed, for sm_90 and with the recipes inline and whole-loops, and ptxas takes all that is written.
- Examples of CUTLASS, compiled: 00, 14 and 15 for sm_80, 58 (8-bit floats) for sm_89, 48 for sm_90a, 70 for sm_100a and 79a (nvfp4) for
  sm_120a: no function is left out, all 18 kernels compare equal (three of them as far as the budget of the check goes), and ptxas takes all that is
  written.
- Inline assembly of the headers of CUDA 13.0, CUTLASS, DeepGEMM, ThunderKittens and FlashInfer: of 7,215 statements ptxas takes 5,213
  as kernels of their own. All of them are taken here and compare equal; 5,185 come back as PTX that ptxas takes, and the others use a
  16-bit register as an address.

## Rows

The first that fits holds, for forms that the lowering has no opcodes for. \`*\` stands for any characters.

| family (chapter of PTX ISA 9.0) | names | carried by | results |
|---|---|---|---|
${rows.join('\n')}
`;
}

if (/foreign-table\.[jt]s$/.test(process.argv[1] ?? '')) {
  const specs = await loadShipped();
  const { isa } = buildIsa(isaDocs(specs));
  writeFileSync(join(ROOT, PAGE), foreignPage(isa));
}
