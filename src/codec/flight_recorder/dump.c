/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema of a Flight Recorder dump, the same for a pickle and for JSON: its
 * top level, its groups and their states; entry.c has the records. Keys that
 * are not known are left alone. A key given twice: the last one counts.
 */
#include "codec/flight_recorder/priv.h"

#include "base/assert.h"
#include "base/limits.h"

/* The newest format that was seen. A newer one may say things in words we do not know. */
#define VERSION_MAJOR 2
#define VERSION_MINOR 10

struct tc__fr_group *tc__fr_find_group(struct tc__fr_reader *r, struct tc_slice name)
{
    if (r->dump->group_count == 0) {
        return NULL;
    }
    struct tc_map_iter it = tc_map_find(&r->group_index, tc_slice_hash(name, 0));
    for (;;) {
        uint64_t found = tc_map_next(&r->group_index, &it);
        if (found == 0) {
            return NULL;
        }
        struct tc__fr_group *group = &r->dump->groups[found - 1];
        if (tc_slice_eq(group->ev.group, name)) {
            return group;
        }
    }
}

struct tc__fr_status *tc__fr_find_status(struct tc__fr_reader *r, int64_t pg_id)
{
    if (r->dump->status_count == 0) {
        return NULL;
    }
    struct tc_map_iter it = tc_map_find(&r->status_index, tc_hash_mix((uint64_t)pg_id, 0));
    for (;;) {
        uint64_t found = tc_map_next(&r->status_index, &it);
        if (found == 0) {
            return NULL;
        }
        struct tc__fr_status *status = &r->dump->statuses[found - 1];
        if (status->ev.pg_id == pg_id) {
            return status;
        }
    }
}

/* "[0, 2, 4]" and nothing else, into an array. */
static tc_status read_members(struct tc__fr_reader *r, const struct tc__fr_value *v,
                              struct tc__fr_group *group)
{
    struct tc_slice ranks = group->ev.ranks;
    size_t at = 0;
    size_t count = 0;
    int32_t rank = 0;
    while (tc_rank_list_next(ranks, &at, &rank)) {
        count++;
    }
    struct tc_slice rest = tc_slice_trim(tc_slice_from(ranks, at));
    bool is_empty = count == 0 && (rest.len == 0 || tc_slice_eq(rest, TC_LIT("[]")));
    if (!is_empty && !(count > 0 && (rest.len == 0 || tc_slice_eq(rest, TC_LIT("]"))))) {
        return tc_fail(r->doc->err, TC_E_MALFORMED, v->start,
                       "pg_config ranks at byte %u is no list of ranks from 0 to %d", v->start,
                       TC_FR_RANK_MAX);
    }
    int32_t *members = tc_new(r->doc->scratch, int32_t, count);
    if (members == NULL) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    at = 0;
    for (size_t i = 0; i < count && tc_rank_list_next(ranks, &at, &rank); i++) {
        members[i] = rank;
    }
    group->members = members;
    group->member_count = count;
    return TC_OK;
}

static tc_status read_group(struct tc__fr_reader *r, const struct tc__fr_value *key,
                            const struct tc__fr_value *v)
{
    enum { DESC, RANKS, FIELD_COUNT };
    static const struct tc_slice names[] = {
        [DESC] = {"desc", sizeof "desc" - 1},
        [RANKS] = {"ranks", sizeof "ranks" - 1},
    };
    struct tc__fr_value fields[FIELD_COUNT];
    struct tc__fr_group group = {.range = tc__fr_range_of(v)};
    if (key->type != TC__FR_STRING) {
        return tc__fr_wrong_type(r, key, "a key of pg_config", "a string");
    }
    if (v->type != TC__FR_DICT) {
        return tc__fr_wrong_type(r, v, "a group of pg_config", "a dictionary");
    }
    TC_TRY(tc__fr_get_string(r, key, "a key of pg_config", &group.ev.group));
    TC_TRY(tc__fr_gather(r, v, names, fields, FIELD_COUNT));
    TC_TRY(tc__fr_get_string(r, &fields[DESC], "pg_config desc", &group.ev.group_desc));
    TC_TRY(tc__fr_get_string(r, &fields[RANKS], "pg_config ranks", &group.ev.ranks));
    TC_TRY(read_members(r, &fields[RANKS], &group));
    group.ev.group_key = tc_nccl_group_key(r->job, group.ev.group, group.ev.ranks);

    struct tc__fr_group *known = tc__fr_find_group(r, group.ev.group);
    if (known != NULL) {
        *known = group;
        return TC_OK;
    }
    r->dump->groups[r->dump->group_count++] = group;
    bool added =
        tc_map_add(&r->group_index, tc_slice_hash(group.ev.group, 0), r->dump->group_count, 0);
    TC_ASSERT(added);
    return TC_OK;
}

static tc_status read_status(struct tc__fr_reader *r, const struct tc__fr_value *key,
                             const struct tc__fr_value *v)
{
    enum { ENQUEUED, STARTED, COMPLETED, FIELD_COUNT };
    static const struct tc_slice names[] = {
        [ENQUEUED] = {"last_enqueued_collective", sizeof "last_enqueued_collective" - 1},
        [STARTED] = {"last_started_collective", sizeof "last_started_collective" - 1},
        [COMPLETED] = {"last_completed_collective", sizeof "last_completed_collective" - 1},
    };
    struct tc__fr_value fields[FIELD_COUNT];
    struct tc__fr_status status = {
        .range = tc__fr_range_of(v),
        .ev = {.pg_id = -1, .enqueued = -1, .started = -1, .completed = -1}};
    if (key->type == TC__FR_NONE) {
        return tc__fr_wrong_type(r, key, "a key of pg_status", "an integer");
    }
    if (v->type != TC__FR_DICT) {
        return tc__fr_wrong_type(r, v, "a status of pg_status", "a dictionary");
    }
    TC_TRY(tc__fr_get_int_text(r, key, "a key of pg_status", &status.ev.pg_id));
    TC_TRY(tc__fr_gather(r, v, names, fields, FIELD_COUNT));
    TC_TRY(tc__fr_get_int_text(r, &fields[ENQUEUED], names[ENQUEUED].ptr, &status.ev.enqueued));
    TC_TRY(tc__fr_get_int_text(r, &fields[STARTED], names[STARTED].ptr, &status.ev.started));
    TC_TRY(tc__fr_get_int_text(r, &fields[COMPLETED], names[COMPLETED].ptr, &status.ev.completed));

    struct tc__fr_status *known = tc__fr_find_status(r, status.ev.pg_id);
    if (known != NULL) {
        *known = status;
        return TC_OK;
    }
    r->dump->statuses[r->dump->status_count++] = status;
    bool added = tc_map_add(&r->status_index, tc_hash_mix((uint64_t)status.ev.pg_id, 0),
                            r->dump->status_count, 0);
    TC_ASSERT(added);
    return TC_OK;
}

/* The pairs of pg_config or pg_status, and room for an index of them. */
static tc_status open_table(struct tc__fr_reader *r, const struct tc__fr_value *v,
                            const char *field, struct tc_map *index,
                            struct tc__fr_value **out_items, size_t *out_pairs)
{
    size_t count = 0;
    *out_pairs = 0;
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (v->type != TC__FR_DICT) {
        return tc__fr_wrong_type(r, v, field, "a dictionary");
    }
    TC_TRY(tc__fr_items(r, v, out_items, &count));
    if (count / 2 > TC_FR_GROUPS_MAX) {
        return tc_fail(r->doc->err, TC_E_LIMIT, v->start, "%s has %zu groups; the limit is %d",
                       field, count / 2, TC_FR_GROUPS_MAX);
    }
    if (!tc_map_init(index, r->doc->scratch, count / 2)) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    *out_pairs = count / 2;
    return TC_OK;
}

static tc_status read_groups(struct tc__fr_reader *r, const struct tc__fr_value *v)
{
    struct tc__fr_value *items = NULL;
    size_t pairs = 0;
    TC_TRY(open_table(r, v, "pg_config", &r->group_index, &items, &pairs));
    r->dump->groups = tc_new(r->doc->scratch, struct tc__fr_group, pairs);
    if (r->dump->groups == NULL) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    for (size_t i = 0; i < pairs; i++) {
        TC_TRY(read_group(r, &items[2 * i], &items[2 * i + 1]));
    }
    return TC_OK;
}

static tc_status read_statuses(struct tc__fr_reader *r, const struct tc__fr_value *v)
{
    struct tc__fr_value *items = NULL;
    size_t pairs = 0;
    TC_TRY(open_table(r, v, "pg_status", &r->status_index, &items, &pairs));
    r->dump->statuses = tc_new(r->doc->scratch, struct tc__fr_status, pairs);
    if (r->dump->statuses == NULL) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    for (size_t i = 0; i < pairs; i++) {
        TC_TRY(read_status(r, &items[2 * i], &items[2 * i + 1]));
    }
    return TC_OK;
}

/* "2.10" is newer than "2.9"; what is no version is taken as newer than all. */
static bool is_newer(struct tc_slice version)
{
    struct tc_slice minor_text = TC_EMPTY;
    struct tc_slice major_text = tc_slice_cut(version, '.', &minor_text);
    uint64_t major = 0;
    uint64_t minor = 0;
    if (!tc_slice_is_u64(major_text, &major) || tc_slice_u64(minor_text, &minor) == 0) {
        return true;
    }
    return major > VERSION_MAJOR || (major == VERSION_MAJOR && minor > VERSION_MINOR);
}

static tc_status read_entries(struct tc__fr_reader *r, const struct tc__fr_value *v)
{
    struct tc__fr_dump *dump = r->dump;
    struct tc__fr_value *items = NULL;
    size_t count = 0;
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (v->type != TC__FR_LIST) {
        return tc__fr_wrong_type(r, v, "entries", "a list");
    }
    TC_TRY(tc__fr_items(r, v, &items, &count));
    if (count > TC_FR_ENTRIES_MAX) {
        return tc_fail(r->doc->err, TC_E_LIMIT, v->start, "%zu entries; the limit is %d", count,
                       TC_FR_ENTRIES_MAX);
    }
    dump->records = tc_new(r->doc->scratch, struct tc__fr_record, count);
    r->cache = tc_new(r->doc->scratch, struct tc__fr_cached_text, TC__FR_CACHE_SLOTS);
    if (r->cache == NULL) {
        return tc__fr_scratch_full(r->doc, v->start);
    }
    for (size_t i = 0; i < count; i++) {
        struct tc__fr_record *record = &dump->records[i];
        TC_TRY(tc__fr_entry_read(r, &items[i], record));
        if (record->time_ns > dump->newest_ns) {
            dump->newest_ns = record->time_ns;
        }
    }
    dump->record_count = count;
    tc__fr_settle(r);
    return TC_OK;
}

tc_status tc__fr_dump_read(struct tc__fr_doc *doc, const struct tc__fr_value *root,
                           struct tc_slice job, struct tc_arena *arena, struct tc__fr_dump *out)
{
    enum { VERSION, PG_CONFIG, NCCL, COMM_LIB, PG_STATUS, ENTRIES, RANK, FIELD_COUNT };
    static const struct tc_slice names[] = {
        [VERSION] = {"version", sizeof "version" - 1},
        [PG_CONFIG] = {"pg_config", sizeof "pg_config" - 1},
        [NCCL] = {"nccl_version", sizeof "nccl_version" - 1},
        [COMM_LIB] = {"comm_lib_version", sizeof "comm_lib_version" - 1},
        [PG_STATUS] = {"pg_status", sizeof "pg_status" - 1},
        [ENTRIES] = {"entries", sizeof "entries" - 1},
        [RANK] = {"rank", sizeof "rank" - 1},
    };
    struct tc__fr_value fields[FIELD_COUNT];
    struct tc__fr_reader r = {.doc = doc, .arena = arena, .job = job, .dump = out};
    *out = (struct tc__fr_dump){.newest_ns = TC_TIME_NONE, .rank = -1};
    if (root->type != TC__FR_DICT) {
        return tc__fr_wrong_type(&r, root, "not a Flight Recorder dump: what starts",
                                 "a dictionary");
    }
    TC_TRY(tc__fr_gather(&r, root, names, fields, FIELD_COUNT));
    if (tc__fr_is_absent(&fields[PG_CONFIG]) && tc__fr_is_absent(&fields[PG_STATUS]) &&
        tc__fr_is_absent(&fields[ENTRIES])) {
        return tc_fail(doc->err, TC_E_MALFORMED, root->start,
                       "not a Flight Recorder dump: no entries, pg_config or pg_status in it");
    }
    TC_TRY(tc__fr_get_string(&r, &fields[VERSION], "version", &out->version));
    TC_TRY(tc__fr_get_string(&r, &fields[COMM_LIB], "comm_lib_version", &out->library));
    TC_TRY(tc__fr_get_string(&r, &fields[NCCL], "nccl_version", &out->library));
    TC_TRY(tc__fr_get_int(&r, &fields[RANK], "rank", &out->rank));
    if (fields[RANK].type == TC__FR_INT && (out->rank < 0 || out->rank > TC_FR_RANK_MAX)) {
        return tc_fail(doc->err, TC_E_MALFORMED, fields[RANK].start,
                       "rank at byte %u is not between 0 and %d", fields[RANK].start,
                       TC_FR_RANK_MAX);
    }
    r.newer = out->version.len > 0 && is_newer(out->version);
    TC_TRY(read_groups(&r, &fields[PG_CONFIG]));
    TC_TRY(read_statuses(&r, &fields[PG_STATUS]));
    return read_entries(&r, &fields[ENTRIES]);
}
