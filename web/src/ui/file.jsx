// SPDX-License-Identifier: Apache-2.0
// A whole file of the store: its beginning, or the lines that hold a word, or the part that a pointer names.
import { useEffect, useState } from 'preact/hooks';
import { readPart } from '../base/evidence.js';
import { bytes as size } from '../base/format.js';
import { Bytes } from './bytes.jsx';
import { Copy, Digest, Trouble, Wait } from './parts.jsx';

const READ_MAX = 262144;
const LINES_MAX = 12;

/** source_pointer "at:OFFSET,LENGTH" names bytes; others (a JSON pointer) are only told. */
function cited(digest, pointer) {
  const at = /^at:(\d+),(\d+)$/.exec(pointer ?? '');
  return at ? { digest, offset: Number(at[1]), length: Number(at[2]) } : null;
}

function Lines({ part, find }) {
  const text = new TextDecoder().decode(part.bytes);
  const lines = text.split('\n').map((line, i) => ({ line, number: i + 1 }));
  const found = find ? lines.filter(({ line }) => line.includes(find)) : [];
  const shown = (found.length ? found.slice(-LINES_MAX) : lines.slice(0, LINES_MAX));
  return (
    <pre class="bytes" tabIndex={0} aria-label="Lines of the file">
      {shown.map(({ line, number }) => <div key={number}><span class="around">{String(number).padStart(5)}  </span>{found.length ? <mark>{line}</mark> : line}</div>)}
    </pre>
  );
}

export function WholeFile({ digest, pointer, find }) {
  const raw = cited(digest, pointer);
  const [state, setState] = useState({});
  useEffect(() => {
    if (raw) return undefined;
    const controller = new AbortController();
    readPart(digest, 0, READ_MAX, controller.signal).then((part) => setState({ part }), (error) => { if (error.name !== 'AbortError') setState({ error }); });
    return () => controller.abort();
  }, [digest, pointer]);
  if (raw) return <Bytes raw={raw} />;
  if (state.error) return <Trouble error={state.error} />;
  if (!state.part) return <Wait>Reading the bytes</Wait>;
  return (
    <div class="bytes-box">
      <div class="row tight faint"><Digest of={digest} /><span>{size(state.part.total)}{pointer ? `, ${pointer}` : ''}{find ? `, lines with ${find}` : ''}</span><Copy text={`tracecore evidence cat ${digest}`} label="Copy the command" /></div>
      <Lines part={state.part} find={find} />
    </div>
  );
}
