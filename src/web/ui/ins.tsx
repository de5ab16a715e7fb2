import { memoByText } from '../../ir/text-memo.ts';

/** A token of the text of an instruction. */
interface Token {
  readonly text: string;
  readonly kind: 'guard' | 'op' | 'reg' | 'num' | 'label' | 'sym' | '';
}

const WORDS =
  /(?<reg>\b(?:UR|URD|UP|RD|RQ|R|P|B)\d+\b)|(?<label>\bBB\d+\b|\bT\d+\b)|(?<num>-?\b0x[0-9a-f]+\b|-?\b\d+\b|\bRZ\b|\bPT\b)|(?<sym>&?[\w$.]*[A-Za-z$_][\w$.]*)|[\s\S]/gy;

/** Maximum number of lines whose tokens are kept. */
const MOST_LINES = 20_000;

/** The tokens of a line of Ori: seven columns of guard, the opcode, the operands. */
export const tokensOf = memoByText((line: string): readonly Token[] => {
  const out: Token[] = [{ text: line.slice(0, 7), kind: 'guard' }];
  const rest = line.slice(7);
  const end = rest.indexOf(' ');
  out.push({ text: end < 0 ? rest : rest.slice(0, end), kind: 'op' });
  if (end >= 0)
    for (const m of rest.slice(end).matchAll(WORDS)) {
      const g = m.groups!;
      const kind = (['reg', 'label', 'num', 'sym'] as const).find((k) => g[k] !== undefined) ?? '';
      const last = out[out.length - 1];
      if (kind === '' && last.kind === '') out[out.length - 1] = { text: last.text + m[0], kind: '' };
      else out.push({ text: m[0], kind });
    }
  return out;
}, MOST_LINES);

const regOfGuard = (text: string): string => /U?P\d+/.exec(text)?.[0] ?? '';

interface Props {
  readonly text: string;
  /** The text on the other side, from which differing tokens are highlighted; '' for none. */
  readonly other: string;
  readonly register: string;
}

/** An instruction: registers can be clicked (the enclosing list listens), and the picked one is highlighted. */
export function Ins({ text, other, register }: Props) {
  const theirs = other === '' ? null : tokensOf(other);
  return (
    <>
      {tokensOf(text).map((t, i) => {
        const reg = t.kind === 'reg' ? t.text : t.kind === 'guard' ? regOfGuard(t.text) : '';
        const marks = [
          t.kind,
          reg !== '' && reg === register ? 'hit' : '',
          theirs !== null && theirs[i]?.text !== t.text ? 'new' : '',
        ];
        const cls = marks.filter((m) => m !== '').join(' ');
        return cls === '' ? (
          t.text
        ) : (
          <span key={i} class={cls} data-reg={reg === '' ? undefined : reg}>
            {t.text}
          </span>
        );
      })}
    </>
  );
}

/** Registers of an instruction in textual order. */
export const registersOf = (text: string): string[] => [
  ...new Set(
    tokensOf(text).flatMap((t) =>
      t.kind === 'reg'
        ? [t.text]
        : t.kind === 'guard' && regOfGuard(t.text) !== ''
          ? [regOfGuard(t.text)]
          : [],
    ),
  ),
];
