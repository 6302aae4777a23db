// SPDX-License-Identifier: Apache-2.0
// A reader of server-sent events, as a browser is one, that says what it saw.
import http from 'node:http';

export class Events {
  constructor(address, path, headers = {}) {
    this.events = [];
    this.comments = 0;
    this.lastId = headers['last-event-id'] ?? '';
    const at = address.lastIndexOf(':');
    this.answered = new Promise((resolve, reject) => {
      this.request = http.get({ host: address.slice(0, at), port: Number(address.slice(at + 1)), path, headers, agent: false }, (answer) => {
        this.answer = answer;
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (text) => {
          rest += text;
          for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
            this.#take(rest.slice(0, end));
            rest = rest.slice(end + 2);
          }
        });
        answer.on('error', () => {});
        this.ended = new Promise((over) => { answer.on('close', over); });
        resolve(answer);
      });
      this.request.on('error', reject);
    });
    this.answered.catch(() => {});
  }

  #take(block) {
    const fields = {};
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) { this.comments += 1; continue; }
      const at = line.indexOf(': ');
      fields[line.slice(0, at)] = line.slice(at + 2);
    }
    if ('id' in fields) this.lastId = fields.id;
    if ('data' in fields) this.events.push({ id: Number(fields.id), event: fields.event, data: JSON.parse(fields.data) });
  }

  close() { this.request.destroy(); }
}
