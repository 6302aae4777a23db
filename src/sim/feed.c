/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a fleet, merged by time. */
#include "sim/feed_priv.h"

#include <stdlib.h>

/* A scrape of sixteen GPUs is the largest element. */
#define ITEM_BYTES ((size_t)1 << 20)

struct source {
    const struct sim_source_type *type; /* NULL: a dump */
    void *state;                        /* of the type */
    int64_t at_ns;                      /* of its next step */
    size_t file;
};

/* heap: numbers of sources, the one that is next first; those of equal times by number. */
struct tc_sim_feed {
    const struct tc_sim *sim;
    enum tc_sim_form form;
    bool in_request; /* the element is written as a request */
    struct sim_list sources;
    uint32_t *heap;
    size_t heap_count;
    int64_t now_ns; /* time does not go back */
    struct tc_buf b;
    struct tc_sim_item item;
    tc_sim_item_fn take;
    void *context;
    tc_status status;
    char text[ITEM_BYTES];
};

static struct source *source_at(const struct tc_sim_feed *f, size_t i)
{
    return SIM_AT(f->sources, struct source, i);
}

/* ---- the order ----------------------------------------------------------------------------- */

static bool is_before(const struct tc_sim_feed *f, uint32_t a, uint32_t b)
{
    int64_t x = source_at(f, a)->at_ns;
    int64_t y = source_at(f, b)->at_ns;
    return x < y || (x == y && a < b);
}

static void sink_down(struct tc_sim_feed *f, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < f->heap_count; child++) {
            least = is_before(f, f->heap[child], f->heap[least]) ? child : least;
        }
        if (least == i) {
            return;
        }
        uint32_t number = f->heap[i];
        f->heap[i] = f->heap[least];
        f->heap[least] = number;
        i = least;
    }
}

/* ---- the sources --------------------------------------------------------------------------- */

/* When a rank's dump is written: one after the other, as the files appear. */
static int64_t dump_time(const struct tc_sim *s, const struct sim_file *file)
{
    const struct sim_job *j = tc__sim_job(s, file->which);
    int64_t at_ns = j->stop_ns + (j->live_dump ? 0 : j->watchdog_ns) + file->rank * SIM_MS;
    return at_ns < s->end_ns ? at_ns : s->end_ns - 1;
}

static bool open_source(struct source *src, const struct tc_sim *s, const struct sim_file *file)
{
    static const struct sim_source_type *const types[] = {
        [SIM_FILE_STREAM] = &tc__sim_stream_source,
        [SIM_FILE_KERNEL] = &tc__sim_kernel_source,
        [SIM_FILE_DCGM] = &tc__sim_exporter_source,
        [SIM_FILE_TRAIN] = &tc__sim_train_source,
    };
    if (file->kind == SIM_FILE_DUMP) {
        src->at_ns = dump_time(s, file);
        return true;
    }
    src->type = types[file->kind];
    src->state = malloc(src->type->size);
    if (src->state == NULL || !src->type->begin(src->state, s, file->which)) {
        return false;
    }
    src->at_ns = *(const int64_t *)src->state;
    return true;
}

static bool open_all(struct tc_sim_feed *f)
{
    const struct tc_sim *s = f->sim;
    for (size_t i = 0; i < s->files.count; i++) {
        const struct sim_file *file = SIM_AT(s->files, struct sim_file, i);
        if (file->kind == SIM_FILE_TRUTH) {
            continue;
        }
        struct source *src = tc__sim_add(&f->sources, sizeof *src);
        if (src == NULL || !open_source(src, s, file)) {
            return false;
        }
        src->file = i;
    }
    f->heap = calloc(f->sources.count + 1, sizeof *f->heap);
    if (f->heap == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < f->sources.count; i++) {
        if (source_at(f, i)->at_ns != TC_TIME_MAX) {
            f->heap[f->heap_count++] = i;
        }
    }
    for (size_t i = f->heap_count; i > 0; i--) {
        sink_down(f, i - 1);
    }
    return true;
}

struct tc_sim_feed *tc_sim_feed_create(const struct tc_sim *s, enum tc_sim_form form)
{
    struct tc_sim_feed *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->sim = s;
    f->form = form;
    f->now_ns = s->options.start_ns;
    if (!open_all(f)) {
        tc_sim_feed_destroy(f);
        return NULL;
    }
    return f;
}

void tc_sim_feed_destroy(struct tc_sim_feed *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->sources.count; i++) {
        struct source *src = source_at(f, i);
        if (src->state != NULL && src->type->end != NULL) {
            src->type->end(src->state);
        }
        free(src->state);
    }
    free(f->sources.items);
    free(f->heap);
    free(f);
}

/* ---- steps --------------------------------------------------------------------------------- */

int64_t tc_sim_feed_time(const struct tc_sim_feed *f)
{
    if (f->heap_count == 0) {
        return TC_TIME_MAX;
    }
    int64_t at_ns = source_at(f, f->heap[0])->at_ns;
    return at_ns > f->now_ns ? at_ns : f->now_ns;
}

static struct tc_buf *begin_item(void *context)
{
    struct tc_sim_feed *f = context;
    f->b = tc_buf_make(f->text, sizeof f->text);
    tc_buf_str(&f->b, f->in_request ? TC_LIT(SIM_REQUEST_BEGIN) : TC_EMPTY);
    return f->status == TC_OK ? &f->b : NULL;
}

static void end_item(void *context, uint32_t records)
{
    struct tc_sim_feed *f = context;
    tc_buf_str(&f->b, f->in_request ? TC_LIT(SIM_REQUEST_END) : TC_EMPTY);
    f->item.text = tc_buf_slice(&f->b);
    f->item.records = records;
    if (f->b.overflowed) {
        f->status = TC_E_LIMIT;
    } else if (records > 0) {
        f->status = f->take(f->context, &f->item);
    }
}

tc_status tc_sim_feed_next(struct tc_sim_feed *f, tc_sim_item_fn take, void *context)
{
    if (f->heap_count == 0) {
        return TC_OK;
    }
    struct source *src = source_at(f, f->heap[0]);
    struct sim_sink sink = {begin_item, end_item, f};
    f->now_ns = tc_sim_feed_time(f);
    f->take = take;
    f->context = context;
    f->status = TC_OK;
    f->item = (struct tc_sim_item){.signal = TC_SIM_DUMP, .at_ns = f->now_ns, .file = src->file};
    if (src->type == NULL) {
        f->status = take(context, &f->item);
        src->at_ns = TC_TIME_MAX;
    } else {
        bool as_file = f->form == TC_SIM_AS_FILES && src->type->step_file != NULL;
        f->item.signal = src->type->signal;
        f->in_request = f->form == TC_SIM_AS_FILES && !as_file;
        (as_file ? src->type->step_file : src->type->step)(src->state, &sink);
        src->at_ns = *(const int64_t *)src->state;
    }
    if (src->at_ns == TC_TIME_MAX) {
        f->heap[0] = f->heap[--f->heap_count];
    }
    sink_down(f, 0);
    return f->status;
}
