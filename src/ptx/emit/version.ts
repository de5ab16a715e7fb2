/** First PTX version that knows an architecture (PTX ISA 9.0, 11.1.2 and the release notes), for those from Turing on. */
const FIRST: Readonly<Record<string, string>> = {
  sm_75: '6.3',
  sm_80: '7.0',
  sm_86: '7.1',
  sm_87: '7.4',
  sm_88: '9.0',
  sm_89: '7.8',
  sm_90: '7.8',
  sm_100: '8.6',
  sm_101: '8.6',
  sm_103: '8.8',
  sm_110: '9.0',
  sm_120: '8.7',
  sm_121: '8.8',
};

/** The version that a module must state: its own, or the first that knows the target. */
export function versionFor(target: string, own: string): string {
  const need = FIRST[target.replace(/[af]$/, '')];
  return need !== undefined && number(need) > number(own) ? need : own;
}

const number = (v: string): number => {
  const [major, minor] = v.split('.');
  return Number(major) * 1000 + Number(minor ?? 0);
};
