/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/slicing.h"

#include "base/json/json.h"
#include "base/json/out.h"
#include "server/daemon_priv.h"
#include "warehouse/ledger.h"

struct tc_warehouse_slicer_config tc_warehouse_slicing_of(const struct tc_config *config,
                                                          const char *evidence_dir)
{
    return (struct tc_warehouse_slicer_config){
        .evidence_dir = evidence_dir,
        .window_ns = config->warehouse_slice_window,
        .lateness_ns = config->warehouse_slice_lateness,
        .catch_up_ns = config->warehouse_catch_up,
        .series_max = (size_t)config->warehouse_slice_series,
        .memory_bytes = (size_t)config->warehouse_slice_memory,
        .otlp = tc__daemon_otlp_limits(config),
        .body_max = tc__daemon_body_max(config),
    };
}

struct tc_warehouse_requests_config tc_warehouse_requests_of(const struct tc_config *config,
                                                             const char *evidence_dir)
{
    return (struct tc_warehouse_requests_config){
        .evidence_dir = evidence_dir,
        .catch_up_ns = config->warehouse_catch_up,
        .otlp = tc__daemon_otlp_limits(config),
        .body_max = tc__daemon_body_max(config),
    };
}

struct recalled {
    struct tc_json_parser *parser;
    struct tc_warehouse_slicer_config *slicing;
    size_t series_max; /* as the last line says; 0: it does not */
    size_t memory_bytes;
    bool any;
};

static tc_status take(void *context, struct tc_slice json)
{
    struct recalled *r = context;
    struct tc_warehouse_slicer_config *s = r->slicing;
    struct tc_json root;
    struct tc_error err;
    if (tc_json_parse(r->parser, json, &root, &err) != TC_OK) {
        return TC_OK; /* of another program; the one before counts */
    }
    s->window_ns = tc_json_get_int(root, TC_LIT("window_ns"), s->window_ns);
    s->lateness_ns = tc_json_get_int(root, TC_LIT("lateness_ns"), s->lateness_ns);
    int64_t series = tc_json_get_int(root, TC_LIT("series_max"), 0);
    int64_t memory = tc_json_get_int(root, TC_LIT("memory_bytes"), 0);
    r->series_max = series > 0 ? (size_t)series : r->series_max;
    r->memory_bytes = memory > 0 ? (size_t)memory : r->memory_bytes;
    r->any = true;
    return TC_OK;
}

/* Of series and memory; 0: not known. */
struct room {
    size_t series_max;
    size_t memory_bytes;
};

static tc_status recall(const char *data_dir, struct tc_warehouse_slicer_config *io_slicing,
                        struct room *out_room, bool *out_any, struct tc_error *err)
{
    struct recalled r = {.parser = tc_json_parser_create(), .slicing = io_slicing};
    uint64_t damaged = 0;
    tc_status status = r.parser == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the ledger")
                           : tc_ledger_read(data_dir, TC_LEDGER_SLICES, take, &r, &damaged, err);
    tc_json_parser_destroy(r.parser);
    *out_any = r.any;
    *out_room = (struct room){r.series_max, r.memory_bytes};
    return status;
}

tc_status tc_warehouse_slicing_recall(const char *data_dir,
                                      struct tc_warehouse_slicer_config *io_slicing,
                                      struct tc_error *err)
{
    struct room room;
    bool any = false;
    TC_TRY(recall(data_dir, io_slicing, &room, &any, err));
    /* More room than there was changes no row that was whole. */
    io_slicing->series_max =
        room.series_max > io_slicing->series_max ? room.series_max : io_slicing->series_max;
    io_slicing->memory_bytes =
        room.memory_bytes > io_slicing->memory_bytes ? room.memory_bytes : io_slicing->memory_bytes;
    return TC_OK;
}

tc_status tc_warehouse_slicing_note(const char *data_dir,
                                    const struct tc_warehouse_slicer_config *slicing,
                                    struct tc_error *err)
{
    struct tc_warehouse_slicer_config last = *slicing;
    struct room room;
    bool any = false;
    TC_TRY(recall(data_dir, &last, &room, &any, err));
    if (any && last.window_ns == slicing->window_ns && last.lateness_ns == slicing->lateness_ns &&
        room.series_max == slicing->series_max && room.memory_bytes == slicing->memory_bytes) {
        return TC_OK;
    }
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_object_grow(&g);
    tc_json_put_i64(&j, "window_ns", slicing->window_ns);
    tc_json_put_i64(&j, "lateness_ns", slicing->lateness_ns);
    tc_json_put_u64(&j, "series_max", slicing->series_max);
    tc_json_put_u64(&j, "memory_bytes", slicing->memory_bytes);
    tc_json_end_object(&j);
    return tc_ledger_record(data_dir, TC_LEDGER_SLICES, &g, err);
}
