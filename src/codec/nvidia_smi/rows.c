/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: --query-gpu as CSV, dmon, and the table that nvidia-smi prints without arguments:
 *
 *   |   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
 *   | N/A   31C    P0             70W /  400W |     1MiB /  81920MiB |      0%      Default |
 */
#include "base/time.h"
#include "codec/match_priv.h"
#include "codec/nvidia_smi/priv.h"

#define CELLS_MAX 8

/* The next field from *io_at; false at the end. A field of a CSV may be empty. */
static bool next_field(struct tc_slice line, char separator, size_t *io_at, struct tc_slice *out)
{
    size_t at = *io_at;
    if (separator == ' ') {
        while (at < line.len && tc_is_blank(line.ptr[at])) {
            at++;
        }
    }
    if (at > line.len || (separator == ' ' && at == line.len)) {
        return false;
    }
    size_t end = at;
    while (end < line.len &&
           (separator == ' ' ? !tc_is_blank(line.ptr[end]) : line.ptr[end] != separator)) {
        end++;
    }
    *out = tc_slice_trim(tc_slice_make(line.ptr + at, end - at));
    *io_at = end + 1;
    return true;
}

static bool is_column_name(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_')) {
            return false;
        }
    }
    return s.len > 0;
}

/* False when some field is no name of a column. *out_known counts those of use. */
static bool read_names(struct tc_slice text, enum smi_form form, struct smi_columns *out)
{
    struct tc_slice field;
    size_t known = 0;
    size_t at = 0;
    out->count = 0;
    out->date = out->clock = -1;
    while (out->count < SMI_COLUMNS_MAX && next_field(text, out->separator, &at, &field)) {
        /* "power.draw [W]" */
        size_t unit = tc_slice_find(field, TC_LIT(" ["));
        field = tc_slice_head(field, unit);
        out->date = tc_slice_eq(field, TC_LIT("Date")) ? (int)out->count : out->date;
        out->clock = tc_slice_eq(field, TC_LIT("Time")) ? (int)out->count : out->clock;
        if (form == SMI_CSV && !is_column_name(field)) {
            return false;
        }
        const struct smi_name *name = tc__smi_name(form, TC_EMPTY, field);
        known += name != NULL;
        out->names[out->count++] = name;
    }
    return known >= 2 && at >= text.len;
}

bool tc__smi_columns(struct tc_slice text, struct smi_columns *out)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice list = text;
    enum smi_form form = SMI_CSV;
    bool command = tc__text_match(text, "*--query-<gpu|remapped-rows>={0%p}", got);
    out->separator = ',';
    if (command) {
        list = got[0];
    } else if (tc_slice_starts(text, TC_LIT("#"))) {
        form = SMI_DMON;
        out->separator = ' ';
        list = tc_slice_trim(tc_slice_from(text, 1));
    } else if (tc_slice_find_byte(text, ';') != TC_NPOS) {
        out->separator = ';';
    }
    bool found = read_names(list, form, out);
    out->separator = command ? ',' : out->separator;
    return found;
}

/* dmon -o DT: "20260301 10:05:01" */
static int64_t dmon_time(const struct tc_codec_input *in, struct tc_slice date,
                         struct tc_slice clock)
{
    uint64_t day = 0;
    int64_t ns = TC_TIME_NONE;
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t parts[3] = {0};
    if (date.len != 8 || !tc_slice_is_u64(date, &day) ||
        !tc__text_match(clock, "{0%d}:{1%d}:{2%d}$", got)) {
        return TC_TIME_NONE;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!tc_slice_is_u64(got[i], &parts[i]) || parts[i] > 60) {
            return TC_TIME_NONE;
        }
    }
    struct tc_civil c = {.year = (int32_t)(day / 10000),
                         .month = (int32_t)(day / 100 % 100),
                         .day = (int32_t)(day % 100),
                         .hour = (int32_t)parts[0],
                         .minute = (int32_t)parts[1],
                         .second = (int32_t)parts[2]};
    if (!tc_time_from_civil(&c, &ns)) {
        return TC_TIME_NONE;
    }
    ns -= in->utc_offset_s * TC_SECOND;
    return ns >= 0 && ns <= TC_TIME_MAX ? ns : TC_TIME_NONE;
}

bool tc__smi_row(struct tc__lines *w, const struct tc__line *line, const struct smi_columns *c,
                 struct smi_gpu *g)
{
    struct tc_slice fields[SMI_COLUMNS_MAX];
    struct tc_slice text = tc_slice_trim(line->text);
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice more;
    size_t count = 0;
    size_t at = 0;
    /* The number of the task that srun -l puts before each line. */
    if (tc__text_match(text, "%d: {0*}", got)) {
        text = got[0];
    }
    while (count < c->count && next_field(text, c->separator, &at, &fields[count])) {
        count++;
    }
    if (count < c->count || next_field(text, c->separator, &at, &more)) {
        return false;
    }
    double number = 0;
    for (size_t i = 0; c->separator == ' ' && i < count; i++) {
        if (!tc_slice_eq(fields[i], TC_LIT("-")) && tc__text_number(fields[i], &number) == 0) {
            return false; /* names or units again */
        }
    }
    tc__smi_begin(w, g, line);
    if (c->date >= 0 && c->clock >= 0) {
        int64_t ns = dmon_time(w->in, fields[c->date], fields[c->clock]);
        g->time_ns = ns == TC_TIME_NONE ? g->time_ns : ns;
    }
    for (size_t i = 0; i < count; i++) {
        if (c->names[i] != NULL) {
            tc__smi_set(w->in, g, c->names[i], fields[i], line->raw);
        }
    }
    if (g->index < 0 && g->uuid.len == 0 && !g->pci.known) {
        g->begun = false; /* of no GPU: a line of names, or values for nobody */
        return false;
    }
    return true;
}

/* The cells of a row of a table, from its first bar. */
static size_t cells_of(struct tc_slice text, struct tc_slice out[CELLS_MAX])
{
    size_t bar = tc_slice_find_byte(text, '|');
    size_t count = 0;
    while (bar != TC_NPOS && count < CELLS_MAX) {
        text = tc_slice_from(text, bar + 1);
        bar = tc_slice_find_byte(text, '|');
        if (bar != TC_NPOS) {
            out[count++] = tc_slice_trim(tc_slice_head(text, bar));
        }
    }
    return count;
}

bool tc__smi_table_first(struct tc__lines *w, const struct tc__line *line, struct smi_gpu *g)
{
    struct tc_slice cells[CELLS_MAX];
    struct tc_bdf pci;
    uint64_t number = 0;
    if (cells_of(line->text, cells) != 3 || tc_bdf_parse(cells[1], &pci) == 0 ||
        tc_slice_u64(cells[0], &number) == 0 || number >= 4096) {
        return false;
    }
    tc__smi_begin(w, g, line);
    g->index = (int32_t)number;
    g->pci = pci;
    (void)tc__smi_note_error(g, cells[0], line->raw);
    if (!tc__smi_note_error(g, cells[2], line->raw) && tc_slice_is_u64(cells[2], &number)) {
        tc__smi_set_metric(g, TC_METRIC_GPU_ECC_DBE, (double)number, line->raw);
    }
    return true;
}

/* "43C", "44W", "0%": a number with that unit at its end. */
static bool has_unit(struct tc_slice field, char unit, double *out)
{
    return field.len >= 2 && field.ptr[field.len - 1] == unit &&
           tc__text_number(field, out) == field.len - 1;
}

void tc__smi_table_second(const struct tc__line *line, struct smi_gpu *g)
{
    struct tc_slice cells[CELLS_MAX];
    struct tc_slice field;
    size_t at = 0;
    if (cells_of(line->text, cells) != 3) {
        return;
    }
    while (next_field(cells[0], ' ', &at, &field)) {
        double value = 0;
        uint64_t state = 0;
        if (tc__smi_note_error(g, field, line->raw)) {
            continue;
        }
        if (has_unit(field, 'C', &value)) {
            tc__smi_set_metric(g, TC_METRIC_GPU_TEMP, value, line->raw);
        } else if (has_unit(field, 'W', &value)) {
            tc__smi_set_metric(g, TC_METRIC_GPU_POWER, value, line->raw);
        } else if (field.ptr[0] == 'P' && tc_slice_is_u64(tc_slice_from(field, 1), &state)) {
            g->pstate = state < 32 ? (int)state : -1;
        }
    }
    for (at = 0; next_field(cells[2], ' ', &at, &field);) {
        double value = 0;
        if (!tc__smi_note_error(g, field, line->raw) && has_unit(field, '%', &value)) {
            tc__smi_set_metric(g, TC_METRIC_GPU_UTIL, value, line->raw);
        }
    }
}
