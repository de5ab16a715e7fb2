import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { Location, Range } from 'vscode-languageserver';
import type { SpecFile } from '../../spec/document.ts';
import { isPath, ROOT, shippedFiles } from '../../spec/node.ts';
import { heldText } from '../../spec/node-held.ts';
import type { Specs } from '../../spec/specs.ts';
import { type Doc, uriOfPath } from '../document.ts';
import { type Category, knobCalled, rowsOf } from '../names.ts';
import { categoryAt, DEFINES, SLOTS, slotsOf } from '../slots.ts';
import { kindOf, parsed, type Spot, spotAt, spotsOf } from './places.ts';

/** A name in a spec, and what it stands for. */
interface Reference {
  readonly category: Category | 'rule';
  readonly name: string;
  readonly spot: Spot;
  /** Whether the name is defined here. */
  readonly defines: boolean;
}

/** What the scalar at a spot names; undefined if it is no name. */
function referenceOf(kind: string, spot: Spot): Reference | undefined {
  const { path, isKey, value } = spot;
  if (kind === 'rules' && path.length === 3 && path[0] === 'rules' && path[2] === 'id' && !isKey)
    return { category: 'rule', name: value, spot, defines: true };
  if (kind === 'reviews' && path[0] === 'reviews' && path[2] === 'rule' && !isKey)
    return { category: 'rule', name: value, spot, defines: false };
  if (kind === 'ptxas-faults' && path[0] === 'faults' && path[2] === 'rules' && path.length === 4)
    return { category: 'rule', name: value, spot, defines: false };
  const defined = categoryAt(kind, path, isKey, DEFINES);
  if (defined !== undefined) return { category: defined, name: value, spot, defines: true };
  const used = categoryAt(kind, path, isKey, SLOTS);
  return used === undefined ? undefined : { category: used, name: value, spot, defines: false };
}

/** The name at an offset of a spec. */
export function referenceAt(doc: Doc, offset: number): Reference | undefined {
  const text = doc.text.getText();
  const kind = kindOf(text);
  const spot = kind === undefined ? undefined : spotAt(text, offset);
  return spot === undefined ? undefined : referenceOf(kind!, spot);
}

/** Two names of a category are the same: phases by name without their number, knobs in any case and by alias. */
function sameName(category: Reference['category'], specs: Specs): (a: string) => string {
  if (category === 'knob') return (a) => knobCalled(specs, a) ?? a;
  if (category === 'phase' || category === 'hook') return (a) => a.replace(/#\d+$/, '').toLowerCase();
  return (a) => a;
}

const oneOf = (c: Reference['category']): string => (c === 'hook' ? 'phase' : c);

/** The text of a file as an editor has it, or else as it is on disk; null if it cannot be read. */
function textOf(path: string): string | null {
  try {
    return heldText(path) ?? readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The files in which a name may be used: those that ship, and YAML files beside the document. */
function filesFor(doc: Doc): string[] {
  const folder = dirname(doc.path);
  let beside: string[] = [];
  try {
    beside = readdirSync(folder)
      .filter((f) => /\.ya?ml$/.test(f))
      .map((f) => join(folder, f));
  } catch {
    // The document has no folder yet.
  }
  return [...new Set([doc.path, ...beside, ...shippedFiles()])];
}

const rangeIn = (text: string, spot: Spot): Range => {
  const at = (offset: number) => {
    const before = text.lastIndexOf('\n', offset - 1);
    let line = 0;
    for (let i = text.indexOf('\n'); i >= 0 && i < offset; i = text.indexOf('\n', i + 1)) line++;
    return { line, character: offset - before - 1 };
  };
  // Quotes are no part of the name.
  const quoted = /["']/.test(text[spot.start]) ? 1 : 0;
  return { start: at(spot.start + quoted), end: at(spot.end - quoted) };
};

/** Whether specs of a kind define names of a category. */
const defines = (kind: string, category: Reference['category']): boolean =>
  category === 'rule' ? kind === 'rules' : slotsOf(kind, DEFINES).some(([, c]) => c === oneOf(category));

/**
 * Every place where a name is used or defined.
 *
 * @param onlyWhereDefined whether only files of kinds that define such names are read
 */
export function placesOf(
  doc: Doc,
  ref: Reference,
  specs: Specs,
  onlyWhereDefined = false,
): (Location & { defines: boolean })[] {
  const canonical = sameName(ref.category, specs);
  const wanted = canonical(ref.name);
  const short = ref.name.replace(/#\d+$/, '').toLowerCase();
  const words = ref.category === 'knob' ? [short, wanted.toLowerCase()] : [short];
  return filesFor(doc).flatMap((path) => {
    const text = textOf(path);
    if (text === null) return [];
    const lower = text.toLowerCase();
    const kind = words.some((w) => lower.includes(w)) ? kindOf(text) : undefined;
    if (kind === undefined || (onlyWhereDefined && !defines(kind, ref.category))) return [];
    const yaml = parsed(text);
    if (yaml === null) return [];
    return spotsOf(yaml).flatMap((spot) => {
      const r = referenceOf(kind, spot);
      if (r === undefined || oneOf(r.category) !== oneOf(ref.category) || canonical(r.name) !== wanted)
        return [];
      return [{ uri: uriOfPath(path), range: rangeIn(text, spot), defines: r.defines }];
    });
  });
}

/** Where a name is defined: its row or file; of a phase also the files of its passes and their tests. */
export function definitionsOf(doc: Doc, ref: Reference, specs: Specs): Location[] {
  const start = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const file = (path: string): Location[] =>
    existsSync(path) || heldText(path) !== undefined ? [{ uri: uriOfPath(path), range: start }] : [];
  const ofSpec = (f: SpecFile | undefined): Location[] => (f === undefined ? [] : file(resolve(f.file)));
  if (isPath(ref.name) && ref.category !== 'fact') return file(resolve(dirname(doc.path), ref.name));
  switch (ref.category) {
    case 'order':
      return ofSpec(specs.orders.get(ref.name));
    case 'recipe':
      return ofSpec(specs.recipes.get(ref.name));
    case 'knob-set':
      return ofSpec(specs.knobSets.get(ref.name));
    case 'backend':
      return ofSpec(specs.backends.get(ref.name));
    case 'target':
      return ofSpec([...specs.backends.values()].find((f) => f.data.sm === ref.name));
    case 'pass':
      return filesOfPass(ref.name).flatMap(file);
    case 'fact':
      return factPlaces(ref.name, specs);
    default:
  }
  const rows = placesOf(doc, ref, specs, true).filter((p) => p.defines);
  const passes = oneOf(ref.category) === 'phase' ? passesOfRow(specs, ref.name) : [];
  return [...rows.map(({ uri, range }) => ({ uri, range })), ...passes.flatMap(filesOfPass).flatMap(file)];
}

/** The passes that the row of a phase runs, those of its repetitions included. */
function passesOfRow(specs: Specs, id: string): string[] {
  const row = rowsOf(specs).find((p) => p.name === id.replace(/#\d+$/, ''));
  const passes = (list: readonly { pass?: string; repeat?: readonly unknown[] }[] = []): string[] =>
    list.flatMap((s) => [
      ...(s.pass === undefined ? [] : [s.pass]),
      ...passes((s.repeat ?? []) as readonly { pass?: string }[]),
    ]);
  return [...new Set(passes(row?.steps))];
}

/** Files of the sources by name; empty where Orrery is installed without them. */
let sources: readonly string[] | null = null;

/** The file of a pass, and its tests; none where Orrery is installed without its sources. */
function filesOfPass(name: string): string[] {
  sources ??= ['src/passes', 'test/passes', 'test/ori'].flatMap((folder) => {
    const full = join(ROOT, ...folder.split('/'));
    if (!existsSync(full)) return [];
    return readdirSync(full, { recursive: true, encoding: 'utf8' }).map((f) => join(full, f));
  });
  const passes = sources.filter((f) => f.endsWith(`${sep}${name}.ts`));
  const tests = sources.filter((f) => f.includes(`${sep}test${sep}`) && f.includes(`${sep}${name}`));
  return [...passes, ...tests.filter((f) => /\.(ts|ori)$/.test(f) && !passes.includes(f))];
}

/** Where back ends state a fact. */
function factPlaces(name: string, specs: Specs): Location[] {
  const steps = name.split('.');
  return [...specs.backends.values()].flatMap((f) => {
    const path = resolve(f.file);
    const text = textOf(path);
    const yaml = text === null ? null : parsed(text);
    if (yaml === null) return [];
    return spotsOf(yaml)
      .filter((s) => s.isKey && s.path.join('.') === steps.join('.'))
      .map((s) => ({ uri: uriOfPath(path), range: rangeIn(text!, s) }));
  });
}

/** Categories whose names belong to the specs alone; names of phases, passes, knobs and facts occur in code too. */
const RENAMED: ReadonlySet<Reference['category']> = new Set(['rule', 'group', 'step-list', 'property']);

/** Why a name cannot be renamed; null if it can. */
export function whyKept(ref: Reference | undefined): string | null {
  if (ref === undefined) return 'there is no name here that can be renamed';
  const isFile = isPath(ref.name) || ['order', 'recipe', 'knob-set', 'backend'].includes(ref.category);
  if (RENAMED.has(ref.category) && !isFile) return null;
  if (isFile && ref.category !== 'fact') return `'${ref.name}' is the name of a file: rename the file`;
  return `'${ref.name}' is the name of a ${ref.category}, which code and traces use too`;
}

/** What a new name must be like; null if it is. */
export const whyNoName = (name: string): string | null =>
  /^[a-z][a-z0-9-]*$/.test(name)
    ? null
    : `'${name}' is no name: small letters, digits and dashes, as in 'add-of-zero'`;
