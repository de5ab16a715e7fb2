import { nearest } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import { buildIsa } from '../isa/build.ts';
import type { KnobValue } from '../passes/pass.ts';
import type { SpecFile } from './document.ts';
import type { Backend, Origin, Plan, PlanPhase, ResolvedKnob } from './plan.ts';
import type { KnobsSpec, OrderSpec, PhasesSpec } from './types.generated.ts';

/** All specs that a plan may be made of, by kind and name. */
export interface Specs {
  readonly phases: SpecFile;
  readonly constraints: SpecFile;
  readonly knobs: SpecFile;
  readonly isa: readonly SpecFile[];
  readonly orders: ReadonlyMap<string, SpecFile>;
  readonly backends: ReadonlyMap<string, SpecFile>;
  readonly recipes: ReadonlyMap<string, SpecFile>;
  readonly knobSets: ReadonlyMap<string, SpecFile>;
}

/** What the user asks for. */
export interface PlanRequest {
  readonly level: number;
  readonly sm: string;
  readonly order: string;
  readonly recipe: string | null;
  readonly knobSets: readonly string[];
  /** `NAME=VALUE` texts. */
  readonly set: readonly string[];
  readonly disable: readonly string[];
}

/** Something wrong, with a path instead of a place: places are looked up only when there is something to say. */
export interface SpecIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly file: SpecFile | null;
  readonly path: readonly (string | number)[];
  readonly key?: boolean;
  readonly label?: string;
  readonly notes?: readonly string[];
}

type Row = Omit<PhasesSpec.Phase, 'purpose' | 'source'>;
type KnobRow = Pick<KnobsSpec.Knob, 'index' | 'type' | 'range' | 'aliases'> & { readonly default: unknown };

/** A place in the order while it is edited. */
interface Entry {
  readonly id: string;
  readonly name: string;
  readonly origin: { readonly file: SpecFile; readonly path: readonly (string | number)[] };
  readonly dropped: string | null;
  readonly pass?: { readonly pass: string; readonly params: Record<string, unknown> };
  readonly rules?: string;
}

type Edit = OrderSpec.Edit2;

/** Longest chain of `extends`; a longer one is a cycle or a mistake. */
const LONGEST_CHAIN = 16;

/**
 * Resolves specs to a plan: the phase index array is built by name, every knob and fact gets its winning value, and what
 * the result breaks (constraints, IR properties, required phases, unknown names) is reported with the edit that did it.
 *
 * @param passes names of registered passes
 */
export function resolve(
  specs: Specs,
  request: PlanRequest,
  passes: ReadonlySet<string>,
): { plan: Plan | null; issues: SpecIssue[] } {
  const issues: SpecIssue[] = [];
  const error = (
    file: SpecFile | null,
    path: readonly (string | number)[],
    code: string,
    message: string,
    more: Partial<SpecIssue> = {},
  ) => issues.push({ severity: 'error', code, message, file, path, ...more });
  const hint = (word: string, all: Iterable<string>, what: string): string[] => {
    const near = nearest(word, all);
    return near.length > 0 ? [`did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`] : [what];
  };

  if (!Number.isInteger(request.level) || request.level < 0 || request.level > 5)
    error(null, [], 'level', `optimization level ${request.level} is not 0 to 5`);

  // ---------------------------------------------------------------- rows by id
  const rows = (specs.phases.data.phases as readonly Row[]) ?? [];
  const rowAt = new Map<string, number>();
  const seen = new Map<string, number>();
  rows.forEach((r, i) => {
    const n = (seen.get(r.name) ?? 0) + 1;
    seen.set(r.name, n);
    rowAt.set(n === 1 ? r.name : `${r.name}#${n}`, i);
  });
  const rowOf = (id: string): number | undefined => rowAt.get(id) ?? rowAt.get(id.replace(/#\d+$/, ''));

  // ---------------------------------------------------------------- order
  const chain: SpecFile[] = [];
  for (let name: string | undefined = request.order, from: SpecFile | null = null; name !== undefined; ) {
    const f = specs.orders.get(name);
    if (f === undefined) {
      error(from, from === null ? [] : ['extends'], 'unknown-order', `there is no order '${name}'`, {
        notes: hint(
          name,
          specs.orders.keys(),
          `orders are ${[...specs.orders.keys()].join(', ')}; a file is given by its path`,
        ),
      });
      return { plan: null, issues };
    }
    if (chain.includes(f) || chain.length >= LONGEST_CHAIN) {
      error(f, ['extends'], 'order-cycle', `order '${request.order}' extends itself`, {
        notes: [chain.map((x) => x.file).join(' -> ')],
      });
      return { plan: null, issues };
    }
    chain.push(f);
    from = f;
    name = f.data.extends as string | undefined;
  }
  let entries: Entry[] = [];
  for (const f of [...chain].reverse()) {
    const list = f.data.phases as readonly string[] | undefined;
    if (list !== undefined) {
      entries = list.map((id, i) => ({
        id,
        name: id.replace(/#\d+$/, ''),
        origin: { file: f, path: ['phases', i] },
        dropped: null,
      }));
      list.forEach((id, i) => {
        if (rowOf(id) === undefined)
          error(f, ['phases', i], 'unknown-phase', `there is no phase '${id}'`, {
            notes: hint(id, rowAt.keys(), '`orrery phases` lists them'),
          });
      });
      continue;
    }
    ((f.data.edits as readonly Edit[] | undefined) ?? []).forEach((e, i) => {
      entries = applyEdit(entries, e, f, i);
    });
  }

  function applyEdit(list: Entry[], e: Edit, f: SpecFile, i: number): Entry[] {
    const find = (id: string, key: string): number => {
      const at = list.findIndex((x) => x.id.toLowerCase() === id.toLowerCase());
      if (at < 0)
        error(f, ['edits', i, key], 'unknown-phase', `there is no phase '${id}' in the order`, {
          notes: hint(
            id,
            list.map((x) => x.id),
            '`orrery phases` lists them',
          ),
        });
      return at;
    };
    const origin = { file: f, path: ['edits', i] as (string | number)[] };
    const place = (without: Entry[], item: Entry): Entry[] => {
      const anchor = (e.before ?? e.after) as string;
      const at = without.findIndex((x) => x.id.toLowerCase() === anchor.toLowerCase());
      if (at < 0) {
        error(
          f,
          ['edits', i, e.before !== undefined ? 'before' : 'after'],
          'unknown-phase',
          `there is no phase '${anchor}' in the order`,
          {
            notes: hint(
              anchor,
              list.map((x) => x.id),
              '`orrery phases` lists them',
            ),
          },
        );
        return list;
      }
      const to = e.before !== undefined ? at : at + 1;
      return [...without.slice(0, to), item, ...without.slice(to)];
    };
    if (e.move !== undefined) {
      const at = find(e.move, 'move');
      if (at < 0) return list;
      return place(
        list.filter((_, k) => k !== at),
        { ...list[at], origin },
      );
    }
    if (e.drop !== undefined) {
      const at = find(e.drop, 'drop');
      if (at < 0) return list;
      if (e.levels !== undefined && !e.levels.includes(request.level)) return list;
      return list.map((x, k) =>
        k === at
          ? { ...x, dropped: `dropped by the order${e.why === undefined ? '' : `: ${e.why}`}`, origin }
          : x,
      );
    }
    if (e.replace !== undefined) {
      const at = find(e.replace, 'replace');
      if (at < 0) return list;
      if (rowOf(e.with!) === undefined) {
        error(f, ['edits', i, 'with'], 'unknown-phase', `there is no phase '${e.with}'`, {
          notes: hint(e.with!, rowAt.keys(), '`orrery phases` lists them'),
        });
        return list;
      }
      return list.map((x, k) =>
        k === at
          ? { id: fresh(list, e.with!), name: e.with!.replace(/#\d+$/, ''), origin, dropped: null }
          : x,
      );
    }
    if (e.insert !== undefined) {
      if (rowOf(e.insert) === undefined) {
        error(f, ['edits', i, 'insert'], 'unknown-phase', `there is no phase '${e.insert}'`, {
          notes: hint(e.insert, rowAt.keys(), '`orrery phases` lists them'),
        });
        return list;
      }
      return place(list, {
        id: fresh(list, e.insert),
        name: e.insert.replace(/#\d+$/, ''),
        origin,
        dropped: null,
      });
    }
    if (e.insertPass !== undefined) {
      if (!passes.has(e.insertPass)) {
        error(f, ['edits', i, 'insertPass'], 'unknown-pass', `there is no pass '${e.insertPass}'`, {
          notes: hint(e.insertPass, passes, `passes are ${[...passes].join(', ')}`),
        });
        return list;
      }
      return place(list, {
        id: fresh(list, e.insertPass),
        name: e.insertPass,
        origin,
        dropped: null,
        pass: { pass: e.insertPass, params: e.params ?? {} },
      });
    }
    if (e.insertRules !== undefined)
      error(
        f,
        ['edits', i, 'insertRules'],
        'unknown-rules',
        `there is no rule group '${e.insertRules}': no rules are shipped yet`,
      );
    return list;
  }

  // ---------------------------------------------------------------- back end
  const backend = resolveBackend(specs, request.sm, error, hint);
  // ---------------------------------------------------------------- recipe
  let recipe: SpecFile | null = null;
  if (request.recipe !== null) {
    recipe = specs.recipes.get(request.recipe) ?? null;
    if (recipe === null)
      error(null, [], 'unknown-recipe', `there is no recipe '${request.recipe}'`, {
        notes: hint(
          request.recipe,
          specs.recipes.keys(),
          `recipes are ${[...specs.recipes.keys()].join(', ')}; a file is given by its path`,
        ),
      });
  }
  const recipeSm = recipe?.data.sm as readonly string[] | undefined;
  if (recipe !== null && recipeSm !== undefined && !recipeSm.includes(request.sm))
    issues.push({
      severity: 'warning',
      code: 'recipe-sm',
      message: `recipe '${request.recipe}' is for ${recipeSm.join(', ')}, not for ${request.sm}`,
      file: recipe,
      path: ['sm'],
    });

  // ---------------------------------------------------------------- knobs
  const knobs = resolveKnobs(specs, request, backend, recipe, error, hint);

  // ---------------------------------------------------------------- phases of the plan
  const disabled = new Map<
    string,
    { why: string; origin: Origin; file: SpecFile | null; path: readonly (string | number)[] }
  >();
  const disable = (name: string, why: string, file: SpecFile | null, path: readonly (string | number)[]) => {
    const hits = entries.filter((x) => x.id.toLowerCase() === name.toLowerCase());
    if (hits.length === 0)
      error(file, path, 'unknown-phase', `there is no phase '${name}' to disable`, {
        notes: hint(
          name,
          entries.map((x) => x.id),
          '`orrery phases` lists them',
        ),
      });
    for (const h of hits)
      disabled.set(h.id, {
        why,
        origin: { source: file === null ? 'command-line' : 'recipe', file: file?.file ?? '', path },
        file,
        path,
      });
  };
  for (const name of request.disable) disable(name, 'disabled on the command line', null, []);
  const fromRecipe = (recipe?.data.phases as { disable?: readonly string[] } | undefined)?.disable ?? [];
  fromRecipe.forEach((name, i) =>
    disable(name, `disabled by recipe '${request.recipe}'`, recipe, ['phases', 'disable', i]),
  );
  const pattern = knobs.get('DisablePhases');
  if (typeof pattern?.value === 'string')
    for (const part of pattern.value.split('+').filter((x) => x !== ''))
      for (const x of entries)
        if (x.id.toLowerCase().includes(part.toLowerCase()))
          disabled.set(x.id, {
            why: `knob DisablePhases names '${part}'`,
            origin: pattern.origin,
            file: null,
            path: [],
          });
  const named = knobs.get('NamedPhases');
  if (typeof named?.value === 'string') {
    const only = named.value
      .split(named.value.includes('+') ? '+' : ',')
      .map((x) => x.split(/[=,]/)[0].toLowerCase());
    for (const x of entries) {
      const row = rows[rowOf(x.id) ?? -1];
      if (!only.includes(x.id.toLowerCase()) && row?.required !== true)
        disabled.set(x.id, {
          why: 'knob NamedPhases does not name it',
          origin: named.origin,
          file: null,
          path: [],
        });
    }
  }
  const hooks =
    (recipe?.data.hooks as
      | Readonly<
          Record<string, readonly { pass?: string; params?: Record<string, unknown>; rules?: string }[]>
        >
      | undefined) ?? {};
  for (const [name, items] of Object.entries(hooks)) {
    const row = rows[rowOf(name) ?? -1];
    if (row === undefined)
      error(recipe, ['hooks', name], 'unknown-phase', `there is no phase '${name}'`, {
        key: true,
        notes: hint(
          name,
          rows.filter((r) => r.hook !== undefined).map((r) => r.name),
          '',
        ),
      });
    else if (row.hook === undefined)
      error(recipe, ['hooks', name], 'not-a-hook', `phase '${name}' is no hook`, {
        key: true,
        notes: [
          `hooks are ${rows
            .filter((r) => r.hook !== undefined)
            .map((r) => r.name)
            .join(', ')}`,
        ],
      });
    items.forEach((item, i) => {
      if (item.pass !== undefined && !passes.has(item.pass))
        error(recipe, ['hooks', name, i, 'pass'], 'unknown-pass', `there is no pass '${item.pass}'`, {
          notes: hint(item.pass, passes, `passes are ${[...passes].join(', ')}`),
        });
      if (item.rules !== undefined)
        error(
          recipe,
          ['hooks', name, i, 'rules'],
          'unknown-rules',
          `there is no rule group '${item.rules}': no rules are shipped yet`,
        );
    });
  }

  const phases: PlanPhase[] = [];
  for (const x of entries) {
    const at = rowOf(x.id);
    const row: Row =
      x.pass !== undefined
        ? {
            index: null,
            trueIndex: -1,
            name: x.name,
            stage: 0,
            category: 'Optimization',
            status: 'implemented',
            passes: [x.pass],
            ...declaredFor(rows, x.pass.pass),
          }
        : rows[at ?? 0];
    if (at === undefined && x.pass === undefined) continue;
    const hooked = hooks[x.id] ?? hooks[x.name];
    const bound = (row.slot !== undefined ? [] : (row.passes ?? [])).map((p, i) => ({
      pass: p.pass,
      params: p.params ?? {},
      origin: { source: 'phases', file: specs.phases.file, path: ['phases', at ?? 0, 'passes', i] },
    }));
    const extra = (hooked ?? [])
      .filter((h) => h.pass !== undefined)
      .map((h, i) => ({
        pass: h.pass!,
        params: h.params ?? {},
        origin: { source: 'recipe', file: recipe!.file, path: ['hooks', x.name, i] },
      }));
    const declared = extra.map((e) => declaredFor(rows, e.pass));
    const off = disabled.get(x.id);
    if (row.required === true && (off !== undefined || x.dropped !== null)) {
      const why = off?.why ?? x.dropped;
      error(
        off?.file ?? (off === undefined ? x.origin.file : null),
        off?.path ?? x.origin.path,
        'required-phase',
        `phase '${x.id}' is required and cannot be switched off (${why})`,
      );
    }
    const g = row.gate ?? {};
    phases.push({
      position: phases.length,
      index: row.index,
      trueIndex: row.trueIndex < 0 ? null : row.trueIndex,
      name: row.name,
      id: x.id,
      stage: row.stage,
      category: row.category,
      status: row.status,
      statusNote: row.note ?? '',
      passes: [...bound, ...extra],
      rules: row.rules ?? [],
      gate: {
        levels: g.levels ?? null,
        asksLevel: g.asksLevel ?? false,
        unset: g.unset ?? [],
        set: g.set ?? [],
        budget: g.budget ?? [],
        facts: g.facts ?? [],
      },
      knobs: union(row.knobs, ...declared.map((d) => d.knobs)),
      facts: union(row.facts, ...declared.map((d) => d.facts)),
      requires: union(row.requires, ...declared.map((d) => d.requires)),
      provides: row.provides ?? [],
      destroys: row.destroys ?? [],
      hook: row.hook ?? null,
      progress: row.progress ?? null,
      noOp: row.noOp === true && extra.length === 0,
      required: row.required ?? false,
      disabled:
        x.dropped !== null
          ? { why: x.dropped, origin: { source: 'order', file: x.origin.file.file, path: x.origin.path } }
          : off === undefined
            ? null
            : { why: off.why, origin: off.origin },
      origin: { source: 'order', file: x.origin.file.file, path: x.origin.path },
    });
  }
  checkConstraints(
    specs,
    chain.map((f) => orderName(specs, f)),
    entries,
    issues,
  );
  checkProperties(specs, phases, entries, error);
  warnUnread(phases, knobs, issues);

  const { isa, diagnostics } = buildIsa(specs.isa.map((f) => ({ file: f.file, data: f.data })));
  for (const d of diagnostics) {
    const f = specs.isa.find((x) => x.file === d.file) ?? null;
    error(f, ['opcodes', d.message.split(':')[0]], d.code, d.message, { key: true, notes: d.notes });
  }
  if (backend === null || issues.some((i) => i.severity === 'error')) return { plan: null, issues };
  const knobValues = [...knobs.values()]
    .filter((k) => k.overridden.length > 0)
    .map((k) => [k.name, k.value, k.when]);
  const hash = hashText(
    JSON.stringify([
      request.level,
      request.sm,
      phases.map((p) => [
        p.id,
        p.passes.map((b) => [b.pass, b.params]),
        p.rules,
        p.gate,
        p.noOp,
        p.disabled?.why ?? null,
      ]),
      knobValues,
      backend.facts,
      isa.hash,
    ]),
  );
  return {
    plan: {
      hash,
      level: request.level,
      sm: request.sm,
      order: request.order,
      recipe: request.recipe,
      knobSet: request.knobSets.join('+') || null,
      backend,
      isa,
      phases,
      knobs,
      warnings: [],
    },
    issues,
  };
}

const union = (...lists: readonly (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((l) => l ?? [])),
];

/** Knobs, facts and properties that the rows bound to a pass declare for it. */
function declaredFor(
  rows: readonly Row[],
  pass: string,
): { knobs: string[]; facts: string[]; requires: string[] } {
  const users = rows.filter((r) => r.passes?.some((p) => p.pass === pass));
  return {
    knobs: union(...users.map((r) => r.knobs)),
    facts: union(...users.map((r) => r.facts)),
    requires: union(...users.map((r) => r.requires)),
  };
}

/** `name`, or `name#2`, `name#3`, ... if it is taken. */
function fresh(list: readonly Entry[], name: string): string {
  const base = name.replace(/#\d+$/, '');
  let id = base;
  for (let n = 2; list.some((x) => x.id === id); n++) id = `${base}#${n}`;
  return id;
}

type Report = (
  file: SpecFile | null,
  path: readonly (string | number)[],
  code: string,
  message: string,
  more?: Partial<SpecIssue>,
) => void;
type Hint = (word: string, all: Iterable<string>, what: string) => string[];

function resolveBackend(specs: Specs, sm: string, error: Report, hint: Hint): Backend | null {
  const targets = [...specs.backends.values()].filter((f) => f.data.sm !== undefined);
  let f: SpecFile | undefined = targets.find((x) => x.data.sm === sm);
  if (f === undefined) {
    const known = targets.map((x) => String(x.data.sm));
    error(null, [], 'unknown-sm', `there is no back end for '${sm}'`, {
      notes: hint(sm, known, `targets are ${known.join(', ')}`),
    });
    return null;
  }
  const chain: SpecFile[] = [];
  while (f !== undefined) {
    if (chain.includes(f)) {
      error(f, ['extends'], 'backend-cycle', `back end '${f.data.name}' extends itself`);
      return null;
    }
    chain.push(f);
    const up = f.data.extends as string | undefined;
    if (up === undefined) break;
    const next = specs.backends.get(up);
    if (next === undefined)
      error(f, ['extends'], 'unknown-backend', `there is no back end '${up}'`, {
        notes: hint(up, specs.backends.keys(), ''),
      });
    f = next;
  }
  let facts: Record<string, unknown> = {};
  for (const b of chain.reverse()) facts = merge(facts, b.data);
  return { sm, code: Number(facts.code ?? 0), class: String(facts.class ?? ''), facts };
}

/** Maps merge by key, everything else is replaced. */
function merge(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const out: Record<string, unknown> = { ...a };
  for (const [k, v] of Object.entries(b)) {
    const old = out[k];
    const maps = [old, v].every((x) => x !== null && typeof x === 'object' && !Array.isArray(x));
    out[k] = maps ? merge(old as Record<string, unknown>, v as Record<string, unknown>) : v;
  }
  return out;
}

function resolveKnobs(
  specs: Specs,
  request: PlanRequest,
  backend: Backend | null,
  recipe: SpecFile | null,
  error: Report,
  hint: Hint,
): Map<string, ResolvedKnob> {
  const rows = specs.knobs.data.knobs as Readonly<Record<string, KnobRow>>;
  const byName = new Map<string, string>();
  for (const [name, row] of Object.entries(rows))
    for (const n of [name, ...(row.aliases ?? [])]) byName.set(n.toLowerCase(), name);
  const out = new Map<string, ResolvedKnob>();
  for (const [name, row] of Object.entries(rows))
    out.set(name, {
      name,
      index: row.index,
      type: row.type,
      value: row.default as KnobValue,
      origin: { source: 'catalog', file: specs.knobs.file, path: ['knobs', name, 'default'] },
      overridden: [],
      when: null,
    });
  const give = (
    key: string,
    value: unknown,
    file: SpecFile | null,
    path: readonly (string | number)[],
    source: string,
    when: string | null,
  ) => {
    const name = byName.get(key.toLowerCase());
    if (name === undefined) {
      error(file, path, 'unknown-knob', `there is no knob '${key}'`, {
        key: true,
        notes: [
          ...hint(key, [...out.keys()], 'knobs/catalog.yaml lists them'),
          '`orrery plan --all` prints every knob',
        ],
      });
      return;
    }
    const checked = knobValue(rows[name], value);
    if (typeof checked === 'object' && checked !== null && 'problem' in checked) {
      error(
        file,
        path,
        'knob-value',
        `knob ${name} (${rows[name].type}) cannot be ${JSON.stringify(value)}: ${checked.problem}`,
      );
      return;
    }
    const k = out.get(name)!;
    out.set(name, {
      ...k,
      value: checked as KnobValue,
      origin: { source, file: file?.file ?? '', path },
      overridden: [...k.overridden, { value: k.value, origin: k.origin }],
      when,
    });
  };
  const giveAll = (f: SpecFile, source: string) => {
    const when = (f.data.when as { kernel?: string } | undefined)?.kernel ?? null;
    for (const [k, v] of Object.entries((f.data.knobs as Record<string, unknown> | undefined) ?? {}))
      give(k, v, f, ['knobs', k], source, when);
  };
  for (const [k, v] of Object.entries((backend?.facts.knobs as Record<string, unknown> | undefined) ?? {}))
    give(k, v, null, [], 'backend', null);
  if (recipe !== null) giveAll(recipe, 'recipe');
  for (const name of request.knobSets) {
    const f = specs.knobSets.get(name);
    if (f === undefined)
      error(null, [], 'unknown-knob-set', `there is no knob set '${name}'`, {
        notes: hint(
          name,
          specs.knobSets.keys(),
          `knob sets are ${[...specs.knobSets.keys()].join(', ')}; a file is given by its path`,
        ),
      });
    else giveAll(f, 'knob-set');
  }
  for (const text of request.set) {
    const at = text.indexOf('=');
    if (at <= 0) {
      // A flag may stand alone: its presence is its value.
      give(text, true, null, [], 'command-line', null);
      continue;
    }
    give(text.slice(0, at), text.slice(at + 1), null, [], 'command-line', null);
  }
  return out;
}

/** Value of a knob from YAML or from the command line's text, checked against its type and range. */
export function knobValue(row: KnobRow, value: unknown): KnobValue | { readonly problem: string } {
  if (value === null || value === 'unset') return null;
  const number =
    typeof value === 'number'
      ? value
      : typeof value === 'string' && /^[-+]?(0x[0-9a-fA-F]+|\d+(\.\d+)?([eE][-+]?\d+)?)$/.test(value)
        ? Number(value)
        : null;
  const inRange = (n: number): KnobValue | { problem: string } => {
    const [lo, hi] = row.range ?? [null, null];
    if ((lo !== null && n < lo) || (hi !== null && n > hi))
      return { problem: `it must lie in ${lo ?? '-inf'}..${hi ?? 'inf'}` };
    return n;
  };
  switch (row.type) {
    case 'NONE':
      if (value === true || value === 'true' || value === 1 || value === '1') return true;
      if (value === false || value === 'false' || value === 0 || value === '0') return false;
      return { problem: 'it is a flag: true or false' };
    case 'INT':
    case 'BDGT':
      if (typeof value === 'boolean') return inRange(value ? 1 : 0);
      if (number === null || !Number.isInteger(number)) return { problem: 'it is an integer' };
      if (row.type === 'BDGT' && number < 0) return { problem: 'a budget is not negative' };
      return inRange(number);
    case 'FLOAT':
    case 'DBL':
      return number === null ? { problem: 'it is a number' } : inRange(number);
    case 'IRNG': {
      if (number !== null) return [number, number];
      const m = /^(-?\d*)\.\.(-?\d*)$/.exec(String(value));
      if (m === null) return { problem: "it is a range: 'lo..hi', either end may be open" };
      return [
        m[1] === '' ? Number.MIN_SAFE_INTEGER : Number(m[1]),
        m[2] === '' ? Number.MAX_SAFE_INTEGER : Number(m[2]),
      ];
    }
    case 'ILIST':
      if (Array.isArray(value)) return value as number[];
      if (!/^-?\d+(,-?\d+)*$/.test(String(value))) return { problem: "it is a list of integers: '1,2,3'" };
      return String(value).split(',').map(Number);
    default:
      return typeof value === 'string' ? value : String(value);
  }
}

const orderName = (specs: Specs, f: SpecFile): string =>
  [...specs.orders].find(([, x]) => x === f)?.[0] ?? f.file;

/** Every before/after pair must hold for first occurrences of phases that are not dropped. */
function checkConstraints(
  specs: Specs,
  orders: readonly string[],
  entries: readonly Entry[],
  issues: SpecIssue[],
): void {
  const base = orders[orders.length - 1];
  const live = entries.filter((x) => x.dropped === null);
  const at = new Map<string, number>();
  live.forEach((x, i) => {
    if (!at.has(x.name)) at.set(x.name, i);
  });
  const list =
    (specs.constraints.data.constraints as readonly {
      before: string;
      after: string;
      why: string;
      orders?: readonly string[];
      severity?: string;
    }[]) ?? [];
  list.forEach((c) => {
    if (c.orders !== undefined && !c.orders.includes(base)) return;
    const b = at.get(c.before);
    const a = at.get(c.after);
    if (a === undefined || b === undefined || b < a) return;
    // The one that an edit placed is to blame; if neither was, the later listed one.
    const blame =
      live[a].origin.file === live[b].origin.file && live[a].origin.path[0] !== 'edits'
        ? live[b]
        : live[a].origin.path[0] === 'edits'
          ? live[a]
          : live[b];
    issues.push({
      severity: c.severity === 'warning' ? 'warning' : 'error',
      code: 'order-constraint',
      message: `${c.after} stands before ${c.before}`,
      file: blame.origin.file,
      path: blame.origin.path,
      label: c.why,
      notes: [
        blame === live[a]
          ? `nearest legal place: after ${c.before} (position ${b})`
          : `nearest legal place: before ${c.after} (position ${a})`,
      ],
    });
  });
}

/** IR properties along the order: what a bound pass requires must have been provided and not destroyed since. */
function checkProperties(
  specs: Specs,
  phases: readonly PlanPhase[],
  entries: readonly Entry[],
  error: Report,
): void {
  const initial = specs.phases.data.properties as Readonly<Record<string, { initial?: boolean }>>;
  const have = new Set(Object.keys(initial).filter((p) => initial[p].initial === true));
  const lostAt = new Map<string, string>();
  for (const p of phases) {
    if (p.disabled !== null) continue;
    const runs = p.passes.length > 0 || p.rules.length > 0;
    if (runs)
      for (const need of p.requires)
        if (!have.has(need)) {
          const providers = phases
            .filter((x) => x.provides.includes(need))
            .map((x) => `${x.id} (position ${x.position}${x.disabled === null ? '' : ', switched off'})`);
          const e = entries.find((x) => x.id === p.id)!;
          error(
            e.origin.file,
            e.origin.path,
            'ir-property',
            `phase '${p.id}' needs the IR property '${need}', which does not hold there`,
            {
              notes: [
                lostAt.has(need) ? `${lostAt.get(need)} destroys it` : 'nothing before it provides it',
                `provided by ${providers.join(', ') || 'no phase of this order'}`,
              ],
            },
          );
        }
    for (const d of p.destroys) {
      have.delete(d);
      lostAt.set(d, p.id);
    }
    for (const x of p.provides) have.add(x);
  }
}

/** A knob that somebody set and no phase that runs may read changes nothing: say so. */
function warnUnread(
  phases: readonly PlanPhase[],
  knobs: ReadonlyMap<string, ResolvedKnob>,
  issues: SpecIssue[],
): void {
  const read = new Set(['DisablePhases', 'NamedPhases']);
  for (const p of phases)
    if (p.disabled === null && (p.passes.length > 0 || p.rules.length > 0))
      for (const k of p.knobs) read.add(k);
  for (const k of knobs.values())
    if (k.overridden.length > 0 && k.origin.source !== 'backend' && !read.has(k.name))
      issues.push({
        severity: 'warning',
        code: 'knob-unread',
        message: `knob ${k.name} is set (${k.origin.source}), but no phase that runs reads it`,
        file: null,
        path: [],
        notes: [],
      });
}
