/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the configuration share. table.c has the keys, value.c reads values, read.c
 * goes through the YAML, lists.c reads headers and tokens, check.c compares values with each other,
 * print.c writes, config.c does it all in order.
 */
#ifndef TC_CONFIG_CONFIG_PRIV_H
#define TC_CONFIG_CONFIG_PRIV_H

#include "config/config.h"
#include "detect/detector.h"

#include <stdarg.h>

#define TC__CONFIG_PATH_MAX 128
/* Mistakes that are told one by one; the rest is counted. */
#define TC__CONFIG_MISTAKES_MAX 100
#define TC__CONFIG_MISTAKE_TEXT_MAX 768

enum tc__config_type {
    TC__TEXT,
    TC__ADDRESS,
    TC__URL,
    TC__DURATION,
    TC__SIZE,
    TC__COUNT,
    TC__FLAG,
    TC__CHOICE,
    TC__HEADERS,
    TC__TOKENS,
    TC__HOSTS,
    TC__OUTPUTS,
    TC__LIST,
};

/* Whether a value of the type is a list or a map, which the environment gives as YAML. */
static inline bool tc__config_is_list(enum tc__config_type type)
{
    return type == TC__HEADERS || type == TC__TOKENS || type == TC__HOSTS || type == TC__LIST ||
           type == TC__OUTPUTS;
}

/* A line of config.def. */
struct tc__config_row {
    const char *path;
    enum tc__config_type type;
    size_t offset; /* in struct tc_config */
    const char *value;
    const char *min;
    const char *max;
    const char *choices;
    bool reload;
    const char *help;
};

extern const struct tc__config_row tc__config_rows[TC_CONFIG_KEY_COUNT];

/* Where something was written. */
struct tc__config_place {
    enum tc_config_origin origin;
    const char *variable; /* "NAME=value" of the environment */
    unsigned line;        /* from 1; 0: not known */
    unsigned column;
};

enum tc__config_kind { TC__SECTION, TC__ROW, TC__KNOB };

/*
 * A key or a section. place is where the value in use was written; first_line where the key first
 * stood in the file, 0 when it did not.
 */
struct tc__config_node {
    char path[TC__CONFIG_PATH_MAX];
    size_t path_len;
    enum tc__config_kind kind;
    enum tc_config_key key;             /* of a row */
    const struct tc_detector *detector; /* of a knob */
    const struct tc_knob *param;        /* of a knob; NULL: "enabled" */
    int64_t value;                      /* of a knob */
    char text[TC_CONFIG_KNOB_TEXT_MAX]; /* of a knob, as it was written */
    struct tc__config_place place;
    unsigned first_line;
    bool bad; /* a mistake was found in it */
};

struct tc__config_mistake {
    struct tc__config_place place;
    size_t order;
    char text[TC__CONFIG_MISTAKE_TEXT_MAX];
};

/* One load. Invariant: nodes[0] is the root. */
struct tc__config_load {
    struct tc_config *out;
    const char *name; /* of the file */
    struct tc__config_node *nodes;
    size_t node_count;
    struct tc__config_mistake *mistakes;
    size_t mistake_count; /* also those beyond TC__CONFIG_MISTAKES_MAX */
    bool no_memory;       /* for a text that was to be read */
};

/* ---- table.c ---- */

/* Writes the defaults and makes the nodes. TC_E_NOMEM. */
TC_CHECKED tc_status tc__config_nodes(struct tc__config_load *l);
struct tc__config_node *tc__config_find(struct tc__config_load *l, struct tc_slice path);
/* The key right below `parent` whose last part is most like `key`; else any key of the table that
 * ends like it; NULL when nothing is. */
const struct tc__config_node *tc__config_nearest(const struct tc__config_load *l,
                                                 struct tc_slice parent, struct tc_slice key);
/* "TRACECORE_DATA_DIR" of "data_dir". */
void tc__config_variable(struct tc_buf *b, struct tc_slice path);
struct tc_slice tc__config_last_part(struct tc_slice path);

/* ---- config.c ---- */

/* path may be empty. */
void tc__config_mistake(struct tc__config_load *l, const struct tc__config_place *place,
                        const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- value.c ---- */

/* Cuts "host:port" and "[::1]:port"; the host without brackets. */
bool tc__config_address(struct tc_slice text, struct tc_slice *out_host, uint16_t *out_port);
/* "http://host", "https://host:port/path". */
bool tc__config_is_url(struct tc_slice text);
/* Whether the text is made as host names are. */
bool tc__config_is_host(struct tc_slice host, bool in_brackets);
/* Sets a row or a knob from a scalar and says what is wrong with it. */
void tc__config_set(struct tc__config_load *l, struct tc__config_node *node,
                    const struct tc__config_place *place, struct tc_slice text, bool is_plain);
/* A row's value is taken as it stands in l->out. */
void tc__config_taken(struct tc__config_load *l, struct tc__config_node *node,
                      const struct tc__config_place *place);

/* ---- read.c ---- */

/* Reads a YAML text as the value of `root`: of the whole file, or of one key from a variable. */
void tc__config_yaml(struct tc__config_load *l, struct tc_slice text, struct tc__config_node *root,
                     const struct tc__config_place *place);

/* ---- lists.c ---- */

struct tc__config_header {
    const char *path;
    struct tc__config_place place;
    struct tc_slice name;
    struct tc_slice value;
    char *to; /* the lines so far */
    size_t to_size;
};

/* Adds a header; false when it was told what is wrong with it. */
bool tc__config_header(struct tc__config_load *l, const struct tc__config_header *header);

/* Adds a name to server.allowed_hosts, or tells what is wrong with it. */
void tc__config_host(struct tc__config_load *l, const char *path,
                     const struct tc__config_place *place, struct tc_slice name);

/* Adds a line to a LIST, which is `to`, or tells what is wrong with it. */
void tc__config_line(struct tc__config_load *l, char *to, const char *path,
                     const struct tc__config_place *place, struct tc_slice text);

enum tc__config_token_field { TC__TOKEN_NAME, TC__TOKEN_SHA256, TC__TOKEN_SCOPES, TC__TOKEN_NONE };

/* The field of that name, TC__TOKEN_NONE and a mistake when there is none. */
enum tc__config_token_field tc__config_token_field(struct tc__config_load *l, const char *path,
                                                   const struct tc__config_place *place,
                                                   struct tc_slice name);
/* Sets name or sha256 of the token that is being read, or adds a scope to it. */
void tc__config_token_set(struct tc__config_load *l, const char *path,
                          const struct tc__config_place *place, enum tc__config_token_field field,
                          struct tc_slice text);

/* ---- outputs.c ---- */

/* The receivers of alerts are being read: the one whose fields come, and what it has had. */
struct tc__config_output {
    size_t at;
    unsigned seen; /* bits of the fields */
    char path[TC__CONFIG_PATH_MAX];
};

/* Whether another one can begin; its fields are empty then. A mistake otherwise. */
bool tc__config_output_begin(struct tc__config_load *l, struct tc__config_output *o,
                             const struct tc__config_place *place);
/* What a field takes; TC__OUTPUT_UNKNOWN after a mistake. */
enum tc__config_output_kind { TC__OUTPUT_UNKNOWN, TC__OUTPUT_TEXT, TC__OUTPUT_MAP };
enum tc__config_output_kind tc__config_output_field(struct tc__config_load *l,
                                                    struct tc__config_output *o,
                                                    const struct tc__config_place *place,
                                                    struct tc_slice name, size_t *out_field);
void tc__config_output_set(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place, size_t field,
                           struct tc_slice text);
/* An entry of a map. */
void tc__config_output_add(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place, size_t field, struct tc_slice name,
                           struct tc_slice value);
/* All its fields were there: what is missing, or does not go together, is told. */
void tc__config_output_end(struct tc__config_load *l, struct tc__config_output *o,
                           const struct tc__config_place *place);
/* Names and types, for who asks what is in use: nothing of them is a secret. */
void tc__config_outputs_print(struct tc_buf *b, const struct tc_config *c);
/* The quiet hours and their time zone. */
void tc__config_check_quiet(struct tc__config_load *l);

/* ---- check.c ---- */

void tc__config_check(struct tc__config_load *l);
/* The address of a listener that runs and would be open to everybody if the new configuration's
 * tokens were taken; NULL when there is none. */
const char *tc__config_exposed_without(const struct tc_config *running,
                                       const struct tc_config *fresh);

#endif
