// SPDX-License-Identifier: Apache-2.0
// A published number and its chain. The daemon verifies it when the page is opened; the links are then shown one by one.
import { useEffect, useState } from 'preact/hooks';
import '../style/claims.css';
import { part, useAsk } from '../base/api.js';
import { number } from '../base/format.js';
import { href } from '../base/route.js';
import { Answer, Command, Conditions, Crumbs, Digest, Panel, Tone } from '../ui/parts.jsx';
import { Strip } from '../ui/strip.jsx';

const STEP_MS = 160;
const STATES = { holds: 'good', broken: 'critical' };
const TITLES = {
  audit_log: 'Audit log',
  report_row: 'Report row',
  query: 'Query',
  tables: 'Tables',
  runs: 'Runs',
  manifests: 'Manifests',
  signatures: 'Signatures',
  raw_files: 'Raw files',
  number: 'The number, made again',
};
const SAYS = {
  audit_log: 'it was published then, by whom',
  report_row: 'what was claimed',
  query: 'the text that gives the values has this digest',
  tables: 'the query is run again',
  runs: 'they are as they were added',
  manifests: 'each lists its files with their digests',
  signatures: 'who vouched for the manifests',
  raw_files: 'every byte is hashed again',
  number: 'computed from the raw files alone',
};

/** How many of the links are shown: one after the other, all at once for those who want no motion. */
function useShown(total, key) {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const [shown, setShown] = useState(still ? total : 0);
  useEffect(() => {
    if (still) return undefined;
    setShown(0);
    const timer = setInterval(
      () =>
        setShown((n) => {
          if (n >= total) clearInterval(timer);
          return Math.min(n + 1, total);
        }),
      STEP_MS,
    );
    return () => clearInterval(timer);
  }, [total, key]);
  return shown;
}

function Chain({ data, turn }) {
  const shown = useShown(data.steps.length, turn);
  return (
    <ol class="chain" aria-live="polite">
      {data.steps.map((step, i) => {
        const known = i < shown;
        const kind = known ? (STATES[step.state] ?? 'quiet') : 'quiet';
        return (
          <li key={step.step} class={known ? `link-step is-${kind}` : 'link-step waits'}>
            <span class="chain-dot" aria-hidden="true" />
            <div class="chain-head">
              <strong>{TITLES[step.step] ?? step.step.replaceAll('_', ' ')}</strong> <span class="faint">{SAYS[step.step]}</span>
            </div>
            <div>{known ? <Tone kind={kind}>{step.state.replaceAll('_', ' ')}</Tone> : <span class="faint">verifying</span>}</div>
            {known && <p class="soft">{step.what}</p>}
          </li>
        );
      })}
    </ol>
  );
}

function Claim({ data, id, again }) {
  const [turn, setTurn] = useState(0);
  const { claim } = data;
  const safe = data.publication_safe;
  return (
    <div class="stack">
      <div class="head">
        <div class="grow">
          <h1>
            {claim ? (
              <>
                {number(claim.value)} {claim.unit}
              </>
            ) : (
              id
            )}
          </h1>
          {claim && (
            <p>
              {claim.report_row}: {claim.statistic} of {claim.runs.length} runs, {number(claim.confidence.low)} to{' '}
              {number(claim.confidence.high)} at {claim.confidence.level} confidence
            </p>
          )}
        </div>
        {safe ? (
          <Tone kind="good" tag>
            publication-safe
          </Tone>
        ) : (
          <Tone kind="critical" tag>
            not publication-safe{data.broken_step ? `: broken at ${data.broken_step.replaceAll('_', ' ')}` : ''}
          </Tone>
        )}
        <button
          type="button"
          class="button"
          onClick={() => {
            setTurn(turn + 1);
            again();
          }}
        >
          Verify again
        </button>
      </div>
      <Panel title="From the number to its bytes" says={id}>
        <Chain data={data} turn={turn} />
      </Panel>
      {claim && (
        <div class="columns">
          <Panel title="Its runs">
            <Strip
              unit={claim.unit}
              sides={[
                {
                  name: 'runs',
                  values: claim.runs.map((r) => r.value),
                  labels: claim.runs.map((r) => r.run_id),
                  median: claim.value,
                  low: claim.confidence.low,
                  high: claim.confidence.high,
                },
              ]}
            />
            <ul class="stack tight">
              {claim.runs.map((r) => (
                <li key={r.run_id} class="row tight">
                  <a class="link mono" href={href(['runs', r.run_id])}>
                    {r.run_id}
                  </a>
                  <span class="num">{number(r.value)}</span>
                  <Digest of={r.artifact_manifest_digest} />
                  {r.signed ? <Tone kind="good">signed</Tone> : <Tone kind="quiet">not signed</Tone>}
                </li>
              ))}
            </ul>
          </Panel>
          <Panel title="What publishing asked">
            <Conditions list={claim.conditions} />
          </Panel>
          <Panel title="The query" says={<Digest of={claim.query_spec_digest} />}>
            <Command>{claim.query}</Command>
            <p class="after">
              <a href={href(['ask'], { sql: claim.query, run: 1 })}>Run it</a>
            </p>
          </Panel>
        </div>
      )}
    </div>
  );
}

export default function ClaimPage({ parts }) {
  const [id] = parts;
  const asked = useAsk(`numbers/${part(id)}/lineage`);
  return (
    <>
      <Crumbs of={[{ name: 'Claims', to: ['claims'] }, { name: id }]} />
      <Answer of={asked} wait="Verifying: hashing every file again">
        {(data) => <Claim data={data} id={id} again={asked.again} />}
      </Answer>
    </>
  );
}
