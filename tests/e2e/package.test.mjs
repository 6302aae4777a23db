// SPDX-License-Identifier: Apache-2.0
// The Debian package as a user meets it: built by CPack, installed by apt on a clean Debian 12 that boots systemd in a
// container, running as a hardened service, and gone without a trace after a purge. What can be checked without a
// machine is checked first: the unit, the manual pages, the scripts.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const program = process.env.TC_BINARY ?? path.join(source, 'build/release/tracecore');
const build = path.dirname(program);
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_package_'));
after(() => fs.rmSync(work, { recursive: true, force: true }));

const run = (command, args, options = {}) => {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26, ...options });
  return { status, out: stdout ?? '', err: stderr ?? '', error };
};
const ok = (command, args, options) => {
  const result = run(command, args, options);
  assert.equal(result.status, 0, `${command} ${args.join(' ')}: ${result.error ?? ''}${result.err}${result.out.slice(-2000)}`);
  return result.out;
};
const has = (command) => run('sh', ['-c', `command -v ${command}`]).status === 0;
const without = (...commands) => {
  const missing = commands.filter((one) => !has(one));
  return missing.length > 0 && `not installed: ${missing.join(', ')}`;
};

describe('manual pages', { skip: without('mandoc') }, () => {
  test('each command has one that mandoc takes without a warning', () => {
    const names = run(program, ['help']).out.match(/^ {2}([a-z]+) +\S/gmu).map((line) => line.trim().split(' ')[0]);
    assert.ok(names.length > 20);
    for (const name of ['', ...names]) {
      const page = ok(program, ['help', '--man', ...(name ? [name] : [])]);
      const file = path.join(work, `${name || 'program'}.1`);
      fs.writeFileSync(file, page);
      const said = run('mandoc', ['-T', 'lint', '-W', 'warning', file]).out.split('\n').filter((line) => line && !/missing date/u.test(line));
      assert.deepEqual(said, [], name);
    }
  });

  test('it says what --help says', () => {
    const text = ok('mandoc', ['-T', 'ascii', path.join(work, 'detect.1')]).replace(/.\x08/gu, '').replace(/\s+/gu, ' ');
    for (const words of ['tracecore detect [OPTIONS] PATH...', '--scrape-interval=DURATION', 'One verdict per line, as JSON', 'EXIT STATUS', 'dmesg | tracecore detect']) {
      assert.ok(text.includes(words), words);
    }
  });
});

describe('the unit', { skip: without('systemd-analyze') }, () => {
  const unit = path.join(source, 'packaging/systemd/tracecore.service');

  test('systemd reads it without a complaint', () => {
    const copy = path.join(work, 'tracecore.service');
    fs.writeFileSync(copy, fs.readFileSync(unit, 'utf8').replace('/usr/bin/tracecore', program));
    const { status, err } = run('systemd-analyze', ['verify', '--man=no', copy]);
    const ours = err.split('\n').filter((line) => line.includes('tracecore.service'));
    assert.deepEqual([status, ours], [0, []]);
  });

  test('its exposure is what docs/install.md says', () => {
    const out = ok('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
    const [, score] = /Overall exposure level for tracecore\.service: ([\d.]+)/u.exec(out);
    assert.ok(Number(score) <= 2.1, out.slice(-300));
    assert.ok(fs.readFileSync(path.join(source, 'docs/install.md'), 'utf8').includes(`exposure level ${score}`), `docs/install.md does not say ${score}`);
  });
});

const skip = process.getuid() !== 0 ? 'needs root' : without('mmdebstrap', 'systemd-nspawn', 'cpack', 'dpkg-deb', 'dpkg-shlibdeps', 'file');

describe('the package', { skip }, () => {
  let deb;
  before(() => {
    ok('cpack', ['--config', path.join(build, 'CPackConfig.cmake'), '-D', 'CPACK_DEBIAN_COMPRESSION_TYPE=none', '-D', `CPACK_OUTPUT_FILE_PREFIX=${work}`], { cwd: work });
    deb = path.join(work, fs.readdirSync(work).find((name) => name.endsWith('.deb')));
  });

  test('has the program, its library, pages, completions, unit and configuration', () => {
    const files = ok('dpkg-deb', ['-c', deb]).split('\n').map((line) => line.split(/\s+/u)[5]);
    for (const file of ['./usr/bin/tracecore', './usr/lib/tracecore/libduckdb.so', './usr/lib/systemd/system/tracecore.service', './etc/tracecore/tracecore.yaml',
      './usr/share/man/man1/tracecore.1.gz', './usr/share/man/man1/tracecore-serve.1.gz', './usr/share/bash-completion/completions/tracecore',
      './usr/share/zsh/vendor-completions/_tracecore', './usr/share/fish/vendor_completions.d/tracecore.fish', './usr/share/doc/tracecore/copyright']) {
      assert.ok(files.includes(file), file);
    }
    assert.deepEqual(files.filter((file) => file?.startsWith('./usr/local')), []);
    const control = ok('dpkg-deb', ['-f', deb]);
    for (const need of ['libcurl4', 'libarchive13', 'libfyaml0', 'libssl3']) assert.match(control, new RegExp(`^Depends: .*${need}`, 'mu'));
    ok(program, ['config', 'check', path.join(source, 'packaging/debian/tracecore.yaml')]);
  });

  test('apt installs it on a clean Debian 12: a running service that answers, and is gone after a purge', (t) => {
    const root = path.join(work, 'root');
    const made = run('mmdebstrap', ['-q', '--variant=minbase', '--include=systemd,systemd-sysv,curl', 'bookworm', root]);
    if (made.status !== 0) return t.skip(`no Debian could be made here: ${made.err.slice(-300)}`);
    fs.copyFileSync(deb, path.join(root, 'root/tracecore.deb'));
    fs.writeFileSync(path.join(root, 'root/check.sh'), CHECK, { mode: 0o755 });
    fs.writeFileSync(path.join(root, 'etc/systemd/system/check.service'), '[Unit]\nAfter=network.target\n[Service]\nType=oneshot\nExecStart=/root/check.sh\n');
    fs.mkdirSync(path.join(root, 'etc/systemd/system/multi-user.target.wants'), { recursive: true });
    fs.symlinkSync('/etc/systemd/system/check.service', path.join(root, 'etc/systemd/system/multi-user.target.wants/check.service'));
    const boot = run('systemd-nspawn', ['-q', '-D', root, '-b', '--register=no', '--keep-unit', '--resolv-conf=copy-host'], { timeout: 300000 });
    const log = path.join(root, 'root/check.log');
    if (!fs.existsSync(log)) return t.skip(`systemd does not boot in a container here: ${(boot.err + boot.out).slice(-300)}`);
    const said = fs.readFileSync(log, 'utf8');
    const step = (name) => said.split(`== ${name}\n`)[1]?.split(/^== /mu)[0] ?? '';
    assert.match(step('install'), /^rc 0$/mu, said);
    assert.match(step('service'), /^active$/mu, said);
    assert.match(step('service'), /^User=tracecore$/mu);
    assert.match(step('status'), /is ready/u, said);
    assert.match(step('status'), /^rc 0$/mu);
    assert.match(step('incident'), /DBE|double-bit|uncorrectable/iu, said);
    assert.match(step('tables'), /gpu_fault|hbm_ecc|xid/iu, said);
    assert.match(step('restart'), /DBE|double-bit|uncorrectable/iu, said);
    assert.match(step('journal'), /source +journal is ok since .*, [1-9]\d* records, 0 lost/u, said);
    assert.match(step('journal'), /msg="?confined"?/u, said);
    assert.match(step('purge'), /^rc 0$/mu, said);
    assert.equal(step('left').trim(), '', said);
    return undefined;
  });
});

/** What is done on that machine, step by step. */
const CHECK = `#!/bin/sh
exec >/root/check.log 2>&1
listed() {
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    tracecore incidents | grep -i gpu-07 && return
    sleep 0.5
  done
}
echo "== install"
apt-get update -q >/root/apt.log 2>&1
apt-get install -q -y --no-install-recommends /root/tracecore.deb >>/root/apt.log 2>&1
echo "rc $?"
echo "== service"
systemctl is-active tracecore
systemctl show -p User tracecore
echo "== status"
tracecore status
echo "rc $?"
echo "== incident"
curl -sS -H 'Content-Type: application/json' http://127.0.0.1:4318/v1/logs -d '{"resourceLogs":[{"resource":{"attributes":[{"key":"k8s.node.name","value":{"stringValue":"gpu-07"}}]},"scopeLogs":[{"logRecords":[{"body":{"stringValue":"NVRM: Xid (PCI:0000:43:00): 48, pid=4711, name=python, DBE (double bit error)"}}]}]}]}'
listed
echo "== tables"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  tracecore sql --data-dir /var/lib/tracecore 'SELECT pattern FROM verdict_fact' | grep -i '[a-z]_' && break
  sleep 0.5
done
echo "== restart"
systemctl restart tracecore
listed
echo "== journal"
printf 'sources: {journal: {units: ["SYSLOG_IDENTIFIER=fabric"], kernel: false}}\\n' >>/etc/tracecore/tracecore.yaml
systemctl restart tracecore
logger -t fabric 'a line of the fabric manager'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  tracecore status | grep 'source *journal' | grep -v ' 0 records' && break
  sleep 0.5
done
tracecore status | grep source
journalctl -u tracecore | grep confined | tail -1
echo "== purge"
apt-get purge -q -y tracecore >>/root/apt.log 2>&1
echo "rc $?"
echo "== left"
ls -d /var/lib/tracecore /etc/tracecore /usr/lib/tracecore /usr/bin/tracecore 2>/dev/null
id -un tracecore 2>/dev/null
find / -xdev -name '*tracecore*' -not -path '/root/*' -not -path '/proc/*' -not -path '/var/lib/dpkg/*' -not -path '/var/log/*' -not -path '/var/cache/*' -not -path '/tmp/*' 2>/dev/null
echo "== end"
systemctl --no-block start poweroff.target
`;
