// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/xid_correlation.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

module.exports = {
  kinds: ['xid', 'gpu_use', 'pod_event'],
  required: [
    'k8s.node.name',
    'k8s.pod.name',
    ...['xid', 'xid_class', 'seconds_before', 'xid_count'].map(
      (key) => `tracecore.alert.xid_correlation.${key}`,
    ),
  ],
  fields: {
    'pattern.id': oneOf('2'),
    'pattern.name': oneOf('xid_correlation'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'critical'),
    discriminator: oneOf('hardware_xid', 'driver_xid', 'unknown_xid'),
    ...alert('xid_correlation', {
      xid: atLeast(0),
      xid_name: text,
      xid_class: oneOf('hardware', 'driver', 'unknown'),
      pod_reason: text,
      seconds_before: atLeast(0),
      xid_count: atLeast(1),
    }),
  },
};
