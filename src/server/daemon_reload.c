/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: the configuration is read again, and what can change while the daemon runs does. */
#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/daemon_priv.h"

#include <string.h>

struct tc_net_limits tc__daemon_net_limits(const struct tc_config *c)
{
    return (struct tc_net_limits){
        .connections_max = (size_t)c->limits_connections,
        .own_connections_max = (size_t)c->limits_api_connections,
        .streams_max = (size_t)c->limits_streams,
        .header_bytes_max = (size_t)c->limits_header_bytes,
        .headers_max = (size_t)c->limits_headers,
        .body_bytes_max = (size_t)c->limits_body,
        .output_bytes_max = (size_t)c->limits_output,
        .header_timeout_ns = c->limits_header_timeout,
        .body_timeout_ns = c->limits_body_timeout,
        .idle_timeout_ns = c->limits_idle_timeout,
        .write_timeout_ns = c->limits_write_timeout,
        .memory_wait_ns = c->limits_memory_wait,
        .resets_per_s_max = (size_t)c->limits_resets_per_second,
        .requests_per_conn_max = (size_t)c->limits_requests_per_connection,
    };
}

struct tc_otlp_limits tc__daemon_otlp_limits(const struct tc_config *c)
{
    return (struct tc_otlp_limits){
        .objects_max = (size_t)c->limits_objects,
        .depth_max = (size_t)c->limits_depth,
        .attributes_max = (size_t)c->limits_attributes,
        .key_bytes_max = (size_t)c->limits_key_bytes,
        .value_bytes_max = (size_t)c->limits_value_bytes,
    };
}

struct tc_otlp_limits tc__daemon_level_limits(const struct tc_config *c)
{
    struct tc_otlp_limits limits = tc__daemon_otlp_limits(c);
    limits.objects_max =
        limits.objects_max < TC_LEVEL_OBJECTS ? limits.objects_max : TC_LEVEL_OBJECTS;
    return limits;
}

size_t tc__daemon_body_max(const struct tc_config *c)
{
    return (size_t)(c->limits_body_decompressed > c->limits_body ? c->limits_body_decompressed
                                                                 : c->limits_body);
}

struct tc_outbox_config tc__daemon_outbox_config(struct tc_daemon *d)
{
    const struct tc_config *c = &d->config;
    tc_config_alerts(c, &d->alerts);
    return (struct tc_outbox_config){
        .dir = d->outbox_dir,
        .file_path = c->verdicts_file_path,
        .otlp_endpoint = c->verdicts_otlp_endpoint,
        .otlp_headers = c->verdicts_otlp_headers,
        .otlp_timeout_ns = c->verdicts_otlp_timeout,
        .backoff_min_ns = c->verdicts_otlp_backoff_min,
        .backoff_max_ns = c->verdicts_otlp_backoff_max,
        .queue_bytes_max = c->verdicts_otlp_queue_bytes,
        .marks_max = (size_t)c->detection_remembered,
        .is_pulled = c->warehouse_enabled,
        .alerts = &d->alerts,
    };
}

void tc__daemon_log_config(const struct tc_config *c)
{
    enum tc_log_level level = strcmp(c->log_level, "debug") == 0   ? TC_LOG_DEBUG
                              : strcmp(c->log_level, "warn") == 0  ? TC_LOG_WARN
                              : strcmp(c->log_level, "error") == 0 ? TC_LOG_ERROR
                                                                   : TC_LOG_INFO;
    tc_log_configure(level, strcmp(c->log_format, "json") == 0);
}

static void say_mistake(void *context, const char *line)
{
    (void)context;
    tc_log_fields(TC_LOG_ERROR, "configuration", TC_LOG_CSTR("mistake", line));
}

static void say_fixed(void *context, const char *line)
{
    (void)context;
    tc_log_fields(TC_LOG_WARN, "this change needs a restart", TC_LOG_CSTR("key", line));
}

bool tc__daemon_verdict_folder(const struct tc_config *c, char *out)
{
    const char *path = c->verdicts_file_path;
    const char *slash = strrchr(path, '/');
    /* "/x" is in "/", "x" in ".". */
    struct tc_slice folder = slash == NULL   ? TC_LIT(".")
                             : slash == path ? TC_LIT("/")
                                             : tc_slice_make(path, (size_t)(slash - path));
    struct tc_buf b = tc_buf_make(out, TC_CONFIG_TEXT_MAX - 1);
    tc_buf_str(&b, folder);
    out[b.len] = '\0';
    return path[0] != '\0' && strcmp(path, "-") != 0;
}

/* A process that is confined cannot write to another folder than before. */
static void keep_verdict_folder(const struct tc_daemon *d, struct tc_config *fresh)
{
    char folder[TC_CONFIG_TEXT_MAX];
    if (d->is_confined && tc__daemon_verdict_folder(fresh, folder) &&
        strcmp(folder, d->verdict_folder) != 0) {
        say_fixed(NULL, "verdicts.file.path: another folder (confine is true)");
        memcpy(fresh->verdicts_file_path, d->config.verdicts_file_path,
               sizeof fresh->verdicts_file_path);
    }
}

void tc__daemon_reload(struct tc_daemon *d)
{
    /* Too large for a stack that signal handling shares; one reload at a time. */
    static struct tc_config fresh;
    if (tc_config_load(d->options.config_path, d->options.environ_list, say_mistake, NULL,
                       &fresh) != TC_OK) {
        tc_count(TC_COUNT_RELOADS_FAILED, 1);
        tc_log(TC_LOG_ERROR, "the configuration was not reloaded: it has mistakes", NULL, 0);
        return;
    }
    (void)tc_config_fixed_changes(&d->config, &fresh, say_fixed, NULL);
    tc_config_keep_fixed(&d->config, &fresh);
    keep_verdict_folder(d, &fresh);
    d->config = fresh;
    struct tc_net_limits net_limits = tc__daemon_net_limits(&d->config);
    struct tc_otlp_limits otlp_limits = tc__daemon_otlp_limits(&d->config);
    struct tc_outbox_config outbox = tc__daemon_outbox_config(d);
    tc__daemon_log_config(&d->config);
    tc_net_limit(d->net, &net_limits);
    struct tc_error err = {0};
    if (tc_net_reload_tls(d->net, &err) != TC_OK) {
        tc_log_fields(TC_LOG_ERROR, "certificates were not reloaded; the old ones stay in use",
                      TC_LOG_CSTR("error", err.message));
    }
    struct tc_otlp_limits level_limits = tc__daemon_level_limits(&d->config);
    tc_otlp_reader_limit(d->reader, &level_limits);
    tc_body_checker_limit(d->checker, &otlp_limits);
    tc_detection_configure(d->detection, &d->config);
    tc_outbox_configure(d->outbox, &outbox);
    tc_gauge(TC_COUNT_CONFIG_TIME, tc_wall_ns() / TC_SECOND);
    tc_count(TC_COUNT_RELOADS_OK, 1);
    tc_log(TC_LOG_INFO, "the configuration was reloaded", NULL, 0);
}
