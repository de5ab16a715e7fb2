// Writes src/ptx/syntax.generated.ts from pipelines/isa/ptx-syntax.yaml, after parsing every form once as a check.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readForm, readNeed } from '../ptx/forms.ts';
import { ROOT } from '../spec/node.ts';

interface Syntax {
  readonly versions: string;
  readonly targets: Readonly<Record<string, string>>;
  readonly modes: string;
  readonly unchecked: string;
  readonly sets: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly directives: Readonly<Record<string, string>>;
  readonly instructions: Readonly<Record<string, readonly string[]>>;
}

/** The text of the generated file. @throws Error that names the instruction and the form that cannot be parsed */
export function generatedSyntax(): string {
  const { versions, targets, modes, unchecked, sets, words, directives, instructions } = parse(
    readFileSync(join(ROOT, 'pipelines', 'isa', 'ptx-syntax.yaml'), 'utf8'),
  ) as Syntax;
  for (const [opcode, forms] of Object.entries(instructions)) for (const f of forms) tryForm(opcode, f, sets);
  for (const need of [...Object.values(words), ...Object.values(directives)]) readNeed(need);
  const data = JSON.stringify(
    { versions, targets, modes, unchecked, sets, words, directives, instructions },
    null,
    1,
  );
  return `// Generated from pipelines/isa/ptx-syntax.yaml by \`npm run generate\`. Do not edit.
// biome-ignore format: it is data
export const PTX_SYNTAX: {
  readonly versions: string;
  readonly targets: Readonly<Record<string, string>>;
  readonly modes: string;
  readonly unchecked: string;
  readonly sets: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly directives: Readonly<Record<string, string>>;
  readonly instructions: Readonly<Record<string, readonly string[]>>;
} = ${data};
`;
}

function tryForm(opcode: string, form: string, sets: Syntax['sets']): void {
  try {
    readForm(form, sets);
  } catch (e) {
    throw new Error(`pipelines/isa/ptx-syntax.yaml: ${opcode}: '${form}': ${(e as Error).message}`);
  }
}

if (/generate-syntax\.[jt]s$/.test(process.argv[1] ?? ''))
  writeFileSync(join(ROOT, 'src', 'ptx', 'syntax.generated.ts'), generatedSyntax());
