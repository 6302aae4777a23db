/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simulate/otlp.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "cli/output/output.h"
#include "cli/output/say.h"
#include "http_client/http_client.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define COMMAND "simulate"
#define TIMEOUT (30 * TC_SECOND)
#define BATCH_BYTES ((size_t)2 << 20) /* then it goes, however few records it has */
#define BATCH_ROOM ((size_t)4 << 20)
#define DUMP_MAX ((size_t)256 << 20)
#define BACKOFF_MIN (TC_SECOND / 10)
#define BACKOFF_MAX (5 * TC_SECOND)
/* Records wait for others to go with: at most this long of our clock ... */
#define LINGER (TC_SECOND / 5)
/* ... and of the fleet's, so that logs and metrics of one time arrive together. */
#define SPAN TC_SECOND
#define PROGRESS_EVERY (TC_SECOND / 5)
#define HEADERS_ROOM 8192
#define PATH_ROOM 2048
#define TEXT_MAX 200 /* of a reply, in a message */

struct batch {
    enum tc_sim_signal signal;
    struct tc_buf b;
    uint32_t records;
    int64_t since_ns; /* our clock, of the first record */
    int64_t from_ns;  /* the fleet's */
};

struct totals {
    uint64_t logs;
    uint64_t points;
    uint64_t requests;
    uint64_t bytes;
    uint64_t retries;
    uint64_t rejected;
    uint64_t uploaded;
    uint64_t left_out;
};

struct sender {
    const struct tc_simulate_otlp *how;
    const struct tc_sim *sim;
    struct tc_http_client *client;
    struct tc_http_client *upload;
    struct tc_json_parser *parser;
    struct batch batches[2]; /* by signal: logs, metrics */
    int stop_fd;             /* readable once the user wants to end */
    bool stopped;
    bool failed; /* nobody takes it: the user was told why */
    bool told;   /* that it waits for the receiver */
    bool on_terminal;
    int64_t begin_ns; /* our clock */
    int64_t start_ns; /* the fleet's */
    int64_t end_ns;
    int64_t at_ns;
    int64_t shown_ns;
    struct totals totals;
    struct tc_buf dump;
    char *packed;
    size_t packed_cap;
    char headers[HEADERS_ROOM];
};

/* Waits; false when the user wants to end. */
static bool wait_until(struct sender *s, int64_t at_ns)
{
    while (!s->stopped) {
        int64_t left_ms = (at_ns - tc_mono_ns() + 999999) / 1000000;
        struct pollfd stop = {.fd = s->stop_fd, .events = POLLIN};
        int ms = (int)(left_ms < 0 ? 0 : left_ms > 1000 ? 1000 : left_ms);
        s->stopped = poll(&stop, 1, ms) > 0;
        if (left_ms <= 0) {
            break;
        }
    }
    return !s->stopped;
}

/* ---- what is shown ------------------------------------------------------------------------- */

static void show(struct sender *s, struct tc_slice text)
{
    if (s->on_terminal) {
        ssize_t ignored = write(STDERR_FILENO, text.ptr, text.len);
        (void)ignored;
    }
}

static void show_progress(struct sender *s)
{
    int64_t now_ns = tc_mono_ns();
    if (!s->on_terminal || now_ns - s->shown_ns < PROGRESS_EVERY) {
        return;
    }
    s->shown_ns = now_ns;
    char text[200];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "\r\033[K{} of {}, {} log records, {} data points",
                    tc_as_duration((s->at_ns - s->start_ns) / TC_SECOND * TC_SECOND),
                    tc_as_duration(s->end_ns - s->start_ns), s->totals.logs, s->totals.points);
    show(s, tc_buf_slice(&b));
}

/* It cannot go on: says why. */
static void fail(struct sender *s, const char *what, struct tc_slice why)
{
    show(s, TC_LIT("\r\033[K"));
    s->failed = true;
    tc_say(COMMAND, "%s%s%.*s", what, why.len > 0 ? ": " : "", TC_FMT(why));
}

static void fail_status(struct sender *s, const char *who, const struct tc_http_reply *reply)
{
    char what[128];
    (void)snprintf(what, sizeof what, "%s answers with status %d", who, reply->status);
    fail(s, what, tc_slice_head(reply->body, TEXT_MAX));
}

/* ---- replies ------------------------------------------------------------------------------- */

enum outcome { TAKEN, REFUSED, AGAIN, HOPELESS };

static enum outcome judge(int status)
{
    switch (status) {
    case 400:
    case 413:
    case 422:
        return REFUSED; /* this one; the next may be better */
    case 429:
    case 502:
    case 503:
    case 504:
        return AGAIN;
    default:
        return status / 100 == 2 ? TAKEN : HOPELESS;
    }
}

static void say_waiting(struct sender *s, const char *why)
{
    if (!s->told && !s->how->quiet) {
        s->told = true;
        show(s, TC_LIT("\r\033[K"));
        tc_say(COMMAND, "%s; trying again for %d s", why, TC_SIMULATE_PATIENCE_S);
    }
}

/* ---- sending ------------------------------------------------------------------------------- */

/* One request until it is taken or refused. *out_reply is set when it was one of these. */
static enum outcome post(struct sender *s, struct tc_http_client *client, const char *path,
                         struct tc_slice headers, struct tc_slice body,
                         struct tc_http_reply *out_reply)
{
    int64_t give_up_ns = tc_mono_ns() + TC_SIMULATE_PATIENCE_S * TC_SECOND;
    int64_t pause_ns = BACKOFF_MIN;
    for (;;) {
        struct tc_error err = {0};
        tc_status status =
            tc_http_client_call(client, "POST", path, headers, body, out_reply, &err);
        enum outcome outcome = status == TC_OK ? judge(out_reply->status) : AGAIN;
        s->totals.bytes += body.len;
        if (outcome != AGAIN) {
            s->told = false;
            return outcome;
        }
        if (status == TC_OK) {
            (void)snprintf(err.message, sizeof err.message, "%s answers with status %d",
                           s->how->url, out_reply->status);
        }
        int64_t asked_ns = status == TC_OK ? out_reply->retry_after_s * TC_SECOND : 0;
        int64_t at_ns = tc_mono_ns() + (asked_ns > pause_ns ? asked_ns : pause_ns);
        if (!wait_until(s, tc_mono_ns())) {
            return HOPELESS;
        }
        if (at_ns > give_up_ns || (status != TC_OK && status != TC_E_IO)) {
            fail(s, "given up", tc_slice_cstr(err.message));
            return HOPELESS;
        }
        say_waiting(s, err.message);
        s->totals.retries++;
        if (!wait_until(s, at_ns)) {
            return HOPELESS;
        }
        pause_ns = pause_ns * 2 > BACKOFF_MAX ? BACKOFF_MAX : pause_ns * 2;
    }
}

static void begin_batch(const struct sender *s, struct batch *batch)
{
    tc_buf_reset(&batch->b);
    batch->records = 0;
    if (s->how->json) {
        tc_buf_str(&batch->b, batch->signal == TC_SIM_LOGS ? TC_LIT("{\"resourceLogs\":[")
                                                           : TC_LIT("{\"resourceMetrics\":["));
    }
}

static struct tc_slice make_headers(struct sender *s, const char *type, bool gzip)
{
    struct tc_buf b = tc_buf_make(s->headers, sizeof s->headers);
    (void)tc_format(&b, "Content-Type: {}{}{}", type,
                    gzip ? "\r\nContent-Encoding: gzip\r\n" : "\r\n", s->how->headers);
    return tc_buf_slice(&b);
}

static void settle(struct sender *s, const struct batch *batch, enum outcome outcome,
                   const struct tc_http_reply *reply)
{
    struct tc_slice why = TC_EMPTY;
    uint64_t rejected = 0;
    switch (outcome) {
    case TAKEN:
        rejected = tc_simulate_rejected(reply->body, s->how->json ? s->parser : NULL, &why);
        rejected = rejected > batch->records ? batch->records : rejected;
        break;
    case REFUSED:
        rejected = batch->records;
        why = reply->body;
        break;
    case AGAIN:
    case HOPELESS:
        if (!s->failed && !s->stopped) {
            fail_status(s, "the receiver", reply);
        }
        return;
    }
    if (rejected > 0 && s->totals.rejected == 0) {
        show(s, TC_LIT("\r\033[K"));
        tc_say(COMMAND, "the receiver rejects records (status %d): %.*s", reply->status,
               TC_FMT(tc_slice_head(why, TEXT_MAX)));
    }
    s->totals.requests++;
    s->totals.rejected += rejected;
    *(batch->signal == TC_SIM_LOGS ? &s->totals.logs : &s->totals.points) +=
        batch->records - rejected;
}

static tc_status flush(struct sender *s, struct batch *batch)
{
    if (batch->records == 0) {
        return TC_OK;
    }
    if (s->how->json) {
        tc_buf_lit(&batch->b, "]}");
    }
    struct tc_slice body = tc_buf_slice(&batch->b);
    if (s->how->gzip) {
        size_t len = 0;
        TC_TRY(tc_http_gzip(body, &s->packed, &s->packed_cap, &len));
        body = tc_slice_make(s->packed, len);
    }
    struct tc_http_reply reply = {0};
    enum outcome outcome = post(
        s, s->client, batch->signal == TC_SIM_LOGS ? "/v1/logs" : "/v1/metrics",
        make_headers(s, s->how->json ? "application/json" : "application/x-protobuf", s->how->gzip),
        body, &reply);
    settle(s, batch, outcome, &reply);
    begin_batch(s, batch);
    return s->failed || s->stopped ? TC_E_IO : TC_OK;
}

static tc_status flush_all(struct sender *s)
{
    TC_TRY(flush(s, &s->batches[TC_SIM_METRICS]));
    return flush(s, &s->batches[TC_SIM_LOGS]);
}

/* ---- dumps --------------------------------------------------------------------------------- */

static tc_status keep_dump(void *context, struct tc_slice bytes)
{
    struct sender *s = context;
    TC_TRY(tc_grow_items(s->dump.data, s->dump.cap, s->dump.len + bytes.len, DUMP_MAX));
    tc_buf_str(&s->dump, bytes);
    return TC_OK;
}

static tc_status send_dump(struct sender *s, size_t file)
{
    if (s->upload == NULL) {
        s->totals.left_out++;
        return TC_OK;
    }
    TC_TRY(flush_all(s));
    tc_buf_reset(&s->dump);
    TC_TRY(tc_sim_file_write(s->sim, file, keep_dump, s));
    char path[PATH_ROOM];
    struct tc_buf b = tc_buf_make(path, sizeof path - 1);
    tc_buf_lit(&b, "/api/v1/upload?name=");
    tc_sim_file_path(s->sim, file, &b); /* letters, digits, '-', '_' and '/' */
    path[b.len] = '\0';
    struct tc_http_reply reply = {0};
    enum outcome outcome =
        post(s, s->upload, path, make_headers(s, "application/octet-stream", false),
             tc_buf_slice(&s->dump), &reply);
    if (outcome == TAKEN) {
        s->totals.uploaded++;
        s->totals.requests++;
    } else if (outcome == REFUSED) {
        s->totals.requests++;
        s->totals.rejected++;
    } else if (!s->failed && !s->stopped) {
        fail_status(s, "the API", &reply);
    }
    return s->failed || s->stopped ? TC_E_IO : TC_OK;
}

/* ---- the fleet ----------------------------------------------------------------------------- */

static tc_status add_item(struct sender *s, struct batch *batch, const struct tc_sim_item *item)
{
    if (s->how->json) {
        (void)tc_format(&batch->b, "{}{}", batch->records > 0 ? "," : "", item->text);
    } else {
        struct tc_error err = {0};
        TC_TRY(tc_sim_protobuf(&batch->b, s->parser, item->signal, item->text, &err));
    }
    if (batch->records == 0) {
        batch->since_ns = tc_mono_ns();
        batch->from_ns = item->at_ns;
    }
    batch->records += item->records;
    return batch->b.overflowed ? TC_E_LIMIT : TC_OK;
}

static tc_status take_item(void *context, const struct tc_sim_item *item)
{
    struct sender *s = context;
    if (item->signal == TC_SIM_DUMP) {
        return send_dump(s, item->file);
    }
    struct batch *batch = &s->batches[item->signal];
    if (batch->records + item->records > TC_SIMULATE_BATCH_MAX || batch->b.len > BATCH_BYTES) {
        TC_TRY(flush(s, batch));
    }
    return add_item(s, batch, item);
}

/* Waits until the fleet's time has come, and sends what waits before that. */
static tc_status keep_pace(struct sender *s)
{
    int64_t now_ns = tc_mono_ns();
    int64_t due_ns = now_ns;
    if (s->how->speed_milli > 0) {
        /* In double: a week at a thousandth of real time is out of range for thousandths of ns. */
        double since = (double)(s->at_ns - s->start_ns) * 1000 / (double)s->how->speed_milli;
        due_ns = s->begin_ns + (int64_t)since;
    }
    bool waits = due_ns > now_ns + LINGER / 10;
    for (size_t i = 0; i < 2; i++) {
        struct batch *batch = &s->batches[i];
        bool old = now_ns - batch->since_ns > LINGER || s->at_ns - batch->from_ns > SPAN;
        if (batch->records > 0 && (waits || old)) {
            TC_TRY(flush(s, batch));
        }
    }
    show_progress(s);
    return wait_until(s, due_ns) ? TC_OK : TC_E_IO;
}

static tc_status send_fleet(struct sender *s)
{
    struct tc_sim_feed *feed = tc_sim_feed_create(s->sim, TC_SIM_AS_OTLP);
    tc_status status = feed == NULL ? TC_E_NOMEM : TC_OK;
    s->begin_ns = tc_mono_ns();
    while (status == TC_OK && tc_sim_feed_time(feed) != TC_TIME_MAX) {
        s->at_ns = tc_sim_feed_time(feed);
        status = keep_pace(s);
        status = status == TC_OK ? tc_sim_feed_next(feed, take_item, s) : status;
    }
    status = status == TC_OK ? flush_all(s) : status;
    tc_sim_feed_destroy(feed);
    return status;
}

/* ---- the summary --------------------------------------------------------------------------- */

static bool print_json(const struct sender *s, bool complete)
{
    const struct totals *t = &s->totals;
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    struct tc_json_out j = tc_output_object(&out);
    tc_json_put_u64(&j, "log_records", t->logs);
    tc_json_put_u64(&j, "data_points", t->points);
    tc_json_put_u64(&j, "requests", t->requests);
    tc_json_put_u64(&j, "bytes", t->bytes);
    tc_json_put_u64(&j, "retries", t->retries);
    tc_json_put_u64(&j, "rejected", t->rejected);
    tc_json_put_u64(&j, "dumps_sent", t->uploaded);
    tc_json_put_u64(&j, "dumps_left_out", t->left_out);
    tc_json_put_u64(&j, "milliseconds", (uint64_t)((tc_mono_ns() - s->begin_ns) / 1000000));
    tc_json_put_bool(&j, "complete", complete);
    (void)tc_json_end_line(&j);
    return tc_output_end(&out, COMMAND, TC_EXIT_OK) == TC_EXIT_OK;
}

static void summarise(const struct sender *s)
{
    const struct totals *t = &s->totals;
    tc_say(
        COMMAND,
        "%s%llu log records and %llu data points in %llu requests, %llu MB, to %s; %llu retries, "
        "%llu rejected",
        s->stopped ? "stopped: " : "", (unsigned long long)t->logs, (unsigned long long)t->points,
        (unsigned long long)t->requests, (unsigned long long)(t->bytes / 1000000), s->how->url,
        (unsigned long long)t->retries, (unsigned long long)t->rejected);
    if (t->uploaded > 0) {
        tc_say(COMMAND, "%llu dumps uploaded to %s", (unsigned long long)t->uploaded,
               s->how->upload);
    }
    if (t->left_out > 0) {
        tc_say(COMMAND, "%llu dumps left out: OTLP cannot carry them; --upload URL sends them",
               (unsigned long long)t->left_out);
    }
}

/* ---- beginning and end --------------------------------------------------------------------- */

static tc_status prepare(struct sender *s, struct tc_error *err)
{
    TC_TRY(tc_http_client_create(s->how->url, TIMEOUT, &s->client, err));
    tc_http_client_stop_on(s->client, s->stop_fd);
    if (s->how->upload != NULL) {
        TC_TRY(tc_http_client_create(s->how->upload, TIMEOUT, &s->upload, err));
        tc_http_client_stop_on(s->upload, s->stop_fd);
    }
    s->parser = tc_json_parser_create();
    for (size_t i = 0; i < 2; i++) {
        char *data = malloc(BATCH_ROOM);
        s->batches[i].signal = i == TC_SIM_LOGS ? TC_SIM_LOGS : TC_SIM_METRICS;
        s->batches[i].b = tc_buf_make(data, data == NULL ? 0 : BATCH_ROOM);
        begin_batch(s, &s->batches[i]);
    }
    bool ok = s->parser != NULL && s->batches[0].b.cap > 0 && s->batches[1].b.cap > 0;
    return ok ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "out of memory");
}

static void finish(struct sender *s)
{
    tc_http_client_destroy(s->client);
    tc_http_client_destroy(s->upload);
    tc_json_parser_destroy(s->parser);
    free(s->batches[0].b.data);
    free(s->batches[1].b.data);
    free(s->dump.data);
    free(s->packed);
    /* What was asked for was done: the signal does not end the process once more. */
    struct signalfd_siginfo signal;
    while (s->stop_fd >= 0 && read(s->stop_fd, &signal, sizeof signal) > 0) {
    }
    if (s->stop_fd >= 0) {
        (void)close(s->stop_fd);
    }
}

static int run(struct sender *s)
{
    struct tc_error err = {0};
    tc_status status = prepare(s, &err);
    if (status != TC_OK) {
        return tc_refuse(COMMAND, status == TC_E_USAGE ? "--otlp or --upload: %s" : "%s",
                         err.message);
    }
    status = send_fleet(s);
    show(s, TC_LIT("\r\033[K"));
    if (status != TC_OK && !s->failed && !s->stopped) {
        tc_say(COMMAND, "%s", tc_status_text(status));
        s->failed = true;
    }
    if (!s->how->quiet && !s->how->summary_json) {
        summarise(s);
    }
    if (s->how->summary_json && !print_json(s, status == TC_OK)) {
        return TC_EXIT_BAD;
    }
    bool all = status == TC_OK && s->totals.rejected == 0;
    return s->failed ? TC_EXIT_BAD : all ? TC_EXIT_OK : TC_EXIT_FOUND;
}

int tc_simulate_send(const struct tc_simulate_otlp *how, const struct tc_sim *sim, int64_t start_ns,
                     int64_t end_ns)
{
    struct sender *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_refuse(COMMAND, "out of memory");
    }
    sigset_t ends;
    sigset_t before;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, &before);
    s->how = how;
    s->sim = sim;
    s->start_ns = start_ns;
    s->end_ns = end_ns;
    s->stop_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    s->on_terminal = !how->quiet && isatty(STDERR_FILENO) == 1;
    int status = run(s);
    finish(s);
    free(s);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
