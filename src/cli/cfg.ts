import { renderCfgDot, renderCfgText } from '../analysis/render/cfg-text.ts';
import { renderCfgSvg } from '../analysis/render/svg.ts';
import { nearest } from '../ir/diagnostic.ts';
import { targetOf } from '../read.ts';
import { readText, writeWhole } from './files.ts';
import { planFor, programFor } from './input.ts';
import { failWith, out } from './ui.ts';

/** `orrery cfg`. */
export async function cfg(
  file: string,
  o: { format: string; function?: string; sm?: string; force?: boolean; output?: string },
): Promise<void> {
  if (!['text', 'dot', 'svg'].includes(o.format))
    failWith(`--format ${o.format} is not known`, 'it is one of text, dot, svg');
  const text = readText(file);
  const plan = await planFor({ sm: o.sm }, targetOf(text));
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
