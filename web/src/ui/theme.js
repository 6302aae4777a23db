// SPDX-License-Identifier: Apache-2.0
// Dark or light: as the system says, unless somebody chose.
import { useEffect, useState } from 'preact/hooks';

const KEY = 'tracecore.theme';
const system = matchMedia('(prefers-color-scheme: light)');
const current = () => localStorage.getItem(KEY) ?? (system.matches ? 'light' : 'dark');
document.documentElement.dataset.theme = current();

const listeners = new Set();
function changed() {
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener(current());
}
system.addEventListener('change', changed);

export function useTheme() {
  const [theme, setTheme] = useState(current);
  useEffect(() => {
    listeners.add(setTheme);
    return () => listeners.delete(setTheme);
  }, []);
  return [
    theme,
    (to) => {
      localStorage.setItem(KEY, to);
      changed();
    },
  ];
}

/** A colour of the style sheet, for what is drawn on a canvas. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
