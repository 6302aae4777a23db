// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/hbm_ecc.schema.json pins.
'use strict';

const { alert, atLeast, oneOf } = require('../fields.cjs');

const xids = {
  right: [48, 63],
  wrong: [
    ['text', '48'], ['a number', 48], ['null', null], ['an empty list', []],
    ['a list with an Xid twice', [48, 48]], ['a list with another Xid', [79]],
    ['a list with an Xid as text', ['48']],
  ],
};

module.exports = {
  kinds: ['xid', 'driver_fault', 'ecc_counter', 'remap_state'],
  required: [],
  fields: {
    'pattern.id': oneOf('3'),
    'pattern.name': oneOf('hbm_ecc'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf(
      'corrected_storm', 'remap_pending', 'contained', 'uncorrectable', 'uncontained',
      'remap_failed',
    ),
    ...alert('hbm_ecc', {
      uncorrected_errors: atLeast(1),
      corrected_errors: atLeast(1),
      window_seconds: atLeast(1),
      remapped_rows: atLeast(1),
      pages_pending: atLeast(1),
      xids,
    }),
  },
};
