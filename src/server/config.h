/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's configuration: one YAML file, one table of keys (config.def) with type, default,
 * range and help. From it come reading, validation, environment overrides, `config print-default`
 * and docs/configuration.md. All mistakes are found in one pass, each with line, column and path.
 */
#ifndef TC_SERVER_CONFIG_H
#define TC_SERVER_CONFIG_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_CONFIG_TEXT_MAX 1024
#define TC_CONFIG_KNOBS_MAX 256

/* Values as they are used: durations in ns, sizes in bytes. Field names are the paths, '.' as '_'.
 */
struct tc_config {
#define TEXT(field, path, value, reload, help) char field[TC_CONFIG_TEXT_MAX];
#define DURATION(field, path, value, min, max, reload, help) int64_t field;
#define SIZE(field, path, value, min, max, reload, help) uint64_t field;
#define COUNT(field, path, value, min, max, reload, help) int64_t field;
#define FLAG(field, path, value, reload, help) bool field;
#define CHOICE(field, path, value, choices, reload, help) char field[32];
#include "server/config.def"
#undef TEXT
#undef DURATION
#undef SIZE
#undef COUNT
#undef FLAG
#undef CHOICE
    /* detection.patterns.NAME.KEY: "nccl_hang.threshold=60s", for tc_engine_set; and .enabled */
    char knobs[TC_CONFIG_KNOBS_MAX][128];
    size_t knob_count;
};

/* Told of every mistake: "file:line:column: path: message", ready to print. */
typedef void (*tc_config_say_fn)(void *context, const char *line);

/*
 * Defaults, then the file (path NULL: none; "-": standard input), then environ (TRACECORE_DATA_DIR,
 * TRACECORE_RECEIVERS_OTLP_HTTP_LISTEN, ...; unknown TRACECORE_ names are mistakes too).
 * TC_E_MALFORMED when there was any mistake; *out is whole only with TC_OK.
 */
TC_CHECKED tc_status tc_config_load(const char *path, char *const *environ_list,
                                    tc_config_say_fn say, void *context, struct tc_config *out);

/* The defaults as a commented YAML file. */
void tc_config_print_default(struct tc_buf *b);
/* docs/configuration.md's table. */
void tc_config_print_markdown(struct tc_buf *b);
/* Keys that differ and cannot change while the daemon runs: told by path; how many. */
size_t tc_config_fixed_changes(const struct tc_config *old_config,
                               const struct tc_config *new_config, tc_config_say_fn say,
                               void *context);

#endif
