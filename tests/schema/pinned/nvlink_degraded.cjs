// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/nvlink_degraded.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, ranks, sentences, text } = require('../fields.cjs');

const WORDS = Array(7).fill('0x00010000');
const registers = {
  right: WORDS,
  wrong: [
    ['text', '0x0'], ['null', null], ['six of them', WORDS.slice(1)],
    ['eight of them', [...WORDS, '0x00000000']], ['numbers', [0, 0, 0, 0, 0, 0, 0]],
    ['a short one', [...WORDS.slice(1), '0x0']],
  ],
};

module.exports = {
  kinds: ['sxid', 'xid', 'link_state', 'nvlink_counter', 'driver_fault'],
  required: ['tracecore.alert.nvlink_degraded.device_type'],
  fields: {
    'pattern.id': oneOf('9'),
    'pattern.name': oneOf('nvlink_degraded'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning', 'critical'),
    discriminator: oneOf('fatal_sxid', 'link_down', 'nvlink_xid', 'error_storm'),
    ...alert('nvlink_degraded', {
      device_type: oneOf('gpu', 'nvswitch'),
      switch: text,
      sxid: atLeast(0),
      xid: atLeast(0),
      name: text,
      unit: text,
      registers,
      register_bits: sentences,
      links: ranks,
      gpu_count: atLeast(1),
      crc_errors: atLeast(0),
      replay_errors: atLeast(0),
      recovery_errors: atLeast(0),
    }),
  },
};
