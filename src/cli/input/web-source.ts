import { resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { isPath, readSpecText, shownPath } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import type { Specs } from '../../spec/specs.ts';
import type { Request } from '../../web/recording.ts';
import { sourceOf } from './input.ts';
import { type PlanOptions, requestedSpecs } from './options.ts';

/** The request of plan options in the form of the explorer, with the texts of the files that it names. */
export async function webRequest(
  o: PlanOptions,
  plan: Plan,
): Promise<{ readonly request: Request; readonly documents: Readonly<Record<string, string>> }> {
  const { specs } = await sourceOf(o, plan);
  const { order, recipes = [], knobSets, set, disable, rules = [], isa = [] } = requestedSpecs(o);
  const names = new Map<string, string>();
  const documents: Record<string, string> = {};
  for (const kind of ['orders', 'recipes', 'knobSets', 'rules'] as const)
    for (const [key, f] of (specs[kind] ?? new Map()) as NonNullable<Specs[typeof kind]>) {
      if (!isPath(key)) continue;
      const name = shownPath(resolve(key));
      names.set(key, name);
      documents[name] = withExtends(readSpecText(resolve(key)), f.data.extends);
    }
  for (const file of isa) documents[shownPath(resolve(file))] = readSpecText(resolve(file));
  const named = (n: string): string => names.get(n) ?? n;
  return {
    request: {
      level: o.level === undefined ? null : Number(o.level),
      sm: o.sm ?? null,
      order: named(order),
      recipes: [...recipes.map(named)],
      knobSets: knobSets.map(named),
      set,
      disable,
      rules: rules.map(named),
      ...(o.nvopt === undefined ? {} : { nvopt: Number(o.nvopt) }),
    },
    documents,
  };
}

/** A spec whose `extends` names files as the explorer knows them: by full path. */
function withExtends(text: string, found: unknown): string {
  const names = typeof found === 'string' ? [found] : Array.isArray(found) ? found.map(String) : [];
  if (!names.some(isPath)) return text;
  const shown = names.map((n) => (isPath(n) ? shownPath(resolve(n)) : n));
  const doc = parseDocument(text);
  doc.set('extends', typeof found === 'string' ? shown[0] : shown);
  return doc.toString({ lineWidth: 0 });
}
