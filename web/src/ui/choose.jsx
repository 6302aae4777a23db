// SPDX-License-Identifier: Apache-2.0
// Two sides of a comparison: a run, a group of runs, or a condition, each a word as on the command line.
import { useEffect, useState } from 'preact/hooks';

/** Groups of replicates, newest first: [{ group, runs }]. Runs without a group stand alone. */
export function groupsOf(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = run.replicate_group ?? run.run_id;
    if (!groups.has(key)) groups.set(key, { group: key, isGroup: Boolean(run.replicate_group), runs: [] });
    groups.get(key).runs.push(run);
  }
  return [...groups.values()];
}

export function Word({ label, value, onSet, runs, hint }) {
  const [text, setText] = useState(value ?? '');
  useEffect(() => {
    setText(value ?? '');
  }, [value]);
  const id = `words-${label}`;
  return (
    <label class="word">
      <span class="faint">{label}</span>
      <input
        class="field mono"
        list={id}
        value={text}
        placeholder={hint}
        onInput={(e) => setText(e.currentTarget.value)}
        onChange={(e) => onSet(e.currentTarget.value.trim())}
      />
      <datalist id={id}>
        {groupsOf(runs).flatMap((g) => [
          ...(g.isGroup ? [<option key={g.group} value={g.group} />] : []),
          ...g.runs.map((r) => <option key={r.run_id} value={r.run_id} />),
        ])}
      </datalist>
    </label>
  );
}
