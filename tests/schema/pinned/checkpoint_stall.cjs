// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/checkpoint_stall.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, ranks, text } = require('../fields.cjs');

const key = (name) => `tracecore.alert.checkpoint_stall.${name}`;

module.exports = {
  kinds: ['checkpoint', 'storage_event', 'storage_error', 'slow_write'],
  required: [key('outcome'), key('stall_seconds'), key('writers')],
  fields: {
    'pattern.id': oneOf('11'),
    'pattern.name': oneOf('checkpoint_stall'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf('storage_event', 'storage_error', 'slow_write'),
    ...alert('checkpoint_stall', {
      outcome: oneOf('stalled', 'failed'),
      stall_seconds: atLeast(0),
      writers: atLeast(1),
      step: atLeast(0),
      path: text,
      volume: text,
      device: text,
      write_ms: atLeast(0),
      ranks,
    }),
  },
};
