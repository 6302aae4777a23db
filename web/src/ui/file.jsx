// SPDX-License-Identifier: Apache-2.0
// A whole file of the store: its beginning, or the lines that hold a word, or the part that a pointer names.
import { useEffect, useState } from 'preact/hooks';
import { readFile } from '../base/evidence.js';
import { bytes as size } from '../base/format.js';
import { Bytes, Hex, Text } from './bytes.jsx';
import { Copy, Digest, Trouble, Wait } from './parts.jsx';

const LINES_MAX = 14;

/** source_pointer "at:OFFSET,LENGTH" names bytes; others (a JSON pointer) are only told. */
function cited(digest, pointer) {
  const at = /^at:(\d+),(\d+)$/.exec(pointer ?? '');
  return at ? { digest, offset: Number(at[1]), length: Number(at[2]) } : null;
}

function Found({ found }) {
  return (
    <pre class="bytes" tabIndex={0} aria-label="Lines of the file">
      {found.slice(-LINES_MAX).map(({ line, number }) => (
        <div key={number}>
          <span class="around">{String(number).padStart(5)} </span>
          <mark>{line}</mark>
        </div>
      ))}
    </pre>
  );
}

export function WholeFile({ digest, pointer, find }) {
  const raw = cited(digest, pointer);
  const [state, setState] = useState({});
  useEffect(() => {
    if (raw) return undefined;
    const controller = new AbortController();
    readFile(digest, find, controller.signal).then(setState, (error) => {
      if (error.name !== 'AbortError') setState({ error });
    });
    return () => controller.abort();
  }, [digest, pointer, find]);
  if (raw) return <Bytes raw={raw} />;
  if (state.error) return <Trouble error={state.error} />;
  if (!state.view) return <Wait>Reading the bytes</Wait>;
  const { view, found } = state;
  return (
    <div class="bytes-box">
      <div class="row tight faint">
        <Digest of={digest} />
        <span>
          {size(view.size)}
          {pointer ? `, ${pointer}` : ''}
          {found.length ? `, lines with ${find}` : ', from its beginning'}; the digest holds
        </span>
        <Copy text={`tracecore evidence cat ${digest}`} label="Copy the command" />
      </div>
      {found.length ? <Found found={found} /> : view.kind === 'text' ? <Text lines={view.lines} /> : <Hex rows={view.rows} />}
    </div>
  );
}
