import { StreamLanguage } from '@codemirror/language';

/** Colours for PTX: directives, opcodes with their modifiers, registers, numbers, labels, comments. */
export const ptxLanguage = StreamLanguage.define<{ comment: boolean; begin: boolean }>({
  name: 'ptx',
  startState: () => ({ comment: false, begin: true }),
  token(s, state) {
    if (s.sol()) state.begin = true;
    if (state.comment) {
      if (s.skipTo('*/')) {
        s.match('*/');
        state.comment = false;
      } else s.skipToEnd();
      return 'comment';
    }
    if (s.eatSpace()) return null;
    if (s.match('//')) {
      s.skipToEnd();
      return 'comment';
    }
    if (s.match('/*')) {
      state.comment = true;
      return 'comment';
    }
    if (s.match(/^"(?:[^"\\]|\\.)*"/)) return 'string';
    if (s.match(/^@!?%?[\w$]+/)) return 'modifier';
    if (s.match(/^%[\w$]+(?:\.[xyzw])?/)) return 'variableName';
    if (s.match(/^[\w$]+:(?!:)/)) return 'labelName';
    if (s.match(/^\.[A-Za-z_][\w:]*/)) return 'keyword';
    if (s.match(/^(?:0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d[\w.]*)/)) return 'number';
    if (s.match(/^[;{}]/)) {
      state.begin = true;
      return 'punctuation';
    }
    if (s.match(/^[A-Za-z_$][\w$]*(?:\.[\w:]+)*/)) {
      const { begin } = state;
      state.begin = false;
      return begin ? 'operator' : 'name';
    }
    s.next();
    return null;
  },
  languageData: { commentTokens: { line: '//', block: { open: '/*', close: '*/' } } },
});
