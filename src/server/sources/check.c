/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sources/check.h"

#include "base/time.h"
#include "source/files/dumps.h"
#include "source/files/files.h"
#include "source/ncclras/ncclras.h"
#include "source/scrape/scrape.h"

#include <stdio.h>

static tc_status make_files(struct tc_slice lines, void **out_state, struct tc_error *err)
{
    struct tc_files_config config = {.paths = lines, .poll_ns = TC_SECOND};
    return tc_files_create(&config, out_state, err);
}

static tc_status make_dumps(struct tc_slice lines, void **out_state, struct tc_error *err)
{
    struct tc_dumps_config config = {.paths = lines, .poll_ns = TC_SECOND};
    return tc_dumps_create(&config, out_state, err);
}

static tc_status make_scrape(struct tc_slice lines, void **out_state, struct tc_error *err)
{
    struct tc_scrape_config config = {
        .targets = lines, .interval_ns = TC_SECOND, .timeout_ns = TC_SECOND};
    return tc_scrape_create(&config, out_state, err);
}

static tc_status make_ncclras(struct tc_slice lines, void **out_state, struct tc_error *err)
{
    struct tc_ncclras_config config = {
        .targets = lines, .interval_ns = TC_SECOND, .timeout_ns = TC_SECOND};
    return tc_ncclras_create(&config, out_state, err);
}

bool tc_sources_check(const struct tc_config *config, void (*tell)(void *context, const char *line),
                      void *context)
{
    const struct {
        const char *key;
        const char *lines;
        tc_status (*make)(struct tc_slice lines, void **out_state, struct tc_error *err);
        const struct tc_source_kind *kind;
    } lists[] = {
        {"sources.files.paths", config->sources_files_paths, make_files, &tc_source_files},
        {"sources.dumps.paths", config->sources_dumps_paths, make_dumps, &tc_source_dumps},
        {"sources.scrape.targets", config->sources_scrape_targets, make_scrape, &tc_source_scrape},
        {"sources.ncclras.targets", config->sources_ncclras_targets, make_ncclras,
         &tc_source_ncclras},
    };
    bool is_good = true;
    for (size_t i = 0; i < TC_COUNT(lists); i++) {
        char line[TC_ERROR_MESSAGE_MAX + 64];
        struct tc_error err = {0};
        void *state = NULL;
        if (lists[i].lines[0] == '\0') {
            continue;
        }
        if (lists[i].make(tc_slice_cstr(lists[i].lines), &state, &err) == TC_OK) {
            lists[i].kind->destroy(state);
            continue;
        }
        is_good = false;
        (void)snprintf(line, sizeof line, "%s: %s", lists[i].key, err.message);
        tell(context, line);
    }
    return is_good;
}
