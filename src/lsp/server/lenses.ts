import type { CodeLens, InlayHint, Range } from 'vscode-languageserver';
import { percent } from '../../lab/render/table.ts';
import { placeOf } from '../../spec/places.ts';
import { between, rangeOf } from '../document.ts';
import { kindOf } from '../specs/places.ts';
import type { Background } from '../work/background.ts';
import { type Effect, HAS_EFFECT } from '../work/effect.ts';
import type { Fires } from '../work/fires.ts';
import type { Hint } from '../work/hints.ts';
import type { KernelFigures } from '../work/kernels.ts';
import type { Settings } from './settings.ts';
import { type Open, ptxIndexOf } from './texts.ts';

/** Commands that the server runs for a client (`workspace/executeCommand`). */
export const COMMANDS = {
  /** Opens the A/B report of a spec over the kernels of the setting. */
  ab: 'orrery.ab',
  /** Shows what became of a line. */
  line: 'orrery.line',
  /** Runs the launch of a kernel. */
  run: 'orrery.run',
  /** Opens the explorer on a file. */
  explore: 'orrery.explore',
} as const;

/** What the background found out about a text, and for which version. */
interface Known {
  readonly version: number;
  readonly kernels: readonly KernelFigures[];
  readonly effects: readonly Effect[];
  readonly fires: readonly Fires[];
  readonly hints: readonly Hint[];
  /** Whether more is to come. */
  readonly busy: boolean;
}

const NOTHING: Known = { version: -1, kernels: [], effects: [], fires: [], hints: [], busy: false };

/** Milliseconds between two refreshes of lenses while a measurement goes on. */
const REFRESH = 1000;

/** Lenses and hints: asked for after a full check, computed in the background, cancelled by the next key. */
export class Lenses {
  private readonly background: Background;
  private readonly settings: () => Settings;
  private readonly folder: () => string;
  /** Asks the client to request lenses and hints again. */
  private readonly refresh: () => void;
  private readonly known = new Map<string, Known>();
  private lastRefresh = 0;

  constructor(background: Background, settings: () => Settings, folder: () => string, refresh: () => void) {
    this.background = background;
    this.settings = settings;
    this.folder = folder;
    this.refresh = refresh;
  }

  /** A text changed: what is measured of it is out of date. */
  changed(open: Open): void {
    for (const what of ['kernels', 'effect', 'fires', 'hints']) this.background.cancel(`${what} ${open.uri}`);
  }

  closed(open: Open): void {
    this.changed(open);
    this.known.delete(open.uri);
  }

  /** Begins to measure a text without errors. */
  async measure(open: Open): Promise<void> {
    const { version } = open.text;
    const { lenses, kernels, hints } = this.settings();
    const add = (more: Partial<Known>): void => {
      if (open.closed || open.text.version !== version) return;
      const before = this.known.get(open.uri);
      const base = before?.version === version ? before : { ...NOTHING, version };
      this.known.set(open.uri, { ...base, ...more });
      if (more.busy === true && Date.now() - this.lastRefresh < REFRESH) return;
      this.lastRefresh = Date.now();
      this.refresh();
    };
    if (open.shown.some((s) => s.diagnostic.severity === 'error')) return;
    const { path, uri } = open;
    if (open.language === 'ptx') {
      if (lenses) {
        const found = await this.background.run(`kernels ${uri}`, { kind: 'kernels', path });
        if (found === null) return;
        add({ kernels: found });
      }
      if (hints.length === 0) return;
      const found = await this.background.run(`hints ${uri}`, { kind: 'hints', path });
      if (found !== null) add({ hints: found });
      return;
    }
    if (open.language !== 'spec') return;
    const kind = kindOf(open.text.getText()) ?? '';
    if (!lenses || kernels.length === 0) return;
    if (kind === 'rules') {
      const job = { kind: 'fires', path, kernels, base: this.folder() } as const;
      const found = await this.background.run(`fires ${uri}`, job, (fires) => add({ fires, busy: true }));
      if (found !== null) add({ fires: found, busy: false });
    }
    if (!HAS_EFFECT.has(kind)) return;
    const job = { kind: 'effect', path, kernels, base: this.folder() } as const;
    const found = await this.background.run(`effect ${uri}`, job, (effects) => add({ effects, busy: true }));
    if (found !== null) add({ effects: found, busy: false });
  }

  /** The lenses of a text. Figures of an older version are not shown. */
  lensesOf(open: Open): CodeLens[] {
    const known = this.known.get(open.uri);
    if (known === undefined || known.version !== open.text.version || !this.settings().lenses) return [];
    if (open.language === 'ptx') return kernelLenses(open, known.kernels);
    if (known.fires.length > 0) return fireLenses(open, known.fires, known.busy);
    return known.effects.map((e) => ({
      range: effectRange(open, e),
      command: { title: effectText(e, known.busy), command: COMMANDS.ab, arguments: [open.uri, ...e.path] },
    }));
  }

  /** The hints of a range of a text. */
  hintsOf(open: Open, range: Range): InlayHint[] {
    const known = this.known.get(open.uri);
    const { hints } = this.settings();
    if (known === undefined || known.version !== open.text.version) return [];
    const lines = new Map<number, Hint[]>();
    for (const h of known.hints) {
      const line = h.line - 1;
      if (line < range.start.line || line > range.end.line || !hints.includes(h.kind)) continue;
      lines.set(line, [...(lines.get(line) ?? []), h]);
    }
    return [...lines].map(([line, list]) => {
      const end = open.text.positionAt(open.text.offsetAt({ line: line + 1, character: 0 }) - 1);
      const at = end.line === line ? end : open.text.positionAt(open.text.getText().length);
      return { position: at, label: list.map((h) => h.text).join('; '), paddingLeft: true };
    });
  }
}

function kernelLenses(open: Open, figures: readonly KernelFigures[]): CodeLens[] {
  const index = ptxIndexOf(open);
  return figures.flatMap((k) => {
    const symbol = index.root.names.get(k.kernel);
    if (symbol === undefined) return [];
    const range = between(open.text, symbol.start, symbol.end);
    const text = `${k.before} -> ${k.after} instructions, ${k.registers} registers, occupancy ${k.occupancy} % (${k.sm})`;
    const lens = (title: string, command: string): CodeLens => ({
      range,
      command: { title, command, arguments: [open.uri, k.kernel, k.launch] },
    });
    return [lens(text, COMMANDS.explore), ...(k.launch === '' ? [] : [lens('run its launch', COMMANDS.run)])];
  });
}

/** A lens over each rule: 'fires 14 times in 6 of 77 functions'. */
function fireLenses(open: Open, fires: readonly Fires[], busy: boolean): CodeLens[] {
  const text = open.text.getText();
  return fires.map((f, i) => {
    const so = busy ? ' so far' : '';
    const title =
      f.times === 0
        ? `fires in none of ${f.of} functions${so}`
        : `fires ${f.times === 1 ? 'once' : `${f.times} times`} in ${f.kernels} of ${f.of} functions${so}`;
    // A lens without a command is only read.
    return { range: rangeOf(placeOf(text, ['rules', i])), command: { title, command: '' } };
  });
}

function effectRange(open: Open, { path }: Effect): Range {
  if (path.length === 0) return rangeOf({ line: 0, column: 0, length: 0 });
  return rangeOf(placeOf(open.text.getText(), path, true));
}

/** What a spec or one of its entries does, in one line: 'changes 12 of 77 kernels, executed -1.20 %, worst +0.40 % (md5)'. */
export function effectText(e: Effect, busy: boolean): string {
  const what = e.by === 'warp-instructions' ? 'executed' : 'estimated instructions';
  const so = busy ? ` (of ${e.compared} so far)` : '';
  if (e.changed === 0) return `changes none of ${e.of} kernels${so}`;
  const worst = e.worst > 1 ? `, worst ${percent(e.worst)} (${e.worstKernel})` : ', none worse';
  return `changes ${e.changed} of ${e.of} kernels${so}, ${what} ${percent(e.mean)}${worst}`;
}
