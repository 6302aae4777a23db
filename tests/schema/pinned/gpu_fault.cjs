// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/gpu_fault.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, sentences } = require('../fields.cjs');

const xids = {
  right: [79, 154],
  wrong: [
    ['text', '79'], ['a number', 79], ['null', null], ['an empty list', []],
    ['a list with an Xid twice', [79, 79]], ['a list with no Xid', [0]],
    ['a list with an Xid as text', ['79']],
  ],
};

module.exports = {
  kinds: ['xid', 'driver_fault', 'gpu_health', 'scrape', 'driver_load', 'answer'],
  required: [],
  fields: {
    'pattern.id': oneOf('13'),
    'pattern.name': oneOf('gpu_fault'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf(
      'off_the_bus', 'firmware', 'needs_reset', 'init_failed', 'gone', 'other_hardware',
      'suspect',
    ),
    ...alert('gpu_fault', {
      xids,
      missed_scrapes: atLeast(1),
      jobs: sentences,
      pods: atLeast(1),
      gpc: atLeast(0),
      tpc: atLeast(0),
    }),
  },
};
