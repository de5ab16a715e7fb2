import { parseAst } from 'rolldown/parseAst';

/** A test, or a group of tests, in a file of tests. */
export interface Titled {
  readonly title: string;
  /** Whether it is left out in any case. */
  readonly skipped: boolean;
}

type Node = { readonly type: string; readonly [key: string]: unknown };

const NAMES: ReadonlySet<string> = new Set(['it', 'test', 'describe']);

/** The titles of all tests and groups in a TypeScript text, as far as they are literals. */
export function titlesIn(text: string): Titled[] {
  const out: Titled[] = [];
  const visit = (x: unknown): void => {
    if (Array.isArray(x)) for (const y of x) visit(y);
    if (typeof x !== 'object' || x === null || !('type' in x)) return;
    const node = x as Node;
    if (node.type === 'CallExpression') {
      const words = wordsOf(node.callee as Node);
      const title = literal((node.arguments as Node[])[0]);
      if (words !== null && title !== null)
        out.push({ title, skipped: words.includes('skip') || words.includes('todo') });
    }
    for (const y of Object.values(node)) if (typeof y === 'object') visit(y);
  };
  visit(parseAst(text, { lang: 'ts' }));
  return out;
}

/** The value of a string, also of a template without holes. */
function literal(x: Node | undefined): string | null {
  if (x?.type === 'Literal' && typeof x.value === 'string') return x.value;
  const quasis = x?.type === 'TemplateLiteral' ? (x.quasis as { value: { cooked: string } }[]) : [];
  return quasis.length === 1 ? quasis[0].value.cooked : null;
}

/** `it.each(...)` as its words, `it` and `each`; null for another function. */
function wordsOf(x: Node): string[] | null {
  if (x.type === 'Identifier') return NAMES.has(x.name as string) ? [x.name as string] : null;
  if (x.type === 'CallExpression') return wordsOf(x.callee as Node);
  if (x.type !== 'MemberExpression') return null;
  const words = wordsOf(x.object as Node);
  return words === null ? null : [...words, (x.property as Node).name as string];
}
