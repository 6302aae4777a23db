// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/dataloader_hang.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

module.exports = {
  kinds: ['training_step_stall', 'dataloader_error', 'storage_event'],
  required: ['tracecore.alert.dataloader_hang.stall_seconds'],
  fields: {
    'pattern.id': oneOf('7'),
    'pattern.name': oneOf('dataloader_hang'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'critical'),
    discriminator: oneOf('worker_killed', 'storage_event'),
    'event.reason': text,
    ...alert('dataloader_hang', { stall_seconds: atLeast(0) }),
  },
};
