/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources there are: what the configuration says, and what is there when it does not. */
#include "base/format.h"
#include "observe/log.h"
#include "server/sources/priv.h"
#include "source/files/files.h"

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
    return tc_source_set_add(s, &tc_source_files, tc_source_files.name, state, err);
}

static void say_watched(const struct tc_source_set *s)
{
    char text[TC_LOG_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < s->count; i++) {
        (void)tc_format(&b, "{}{}", tc_when(i > 0, ", "), s->list[i].name);
    }
    if (s->count > 0) {
        tc_log_fields(TC_LOG_INFO, "watching sources beside OTLP",
                      TC_LOG_TEXT("sources", tc_buf_slice(&b)));
    }
}

tc_status tc_source_set_add_configured(struct tc_source_set *s, struct tc_error *err)
{
    struct local local;
    find_local(s->parts.config, &local);
    TC_TRY(add_files(s, &local, err));
    say_watched(s);
    return TC_OK;
}
