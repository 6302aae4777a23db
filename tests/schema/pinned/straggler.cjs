// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/straggler.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, ranks, text } = require('../fields.cjs');

const key = (name) => `tracecore.alert.straggler.${name}`;

module.exports = {
  kinds: ['collective', 'transfer', 'step', 'gpu_metric'],
  required: [
    key('basis'), key('ranks'), key('late_ms'), key('late_percent'), key('peers_ms'),
    key('late_count'), key('compared'),
  ],
  fields: {
    'pattern.id': oneOf('6'),
    'pattern.name': oneOf('straggler'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning'),
    discriminator: oneOf('slow_host', 'slow_link', 'slow_gpu'),
    ...alert('straggler', {
      basis: oneOf('collectives', 'arrivals', 'transfers', 'steps'),
      group: text,
      ranks,
      late_ms: atLeast(0),
      late_percent: atLeast(0),
      peers_ms: atLeast(0),
      late_count: atLeast(0),
      compared: atLeast(3),
      throttle_reasons: atLeast(1),
    }),
  },
};
