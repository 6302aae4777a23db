/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/format.h"
#include "base/json/json.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/output/say.h"

#include <string.h>
#include <unistd.h>

#define TEXT_BYTES_MAX 65536

struct asked {
    const char *url;
    struct tc_http_tls tls;
    bool json;
};

static const struct tc_option OPTIONS[] = {
    TC_TEXT("api", "URL", struct asked, url,
            "Where the daemon's API is (api.listen); " TC_DAEMON_API_DEFAULT " by default."),
    TC_DAEMON_TLS_OPTIONS(struct asked, tls),
    TC_FLAG("json", struct asked, json, "The daemon's answer as it is, one JSON object."),
};

static struct tc_slice text_of(struct tc_json v, const char *key)
{
    return tc_json_get_string(v, tc_slice_cstr(key));
}

static void put_number(struct tc_buf *b, struct tc_json status, const char *group, const char *key,
                       const char *noun)
{
    struct tc_json in = status;
    struct tc_json value;
    int64_t n = 0;
    if ((group == NULL || tc_json_get(status, tc_slice_cstr(group), &in)) &&
        tc_json_get(in, tc_slice_cstr(key), &value) && tc_json_int(value, &n)) {
        (void)tc_format(b, "{} {}", n, noun);
    }
}

/* What is said in seconds, as milliseconds. */
static void put_stall(struct tc_buf *b, struct tc_json status)
{
    struct tc_json loop;
    struct tc_json value;
    double seconds = 0;
    if (tc_json_get(status, TC_LIT("loop"), &loop) &&
        tc_json_get(loop, TC_LIT("longest_stall_seconds"), &value) &&
        tc_json_double(value, &seconds) && seconds >= 0 && seconds < INT32_MAX) {
        (void)tc_format(b, "  loop       longest stall {} ms\n", (int64_t)(seconds * 1000));
    }
}

static void put_line(struct tc_buf *b, const char *name, struct tc_slice value)
{
    if (value.len > 0) {
        (void)tc_format(b, "{}{}\n", name, tc_as_printable(value));
    }
}

/* What an entry of a list becomes: a line, or some. */
typedef void (*put_entry_fn)(struct tc_buf *b, struct tc_json one);

static void put_list(struct tc_buf *b, struct tc_json in, const char *key, put_entry_fn put)
{
    struct tc_json list;
    struct tc_json one;
    if (!tc_json_get(in, tc_slice_cstr(key), &list)) {
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    while (tc_json_iter_next(&it, NULL, &one)) {
        put(b, one);
    }
}

/* A detector whose memory is full. */
static void put_saturated(struct tc_buf *b, struct tc_json one)
{
    (void)tc_format(b, "  memory     of {} is full since {}, most of it from {}: ",
                    tc_as_printable(text_of(one, "pattern")),
                    tc_as_printable(text_of(one, "since")),
                    tc_as_printable(text_of(one, "source")));
    put_number(b, one, NULL, "dropped", "records dropped; detection.gpus makes room\n");
}

/* The end of a line about something that is sent to. */
static void put_failing(struct tc_buf *b, struct tc_json one)
{
    struct tc_slice since = text_of(one, "failing_since");
    (void)tc_format(b, "{}\n",
                    tc_when(since.len > 0, "; failing since {}: {}", tc_as_printable(since),
                            tc_as_printable(text_of(one, "error"))));
}

/* A receiver of alerts. */
static void put_alerts(struct tc_buf *b, struct tc_json one)
{
    (void)tc_format(b, "  alerts     {}: ", tc_as_printable(text_of(one, "output")));
    put_number(b, one, NULL, "delivered", "delivered, ");
    put_number(b, one, NULL, "failed", "refused, ");
    put_number(b, one, NULL, "waiting", "waiting");
    put_failing(b, one);
}

/* A daemon that all is sent to. */
static void put_forward(struct tc_buf *b, struct tc_json one)
{
    (void)tc_format(b, "  forward    {}: ", tc_as_printable(text_of(one, "endpoint")));
    put_number(b, one, NULL, "batches", "batches, ");
    put_number(b, one, NULL, "waiting", "waiting, ");
    put_number(b, one, NULL, "refused", "refused");
    put_failing(b, one);
}

/* A target, or a resource, of a source: only those that fail are told. */
static void put_failing_part(struct tc_buf *b, struct tc_json one)
{
    if (tc_slice_eq(text_of(one, "state"), TC_LIT("failing"))) {
        (void)tc_format(b, "             {}: {}\n", tc_as_printable(text_of(one, "name")),
                        tc_as_printable(text_of(one, "error")));
    }
}

/* What it reads besides what is sent to it. */
static void put_source(struct tc_buf *b, struct tc_json one)
{
    struct tc_slice error = text_of(one, "error");
    (void)tc_format(b, "  source     {} is {} since {}, ", tc_as_printable(text_of(one, "name")),
                    tc_as_printable(text_of(one, "state")), tc_as_printable(text_of(one, "since")));
    put_number(b, one, NULL, "watches", "watched, ");
    put_number(b, one, NULL, "records", "records, ");
    put_number(b, one, NULL, "lost", "lost\n");
    if (error.len == 0) {
        return;
    }
    size_t before = b->len;
    put_list(b, one, "targets", put_failing_part);
    put_list(b, one, "resources", put_failing_part);
    if (b->len == before) {
        (void)tc_format(b, "             {}\n", tc_as_printable(error));
    }
}

/* Where evidence is copied to. */
static void put_remote(struct tc_buf *b, struct tc_json s)
{
    struct tc_json evidence;
    struct tc_json remote;
    if (!tc_json_get(s, TC_LIT("evidence"), &evidence) ||
        !tc_json_get(evidence, TC_LIT("remote"), &remote)) {
        return;
    }
    tc_buf_lit(b, "  remote     ");
    put_number(b, remote, NULL, "objects", "objects copied, ");
    put_number(b, remote, NULL, "waiting_objects", "wait (");
    put_number(b, remote, NULL, "waiting_bytes", "bytes)");
    put_failing(b, remote);
}

/* What it found, where it looks. */
static void put_incidents(struct tc_buf *b, struct tc_json s)
{
    struct tc_json detection;
    bool judges = true;
    if (tc_json_get(s, TC_LIT("detection"), &detection) && tc_json_bool(detection, &judges) &&
        !judges) {
        tc_buf_lit(b, "  incidents  are not looked for here (detection.enabled)\n");
        return;
    }
    tc_buf_lit(b, "  incidents  ");
    put_number(b, s, "incidents", "open", "open, ");
    put_number(b, s, "incidents", "opened", "opened, ");
    put_number(b, s, "incidents", "resolved", "resolved\n");
}

static void put_status(struct tc_buf *b, struct tc_json s)
{
    struct tc_json listen;
    struct tc_json warehouse;
    (void)tc_format(b, "tracecore {} is {}, ", tc_as_printable(text_of(s, "version")),
                    tc_as_printable(text_of(s, "state")));
    put_number(b, s, NULL, "uptime_seconds", "s up, ");
    put_number(b, s, NULL, "connections", "connected\n");
    if (tc_json_get(s, TC_LIT("listen"), &listen)) {
        put_line(b, "  OTLP/HTTP  ", text_of(listen, "http"));
        put_line(b, "  OTLP/gRPC  ", text_of(listen, "grpc"));
        put_line(b, "  API        ", text_of(listen, "api"));
    }
    put_line(b, "  data       ", text_of(s, "data_dir"));
    put_line(b, "  ack        ", text_of(s, "ack"));
    tc_buf_lit(b, "  replay     ");
    put_number(b, s, "replay", "batches", "of ");
    put_number(b, s, "replay", "batches_total", "batches, ");
    put_number(b, s, "replay", "bytes", "of ");
    put_number(b, s, "replay", "bytes_total", "bytes; ");
    put_number(b, s, NULL, "batches_behind", "stored batches wait for detection\n");
    put_stall(b, s);
    tc_buf_lit(b, "  received   ");
    put_number(b, s, "received", "logs", "log records, ");
    put_number(b, s, "received", "metrics", "data points, ");
    put_number(b, s, "received", "spans", "spans, ");
    put_number(b, s, "received", "uploads", "files\n");
    tc_buf_lit(b, "  events     ");
    put_number(b, s, "events", "fed", "fed, ");
    put_number(b, s, "events", "too_late", "late and judged from the store, ");
    put_number(b, s, "events", "ahead", "of fast clocks\n");
    tc_buf_lit(b, "  evidence   ");
    put_number(b, s, "evidence", "batches", "batches, ");
    put_number(b, s, "evidence", "bytes", "bytes, ");
    put_number(b, s, "evidence", "written_bytes", "on disk\n");
    put_remote(b, s);
    put_incidents(b, s);
    tc_buf_lit(b, "  verdicts   ");
    put_number(b, s, "verdicts", "written", "written, ");
    put_number(b, s, "verdicts", "exported", "exported, ");
    put_number(b, s, "verdicts", "pending_otlp", "wait to be exported\n");
    put_list(b, s, "alerts", put_alerts);
    put_list(b, s, "forward", put_forward);
    tc_buf_lit(b, "  warehouse  ");
    put_number(b, s, "warehouse", "verdicts", "verdicts, ");
    put_number(b, s, "warehouse", "slices", "slices written, ");
    put_number(b, s, "warehouse", "failures", "failures, ");
    put_number(b, s, "warehouse", "samples_series_full", "samples of too many series");
    if (tc_json_get(s, TC_LIT("warehouse"), &warehouse)) {
        put_failing(b, warehouse);
    }
    put_list(b, s, "sources", put_source);
    put_list(b, s, "saturated", put_saturated);
}

static int show(struct tc_slice body, bool json)
{
    struct tc_output out;
    char text[TEXT_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_output_init(&out, STDOUT_FILENO);
    if (json) {
        (void)tc_output_put(&out, body);
        return tc_output_end(&out, "status", TC_EXIT_OK);
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json status;
    struct tc_error err = {0};
    bool good = parser != NULL && tc_json_parse(parser, body, &status, &err) == TC_OK;
    if (good) {
        put_status(&b, status);
        (void)tc_output_put(&out, tc_buf_slice(&b));
    } else {
        tc_say("status", "what answered is no tracecore: %s", err.message);
    }
    tc_json_parser_destroy(parser);
    return tc_output_end(&out, "status", good ? TC_EXIT_OK : TC_EXIT_BAD);
}

static int ask(const struct asked *a)
{
    struct tc_daemon daemon;
    struct tc_slice body;
    int code = TC_EXIT_BAD;
    if (tc_daemon_open(&daemon, "status", a->url, &a->tls)) {
        code = tc_daemon_get(&daemon, "/api/v1/status", &body) ? show(body, a->json) : TC_EXIT_BAD;
        tc_daemon_close(&daemon);
    }
    return code;
}

static int run(int argc, char **argv)
{
    struct asked a = {.url = TC_DAEMON_API_DEFAULT};
    int code = tc_options_read(&tc_command_status, argc, argv, &a);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind < argc) {
        return tc_command_refuse(&tc_command_status, "it takes no arguments");
    }
    return ask(&a);
}

const struct tc_command tc_command_status = {
    .name = "status",
    .summary = "how a running daemon is doing",
    .usage = "usage: tracecore status [OPTIONS]\n"
             "\n"
             "Asks a running daemon how it is: where it listens, what it received, kept and\n"
             "found, and what waits.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status:\n"
             "  0  it answered\n"
             "  2  wrong usage, or nobody answered\n"
             "\n"
             "Where the daemon has auth.tokens, " TC_DAEMON_TOKEN " is the token.\n"
             "\n"
             "Examples:\n"
             "  tracecore status\n"
             "  tracecore status --api http://10.0.0.7:4320 --json | jq .incidents.open\n",
    .run = run,
};
