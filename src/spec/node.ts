import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve as resolvePath } from 'node:path';
import { append } from '../ir/append.ts';
import { type Diagnostic, DiagnosticError, fileError, fileFault, nearest } from '../ir/diagnostic.ts';
import { specName, specsOf } from './collect.ts';
import type { CachedSpec, SpecFile, SpecKind } from './document.ts';
import type { SpecIssue, SpecPath } from './issues.ts';
import { fromBuild, fromCache, ROOT, sha256, stampOf, toCache, untouched } from './node-cache.ts';
import { decodeText, readNamed, Unreadable } from './node-files.ts';
import { heldText, isHeld } from './node-held.ts';
import { namedPath } from './node-paths.ts';
import type { Plan } from './plan.ts';
import { type Host, type PlanRequest, resolve, type Specs } from './resolve.ts';
import type { StepSpec } from './steps.ts';

export { ROOT } from './node-cache.ts';

/** The JSON Schema of a kind of specs. @throws a system error for an unknown kind */
export const schemaOf = (kind: string): object =>
  JSON.parse(readFileSync(join(ROOT, 'schemas', `${kind}.schema.json`), 'utf8')) as object;

/** A full path as shown to the user: relative to the current folder, if that is shorter. */
export function shownPath(path: string): string {
  const r = relative(process.cwd(), path);
  return r !== '' && r.length < path.length ? r : path;
}

/** Text of a spec file. @throws DiagnosticError if it cannot be read, with similar names in its folder */
export function readSpecText(path: string): string {
  const held = heldText(path);
  if (held !== undefined) return held;
  const file = shownPath(path);
  try {
    return isShipped(relative(ROOT, path)) ? readFileSync(path, 'utf8') : decodeText(readNamed(path, 'spec'));
  } catch (e) {
    if (e instanceof Unreadable) throw fileError(file, e.message, e.notes);
    const code = (e as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      throw fileError(
        file,
        code === 'EISDIR' ? 'this is a folder, not a file' : `cannot read the file (${code})`,
      );
    let there: string[] = [];
    try {
      there = readdirSync(dirname(path)).filter((f) => /\.ya?ml$/.test(f));
    } catch {
      throw fileError(file, `there is no folder '${shownPath(dirname(path))}'`);
    }
    // Extensions are ignored: with them, all short names would be similar.
    const stem = (f: string) => f.replace(/\.ya?ml$/, '');
    const close = nearest(stem(basename(path)), there.map(stem));
    const near = there.filter((f) => close.includes(stem(f))).map((f) => `'${f}'`);
    throw fileError(
      file,
      'there is no such file',
      near.length > 0 ? [`did you mean ${near.join(' or ')}?`] : [],
    );
  }
}

/** The schema faults of a spec. `rest` is the spec without the rejected entries, so that it can be checked as well. */
export class SpecFaults extends DiagnosticError {
  readonly rest: SpecFile | undefined;
  constructor(diagnostics: readonly Diagnostic[], rest: SpecFile | undefined) {
    super(diagnostics);
    this.rest = rest;
  }
}

/** Codes of faults of single values. Other faults of a pruned spec might only be consequences of what was removed. */
const OF_ONE_VALUE =
  /^(unknown-|knob-|recipe-|launch-|not-a-hook$|ir-property$|pass-params$|edit-itself$|phase-twice$)/;

/**
 * The schema faults of a spec and the errors of its pruned remainder, in file order.
 *
 * @param all true if pruning does not change the meaning of the remainder, so that none of its errors is a mere consequence
 */
export const withRest = (
  form: readonly Diagnostic[],
  rest: readonly Diagnostic[],
  all = false,
): Diagnostic[] =>
  [
    ...form,
    ...rest.filter((d) => d.severity === 'error' && (all || OF_ONE_VALUE.test(d.code)) && d.line > 0),
  ].sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : 0));

/**
 * Reads a spec file through the caches: a text that was valid before is neither parsed nor validated again.
 * @throws SpecFaults with all faults of its form
 */
export async function loadSpec(path: string, expect?: SpecKind): Promise<SpecFile> {
  const file = shownPath(path);
  const known = untouched(path);
  if (known === undefined || (expect !== undefined && known.kind !== expect))
    return specOf(file, readSpecText(path), expect);
  return untouchedSpec(path, file, known);
}

/** A shipped spec as the build parsed it. The text is read on demand, to find line numbers. */
function untouchedSpec(path: string, file: string, built: CachedSpec): SpecFile {
  let text: string | null = null;
  return {
    file,
    get text() {
      text ??= readSpecText(path);
      return text;
    },
    kind: built.kind,
    data: built.data,
    built,
  };
}

/**
 * Parses and validates a spec's text, through the caches.
 *
 * @param file the name for messages
 * @throws SpecFaults with all faults of its form
 */
export async function specOf(file: string, text: string, expect?: SpecKind): Promise<SpecFile> {
  const key = sha256(text);
  const built = fromBuild(key);
  const known = built ?? fromCache(key);
  if (known !== undefined && (expect === undefined || known.kind === expect))
    return { file, text, kind: known.kind, data: known.data, built };
  const { readSpec } = await import('./document.ts');
  const { spec, diagnostics, rest } = readSpec(file, text, schemaOf, expect);
  if (spec === null) throw new SpecFaults(diagnostics, rest);
  if (!isHeld(file)) toCache(key, spec);
  return spec;
}

const NEEDED_FILES = ['pipelines/phases.yaml', 'pipelines/constraints.yaml', 'knobs/catalog.yaml'];
/** Optional files of a folder of specs. */
const OTHER_FILES = ['pipelines/ptxas-faults.yaml'];
const SHIPPED_FILES = [...NEEDED_FILES, ...OTHER_FILES];
const SHIPPED_FOLDERS = [
  'pipelines/orders',
  'pipelines/backends',
  'pipelines/recipes',
  'pipelines/rules',
  'pipelines/isa',
  'knobs/sets',
];

/** Full paths of all specs below a project folder, in an order that does not depend on the file system. */
export function shippedFiles(root = ROOT): string[] {
  const others = OTHER_FILES.filter((f) => existsSync(join(root, f)));
  const out = [...NEEDED_FILES, ...others].map((f) => join(root, f));
  for (const folder of SHIPPED_FOLDERS) {
    const full = join(root, folder);
    if (!existsSync(full)) continue;
    for (const f of readdirSync(full).sort()) if (f.endsWith('.yaml')) out.push(join(full, f));
  }
  return out;
}

/** True if a path, relative to the project, is that of a shipped spec. */
export const isShipped = (path: string): boolean =>
  SHIPPED_FILES.includes(path) || (SHIPPED_FOLDERS.includes(dirname(path)) && path.endsWith('.yaml'));

/** Shipped specs that belong to no plan although Orrery depends on them; those of machine code are in a folder of their own. */
const IN_NO_PLAN = ['pipelines/isa/ptx-syntax.yaml'];

/** True for the path of a shipped spec whose meaning `diff` compares. */
export const isCompared = (path: string): boolean => isShipped(path) && !IN_NO_PLAN.includes(path);

/**
 * All specs below a project folder. They are read again only if one of the files changed.
 * @throws DiagnosticError with the faults of all of them
 */
export async function loadShipped(root = ROOT): Promise<Specs> {
  // The same object is returned for unchanged files, because plans share what is derived from a spec by its identity.
  const files = shippedFiles(root);
  const stamp = [process.cwd(), ...files.map((path) => `${path} ${heldText(path) ?? stampOf(path)}`)].join(
    '\n',
  );
  if (stamp !== shipped?.stamp)
    shipped = { stamp, specs: await allSpecs(files.map((path) => ({ read: () => wholeSpec(path) }))) };
  return shipped.specs;
}

/**
 * A spec that ships. While an editor holds a text for it that is not valid, such as one that is being typed, it is the one on disk, so that
 * other specs can be used.
 */
async function wholeSpec(path: string): Promise<SpecFile> {
  try {
    return await loadSpec(path);
  } catch (e) {
    if (!isHeld(path) || !(e instanceof DiagnosticError) || !existsSync(path)) throw e;
    return specOf(shownPath(path), readFileSync(path, 'utf8'));
  }
}

/** The specs that were loaded last, and the stamp of their files. */
let shipped: { readonly stamp: string; readonly specs: Specs } | null = null;

/**
 * Parses specs from texts, such as those of another commit.
 *
 * @param files names for messages, and texts
 * @throws DiagnosticError with the faults of all of them, or if a required spec is missing
 */
export const specsFromTexts = (
  files: readonly { readonly file: string; readonly text: string }[],
): Promise<Specs> => allSpecs(files.map(({ file, text }) => ({ read: () => specOf(file, text) })));

/** Kinds of which there is exactly one spec, which every plan needs. */
const SINGLE = ['phases', 'constraints', 'knobs'] as const;

async function allSpecs(sources: readonly { readonly read: () => Promise<SpecFile> }[]): Promise<Specs> {
  const faults: Diagnostic[] = [];
  const files: SpecFile[] = [];
  for (const { read } of sources) {
    try {
      files.push(await read());
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      append(faults, e.diagnostics);
    }
  }
  if (faults.length > 0) throw new DiagnosticError(faults);
  for (const kind of SINGLE)
    if (!files.some((f) => f.kind === kind)) throw fileError('', `there is no spec of kind '${kind}'`);
  return specsOf(files);
}

/** True if the name of a spec is a path, such as `mine.yaml` or `./x/mine`. */
export const isPath = (n: string): boolean => /\.ya?ml$/.test(n) || n.includes('/') || n.includes('\\');

const NO_RULES: ReadonlyMap<string, SpecFile> = new Map();

/** Specs with the files of a request added, as far as their form is valid. */
interface WithFiles {
  readonly specs: Specs;
  /** Faults in the form of the files. */
  readonly faults: readonly Diagnostic[];
  /** True if nothing was pruned from any file. */
  readonly whole: boolean;
}

/** Adds the files that a request names by path to specs, each under that path. Faults of their form are returned. */
export async function withFiles(specs: Specs, request: PlanRequest): Promise<WithFiles> {
  const faults: Diagnostic[] = [];
  let whole = true;
  const load: Load = async (path, kind, by) => {
    try {
      return await loadSpec(by === undefined ? path : await pathNamedBy(path, by), kind);
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      append(faults, e.diagnostics);
      const rest = e instanceof SpecFaults ? e.rest : undefined;
      whole &&= rest?.pruned?.removed.length === 0;
      return rest ?? null;
    }
  };
  const entered = async (
    map: ReadonlyMap<string, SpecFile>,
    kind: SpecKind,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, SpecFile>> => {
    const paths = names.filter((n) => isPath(n) && !map.has(n));
    if (paths.length === 0) return map;
    const out = new Map(map);
    for (const n of paths) {
      const f = await load(resolvePath(n), kind);
      if (f !== null) out.set(n, f);
    }
    return out;
  };
  const orders = await withOrders(specs.orders, request.order, load);
  const recipes = await withRecipes(specs.recipes, request.recipes ?? [], load);
  const knobSets = await entered(specs.knobSets, 'knob-set', request.knobSets);
  const rules = await withRules(
    specs.rules ?? NO_RULES,
    request,
    [...orders.values(), ...recipes.values()],
    load,
  );
  const isa = await withInstructions(specs.isa, request.isa ?? [], load);
  return { specs: { ...specs, orders, recipes, knobSets, rules, isa }, faults, whole };
}

/** Where a spec names a file: a path in it. */
interface Naming {
  readonly spec: SpecFile;
  readonly at: SpecPath;
}

/** Reads a spec that a request names, or another spec does; null where it cannot be read. */
type Load = (path: string, kind: SpecKind, by?: Naming) => Promise<SpecFile | null>;

/**
 * The full path of a file that a spec names.
 *
 * @param name relative to the folder of that spec, or a full path
 * @param folder folder that it is relative to instead
 * @param typed the name for errors, where only a part of what stands in the spec is a path
 * @throws DiagnosticError at the place where it is named, if it is out of reach (`namedPath`)
 */
export async function pathNamedBy(
  name: string,
  { spec, at }: Naming,
  folder = dirname(resolvePath(spec.file)),
  typed = name,
): Promise<string> {
  try {
    return namedPath(name, join(folder, basename(spec.file)));
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    const message = `'${isAbsolute(typed) ? shownPath(typed) : typed}' is not read: ${e.message}`;
    const { specError } = await import('./places.ts');
    throw new DiagnosticError([
      spec.text === ''
        ? fileFault(spec.file, message, e.notes)
        : specError(spec, at, 'out-of-reach', message, { notes: e.notes }),
    ]);
  }
}

/**
 * Rule groups plus those given by path. A path in the request replaces the group of the same name; a path in an order or a hook is
 * relative to the file that contains it.
 */
async function withRules(
  rules: ReadonlyMap<string, SpecFile>,
  request: PlanRequest,
  users: readonly SpecFile[],
  load: Load,
): Promise<ReadonlyMap<string, SpecFile>> {
  const out = new Map(rules);
  let more = false;
  const enter = (name: string, f: SpecFile): void => {
    more ||= out.get(name) !== f;
    out.set(name, f);
  };
  for (const n of request.rules ?? []) {
    if (!isPath(n) || out.has(n)) continue;
    const f = await load(resolvePath(n), 'rules');
    if (f === null) continue;
    enter(specName(f), f);
    enter(n, f);
  }
  for (const user of users)
    for (const n of rulePaths(user)) {
      const key = isAbsolute(n) ? n : resolvePath(dirname(resolvePath(user.file)), n);
      const f = out.get(n) ?? (await load(key, 'rules', { spec: user, at: [] }));
      if (f !== null) enter(n, f);
    }
  // If nothing was added, return the same object, so that plans share what is derived from it.
  return more ? out : rules;
}

/** The last extension of each instruction set. Files with the same contents give the same object, so that plans share what they derive. */
const extended = new WeakMap<Specs['isa'], SpecFile[]>();

/** The instruction set with files of instructions added. */
async function withInstructions(
  isa: Specs['isa'],
  names: readonly string[],
  load: Load,
): Promise<Specs['isa']> {
  const added: SpecFile[] = [];
  for (const n of new Set(names.map((name) => resolvePath(name)))) {
    const f = await load(n, 'isa');
    if (f !== null) added.push(f);
  }
  if (added.length === 0) return isa;
  const all = [...isa, ...added];
  const last = extended.get(isa);
  if (last?.length === all.length && last.every((f, k) => f.file === all[k].file && f.text === all[k].text))
    return last;
  extended.set(isa, all);
  return all;
}

/** Paths of the rule files that an order or a recipe names. */
function rulePaths(f: SpecFile): string[] {
  const edits = (f.data.edits ?? []) as readonly { readonly insertRules?: string }[];
  const names: (string | undefined)[] = edits.map((e) => e.insertRules);
  const walk = (steps: readonly StepSpec[]): void => {
    for (const s of steps) {
      names.push(...(s.rules ?? []));
      walk(s.repeat ?? []);
    }
  };
  for (const part of [f.data, ...((f.data.parts ?? []) as readonly SpecFile['data'][])])
    for (const steps of Object.values((part.hooks ?? {}) as Record<string, readonly StepSpec[]>)) walk(steps);
  return names.filter((n): n is string => n !== undefined && isPath(n));
}

/**
 * Adds recipe files and everything that they extend. A path in `extends` is relative to the file that contains it, and is entered as
 * `shownPath` gives it.
 */
async function withRecipes(
  recipes: ReadonlyMap<string, SpecFile>,
  names: readonly string[],
  load: Load,
): Promise<ReadonlyMap<string, SpecFile>> {
  const out = new Map(recipes);
  const enter = async (key: string, path: string, by?: Naming): Promise<void> => {
    const f = await load(path, 'recipe', by);
    if (f === null) return;
    const full = (up: string): string => (isPath(up) ? shownPath(resolvePath(dirname(path), up)) : up);
    const stated = f.data.extends as string | readonly string[] | undefined;
    const ups = stated === undefined ? [] : typeof stated === 'string' ? [stated] : stated;
    const data = ups.some((up) => full(up) !== up)
      ? { ...f.data, extends: typeof stated === 'string' ? full(stated) : ups.map(full) }
      : f.data;
    out.set(key, data === f.data ? f : { ...f, data });
    for (const up of ups.map(full))
      if (isPath(up) && !out.has(up)) await enter(up, resolvePath(up), { spec: f, at: ['extends'] });
  };
  let more = false;
  for (const n of names)
    if (isPath(n) && !out.has(n)) {
      more = true;
      await enter(n, resolvePath(n));
    }
  return more ? out : recipes;
}

/**
 * Adds an order file and everything that it extends. A path in `extends` is relative to the file that contains it, and is entered as a full
 * path, so that files of the same name in two folders stay distinct.
 */
async function withOrders(
  orders: ReadonlyMap<string, SpecFile>,
  name: string,
  load: Load,
): Promise<ReadonlyMap<string, SpecFile>> {
  if (!isPath(name) || orders.has(name)) return orders;
  const out = new Map(orders);
  let by: Naming | undefined;
  for (let path = resolvePath(name), key = name; !out.has(key); ) {
    const f = await load(path, 'order', by);
    if (f === null) break;
    const up = f.data.extends as string | undefined;
    if (up === undefined || !isPath(up) || orders.has(up)) {
      out.set(key, f);
      break;
    }
    const next = isAbsolute(up) ? up : resolvePath(dirname(path), up);
    // Reaching the first file again means a cycle, which the resolver reports.
    const again = next === resolvePath(name) ? name : next;
    out.set(key, { ...f, data: { ...f.data, extends: again } });
    by = { spec: f, at: ['extends'] };
    path = next;
    key = again;
  }
  return out;
}

/** Converts issues to diagnostics with line numbers. The YAML parser is loaded only if there are any. */
export const toDiagnostics = async (issues: readonly SpecIssue[]): Promise<Diagnostic[]> =>
  issues.length === 0 ? [] : (await import('./issue-diagnostics.ts')).issueDiagnostics(issues);

/** Line of an origin in its file, from 1; 0 if it has no file. Loads the YAML parser. */
export async function lineOf(origin: {
  readonly file: string;
  readonly path: readonly (string | number)[];
}): Promise<number> {
  if (origin.file === '') return 0;
  const { placeOf } = await import('./places.ts');
  return placeOf(readSpecText(resolvePath(origin.file)), origin.path).line;
}

/**
 * Resolves the plan for a request. Orders, recipes, knob sets and rule groups may be given by name or by path.
 *
 * @param base specs to resolve from; absent: the shipped ones
 * @returns the plan, or null on errors; and all errors and warnings with their locations
 */
export async function makePlan(
  request: PlanRequest,
  host: ReadonlySet<string> | Host,
  base?: Specs,
): Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }> {
  let files: Awaited<ReturnType<typeof withFiles>>;
  try {
    files = await withFiles(base ?? (await loadShipped()), request);
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    return { plan: null, diagnostics: [...e.diagnostics] };
  }
  const { specs, faults, whole } = files;
  const { plan, issues } = resolve(specs, request, host);
  const diagnostics = await toDiagnostics(issues);
  if (faults.length > 0) return { plan: null, diagnostics: withRest(faults, diagnostics, whole) };
  return { plan: plan === null ? null : { ...plan, warnings: diagnostics }, diagnostics };
}
