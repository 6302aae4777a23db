// SPDX-License-Identifier: Apache-2.0
// The container file and the Helm chart, as far as they can be checked without a cluster: the values fit their schema,
// the templates render as Helm renders them (Go's templates with sprig, where Go is installed), the objects refer to
// each other, and the configuration in them is one that the daemon takes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import Ajv from 'ajv';
import { validate } from 'dockerfile-utils';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const program = process.env.TC_BINARY ?? path.join(source, 'build/release/tracecore');
const chart = path.join(source, 'packaging/helm/tracecore');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_chart_'));
after(() => fs.rmSync(work, { recursive: true, force: true }));

const run = (command, args, options = {}) => spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 24, ...options });
const yaml = (text) => {
  const { status, stdout, stderr } = run('python3', ['-c', 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))'], { input: text });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
};
const [values] = yaml(fs.readFileSync(path.join(chart, 'values.yaml'), 'utf8'));
const [about] = yaml(fs.readFileSync(path.join(chart, 'Chart.yaml'), 'utf8'));
const version = /VERSION (\d+\.\d+\.\d+)/u.exec(fs.readFileSync(path.join(source, 'CMakeLists.txt'), 'utf8').split('project(')[1])[1];

test('the container file has no mistake, runs as nobody in particular, and has the ports of the daemon', () => {
  const text = fs.readFileSync(path.join(source, 'packaging/container/Containerfile'), 'utf8');
  assert.deepEqual(validate(text).map((one) => `${one.range.start.line + 1}: ${one.message}`), []);
  const last = text.split(/^FROM /mu).at(-1);
  assert.match(last, /^USER 10001:10001$/mu);
  assert.match(last, /^EXPOSE 4317 4318 4320$/mu);
  const env = Object.fromEntries([...last.matchAll(/(TRACECORE_\w+)=(\S+)/gu)].map(([, name, value]) => [name, value]));
  assert.equal(Object.keys(env).length, 5);
  const { status, stderr } = run(program, ['config', 'check'], { env: { ...process.env, ...env } });
  assert.equal(status, 0, stderr);
});

test('the chart is of this version, and its values fit their schema', () => {
  assert.deepEqual([about.apiVersion, about.name, about.appVersion, about.version], ['v2', 'tracecore', version, version]);
  const schema = JSON.parse(fs.readFileSync(path.join(chart, 'values.schema.json'), 'utf8'));
  delete schema.$schema;
  const check = new Ajv({ strict: false }).compile(schema);
  assert.ok(check(values), JSON.stringify(check.errors));
  for (const wrong of [{ ...values, servr: {} }, { ...values, service: { type: 'Host' } }, { ...values, node: { enabled: 'yes' } }, { ...values, server: { storage: { size: 'much' } } }]) {
    assert.ok(!check(wrong), JSON.stringify(wrong));
  }
});

const gopath = '/usr/share/gocode';
const skip = (run('go', ['version']).status !== 0 || !fs.existsSync(`${gopath}/src/github.com/Masterminds/sprig`)) &&
  'Go with sprig is not installed (golang-go, golang-github-masterminds-sprig-dev)';

describe('the templates', { skip }, () => {
  const tryRender = (change) => {
    const data = { Values: { ...values, ...change }, Chart: { Name: about.name, AppVersion: about.appVersion }, Release: { Name: 'tc', Namespace: 'monitoring', Service: 'Helm' } };
    return run('go', ['run', path.join(source, 'tests/support/helm/render.go'), path.join(chart, 'templates')],
      { input: JSON.stringify(data), env: { ...process.env, GO111MODULE: 'off', GOPATH: gopath, GOCACHE: path.join(work, 'go') } });
  };
  const render = (change = {}) => {
    const { status, stdout, stderr } = tryRender(change);
    assert.equal(status, 0, stderr);
    return yaml(stdout).filter(Boolean);
  };
  const configOf = (objects, name) => yaml(find(objects, 'ConfigMap', name).data['tracecore.yaml'])[0];
  const nodeOf = (objects) => objects.find((one) => one.kind === 'DaemonSet').spec.template.spec;
  const find = (objects, kind, name) => objects.find((one) => one.kind === kind && one.metadata.name === name);
  const takes = (config) => {
    const file = path.join(work, 'tracecore.yaml');
    fs.writeFileSync(file, config.data['tracecore.yaml']);
    const { status, stderr } = run(program, ['config', 'check', file]);
    assert.equal(status, 0, `${stderr}\n${config.data['tracecore.yaml']}`);
  };

  test('render to objects that refer to each other, with configurations that the daemon takes', () => {
    const objects = render();
    const kinds = objects.map((one) => one.kind).sort();
    assert.deepEqual(kinds, ['ClusterRole', 'ClusterRoleBinding', 'ConfigMap', 'ConfigMap', 'DaemonSet', 'Deployment', 'NetworkPolicy', 'PersistentVolumeClaim', 'Service', 'ServiceAccount']);
    for (const one of objects) assert.equal(one.metadata.labels['app.kubernetes.io/instance'], 'tc');
    for (const kind of ['Deployment', 'DaemonSet']) {
      const one = objects.find((object) => object.kind === kind);
      const { spec, metadata } = one.spec.template;
      for (const [label, value] of Object.entries(one.spec.selector.matchLabels)) assert.equal(metadata.labels[label], value);
      assert.ok(find(objects, 'ServiceAccount', spec.serviceAccountName));
      const [container] = spec.containers;
      assert.deepEqual(container.volumeMounts.map((mount) => mount.name).sort(), spec.volumes.map((volume) => volume.name).sort());
      assert.equal(container.securityContext.readOnlyRootFilesystem, true);
      assert.equal(container.securityContext.privileged, undefined);
      assert.deepEqual(container.securityContext.capabilities.drop, ['ALL']);
      takes(find(objects, 'ConfigMap', spec.volumes.find((volume) => volume.configMap).configMap.name));
    }
    const service = find(objects, 'Service', 'tc');
    const ports = find(objects, 'Deployment', 'tc').spec.template.spec.containers[0].ports.map((port) => port.name);
    assert.deepEqual(service.spec.ports.map((port) => port.targetPort), ports);
    const [role] = find(objects, 'ClusterRole', 'monitoring-tc').rules;
    assert.deepEqual(role.verbs, ['get', 'list', 'watch']);
  });

  test('the API answers to the names of the Service, and to those of the user', () => {
    const names = ['tc', 'tc.monitoring', 'tc.monitoring.svc', 'tc.monitoring.svc.cluster.local'];
    assert.deepEqual(configOf(render(), 'tc').server.allowed_hosts, names);
    const more = render({ server: { ...values.server, config: { server: { allowed_hosts: ['tracecore.example'] } } } });
    assert.deepEqual(configOf(more, 'tc').server.allowed_hosts, [...names, 'tracecore.example']);
    takes(find(more, 'ConfigMap', 'tc'));
  });

  test('nodes forward to the server, with a token where it wants one, unless they are told to judge', () => {
    const endpoints = ['http://tc.monitoring.svc:4318'];
    assert.deepEqual(configOf(render(), 'tc-node').forward, { endpoints });
    const auth = { tokens: [{ name: 'nodes', sha256: 'a'.repeat(64), scopes: ['ingest'] }] };
    const server = { ...values.server, config: { auth } };
    const refused = tryRender({ server });
    assert.notEqual(refused.status, 0, 'agents without a token would be refused, one after the other, on the cluster');
    assert.match(refused.stderr, /node\.tokenSecret is missing/u);
    const closed = render({ server, node: { ...values.node, tokenSecret: 'agents' } });
    assert.deepEqual(configOf(closed, 'tc-node').forward, { endpoints, token_file: '/etc/tracecore-token/token' });
    assert.deepEqual(nodeOf(closed).volumes.find((one) => one.name === 'token').secret, { secretName: 'agents' });
    assert.ok(nodeOf(closed).containers[0].volumeMounts.some((one) => one.mountPath === '/etc/tracecore-token'));
    const own = { endpoints: ['https://judge:4318'], token_file: '/etc/token' };
    assert.deepEqual(configOf(render({ server, node: { ...values.node, config: { forward: own } } }), 'tc-node').forward, own);
    const alone = render({ server, node: { ...values.node, forward: false } });
    assert.equal(configOf(alone, 'tc-node').forward, undefined);
    for (const one of [closed, alone]) takes(find(one, 'ConfigMap', 'tc-node'));
  });

  test('a node is privileged only where it is asked for, and as an API server takes it', () => {
    const [plain] = nodeOf(render()).containers;
    assert.deepEqual([plain.securityContext.privileged, plain.securityContext.allowPrivilegeEscalation], [undefined, false]);
    const [container] = nodeOf(render({ node: { ...values.node, privileged: true } })).containers;
    assert.deepEqual([container.securityContext.privileged, container.securityContext.readOnlyRootFilesystem], [true, true]);
    // "cannot set allowPrivilegeEscalation to false and privileged to true"
    assert.equal(container.securityContext.allowPrivilegeEscalation, undefined);
  });

  test('tokens close it, and no nodes is a choice', () => {
    const tokens = [{ name: 'people', sha256: 'a'.repeat(64), scopes: ['read'] }];
    const objects = render({ server: { ...values.server, config: { auth: { tokens }, api: { workers: 4 } } }, node: { ...values.node, enabled: false } });
    assert.equal(objects.filter((one) => one.kind === 'DaemonSet').length, 0);
    const config = find(objects, 'ConfigMap', 'tc');
    const [read] = yaml(config.data['tracecore.yaml']);
    assert.deepEqual([read.insecure, read.api.workers, read.api.listen], [false, 4, '0.0.0.0:4320']);
    takes(config);
  });
});
