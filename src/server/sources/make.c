/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources there are: what the configuration says, and what is there when it does not. */
#include "base/format.h"
#include "observe/log.h"
#include "server/sources/priv.h"
#include "source/files/dumps.h"
#include "source/files/files.h"
#include "source/journal.h"
#include "source/kmsg.h"
#include "source/kubernetes/kubernetes.h"
#include "source/ncclras/ncclras.h"
#include "source/nvml/nvml.h"
#include "source/scrape/scrape.h"
#include "source/slurm/slurm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What sources of this host share. */
struct local {
    char node[256];
    char tz[16]; /* "+02:00": of dates in its logs that name no zone */
};

static void find_zone(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm local;
    long offset = localtime_r(&now, &local) == NULL ? 0 : local.tm_gmtoff;
    char sign = offset < 0 ? '-' : '+';
    offset = offset < 0 ? -offset : offset;
    (void)snprintf(out, size, "%c%02ld:%02ld", sign, offset / 3600 % 24, offset / 60 % 60);
}

static void find_local(const struct tc_config *c, struct local *out)
{
    *out = (struct local){0};
    if (c->sources_node[0] != '\0') {
        (void)snprintf(out->node, sizeof out->node, "%.255s", c->sources_node);
    } else if (gethostname(out->node, sizeof out->node - 1) != 0) {
        out->node[0] = '\0';
    }
    find_zone(out->tz, sizeof out->tz);
}

/* One line for each: what a start without configuration found is seen there. */
static void say_watched(const struct tc_source_kind *kind, struct tc_slice what)
{
    char text[TC_LOG_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    while (what.len > 0 && !b.overflowed) {
        struct tc_slice line = tc_slice_cut(what, '\n', &what);
        (void)tc_format(&b, "{}{}", line, tc_when(what.len > 0, ", "));
    }
    tc_log_fields(TC_LOG_INFO, "watching", TC_LOG_CSTR("source", kind->name),
                  TC_LOG_TEXT("what", tc_buf_slice(&b)));
}

static tc_status add_files(struct tc_source_set *s, const struct local *local, struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    if (c->sources_files_paths[0] == '\0') {
        return TC_OK;
    }
    struct tc_files_config config = {
        .paths = tc_slice_cstr(c->sources_files_paths),
        .node = tc_slice_cstr(local->node),
        .tz = tc_slice_cstr(local->tz),
        .from_end = strcmp(c->sources_files_from, "end") == 0,
        .poll_ns = c->sources_files_poll,
        .line_max = (size_t)c->sources_files_line,
        .open_max = (size_t)c->sources_files_open,
    };
    void *state = NULL;
    struct tc_error why = {0};
    tc_status status = tc_files_create(&config, &state, &why);
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "sources.files.paths: %s", why.message);
    }
    say_watched(&tc_source_files, config.paths);
    return tc_source_set_add(s, &tc_source_files, tc_source_files.name, state, err);
}

/* "auto": what is there. */
static bool is_wanted(const char *choice, bool is_there)
{
    return strcmp(choice, "true") == 0 || (strcmp(choice, "auto") == 0 && is_there);
}

static tc_status add_kmsg(struct tc_source_set *s, const struct local *local, struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    struct tc_kmsg_config config = {.path = c->sources_kmsg_path,
                                    .node = tc_slice_cstr(local->node)};
    void *state = NULL;
    TC_TRY(tc_kmsg_create(&config, &state, err));
    say_watched(&tc_source_kmsg, tc_slice_cstr(config.path));
    return tc_source_set_add(s, &tc_source_kmsg, tc_source_kmsg.name, state, err);
}

static tc_status add_journal(struct tc_source_set *s, const struct local *local, bool has_kmsg,
                             struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    struct tc_journal_config config = {.directory = c->sources_journal_directory,
                                       .units = tc_slice_cstr(c->sources_journal_units),
                                       .node = tc_slice_cstr(local->node),
                                       .kernel = is_wanted(c->sources_journal_kernel, !has_kmsg),
                                       .back_ns = c->detection_replay_window};
    void *state = NULL;
    TC_TRY(tc_journal_create(&config, &state, err));
    say_watched(&tc_source_journal,
                config.kernel ? TC_LIT("units and the kernel's messages") : TC_LIT("units"));
    return tc_source_set_add(s, &tc_source_journal, tc_source_journal.name, state, err);
}

static tc_status add_dumps(struct tc_source_set *s, struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    struct tc_dumps_config config = {.paths = tc_slice_cstr(c->sources_dumps_paths),
                                     .poll_ns = c->sources_dumps_poll};
    void *state = NULL;
    struct tc_error why = {0};
    if (config.paths.len == 0) {
        return TC_OK;
    }
    tc_status status = tc_dumps_create(&config, &state, &why);
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "sources.dumps.paths: %s", why.message);
    }
    say_watched(&tc_source_dumps, config.paths);
    return tc_source_set_add(s, &tc_source_dumps, tc_source_dumps.name, state, err);
}

/* Whoever has no GPU has no exporter of theirs either, and is not asked. */
static bool has_driver(void)
{
    return access("/proc/driver/nvidia", F_OK) == 0;
}

static tc_status add_scrape(struct tc_source_set *s, const struct local *local,
                            struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    bool is_named = c->sources_scrape_targets[0] != '\0';
    if (!is_wanted(c->sources_scrape_enabled, is_named || has_driver())) {
        return TC_OK;
    }
    struct tc_scrape_config config = {
        .targets = is_named ? tc_slice_cstr(c->sources_scrape_targets) : TC_LIT(TC_SCRAPE_DCGM),
        .node = tc_slice_cstr(local->node),
        .interval_ns = c->sources_scrape_interval,
        .timeout_ns = c->sources_scrape_timeout,
        .is_guess = !is_named && strcmp(c->sources_scrape_enabled, "auto") == 0,
    };
    void *state = NULL;
    struct tc_error why = {0};
    tc_status status = tc_scrape_create(&config, &state, &why);
    if (status != TC_OK && config.is_guess) {
        tc_log_fields(TC_LOG_WARN, "exporters cannot be asked", TC_LOG_CSTR("error", why.message));
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "sources.scrape.targets: %s", why.message);
    }
    say_watched(&tc_source_scrape, config.targets);
    return tc_source_set_add(s, &tc_source_scrape, tc_source_scrape.name, state, err);
}

/* Whether an exporter of GPU metrics is scraped: what NVML says as well would count twice. */
static bool scrapes_gpus(const struct tc_config *c)
{
    struct tc_slice targets = tc_slice_cstr(c->sources_scrape_targets);
    if (strcmp(c->sources_scrape_enabled, "false") == 0) {
        return false;
    }
    return targets.len > 0 ? tc_slice_contains(targets, TC_LIT("9400")) ||
                                 tc_slice_find_nocase(targets, TC_LIT("dcgm")) != TC_NPOS
                           : has_driver() && tc_scrape_dcgm_listens();
}

static tc_status add_nvml(struct tc_source_set *s, const struct local *local, bool has_kernel,
                          struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    bool is_named = c->sources_nvml_library[0] != '\0';
    bool is_auto = strcmp(c->sources_nvml_enabled, "auto") == 0;
    const char *library = is_named ? c->sources_nvml_library : TC_NVML_LIBRARY;
    if (!is_wanted(c->sources_nvml_enabled, is_named || (is_auto && tc_nvml_is_there(library)))) {
        return TC_OK;
    }
    struct tc_nvml_config config = {
        .library = library,
        .node = tc_slice_cstr(local->node),
        .interval_ns = c->sources_nvml_interval,
        .timeout_ns = c->sources_nvml_timeout,
        .metrics = is_wanted(c->sources_nvml_metrics, !scrapes_gpus(c)),
        .xids = is_wanted(c->sources_nvml_xids, !has_kernel),
        .is_guess = is_auto && !is_named && !has_driver(),
    };
    char text[TC_LOG_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    void *state = NULL;
    TC_TRY(tc_nvml_create(&config, &state, err));
    (void)tc_format(&b, "{}: GPUs that are lost, NVLinks{}{}", library,
                    tc_when(config.metrics, ", metrics"), tc_when(config.xids, ", Xids"));
    say_watched(&tc_source_nvml, tc_buf_slice(&b));
    return tc_source_set_add(s, &tc_source_nvml, tc_source_nvml.name, state, err);
}

static tc_status add_slurm(struct tc_source_set *s, struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    if (!is_wanted(c->sources_slurm_enabled,
                   tc_slurm_is_there(c->sources_slurm_sacct, c->sources_slurm_scontrol))) {
        return TC_OK;
    }
    struct tc_slurm_config config = {
        .sacct = tc_slice_cstr(c->sources_slurm_sacct),
        .scontrol = tc_slice_cstr(c->sources_slurm_scontrol),
        .interval_ns = c->sources_slurm_interval,
        .timeout_ns = c->sources_slurm_timeout,
        .back_ns = c->detection_replay_window,
    };
    void *state = NULL;
    TC_TRY(tc_slurm_create(&config, &state, err));
    say_watched(&tc_source_slurm, TC_LIT("jobs and nodes"));
    return tc_source_set_add(s, &tc_source_slurm, tc_source_slurm.name, state, err);
}

static tc_status add_ncclras(struct tc_source_set *s, const struct local *local,
                             struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    bool is_named = c->sources_ncclras_targets[0] != '\0';
    bool is_auto = strcmp(c->sources_ncclras_enabled, "auto") == 0;
    if (!is_wanted(c->sources_ncclras_enabled, is_named || (is_auto && tc_ncclras_is_there()))) {
        return TC_OK;
    }
    struct tc_ncclras_config config = {
        .targets = is_named ? tc_slice_cstr(c->sources_ncclras_targets) : TC_LIT(TC_NCCLRAS_LOCAL),
        .node = tc_slice_cstr(local->node),
        .interval_ns = c->sources_ncclras_interval,
        .timeout_ns = c->sources_ncclras_timeout,
    };
    void *state = NULL;
    struct tc_error why = {0};
    tc_status status = tc_ncclras_create(&config, &state, &why);
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "sources.ncclras.targets: %s", why.message);
    }
    say_watched(&tc_source_ncclras, config.targets);
    return tc_source_set_add(s, &tc_source_ncclras, tc_source_ncclras.name, state, err);
}

static tc_status add_kubernetes(struct tc_source_set *s, struct tc_error *err)
{
    const struct tc_config *c = s->parts.config;
    bool has_file = c->sources_kubernetes_kubeconfig[0] != '\0';
    bool is_named = has_file || c->sources_kubernetes_url[0] != '\0';
    if (!is_wanted(c->sources_kubernetes_enabled, is_named || tc_kubernetes_is_there())) {
        return TC_OK;
    }
    struct tc_kubernetes_config config = {
        .url = c->sources_kubernetes_url,
        .token_file = c->sources_kubernetes_token_file,
        .ca_file = c->sources_kubernetes_ca_file,
        .cert_file = c->sources_kubernetes_cert_file,
        .key_file = c->sources_kubernetes_key_file,
        .kubeconfig = c->sources_kubernetes_kubeconfig,
        .context = c->sources_kubernetes_context,
        .node = tc_slice_cstr(c->sources_kubernetes_node),
        .watch_ns = c->sources_kubernetes_watch,
    };
    void *state = NULL;
    struct tc_error why = {0};
    tc_status status = tc_kubernetes_create(&config, &state, &why);
    if (status != TC_OK && !is_named && strcmp(c->sources_kubernetes_enabled, "auto") == 0) {
        tc_log_fields(TC_LOG_WARN, "the cluster cannot be watched",
                      TC_LOG_CSTR("error", why.message));
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "sources.kubernetes: %s", why.message);
    }
    say_watched(&tc_source_kubernetes, has_file   ? tc_slice_cstr(config.kubeconfig)
                                       : is_named ? tc_slice_cstr(config.url)
                                                  : TC_LIT("this cluster"));
    return tc_source_set_add(s, &tc_source_kubernetes, tc_source_kubernetes.name, state, err);
}

/* The device may be there and not for us: opening it tells. */
static bool can_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

tc_status tc_source_set_add_configured(struct tc_source_set *s, struct tc_error *err)
{
    struct local local;
    find_local(s->parts.config, &local);
    const struct tc_config *c = s->parts.config;
    bool has_kmsg = is_wanted(c->sources_kmsg_enabled, can_read(c->sources_kmsg_path));
    if (has_kmsg) {
        TC_TRY(add_kmsg(s, &local, err));
    }
    bool has_journal = c->sources_journal_directory[0] != '\0' || tc_journal_is_there();
    has_journal = is_wanted(c->sources_journal_enabled, has_journal);
    if (has_journal) {
        TC_TRY(add_journal(s, &local, has_kmsg, err));
    }
    bool has_kernel = has_kmsg || (has_journal && is_wanted(c->sources_journal_kernel, true));
    TC_TRY(add_nvml(s, &local, has_kernel, err));
    TC_TRY(add_files(s, &local, err));
    TC_TRY(add_dumps(s, err));
    TC_TRY(add_scrape(s, &local, err));
    TC_TRY(add_slurm(s, err));
    TC_TRY(add_ncclras(s, &local, err));
    TC_TRY(add_kubernetes(s, err));
    /* Without any other, too: it saves where agents that forward go on. */
    return tc__source_set_add_outages(s, local.node, err);
}
