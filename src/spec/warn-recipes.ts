import type { SpecFile } from './document.ts';
import type { Issues } from './issues.ts';
import { extendedBy, type RecipeStack } from './recipes.ts';
import type { PlanRequest, Specs } from './specs.ts';

/** Warns about recipes that are meant for other targets or for another level than the request. */
export function warnRecipes(specs: Specs, stack: RecipeStack, request: PlanRequest, issues: Issues): void {
  for (const name of stack.names) {
    const file = specs.recipes.get(name);
    const named = file === undefined ? null : targetsOf(specs, file, new Set());
    if (named !== null && !named.sm.includes(request.sm))
      issues.warning(
        { file: named.file, path: ['sm'] },
        'recipe-sm',
        `recipe '${name}' is for ${named.sm.join(', ')}, not for ${request.sm}`,
      );
  }
  const wanted = stack.layers.filter((l) => l.data.level !== undefined && l.tests.length === 0).at(-1);
  if (request.level === null || wanted === undefined) return;
  if (wanted.data.level !== request.level)
    issues.warning(
      { file: wanted.at.file, path: [...wanted.at.path, 'level'] },
      'recipe-level',
      `recipe '${wanted.name}' is for level ${wanted.data.level}, but level ${request.level} was asked for`,
    );
}

/** The targets that a recipe names, or else the first recipe that it extends and that names any; null: none does. */
function targetsOf(
  specs: Specs,
  file: SpecFile,
  seen: Set<SpecFile>,
): { readonly sm: readonly string[]; readonly file: SpecFile } | null {
  if (seen.has(file)) return null;
  seen.add(file);
  if (file.data.sm !== undefined) return { sm: file.data.sm as readonly string[], file };
  for (const up of extendedBy(file)) {
    const f = specs.recipes.get(up);
    const found = f === undefined ? null : targetsOf(specs, f, seen);
    if (found !== null) return found;
  }
  return null;
}
