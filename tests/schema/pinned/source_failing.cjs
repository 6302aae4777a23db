// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/source_failing.schema.json pins.
'use strict';

const { alert, oneOf } = require('../fields.cjs');

module.exports = {
  kinds: ['source_state'],
  required: ['tracecore.alert.source_failing.sources'],
  fields: {
    'pattern.id': oneOf('15'),
    'pattern.name': oneOf('source_failing'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning'),
    discriminator: oneOf('one_source', 'several_sources'),
    ...alert('source_failing', {
      sources: {
        right: ['journal', 'scrape'],
        wrong: [
          ['text', 'scrape'], ['a number', 1], ['null', null], ['an empty list', []],
          ['a list with a name twice', ['scrape', 'scrape']], ['a list with an empty name', ['']], ['a list of numbers', [1]],
        ],
      },
    }),
  },
};
