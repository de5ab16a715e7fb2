import type { Range } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { planOf } from '../../core.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import type { Program } from '../../ir/program.ts';
import { readOri, readPtx, targetFor, targetOf } from '../../read.ts';
import { loadShipped } from '../../spec/node.ts';
import type { Specs } from '../../spec/specs.ts';
import type { Doc } from '../document.ts';
import { isaOf } from '../names.ts';
import { indexOri, type OriIndex } from '../ori/index.ts';
import { type PtxRead, readPtxText } from '../ptx/features.ts';
import { indexOf, type PtxIndex } from '../ptx/index.ts';
import type { Shown } from '../specs/fixes.ts';

/** A text that is open, and what is known of it. */
export interface Open extends Doc {
  text: TextDocument;
  /** Faults as they were published last. */
  shown: readonly Shown[];
  /** Faults that only the full check finds, where they are now. */
  slow: readonly { readonly fault: Shown; readonly range: Range }[];
  /** Version of the text that was fully checked last. */
  full: number;
  timer: NodeJS.Timeout | null;
  /** Whether the client has closed it: nothing is published of it any more. */
  closed: boolean;
  /** Milliseconds that the last quick check took. */
  took: number;
  /** Results that are kept for one version of the text. */
  ptx: { readonly version: number; readonly read: PtxRead } | null;
  ori: { readonly version: number; readonly index: OriIndex } | null;
  program: { readonly version: number; readonly program: Program | null } | null;
}

export const opened = (doc: Doc): Open => ({
  ...doc,
  shown: [],
  slow: [],
  full: -1,
  timer: null,
  closed: false,
  took: 0,
  ptx: null,
  ori: null,
  program: null,
});

/** The PTX of a document as it is now. */
export function ptxOf(open: Open): PtxRead {
  const { version } = open.text;
  if (open.ptx?.version !== version)
    open.ptx = { version, read: readPtxText(open.path, open.text.getText()) };
  return open.ptx.read;
}

export const ptxIndexOf = (open: Open): PtxIndex => indexOf(ptxOf(open).module);

export function oriIndexOf(open: Open, specs: Specs): OriIndex {
  const { version } = open.text;
  if (open.ori?.version !== version)
    open.ori = { version, index: indexOri(open.text.getText(), isaOf(specs)) };
  return open.ori.index;
}

/** Lines of the largest text that is lowered between two keys. */
const MOST_LOWERED = 4000;

/** The program of a text before any phase; null if it has faults or is large. */
export function programOf(open: Open, specs: Specs): Program | null {
  const { version } = open.text;
  if (open.program?.version === version) return open.program.program;
  const make = (): Program | null => {
    if (open.text.lineCount > MOST_LOWERED) return null;
    try {
      const text = open.text.getText();
      const plan = planOf(specs, { sm: targetFor(specs, targetOf(text) ?? 'sm_75').sm });
      return (open.language === 'ori' ? readOri : readPtx)(text, plan, open.path).program;
    } catch (e) {
      if (e instanceof DiagnosticError) return null;
      throw e;
    }
  };
  open.program = { version, program: make() };
  return open.program.program;
}

let lastSpecs: Specs | null = null;

/** The specs as they are now; while one of them is being edited and has errors, those of before. Null if there never were any. */
export async function specsNow(): Promise<Specs | null> {
  try {
    lastSpecs = await loadShipped();
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
  }
  return lastSpecs;
}
