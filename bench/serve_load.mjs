// SPDX-License-Identifier: Apache-2.0
// A thread that sends the anchor's small logs at a steady pace until it is told to stop.
import http from 'node:http';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { body, RECORDS } from './load/logs.mjs';
import { typeOf } from './load/body.mjs';

if (!isMainThread && workerData?.pace) {
  const { host, port, pace } = workerData;
  const payload = body('protobuf');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const sums = { sent: 0, ok: 0, refused: 0, failed: 0, late: 0 };
  const began = performance.now();
  let fresh = began;
  const send = () => {
    sums.sent++;
    const request = http.request({ host, port, agent, method: 'POST', path: '/v1/logs', headers: { 'content-type': typeOf('protobuf'), 'content-length': payload.bytes.length } }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) sums.ok++;
      else sums.refused++;
    });
    request.on('error', () => { sums.failed++; });
    request.end(payload.bytes);
  };
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - fresh > 1000) { payload.refresh(Date.now(), 0); fresh = now; }
    const due = Math.floor((now - began) / 1000 * pace / RECORDS);
    if (due - sums.sent > 100) sums.late += due - sums.sent - 100;
    for (let n = Math.min(due - sums.sent, 100); n > 0; n--) send();
  }, 2);
  parentPort.on('message', () => {
    clearInterval(timer);
    parentPort.postMessage({ ...sums, seconds: (performance.now() - began) / 1000 });
    setTimeout(() => process.exit(0), 200);
  });
}
