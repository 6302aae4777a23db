// SPDX-License-Identifier: Apache-2.0
// Why a run is slow: the likely cause first, then each playbook with its checks, those without data too.
import { useState } from 'preact/hooks';
import '../style/runs.css';
import { part, useAsk } from '../base/api.js';
import { gpuName } from '../base/format.js';
import { href } from '../base/route.js';
import { WholeFile } from '../ui/file.jsx';
import { Answer, Command, Crumbs, Empty, Panel, Place, Tone } from '../ui/parts.jsx';

const ANSWERS = { supports: 'critical', contradicts: 'good', 'no data': 'quiet' };
const TITLES = {
  tail_latency_regression: 'Tail latency',
  low_gpu_utilization: 'Low GPU utilisation',
  distributed_straggler: 'A straggler',
  scheduler_backpressure: 'Scheduler pressure',
};

function Scope({ scope }) {
  const places = [
    ['node', scope.node, scope.node && ['fleet', scope.node]],
    ['GPU', gpuName(scope.gpu)],
    ['pod', scope.pod],
    ['rank', scope.rank],
  ]
    .filter(([, name]) => name !== null && name !== undefined)
    .map(([kind, name, to]) => ({ kind, name: String(name), to }));
  return (
    <span class="row tight">
      {places.map((place) => (
        <Place key={place.kind} place={place} />
      ))}
    </span>
  );
}

function Check({ check }) {
  const [opened, setOpened] = useState(null);
  return (
    <div class="check">
      <Tone kind={ANSWERS[check.answer] ?? 'quiet'}>{check.answer}</Tone>
      <div class="stack tight">
        <strong>{check.title}</strong>
        {check.numbers && <p>{check.numbers}</p>}
        {(check.evidence.length > 0 || check.incident) && (
          <div class="row tight">
            <Scope scope={check.scope} />
            {check.evidence.map(
              (proof) =>
                proof.digest && (
                  <button
                    type="button"
                    key={proof.metric}
                    class="button small"
                    aria-expanded={opened === proof}
                    onClick={() => setOpened(opened === proof ? null : proof)}
                  >
                    {proof.metric}: bytes
                  </button>
                ),
            )}
            {check.incident && (
              <a class="button small" href={href(['incidents', check.incident])}>
                The incident
              </a>
            )}
          </div>
        )}
        {opened && <WholeFile digest={opened.digest} find={check.scope.gpu ?? check.scope.node} />}
      </div>
    </div>
  );
}

function Likely({ answer }) {
  if (!answer)
    return (
      <Empty title="No cause is claimed">
        <p>No playbook found enough evidence. What they looked at is below; more telemetry would help.</p>
      </Empty>
    );
  return (
    <section class="panel">
      <div class="body stack tight">
        <div class="row tight">
          <Tone kind="critical" tag>
            most likely
          </Tone>
          <span class="soft">confidence {answer.confidence}</span>
        </div>
        <p class="says">{answer.words}</p>
        <Scope scope={answer.scope} />
        <h3>To prove it</h3>
        <Command>{answer.experiment}</Command>
      </div>
    </section>
  );
}

function Playbook({ playbook }) {
  const seen = playbook.recognised === 'yes';
  return (
    <Panel
      title={TITLES[playbook.playbook] ?? playbook.playbook}
      says={playbook.playbook}
      actions={
        <Tone kind={seen ? 'warning' : 'quiet'} tag>
          {seen ? 'recognised' : playbook.recognised === 'no' ? 'not recognised' : 'no data to tell'}
        </Tone>
      }
    >
      {playbook.why && <p class="soft">{playbook.why}</p>}
      {playbook.checks.map((check) => (
        <Check key={check.check} check={check} />
      ))}
    </Panel>
  );
}

export default function Diagnose({ query }) {
  const { run, against } = query;
  const asked = useAsk(run ? `runs/${part(run)}/diagnose` : null, { against });
  return (
    <>
      <Crumbs of={[{ name: 'Runs', to: ['runs'] }, { name: run ?? 'no run', to: run && ['runs', run] }, { name: 'Diagnose' }]} />
      <div class="head">
        <div class="grow">
          <h1>Why is {run} slow?</h1>
          {against && <p>Against {against}</p>}
        </div>
        <a class="button" href={href(['pivot'], { run, against })}>
          What got slower
        </a>
      </div>
      {!run ? (
        <Empty title="A run is needed">
          <p>Open one from the list of runs.</p>
        </Empty>
      ) : (
        <Answer of={asked} wait="Going through the playbooks">
          {(data) => (
            <div class="stack">
              <Likely answer={data.answer} />
              {data.hypotheses.length > 1 && (
                <Panel title="Other causes, less likely">
                  <ul class="stack tight">
                    {data.hypotheses.slice(1).map((h) => (
                      <li key={h.playbook + h.cause}>
                        {h.words} <span class="faint">{h.confidence}</span> <Scope scope={h.scope} />
                      </li>
                    ))}
                  </ul>
                </Panel>
              )}
              {data.playbooks
                .filter((p) => p.recognised === 'yes')
                .map((p) => (
                  <Playbook key={p.playbook} playbook={p} />
                ))}
              <div class="columns">
                {data.playbooks
                  .filter((p) => p.recognised !== 'yes')
                  .map((p) => (
                    <Playbook key={p.playbook} playbook={p} />
                  ))}
              </div>
            </div>
          )}
        </Answer>
      )}
    </>
  );
}
