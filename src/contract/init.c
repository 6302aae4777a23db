/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new contract: text with a few values put in. It is written here, not made from the rules, so
 * that its comments read well; tests check it against them for every class and type.
 */
#include "contract/check_priv.h"

#define S(literal) TC_LIT(literal)

struct field {
    const char *name;
    const char *fallback;
    const char *const *choices; /* up to a NULL; may be NULL */
};

#define CHOICES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct field FIELDS[TC_FIELD_COUNT] = {
    [TC_FIELD_NAME] = {.name = "name", .fallback = "publication-inference-stack-b200"},
    [TC_FIELD_CLASS] = {.name = "benchmarkClass",
                        .fallback = "publication_grade",
                        .choices = CHOICES("publication_grade", "realism_grade")},
    [TC_FIELD_TYPE] = {.name = "workloadType",
                       .fallback = "inference",
                       .choices = CHOICES("training", "inference", "mixed")},
    [TC_FIELD_SCHEDULER_PATH] = {.name = "schedulerPath", .fallback = "slinky-kueue"},
    [TC_FIELD_CADENCE] = {.name = "cadence",
                          .fallback = "pre_release",
                          .choices = CHOICES("canary", "nightly", "pre_release", "adhoc")},
    [TC_FIELD_MODEL] = {.name = "model", .fallback = "openai/gpt-oss-20b"},
    [TC_FIELD_PRECISION] = {.name = "precision", .fallback = "bf16"},
    [TC_FIELD_BATCHING] = {.name = "batchingPolicy", .fallback = "continuous"},
    [TC_FIELD_CONCURRENCY] = {.name = "concurrencyModel", .fallback = "closed_loop"},
    [TC_FIELD_VARIABLE] = {.name = "comparisonVariable",
                           .fallback = "runtime_version",
                           .choices = CHOICES("hardware_generation", "runtime_version",
                                              "scheduler_path", "control_plane_path",
                                              "driver_stack", "network_topology", "storage_stack")},
};

const char *tc_contract_field_name(enum tc_contract_field field)
{
    return FIELDS[field].name;
}

const char *const *tc_contract_field_choices(enum tc_contract_field field)
{
    return FIELDS[field].choices;
}

void tc_contract_values_init(struct tc_contract_values *values)
{
    for (size_t i = 0; i < TC_FIELD_COUNT; i++) {
        values->at[i] = tc_slice_cstr(FIELDS[i].fallback);
    }
}

/* Characters that every YAML reader takes, in quotes. */
static bool is_text(struct tc_slice s)
{
    char quoted[TC_CONTRACT_VALUE_MAX * 6 + 2];
    struct tc_buf b = tc_buf_make(quoted, sizeof quoted);
    tc_buf_json(&b, s);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        bool is_c1 = c == 0xc2 && i + 1 < s.len && (unsigned char)s.ptr[i + 1] < 0xa0;
        if (c < 0x20 || c == 0x7f || is_c1) {
            return false;
        }
    }
    /* What is no UTF-8 was replaced. */
    return !tc_slice_contains(tc_buf_slice(&b), S("\xef\xbf\xbd"));
}

tc_status tc_contract_value_set(struct tc_contract_values *values, enum tc_contract_field field,
                                struct tc_slice value, struct tc_error *err)
{
    const struct field *f = &FIELDS[field];
    value = tc_slice_trim(value);
    if (value.len == 0) {
        return TC_OK;
    }
    if (value.len > TC_CONTRACT_VALUE_MAX || !is_text(value)) {
        return tc_fail(err, TC_E_USAGE, 0, "%s takes UTF-8 text of one line, at most %d bytes",
                       f->name, TC_CONTRACT_VALUE_MAX);
    }
    bool is_choice = f->choices == NULL;
    for (size_t i = 0; !is_choice && f->choices[i] != NULL; i++) {
        is_choice = tc_slice_eq(value, tc_slice_cstr(f->choices[i]));
    }
    if (!is_choice) {
        char text[TC_ERROR_MESSAGE_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text - 1);
        tc__check_words(&b, f->choices, ", ");
        text[b.len] = '\0';
        return tc_fail(err, TC_E_USAGE, 0, "%s must be one of: %s", f->name, text);
    }
    values->at[field] = value;
    return TC_OK;
}

/* Letters, digits and a few marks between them need no quotes, unless they are a number or so. */
static void put_value(struct tc_buf *b, struct tc_slice s)
{
    bool plain = tc_yaml_kind_of(s, TC_YAML_PYTHON_1_1) == TC_YAML_STRING;
    for (size_t i = 0; plain && i < s.len; i++) {
        char c = s.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        plain = word || (i > 0 && i + 1 < s.len && (c == '-' || c == '_' || c == '.' || c == '/'));
    }
    if (plain) {
        tc_buf_str(b, s);
    } else {
        tc_buf_json(b, s);
    }
}

struct maker {
    const struct tc_contract_values *values;
    struct tc_buf *out;
};

static bool is_wanted(const struct maker *m, char mark)
{
    struct tc_slice path = m->values->at[TC_FIELD_SCHEDULER_PATH];
    struct tc_slice type = m->values->at[TC_FIELD_TYPE];
    switch (mark) {
    case 'k':
        return tc_slice_contains(path, S("kueue"));
    case 's':
        return tc_slice_contains(path, S("slinky"));
    case 'I':
        return tc_slice_eq(type, S("inference"));
    case 'T':
        return tc_slice_eq(type, S("training"));
    case 'i':
        return !tc_slice_eq(type, S("training"));
    case 't':
        return !tc_slice_eq(type, S("inference"));
    default:
        return true;
    }
}

static void put_named(const struct maker *m, struct tc_slice name)
{
    struct tc_slice type = m->values->at[TC_FIELD_TYPE];
    bool holds = tc_slice_eq(name, S("trains")) ? !tc_slice_eq(type, S("inference"))
                 : tc_slice_eq(name, S("serves"))
                     ? !tc_slice_eq(type, S("training"))
                     : tc_slice_eq(m->values->at[TC_FIELD_CLASS], S("realism_grade"));
    size_t i = tc_slice_row(name, FIELDS, name);
    if (i < TC_COUNT(FIELDS)) {
        put_value(m->out, m->values->at[i]);
    } else {
        tc_buf_str(m->out, holds ? S("true") : S("false"));
    }
}

static void put_line(const struct maker *m, struct tc_slice line)
{
    while (line.len > 0) {
        struct tc_slice rest = TC_EMPTY;
        struct tc_slice text = tc_slice_cut(line, '%', &rest);
        tc_buf_str(m->out, text);
        if (text.len == line.len) {
            break;
        }
        put_named(m, tc_slice_cut(rest, '%', &line));
    }
    tc_buf_char(m->out, '\n');
}

void tc_contract_template(const struct tc_contract_values *values, struct tc_buf *out)
{
    const struct maker m = {.values = values, .out = out};
    for (size_t i = 0; tc__contract_template[i] != NULL; i++) {
        struct tc_slice line = tc_slice_cstr(tc__contract_template[i]);
        if (is_wanted(&m, line.ptr[0])) {
            put_line(&m, tc_slice_from(line, 1));
        }
    }
}
