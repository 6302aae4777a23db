/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's configuration: one YAML file, one table of keys (config.def) with type, default,
 * range and help. From it come reading, validation, environment overrides, `config print-default`
 * and docs/configuration.md. All mistakes are found in one pass, each with line, column and path.
 */
#ifndef TC_CONFIG_CONFIG_H
#define TC_CONFIG_CONFIG_H

#include "alert/output.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_engine;

#define TC_CONFIG_FILE_MAX ((size_t)1 << 20)
#define TC_CONFIG_TEXT_MAX 1024
#define TC_CONFIG_CHOICE_MAX 32
#define TC_CONFIG_HEADERS_MAX 4096
#define TC_CONFIG_HOSTS_MAX 4096
#define TC_CONFIG_LIST_MAX 8192
#define TC_CONFIG_TOKENS_MAX 32
#define TC_CONFIG_TOKEN_NAME_MAX 64
#define TC_CONFIG_KNOBS_MAX 256
#define TC_CONFIG_KNOB_TEXT_MAX 128

/* What a token lets its bearer do: bits. */
#define TC_TOKEN_SCOPE_MAP(X) \
    X(INGEST, 1, "ingest")    \
    X(READ, 2, "read")        \
    X(ADMIN, 4, "admin")

enum tc_token_scope {
#define TC_TOKEN_SCOPE_ENUM(name, bit, text) TC_TOKEN_##name = (bit),
    TC_TOKEN_SCOPE_MAP(TC_TOKEN_SCOPE_ENUM)
#undef TC_TOKEN_SCOPE_ENUM
};

struct tc_config_token {
    char name[TC_CONFIG_TOKEN_NAME_MAX];
    struct tc_digest sha256; /* of the token's bytes */
    unsigned scopes;         /* of enum tc_token_scope */
};

enum tc_config_origin { TC_CONFIG_DEFAULT, TC_CONFIG_FILE, TC_CONFIG_ENVIRONMENT };

/* The keys by number, in the order of config.def. */
enum tc_config_key {
#define TEXT(field, path, value, reload, help) TC_KEY_##field,
#define ADDRESS(field, path, value, reload, help) TC_KEY_##field,
#define URL(field, path, value, reload, help) TC_KEY_##field,
#define DURATION(field, path, value, min, max, reload, help) TC_KEY_##field,
#define SIZE(field, path, value, min, max, reload, help) TC_KEY_##field,
#define COUNT(field, path, value, min, max, reload, help) TC_KEY_##field,
#define FLAG(field, path, value, reload, help) TC_KEY_##field,
#define CHOICE(field, path, value, choices, reload, help) TC_KEY_##field,
#define HEADERS(field, path, reload, help) TC_KEY_##field,
#define TOKENS(field, path, reload, help) TC_KEY_##field,
#define HOSTS(field, path, reload, help) TC_KEY_##field,
#define OUTPUTS(field, path, reload, help) TC_KEY_##field,
#define LIST(field, path, reload, help) TC_KEY_##field,
#include "config/config.def"
#undef TEXT
#undef ADDRESS
#undef URL
#undef DURATION
#undef SIZE
#undef COUNT
#undef FLAG
#undef CHOICE
#undef HEADERS
#undef TOKENS
#undef HOSTS
#undef OUTPUTS
#undef LIST
    TC_CONFIG_KEY_COUNT
};

/* Values as they are used: durations in ns, sizes in bytes, headers as "Name: value\r\n" lines,
 * hosts as "name\n" lines in small letters, lists as lines as they were written.
 * Field names are the paths, '.' as '_'. */
struct tc_config {
#define TEXT(field, path, value, reload, help) char field[TC_CONFIG_TEXT_MAX];
#define ADDRESS(field, path, value, reload, help) char field[TC_CONFIG_TEXT_MAX];
#define URL(field, path, value, reload, help) char field[TC_CONFIG_TEXT_MAX];
#define DURATION(field, path, value, min, max, reload, help) int64_t field;
#define SIZE(field, path, value, min, max, reload, help) uint64_t field;
#define COUNT(field, path, value, min, max, reload, help) int64_t field;
#define FLAG(field, path, value, reload, help) bool field;
#define CHOICE(field, path, value, choices, reload, help) char field[TC_CONFIG_CHOICE_MAX];
#define HEADERS(field, path, reload, help) char field[TC_CONFIG_HEADERS_MAX];
#define TOKENS(field, path, reload, help) struct tc_config_token field[TC_CONFIG_TOKENS_MAX];
#define HOSTS(field, path, reload, help) char field[TC_CONFIG_HOSTS_MAX];
#define OUTPUTS(field, path, reload, help) struct tc_alert_output field[TC_ALERT_RECEIVERS_MAX];
#define LIST(field, path, reload, help) char field[TC_CONFIG_LIST_MAX];
#include "config/config.def"
#undef TEXT
#undef ADDRESS
#undef URL
#undef DURATION
#undef SIZE
#undef COUNT
#undef FLAG
#undef CHOICE
#undef HEADERS
#undef TOKENS
#undef HOSTS
#undef OUTPUTS
#undef LIST
    size_t auth_token_count;
    size_t alerts_output_count;
    /*
     * detection.patterns.NAME.KEY where it differs from the default: "nccl_hang.threshold=60s" for
     * tc_engine_set, "nccl_hang.enabled=false". In the order of the detectors and their tables.
     */
    char knobs[TC_CONFIG_KNOBS_MAX][TC_CONFIG_KNOB_TEXT_MAX];
    size_t knob_count;
    /* Where each value came from; by enum tc_config_key, and by the index in knobs. */
    uint8_t origins[TC_CONFIG_KEY_COUNT];
    uint8_t knob_origins[TC_CONFIG_KNOBS_MAX];
};

/* The alerts.* of a configuration for those who deliver them. */
void tc_config_alerts(const struct tc_config *config, struct tc_alert_settings *out);

/* Told of every mistake: "file:line:column: path: message", ready to print. */
typedef void (*tc_config_say_fn)(void *context, const char *line);

/*
 * Defaults, then the file (path NULL: none; "-": standard input), then environ (TRACECORE_DATA_DIR,
 * TRACECORE_RECEIVERS_OTLP_HTTP_LISTEN, ...; unknown TRACECORE_ names are mistakes too, but for
 * those that Kubernetes makes of a service named tracecore).
 * TC_E_MALFORMED when there was any mistake, TC_E_IO when the file cannot be read; all are told.
 * *out is whole only with TC_OK.
 */
TC_CHECKED tc_status tc_config_load(const char *path, char *const *environ_list,
                                    tc_config_say_fn say, void *context, struct tc_config *out);
/* The same for a text that is there already; name is what stands for the file in messages. */
TC_CHECKED tc_status tc_config_read(struct tc_slice text, const char *name,
                                    char *const *environ_list, tc_config_say_fn say, void *context,
                                    struct tc_config *out);

/* data_dir, or where tc_data_dir_default says when it is empty. out_text has TC_CONFIG_TEXT_MAX
 * bytes. */
TC_CHECKED tc_status tc_config_data_dir(const struct tc_config *config, char *out_text,
                                        struct tc_error *err);
/* Sets the engine's knobs and turns patterns off. Before the first event. */
TC_CHECKED tc_status tc_config_tune(const struct tc_config *config, struct tc_engine *engine,
                                    struct tc_error *err);

/* Room for each of the texts below. */
#define TC_CONFIG_PRINT_MAX ((size_t)128 << 10)

/* The defaults as a commented YAML file. */
void tc_config_print_default(struct tc_buf *b);
/* docs/configuration.md's tables. */
void tc_config_print_markdown(struct tc_buf *b);
/* The values in use, one line each, "path: value  # origin"; or one JSON object. */
void tc_config_print_effective(const struct tc_config *config, bool json, struct tc_buf *b);
/* Keys that differ and cannot change while the daemon runs: told by path; how many. */
size_t tc_config_fixed_changes(const struct tc_config *old_config,
                               const struct tc_config *new_config, tc_config_say_fn say,
                               void *context);
/*
 * Takes those over from the old configuration: what a running daemon goes on with. The old tokens
 * too where none would be left and a listener that other machines reach depends on them.
 */
void tc_config_keep_fixed(const struct tc_config *old_config, struct tc_config *io_new_config);

#endif
