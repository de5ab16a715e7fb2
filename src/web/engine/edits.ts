import { match } from 'ts-pattern';
import { isMap, isSeq, parseDocument } from 'yaml';
import { produce } from '../../spec/state.ts';
import type { Edit } from '../protocol.ts';
import type { Source } from '../recording.ts';

/** Name of the document in which the page keeps moves of phases. */
export const ORDER_FILE = 'explorer-order.yaml';

interface MoveEdit {
  readonly move?: string;
  readonly after?: string;
  readonly before?: string;
}

/** A source with a phase moved, switched off or on, or with a knob set. The given source is not changed. */
export const editedSource = (source: Source, edit: Edit, first: string): Source =>
  produce(source, (draft) => {
    const { request, documents } = draft;
    match(edit)
      .with({ kind: 'switch' }, ({ phase, on }) => {
        request.disable = request.disable.filter((d) => d !== phase);
        if (!on) request.disable.push(phase);
      })
      .with({ kind: 'knob' }, ({ name, value }) => {
        request.set = request.set.filter((s) => !s.startsWith(`${name}=`));
        if (value !== null) request.set.push(`${name}=${value}`);
      })
      .with({ kind: 'move' }, ({ phase, after }) => {
        const move: MoveEdit = after === null ? { move: phase, before: first } : { move: phase, after };
        const own = request.order in documents;
        const file = own ? request.order : ORDER_FILE;
        documents[file] = own ? withMove(documents[file], move) : newOrder(request.order, move);
        request.order = file;
      })
      .exhaustive();
  });

const line = ({ move, after, before }: MoveEdit): string =>
  `{ move: ${move}, ${after === undefined ? `before: ${before}` : `after: ${after}`}, why: ${WHY} }`;

/** YAML of an order that makes one move. */
export const newOrder = (base: string, move: MoveEdit): string =>
  `kind: order\nextends: ${base}\nedits:\n  - ${line(move)}\n`;

const WHY = 'tried in the explorer';

/** YAML of an order with one more move; it replaces an earlier move of the same phase if that is the last edit and was made here. */
function withMove(text: string, move: MoveEdit): string {
  const doc = parseDocument(text);
  if (doc.errors.length > 0 || !isMap(doc.contents)) return text;
  const { edits } = doc.toJS() as { edits?: readonly (MoveEdit & { why?: string })[] };
  const place = move.after === undefined ? { before: move.before } : { after: move.after };
  const made = doc.createNode({ move: move.move, ...place, why: WHY }, { flow: true });
  const list = doc.get('edits');
  if (!isSeq(list)) doc.set('edits', doc.createNode([made]));
  else {
    const last = edits?.at(-1);
    if (last?.move === move.move && last?.why === WHY) list.delete(list.items.length - 1);
    list.add(made);
  }
  return doc.toString({ lineWidth: 0 });
}
