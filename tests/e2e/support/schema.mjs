// SPDX-License-Identifier: Apache-2.0
// Verdicts against schemas/verdict, as a program that reads them would check.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { source } from './daemon.mjs';

const validators = new Map();
export function assertVerdict(verdict) {
  const name = verdict['pattern.name'];
  if (!validators.has(name)) {
    const schema = JSON.parse(fs.readFileSync(path.join(source, 'schemas/verdict', `${name}.schema.json`), 'utf8'));
    validators.set(name, new Ajv2020({ allErrors: true }).compile(schema));
  }
  const validate = validators.get(name);
  assert.ok(validate(verdict), `${JSON.stringify(verdict)}\n${JSON.stringify(validate.errors)}`);
}
