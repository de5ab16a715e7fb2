import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import type { SpecFile, SpecKind } from './document.ts';
import type { Plan } from './plan.ts';
import { type PlanRequest, resolve, type SpecIssue, type Specs } from './resolve.ts';

/** Folder of the project: the same two steps up from the sources and from the build. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

type Cached = { readonly kind: SpecKind; readonly data: Readonly<Record<string, unknown>> };

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

let shippedCache: Readonly<Record<string, Cached>> | null = null;

/** Parsed and validated specs by hash of their text, made by the build. */
function shipped(): Readonly<Record<string, Cached>> {
  if (shippedCache === null) {
    try {
      shippedCache = JSON.parse(readFileSync(join(ROOT, 'dist', 'specs.json'), 'utf8')) as Record<
        string,
        Cached
      >;
    } catch {
      shippedCache = {};
    }
  }
  return shippedCache;
}

const userCache = (): string => join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'orrery');

/** Everything that decides whether a text is valid, so that a changed schema does not find old verdicts. */
let schemaHash: string | null = null;
function schemasHash(): string {
  schemaHash ??= sha(
    readdirSync(join(ROOT, 'schemas'))
      .sort()
      .map((f) => readFileSync(join(ROOT, 'schemas', f), 'utf8'))
      .join('\n'),
  );
  return schemaHash;
}

export function schemaOf(kind: string): object {
  return JSON.parse(readFileSync(join(ROOT, 'schemas', `${kind}.schema.json`), 'utf8')) as object;
}

/** Path as shown to the user: relative to where the command runs, if that is shorter. */
export function shownPath(path: string): string {
  const r = relative(process.cwd(), path);
  return r !== '' && r.length < path.length ? r : path;
}

/**
 * Reads a spec file through the cache: a text that was valid before is neither parsed nor checked again.
 * @throws DiagnosticError with everything that is wrong in it
 */
export async function loadSpec(path: string, expect?: SpecKind): Promise<SpecFile> {
  const text = readFileSync(path, 'utf8');
  const file = shownPath(path);
  const key = sha(text);
  const known = shipped()[key];
  if (known !== undefined && (expect === undefined || known.kind === expect)) return { file, text, ...known };
  const cacheFile = join(userCache(), `${sha(key + schemasHash())}.json`);
  if (existsSync(cacheFile)) {
    try {
      const c = JSON.parse(readFileSync(cacheFile, 'utf8')) as Cached;
      if (expect === undefined || c.kind === expect) return { file, text, ...c };
    } catch {
      // A damaged entry is made again below.
    }
  }
  const { readSpec } = await import('./document.ts');
  const { spec, diagnostics } = readSpec(file, text, schemaOf, expect);
  if (spec === null) throw new DiagnosticError(diagnostics);
  try {
    mkdirSync(dirname(cacheFile), { recursive: true });
    const temporary = `${cacheFile}.${process.pid}`;
    writeFileSync(temporary, JSON.stringify({ kind: spec.kind, data: spec.data }));
    renameSync(temporary, cacheFile);
  } catch {
    // A cache that cannot be written only costs time.
  }
  return spec;
}

/** Files of every shipped spec. */
export function shippedFiles(): string[] {
  const out = [
    join(ROOT, 'pipelines', 'phases.yaml'),
    join(ROOT, 'pipelines', 'constraints.yaml'),
    join(ROOT, 'knobs', 'catalog.yaml'),
  ];
  for (const dir of [
    'pipelines/orders',
    'pipelines/backends',
    'pipelines/recipes',
    'pipelines/isa',
    'knobs/sets',
  ]) {
    const full = join(ROOT, dir);
    if (!existsSync(full)) continue;
    for (const f of readdirSync(full).sort()) if (f.endsWith('.yaml')) out.push(join(full, f));
  }
  return out;
}

/** All shipped specs. Throws DiagnosticError with the faults of all of them. */
export async function loadShipped(): Promise<Specs> {
  const faults: Diagnostic[] = [];
  const files: SpecFile[] = [];
  for (const path of shippedFiles()) {
    try {
      files.push(await loadSpec(path));
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      faults.push(...e.diagnostics);
    }
  }
  if (faults.length > 0) throw new DiagnosticError(faults);
  const by = (kind: SpecKind) =>
    new Map(
      files
        .filter((f) => f.kind === kind)
        .map((f) => [kind === 'backend' ? String(f.data.name) : basename(f.file, '.yaml'), f]),
    );
  return {
    phases: files.find((f) => f.kind === 'phases')!,
    constraints: files.find((f) => f.kind === 'constraints')!,
    knobs: files.find((f) => f.kind === 'knobs')!,
    isa: files.filter((f) => f.kind === 'isa'),
    orders: by('order'),
    backends: by('backend'),
    recipes: by('recipe'),
    knobSets: by('knob-set'),
  };
}

/** Names that are paths (`mine.yaml`, `./x/y.yaml`) are loaded and entered under that path. */
async function withFiles(specs: Specs, request: PlanRequest): Promise<Specs> {
  const isPath = (n: string) => /\.ya?ml$/.test(n) || n.includes('/');
  const add = async (map: ReadonlyMap<string, SpecFile>, kind: SpecKind, names: readonly string[]) => {
    const out = new Map(map);
    for (const n of names) if (isPath(n)) out.set(n, await loadSpec(resolvePath(n), kind));
    return out;
  };
  const orders = await add(specs.orders, 'order', [request.order]);
  for (
    let name: unknown = orders.get(request.order)?.data.extends, n = 0;
    typeof name === 'string' && isPath(name) && !orders.has(name) && n < 16;
    n++
  ) {
    // A path in `extends` is relative to the file that says it.
    const from = [...orders].find(([, f]) => f.data.extends === name)![1];
    orders.set(name, await loadSpec(resolvePath(dirname(from.file), name), 'order'));
    name = orders.get(name)?.data.extends;
  }
  return {
    ...specs,
    orders,
    recipes: await add(specs.recipes, 'recipe', request.recipe === null ? [] : [request.recipe]),
    knobSets: await add(specs.knobSets, 'knob-set', request.knobSets),
  };
}

/** Issues with their places looked up. */
export async function toDiagnostics(issues: readonly SpecIssue[]): Promise<Diagnostic[]> {
  if (issues.length === 0) return [];
  const { specError } = await import('./document.ts');
  return issues.map((i) =>
    i.file === null
      ? {
          severity: i.severity,
          code: i.code,
          message: i.message,
          file: '',
          line: 0,
          column: 0,
          length: 0,
          label: i.label,
          notes: i.notes,
        }
      : specError(i.file, i.path, i.code, i.message, i),
  );
}

/**
 * The plan for a request.
 * @returns the plan (null on errors) and every error and warning, with places
 */
export async function makePlan(
  request: PlanRequest,
  passes: ReadonlySet<string>,
  base?: Specs,
): Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }> {
  const specs = await withFiles(base ?? (await loadShipped()), request);
  const { plan, issues } = resolve(specs, request, passes);
  const diagnostics = await toDiagnostics(issues);
  return { plan: plan === null ? null : { ...plan, warnings: diagnostics }, diagnostics };
}
