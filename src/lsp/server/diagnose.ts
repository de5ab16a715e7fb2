import type { Connection, Diagnostic as LspDiagnostic, Range } from 'vscode-languageserver';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { visible } from '../../ir/quote.ts';
import { shownPath } from '../../spec/node.ts';
import { inlineFaults } from '../cuda/inline.ts';
import { rangeOf, shifted } from '../document.ts';
import { SEVERITY } from '../kinds.ts';
import { isaOf } from '../names.ts';
import { oriFaults } from '../ori/index.ts';
import { rangeOfFault } from '../ptx/features.ts';
import type { Shown } from '../specs/fixes.ts';
import { isMeant } from '../specs/places.ts';
import { quickFaults } from '../specs/quick.ts';
import type { Background } from '../work/background.ts';
import { type Open, ptxIndexOf, ptxOf, specsNow } from './texts.ts';

/** Milliseconds between a key and the quick check; several keys at once are checked once. */
const SOON = 10;
/** The quick check takes at most one part in this many of the time: a large text is checked less often. */
const SHARE = 4;
/** Milliseconds without a key before the full check. */
const LATER = 250;

/**
 * Publishes the faults of texts as they are typed. A quick check finds what can be found between two keys; everything that `orrery check`
 * says follows from the background. Until then, what only that check had found stays where its lines went.
 */
export class Diagnoser {
  private readonly connection: Connection;
  private readonly background: Background;
  /** Called when a text has been checked fully. */
  private readonly checked: (open: Open) => void;

  constructor(connection: Connection, background: Background, checked: (open: Open) => void) {
    this.connection = connection;
    this.background = background;
    this.checked = checked;
  }

  /** A text was opened or changed. */
  changed(open: Open): void {
    this.background.cancel(keyOf(open));
    if (open.timer !== null) clearTimeout(open.timer);
    open.timer = setTimeout(() => this.logged(this.quick(open)), Math.max(SOON, SHARE * open.took));
  }

  /** Moves faults of the last full check with a change of the text. */
  moved(open: Open, change: Range | undefined, inserted: string): void {
    open.slow = open.slow.flatMap(({ fault, range }) => {
      const now = shifted(range, change, inserted);
      return now === null ? [] : [{ fault, range: now }];
    });
  }

  closed(open: Open): void {
    open.closed = true;
    if (open.timer !== null) clearTimeout(open.timer);
    this.background.cancel(keyOf(open));
    void this.connection.sendDiagnostics({ uri: open.uri, diagnostics: [] });
  }

  private async quick(open: Open): Promise<void> {
    open.timer = null;
    const { version } = open.text;
    const began = performance.now();
    const found = await quickly(open);
    open.took = performance.now() - began;
    if (this.isPast(open, version)) return;
    const quick = shownOf(open, found);
    const known = new Set(quick.map(sameKey));
    const slow = open.slow.flatMap(({ fault, range }) => {
      const shown = { ...fault.shown, range };
      return known.has(sameKey({ ...fault, shown })) ? [] : [{ ...fault, shown }];
    });
    this.publish(open, [...quick, ...slow]);
    open.timer = setTimeout(() => this.logged(this.full(open, quick)), LATER);
  }

  private async full(open: Open, quick: readonly Shown[]): Promise<void> {
    open.timer = null;
    const { version } = open.text;
    if (open.language !== 'cuda' && (open.language !== 'spec' || isMeant(open.text.getText()))) {
      const found = await this.background.run(keyOf(open), { kind: 'check', path: open.path });
      if (found === null || this.isPast(open, version)) return;
      const all = placed(shownOf(open, found), quick);
      const known = new Set(quick.map(sameKey));
      open.slow = all
        .filter((s) => !known.has(sameKey(s)))
        .map((fault) => ({ fault, range: fault.shown.range }));
      this.publish(open, all);
    } else open.slow = [];
    open.full = version;
    this.checked(open);
  }

  /** Whether a check of a version is of no use any more: the text has changed or gone, or another check of it is under way. */
  private isPast(open: Open, version: number): boolean {
    return open.closed || open.text.version !== version || open.timer !== null;
  }

  /** An unexpected fault of a check ends that check alone. */
  private logged(check: Promise<void>): void {
    check.catch((e: unknown) =>
      this.connection.console.error(visible(e instanceof Error ? (e.stack ?? e.message) : String(e))),
    );
  }

  private publish(open: Open, shown: readonly Shown[]): void {
    open.shown = shown;
    const diagnostics = shown.map((s) => s.shown);
    void this.connection.sendDiagnostics({ uri: open.uri, version: open.text.version, diagnostics });
  }
}

const keyOf = (open: Open): string => `check ${open.uri}`;

const sameKey = ({ shown }: Shown): string => JSON.stringify([shown.range, shown.message]);

/** Faults of the full check. One without a place is shown where the quick check found it. */
const placed = (all: readonly Shown[], quick: readonly Shown[]): Shown[] =>
  all.map((s) => {
    const same = (q: Shown): boolean => !q.elsewhere && q.diagnostic.message === s.diagnostic.message;
    return s.elsewhere || s.diagnostic.line > 0 ? s : (quick.find(same) ?? s);
  });

/** Faults that are found between two keys. */
async function quickly(open: Open): Promise<readonly Diagnostic[]> {
  switch (open.language) {
    case 'spec':
      return isMeant(open.text.getText()) ? quickFaults(open.path) : [];
    case 'ptx':
      return ptxOf(open).faults;
    case 'ori': {
      const specs = await specsNow();
      return specs === null ? [] : oriFaults(open.path, open.text.getText(), isaOf(specs));
    }
    case 'cuda':
      return inlineFaults(open.path, open.text.getText());
  }
}

/** Faults as the client gets them. Those of other files, on which the text depends, are shown in its first line. */
function shownOf(open: Open, faults: readonly Diagnostic[]): Shown[] {
  const own = shownPath(open.path);
  return faults.map((diagnostic) => {
    const { file } = diagnostic;
    const elsewhere = file !== '' && file !== own && file !== open.path;
    const range = elsewhere
      ? rangeOf({ line: 0, column: 0, length: 0 })
      : open.language === 'ptx'
        ? rangeOfFault(open, ptxIndexOf(open), diagnostic)
        : rangeOf(diagnostic);
    return { diagnostic, shown: lspOf(diagnostic, range, elsewhere), elsewhere };
  });
}

function lspOf(d: Diagnostic, range: Range, elsewhere: boolean): LspDiagnostic {
  const place = elsewhere ? `${d.file}${d.line > 0 ? `:${d.line}` : ''}: ` : '';
  const lines = [`${place}${d.message}`, ...(d.label === undefined ? [] : [d.label]), ...(d.notes ?? [])];
  return {
    range,
    severity: d.severity === 'error' ? SEVERITY.error : SEVERITY.warning,
    code: d.code,
    source: 'orrery',
    message: lines.join('\n'),
  };
}
