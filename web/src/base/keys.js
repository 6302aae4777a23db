// SPDX-License-Identifier: Apache-2.0
// The keyboard: one listener, the innermost handler first. Keys that are typed into a field stay there, but Esc leaves it.
import { useEffect, useRef } from 'preact/hooks';

const stack = [];
const isField = (el) => el instanceof HTMLElement && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isField(event.target)) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  for (let i = stack.length - 1; i >= 0; i--) {
    if (stack[i].current(event.key, event) === true) {
      event.preventDefault();
      return;
    }
  }
});

/** handler(key) returns true when the key was for it. */
export function useKeys(handler) {
  const ref = useRef(handler);
  ref.current = handler;
  useEffect(() => {
    stack.push(ref);
    return () => {
      stack.splice(stack.indexOf(ref), 1);
    };
  }, []);
}

/** j and k walk over [data-row] elements, Enter follows the link of one. */
export function useRows() {
  useKeys((key) => {
    if (key !== 'j' && key !== 'k') return false;
    const rows = [...document.querySelectorAll('[data-row]')];
    if (rows.length === 0) return false;
    const at = rows.findIndex((row) => row === document.activeElement || row.contains(document.activeElement));
    const next = rows[key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)];
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
    return true;
  });
}
