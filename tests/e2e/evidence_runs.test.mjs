// SPDX-License-Identifier: Apache-2.0
// `tracecore evidence manifest|verify|sign` on runs. The envelope is checked with Node's own crypto
// and the specifications' words, not with our code.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, scratch, stored, tracecore, vllm } from './support/runs.mjs';

let place;
let data;
let run;
before(() => {
  place = scratch('evidence_runs');
  data = path.join(place.folder, 'data');
  fs.writeFileSync(path.join(place.folder, 'a.json'), JSON.stringify(vllm()));
  fs.writeFileSync(path.join(place.folder, 'note "1".txt'), 'kept with the run\n');
  const { status, answer } = add(data, ['--name', 'one', '--result', path.join(place.folder, 'a.json'),
    '--artifact', path.join(place.folder, 'note "1".txt')]);
  assert.equal(status, 0);
  run = answer;
});
after(() => place.remove());

const evidence = (args) => tracecore(['evidence', ...args, '--data-dir', data]);
const sha256 = (bytes) => `sha256:${crypto.createHash('sha256').update(bytes).digest('hex')}`;
const pathOf = (digest) => path.join(data, 'files', digest.slice(7, 9), digest.slice(7));

// RFC 8785 by another hand.
function canonical(v) {
  if (v === null || typeof v !== 'object') return JSON.stringify(v);
  if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
  return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`).join(',')}}`;
}

/** Flips a byte of a stored file while `body` runs. */
function damaged(digest, body) {
  const file = pathOf(digest);
  const bytes = fs.readFileSync(file);
  const wrong = Buffer.from(bytes);
  wrong[Math.floor(wrong.length / 2)] ^= 4;
  fs.writeFileSync(file, wrong);
  try { body(); } finally { fs.writeFileSync(file, bytes); }
}

describe('a manifest', () => {
  test('is printed as the very bytes that its digest is over', () => {
    const { status, stdout } = evidence(['manifest', 'one', '--json']);
    assert.equal(status, 0);
    assert.equal(sha256(stdout), run.artifact_manifest_digest);
    const manifest = JSON.parse(stdout);
    assert.equal(canonical(manifest), stdout);
    for (const { name, digest, size } of manifest.files) {
      const bytes = fs.readFileSync(path.join(place.folder, name));
      assert.equal(digest, sha256(bytes));
      assert.equal(size, bytes.length);
    }
    assert.deepEqual(manifest.files.map((f) => f.role).sort(), ['artifact', 'result']);
  });

  test('is shown to people with every digest', () => {
    const { status, stdout } = evidence(['manifest', run.run_id]);
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`manifest   ${run.artifact_manifest_digest}`));
    assert.match(stdout, /artifact note "1"\.txt\n {2}sha256:/);
    assert.match(stdout, /signature {2}unsigned/);
  });

  test('of no run is exit 2', () => {
    const { status, stderr } = evidence(['manifest', 'nope']);
    assert.equal(status, 2);
    assert.match(stderr, /no run "nope"/);
  });
});

describe('verify', () => {
  test('reads everything again and finds nothing', () => {
    for (const args of [['verify'], ['verify', 'one'], ['verify', run.artifact_manifest_digest]]) {
      const { status, stdout } = evidence(args);
      assert.equal(status, 0, stdout);
      assert.match(stdout, /no damage/);
    }
  });

  test('names a damaged file, whichever it is', () => {
    for (const digest of stored(data)) {
      damaged(digest, () => {
        const all = evidence(['verify']);
        assert.equal(all.status, 1);
        assert.match(all.stdout, new RegExp(`damaged: .*${digest.slice(7)}`));
        const one = evidence(['verify', 'one', '--json']);
        assert.equal(one.status, 1);
        assert.ok(JSON.parse(one.stdout.trim().split('\n').at(-1)).damaged > 0);
        const direct = evidence(['verify', digest]);
        assert.equal(direct.status, 1);
        const cat = evidence(['cat', digest]);
        assert.equal(cat.status, 1);
        assert.equal(cat.stdout, '', 'damaged bytes are not shown as evidence');
      });
    }
  });

  test('names what is missing, with its run', () => {
    for (const digest of stored(data)) {
      fs.renameSync(pathOf(digest), path.join(place.folder, 'away'));
      const { status, stdout } = evidence(['verify']);
      fs.renameSync(path.join(place.folder, 'away'), pathOf(digest));
      assert.equal(status, 1);
      assert.match(stdout, new RegExp(`missing: .* of run ${run.run_id} \\(${digest}\\)`));
    }
  });

  test('tells of files that no run refers to, and of strangers', () => {
    const body = 'not of any run';
    const digest = sha256(body);
    fs.mkdirSync(path.dirname(pathOf(digest)), { recursive: true });
    fs.copyFileSync(pathOf(run.artifact_manifest_digest), pathOf(digest));
    fs.writeFileSync(path.join(data, 'files', 'stranger'), '');
    const { status, stdout } = evidence(['verify']);
    fs.rmSync(pathOf(digest));
    fs.rmSync(path.join(data, 'files', 'stranger'));
    assert.equal(status, 1, 'under that name it is damaged');
    assert.match(stdout, new RegExp(`note: no run refers to the file ${digest}`));
    assert.match(stdout, /note: .*stranger: no file of tracecore's/);
  });

  test('reads the tables too: a database that is cut or changed is damage', () => {
    const file = path.join(data, 'warehouse.duckdb');
    const bytes = fs.readFileSync(file);
    const check = (wrong, what) => {
      fs.writeFileSync(file, wrong);
      const { status, stdout, stderr } = evidence(['verify']);
      fs.writeFileSync(file, bytes);
      assert.equal(status, 1, `${what}: ${stdout}${stderr}`);
      assert.match(stdout, /damaged: .*warehouse\.duckdb.*`tracecore rebuild` makes it anew/, what);
      assert.doesNotMatch(stdout, /no damage/, what);
    };
    for (const part of [0.1, 0.25, 0.5, 0.75, 0.99]) {
      check(bytes.subarray(0, Math.floor(bytes.length * part)), `cut to ${part}`);
    }
    const block = 262144;
    for (let at = 12288; at < bytes.length; at += block) {
      const wrong = Buffer.from(bytes);
      wrong[at + 8] ^= 4;
      check(wrong, `block at ${at}`);
    }
    assert.equal(evidence(['verify']).status, 0);
  });

  test('has path, digest and run of what is damaged or missing as JSON', () => {
    const digest = sha256('kept with the run\n');
    const first = (args) => JSON.parse(evidence(args).stdout.split('\n')[0]);
    damaged(digest, () => {
      const all = first(['verify', '--json']);
      assert.equal(all.path, pathOf(digest));
      assert.equal(all.digest, digest);
      const one = first(['verify', 'one', '--json']);
      assert.deepEqual([one.path, one.digest, one.run_id, one.role, one.name],
        [pathOf(digest), digest, run.run_id, 'artifact', 'note "1".txt']);
      assert.equal(evidence(['verify']).stdout.split(pathOf(digest)).length, 2, 'the path once');
    });
    fs.renameSync(pathOf(digest), path.join(place.folder, 'away'));
    const all = first(['verify', '--json']);
    const direct = evidence(['verify', digest]);
    const json = first(['verify', digest, '--json']);
    fs.renameSync(path.join(place.folder, 'away'), pathOf(digest));
    assert.deepEqual([all.digest, all.run_id, all.role, all.name], [digest, run.run_id, 'artifact', 'note "1".txt']);
    assert.equal(direct.status, 1, 'missing, not unknown');
    assert.match(direct.stdout, new RegExp(`missing: ${digest}: run ${run.run_id} refers to it`));
    assert.deepEqual([json.damage, json.path, json.run_id], [true, pathOf(digest), run.run_id]);
  });

  test('without a database says that it cannot tell all, and is exit 1', () => {
    const copy = path.join(place.folder, 'copy');
    fs.cpSync(path.join(data, 'files'), path.join(copy, 'files'), { recursive: true });
    const { status, stdout } = tracecore(['evidence', 'verify', '--data-dir', copy]);
    assert.equal(status, 1);
    assert.match(stdout, /3 files: 0 are damaged; the database is missing/);
    assert.doesNotMatch(stdout, /nothing is missing/);
    const json = tracecore(['evidence', 'verify', '--json', '--data-dir', copy]).stdout.trim().split('\n').at(-1);
    assert.equal(JSON.parse(json).missing, null);
  });

  test('of a digest that is not there is exit 2', () => {
    assert.match(evidence(['verify', `sha256:${'0'.repeat(64)}`]).stderr, /no run refers to one/);
    assert.equal(evidence(['verify', `sha256:${'0'.repeat(64)}`]).status, 2);
    assert.equal(evidence(['verify', 'sha256:0']).status, 2);
  });
});

describe('ls', () => {
  test('lists the files of runs, without a store of the daemon too', () => {
    const { status, stdout } = evidence(['ls', '--json']);
    assert.equal(status, 0);
    const files = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(files.map((f) => f.digest).sort(), stored(data).sort());
    assert.deepEqual(files.map((f) => `${f.role} ${f.name}`).sort(), ['artifact note "1".txt', 'manifest ', 'result a.json']);
    assert.ok(files.every((f) => f.run_id === run.run_id && f.runs === 1 && f.disk_bytes > 0));
    const text = evidence(['ls']).stdout;
    assert.match(text, new RegExp(`${sha256('kept with the run\n')}  ${run.run_id} artifact note "1"\\.txt\n`));
    assert.equal(evidence(['ls', '--since', '2100-01-01T00:00:00Z']).stdout, '');
    const none = tracecore(['evidence', 'ls', '--data-dir', path.join(place.folder, 'nothing')]);
    assert.equal(none.status, 2);
    assert.match(none.stderr, /there is no evidence store/);
  });
});

describe('cat', () => {
  test('finds files of runs by digest, whole and in part', () => {
    const digest = sha256('kept with the run\n');
    assert.equal(evidence(['cat', digest]).stdout, 'kept with the run\n');
    assert.equal(evidence(['cat', digest, '--at', '5,4']).stdout, 'with');
    assert.equal(evidence(['cat', digest, '--at', '5,400']).status, 2);
  });
});

describe('sign', () => {
  const key = () => path.join(place.folder, 'key');

  /** The envelope by the specifications: DSSE v1, in-toto Statement v1. */
  function check(envelope, manifestText) {
    assert.deepEqual(Object.keys(envelope).sort(), ['payload', 'payloadType', 'signatures']);
    assert.equal(envelope.payloadType, 'application/vnd.in-toto+json');
    const payload = Buffer.from(envelope.payload, 'base64');
    const pae = Buffer.concat([
      Buffer.from(`DSSEv1 ${Buffer.byteLength(envelope.payloadType)} ${envelope.payloadType} ${payload.length} `), payload]);
    const pub = crypto.createPublicKey(fs.readFileSync(`${key()}.pub`));
    assert.equal(pub.asymmetricKeyType, 'ed25519');
    assert.equal(envelope.signatures.length, 1);
    assert.ok(crypto.verify(null, pae, pub, Buffer.from(envelope.signatures[0].sig, 'base64')));
    const spki = pub.export({ type: 'spki', format: 'der' });
    assert.equal(`sha256:${envelope.signatures[0].keyid}`, sha256(spki));
    const statement = JSON.parse(payload.toString());
    assert.equal(statement._type, 'https://in-toto.io/Statement/v1');
    assert.equal(statement.predicateType, 'https://tracecore.dev/run-manifest/v1');
    const manifest = JSON.parse(manifestText);
    assert.deepEqual(statement.subject, [
      { name: 'manifest.json', digest: { sha256: sha256(manifestText).slice(7) } },
      ...manifest.files.map((f) => ({ name: f.name, digest: { sha256: f.digest.slice(7) } })),
    ].map(({ name, digest }) => ({ digest, name })));
    assert.equal(statement.predicate.runId, run.run_id);
    assert.equal(statement.predicate.manifestDigest, run.artifact_manifest_digest);
    assert.equal(statement.predicate.transparencyLog, null);
  }

  test('puts an envelope beside the run that others can check', () => {
    const { status, stdout } = evidence(['sign', 'one', '--new-key', key()]);
    assert.equal(status, 0);
    assert.match(stdout, /local key, no transparency log/);
    assert.equal(fs.statSync(key()).mode & 0o777, 0o600);
    const digest = stdout.match(/envelope {3}(sha256:\w+)/)[1];
    const envelope = JSON.parse(evidence(['cat', digest]).stdout);
    check(envelope, evidence(['manifest', 'one', '--json']).stdout);
    assert.match(evidence(['manifest', 'one']).stdout, /signature {2}signed: local key, no transparency log/);
  });

  test('keeps the run as it was', () => {
    const sql = tracecore(['sql', '--json', '--data-dir', data,
      'SELECT count(*) AS n, count(DISTINCT l.lineage_key) AS keys FROM benchmark_run_fact r JOIN artifact_lineage_dim l '
      + 'ON r.lineage_key = l.lineage_key AND r.run_id = l.run_id']);
    assert.deepEqual(JSON.parse(sql.stdout), { n: 1, keys: 1 });
    assert.equal(evidence(['verify']).status, 0);
    assert.equal(add(data, ['--name', 'one', '--result', path.join(place.folder, 'a.json'),
      '--artifact', path.join(place.folder, 'note "1".txt')]).status, 0);
  });

  test('again with the same key gives the same envelope', () => {
    const before = stored(data);
    assert.equal(evidence(['sign', 'one', '--key', key()]).status, 0);
    assert.deepEqual(stored(data), before);
  });

  test('is checked by verify --pub, and another key is refused', () => {
    const good = evidence(['verify', 'one', '--pub', `${key()}.pub`]);
    assert.equal(good.status, 0);
    assert.match(good.stdout, /signature: by this key \(local key, no transparency log\)/);
    const { publicKey } = crypto.generateKeyPairSync('ed25519');
    const other = path.join(place.folder, 'other.pub');
    fs.writeFileSync(other, publicKey.export({ type: 'spki', format: 'pem' }));
    const bad = evidence(['verify', 'one', '--pub', other]);
    assert.equal(bad.status, 1);
    assert.match(bad.stdout, /not as asked: signature: .*no signature in it is by the key/);
    assert.match(bad.stdout, /2 files, \d+ bytes: no damage\nsignature: not by this key/);
    assert.equal(evidence(['verify', 'one', '--pub', key()]).status, 2, 'a private key is none');
  });

  test('works with a key of another program, offline too', () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync('ed25519');
    const file = (name, text, mode = 0o600) => {
      const target = path.join(place.folder, name);
      fs.writeFileSync(target, text, { mode });
      return target;
    };
    const secret = file('node.key', privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const pub = file('node.pub', publicKey.export({ type: 'spki', format: 'pem' }));
    const manifest = file('manifest.json', evidence(['manifest', 'one', '--json']).stdout);
    const made = tracecore(['evidence', 'sign', '--file', manifest, '--key', secret]);
    assert.equal(made.status, 0, made.stderr);
    const envelope = file('envelope.json', made.stdout);
    const verify = ['evidence', 'verify', '--file', manifest, '--envelope', envelope, '--pub', pub];
    assert.equal(tracecore(verify).status, 0);
    file('manifest.json', fs.readFileSync(manifest, 'utf8').replace('"size":', '"size":1'));
    assert.equal(tracecore(verify).status, 1);
    fs.chmodSync(secret, 0o644);
    const open = tracecore(['evidence', 'sign', '--file', manifest, '--key', secret]);
    assert.equal(open.status, 2);
    assert.match(open.stderr, /chmod 600/);
  });

  test('never overwrites a key, and signs nothing that is damaged', () => {
    const again = evidence(['sign', 'one', '--new-key', key()]);
    assert.equal(again.status, 2);
    assert.match(again.stderr, /never overwritten/);
    damaged(run.artifact_manifest_digest, () => {
      const { status, stderr } = evidence(['sign', 'one', '--key', key()]);
      assert.equal(status, 1);
      assert.match(stderr, /nothing was signed/);
    });
    assert.equal(evidence(['sign', 'one']).status, 2);
    assert.equal(evidence(['verify']).status, 0);
  });
});
