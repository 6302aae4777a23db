/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request costs: one of 1,024 log records of the kernel's, as an agent sends them, checked
 * and made into events, and the same with detection. The requests are written here, by hand, so
 * that what is measured does not measure itself.
 */
#include "base/buf.h"
#include "base/pb.h"
#include "bench/alloc_count.h"
#include "bench/bench.h"
#include "bench/measure.h"
#include "cli/output/say.h"
#include "codec/otlp/wire.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORDS 1024
#define BODY_BYTES ((size_t)1 << 20)
#define ARENA_BYTES ((size_t)4 << 20)
#define TEXT_BYTES 256
#define ROUNDS_WARM 64
/* The best batch is what counts: whatever else the machine does only adds. */
#define BATCHES 500
#define ROUNDS 2
#define TIME_NS (UINT64_C(1762000000) * (uint64_t)TC_SECOND)
#define ERROR_NUMBER 17

/* ---- protobuf ---- */

static void put_text_value(struct tc_buf *b, unsigned number, struct tc_slice text)
{
    char bytes[TEXT_BYTES];
    struct tc_buf value = tc_buf_make(bytes, sizeof bytes);
    tc_pb_put_bytes(&value, 1, text);
    tc_pb_put_bytes(b, number, tc_buf_slice(&value));
}

/* An attribute: text, or the number when that is empty. */
static void put_attribute(struct tc_buf *b, unsigned in, const char *key, struct tc_slice text,
                          uint64_t number)
{
    char bytes[TEXT_BYTES];
    struct tc_buf pair = tc_buf_make(bytes, sizeof bytes);
    tc_pb_put_bytes(&pair, 1, tc_slice_cstr(key));
    if (text.len > 0) {
        put_text_value(&pair, 2, text);
    } else {
        char value_bytes[16];
        struct tc_buf value = tc_buf_make(value_bytes, sizeof value_bytes);
        tc_pb_put_number(&value, 3, number);
        tc_pb_put_bytes(&pair, 2, tc_buf_slice(&value));
    }
    tc_pb_put_bytes(b, in, tc_buf_slice(&pair));
}

static struct tc_slice numbered(char *to, size_t size, const char *before, unsigned n,
                                const char *behind)
{
    int len = snprintf(to, size, "%s%u%s", before, n, behind);
    return tc_slice_make(to, (size_t)len);
}

static struct tc_slice message_of(char *to, size_t size, unsigned i)
{
    return numbered(to, size, "NVRM: Xid (PCI:0000:3b:00): 79, pid=", 10000 + i,
                    ", GPU has fallen off the bus.");
}

static void put_record(struct tc_buf *b, unsigned i)
{
    char text[TEXT_BYTES];
    char bytes[2 * TEXT_BYTES];
    struct tc_buf record = tc_buf_make(bytes, sizeof bytes);
    tc_pb_put_fixed64(&record, 1, TIME_NS + i * UINT64_C(1000));
    tc_pb_put_number(&record, 2, ERROR_NUMBER);
    tc_pb_put_bytes(&record, 3, TC_LIT("ERROR"));
    put_text_value(&record, 5, message_of(text, sizeof text, i));
    put_attribute(&record, 6, "gpu.index", TC_EMPTY, i % 8);
    put_attribute(&record, 6, "gpu.uuid",
                  numbered(text, sizeof text, "GPU-6f1b2c3d-", 100000 + i, ""), 0);
    put_attribute(&record, 6, "xid", TC_EMPTY, 79);
    put_attribute(&record, 6, "rank", TC_EMPTY, i);
    put_attribute(&record, 6, "job.id", TC_LIT("slurm-884213"), 0);
    tc_pb_put_fixed64(&record, 11, TIME_NS + i * UINT64_C(1000) + 5);
    tc_pb_put_bytes(b, 2, tc_buf_slice(&record));
}

static void fill_protobuf(struct tc_buf *out, struct tc_buf *spare)
{
    char bytes[2 * TEXT_BYTES];
    struct tc_buf part = tc_buf_make(bytes, sizeof bytes);
    put_attribute(&part, 1, "service.name", TC_LIT("gpu-agent"), 0);
    put_attribute(&part, 1, "host.name", TC_LIT("node-0417"), 0);
    put_attribute(&part, 1, "k8s.cluster.name", TC_LIT("train-a"), 0);
    put_attribute(&part, 1, "gpu.model", TC_LIT("H100-SXM5-80GB"), 0);
    tc_pb_put_bytes(spare, 1, tc_buf_slice(&part));
    for (unsigned i = 0; i < RECORDS; i++) {
        char scope_bytes[4 * TEXT_BYTES];
        struct tc_buf scope = tc_buf_make(scope_bytes, sizeof scope_bytes);
        tc_pb_put_bytes(&scope, 1,
                        TC_LIT("\x0a\x09gpu.agent\x12\x05"
                               "1.2.0"));
        put_record(&scope, i);
        tc_pb_put_bytes(spare, 2, tc_buf_slice(&scope));
    }
    tc_pb_put_bytes(out, 1, tc_buf_slice(spare));
}

/* ---- JSON ---- */

static void fill_json(struct tc_buf *out, struct tc_buf *spare)
{
    (void)spare;
    tc_buf_lit(out, "{\"resourceLogs\":[{\"resource\":{\"attributes\":["
                    "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"gpu-agent\"}},"
                    "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"node-0417\"}},"
                    "{\"key\":\"k8s.cluster.name\",\"value\":{\"stringValue\":\"train-a\"}},"
                    "{\"key\":\"gpu.model\",\"value\":{\"stringValue\":\"H100-SXM5-80GB\"}}],"
                    "\"droppedAttributesCount\":0},\"scopeLogs\":[");
    for (unsigned i = 0; i < RECORDS; i++) {
        char text[4 * TEXT_BYTES];
        char message[TEXT_BYTES];
        unsigned long long ns = TIME_NS + i * UINT64_C(1000);
        struct tc_slice body = message_of(message, sizeof message, i);
        int len = snprintf(
            text, sizeof text,
            "%s{\"scope\":{\"name\":\"gpu.agent\",\"version\":\"1.2.0\"},\"logRecords\":[{"
            "\"timeUnixNano\":\"%llu\",\"observedTimeUnixNano\":\"%llu\",\"severityNumber\":%d,"
            "\"severityText\":\"ERROR\",\"body\":{\"stringValue\":\"%.*s\"},\"attributes\":["
            "{\"key\":\"gpu.index\",\"value\":{\"intValue\":%u}},"
            "{\"key\":\"gpu.uuid\",\"value\":{\"stringValue\":\"GPU-6f1b2c3d-%u\"}},"
            "{\"key\":\"xid\",\"value\":{\"intValue\":79}},"
            "{\"key\":\"rank\",\"value\":{\"intValue\":%u}},"
            "{\"key\":\"job.id\",\"value\":{\"stringValue\":\"slurm-884213\"}}],"
            "\"droppedAttributesCount\":0}]}",
            i == 0 ? "" : ",", ns, ns + 5, ERROR_NUMBER, TC_FMT(body), i % 8, 100000 + i, i);
        tc_buf_put(out, text, (size_t)len);
    }
    tc_buf_lit(out, "]}]}");
}

/* ---- measuring ---- */

struct bench_run {
    struct tc_otlp_reader *reader;
    struct tc_engine *engine;
    struct tc_arena arena;
    struct tc_arena scratch;
    char *blocks;
    struct tc_slice body;
    enum tc_otlp_form form;
    bool detect;
    uint64_t events;
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct bench_run *run = context;
    run->events++;
    return run->detect ? tc_engine_feed(run->engine, ev) : TC_OK;
}

static tc_status on_verdict(void *context, const struct tc_verdict *v)
{
    (void)context;
    (void)v;
    return TC_OK;
}

enum stage { STAGE_CHECK, STAGE_EVENTS, STAGE_DETECT, STAGE_COUNT };

static tc_status once(struct bench_run *run, enum stage stage)
{
    struct tc_codec_input in = {
        .bytes = run->body, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    struct tc_codec_out out = {
        .event = on_event, .context = run, .arena = &run->arena, .scratch = &run->scratch};
    struct tc_otlp_tape tape;
    tc_arena_reset(&run->arena);
    run->detect = stage == STAGE_DETECT;
    TC_TRY(tc_otlp_check(run->reader, TC_OTLP_LOGS, run->form, run->body, &tape, NULL));
    if (stage == STAGE_CHECK) {
        return TC_OK;
    }
    return tc_otlp_events(run->reader, &tape, &in, &out, NULL);
}

static bool measure(struct bench_run *run, enum stage stage, struct tc_bench_sample *out)
{
    struct tc_bench_meter meter;
    tc_bench_meter_init(&meter);
    bool ok = true;
    for (int i = 0; ok && i < ROUNDS_WARM; i++) {
        ok = once(run, stage) == TC_OK;
    }
    run->events = 0;
    *out = (struct tc_bench_sample){0};
    for (int batch = 0; ok && batch < BATCHES; batch++) {
        meter.sum = (struct tc_bench_sample){0};
        tc_bench_meter_start(&meter);
        for (int i = 0; ok && i < ROUNDS; i++) {
            ok = once(run, stage) == TC_OK;
        }
        tc_bench_meter_stop(&meter);
        uint64_t best = batch == 0 || meter.sum.ns < out->ns ? meter.sum.ns : out->ns;
        meter.sum.allocs += out->allocs;
        *out = meter.sum;
        out->ns = best;
    }
    tc_bench_meter_fini(&meter);
    return ok && (stage == STAGE_CHECK || run->events == (uint64_t)BATCHES * ROUNDS * RECORDS);
}

static bool print(const char *name, const struct bench_run *run,
                  const struct tc_bench_sample samples[STAGE_COUNT], struct tc_output *out)
{
    static const char *const words[] = {"check", "events", "detect"};
    const double records = (double)ROUNDS * RECORDS;
    char text[1024];
    int len =
        snprintf(text, sizeof text, "{\"bench\":\"%s\",\"records\":%.0f,\"bytes_per_record\":%.1f",
                 name, records, (double)run->body.len / RECORDS);
    for (size_t i = 0; i < STAGE_COUNT; i++) {
        double ns = (double)samples[i].ns / records;
        len += snprintf(text + len, sizeof text - (size_t)len,
                        ",\"%s\":{\"ns_per_record\":%.1f,\"records_per_s\":%.0f", words[i], ns,
                        1e9 / ns);
        if (tc_alloc_count_available()) {
            len += snprintf(text + len, sizeof text - (size_t)len, ",\"allocs_per_record\":%.4g",
                            (double)samples[i].allocs / (records * BATCHES));
        }
        if (samples[i].instructions > 0) {
            len +=
                snprintf(text + len, sizeof text - (size_t)len, ",\"instructions_per_record\":%.1f",
                         (double)samples[i].instructions / records);
        }
        len += snprintf(text + len, sizeof text - (size_t)len, "}");
    }
    len += snprintf(text + len, sizeof text - (size_t)len, "}\n");
    return tc_output_put(out, tc_slice_make(text, (size_t)len));
}

static bool open_run(struct bench_run *run, enum tc_otlp_form form)
{
    struct tc_engine_out verdicts = {.verdict = on_verdict, .context = NULL};
    struct tc_error err = {0};
    *run = (struct bench_run){
        .form = form,
        .blocks = malloc(2 * BODY_BYTES + 2 * ARENA_BYTES),
        .reader = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, BODY_BYTES),
    };
    if (run->blocks == NULL || run->reader == NULL ||
        tc_engine_create(&verdicts, &run->engine, &err) != TC_OK) {
        return false;
    }
    struct tc_buf body = tc_buf_make(run->blocks, BODY_BYTES);
    struct tc_buf spare = tc_buf_make(run->blocks + BODY_BYTES, BODY_BYTES);
    (form == TC_OTLP_PROTOBUF ? fill_protobuf : fill_json)(&body, &spare);
    run->body = tc_buf_slice(&body);
    tc_arena_init(&run->arena, "bench", run->blocks + 2 * BODY_BYTES, ARENA_BYTES);
    tc_arena_init(&run->scratch, "scratch", run->blocks + 2 * BODY_BYTES + ARENA_BYTES,
                  ARENA_BYTES);
    return !body.overflowed && !spare.overflowed;
}

bool tc_bench_otlp(const struct tc_bench *b, const struct tc_bench_options *o,
                   struct tc_output *out)
{
    (void)o;
    struct bench_run run;
    struct tc_bench_sample samples[STAGE_COUNT];
    bool json = tc_slice_eq(tc_slice_cstr(b->name), TC_LIT("otlp_json"));
    bool ok = open_run(&run, json ? TC_OTLP_JSON : TC_OTLP_PROTOBUF);
    for (unsigned i = 0; ok && i < STAGE_COUNT; i++) {
        ok = measure(&run, (enum stage)i, &samples[i]);
    }
    if (!ok) {
        tc_say("tracecore-bench", "%s: no memory, or a request was not read", b->name);
    }
    ok = ok && print(b->name, &run, samples, out);
    tc_engine_destroy(run.engine);
    tc_otlp_reader_destroy(run.reader);
    tc_arena_fini(&run.arena);
    tc_arena_fini(&run.scratch);
    free(run.blocks);
    return ok;
}
