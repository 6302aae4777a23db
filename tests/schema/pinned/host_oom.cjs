// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/host_oom.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, sentences, text } = require('../fields.cjs');

module.exports = {
  kinds: ['oom_kill', 'pod_state', 'k8s_event'],
  required: ['tracecore.alert.host_oom.kills', 'tracecore.alert.host_oom.tied_by'],
  fields: {
    'pattern.id': oneOf('12'),
    'pattern.name': oneOf('host_oom'),
    status: oneOf('open', 'updated'),
    severity: oneOf('critical'),
    discriminator: oneOf('container_limit', 'node_memory', 'cpuset_numa', 'memory_pressure'),
    ...alert('host_oom', {
      kills: atLeast(1),
      processes: sentences,
      anon_rss_kb: atLeast(0),
      constraint: text,
      container_id: text,
      tied_by: oneOf('cgroup', 'pid', 'node'),
    }),
  },
};
