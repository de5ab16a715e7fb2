import { cfgChanges, renderCfgChanges, renderCfgChangesDot } from '../analysis/render/cfg-changes.ts';
import { renderCfgDot, renderCfgText } from '../analysis/render/cfg-text.ts';
import { renderCfgChangesSvg, renderCfgSvg } from '../analysis/render/svg.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { nearest } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import { targetOf } from '../read.ts';
import type { Plan } from '../spec/plan.ts';
import { readText, writeWhole } from './files.ts';
import { planFor, programFor } from './input.ts';
import type { PlanOptions } from './options.ts';
import { failWith, out } from './ui.ts';

/** `orrery cfg`. */
export async function cfg(
  file: string,
  o: PlanOptions & {
    format: string;
    function?: string;
    force?: boolean;
    output?: string;
    changes?: boolean;
    phase?: string;
  },
): Promise<void> {
  if (!['text', 'dot', 'svg'].includes(o.format))
    failWith(`--format ${o.format} is not known`, 'it is one of text, dot, svg');
  const text = readText(file);
  const plan = await planFor(o, targetOf(text));
  const { program } = programFor(file, text, plan);
  const names = program.functions.map((f) => f.name);
  const chosen =
    o.function === undefined ? program.functions : program.functions.filter((f) => f.name === o.function);
  if (chosen.length === 0) {
    const near = o.function === undefined ? [] : nearest(o.function, names);
    failWith(
      o.function === undefined
        ? `${file} holds no function that was lowered`
        : `there is no function '${o.function}'`,
      ...(near.length > 0
        ? [`did you mean '${near[0]}'?`]
        : names.length > 0
          ? [`functions are ${names.join(', ')}`]
          : []),
    );
  }
  if (o.format === 'svg' && chosen.length > 1)
    failWith('an SVG shows one function', `choose one with --function: ${names.join(', ')}`);
  if (o.changes === true || o.phase !== undefined) {
    const result = changesOf(
      program,
      plan,
      chosen.map((f) => f.name),
      o,
    );
    if (o.output === undefined) return out(result);
    return writeWhole(o.output, result);
  }
  const result = chosen
    .map((f) =>
      o.format === 'dot'
        ? renderCfgDot(f)
        : o.format === 'svg'
          ? renderCfgSvg(f)
          : renderCfgText(f, { force: o.force }),
    )
    .join('\n');
  if (o.output === undefined) return out(result);
  writeWhole(o.output, result);
}

/** The flow graphs before and after the plan, or one phase of it, side by side. */
function changesOf(
  program: Program,
  plan: Plan,
  names: readonly string[],
  o: { format: string; phase?: string },
): string {
  const { records, last } = runPipeline(program, plan);
  let [from, to] = [program, last];
  let heads: [string, string] = ['before', `after -O${plan.level}`];
  if (o.phase !== undefined) {
    const wanted = o.phase.toLowerCase();
    const at = records.findIndex((r) => r.phase.id.toLowerCase() === wanted);
    if (at < 0) {
      const near = nearest(
        o.phase,
        records.map((r) => r.phase.id),
      );
      failWith(
        `there is no phase '${o.phase}' in the order`,
        near.length > 0 ? `did you mean '${near[0]}'?` : '`orrery phases` lists them',
      );
    }
    [from, to] = [at === 0 ? program : records[at - 1].program, records[at].program];
    heads = [`before ${records[at].phase.id}`, 'after'];
  }
  const render = { text: renderCfgChanges, dot: renderCfgChangesDot, svg: renderCfgChangesSvg }[o.format]!;
  const named = (p: Program, name: string) => p.functions.find((f) => f.name === name);
  return names
    .flatMap((name) => {
      const [a, b] = [named(from, name), named(to, name)];
      return a === undefined || b === undefined ? [] : [render(cfgChanges(a, b), heads)];
    })
    .join('\n\n');
}
