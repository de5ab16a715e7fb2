/*
 * Mutants of PTX text: what an optimizer could emit wrongly. Each changes the first line of a kernel that it matches.
 */

export interface TextFault {
  readonly name: string;
  readonly line: RegExp;
  /** The replacement of the line; `$1` and so on refer to the groups of the pattern. */
  readonly instead: string;
}

export const TEXT_FAULTS: readonly TextFault[] = [
  { name: 'a guard is lost', line: /^@!?%p\d (?!bra|bar|exit)(.*)$/m, instead: '$1' },
  { name: 'a guard is negated', line: /^@(%p\d (?!bra|bar|exit).*)$/m, instead: '@!$1' },
  { name: 'a store goes to another space', line: /^(@\S+ )?st\.local\.(.*)$/m, instead: '$1st.shared.$2' },
  { name: 'a load comes from another space', line: /^(@\S+ )?ld\.shared\.(.*)$/m, instead: '$1ld.local.$2' },
  {
    name: 'a store is lost',
    line: /^(@\S+ )?st\.(shared|local)\.[bsu](8|16|32|64) \[%[xy].*$/m,
    instead: '',
  },
  { name: 'a store is at another place', line: /^(.*st\.\S*[bsuf]32 \[%\w+)\+4\](.*)$/m, instead: '$1+8]$2' },
  {
    name: 'elements of a vector change places',
    line: /^(.*st\.\S*v2\S* \[\S+\], )\{(%\w+), (%\w+)\};$/m,
    instead: '$1{$3, $2};',
  },
  { name: 'a load extends by zeros', line: /^(.*ld\.\S*)\.s(8|16) (.*)$/m, instead: '$1.u$2 $3' },
  { name: 'a store is narrower', line: /^(.*st\.\S*)\.[bsu]32 (.*)$/m, instead: '$1.b16 $2' },
  { name: 'a shuffle goes the other way', line: /^(.*shfl\.sync)\.up(.*)$/m, instead: '$1.down$2' },
  { name: 'any lane is every lane', line: /^(.*vote\.sync)\.any(.*)$/m, instead: '$1.all$2' },
  {
    name: 'a reduction takes another register',
    line: /^(.*redux\.sync\.\S+ %r\d), %r\d(.*)$/m,
    instead: '$1, %lane$2',
  },
  {
    name: 'match.any looks at other lanes',
    line: /^(match\.any\.sync\.b32 %r\d), (%r\d), (.*)$/m,
    instead: '$1, %lane, $3',
  },
  {
    name: 'an atomic minimum compares unsigned',
    line: /^(.*(?:atom|red)\S*\.m\w\w)\.s32(.*)$/m,
    instead: '$1.u32$2',
  },
  {
    name: 'an atomic increment does not wrap',
    line: /^(.*(?:atom|red)\S*)\.inc\.u32(.*)$/m,
    instead: '$1.add.u32$2',
  },
  {
    name: 'compare and swap takes its operands the other way',
    line: /^(.*atom\S*\.cas\.\S+ %\w+, \[[^\]]+\]), (%\w+), (%\w+);$/m,
    instead: '$1, $3, $2;',
  },
  {
    name: 'a barrier is lost between lanes',
    line: /^(st\.shared\.b32 \[%y\], %r\d;)\n(?:bar\.sync 0|barrier\.sync 1|bar\.warp\.sync -1);$/m,
    instead: '$1',
  },
  { name: 'a branch goes the other way', line: /^@!(%q\d+ bra L\d+;)$/m, instead: '@$1' },
  { name: 'a loop runs once less', line: /^(setp\.lt\.u32 %c\d, %i\d, )([2-4]);$/m, instead: '$11;' },
  { name: 'words change places', line: /^(.*mov\.b64 %d\d, )\{(%\w+), (%\w+)\};$/m, instead: '$1{$3, $2};' },
  { name: 'a name within braces is that outside', line: /^\.reg \.b32 %r\d, y;$/m, instead: '.reg .b32 y;' },
  {
    name: 'the carry of a sum is lost',
    line: /^(.*\b)(add|sub)c((?:\.cc)?\.[su]\d\d .*)$/m,
    instead: '$1$2$3',
  },
  {
    name: 'an argument is another',
    line: /^st\.param\.b32 \[a1\+8\], %r\d;$/m,
    instead: 'st.param.b32 [a1+8], %thread;',
  },
  {
    name: 'a jump table is in another order',
    line: /^(L\d+: \.branchtargets )(L\d+), (L\d+), (.*)$/m,
    instead: '$1$3, $2, $4',
  },
];

/** The text with the fault; null if no line matches. */
export function withTextFault(text: string, fault: TextFault): string | null {
  const at = text.indexOf('mov.u64 %gc, table;');
  const [head, body] = [text.slice(0, at), text.slice(at)];
  const changed = body.replace(fault.line, fault.instead);
  return changed === body ? null : head + changed;
}
