// SPDX-License-Identifier: Apache-2.0
// The OpenTelemetry JS SDK as an application uses it: a provider, a processor, an exporter. What
// the SDK would only log (a failed export, a partial success) is gathered here for the tests.
import { DiagLogLevel, ROOT_CONTEXT, diag, trace } from '@opentelemetry/api';
import { OTLPLogExporter as LogsGrpc } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPLogExporter as LogsJson } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as LogsProto } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as MetricsGrpc } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as MetricsJson } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as MetricsProto } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as TracesGrpc } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as TracesJson } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as TracesProto } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const exporters = {
  protobuf: { logs: LogsProto, metrics: MetricsProto, traces: TracesProto },
  json: { logs: LogsJson, metrics: MetricsJson, traces: TracesJson },
  grpc: { logs: LogsGrpc, metrics: MetricsGrpc, traces: TracesGrpc },
};
export const forms = Object.keys(exporters);

/** Warnings and errors that the SDK would have logged. */
export const complaints = [];
const note = (...words) => complaints.push(words.map(String).join(' '));
diag.setLogger({ error: note, warn: note, info() {}, debug() {}, verbose() {} }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });

/** An exporter of that form to that daemon; every result of an export is pushed to `results`. */
function exporter(daemon, form, signal, compression, results) {
  const url = form === 'grpc' ? `http://${daemon.grpc}` : `http://${daemon.http}/v1/${signal}`;
  const made = new exporters[form][signal]({ url, compression, timeoutMillis: 20000 });
  const inner = made.export.bind(made);
  made.export = (items, done) => inner(items, (result) => { results.push(result); done(result); });
  return made;
}

/** Emits log records { body, attributes, timestamp }; gives the results of the exports. */
export async function sendLogs(daemon, form, compression, resource, records, batch = 512) {
  const results = [];
  const provider = new LoggerProvider({
    resource: resourceFromAttributes(resource),
    processors: [new BatchLogRecordProcessor({
      exporter: exporter(daemon, form, 'logs', compression, results),
      maxQueueSize: records.length + batch, maxExportBatchSize: batch, scheduledDelayMillis: 60000,
    })],
  });
  const logger = provider.getLogger('tests', '1.0.0');
  for (const record of records) logger.emit(record);
  await provider.forceFlush();
  await provider.shutdown();
  return results;
}

/** Adds to one counter, records a gauge and a histogram under each of these attributes. */
export async function sendMetrics(daemon, form, compression, resource, points) {
  const results = [];
  const reader = new PeriodicExportingMetricReader({
    exporter: exporter(daemon, form, 'metrics', compression, results), exportIntervalMillis: 3600000, exportTimeoutMillis: 20000,
  });
  const provider = new MeterProvider({ resource: resourceFromAttributes(resource), readers: [reader] });
  const meter = provider.getMeter('tests', '1.0.0');
  const counter = meter.createCounter('tests.count');
  const gauge = meter.createGauge('tests.level', { unit: '1' });
  const histogram = meter.createHistogram('tests.duration', { unit: 's' });
  for (const attributes of points) {
    counter.add(3, attributes);
    gauge.record(0.5, attributes);
    histogram.record(1.25, attributes);
  }
  await provider.shutdown(); // which flushes: a flush before it would send everything twice
  return results;
}

/** Spans { name, options, event, status, end }, each with a trace of its own or as a child of the one before it. */
export async function sendSpans(daemon, form, compression, resource, spans) {
  const results = [];
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(resource),
    spanProcessors: [new BatchSpanProcessor(exporter(daemon, form, 'traces', compression, results),
      { maxQueueSize: spans.length + 512, maxExportBatchSize: 512, scheduledDelayMillis: 60000 })],
  });
  const tracer = provider.getTracer('tests', '1.0.0');
  let parent = ROOT_CONTEXT;
  for (const { name, options, event, status, end, isChild } of spans) {
    const span = tracer.startSpan(name, options, isChild ? parent : ROOT_CONTEXT);
    parent = trace.setSpan(ROOT_CONTEXT, span);
    if (event) span.addEvent(...event);
    if (status) span.setStatus(status);
    span.end(end);
  }
  await provider.forceFlush();
  await provider.shutdown();
  return results;
}

/** One span for each name, with an event and a status. */
export const sendTraces = (daemon, form, compression, resource, names) => sendSpans(daemon, form, compression, resource, names.map((name) => ({
  name, options: { attributes: { 'tests.id': name, rank: 3, ratio: 0.25, tags: ['a', 'b'] } }, event: ['begun', { n: 1 }], status: { code: 2, message: 'as tests go' },
})));
