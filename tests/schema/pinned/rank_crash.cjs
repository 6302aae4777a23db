// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/rank_crash.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

module.exports = {
  kinds: ['rank_exit', 'dataloader_error', 'pod_state'],
  required: ['tracecore.alert.rank_crash.reported_by'],
  fields: {
    'pattern.id': oneOf('14'),
    'pattern.name': oneOf('rank_crash'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'critical'),
    discriminator: oneOf('cuda_error', 'nccl_error', 'out_of_memory_gpu', 'dataloader_worker', 'exception', 'signal'),
    ...alert('rank_crash', {
      reported_by: oneOf('traceback', 'process', 'loader', 'launcher', 'shell', 'step', 'container'),
      error: text,
      exit_code: atLeast(1),
      signal: atLeast(1),
      local_rank: atLeast(0),
      others_ended: atLeast(1),
    }),
  },
};
