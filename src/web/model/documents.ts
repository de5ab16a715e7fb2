import { match } from 'ts-pattern';
import { produce } from '../../spec/state.ts';
import type { Source } from '../recording.ts';

/** Kinds of specs that can be created on a page. */
export const SPEC_KINDS = ['order', 'recipe', 'knob-set', 'rules'] as const;
export type SpecKind = (typeof SPEC_KINDS)[number];

const TEMPLATES: Readonly<Record<SpecKind, (s: Source, sm: string) => string>> = {
  order: (s) => `kind: order
title: what this order is for
extends: ${s.request.order in s.documents ? 'binary' : s.request.order}
edits:
  - { insert: OriBranchOpt, after: OriPerformLiveDeadSecond, why: dead code leaves empty blocks behind }
`,
  recipe: (_, sm) => `kind: recipe
title: what this recipe is for
sm: [${sm}]
level: 3
knobs: {}
hooks:
  AdvancedPhaseAfterConvUnSup: [{ pass: live-dead }]
`,
  'knob-set': () => `kind: knob-set
title: what this set is for
knobs:
  DisableMergeEquivalentConditionalFlow: true
`,
  rules: () => `kind: rules
group: mine
title: rules to try
rules:
  - id: my-double-as-shift
    title: x + x = x << 1
    match: IADD3 $d, $x, $x, 0
    rewrite: SHL $d, $x, 1
    source: tried in the explorer
`,
};

/** A new spec of a kind, under an unused name. */
export function specTemplate(kind: SpecKind, s: Source): { readonly file: string; readonly text: string } {
  const sm = s.request.sm ?? /^[^\S\n\r\u2028\u2029]*\.target\s+(sm_\d+)/m.exec(s.text)?.[1] ?? 'sm_90';
  const names = new Set(Object.keys(s.documents));
  let n = 1;
  const nameOf = (): string => `my-${kind}${n === 1 ? '' : `-${n}`}.yaml`;
  while (names.has(nameOf())) n++;
  return { file: nameOf(), text: TEMPLATES[kind](s, sm) };
}

/** A source with a document added or replaced. Whether the plan uses it stays as it was. */
export const withDocument = (source: Source, file: string, text: string): Source =>
  produce(source, ({ documents }) => {
    documents[file] = text;
  });

/** A source whose plan uses one of its documents, if documents of its kind can be used. */
export const usingDocument = (source: Source, file: string): Source =>
  produce(source, ({ documents, request }) => {
    match(/^kind: ([\w-]+)/m.exec(documents[file])?.[1])
      .with('order', () => {
        request.order = file;
      })
      .with('recipe', () => ask(request.recipes, file))
      .with('knob-set', () => ask(request.knobSets, file))
      .with('rules', () => ask(request.rules, file))
      .otherwise(() => {});
  });

function ask(list: string[], file: string): void {
  if (!list.includes(file)) list.push(file);
}

/** A source whose plan does not use one of its documents. */
export const notUsingDocument = (source: Source, file: string): Source =>
  produce(source, ({ request }) => {
    if (request.order === file) request.order = 'binary';
    request.recipes = request.recipes.filter((r) => r !== file);
    request.knobSets = request.knobSets.filter((k) => k !== file);
    request.rules = request.rules.filter((r) => r !== file);
  });

/** Whether the plan of a source uses a document by its own request. */
export const usesDocument = ({ request }: Source, file: string): boolean =>
  request.order === file ||
  [request.recipes, request.knobSets, request.rules].some((list) => list.includes(file));

/** A source without one of its documents, and without requests for it. */
export const withoutDocument = (source: Source, file: string): Source =>
  produce(notUsingDocument(source, file), ({ documents }) => {
    delete documents[file];
  });

/** What a result depends on: documents count only if the plan uses one of them, since they can refer to each other. */
export const substanceOf = (source: Source): string => {
  const { text, request, documents } = source;
  const used = Object.keys(documents).some((d) => usesDocument(source, d));
  return JSON.stringify([text, request, used ? documents : {}]);
};
