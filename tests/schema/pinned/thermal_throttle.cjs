// SPDX-License-Identifier: Apache-2.0
// What schemas/verdict/thermal_throttle.schema.json pins.
'use strict';

const { alert, atLeast, oneOf, text } = require('../fields.cjs');

const names = (...right) => ({
  right,
  wrong: [
    ['text', 'text'], ['a number', 1], ['null', null], ['an empty list', []],
    ['a list with a name twice', ['a', 'a']], ['a list with an empty name', ['a', '']],
    ['a list of numbers', [1, 2]],
  ],
});

module.exports = {
  kinds: ['clock_event', 'temperature'],
  required: ['level', 'seconds', 'gpu_count', 'gpus'].map(
    (name) => `tracecore.alert.thermal_throttle.${name}`,
  ),
  fields: {
    'pattern.id': oneOf('4'),
    'pattern.name': oneOf('thermal_throttle'),
    status: oneOf('open', 'updated', 'resolved'),
    severity: oneOf('info', 'warning'),
    discriminator: oneOf('sw_thermal', 'hw_slowdown', 'power_brake', 'hw_thermal'),
    ...alert('thermal_throttle', {
      level: oneOf('gpu', 'node', 'rack'),
      rack: text,
      seconds: atLeast(0),
      gpu_count: atLeast(1),
      gpus: names('GPU-0'),
      node_count: atLeast(2),
      nodes: names('gpu-07', 'gpu-08'),
      temperature_celsius: atLeast(1),
      memory_temperature_celsius: atLeast(1),
    }),
  },
};
