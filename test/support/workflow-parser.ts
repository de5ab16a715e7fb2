import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { ROOT } from '../../src/spec/node-cache.ts';

/**
 * The diagnostics of GitHub's own workflow parser, with the schema that it contains, for a workflow. The package is made for bundlers: it
 * imports JSON in a way that Node does not support.
 */
export async function workflowErrors(): Promise<(text: string) => readonly string[]> {
  const input = join(ROOT, 'node_modules', '@actions', 'workflow-parser', 'dist', 'index.js');
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm' });
  const dir = mkdtempSync(join(tmpdir(), 'orrery-parser-'));
  try {
    for (const o of output) if (o.type === 'chunk') writeFileSync(join(dir, o.fileName), o.code);
    const entry = join(dir, output[0].fileName);
    writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
    const parser = (await import(pathToFileURL(entry).href)) as typeof import('@actions/workflow-parser');
    return (content) =>
      parser
        .parseWorkflow({ name: 'workflow.yml', content }, new parser.NoOperationTraceWriter())
        .context.errors.getErrors()
        .map((e) => e.message);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
