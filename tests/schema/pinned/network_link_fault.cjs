// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/network_link_fault.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

const FAULTS = [
  'cable_fault', 'link_down', 'link_flap', 'packet_loss', 'symbol_errors', 'ib_retry_exceeded',
];

module.exports = {
  kinds: ['network_fault', 'metric'],
  required: ['k8s.node.name', 'tracecore.alert.network_link_fault.faults'],
  fields: {
    'pattern.id': oneOf('10'),
    'pattern.name': oneOf('network_link_fault'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf(...FAULTS),
    ...alert('network_link_fault', {
      device: text,
      faults: {
        right: ['link_flap', 'packet_loss'],
        wrong: [
          ['text', 'link_flap'], ['an empty list', []], ['a list with an unknown one', ['slow']],
          ['a list with one twice', ['link_flap', 'link_flap']], ['null', null],
        ],
      },
      flaps: atLeast(1),
      down_seconds: atLeast(0),
      loss_ppm: atLeast(0),
      errors: atLeast(0),
      module_errors: atLeast(1),
      retry_errors: atLeast(1),
    }),
  },
};
