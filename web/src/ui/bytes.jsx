// SPDX-License-Identifier: Apache-2.0
// A piece of evidence in place: the cited bytes marked, the lines around them pale; hex for what is no text.
import { useEffect, useState } from 'preact/hooks';
import '../style/bytes.css';
import { bytes as size, number } from '../base/format.js';
import { hexOf, isText, linesOf, readCited } from '../base/evidence.js';
import { Copy, Digest, Trouble, Wait } from './parts.jsx';

const AROUND_LINES = 4;

function Text({ part }) {
  const { before, cited, after } = linesOf(part);
  const head = before.slice(-AROUND_LINES - 1);
  const tail = after.slice(0, AROUND_LINES + 1);
  return (
    <pre class="bytes" tabIndex={0} aria-label="Bytes as text">
      <span class="around">{head.join('\n')}</span><mark>{cited}</mark><span class="around">{tail.join('\n')}</span>
    </pre>
  );
}

function Hex({ part }) {
  return (
    <pre class="bytes hex" tabIndex={0} aria-label="Bytes in hexadecimal">
      {hexOf(part).map((row) => <div key={row.at}><span class="around">{row.at}</span>{'  '}<span>{row.hex.padEnd(47)}</span>{'  '}<mark>{row.text}</mark></div>)}
    </pre>
  );
}

export function Bytes({ raw }) {
  const [state, setState] = useState({});
  const [form, setForm] = useState('');
  useEffect(() => {
    const controller = new AbortController();
    readCited(raw, controller.signal).then((part) => setState({ part }), (error) => {
      if (error.name !== 'AbortError') setState({ error });
    });
    return () => controller.abort();
  }, [raw.digest, raw.offset, raw.length]);
  if (state.error) return <Trouble error={state.error} />;
  if (!state.part) return <Wait>Reading the bytes</Wait>;
  const text = form ? form === 'text' : isText(state.part.bytes.subarray(0, 4096));
  const command = `tracecore evidence cat ${raw.digest} --at ${raw.offset},${raw.length}`;
  return (
    <div class="bytes-box">
      <div class="row tight faint">
        <Digest of={raw.digest} /><span class="num">byte {number(raw.offset)}, {size(raw.length)} of {size(state.part.total)}</span>
        <button type="button" class="button small plain" onClick={() => setForm(text ? 'hex' : 'text')}>{text ? 'As hex' : 'As text'}</button>
        <Copy text={command} label="Copy the command" />
      </div>
      {text ? <Text part={state.part} /> : <Hex part={state.part} />}
    </div>
  );
}
