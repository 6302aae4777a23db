// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/nccl_hang.schema.json pins.
'use strict';

const { alert, anyText, atLeast, oneOf, places, ranks, sentences, text } = require('../fields.cjs');

module.exports = {
  kinds: ['nccl_record', 'nccl_dump', 'nccl_status', 'nccl_ras', 'metric', 'network_fault'],
  required: [
    'culprit_ranks', 'waiting_ranks', 'blocking_ranks', 'culprit_reasons', 'process_group', 'op',
    'seq', 'queued_collectives', 'members',
  ].map((key) => `tracecore.alert.nccl_hang.${key}`),
  fields: {
    'pattern.id': oneOf('1'),
    'pattern.name': oneOf('nccl_hang'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'critical'),
    discriminator: oneOf(
      'missing_rank', 'op_mismatch', 'size_mismatch', 'dtype_mismatch', 'lagging_rank',
      'all_stuck', 'watchdog',
    ),
    ...alert('nccl_hang', {
      culprit_ranks: ranks,
      culprits: places,
      waiting_ranks: ranks,
      blocking_ranks: ranks,
      absent_ranks: ranks,
      unreadable_ranks: ranks,
      culprit_reasons: sentences,
      process_group: anyText,
      process_group_desc: text,
      op: anyText,
      seq: atLeast(0),
      queued_collectives: atLeast(0),
      members: atLeast(1),
      stall_seconds: atLeast(1),
    }),
  },
};
