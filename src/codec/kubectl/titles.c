/* SPDX-License-Identifier: Apache-2.0 */
/* Tables by the titles of their columns, for columns that people choose themselves. */
#include "base/time.h"
#include "codec/k8s/k8s_priv.h"
#include "codec/kubectl/priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

enum column {
    OTHER,
    NS,
    LAST,
    FIRST,
    COUNT,
    TYPE,
    REASON,
    OBJECT,
    KIND,
    NAME,
    MESSAGE,
    SOURCE,
    STATUS,
    PHASE,
    READY,
    AGE,
    NODE,
    VERSION,
    MEMORY,
    DISK,
    PID,
    COLUMN_COUNT
};

#define HAS(mask, column) (((mask)&UINT32_C(1) << (column)) != 0)

/* Titles without blanks, in small letters or not. */
static const struct {
    const char *title;
    enum column column;
} TITLES[] = {
    {"NAMESPACE", NS},
    {"NS", NS},
    {"LAST SEEN", LAST},
    {"LASTSEEN", LAST},
    {"TIME", LAST},
    {"TIMESTAMP", LAST},
    {"LASTTIMESTAMP", LAST},
    {"FIRST SEEN", FIRST},
    {"FIRSTSEEN", FIRST},
    {"COUNT", COUNT},
    {"TYPE", TYPE},
    {"REASON", REASON},
    {"OBJECT", OBJECT},
    {"RELATEDOBJECT", OBJECT},
    {"KIND", KIND},
    {"NAME", NAME},
    {"MESSAGE", MESSAGE},
    {"SOURCE", SOURCE},
    {"FROM", SOURCE},
    {"COMPONENT", SOURCE},
    {"STATUS", STATUS},
    {"PHASE", PHASE},
    {"READY", READY},
    {"RESTARTS", OTHER},
    {"AGE", AGE},
    {"NODE", NODE},
    {"NODENAME", NODE},
    {"ROLES", OTHER},
    {"VERSION", VERSION},
    {"STATE", OTHER},
    {"SUBOBJECT", OTHER},
    {"MEMPRESSURE", MEMORY},
    {"MEMORYPRESSURE", MEMORY},
    {"DISKPRESSURE", DISK},
    {"PIDPRESSURE", PID},
    {"IP", OTHER},
    {"POD", NAME},
    {"CPU(cores)", OTHER},
};

static enum column title_column(struct tc_slice title)
{
    for (size_t i = 0; title.len > 0 && i < TC_COUNT(TITLES); i++) {
        bool starts_alike = (title.ptr[0] | 0x20) == (TITLES[i].title[0] | 0x20);
        if (starts_alike && tc_slice_eq_nocase(title, tc_slice_cstr(TITLES[i].title))) {
            return TITLES[i].column;
        }
    }
    return COLUMN_COUNT;
}

/* Reads titles; false when the line has other things, or too few. */
bool tc__kubectl_titles(struct tc__kubectl *k, struct tc_slice text)
{
    uint8_t titles[TC__KUBECTL_COLUMNS];
    size_t title_at[TC__KUBECTL_COLUMNS];
    size_t count = 0;
    size_t known = 0;
    uint32_t mask = 0;
    for (struct tc_slice rest = text; rest.len > 0 && count < TC__KUBECTL_COLUMNS; count++) {
        title_at[count] = (size_t)(rest.ptr - text.ptr);
        enum column column = title_column(tc__kubectl_cell(rest, &rest));
        bool found = column < COLUMN_COUNT;
        titles[count] = (uint8_t)(found ? column : OTHER);
        known += found;
        mask |= found ? UINT32_C(1) << column : 0;
    }
    if (known < 3 || 2 * known < count ||
        !(HAS(mask, NAME) || HAS(mask, REASON) || HAS(mask, NS))) {
        return false;
    }
    memcpy(k->titles, titles, sizeof titles);
    memcpy(k->title_at, title_at, sizeof title_at);
    k->title_count = count;
    k->sure += HAS(mask, AGE) || HAS(mask, REASON) || HAS(mask, READY) || HAS(mask, PHASE);
    k->maybe++;
    return true;
}

/* The cells of a row; an empty one is missing, so that only its place tells. */
static uint32_t read_cells(const struct tc__kubectl *k, struct tc_slice text,
                           struct tc_slice out[COLUMN_COUNT])
{
    struct tc_slice rest;
    uint32_t mask = 0;
    size_t count = 0;
    for (rest = text; rest.len > 0; count++) {
        (void)tc__kubectl_cell(rest, &rest);
    }
    rest = text;
    for (size_t i = 0; rest.len > 0 && i < TC__KUBECTL_COLUMNS; i++) {
        size_t at = (size_t)(rest.ptr - text.ptr);
        struct tc_slice cell = tc__kubectl_cell(rest, &rest);
        size_t column = i;
        for (size_t t = 0; count != k->title_count && t < k->title_count; t++) {
            column = k->title_at[t] <= at ? t : column;
        }
        if (column >= k->title_count || k->titles[column] == OTHER ||
            tc__kubectl_is_placeholder(cell)) {
            continue;
        }
        out[k->titles[column]] = cell;
        mask |= UINT32_C(1) << k->titles[column];
    }
    return mask;
}

static int64_t cell_time(const struct tc__kubectl_line *line, struct tc_slice cell)
{
    int64_t ns = TC_TIME_NONE;
    return tc__k8s_time(cell, &ns) ? ns : tc__kubectl_ago(line, cell);
}

static tc_status deliver_event_cells(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                     const struct tc_slice cells[COLUMN_COUNT])
{
    struct tc_event ev;
    struct tc_slice host = TC_EMPTY;
    int64_t count = 0;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = cell_time(line, cells[LAST].len > 0 ? cells[LAST] : cells[AGE]);
    ev.k8s.first_ns = cells[FIRST].len > 0 ? cell_time(line, cells[FIRST]) : TC_TIME_NONE;
    ev.k8s.count = tc_slice_is_i64(cells[COUNT], &count) && count > 0 ? count : 1;
    ev.k8s.type = cells[TYPE];
    ev.k8s.reason = cells[REASON];
    ev.k8s.message = cells[MESSAGE];
    ev.k8s.component = tc__kubectl_source(cells[SOURCE], &host);
    if (cells[OBJECT].len > 0 && !tc__kubectl_object(cells[OBJECT], &ev)) {
        ev.k8s.object_name = cells[OBJECT];
    } else if (cells[KIND].len > 0) {
        ev.k8s.object_kind = cells[KIND];
        ev.k8s.object_name = cells[NAME];
    }
    return tc__kubectl_tell_event(k, line, &ev, cells[NS], host);
}

static tc_status deliver_node_cells(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                    const struct tc_slice cells[COLUMN_COUNT])
{
    static const struct {
        enum column column;
        const char *type;
    } conditions[] = {
        {READY, "Ready"}, {MEMORY, "MemoryPressure"}, {DISK, "DiskPressure"}, {PID, "PIDPressure"}};
    for (size_t i = 0; i < TC_COUNT(conditions); i++) {
        struct tc_slice status = cells[conditions[i].column];
        if (tc__kubectl_is_condition(status)) {
            TC_TRY(tc__kubectl_tell_condition(k, line, cells[NAME], conditions[i].type, status));
        }
    }
    return TC_OK;
}

tc_status tc__kubectl_by_titles(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                bool *out_ours)
{
    struct tc_slice cells[COLUMN_COUNT] = {0};
    struct tc_event ev;
    uint32_t mask = read_cells(k, line->text, cells);
    *out_ours = true;
    if (HAS(mask, REASON) && HAS(mask, MESSAGE) && tc__kubectl_is_reason(cells[REASON])) {
        return deliver_event_cells(k, line, cells);
    }
    if (!HAS(mask, NAME) || !tc__kubectl_is_name(cells[NAME])) {
        *out_ours = false;
        return TC_OK;
    }
    if (HAS(mask, MEMORY) || HAS(mask, DISK) || HAS(mask, PID)) {
        return deliver_node_cells(k, line, cells);
    }
    if (HAS(mask, PHASE) || (HAS(mask, STATUS) && !HAS(mask, VERSION) && HAS(mask, NODE))) {
        tc_event_init(&ev, TC_EVENT_POD_STATE);
        ev.scope.ns = cells[NS];
        ev.scope.pod = cells[NAME];
        ev.scope.node = cells[NODE];
        bool news =
            tc__kubectl_pod_status(HAS(mask, STATUS) ? cells[STATUS] : cells[PHASE], &ev.pod);
        ev.pod.phase = HAS(mask, PHASE) ? cells[PHASE] : ev.pod.phase;
        ev.pod.reason = HAS(mask, REASON) ? cells[REASON] : ev.pod.reason;
        ev.pod.message = cells[MESSAGE];
        return news ? tc__kubectl_tell_pod(k, line, &ev) : TC_OK;
    }
    return TC_OK;
}
