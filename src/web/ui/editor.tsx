import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, type Diagnostic as Mark, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Annotation, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  WidgetType,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { completions } from '../model/complete.ts';
import { ptxLanguage } from './ptx-language.ts';
import { about } from './store.ts';

interface Props {
  readonly label: string;
  readonly language: 'ptx' | 'yaml' | 'plain';
  readonly text: string;
  readonly faults: readonly Diagnostic[];
  /** Line that is scrolled into view and marked; 0 for none. */
  readonly line?: number;
  /** Called with a changed text. Absent: the text is read-only. */
  readonly onText?: (text: string) => void;
  /** Kind of spec, for completion. */
  readonly schema?: string;
}

/** Marks a change that came from outside and was not typed. */
const fromOutside = Annotation.define<boolean>();

/** The colours are CSS variables of the page, which apply inside the shadow tree too. */
const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--dim)' },
  { tag: tags.keyword, color: 'var(--token-directive)' },
  { tag: tags.operator, color: 'var(--token-op)' },
  { tag: [tags.variableName, tags.name], color: 'var(--text)' },
  { tag: [tags.labelName, tags.modifier], color: 'var(--token-label)' },
  { tag: [tags.number, tags.bool, tags.atom], color: 'var(--token-num)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--token-num)' },
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--token-op)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '12.5px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--hover)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--hit)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection)',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '6px',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--selected)',
    color: 'var(--text)',
  },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal' },
  '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-diagnostic': { fontFamily: 'var(--mono)', fontSize: '12px', whiteSpace: 'pre-wrap' },
  '.cm-fault': {
    display: 'block',
    color: 'var(--bad)',
    backgroundColor: 'var(--bad-soft)',
    padding: '1px 8px',
    whiteSpace: 'pre-wrap',
  },
  '.cm-fault.warning': { color: 'var(--warn)', backgroundColor: 'var(--warn-soft)' },
});

/** Ranges and messages of diagnostics in a document. */
function marksOf(state: EditorState, faults: readonly Diagnostic[]): Mark[] {
  return faults
    .filter((f) => f.line > 0 && f.line <= state.doc.lines)
    .map((f) => {
      const line = state.doc.line(f.line);
      const from = Math.min(line.to, line.from + Math.max(0, f.column - 1));
      const to = Math.min(line.to, from + Math.max(1, f.length));
      const message = [f.message, f.label, ...(f.notes ?? [])].filter((m) => m !== undefined).join('\n');
      return { from, to: Math.max(from, to), severity: f.severity, message };
    });
}

/** A message under a line. */
class FaultWidget extends WidgetType {
  readonly mark: Mark;
  constructor(mark: Mark) {
    super();
    this.mark = mark;
  }
  override eq(other: FaultWidget): boolean {
    return other.mark.message === this.mark.message && other.mark.severity === this.mark.severity;
  }
  override toDOM(): HTMLElement {
    const box = document.createElement('div');
    box.className = `cm-fault ${this.mark.severity}`;
    box.textContent = this.mark.message;
    return box;
  }
}

const say = StateEffect.define<readonly Mark[]>();

/** Faults under their lines; they move with edits above them until the engine has answered again. */
const faultDecorations = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, tr) {
    const fresh = tr.effects.find((e) => e.is(say));
    if (fresh === undefined) return now.map(tr.changes);
    const widgets = (fresh.value as readonly Mark[]).map((m) =>
      Decoration.widget({ widget: new FaultWidget(m), block: true, side: 1 }).range(
        tr.newDoc.lineAt(m.from).to,
      ),
    );
    return Decoration.set(widgets, true);
  },
  provide: (f) => EditorView.decorations.from(f),
});

function extensionsFor(p: () => Props): Extension[] {
  const { language, label, onText } = p();
  const complete = (c: CompletionContext): CompletionResult | null => {
    const word = c.matchBefore(/[\w#-]*/);
    if (about.value === null || word === null || (word.from === word.to && !c.explicit)) return null;
    const kind = p().schema ?? /^kind: ([\w-]+)/m.exec(c.state.doc.toString())?.[1];
    const options = completions(about.value, c.state.sliceDoc(0, word.from), kind);
    return { from: word.from, options: options.map((o) => ({ ...o })), validFor: /^[\w#-]*$/ };
  };
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    syntaxHighlighting(colours),
    look,
    lintGutter(),
    faultDecorations,
    keymap.of([
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
      ...(language === 'yaml' ? [indentWithTab] : []),
    ]),
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.readOnly.of(onText === undefined),
    language === 'ptx' ? ptxLanguage : language === 'yaml' ? yaml() : [],
    language === 'yaml' ? autocompletion({ override: [complete] }) : [],
    EditorView.updateListener.of((u) => {
      if (u.docChanged && !u.transactions.some((t) => t.annotation(fromOutside) === true))
        p().onText?.(u.state.doc.toString());
    }),
  ];
}

/**
 * CodeMirror in a shadow tree: there it uses style sheets of the tree, which no content security policy has to allow, instead of style
 * elements.
 */
export function Editor(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const now = useRef(props);
  now.current = props;
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const state = EditorState.create({ doc: props.text, extensions: extensionsFor(() => now.current) });
    editor.current = new EditorView({ state, root, parent: root });
    return () => {
      editor.current?.destroy();
      editor.current = null;
    };
  }, [props.language]);
  useEffect(() => {
    const v = editor.current;
    if (v === null) return;
    const old = v.state.doc.toString();
    if (old !== props.text && !v.hasFocus)
      v.dispatch({
        changes: { from: 0, to: old.length, insert: props.text },
        annotations: fromOutside.of(true),
      });
  }, [props.text]);
  useEffect(() => {
    const v = editor.current;
    if (v === null) return;
    const marks = marksOf(v.state, props.faults);
    v.dispatch(setDiagnostics(v.state, marks));
    v.dispatch({ effects: say.of(marks) });
  }, [props.faults, props.text]);
  useEffect(() => {
    const v = editor.current;
    const { line = 0 } = props;
    if (v === null || line < 1 || line > v.state.doc.lines) return;
    const at = v.state.doc.line(line);
    v.dispatch({
      selection: { anchor: at.from },
      effects: EditorView.scrollIntoView(at.from, { y: 'center' }),
    });
  }, [props.line]);
  return (
    <div class="editor">
      <div ref={host} class="editor-host" />
      <Below faults={props.faults} />
    </div>
  );
}

/** Faults without a line. */
const Below = ({ faults }: { readonly faults: readonly Diagnostic[] }) => {
  const rest = faults.filter((f) => f.line === 0);
  return rest.length === 0 ? null : (
    <output class="editor-faults">
      {rest.slice(0, 3).map((f, i) => (
        <div key={i} class={f.severity}>
          {f.message}
          {f.label !== undefined && `: ${f.label}`}
        </div>
      ))}
    </output>
  );
};
