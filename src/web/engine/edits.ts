import { isMap, isSeq, parseDocument } from 'yaml';
import type { Edit } from '../protocol.ts';
import type { Request, Source } from '../recording.ts';

/** The file in which the page keeps moves of phases. */
export const ORDER_FILE = 'explorer-order.yaml';

interface MoveEdit {
  readonly move?: string;
  readonly after?: string;
  readonly before?: string;
}

/** A source with a phase moved, switched off or on, or with a knob set. The source itself stays as it was. */
export function editedSource(source: Source, edit: Edit, first: string): Source {
  const { request } = source;
  const withRequest = (change: Partial<Request>): Source => ({
    ...source,
    request: { ...request, ...change },
  });
  if (edit.kind === 'switch') {
    const others = request.disable.filter((d) => d !== edit.phase);
    return withRequest({ disable: edit.on ? others : [...others, edit.phase] });
  }
  if (edit.kind === 'knob') {
    const others = request.set.filter((s) => !s.startsWith(`${edit.name}=`));
    return withRequest({ set: edit.value === null ? others : [...others, `${edit.name}=${edit.value}`] });
  }
  const move: MoveEdit =
    edit.after === null ? { move: edit.phase, before: first } : { move: edit.phase, after: edit.after };
  const file = request.order in source.documents ? request.order : ORDER_FILE;
  const old = source.documents[file];
  const text =
    old !== undefined && request.order === file ? withMove(old, move) : newOrder(request.order, move);
  return {
    ...source,
    request: { ...request, order: file },
    documents: { ...source.documents, [file]: text },
  };
}

const line = ({ move, after, before }: MoveEdit): string =>
  `{ move: ${move}, ${after === undefined ? `before: ${before}` : `after: ${after}`}, why: ${WHY} }`;

/** An order that makes one move. */
export const newOrder = (base: string, move: MoveEdit): string =>
  `kind: order\nextends: ${base}\nedits:\n  - ${line(move)}\n`;

const WHY = 'tried in the explorer';

/** An order with one more move; an earlier last move of the same phase, made here, is replaced by it. */
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
