import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import {
  notUsingDocument,
  SPEC_KINDS,
  type SpecKind,
  specTemplate,
  usesDocument,
  usingDocument,
  withDocument,
  withoutDocument,
} from '../model/documents.ts';
import { Editor } from './editor.tsx';
import { FaultList } from './faults.tsx';
import { save } from './save.ts';
import { applyTyped, engineOf, faults, forgetTyped, live, open, run, source, takeTyped } from './store.ts';
import { classes } from './words.ts';

const chosen = signal('');

/** Result of checking a typed text. */
interface Checked {
  /** The text, if it has faults and so is not part of the spec yet; else null. */
  readonly text: string | null;
  readonly found: readonly Diagnostic[];
}

/** By kernel and spec. It is kept while another view is shown. */
const checked = signal<ReadonlyMap<string, Checked>>(new Map());
/** Pause in typing after which a request is sent to the engine, in milliseconds. */
const PAUSE = 300;

/** Specs of the user: orders, recipes, knob sets and rules, edited as YAML. */
export function Specs() {
  const s = source.value;
  // Typed text is not lost when another view is shown.
  useEffect(() => () => void applyTyped(), []);
  if (!live.value) return <Recorded />;
  if (s === null) return <p class="empty">Open a kernel first.</p>;
  const names = Object.keys(s.documents);
  const name = names.includes(chosen.value) ? chosen.value : (names[0] ?? '');
  const add = (kind: SpecKind): void => {
    const { file, text } = specTemplate(kind, s);
    chosen.value = file;
    void open(withDocument(s, file, text));
  };
  const key = `${s.file}\n${name}`;
  const setChecked = (c: Checked): void => {
    checked.value = new Map(checked.value).set(key, c);
  };
  const drop = (): void => {
    forgetTyped();
    setChecked({ text: null, found: [] });
    void open(withoutDocument(s, name));
  };
  const use = (e: { readonly currentTarget: HTMLInputElement }): void => {
    const { checked: on } = e.currentTarget;
    void applyTyped().then(() => {
      const now = source.value;
      if (now?.file === s.file) return open(on ? usingDocument(now, name) : notUsingDocument(now, name));
      return undefined;
    });
  };
  const changed = (text: string): void =>
    takeTyped(async () => {
      const before = source.value?.documents[name];
      if (source.value?.file !== s.file || before === undefined || before === text) return true;
      const found = await engineOf().ask('checkSpec', { file: name, text });
      // Applying a text without the form of a spec would only hide the last result.
      const wrong = found.some((f) => f.severity === 'error');
      setChecked({ text: wrong ? text : null, found });
      if (wrong) return false;
      const now = source.value;
      if (now !== null && now.file === s.file) await open(withDocument(now, name, text));
      return true;
    }, PAUSE);
  const { text: unfinished = null, found = [] } = checked.value.get(key) ?? {};
  const shown = [...found, ...faults.value.filter((f) => f.file === name)];
  return (
    <section class="specs" aria-label="Specs">
      <div class="spec-list">
        <h2>Your specs</h2>
        {names.map((n) => (
          <button
            key={n}
            type="button"
            class={classes('row', n === name && 'selected')}
            onClick={() => {
              chosen.value = n;
            }}
          >
            {n}
            {!usesDocument(s, n) && <span class="dim"> not used</span>}
          </button>
        ))}
        <h2>New</h2>
        {SPEC_KINDS.map((k) => (
          <button key={k} type="button" class="row" onClick={() => add(k)}>
            + {k}
          </button>
        ))}
      </div>
      {name === '' ? (
        <div class="empty">
          <p>
            <b>Orders, recipes, knob sets and rules change what the pipeline does.</b>
          </p>
          <p>
            Begin one on the left: it comes with a sample, which the plan uses when you say so. Or drag a
            phase in the pipeline: the order that this makes stands here then, ready to be saved as a file for
            `orrery opt --order`.
          </p>
        </div>
      ) : (
        <div class="spec-edit">
          <Editor
            key={name}
            label={name}
            language="yaml"
            text={unfinished ?? s.documents[name]}
            faults={shown}
            onText={changed}
            schema={/^kind: ([\w-]+)/m.exec(s.documents[name])?.[1]}
          />
          <div class="spec-foot">
            {shown.length > 0 ? (
              <FaultList faults={shown} />
            ) : (
              <p class="dim">
                Its form is right; the plan {usesDocument(s, name) ? 'uses it.' : 'does not use it yet.'}
              </p>
            )}
            <div class="actions">
              <label class="check">
                <input type="checkbox" checked={usesDocument(s, name)} onChange={use} />
                use it in the plan
              </label>
              <button
                type="button"
                onClick={() => void applyTyped().then(() => save(name, unfinishedOr(key, name)))}
              >
                Save {name}
              </button>
              <button type="button" onClick={drop}>
                Remove {name}
              </button>
            </div>
          </div>
        </div>
      )}
    </section>
  );
}

/** The text of a spec as it was typed, with its faults if it has any. */
const unfinishedOr = (key: string, name: string): string =>
  checked.value.get(key)?.text ?? source.value?.documents[name] ?? '';

const Recorded = () => {
  const documents = Object.entries(run.value?.source.documents ?? {});
  return documents.length === 0 ? (
    <p class="empty">
      The recording was made with the specs that ship: no order, recipe or knob set of its own.
    </p>
  ) : (
    <div class="page" tabIndex={0} role="group" aria-label="Specs of the recording">
      {documents.map(([name, text]) => (
        <div key={name}>
          <h2>{name}</h2>
          <pre>{text}</pre>
        </div>
      ))}
    </div>
  );
};
