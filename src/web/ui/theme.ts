import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'orrery-theme';

/** Storage is denied to some pages, such as files. */
function stored(): Theme {
  try {
    const t = localStorage.getItem(KEY);
    return t === 'light' || t === 'dark' ? t : 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(stored());

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // The choice is not remembered then.
  }
});

export function cycleTheme(): void {
  theme.value = ({ system: 'light', light: 'dark', dark: 'system' } as const)[theme.value];
}
