import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import {
  SPEC_KINDS,
  type SpecKind,
  specTemplate,
  withDocument,
  withoutDocument,
} from '../model/documents.ts';
import { Editor } from './editor.tsx';
import { FaultList } from './faults.tsx';
import { engineOf, faults, live, open, run, source } from './store.ts';
import { classes } from './words.ts';

const chosen = signal('');
/** Pause in typing after which the engine is asked, in milliseconds. */
const PAUSE = 300;

/** Specs of the user: orders, recipes, knob sets and rules, edited as YAML. */
export function Specs() {
  const s = source.value;
  const [own, setOwn] = useState<readonly Diagnostic[]>([]);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), [s?.file]);
  if (!live.value) return <Recorded />;
  if (s === null) return <p class="empty">Open a kernel first.</p>;
  const names = Object.keys(s.documents);
  const name = names.includes(chosen.value) ? chosen.value : (names[0] ?? '');
  const add = (kind: SpecKind): void => {
    const { file, text } = specTemplate(kind, s);
    chosen.value = file;
    void open(withDocument(s, file, text));
  };
  const drop = (): void => void open(withoutDocument(s, name));
  const changed = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(async () => {
      const now = source.value;
      if (now === null || now.documents[name] === text) return;
      const found = await engineOf().ask('checkSpec', { file: name, text });
      setOwn(found);
      // A text without the form of a spec would only hide the last result.
      if (found.every((f) => f.severity !== 'error')) void open(withDocument(now, name, text));
    }, PAUSE);
  };
  const shown = [...own, ...faults.value.filter((f) => f.file === name)];
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
              setOwn([]);
            }}
          >
            {n}
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
            Begin one on the left, or drag a phase in the pipeline: the order that this makes stands here
            then, ready to be saved as a file for `orrery opt --order`.
          </p>
        </div>
      ) : (
        <div class="spec-edit">
          <Editor
            key={name}
            label={name}
            language="yaml"
            text={s.documents[name]}
            faults={shown}
            onText={changed}
            schema={/^kind: ([\w-]+)/m.exec(s.documents[name])?.[1]}
          />
          <div class="spec-foot">
            {shown.length === 0 ? (
              <p class="dim">Nothing is wrong with it; it is part of the plan.</p>
            ) : (
              <FaultList faults={shown} />
            )}
            <button type="button" onClick={drop}>
              Remove {name}
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

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
