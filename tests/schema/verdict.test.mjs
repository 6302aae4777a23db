// SPDX-License-Identifier: Apache-2.0
// The goldens of tests/replay conform to schemas/verdict, and nothing else does: every field the
// schemas pin is falsified once, and the schema must refuse it. What a schema cannot say (lists in
// order, causes that exist, bytes that can be walked back to) is checked here on every golden.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { readFileSync, readdirSync, existsSync, statSync } from 'node:fs';
import { join, dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';
import { EVIDENCE, RAW, REQUIRED, SHARED, oneOf } from './fields.cjs';

const require = createRequire(import.meta.url);
const ROOT = process.env.TC_SOURCE_DIR ?? join(dirname(fileURLToPath(import.meta.url)), '../..');

const readSchema = (name) =>
  JSON.parse(readFileSync(join(ROOT, 'schemas/verdict', `${name}.schema.json`), 'utf8'));
const envelope = readSchema('envelope');
const isEnvelope = new Ajv2020({ allErrors: true }).compile(envelope);

/** The verdicts of all goldens of a pattern: {case, folder, verdict, all}. */
function goldens(pattern) {
  const folder = join(ROOT, 'tests/replay', pattern);
  return readdirSync(folder, { withFileTypes: true })
    .filter((e) => e.isDirectory() && existsSync(join(folder, e.name, 'expected.ndjson')))
    .flatMap((e) => {
      const text = readFileSync(join(folder, e.name, 'expected.ndjson'), 'utf8');
      const all = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
      return all.map((verdict) => ({ case: e.name, folder: join(folder, e.name), verdict, all }));
    });
}

const copy = (value) => JSON.parse(JSON.stringify(value));

// ---- what is pinned, apart from the schemas: a schema that drops a part of it fails here --------

/** Strictly ascending, which a JSON Schema cannot say. */
const isAscending = (list) => list.every((v, i) => i === 0 || list[i - 1] < v);

/** One golden that has as many fields as any, and is open. */
function richest(list) {
  const open = list.filter((g) => g.verdict.status === 'open');
  return open.reduce((a, b) =>
    Object.keys(b.verdict).length > Object.keys(a.verdict).length ? b : a,
  ).verdict;
}

/** Every pattern with a schema has its pins in a file of its own. */
const PATTERNS = readdirSync(join(ROOT, 'schemas/verdict'))
  .map((file) => file.replace('.schema.json', ''))
  .filter((name) => name !== 'envelope');

for (const pattern of PATTERNS) {
  const schema = readSchema(pattern);
  const validate = new Ajv2020({ allErrors: true }).compile(schema);
  const list = goldens(pattern);
  const base = richest(list);
  const pinned = require(`./pinned/${pattern}.cjs`);
  const fields = { ...SHARED, ...pinned.fields };
  const accepts = (v) => assert.ok(validate(v), JSON.stringify(validate.errors, null, 1));
  const refuses = (v) => assert.ok(!validate(v), `accepted: ${JSON.stringify(v)}`);
  const edited = (edit) => {
    const v = copy(base);
    edit(v);
    return v;
  };

  describe(`${pattern}: schema conformance`, () => {
    for (const g of list) {
      it(`${g.case}: ${g.verdict.headline}`, () => {
        accepts(g.verdict);
        assert.ok(isEnvelope(g.verdict), JSON.stringify(isEnvelope.errors, null, 1));
      });
    }

    it('what is resolved is info, what is open is not', () => {
      for (const { verdict } of list) {
        const severity = verdict.status === 'resolved' ? 'critical' : 'info';
        refuses({ ...verdict, severity });
      }
    });

    it('every discriminator and every attribute of the schema is in some golden', () => {
      for (const value of schema.properties.discriminator.enum) {
        assert.ok(list.some((g) => g.verdict.discriminator === value), `no golden has ${value}`);
      }
      for (const key of Object.keys(schema.properties)) {
        if (key.startsWith('tracecore.alert.')) {
          assert.ok(list.some((g) => key in g.verdict), `no golden has ${key}`);
        }
      }
      for (const kind of schema.$defs.evidence.properties.kind.enum) {
        const has = (g) => g.verdict.evidence_trail.some((e) => e.kind === kind);
        assert.ok(list.some(has), `no golden has evidence of kind ${kind}`);
      }
    });

    it('the schema has all of the envelope, and says the same of it', () => {
      for (const key of Object.keys(envelope.properties)) {
        assert.ok(key in schema.properties, `${key} is missing`);
      }
      for (const key of envelope.required) {
        assert.ok(schema.required.includes(key), `${key} is not required`);
      }
      for (const name of ['incident_id', 'time', 'text', 'cause', 'raw']) {
        assert.deepEqual(schema.$defs[name], envelope.$defs[name], name);
      }
    });

    it('every list of ranks ascends, and the check sees when one does not', () => {
      for (const { verdict } of list) {
        for (const [key, value] of Object.entries(verdict)) {
          if (key.endsWith('_ranks')) assert.ok(isAscending(value), `${key}: ${value}`);
        }
      }
      assert.ok(!isAscending([2, 1]));
      assert.ok(!isAscending([1, 1]));
    });

    it('first_seen is not after last_seen', () => {
      for (const g of list) {
        const { first_seen: first, last_seen: last } = g.verdict;
        if (g.verdict.undated) assert.equal(first ?? last, undefined, g.case);
        else assert.ok(Date.parse(first) <= Date.parse(last), `${g.case}: ${first} ${last}`);
      }
    });

    it('what caused it is a root among the same verdicts', () => {
      for (const g of list) {
        for (const cause of g.verdict.caused_by ?? []) {
          const origin = g.all.find((v) => v.incident_id === cause.incident_id);
          assert.equal(origin?.root, true, `${g.case}: ${cause.incident_id}`);
          assert.notEqual(cause.incident_id, g.verdict.incident_id);
        }
      }
    });

    it('every piece of evidence can be walked back to bytes of the input', () => {
      for (const g of list) {
        const sizes = new Map();
        for (const file of readdirSync(join(g.folder, 'input'), { recursive: true })) {
          const path = join(g.folder, 'input', file);
          if (statSync(path).isFile()) {
            const bytes = readFileSync(path);
            sizes.set(`sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes.length);
          }
        }
        for (const { raw, uid } of g.verdict.evidence_trail) {
          const where = `${relative(ROOT, g.folder)}: ${uid}`;
          assert.ok(raw, `${where} has no raw`);
          assert.ok(raw.length > 0, where);
          assert.ok(raw.offset + raw.length <= sizes.get(raw.digest), where);
        }
      }
    });

    it('an incident has one line', () => {
      for (const g of list) {
        const same = g.all.filter((v) => v.incident_id === g.verdict.incident_id);
        assert.equal(same.length, 1, g.case);
      }
    });
  });

  describe(`${pattern}: schema drift battery, drift rejection`, () => {
    it('the verdict that is falsified below is accepted as it is', () => accepts(base));

    it('refuses: what is no object', () => [[base], 'text', 1, null].forEach(refuses));
    it('the fields are those that are pinned', () => {
      assert.deepEqual(Object.keys(schema.properties).sort(), Object.keys(fields).sort());
    });

    for (const key of [...REQUIRED, ...pinned.required]) {
      it(`refuses: ${key} is missing`, () => refuses(edited((v) => delete v[key])));
    }
    for (const [key, field] of Object.entries(fields)) {
      if (!(key in base)) {
        it(`accepts: ${key}, which this one does not have`, () =>
          accepts(edited((v) => (v[key] = field.right))));
      }
      for (const [name, value] of field.wrong) {
        it(`refuses: ${key} is ${name}`, () => refuses(edited((v) => (v[key] = value))));
      }
    }
    it('lists of values are those that are pinned', () => {
      for (const [key, { values }] of Object.entries(fields)) {
        const { enum: many, const: one } = schema.properties[key];
        if (values !== undefined) assert.deepEqual(many ?? [one], values, key);
      }
      assert.deepEqual(schema.$defs.evidence.properties.kind.enum, pinned.kinds);
    });

    it('refuses: an unknown field', () => refuses(edited((v) => (v.note = 'text'))));
    it('refuses: an attribute that is not of this pattern', () =>
      refuses(edited((v) => (v['tracecore.alert.other.seconds'] = 1))));
    it('refuses: an unknown attribute of this pattern', () =>
      refuses(edited((v) => (v[`tracecore.alert.${pattern}.xyzzy`] = 1))));
    it('refuses: an unknown field in evidence_trail', () =>
      refuses(edited((v) => (v.evidence_trail[0].note = 'text'))));
    it('refuses: an unknown field in raw', () =>
      refuses(edited((v) => (v.evidence_trail[0].raw.path = '/etc/passwd'))));
    for (const [name, value] of [['text', 'text'], ['a list', []], ['null', null], ['{}', {}]]) {
      it(`refuses: evidence that is ${name}`, () =>
        refuses(edited((v) => (v.evidence_trail[0] = value))));
      it(`refuses: raw that is ${name}`, () =>
        refuses(edited((v) => (v.evidence_trail[0].raw = value))));
    }

    for (const key of ['kind', 'uid', 'description']) {
      it(`refuses: evidence without ${key}`, () =>
        refuses(edited((v) => delete v.evidence_trail[0][key])));
    }
    it('accepts: evidence without time and raw', () =>
      accepts(
        edited((v) => {
          delete v.evidence_trail[0].time;
          delete v.evidence_trail[0].raw;
        }),
      ));
    for (const [key, field] of Object.entries({ kind: oneOf(...pinned.kinds), ...EVIDENCE })) {
      for (const [name, value] of field.wrong) {
        it(`refuses: ${key} of evidence is ${name}`, () =>
          refuses(edited((v) => (v.evidence_trail[0][key] = value))));
      }
    }
    for (const [key, field] of Object.entries(RAW)) {
      it(`refuses: raw without ${key}`, () =>
        refuses(edited((v) => delete v.evidence_trail[0].raw[key])));
      for (const [name, value] of field.wrong) {
        it(`refuses: ${key} of raw is ${name}`, () =>
          refuses(edited((v) => (v.evidence_trail[0].raw[key] = value))));
      }
    }
    for (const fraction of ['.123', '.123456', '.123456789']) {
      it(`accepts: a time with the fraction ${fraction}`, () =>
        accepts(edited((v) => (v.first_seen = `2026-03-04T05:06:07${fraction}Z`))));
    }
  });

  if (pattern === 'dataloader_hang') {
    describe('dataloader_hang: schema drift battery of its conditions', () => {
      const storage = list.find((g) => g.verdict.discriminator === 'storage_event').verdict;
      const worker = list.find((g) => g.verdict.discriminator === 'worker_killed').verdict;
      const changed = (verdict, edit) => { const v = copy(verdict); edit(v); return v; };
      const drop = (kind) => (v) => {
        v.evidence_trail = v.evidence_trail.filter((e) => e.kind !== kind);
      };
      it('refuses: a storage event without its reason', () =>
        refuses(changed(storage, (v) => delete v['event.reason'])));
      it('refuses: a killed worker with the reason of an event', () =>
        refuses(changed(worker, (v) => (v['event.reason'] = 'FailedMount'))));
      it('refuses: a storage event without its evidence', () =>
        refuses(changed(storage, drop('storage_event'))));
      it('refuses: a killed worker without its evidence', () =>
        refuses(changed(worker, drop('dataloader_error'))));
      it('refuses: a stall that nothing proves', () =>
        refuses(changed(worker, drop('training_step_stall'))));
      it('both joined: worker_killed, all three pieces, no reason', () => {
        const { verdict } = list.find((g) => g.case === 'fires_on_both');
        assert.equal(verdict.discriminator, 'worker_killed');
        assert.deepEqual(verdict.evidence_trail.map((e) => e.kind).sort(), pinned.kinds.toSorted());
        assert.ok(!('event.reason' in verdict));
      });
      it('confidence is full in every golden', () => {
        assert.ok(list.every((g) => g.verdict.confidence === 'full'));
      });
    });
  }

  if (pattern === 'host_oom') {
    describe('host_oom: schema drift battery of its conditions', () => {
      const tiedBy = 'tracecore.alert.host_oom.tied_by';
      const partial = list.find((g) => g.verdict.confidence === 'partial').verdict;
      const full = list.find((g) => g.verdict.confidence === 'full').verdict;
      const changed = (verdict, edit) => { const v = copy(verdict); edit(v); return v; };
      it('refuses: full confidence for the node alone', () =>
        refuses(changed(partial, (v) => (v.confidence = 'full'))));
      it('refuses: partial confidence with a cgroup', () =>
        refuses(changed(full, (v) => (v.confidence = 'partial'))));
      it('refuses: the node alone without the end of a pod', () =>
        refuses(changed(partial, (v) => v.evidence_trail.splice(1))));
      it('refuses: resolved, which this pattern never is', () =>
        refuses(changed(full, (v) => (v.status = 'resolved'))));
      it('every tie is in some golden', () => {
        assert.deepEqual([...new Set(list.map((g) => g.verdict[tiedBy]))].sort(),
          ['cgroup', 'node', 'pid']);
      });
    });
  }

  if (pattern === 'nccl_hang') {
    const key = (name) => `tracecore.alert.nccl_hang.${name}`;
    describe('nccl_hang: who is blamed', () => {
      it('each culprit of the goldens has its reason, in the same order', () => {
        for (const { verdict } of list) {
          const reasons = verdict[key('culprit_reasons')];
          assert.deepEqual(
            reasons.map((r) => Number(/^rank (\d+): /.exec(r)[1])),
            verdict[key('culprit_ranks')],
          );
        }
      });
      it('a culprit of the goldens is not among those who wait', () => {
        for (const g of list) {
          const waiting = new Set(g.verdict[key('waiting_ranks')]);
          const both = g.verdict[key('culprit_ranks')].filter((r) => waiting.has(r));
          assert.deepEqual(both, [], g.case);
        }
      });
      // Who is to blame in each case, by hand: a golden that blames others is wrong.
      for (const [name, culprits] of Object.entries({
        fires_on_missing_rank: [2],
        fires_on_missing_rank_pickle: [2],
        fires_on_missing_first_rank: [0],
        fires_on_op_mismatch: [3],
        fires_on_op_mismatch_of_first_rank: [0],
        fires_on_op_mismatch_that_holds_up_another_group: [3],
        fires_on_size_mismatch: [1],
        fires_on_dtype_mismatch: [2],
        fires_on_lagging_rank: [3],
        fires_on_all_stuck: [],
        fires_on_absent_dump: [3],
        fires_on_two_culprits_in_two_groups: [1, 6],
        fires_on_culprit_behind_another: [0, 2],
        fires_on_cycle_between_groups: [0, 1],
        fires_not_on_healthy_pipeline_stage: [5],
        fires_on_missing_rank_in_uneven_all_to_all: [3],
        degrades_torn_dump: [2],
        degrades_duplicate_records: [1],
      })) {
        it(`${name} blames exactly ${culprits.join(' and ') || 'nobody'}`, () => {
          const own = list.filter((g) => g.case === name);
          assert.ok(own.length > 0, 'there is no such golden');
          const blamed = new Set(own.flatMap((g) => g.verdict[key('culprit_ranks')]));
          assert.deepEqual([...blamed].sort((a, b) => a - b), culprits);
        });
      }
    });
  }

  if (pattern === 'pod_evicted') {
    const seconds = 'tracecore.alert.pod_evicted.seconds_after_condition';
    describe('pod_evicted: schema drift battery of its conditions', () => {
      const full = list.find((g) => g.verdict.confidence === 'full').verdict;
      const resolved = list.find((g) => g.verdict.status === 'resolved').verdict;
      const without = (verdict, edit) => { const v = copy(verdict); edit(v); return v; };
      it('refuses: full confidence without the time after the condition', () =>
        refuses(without(full, (v) => delete v[seconds])));
      it('refuses: full confidence without the node', () =>
        refuses(without(full, (v) => delete v['k8s.node.name'])));
      it('refuses: full confidence with one piece of evidence', () =>
        refuses(without(full, (v) => v.evidence_trail.splice(1))));
      it('refuses: partial confidence without evidence', () =>
        refuses({ ...full, confidence: 'partial', evidence_trail: [] }));
      it('refuses: resolved with partial confidence', () =>
        refuses(without(resolved, (v) => (v.confidence = 'partial'))));
      it('refuses: resolved without evidence of relief', () =>
        refuses(without(resolved, (v) => v.evidence_trail.splice(2))));
      it('remediation pins node name', () => {
        for (const { verdict } of list) {
          const name = verdict['k8s.node.name'];
          const node = name === undefined ? 'its node' : `node ${name}`;
          assert.ok(verdict.remediation.startsWith(`On ${node}: `), verdict.remediation);
        }
      });
      it('the headline of the goldens carries the time of the eviction', () => {
        for (const { verdict } of list) {
          const evicted = verdict.evidence_trail.find((e) => e.kind === 'pod_event');
          const moment = evicted.time ? ` at ${evicted.time.slice(11, 19)}` : ', undated';
          assert.ok(verdict.headline.includes(moment), verdict.headline);
        }
      });
    });

    // What each case is about, by hand: a golden that says something else is wrong.
    describe('pod_evicted: what the goldens claim', () => {
      const of = (name) => list.filter((g) => g.case === name).map((g) => g.verdict);
      const one = (name) => {
        const verdicts = of(name);
        assert.equal(verdicts.length, 1, name);
        return verdicts[0];
      };
      const kinds = (verdict) => verdict.evidence_trail.map((e) => e.kind);
      const isAlone = (name) => {
        assert.equal(one(name).confidence, 'partial');
        assert.deepEqual(kinds(one(name)), ['pod_event']);
      };
      it('positive: memory, disk, pid and ephemeral storage are joined to their condition', () => {
        for (const [name, discriminator] of Object.entries({
          fires_on_memory_pressure: 'memory_pressure',
          fires_on_disk_pressure_yaml: 'disk_pressure',
          fires_on_pid_pressure: 'pid_pressure',
          fires_on_ephemeral_storage: 'ephemeral_storage',
          fires_from_pod_status_without_event: 'memory_pressure',
        })) {
          assert.equal(one(name).discriminator, discriminator);
          assert.equal(one(name).confidence, 'full');
          assert.deepEqual(kinds(one(name)), ['node_condition', 'pod_event']);
        }
      });
      it('negative fixtures', () => {
        for (const name of ['stays_quiet_on_planned_eviction', 'stays_quiet_on_other_events']) {
          assert.deepEqual(of(name), []);
        }
      });
      it('deterministic order: by time, then by incident', () => {
        const verdicts = of('fires_in_deterministic_order');
        assert.equal(new Set(verdicts.map((v) => v['k8s.pod.name'])).size, 3);
        assert.ok(isAscending(verdicts.map((v) => v.incident_id)));
      });
      it('partial path', () => isAlone('fires_partial_without_condition'));
      it('out-of-window', () => {
        isAlone('fires_partial_past_window');
        assert.equal(one('fires_at_window_edge')[seconds], 300);
      });
      it('future transition excluded', () => isAlone('fires_partial_future_transition'));
      it('another pressure is not joined', () => isAlone('fires_partial_on_other_pressure'));
      it('empty node message', () => {
        isAlone('degrades_empty_message');
        assert.equal(one('degrades_empty_message').discriminator, 'unknown_pressure');
      });
      it('replayed events are one verdict', () => one('degrades_replayed_events'));
      it('resolved with the evidence of relief', () =>
        assert.deepEqual(kinds(one('resolved_when_condition_clears')), [
          'node_condition', 'pod_event', 'node_condition',
        ]));
    });
  }

  if (pattern === 'xid_correlation') {
    describe('xid_correlation: schema drift battery of its conditions', () => {
      const unknown = list.find((g) => g.verdict.discriminator === 'unknown_xid').verdict;
      const changed = (verdict, edit) => { const v = copy(verdict); edit(v); return v; };
      for (const [what, edit] of [
        ['an unknown Xid with full confidence', (v) => (v.confidence = 'full')],
        ['an unknown Xid that is a warning', (v) => (v.severity = 'warning')],
        ['an unknown Xid of class hardware',
          (v) => (v['tracecore.alert.xid_correlation.xid_class'] = 'hardware')],
      ]) {
        it(`refuses: ${what}`, () => refuses(changed(unknown, edit)));
      }
      it('refuses: a known Xid without its name', () =>
        refuses(changed(base, (v) => delete v['tracecore.alert.xid_correlation.xid_name'])));
      it('refuses: an Xid of an application as cause', () =>
        refuses(changed(base,
          (v) => (v['tracecore.alert.xid_correlation.xid_class'] = 'application'))));
      it('refuses: one piece of evidence', () =>
        refuses(changed(base, (v) => v.evidence_trail.splice(1))));
      const resolved = list.find((g) => g.verdict.status === 'resolved').verdict;
      it('refuses: resolved with full confidence', () =>
        refuses(changed(resolved, (v) => (v.confidence = 'full'))));
      it('refuses: resolved and critical', () =>
        refuses(changed(resolved, (v) => (v.severity = 'critical'))));
    });
  }
}
