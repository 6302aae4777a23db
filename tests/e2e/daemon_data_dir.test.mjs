// SPDX-License-Identifier: Apache-2.0
// The data directory after a loss of power and after a newer tracecore, and in the hands of others:
// what is torn is repaired, what is not ours to write is refused and left as it was.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { post, until } from './support/wire.mjs';

const space = workspace('data_dir');
const daemons = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  space.remove();
});
const make = (name, config, options) => {
  const daemon = new Daemon(space.file(name), config, options);
  daemons.push(daemon);
  return daemon;
};
const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
const verdicts = (daemon) => (fs.existsSync(daemon.verdictFile) ? fs.readFileSync(daemon.verdictFile, 'utf8') : '');

/** Every file of a directory with its mode and the digest of its bytes; links as what they say. */
function tree(dir) {
  return Object.fromEntries(fs.readdirSync(dir, { recursive: true }).sort().map((name) => {
    const file = path.join(dir, name);
    const stat = fs.lstatSync(file);
    const content = stat.isFile() ? createHash('sha256').update(fs.readFileSync(file)).digest('hex')
      : stat.isSymbolicLink() ? fs.readlinkSync(file) : '';
    return [name, `${stat.mode.toString(8)} ${content}`];
  }));
}
/** A data directory with a batch, a citation and a verdict, of a daemon that has ended. */
async function used(name, config) {
  const daemon = make(name, config);
  await daemon.start();
  assert.equal((await post(daemon.http, 'logs', fault('gpu-1'))).status, 200);
  await until('the verdict', () => verdicts(daemon).includes('gpu-1'));
  await daemon.stop();
  return daemon;
}
const only = (dir, ending) => {
  const names = fs.readdirSync(dir).filter((name) => name.endsWith(ending));
  assert.equal(names.length, 1, `${dir}: ${names}`);
  return path.join(dir, names[0]);
};
/** Does not start, says why, and leaves every byte as it was. */
async function refuses(daemon, why) {
  const before = tree(daemon.dataDir);
  await assert.rejects(daemon.start(), (error) => {
    for (const text of why) assert.match(error.message, text);
    return true;
  });
  assert.deepEqual(tree(daemon.dataDir), before);
}

describe('after a loss of power', () => {
  test('zeros at the end of any file are cut, told once, and nothing else is lost', async () => {
    const daemon = await used('zeros');
    const evidence = path.join(daemon.dataDir, 'evidence');
    const files = [path.join(evidence, 'citations.idx'), only(path.join(evidence, 'open'), '.seg'),
      only(path.join(daemon.dataDir, 'outbox'), '.log'), daemon.verdictFile];
    const sizes = files.map((file) => fs.statSync(file).size);
    for (const file of files) fs.truncateSync(file, fs.statSync(file).size + 9000);
    const before = verdicts(daemon).replaceAll('\0', '');
    await daemon.start();
    assert.equal(verdicts(daemon), before);
    for (const name of ['citations.idx', '.seg', 'verdicts.ndjson']) {
      const lines = daemon.log().split('\n').filter((line) => line.includes(name) && line.includes('9000'));
      assert.equal(lines.length, 1, `${name}: ${lines.join('\n')}`);
    }
    assert.equal((await post(daemon.http, 'logs', fault('gpu-2'))).status, 200);
    await until('the next verdict', () => verdicts(daemon).includes('gpu-2'));
    await daemon.stop();
    assert.ok(files.every((file, i) => fs.statSync(file).size >= sizes[i]));
    assert.equal(daemon.batches().length, 2);
    for (const line of verdicts(daemon).trimEnd().split('\n')) JSON.parse(line);
    daemon.assertWhole();
  });
});

describe('after a newer tracecore', () => {
  test('a segment of a newer version is refused', async () => {
    const daemon = await used('newer_segment');
    const file = only(path.join(daemon.dataDir, 'evidence/open'), '.seg');
    const bytes = fs.readFileSync(file);
    bytes.writeUInt32LE(3, 8);
    bytes.writeUInt32LE(128, 12);
    fs.writeFileSync(file, bytes);
    await refuses(daemon, [/\.seg/, /format version 3/, /up to 2/, /newer tracecore/]);
  });

  test('a log of verdicts of a newer version is refused, before the evidence is repaired', async () => {
    const daemon = await used('newer_log');
    fs.truncateSync(path.join(daemon.dataDir, 'evidence/citations.idx'), 1000);
    const file = only(path.join(daemon.dataDir, 'outbox'), '.log');
    const bytes = fs.readFileSync(file);
    bytes.write('TCv3', 0, 'latin1');
    bytes.writeUInt32LE(99, 16);
    fs.writeFileSync(file, bytes);
    fs.writeFileSync(path.join(daemon.dataDir, 'outbox/00000000.log'), 'older');
    await refuses(daemon, [/\.log/, /format version 3/, /up to 2/, /newer tracecore/]);
  });
});

describe('a directory that others have a hand in', () => {
  test('gone, or another one: 503 and a line in the log, until it is back', async () => {
    const daemon = make('gone');
    await daemon.start();
    assert.equal((await post(daemon.http, 'logs', fault('gpu-1'))).status, 200);
    const away = `${daemon.dataDir}.away`;
    const lines = () => daemon.log().split('\n').filter((line) => line.includes('removed or replaced'));
    const refused = async () => {
      const answer = await post(daemon.http, 'logs', fault('gpu-lost'));
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers['retry-after']) >= 1, 'Retry-After');
    };
    fs.renameSync(daemon.dataDir, away);
    await refused();
    await refused();
    assert.equal(lines().length, 1, lines().join('\n'));
    fs.mkdirSync(path.join(daemon.dataDir, 'evidence/open'), { recursive: true });
    await refused();
    assert.deepEqual(fs.readdirSync(path.join(daemon.dataDir, 'evidence/open')), []);
    fs.rmSync(daemon.dataDir, { recursive: true });
    fs.renameSync(away, daemon.dataDir);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-2'))).status, 200);
    await daemon.stop();
    assert.equal(daemon.batches().length, 2);
    daemon.assertWhole();
  });

  test('removed before the first batch: refused, and nothing is made in its place', async () => {
    const daemon = make('removed');
    await daemon.start();
    fs.rmSync(daemon.dataDir, { recursive: true });
    assert.equal((await post(daemon.http, 'logs', fault('gpu-1'))).status, 503);
    assert.ok(!fs.existsSync(daemon.dataDir));
    await daemon.stop();
  });

  test('one that others can write to, or with a link in it, is refused with the remedy', async () => {
    const daemon = await used('others');
    const inside = path.join(daemon.dataDir, 'evidence');
    const mode = fs.statSync(inside).mode;
    fs.chmodSync(daemon.dataDir, 0o777);
    await refuses(daemon, [/everybody can write to it/, /chmod o-w/]);
    fs.chmodSync(daemon.dataDir, 0o700);
    fs.chmodSync(inside, 0o757);
    await refuses(daemon, [/evidence: everybody can write to it/]);
    fs.chmodSync(inside, mode);
    if (process.getuid() === 0) {
      fs.chownSync(inside, 12345, 0);
      await refuses(daemon, [/belongs to uid 12345/, /chown -R/]);
      fs.chownSync(inside, 0, 54321);
      fs.chmodSync(inside, 0o770);
      await refuses(daemon, [/group 54321 can write to it/, /chmod g-w/]);
      fs.chownSync(inside, 0, process.getgid());
    }
    const log = only(path.join(daemon.dataDir, 'outbox'), '.log');
    fs.renameSync(log, `${daemon.home}/elsewhere.log`);
    fs.symlinkSync(`${daemon.home}/elsewhere.log`, log);
    await refuses(daemon, [/\.log: is a symbolic link/, /another data_dir/]);
    fs.rmSync(log);
    fs.renameSync(`${daemon.home}/elsewhere.log`, log);
    await daemon.start(); /* group-writable by a group of its own is fine: fsGroup */
    await daemon.stop();
  });
});
