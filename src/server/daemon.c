/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/time.h"
#include "evidence/dirs.h"
#include "net/http2/http2.h"
#include "observe/log.h"
#include "observe/loop.h"
#include "observe/metrics.h"
#include "server/confine.h"
#include "server/daemon_priv.h"
#include "server/data_dir_rights.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

/* How often a daemon that drains looks whether everything is done. */
#define DRAIN_STEP_US 20000
/* A body of this many bytes more than allowed shows that it is too long. */
#define SLACK_BYTES 4096
/* The largest buffer of the API: the body of a question. */
#define API_BUFFER_BYTES ((size_t)2 << 20)
/* The loop's time for one turn of detection. */
#define DETECT_TURN_NS (5 * TC_SECOND / 1000)
/* For questions that run at the end: they are interrupted, and soon go. */
#define API_WAIT (2 * TC_SECOND)
/* Files besides connections: the store, the outbox, the warehouse, uploads while they come. */
#define OTHER_FILES 512

/* ---- detection's clock ---- */

/* Sets the timer to when detection wants to be called, unless it is set to an earlier moment. */
static void arm(struct tc_daemon *d)
{
    int64_t due_ns = tc_live_due(tc_detection_live(d->detection));
    if (due_ns >= d->armed_ns) {
        return;
    }
    int64_t wait_us = (due_ns - tc_wall_ns()) / 1000;
    wait_us = wait_us < 0 ? 0 : wait_us;
    struct timeval wait = {.tv_sec = wait_us / 1000000, .tv_usec = wait_us % 1000000};
    d->armed_ns = due_ns;
    (void)event_add(d->detect_timer, &wait);
}

/* What it cannot do in time it goes on with in the next turn: it is due at once then. */
static void advance(struct tc_daemon *d)
{
    tc_detection_budget(d->detection, DETECT_TURN_NS);
    tc_status status = tc_detection_advance(d->detection, tc_wall_ns());
    tc_detection_budget(d->detection, 0);
    if (status != TC_OK && status != TC_E_AGAIN) {
        tc_count(TC_COUNT_DETECTION_FAILED, 1);
        tc_log_fields(TC_LOG_ERROR, "detection failed",
                      TC_LOG_CSTR("error", tc_status_text(status)));
    }
}

static void on_detect_timer(evutil_socket_t fd, short what, void *context)
{
    struct tc_daemon *d = context;
    (void)fd;
    (void)what;
    tc_loop_enter();
    d->armed_ns = INT64_MAX;
    if (!tc_catch_up_is_behind(d->catch_up)) {
        advance(d);
        tc_catch_up_resume(d->catch_up);
        arm(d);
    }
    tc_loop_leave();
}

/* While detection is behind, its clock is that of what it reads. */
static void on_fed(void *context)
{
    struct tc_daemon *d = context;
    if (!tc_catch_up_is_behind(d->catch_up)) {
        arm(d);
    }
}

/* ---- the end ---- */

static bool is_drained(const struct tc_daemon *d)
{
    return tc_net_connections(d->net) == 0 && tc_committer_waiting(d->committer) == 0;
}

static void on_stop_timer(evutil_socket_t fd, short what, void *context)
{
    struct tc_daemon *d = context;
    (void)fd;
    (void)what;
    if (is_drained(d) || tc_mono_ns() >= d->stop_by_ns) {
        (void)event_base_loopbreak(tc_net_base(d->net));
        return;
    }
    struct timeval step = {.tv_usec = DRAIN_STEP_US};
    (void)event_add(d->stop_timer, &step);
}

static void stop(struct tc_daemon *d)
{
    if (d->stopping) {
        d->stop_by_ns = 0; /* asked twice: do not wait */
        return;
    }
    tc_log_fields(TC_LOG_INFO, "stopping: no new connections, running requests are finished",
                  TC_LOG_NUMBER("connections", (int64_t)tc_net_connections(d->net)));
    d->stopping = true;
    d->stop_by_ns = tc_mono_ns() + d->config.server_shutdown_timeout;
    tc_gauge(TC_COUNT_READY, 0);
    tc_grpc_health_set(false);
    tc_net_shutdown(d->net);
    tc_source_set_stop(d->sources);
    on_stop_timer(-1, 0, d);
}

static void on_signal(evutil_socket_t number, short what, void *context)
{
    struct tc_daemon *d = context;
    (void)what;
    if (number == SIGHUP) {
        tc__daemon_reload(d);
    } else {
        stop(d);
    }
}

/* ---- the beginning ---- */

static tc_status fail_errno(struct tc_error *err, const char *path, const char *what)
{
    char text[128];
    return tc_fail(err, TC_E_IO, 0, "%s: %s: %s", path, what, strerror_r(errno, text, sizeof text));
}

/* Makes a directory with all above it. */
static tc_status make_directory(const char *path, struct tc_error *err)
{
    char part[TC_DIRS_PATH_BYTES];
    int error = tc_dirs_make(path, part);
    if (error != 0 && part[0] == '\0') {
        return tc_fail(err, TC_E_USAGE, 0, "data_dir: \"%s\" is not a path", path);
    }
    errno = error;
    return error == 0 ? TC_OK : fail_errno(err, part, "cannot be made");
}

static char *join(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static tc_status open_directories(struct tc_daemon *d, struct tc_error *err)
{
    const char *dir = d->options.data_dir;
    TC_TRY(make_directory(dir, err));
    TC_TRY(tc_data_dir_check_rights(dir, err));
    char *lock = join(dir, "LOCK");
    d->evidence_dir = join(dir, "evidence");
    d->outbox_dir = join(dir, "outbox");
    d->spool_dir = join(dir, "spool");
    if (lock == NULL || d->evidence_dir == NULL || d->outbox_dir == NULL || d->spool_dir == NULL) {
        free(lock);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory");
    }
    d->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(lock);
    if (d->lock_fd < 0) {
        return fail_errno(err, dir, "cannot be written to");
    }
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        return tc_fail(err, TC_E_IO, 0,
                       "%s: another tracecore serves this data_dir; stop it, or give this one "
                       "another data_dir",
                       dir);
    }
    /* Before the evidence is repaired, which looks for newer files of its own. */
    TC_TRY(tc_outbox_check_version(d->outbox_dir, err));
    TC_TRY(make_directory(d->evidence_dir, err));
    TC_TRY(make_directory(d->outbox_dir, err));
    return make_directory(d->spool_dir, err);
}

static const char *if_there(const char *folder)
{
    return folder != NULL && access(folder, F_OK) == 0 ? folder : NULL;
}

/* Before threads are started: they are confined with it. */
static void confine(struct tc_daemon *d)
{
    const char *temporary = getenv("TMPDIR");
    bool writes_verdicts = tc__daemon_verdict_folder(&d->config, d->verdict_folder);
    const char *folders[] = {d->options.data_dir, writes_verdicts ? d->verdict_folder : NULL,
                             /* Published numbers are made anew there. */
                             if_there("/tmp"), if_there("/var/tmp"), if_there(temporary)};
    if (!d->config.confine) {
        return;
    }
    struct tc_confined done = tc_confine(folders, TC_COUNT(folders));
    d->is_confined = done.files;
    tc_log_fields(TC_LOG_INFO, "confined",
                  TC_LOG_CSTR("writes", done.files ? "to data_dir, the verdict file's folder and "
                                                     "temporary files only"
                                                   : "anywhere: no Landlock here, or no folder of "
                                                     "verdicts.file.path"),
                  TC_LOG_CSTR("system_calls", done.calls ? "without those that are never needed"
                                                         : "all: no seccomp here"));
}

static void say_recovery(void *context, const char *line)
{
    (void)context;
    tc_log_fields(TC_LOG_WARN, "evidence recovered", TC_LOG_CSTR("what", line));
}

static tc_status open_store(struct tc_daemon *d, struct tc_error *err)
{
    const struct tc_config *c = &d->config;
    struct tc_store_config config = {
        .segment_bytes = (size_t)c->evidence_segment_bytes,
        .segment_ns = c->evidence_segment_age,
        .keep_bytes = c->evidence_keep,
        .reserve_bytes = c->evidence_reserve,
        .compression = (int)c->evidence_compression,
        .seals_apart = true,
        .remote_url = c->evidence_remote,
        .remote_credentials = c->evidence_remote_credentials_file,
        .hold_bytes = c->forward_endpoints[0] == '\0' ? 0 : c->forward_backlog,
    };
    return tc_store_open(d->evidence_dir, &config, say_recovery, NULL, &d->store, err);
}

static tc_status restore(void *context, const struct tc_incident_mark *mark)
{
    struct tc_daemon *d = context;
    tc_recheck_restore(tc_detection_recheck(d->detection), mark);
    return tc_live_restore(tc_detection_live(d->detection), mark);
}

/* As many files as the configuration allows connections, where the system lets us. */
static void allow_files(const struct tc_config *c)
{
    rlim_t wanted = (rlim_t)(c->limits_connections + 2 * c->limits_api_connections) + OTHER_FILES;
    wanted += c->sources_files_paths[0] == '\0' ? 0 : (rlim_t)c->sources_files_open;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) {
        return;
    }
    bool is_enough = files.rlim_max >= wanted;
    files.rlim_cur = is_enough ? wanted : files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || !is_enough) {
        tc_log_fields(TC_LOG_WARN,
                      "fewer files may be open than limits.connections needs; raise the limit "
                      "(ulimit -n, LimitNOFILE=), or lower limits.connections",
                      TC_LOG_NUMBER("files", (int64_t)files.rlim_cur),
                      TC_LOG_NUMBER("needed", (int64_t)wanted));
    }
}

static tc_status make_basics(struct tc_daemon *d, struct tc_error *err)
{
    const struct tc_config *c = &d->config;
    struct tc_net_limits net_limits = tc__daemon_net_limits(c);
    struct tc_otlp_limits otlp_limits = tc__daemon_level_limits(c);
    size_t body_max = tc__daemon_body_max(c);
    allow_files(c);
    d->pool = tc_pool_create((size_t)c->limits_memory, body_max + SLACK_BYTES);
    d->api_pool = tc_pool_create((size_t)c->limits_api_memory, API_BUFFER_BYTES);
    d->net = d->pool == NULL ? NULL : tc_net_create(&net_limits, d->pool);
    d->auth = tc_auth_create(&d->config);
    d->inflater = tc_inflater_create();
    d->reader = tc_otlp_reader_create(&otlp_limits, body_max);
    if (d->net == NULL || d->api_pool == NULL || d->auth == NULL || d->inflater == NULL ||
        d->reader == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for requests; lower limits.memory");
    }
    return TC_OK;
}

static tc_status make_detection(struct tc_daemon *d, struct tc_error *err)
{
    d->runs = tc_run_book_create();
    if (d->runs == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for detection");
    }
    struct tc_detection_parts parts = {
        .config = &d->config,
        .store = d->store,
        .reader = d->reader,
        .runs = d->runs,
        .evidence_dir = d->evidence_dir,
    };
    struct tc_outbox_config outbox = tc__daemon_outbox_config(d);
    TC_TRY(tc_detection_create(&parts, &d->detection, err));
    TC_TRY(tc_outbox_open(&outbox, restore, d, &d->outbox, err));
    tc_detection_connect(d->detection, d->outbox);
    TC_TRY(tc_outbox_start(d->outbox, err));
    struct tc_catch_up_config config = {
        .base = tc_net_base(d->net),
        .detection = d->detection,
        .reader = {.data_dir = d->options.data_dir,
                   .evidence_dir = d->evidence_dir,
                   .otlp = tc__daemon_otlp_limits(&d->config),
                   .body_max = tc__daemon_body_max(&d->config)},
        .is_off = tc_forward_judges_elsewhere(&d->config),
        .started_ns = d->started_ns,
        .window_ns = d->config.detection_replay_window,
        .bytes_max = d->config.detection_replay_bytes,
        .memory_bytes = d->config.limits_memory,
        .fed = on_fed,
        .context = d,
    };
    return tc_catch_up_create(&config, tc_store_next_number(d->store) - 1, &d->catch_up, err);
}

static tc_status start_forwarding(struct tc_daemon *d, struct tc_error *err)
{
    struct tc_forward_parts parts = {
        .config = &d->config,
        .store = d->store,
        .committer = d->committer,
        .data_dir = d->options.data_dir,
        .evidence_dir = d->evidence_dir,
    };
    return d->config.forward_endpoints[0] == '\0' ? TC_OK
                                                  : tc_forward_create(&parts, &d->forward, err);
}

static tc_status make_services(struct tc_daemon *d, struct tc_error *err)
{
    struct tc_otlp_limits limits = tc__daemon_otlp_limits(&d->config);
    TC_TRY(tc_committer_create(d->store, tc_net_base(d->net), &d->committer, err));
    TC_TRY(tc_sealer_create(d->store, &d->sealer, err));
    if (d->config.evidence_remote[0] != '\0') {
        TC_TRY(tc_shipper_create(d->store, &d->config, &d->shipper, err));
    }
    TC_TRY(tc_body_checker_create(tc_net_base(d->net), &limits, tc__daemon_body_max(&d->config),
                                  &d->checker, err));
    if (d->config.warehouse_enabled &&
        (d->config.warehouse_slices || d->config.warehouse_requests)) {
        d->handoff = tc_handoff_create(tc_store_next_number(d->store));
        if (d->handoff == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for the services");
        }
    }
    struct tc_ingest_parts parts = {
        .config = &d->config,
        .auth = d->auth,
        .pool = d->pool,
        .inflater = d->inflater,
        .reader = d->reader,
        .checker = d->checker,
        .committer = d->committer,
        .store = d->store,
        .detection = d->detection,
        .catch_up = d->catch_up,
        .handoff = d->handoff,
        .fed = on_fed,
        .context = d,
    };
    TC_TRY(tc_source_set_create(&parts, tc_net_base(d->net), d->options.data_dir, d->evidence_dir,
                                &d->sources, err));
    parts.forwarded = d->forwarded = tc_forwarded_create(tc_source_set_positions(d->sources));
    parts.upload = d->upload = tc_upload_create(&parts, d->spool_dir);
    d->ingest = tc_ingest_create(&parts);
    struct tc_api_parts api = {
        .config = &d->config,
        .base = tc_net_base(d->net),
        .data_dir = d->options.data_dir,
        .auth = d->auth,
        .detection = d->detection,
        .outbox = d->outbox,
        .upload = d->upload,
        .pool = d->api_pool,
        .inflater = d->inflater,
        .hub = &d->hub,
        .stopping = &d->stopping,
        .catch_up = d->catch_up,
        .refresh = tc__daemon_refresh,
        .describe = tc__daemon_describe,
        .context = d,
    };
    if (d->ingest == NULL || d->upload == NULL || d->forwarded == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the services");
    }
    TC_TRY(start_forwarding(d, err));
    TC_TRY(tc_source_set_add_configured(d->sources, err));
    return tc_api_create(&api, &d->api, err);
}

static tc_status make_events(struct tc_daemon *d, struct tc_error *err)
{
    static const int numbers[TC__SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    struct event_base *base = tc_net_base(d->net);
    bool ok = true;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file over its limit is a full disk, not the end */
    for (size_t i = 0; i < TC__SIGNALS; i++) {
        d->signals[i] = evsignal_new(base, numbers[i], on_signal, d);
        ok = ok && d->signals[i] != NULL && event_add(d->signals[i], NULL) == 0;
    }
    d->armed_ns = INT64_MAX;
    d->detect_timer = evtimer_new(base, on_detect_timer, d);
    d->stop_timer = evtimer_new(base, on_stop_timer, d);
    if (!ok || d->detect_timer == NULL || d->stop_timer == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "signals and timers cannot be set up");
    }
    return TC_OK;
}

/* One listener; nothing when its address is empty. pool NULL: it shares what the others have.
 * out_address is where it is, port 0 resolved. */
static tc_status listen_on(struct tc_daemon *d, const char *key, const char *address,
                           const struct tc_proto *proto, const struct tc_service *service,
                           const struct tc_net_tls *tls, struct tc_pool *pool, char *out_address,
                           struct tc_error *err)
{
    uint16_t port = 0;
    if (address[0] == '\0') {
        return TC_OK;
    }
    const struct tc_net_tls *with = tls->cert_path[0] == '\0' ? NULL : tls;
    tc_status status =
        pool == NULL ? tc_net_listen(d->net, address, proto, service, with, &port, err)
                     : tc_net_listen_apart(d->net, address, proto, service, with, pool, &port, err);
    if (status != TC_OK) {
        struct tc_error inner = *err;
        return tc_fail(err, status, 0, "%s: %s", key, inner.message);
    }
    const char *colon = strrchr(address, ':');
    (void)snprintf(out_address, TC__ADDRESS_MAX, "%.*s:%u", (int)(colon - address), address, port);
    return TC_OK;
}

static tc_status listen_all(struct tc_daemon *d, struct tc_error *err)
{
    const struct tc_config *c = &d->config;
    const struct tc_service *ingest = tc_ingest_service(d->ingest);
    const struct tc_net_tls http = {c->receivers_otlp_http_tls_cert, c->receivers_otlp_http_tls_key,
                                    c->receivers_otlp_http_tls_client_ca};
    const struct tc_net_tls grpc = {c->receivers_otlp_grpc_tls_cert, c->receivers_otlp_grpc_tls_key,
                                    c->receivers_otlp_grpc_tls_client_ca};
    const struct tc_net_tls api = {c->api_tls_cert, c->api_tls_key, c->api_tls_client_ca};
    TC_TRY(listen_on(d, "receivers.otlp.http.listen", c->receivers_otlp_http_listen, &tc_proto_http,
                     ingest, &http, NULL, d->http_address, err));
    TC_TRY(listen_on(d, "receivers.otlp.grpc.listen", c->receivers_otlp_grpc_listen, &tc_proto_grpc,
                     ingest, &grpc, NULL, d->grpc_address, err));
    return listen_on(d, "api.listen", c->api_listen, &tc_proto_http, tc_api_service(d->api), &api,
                     d->api_pool, d->api_address, err);
}

static void say_listening(struct tc_daemon *d)
{
    bool stored = strcmp(d->config.ingest_ack, "stored") == 0;
    tc_gauge(TC_COUNT_BUILD_INFO, 1);
    tc_gauge(TC_COUNT_ACK_STORED, stored);
    tc_gauge(TC_COUNT_CONFIG_TIME, d->started_ns / TC_SECOND);
    tc_log_fields(TC_LOG_INFO, "listening", TC_LOG_CSTR("http", d->http_address),
                  TC_LOG_CSTR("grpc", d->grpc_address), TC_LOG_CSTR("api", d->api_address),
                  TC_LOG_CSTR("data_dir", d->options.data_dir),
                  TC_LOG_CSTR("ack", d->config.ingest_ack));
    if (!stored) {
        tc_log(TC_LOG_WARN,
               "ingest.ack is memory: what was acknowledged in the last moments before a crash is "
               "lost",
               NULL, 0);
    }
    if (d->options.listening != NULL) {
        d->options.listening(d->options.context, d->http_address, d->grpc_address, d->api_address);
    }
}

tc_status tc_daemon_create(const struct tc_config *config, const struct tc_daemon_options *options,
                           struct tc_daemon **out_daemon, struct tc_error *err)
{
    struct tc_daemon *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory");
    }
    d->config = *config;
    d->options = *options;
    d->lock_fd = -1;
    d->started_ns = tc_wall_ns();
    tc__daemon_log_config(config);
    tc_status status = open_directories(d, err);
    if (status == TC_OK) {
        confine(d);
    }
    status = status == TC_OK ? make_basics(d, err) : status;
    status = status == TC_OK ? open_store(d, err) : status;
    status = status == TC_OK ? make_detection(d, err) : status;
    status = status == TC_OK ? make_services(d, err) : status;
    status = status == TC_OK ? make_events(d, err) : status;
    status = status == TC_OK ? tc__daemon_warehouse_start(d, err) : status;
    status = status == TC_OK ? listen_all(d, err) : status;
    if (status != TC_OK) {
        (void)!tc_daemon_destroy(d); /* nobody asked anything yet */
        return status;
    }
    *out_daemon = d;
    return TC_OK;
}

/* Requests are stored, answered and judged from here on; those that come before the replay has
 * ended wait for it on the disk. */
static void be_ready(void)
{
    tc_gauge(TC_COUNT_READY, 1);
    tc_grpc_health_set(true);
    tc_log(TC_LOG_INFO, "ready", NULL, 0);
}

tc_status tc_daemon_run(struct tc_daemon *d, struct tc_error *err)
{
    say_listening(d);
    be_ready();
    tc_catch_up_start(d->catch_up);
    TC_TRY(tc_source_set_start(d->sources, err));
    int rc = event_base_dispatch(tc_net_base(d->net));
    if (rc < 0) {
        return tc_fail(err, TC_E_IO, 0, "the event loop failed");
    }
    tc_log_fields(TC_LOG_INFO, "stopped",
                  TC_LOG_NUMBER("connections_cut", (int64_t)tc_net_connections(d->net)));
    return TC_OK;
}

/* Order matters: whoever can still call another part goes first. */
bool tc_daemon_destroy(struct tc_daemon *d)
{
    if (d == NULL) {
        return true;
    }
    tc_body_checker_destroy(d->checker);
    tc_source_set_stop(d->sources);
    tc_forward_destroy(d->forward);
    tc_shipper_destroy(d->shipper);
    tc_sealer_destroy(d->sealer);
    tc_committer_destroy(d->committer);
    if (d->detection != NULL && d->committer != NULL) {
        tc_catch_up_take_waiting(d->catch_up);
        (void)!tc_detection_drain(d->detection, tc_wall_ns());
    }
    tc_source_set_destroy(d->sources);
    tc_catch_up_destroy(d->catch_up);
    bool ended = tc_api_stop(d->api, API_WAIT);
    ended = tc__daemon_warehouse_stop(d, ended);
    tc_outbox_close(d->outbox, d->config.server_shutdown_timeout);
    for (size_t i = 0; i < TC__SIGNALS; i++) {
        if (d->signals[i] != NULL) {
            event_free(d->signals[i]);
        }
    }
    if (d->detect_timer != NULL) {
        event_free(d->detect_timer);
    }
    if (d->stop_timer != NULL) {
        event_free(d->stop_timer);
    }
    tc_net_destroy(d->net);
    tc_api_destroy(d->api);
    tc_upload_destroy(d->upload);
    tc_ingest_destroy(d->ingest);
    tc_forwarded_destroy(d->forwarded);
    tc_handoff_destroy(d->handoff);
    tc_detection_destroy(d->detection);
    tc_run_book_destroy(d->runs);
    tc_store_close(d->store);
    tc_otlp_reader_destroy(d->reader);
    tc_inflater_destroy(d->inflater);
    tc_auth_destroy(d->auth);
    tc_pool_destroy(d->api_pool);
    tc_pool_destroy(d->pool);
    if (d->lock_fd >= 0) {
        (void)close(d->lock_fd);
    }
    free(d->evidence_dir);
    free(d->outbox_dir);
    free(d->spool_dir);
    free(d);
    return ended;
}
