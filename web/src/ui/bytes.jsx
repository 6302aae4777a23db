// SPDX-License-Identifier: Apache-2.0
// A piece of evidence in place: the cited bytes marked, the lines around them pale; hex for what is no text.
import { useEffect, useState } from 'preact/hooks';
import '../style/bytes.css';
import { bytes as size, number } from '../base/format.js';
import { pairs, readCited } from '../base/evidence.js';
import { Copy, Digest, Trouble, Wait } from './parts.jsx';

export function Text({ lines }) {
  return (
    <pre class="bytes" tabIndex={0} aria-label="Bytes as text">
      {lines.map((line) => (
        <div key={line.offset}>
          <span class="around">{line.before}</span>
          {line.cited && <mark>{line.cited}</mark>}
          <span class="around">
            {line.after}
            {line.cut ? ' …' : ''}
          </span>
        </div>
      ))}
    </pre>
  );
}

export function Hex({ rows }) {
  return (
    <pre class="bytes hex" tabIndex={0} aria-label="Bytes in hexadecimal">
      {rows.map((row) => {
        const { cited_from: from, cited_to: to } = row;
        const cut = (text, a, b) => text.slice(a, b);
        return (
          <div key={row.offset}>
            <span class="around">
              {row.offset.toString(16).padStart(8, '0')} {pairs(row.hex).padEnd(48)}
            </span>
            <span class="around">{cut(row.text, 0, from)}</span>
            {to > from && <mark>{cut(row.text, from, to)}</mark>}
            <span class="around">{cut(row.text, to)}</span>
          </div>
        );
      })}
    </pre>
  );
}

export function Bytes({ raw }) {
  const [state, setState] = useState({});
  useEffect(() => {
    const controller = new AbortController();
    readCited(raw, controller.signal).then(
      (view) => setState({ view }),
      (error) => {
        if (error.name !== 'AbortError') setState({ error });
      },
    );
    return () => controller.abort();
  }, [raw.digest, raw.offset, raw.length]);
  if (state.error) return <Trouble error={state.error} />;
  if (!state.view) return <Wait>Reading the bytes</Wait>;
  const { view } = state;
  return (
    <div class="bytes-box">
      <div class="row tight faint">
        <Digest of={raw.digest} />
        <span class="num">
          {raw.member ? `${raw.member}, ` : ''}byte {number(raw.offset)}, {size(raw.length)} of {size(view.size)}; the digest holds
        </span>
        <Copy text={`tracecore evidence cat ${raw.digest} --at ${raw.offset},${raw.length}`} label="Copy the command" />
      </div>
      {view.kind === 'text' ? <Text lines={view.lines} /> : <Hex rows={view.rows} />}
    </div>
  );
}
