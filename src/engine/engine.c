/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include "base/arena.h"
#include "base/os/block.h"
#include "base/time.h"
#include "event/xid.h"

#include <stdlib.h>
#include <string.h>

#define TICK_NS TC_SECOND
#define SCRATCH_BYTES ((size_t)4 << 20)
#define INCIDENT_BYTES ((size_t)2 << 20)
#define INCIDENT_ARENA_BYTES ((size_t)8 << 20) /* the records and their index */
#define DETECTORS_MAX 32
#define PARAMS_MAX 16
#define PATH_MAX_LEN 96

/* One detector at work. */
struct slot {
    const struct tc_detector *detector;
    bool enabled;
    void *state;
    struct tc_block *block;
    struct tc_arena window;
    struct tc_sink sink;
    struct tc_engine *engine;
    int64_t params[PARAMS_MAX];
};

/* What most kinds have: one detector, and nothing that the directory notes. Its parts side by side,
 * for the way of every event. */
struct lane {
    tc_status (*on_event)(void *state, const struct tc_event *ev, const struct tc_sink *out);
    void *state;
    const struct tc_sink *sink;
    struct tc_detector_base *base;
    const struct slot *slot;
};

struct tc_engine {
    struct tc_engine_out out;
    uint32_t scale; /* of all memory: at least 1 */
    struct slot slots[DETECTORS_MAX];
    size_t slot_count;
    struct slot *wanted[TC_EVENT_KIND_COUNT][DETECTORS_MAX]; /* NULL-terminated, dispatch order */
    struct lane lanes[TC_EVENT_KIND_COUNT];                  /* without on_event: look at wanted */
    struct tc_block *scratch_block;
    struct tc_block *number_block;
    struct tc_block *incident_block;
    struct tc_arena scratch; /* detectors build findings here */
    struct tc_arena number;  /* identities of the verdict being passed on */
    struct tc_arena incident_arena;
    struct tc_incidents incidents;
    struct tc_lru told; /* without room where nobody wants it */
    struct tc_directory *directory;
    uint32_t noted;   /* bits of the kinds that it notes */
    int64_t noted_ns; /* the newest time of what it noted */
    uint32_t sender;  /* of the last event that it was told of */
    struct tc_engine_counts counts;
    int64_t now_ns;
    int64_t next_tick_ns;
    bool ends;               /* in tc_engine_finish: what is told now says nothing about when */
    struct tc_xid_list xids; /* of the site */
};

tc_status tc_engine_adopt(struct tc_engine *e, const struct tc_finding *finding, bool *out_is_new)
{
    struct tc_verdict verdict;
    tc_arena_reset(&e->number);
    TC_TRY(tc_incidents_apply(&e->incidents, finding, e->ends ? TC_TIME_NONE : e->now_ns,
                              &e->number, &verdict, out_is_new));
    if (!*out_is_new) {
        e->counts.unchanged++;
        return TC_OK;
    }
    e->counts.verdicts++;
    return e->out.verdict(e->out.context, &verdict);
}

static tc_status emit(void *context, const struct tc_finding *finding)
{
    const struct slot *slot = context;
    struct tc_engine *e = slot->engine;
    bool is_new = false;
    if (e->out.finding != NULL) {
        return e->out.finding(e->out.context, finding);
    }
    return tc_engine_adopt(e, finding, &is_new);
}

static void index_kinds(struct tc_engine *e)
{
    for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < e->slot_count; i++) {
            struct slot *s = &e->slots[i];
            if (s->enabled && (s->detector->kinds & TC_EVENT_BIT(kind)) != 0) {
                e->wanted[kind][n++] = s;
            }
        }
        e->wanted[kind][n] = NULL;
        bool noted = (e->noted >> kind & 1) != 0;
        const struct slot *only = n == 1 && !noted ? e->wanted[kind][0] : NULL;
        e->lanes[kind] = only == NULL ? (struct lane){0}
                                      : (struct lane){
                                            .on_event = only->detector->on_event,
                                            .state = only->state,
                                            .sink = &only->sink,
                                            .base = only->state,
                                            .slot = only,
                                        };
    }
}

static tc_status start_slot(struct tc_engine *e, struct slot *s)
{
    const struct tc_detector *d = s->detector;
    struct tc_detector_env env = {
        .arena = &s->window,
        .directory = e->directory,
        .scratch = &e->scratch,
        .xids = &e->xids,
        .lag_ns = e->out.lag_ns,
        .scale = e->scale,
    };
    tc_arena_fini(&s->window);
    tc_block_clear(s->block);
    tc_arena_init_zeroed(&s->window, d->name, s->block->bytes, e->scale * d->arena_bytes);
    memset(s->state, 0, d->state_bytes);
    for (size_t i = 0; i < d->param_count; i++) {
        memcpy((char *)s->state + d->params[i].offset, &s->params[i], sizeof s->params[i]);
    }
    return tc_detector_init(d, s->state, &env);
}

static bool make_slot(struct tc_engine *e, const struct tc_detector *d)
{
    struct slot *s = &e->slots[e->slot_count++];
    *s = (struct slot){.detector = d, .enabled = true, .engine = e};
    s->sink = (struct tc_sink){emit, s};
    s->state = calloc(1, d->state_bytes);
    s->block = tc_block_new(e->scale * d->arena_bytes);
    if (s->state == NULL || s->block == NULL) {
        return false;
    }
    for (size_t i = 0; i < d->param_count; i++) {
        s->params[i] = d->params[i].value;
    }
    return true;
}

/* A power of two, as the sizes of rings are. */
static uint32_t scale_of(int64_t gpus)
{
    uint32_t scale = 1;
    while (scale < TC_ENGINE_GPUS_MAX / TC_ENGINE_GPUS && gpus > scale * (int64_t)TC_ENGINE_GPUS) {
        scale *= 2;
    }
    return scale;
}

tc_status tc_engine_create(const struct tc_engine_out *out, struct tc_engine **out_engine,
                           struct tc_error *err)
{
    struct tc_engine *e = calloc(1, sizeof *e);
    bool ok = e != NULL;
    if (ok) {
        e->out = *out;
        e->scale = scale_of(out->gpus);
        e->scratch_block = tc_block_new(SCRATCH_BYTES);
        e->number_block = tc_block_new(SCRATCH_BYTES / 4);
        e->incident_block = tc_block_new(e->scale * INCIDENT_ARENA_BYTES);
        e->directory = tc_directory_create(out->statements, e->scale);
        ok = e->scratch_block != NULL && e->number_block != NULL && e->incident_block != NULL &&
             e->directory != NULL &&
             (out->told_max == 0 ||
              tc_lru_init(&e->told, out->told_max, sizeof(struct tc_incident_told)));
    }
    if (ok) {
        e->noted = tc_directory_kinds(e->directory);
        tc_arena_init_zeroed(&e->scratch, "scratch", e->scratch_block->bytes, SCRATCH_BYTES);
        tc_arena_init_zeroed(&e->number, "number", e->number_block->bytes, SCRATCH_BYTES / 4);
        size_t count = 0;
        const struct tc_detector *const *all = tc_detectors(&count);
        for (size_t i = 0; ok && i < count && i < DETECTORS_MAX - 1; i++) {
            ok = make_slot(e, all[i]);
        }
    }
    if (!ok || tc_engine_reset(e) != TC_OK) {
        uint32_t scale = scale_of(out->gpus);
        tc_engine_destroy(e);
        return tc_fail(err, TC_E_NOMEM, 0,
                       "no memory for what detectors keep of %u GPUs (detection.gpus): some %u GiB "
                       "of address space, and pages as they are used",
                       scale * TC_ENGINE_GPUS, 1 + scale * 5 / 4);
    }
    *out_engine = e;
    return TC_OK;
}

void tc_engine_destroy(struct tc_engine *e)
{
    if (e == NULL) {
        return;
    }
    for (size_t i = 0; i < e->slot_count; i++) {
        tc_arena_fini(&e->slots[i].window);
        tc_block_free(e->slots[i].block);
        free(e->slots[i].state);
    }
    tc_arena_fini(&e->scratch);
    tc_arena_fini(&e->number);
    tc_arena_fini(&e->incident_arena);
    tc_block_free(e->scratch_block);
    tc_block_free(e->number_block);
    tc_block_free(e->incident_block);
    tc_lru_fini(&e->told);
    tc_directory_destroy(e->directory);
    free(e);
}

tc_status tc_engine_reset(struct tc_engine *e)
{
    tc_directory_reset(e->directory);
    tc_arena_fini(&e->incident_arena);
    tc_block_clear(e->incident_block);
    tc_arena_init_zeroed(&e->incident_arena, "incidents", e->incident_block->bytes,
                         e->scale * INCIDENT_ARENA_BYTES);
    tc_lru_reset(&e->told);
    if (!tc_incidents_init(&e->incidents, &e->incident_arena, e->scale * INCIDENT_BYTES,
                           e->out.told_max == 0 ? NULL : &e->told)) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < e->slot_count; i++) {
        tc_arena_reset(&e->scratch);
        TC_TRY(start_slot(e, &e->slots[i]));
    }
    index_kinds(e);
    e->counts = (struct tc_engine_counts){0};
    e->now_ns = TC_TIME_NONE;
    e->noted_ns = TC_TIME_NONE;
    e->sender = 0;
    e->ends = false;
    e->next_tick_ns = TC_TIME_NONE;
    return TC_OK;
}

static struct slot *slot_by_name(struct tc_engine *e, struct tc_slice name)
{
    for (size_t i = 0; i < e->slot_count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(e->slots[i].detector->name))) {
            return &e->slots[i];
        }
    }
    return NULL;
}

/* Fails with what was asked for and the names that exist. */
static tc_status no_such(struct tc_error *err, const char *what, struct tc_slice name,
                         const char *names)
{
    return tc_fail(err, TC_E_USAGE, 0, "%s \"%.*s\" does not exist; there are: %s", what,
                   TC_FMT(name), names);
}

static void list_patterns(const struct tc_engine *e, char *out, size_t size)
{
    struct tc_buf b = tc_buf_make(out, size - 1);
    for (size_t i = 0; i < e->slot_count; i++) {
        tc_buf_str(&b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_buf_str(&b, tc_slice_cstr(e->slots[i].detector->name));
    }
    out[b.len] = '\0';
}

tc_status tc_engine_enable(struct tc_engine *e, struct tc_slice name, bool on, struct tc_error *err)
{
    bool all = tc_slice_eq(name, TC_LIT("all"));
    struct slot *s = slot_by_name(e, name);
    if (s == NULL && !all) {
        char names[TC_ERROR_MESSAGE_MAX];
        list_patterns(e, names, sizeof names);
        return no_such(err, "pattern", name, names);
    }
    for (size_t i = 0; i < e->slot_count; i++) {
        if (all || &e->slots[i] == s) {
            e->slots[i].enabled = on;
        }
    }
    index_kinds(e);
    return TC_OK;
}

tc_status tc_engine_set_xids(struct tc_engine *e, struct tc_slice lines, struct tc_error *err)
{
    return tc_xid_list_read(lines, &e->xids, err);
}

tc_status tc_engine_set(struct tc_engine *e, struct tc_slice assignment, struct tc_error *err)
{
    struct tc_slice value;
    struct tc_slice path = tc_slice_cut(assignment, '=', &value);
    struct tc_slice key;
    struct tc_slice name = tc_slice_cut(path, '.', &key);
    struct slot *s = slot_by_name(e, name);
    char names[TC_ERROR_MESSAGE_MAX];
    if (path.len == assignment.len || key.len == 0 || path.len >= PATH_MAX_LEN) {
        return tc_fail(err, TC_E_USAGE, 0, "\"%.*s\" is not pattern.key=value", TC_FMT(assignment));
    }
    if (s == NULL) {
        list_patterns(e, names, sizeof names);
        return no_such(err, "pattern", name, names);
    }
    const struct tc_detector *d = s->detector;
    struct tc_buf list = tc_buf_make(names, sizeof names - 1);
    for (size_t i = 0; i < d->param_count; i++) {
        if (tc_slice_eq(key, tc_slice_cstr(d->params[i].name))) {
            char full[PATH_MAX_LEN];
            (void)snprintf(full, sizeof full, "%.*s", TC_FMT(path));
            TC_TRY(tc_param_parse(&d->params[i], full, value, &s->params[i], err));
            return start_slot(e, s);
        }
        tc_buf_str(&list, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_buf_str(&list, tc_slice_cstr(d->params[i].name));
    }
    names[list.len] = '\0';
    return no_such(err, "knob", path, names);
}

static TC_SELDOM tc_status tick(struct tc_engine *e, int64_t now_ns)
{
    int64_t next_ns = now_ns - now_ns % TICK_NS + TICK_NS;
    e->next_tick_ns = next_ns > TC_TIME_MAX ? TC_TIME_MAX + 1 : next_ns;
    if (now_ns < 0) {
        e->next_tick_ns = now_ns; /* undated events are few: each goes the long way */
    }
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (s->enabled) {
            tc_arena_reset(&e->scratch);
            TC_TRY(tc_detector_tick(s->detector, s->state, now_ns, &s->sink));
        }
    }
    return TC_OK;
}

tc_status tc_engine_tick(struct tc_engine *e)
{
    return e->now_ns == TC_TIME_NONE ? TC_OK : tick(e, e->now_ns);
}

tc_status tc_engine_advance(struct tc_engine *e, int64_t now_ns)
{
    if (now_ns <= e->now_ns || now_ns > TC_TIME_MAX) {
        return TC_OK;
    }
    e->now_ns = now_ns;
    return now_ns >= e->next_tick_ns ? tick(e, now_ns) : TC_OK;
}

/* Time passes for a detector, before what made it pass is handed over. */
static TC_SELDOM tc_status advance_slot(struct tc_engine *e, const struct slot *s, int64_t now_ns)
{
    tc_arena_reset(&e->scratch);
    return tc_detector_advance(s->detector, s->state, now_ns, &s->sink);
}

/* What is due is told with what was known until now. */
static TC_SELDOM tc_status advance_all(struct tc_engine *e, int64_t now_ns)
{
    e->noted_ns = now_ns;
    for (size_t i = 0; i < e->slot_count; i++) {
        if (e->slots[i].enabled && e->slots[i].detector->on_advance != NULL) {
            TC_TRY(advance_slot(e, &e->slots[i], now_ns));
        }
    }
    return TC_OK;
}

static tc_status note(struct tc_engine *e, const struct tc_event *ev)
{
    tc_directory_stand(e->directory, ev);
    if (tc_directory_is_known(e->directory, ev)) {
        return TC_OK;
    }
    if (ev->time_ns > e->noted_ns) {
        TC_TRY(advance_all(e, ev->time_ns));
    }
    tc_directory_note(e->directory, ev);
    return TC_OK;
}

static TC_SELDOM tc_status dispatch_all(struct tc_engine *e, const struct tc_event *ev)
{
    struct slot **wanted = e->wanted[ev->kind];
    struct tc_event renamed;
    if (ev->sender != e->sender) {
        e->sender = ev->sender;
        tc_directory_sender(e->directory, ev->sender);
    }
    struct tc_slice node = tc_directory_node(e->directory, ev->scope.node);
    if (node.ptr != ev->scope.node.ptr) {
        renamed = *ev;
        renamed.scope.node = node;
        ev = &renamed;
    }
    if ((e->noted >> ev->kind & 1) != 0) {
        TC_TRY(note(e, ev));
    }
    e->counts.wanted += *wanted != NULL;
    bool undated = tc_time_is_order(ev->time_ns);
    for (; *wanted != NULL; wanted++) {
        const struct slot *s = *wanted;
        if (undated && !s->detector->undated) {
            continue;
        }
        if (ev->time_ns > ((const struct tc_detector_base *)s->state)->now_ns) {
            TC_TRY(advance_slot(e, s, ev->time_ns));
        }
        tc_arena_reset(&e->scratch);
        ((struct tc_detector_base *)s->state)->sender = ev->sender;
        TC_TRY(s->detector->on_event(s->state, ev, &s->sink));
    }
    return TC_OK;
}

/* Most kinds have one detector: the call is the last thing that happens then. */
static inline tc_status dispatch(struct tc_engine *e, const struct tc_event *ev)
{
    const struct lane *lane = &e->lanes[ev->kind];
    if (lane->on_event == NULL) {
        return dispatch_all(e, ev);
    }
    e->counts.wanted++;
    if (ev->time_ns > lane->base->now_ns) {
        TC_TRY(advance_slot(e, lane->slot, ev->time_ns));
    }
    tc_arena_reset(&e->scratch);
    lane->base->sender = ev->sender;
    return lane->on_event(lane->state, ev, lane->sink);
}

/* Without a date, out of range, late, or a tick is due. */
static TC_SELDOM tc_status feed_odd(struct tc_engine *e, const struct tc_event *ev)
{
    if (ev->time_ns == TC_TIME_NONE) {
        e->counts.undated++;
    } else if (ev->time_ns < TC_TIME_UNDATED_MIN || ev->time_ns > TC_TIME_MAX) {
        e->counts.misdated++;
        return TC_OK;
    } else if (ev->time_ns < e->now_ns) {
        e->counts.late++;
    } else {
        e->now_ns = ev->time_ns;
        if (ev->time_ns >= e->next_tick_ns) {
            TC_TRY(tick(e, ev->time_ns));
        }
    }
    return tc_time_is_order(ev->time_ns) ? dispatch_all(e, ev) : dispatch(e, ev);
}

tc_status tc_engine_feed(struct tc_engine *e, const struct tc_event *ev)
{
    e->counts.events++;
    /* Once there was a date, now_ns is one: what is not before it has a date too. */
    if (ev->time_ns < e->now_ns || ev->time_ns >= e->next_tick_ns) {
        return feed_odd(e, ev);
    }
    e->now_ns = ev->time_ns;
    return dispatch(e, ev);
}

tc_status tc_engine_settle(struct tc_engine *e)
{
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        tc_arena_reset(&e->scratch);
        if (s->enabled && s->detector->on_settle != NULL) {
            TC_TRY(s->detector->on_settle(s->state, &s->sink));
        }
    }
    return TC_OK;
}

static tc_status finish_all(struct tc_engine *e, int64_t now_ns)
{
    for (size_t i = 0; i < e->slot_count; i++) {
        struct slot *s = &e->slots[i];
        if (s->enabled && now_ns != TC_TIME_NONE) {
            TC_TRY(advance_slot(e, s, e->now_ns));
        }
        tc_arena_reset(&e->scratch);
        if (s->enabled && s->detector->on_finish != NULL) {
            TC_TRY(s->detector->on_finish(s->state, now_ns, &s->sink));
        } else if (s->enabled && e->now_ns != TC_TIME_NONE) {
            TC_TRY(tc_detector_tick(s->detector, s->state, e->now_ns, &s->sink));
        }
    }
    return TC_OK;
}

tc_status tc_engine_finish(struct tc_engine *e, int64_t now_ns)
{
    if (now_ns > e->now_ns && now_ns <= TC_TIME_MAX) {
        e->now_ns = now_ns;
    }
    e->ends = true;
    tc_status status = finish_all(e, now_ns);
    e->ends = false;
    return status;
}

bool tc_engine_is_enabled(const struct tc_engine *e, size_t index)
{
    return index < e->slot_count && e->slots[index].enabled;
}

int64_t tc_engine_now(const struct tc_engine *e)
{
    return e->now_ns;
}

tc_status tc_engine_keep_room(struct tc_engine *e, const struct tc_turn *turn)
{
    return tc_directory_keep_room(e->directory, turn);
}

const struct tc_directory *tc_engine_directory(const struct tc_engine *e)
{
    return e->directory;
}

struct tc_incidents *tc_engine_incidents(struct tc_engine *e)
{
    return &e->incidents;
}

void tc_engine_counts(const struct tc_engine *e, struct tc_engine_counts *out)
{
    *out = e->counts;
}

void tc_engine_detector_stats(const struct tc_engine *e, size_t index,
                              struct tc_detector_stats *out)
{
    *out = (struct tc_detector_stats){0};
    if (index < e->slot_count) {
        tc_detector_stats(e->slots[index].detector, e->slots[index].state, out);
    }
}

size_t tc_engine_detector_budget(const struct tc_engine *e, size_t index)
{
    if (index >= e->slot_count) {
        return 0;
    }
    const struct tc_detector *d = e->slots[index].detector;
    return e->scale * d->arena_bytes + d->state_bytes;
}

uint32_t tc_engine_detector_presser(const struct tc_engine *e, size_t index)
{
    return index < e->slot_count ? tc_detector_presser(e->slots[index].state) : 0;
}
