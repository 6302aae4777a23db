// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/pcie_aer.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, pci, text } = require('../fields.cjs');

module.exports = {
  kinds: ['aer', 'link_sample', 'pcie_link', 'utilization', 'replays'],
  required: ['tracecore.alert.pcie_rate_collapse.device_type'],
  fields: {
    'pattern.id': oneOf('5'),
    'pattern.name': oneOf('pcie_aer'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf('fatal', 'nonfatal', 'corrected_storm', 'rate_collapse'),
    ...alert('pcie_rate_collapse', {
      device_type: oneOf('gpu', 'nic', 'other'),
      device: text,
      device_id: text,
      reporter: pci,
      errors: text,
      layer: oneOf('physical', 'data_link', 'transaction'),
      fatal_count: atLeast(1),
      nonfatal_count: atLeast(1),
      corrected_count: atLeast(1),
      gen: atLeast(1),
      gen_max: atLeast(1),
      width: atLeast(1),
      width_max: atLeast(1),
      utilization: atLeast(0),
      seconds: atLeast(0),
      replays: atLeast(1),
    }),
  },
};
