import { cfgChanges, renderCfgChanges, renderCfgChangesDot } from '../../analysis/render/cfg-changes.ts';
import { cfgChangesData, cfgData } from '../../analysis/render/cfg-json.ts';
import { renderCfgDot, renderCfgText } from '../../analysis/render/cfg-text.ts';
import { renderCfgChangesSvg, renderCfgSvg } from '../../analysis/render/svg.ts';
import { runPipeline } from '../../engine/pipeline.ts';
import type { Program } from '../../ir/program.ts';
import { targetOf } from '../../read.ts';
import type { Plan } from '../../spec/plan.ts';
import { readText, writeWhole } from '../input/files.ts';
import { functionsOf, planFor, programFor } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { placeOf } from '../input/watch.ts';
import { formatOf } from '../terminal/format.ts';
import { failWith, out } from '../terminal/ui.ts';

/** `orrery cfg`: prints control flow of functions. */
export async function cfg(
  file: string,
  o: PlanOptions & {
    format?: string;
    function?: string;
    force?: boolean;
    output?: string;
    changes?: boolean;
    phase?: string;
    json?: boolean;
  },
): Promise<void> {
  const format = formatOf(o, ['text', 'dot', 'svg', 'json'], o.output);
  const text = readText(file);
  const plan = await planFor(o, targetOf(text));
  const { program } = programFor(file, text, plan);
  const chosen = functionsOf(file, program, o.function);
  if (format === 'svg' && chosen.length > 1)
    failWith(
      'an SVG shows one function',
      `choose one with --function: ${chosen.map((f) => f.name).join(', ')}`,
    );
  if (o.changes === true || o.phase !== undefined) {
    const result = changesOf(
      program,
      plan,
      chosen.map((f) => f.name),
      format,
      o.phase,
    );
    if (o.output === undefined) return out(result);
    return writeWhole(o.output, result);
  }
  const { force } = o;
  const result =
    format === 'json'
      ? jsonOf(program, { functions: chosen.map((f) => cfgData(f, { force })) })
      : chosen
          .map((f) =>
            format === 'dot'
              ? renderCfgDot(f)
              : format === 'svg'
                ? renderCfgSvg(f)
                : renderCfgText(f, { force }),
          )
          .join('\n');
  if (o.output === undefined) return out(result);
  writeWhole(o.output, result);
}

/** A document as described by schemas/output/cfg.schema.json. */
const jsonOf = (program: Program, content: object): string =>
  JSON.stringify({ version: 1, program: program.name, ...content }, null, 2);

/** The flow graphs before and after the plan, or one phase of it, side by side. */
function changesOf(
  program: Program,
  plan: Plan,
  names: readonly string[],
  format: string,
  phase: string | undefined,
): string {
  const { records, last } = runPipeline(program, plan);
  let [from, to] = [program, last];
  let heads: [string, string] = ['before', `after -O${plan.level}`];
  if (phase !== undefined) {
    const at = placeOf(plan, phase);
    [from, to] = [at === 0 ? program : records[at - 1].program, records[at].program];
    heads = [`before ${records[at].phase.id}`, 'after'];
  }
  const named = (p: Program, name: string) => p.functions.find((f) => f.name === name);
  const changes = names.flatMap((name) => {
    const [a, b] = [named(from, name), named(to, name)];
    return a === undefined || b === undefined ? [] : [cfgChanges(a, b)];
  });
  if (format === 'json')
    return jsonOf(program, { from: heads[0], to: heads[1], changes: changes.map(cfgChangesData) });
  const render = { text: renderCfgChanges, dot: renderCfgChangesDot, svg: renderCfgChangesSvg }[format]!;
  return changes.map((c) => render(c, heads)).join('\n\n');
}
