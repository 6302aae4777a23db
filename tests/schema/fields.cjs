// SPDX-License-Identifier: Apache-2.0
// The sorts of fields that schemas pin, each with a value that is right and named ones that are
// wrong, and the fields that every verdict may have. CommonJS, so that the test can load the pins
// of every pattern without waiting.
'use strict';

const HEX = 'ab'.repeat(32);

/** The sorts of fields: one value that is right, and named ones that are wrong. */
const oneOf = (...values) => ({
  right: values[0],
  wrong: [['a value that is not listed', 'no_such_value'], ['a number', 1], ['null', null]],
  values,
});
const text = {
  right: 'text',
  wrong: [['a number', 1], ['a list', ['text']], ['empty', ''], ['null', null]],
};
const anyText = { right: 'text', wrong: [['a number', 1], ['a list', ['text']], ['null', null]] };
const atLeast = (min) => ({
  right: min,
  wrong: [['text', '7'], ['a fraction', min + 0.5], [`${min - 1}`, min - 1], ['null', null]],
});
const ranks = {
  right: [0, 7],
  wrong: [
    ['text', '1'], ['a number', 1], ['null', null], ['a list with a rank twice', [1, 1]],
    ['a list with a negative rank', [-1]], ['a list with a fraction', [0.5]],
    ['a list with a rank as text', ['1']], ['a list of lists', [[1]]],
  ],
};
const sentences = {
  right: ['text'],
  wrong: [['text', 'text'], ['a list of numbers', [1]], ['a list with an empty one', ['']]],
};
const onlyTrue = { right: true, wrong: [['false', false], ['text', 'true'], ['null', null]] };
const time = {
  right: '2026-03-04T05:06:07Z',
  wrong: [
    ['a number', 1772600767], ['empty', ''], ['null', null],
    ['with an offset', '2026-03-04T05:06:07+01:00'],
    ['without a zone', '2026-03-04T05:06:07'],
    ['with a blank for the T', '2026-03-04 05:06:07Z'],
    ['of month 13', '2026-13-04T05:06:07Z'],
    ['of day 0', '2026-03-00T05:06:07Z'],
    ['of hour 24', '2026-03-04T24:06:07Z'],
    ['of minute 60', '2026-03-04T05:60:07Z'],
    ['with two digits of fraction', '2026-03-04T05:06:07.12Z'],
    ['with more after it', '2026-03-04T05:06:07Z '],
  ],
};
const incidentId = {
  right: '0123456789abcdef'.repeat(2),
  wrong: [
    ['a number', 1], ['empty', ''], ['in capitals', 'AB'.repeat(16)], ['too short', 'a'.repeat(31)],
    ['too long', 'a'.repeat(33)], ['no hex', 'g'.repeat(32)], ['null', null],
  ],
};
const digest = {
  right: `sha256:${HEX}`,
  wrong: [
    ['a number', 1], ['without its algorithm', HEX], ['of another algorithm', `sha512:${HEX}`],
    ['too short', `sha256:${HEX.slice(1)}`], ['too long', `sha256:${HEX}0`],
    ['in capitals', `sha256:${HEX.toUpperCase()}`], ['null', null],
  ],
};
const pci = {
  right: '0000:b3:00.0',
  wrong: [
    ['a number', 1], ['without a function', '0000:b3:00'], ['without a domain', 'b3:00.0'],
    ['of function 8', '0000:b3:00.8'], ['in capitals', '0000:B3:00.0'], ['null', null],
  ],
};
const PLACE = { rank: 3, 'k8s.node.name': 'text', 'k8s.pod.name': 'text', 'pci.bdf': pci.right };
const places = {
  right: [PLACE, { rank: 0 }],
  wrong: [
    ['an empty list', []], ['text', 'text'], ['a list of ranks', [3]], ['an object', PLACE],
    ['without the rank', [{ 'k8s.node.name': 'text' }]],
    ['with a negative rank', [{ ...PLACE, rank: -1 }]],
    ['with an empty node', [{ ...PLACE, 'k8s.node.name': '' }]],
    ['with a field more', [{ ...PLACE, note: 'text' }]],
    ...pci.wrong.map(([name, value]) => [
      `with an address ${name}`,
      [{ ...PLACE, 'pci.bdf': value }],
    ]),
  ],
};
const CAUSE = { incident_id: incidentId.right, why: 'text' };
const causes = {
  right: [CAUSE],
  wrong: [
    ['an empty list', []], ['text', 'text'], ['a list of texts', ['text']], ['an object', CAUSE],
    ['without the incident', [{ why: 'text' }]],
    ['without a reason', [{ incident_id: incidentId.right }]],
    ['with an empty reason', [{ ...CAUSE, why: '' }]],
    ['with a reason that is a number', [{ ...CAUSE, why: 1 }]],
    ['with a field more', [{ ...CAUSE, note: 'text' }]],
    ...incidentId.wrong.map(([name, value]) => [
      `of an incident_id that is ${name}`,
      [{ ...CAUSE, incident_id: value }],
    ]),
  ],
};
const trail = {
  right: undefined, // no golden is without it
  wrong: [['empty', []], ['text', 'text'], ['an object', {}], ['a list of texts', ['text']]],
};
const RAW = { digest, offset: atLeast(0), length: atLeast(0) };
const EVIDENCE = { uid: text, description: text, time };

const EARLIER = {
  incident_id: incidentId.right, 'pattern.name': 'text', first_seen: time.right,
};
const PAST = { of: 'gpu', count: 3, window_seconds: 604800, earlier: [EARLIER] };
const recurrence = {
  right: PAST,
  wrong: [
    ['text', 'third'], ['null', null], ['{}', {}], ['of another thing', { ...PAST, of: 'pod' }],
    ['a first time', { ...PAST, count: 1 }], ['without a window', { ...PAST, window_seconds: 0 }],
    ['without earlier ones', { ...PAST, earlier: [] }],
    ['with nine earlier ones', { ...PAST, earlier: Array(9).fill(EARLIER) }],
    ['with an earlier one without a time',
      { ...PAST, earlier: [{ ...EARLIER, first_seen: undefined }] }],
    ['with an unknown field', { ...PAST, note: 'text' }],
  ],
};
const SHARED = {
  incident_id: incidentId,
  confidence: oneOf('full', 'partial'),
  headline: text,
  remediation: text,
  first_seen: time,
  last_seen: time,
  detected_at: time,
  incomplete: onlyTrue,
  undated: onlyTrue,
  root: onlyTrue,
  caused_by: causes,
  incident_group: incidentId,
  recurrence,
  'k8s.node.name': text,
  'k8s.namespace.name': text,
  'k8s.pod.name': text,
  'k8s.pod.uid': text,
  'k8s.container.name': text,
  'job.id': text,
  'gpu.uuid': text,
  'pci.bdf': pci,
  rank: atLeast(0),
  'gpu.index': atLeast(0),
  'process.pid': atLeast(0),
  evidence_trail: trail,
};
const REQUIRED = [
  'pattern.id', 'pattern.name', 'incident_id', 'status', 'severity', 'confidence', 'discriminator',
  'headline', 'remediation', 'first_seen', 'last_seen', 'evidence_trail',
];
/** The attributes of a pattern, under their full names. */
const alert = (pattern, fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [`tracecore.alert.${pattern}.${key}`, field]),
  );

module.exports = {
  oneOf, text, anyText, atLeast, places, ranks, sentences, onlyTrue, time, incidentId, digest, pci,
  causes, trail, RAW, EVIDENCE, SHARED, REQUIRED, alert,
};
