// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/pod_evicted.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

module.exports = {
  kinds: ['node_condition', 'pod_event'],
  required: ['tracecore.alert.pod_evicted.pressure'],
  fields: {
    'pattern.id': oneOf('8'),
    'pattern.name': oneOf('pod_evicted'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf(
      'memory_pressure', 'disk_pressure', 'pid_pressure', 'ephemeral_storage', 'pod_limit',
      'unknown_pressure',
    ),
    ...alert('pod_evicted', {
      pressure: oneOf('memory', 'disk', 'pid', 'ephemeral_storage', 'unknown'),
      container: text,
      usage: text,
      request: text,
      limit: text,
      threshold: text,
      available: text,
      seconds_after_condition: atLeast(0),
    }),
  },
};
