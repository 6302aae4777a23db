/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node, GPU and pod each rank runs on, written down by a person or a
 * launcher, for `--map`: a table with a header (separated by commas, semicolons,
 * tabs or blanks), JSON objects (an array, or one per line), or the hostfile of mpirun
 * and deepspeed, in which ranks fill the slots of the hosts in order.
 *
 * What a person wrote is checked as a whole: every mistake is told with its place,
 * and one is enough to refuse the map. The events have no time: a map holds for the
 * whole run.
 */
#include "base/json/json.h"
#include "base/json/raw.h"
#include "base/limits.h"
#include "base/table/map.h"
#include "codec/codec.h"
#include "codec/decode_priv.h"

#include <string.h>

#define NAME_MAX_BYTES 253 /* Kubernetes ends names there, DNS too */
#define GPU_MAX 1023
#define COLUMNS_MAX 64
#define SLOTS_MAX 1024

enum column {
    COLUMN_NONE,
    COLUMN_RANK,
    COLUMN_NODE,
    COLUMN_GPU,
    COLUMN_UUID,
    COLUMN_PCI,
    COLUMN_POD,
    COLUMN_NS,
    COLUMN_JOB,
    COLUMN_WORLD,
};

static const struct {
    const char *name;
    enum column column;
} NAMES[] = {
    {"rank", COLUMN_RANK},
    {"global_rank", COLUMN_RANK},
    {"world_rank", COLUMN_RANK},
    {"node", COLUMN_NODE},
    {"node_name", COLUMN_NODE},
    {"nodename", COLUMN_NODE},
    {"host", COLUMN_NODE},
    {"hostname", COLUMN_NODE},
    {"k8s.node.name", COLUMN_NODE},
    {"gpu", COLUMN_GPU},
    {"gpu_index", COLUMN_GPU},
    {"gpu.index", COLUMN_GPU},
    {"gpu_uuid", COLUMN_UUID},
    {"gpu.uuid", COLUMN_UUID},
    {"uuid", COLUMN_UUID},
    {"pci", COLUMN_PCI},
    {"pci.bdf", COLUMN_PCI},
    {"pci_bus_id", COLUMN_PCI},
    {"bus_id", COLUMN_PCI},
    {"bdf", COLUMN_PCI},
    {"pod", COLUMN_POD},
    {"pod_name", COLUMN_POD},
    {"k8s.pod.name", COLUMN_POD},
    {"namespace", COLUMN_NS},
    {"ns", COLUMN_NS},
    {"k8s.namespace.name", COLUMN_NS},
    {"job", COLUMN_JOB},
    {"job_id", COLUMN_JOB},
    {"job_name", COLUMN_JOB},
    {"job.id", COLUMN_JOB},
    {"world_size", COLUMN_WORLD},
};

struct reader {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_map seen;    /* ranks, by job */
    struct tc_error first; /* mistake */
    uint64_t mistakes;
    uint64_t rows;
};

static size_t offset_of(const struct reader *r, struct tc_slice part)
{
    return (size_t)(part.ptr - r->in->bytes.ptr);
}

/* A mistake at a place; `why` is a literal. */
static tc_status mistake(struct reader *r, struct tc_slice at, const char *why)
{
    size_t offset = offset_of(r, at);
    size_t rest = r->in->bytes.len - offset;
    size_t length = at.len == 0 ? 1 : at.len;
    if (r->mistakes++ == 0) {
        size_t start = offset;
        while (start > 0 && r->in->bytes.ptr[start - 1] != '\n') {
            start--;
        }
        (void)tc_fail(&r->first, TC_E_MALFORMED, offset, "column %zu: %s", offset - start + 1, why);
    }
    return tc__codec_unknown(r->in, r->cursor, r->out, offset, length < rest ? length : rest, why);
}

static enum column column_of(struct tc_slice name)
{
    size_t i = tc_slice_row_nocase(name, NAMES, name);
    return i < TC_COUNT(NAMES) ? NAMES[i].column : COLUMN_NONE;
}

/* One rank in the making; the places are where its values stand. */
struct row {
    struct tc_event ev;
    struct tc_slice text;
    bool bad;
};

static struct row new_row(struct tc_slice text)
{
    struct row row = {.text = text};
    tc_event_init(&row.ev, TC_EVENT_RANK_PLACE);
    row.ev.place.origin = TC_LIT("map");
    return row;
}

static bool number_in(struct tc_slice value, int64_t max, int64_t *out)
{
    return tc_slice_is_i64(value, out) && *out >= 0 && *out <= max;
}

/* nvidia-smi writes the domain with eight digits. */
static bool pci_of(struct tc_slice value, struct tc_bdf *out)
{
    if (value.len > 4 && tc_slice_find_byte(value, ':') == 8 &&
        tc_slice_starts(value, TC_LIT("0000"))) {
        value = tc_slice_from(value, 4);
    }
    return value.len > 0 && tc_bdf_parse(value, out) == value.len;
}

/* Takes a value; what is wrong with it, or NULL. */
static const char *set_value(struct row *row, enum column column, struct tc_slice value)
{
    struct tc_scope *s = &row->ev.scope;
    struct tc_slice *const names[] = {
        [COLUMN_NODE] = &s->node, [COLUMN_UUID] = &s->gpu_uuid, [COLUMN_POD] = &s->pod,
        [COLUMN_NS] = &s->ns,     [COLUMN_JOB] = &s->job,       [COLUMN_WORLD] = NULL};
    int64_t number = 0;
    if (value.len == 0 || tc_slice_eq(value, TC_LIT("-"))) {
        return NULL; /* not known */
    }
    switch (column) {
    case COLUMN_RANK:
        if (!number_in(value, TC_FR_RANK_MAX, &number)) {
            return "a rank is a number from 0 on";
        }
        s->rank = (int32_t)number;
        return NULL;
    case COLUMN_GPU:
        if (!number_in(value, GPU_MAX, &number)) {
            return "gpu is the number of the GPU on its node, from 0 on";
        }
        s->gpu_index = (int32_t)number;
        return NULL;
    case COLUMN_WORLD:
        return number_in(value, TC_FR_RANK_MAX + 1, &row->ev.place.world_size)
                   ? NULL
                   : "world_size is the number of ranks";
    case COLUMN_PCI:
        return pci_of(value, &s->pci) ? NULL : "a PCI address looks like 0000:b3:00.0";
    default:
        break;
    }
    if (names[column] != NULL && value.len > NAME_MAX_BYTES) {
        return "a name of more than 253 bytes";
    }
    if (names[column] != NULL) {
        *names[column] = value;
    }
    return NULL;
}

/* True when the rank of this job was not there before. */
static tc_status note_rank(struct reader *r, const struct row *row, bool *out_new)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(row->ev.scope.job, 1), (uint64_t)row->ev.scope.rank);
    struct tc_map_iter it = tc_map_find(&r->seen, hash);
    *out_new = tc_map_next(&r->seen, &it) == 0;
    if (*out_new && !tc_map_add(&r->seen, hash, 1, 0)) {
        return TC_E_LIMIT;
    }
    return TC_OK;
}

static tc_status finish_row(struct reader *r, struct row *row)
{
    struct tc_scope *s = &row->ev.scope;
    bool is_new = false;
    if (row->bad) {
        return TC_OK;
    }
    if (s->rank < 0) {
        return mistake(r, row->text, "no rank");
    }
    if (s->node.len == 0 && s->gpu_uuid.len == 0 && s->pod.len == 0) {
        return mistake(r, row->text, "a rank without a node, a GPU's UUID or a pod");
    }
    TC_TRY(note_rank(r, row, &is_new));
    if (!is_new) {
        return mistake(r, row->text, "this rank is there twice");
    }
    uint64_t length = row->text.len < UINT32_MAX ? row->text.len : UINT32_MAX;
    row->ev.raw = (struct tc_raw){r->in->source, (uint32_t)length, offset_of(r, row->text)};
    r->rows++;
    r->cursor->events++;
    return r->out->event(r->out->context, &row->ev);
}

/* The next line that says something: no blank one, no comment. */
static bool next_line(struct tc_slice *io_rest, struct tc_slice *out)
{
    while (io_rest->len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(*io_rest, '\n', io_rest));
        if (line.len > 0 && line.ptr[0] != '#') {
            *out = line;
            return true;
        }
    }
    return false;
}

/* What stands between the cells: a comma, semicolon or tab, else blanks. */
static char separator_of(struct tc_slice header)
{
    static const char separators[] = {',', ';', '\t'};
    for (size_t i = 0; i < sizeof separators; i++) {
        if (tc_slice_find_byte(header, separators[i]) != TC_NPOS) {
            return separators[i];
        }
    }
    return ' ';
}

/* The next cell, without blanks and quotes around it. False at the end of the line. */
static bool next_cell(struct tc_slice line, char separator, size_t *io_at, struct tc_slice *out)
{
    size_t at = *io_at;
    if (at > line.len || (separator == ' ' && at == line.len)) {
        return false;
    }
    size_t end = at;
    while (end < line.len &&
           (separator == ' ' ? !tc_is_blank(line.ptr[end]) : line.ptr[end] != separator)) {
        end++;
    }
    struct tc_slice cell = tc_slice_trim(tc_slice_make(line.ptr + at, end - at));
    if (cell.len >= 2 && cell.ptr[0] == '"' && cell.ptr[cell.len - 1] == '"') {
        cell = tc_slice_make(cell.ptr + 1, cell.len - 2);
    }
    end++;
    while (separator == ' ' && end < line.len && tc_is_blank(line.ptr[end])) {
        end++;
    }
    *io_at = end;
    *out = cell.len == 0 ? tc_slice_make(line.ptr + at, 0) : cell;
    return true;
}

struct header {
    enum column columns[COLUMNS_MAX];
    size_t count;
    char separator;
    bool has_rank;
    bool has_place;
    bool has_node;
    bool has_others; /* columns that are not known */
};

static struct header read_header(struct tc_slice line)
{
    struct header h = {.separator = separator_of(line)};
    struct tc_slice cell;
    size_t at = 0;
    while (h.count < COLUMNS_MAX && next_cell(line, h.separator, &at, &cell)) {
        enum column column = column_of(cell);
        h.has_rank = h.has_rank || column == COLUMN_RANK;
        h.has_node = h.has_node || column == COLUMN_NODE;
        h.has_others = h.has_others || column == COLUMN_NONE;
        h.has_place =
            h.has_place || column == COLUMN_NODE || column == COLUMN_UUID || column == COLUMN_POD;
        h.columns[h.count++] = column;
    }
    return h;
}

static tc_status read_row(struct reader *r, const struct header *h, struct tc_slice line)
{
    struct row row = new_row(line);
    struct tc_slice cell;
    size_t at = 0;
    for (size_t i = 0; next_cell(line, h->separator, &at, &cell); i++) {
        const char *why = i < h->count   ? set_value(&row, h->columns[i], cell)
                          : cell.len > 0 ? "more cells than the header has columns"
                                         : NULL;
        if (why != NULL) {
            row.bad = true;
            TC_TRY(mistake(r, cell, why));
        }
    }
    return finish_row(r, &row);
}

static tc_status read_table(struct reader *r, struct tc_slice first, struct tc_slice rest)
{
    struct header h = read_header(first);
    struct tc_slice line;
    if (!h.has_rank || !h.has_place) {
        return mistake(r, first,
                       "a map starts with a header such as rank,node,gpu or with a line of a "
                       "hostfile such as gpu-07 slots=8");
    }
    while (next_line(&rest, &line)) {
        TC_TRY(read_row(r, &h, line));
    }
    return TC_OK;
}

/* "gpu-07 slots=8 max_slots=8" or "gpu-07:8": the host and its slots. */
static bool split_host(struct tc_slice line, struct tc_slice *out_host, struct tc_slice *out_slots)
{
    size_t end = 0;
    while (end < line.len && !tc_is_blank(line.ptr[end]) && line.ptr[end] != ':') {
        end++;
    }
    struct tc_slice rest = tc_slice_from(line, end);
    *out_host = tc_slice_head(line, end);
    if (tc_slice_starts(rest, TC_LIT(":"))) {
        *out_slots = tc_slice_trim(tc_slice_from(rest, 1));
        return end > 0 && tc_slice_find_byte(*out_slots, ' ') == TC_NPOS;
    }
    size_t slots = tc_slice_find(rest, TC_LIT("slots="));
    if (end == 0 || slots == TC_NPOS || slots == 0 || !tc_is_blank(rest.ptr[slots - 1])) {
        return false;
    }
    rest = tc_slice_from(rest, slots + TC_LIT("slots=").len);
    *out_slots = rest;
    for (size_t i = 0; i < rest.len; i++) {
        if (tc_is_blank(rest.ptr[i])) {
            *out_slots = tc_slice_head(rest, i);
            break;
        }
    }
    return true;
}

static tc_status read_hosts(struct reader *r, struct tc_slice line, struct tc_slice rest)
{
    int64_t rank = 0;
    do {
        struct tc_slice host;
        struct tc_slice text;
        int64_t slots = 0;
        if (!split_host(line, &host, &text)) {
            TC_TRY(mistake(r, line, "a line of a hostfile looks like gpu-07 slots=8"));
            continue;
        }
        if (!number_in(text, SLOTS_MAX, &slots) || slots == 0 ||
            rank + slots > TC_FR_RANK_MAX + 1) {
            TC_TRY(mistake(r, text, "slots is a number of ranks, from 1 to 1024"));
            continue;
        }
        if (host.len > NAME_MAX_BYTES) {
            TC_TRY(mistake(r, host, "a name of more than 253 bytes"));
            continue;
        }
        for (int64_t i = 0; i < slots; i++) {
            struct row row = new_row(line);
            row.ev.scope.node = host;
            row.ev.scope.rank = (int32_t)rank++;
            row.ev.scope.gpu_index = (int32_t)i;
            TC_TRY(finish_row(r, &row));
        }
    } while (next_line(&rest, &line));
    return TC_OK;
}

/* A member of an object as the text of a cell; numbers are cut from the text itself. */
static tc_status json_value(struct reader *r, struct tc_json_parser *parser, struct tc_slice text,
                            struct tc_slice *out)
{
    struct tc_json value;
    struct tc_slice string;
    *out = tc_slice_eq(text, TC_LIT("null")) ? TC_EMPTY : text;
    if (text.ptr[0] != '"') {
        return TC_OK;
    }
    tc_status status = tc_json_parse(parser, text, &value, NULL);
    if (status == TC_E_NOMEM || (status == TC_OK && !tc_json_string(value, &string))) {
        return TC_E_NOMEM;
    }
    *out = status == TC_OK ? tc_arena_copy(r->out->arena, string) : TC_EMPTY;
    return tc_arena_ok(r->out->arena) ? TC_OK : TC_E_NOMEM;
}

static tc_status read_object(struct reader *r, struct tc_json_parser *parser,
                             struct tc_slice object)
{
    struct row row = new_row(object);
    struct tc_slice key;
    struct tc_slice text;
    struct tc_slice value;
    struct tc_json root;
    size_t at = 0;
    tc_status status = tc_json_parse(parser, object, &root, NULL);
    if (status == TC_E_NOMEM) {
        return status;
    }
    if (status != TC_OK || tc_json_type(root) != TC_JSON_OBJECT) {
        return mistake(r, object, "not a JSON object such as {\"rank\":0,\"node\":\"gpu-07\"}");
    }
    while (tc_json_raw_member(object, &at, &key, &text)) {
        TC_TRY(json_value(r, parser, text, &value));
        const char *why = set_value(&row, column_of(key), value);
        if (why != NULL) {
            row.bad = true;
            TC_TRY(mistake(r, text, why));
        }
    }
    return finish_row(r, &row);
}

static tc_status read_json(struct reader *r, struct tc_slice text)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_slice item = TC_EMPTY;
    struct tc_slice rest = text;
    tc_status status = parser == NULL ? TC_E_NOMEM : TC_OK;
    size_t at = 0;
    if (tc_slice_starts(text, TC_LIT("["))) {
        size_t end = 0;
        if (status == TC_OK && !tc_json_raw_value(text, &end, &rest)) {
            status = mistake(r, tc_slice_head(text, 1), "the array is cut off");
        }
        while (status == TC_OK && tc_json_raw_element(text, &at, &item)) {
            status = read_object(r, parser, item);
        }
    } else {
        while (status == TC_OK && next_line(&rest, &item)) {
            status = read_object(r, parser, item);
        }
    }
    tc_json_parser_destroy(parser);
    return status;
}

static tc_status read_map(struct reader *r)
{
    struct tc_slice rest = tc_slice_from(r->in->bytes, tc_slice_bom(r->in->bytes));
    struct tc_slice line;
    struct tc_slice host;
    struct tc_slice slots;
    if (!next_line(&rest, &line)) {
        return mistake(r, tc_slice_head(r->in->bytes, 0), "the map is empty");
    }
    if (line.ptr[0] == '[' || line.ptr[0] == '{') {
        struct tc_slice all = r->in->bytes;
        return read_json(r, tc_slice_from(all, offset_of(r, line)));
    }
    return split_host(line, &host, &slots) ? read_hosts(r, line, rest) : read_table(r, line, rest);
}

/* Each line makes a rank, each slot of a hostfile too; more than the ranks there can be make none.
 */
static size_t ranks_max(const struct tc_codec_input *in)
{
    size_t lines = 1;
    for (size_t i = 0; i < in->bytes.len; i++) {
        lines += in->bytes.ptr[i] == '\n' || in->bytes.ptr[i] == '{';
    }
    bool hosts = tc_slice_contains(in->bytes, TC_LIT("slots=")) ||
                 tc_slice_find_byte(in->bytes, ':') != TC_NPOS;
    size_t ranks = hosts ? lines * SLOTS_MAX : lines;
    return ranks < TC_FR_RANK_MAX + 1 ? ranks : TC_FR_RANK_MAX + 1;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct reader r = {.in = in, .cursor = cursor, .out = out};
    if (cursor->done) {
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(out->scratch);
    if (!tc_map_init(&r.seen, out->scratch, ranks_max(in))) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the ranks of the map");
    }
    tc_status status = read_map(&r);
    tc_arena_rewind(out->scratch, mark);
    cursor->offset = in->bytes.len;
    cursor->done = true;
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "the map cannot be read: %s", tc_status_text(status));
    }
    if (r.mistakes == 0) {
        return TC_OK;
    }
    return tc_fail(err, TC_E_MALFORMED, r.first.offset, "%s%s", r.first.message,
                   r.mistakes > 1 ? "; there are more mistakes" : "");
}

/* Only a header that names ranks and nodes is unmistakable; other maps need --map. */
static int sniff(struct tc_codec_head head)
{
    struct tc_slice rest = tc_slice_from(head.bytes, tc_slice_bom(head.bytes));
    struct tc_slice line;
    if (!next_line(&rest, &line) || line.ptr[0] == '{' || line.ptr[0] == '[') {
        return TC_SNIFF_NO;
    }
    struct header h = read_header(line);
    /* Prose has blanks, too. */
    bool sure = h.separator != ' ' || !h.has_others;
    return sure && h.has_rank && h.has_node ? TC_SNIFF_LIKELY : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_rank_map = {
    .name = "rank_map",
    .summary = "which node, GPU and pod each rank runs on: a table, JSON or a hostfile",
    .known_by = "a heading with `rank` and `node`, or a JSON map",
    .gives = "rank_place",
    .example = "rank,node,gpu,job",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
