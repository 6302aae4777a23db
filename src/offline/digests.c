/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/digests.h"

#include "base/digest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What is hashed between two looks at whether it is still wanted, and given back at once. */
#define STEP_BYTES ((size_t)2 << 20)
/* One event of these is enough for a verdict. */
#define FAULTS                                                                                    \
    (TC_EVENT_BIT(TC_EVENT_XID) | TC_EVENT_BIT(TC_EVENT_SXID) | TC_EVENT_BIT(TC_EVENT_OOM_KILL) | \
     TC_EVENT_BIT(TC_EVENT_MEMORY_ERROR) | TC_EVENT_BIT(TC_EVENT_STORAGE_ERROR) |                 \
     TC_EVENT_BIT(TC_EVENT_STUCK_TASK))

/* One input, by its number as a source. */
struct file {
    atomic_bool asked;
    atomic_bool dropped; /* nobody cites it */
    bool made;           /* by the thread; read when that has ended */
    struct tc_digest digest;
};

/*
 * Invariants: queue[0..count) are the files that were asked for, each once, and the thread has
 * taken those before `taken`. The mutex guards count, closed, and the start of the thread.
 */
struct tc_digests {
    struct tc_inputs *in;
    struct file *files;
    uint32_t *queue;
    size_t count;
    size_t taken;
    bool started;
    bool closed; /* nothing more is asked for */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

struct tc_digests *tc_digests_create(struct tc_inputs *in)
{
    struct tc_digests *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    d->in = in;
    d->files = calloc(in->count + 1, sizeof *d->files);
    d->queue = calloc(in->count + 1, sizeof *d->queue);
    if (d->files == NULL || d->queue == NULL || pthread_mutex_init(&d->mutex, NULL) != 0) {
        free(d->files);
        free(d->queue);
        free(d);
        return NULL;
    }
    if (pthread_cond_init(&d->changed, NULL) != 0) {
        (void)pthread_mutex_destroy(&d->mutex);
        free(d->files);
        free(d->queue);
        free(d);
        return NULL;
    }
    return d;
}

/* Who holds the bytes and the digest; NULL for members of archives, whose digest is the archive's,
 * and for what is small. */
static struct tc_input *holder_of(const struct tc_digests *d, uint32_t source)
{
    struct tc_input *in = &d->in->items[source];
    in = in->shared ? in->container : in;
    return in->container == NULL && in->mapped && in->bytes.len >= TC_DIGESTS_LEAST ? in : NULL;
}

static void hash_file(struct file *f, const struct tc_input *in)
{
    struct tc_sha256 hash;
    tc_sha256_init(&hash);
    for (size_t at = 0; at < in->bytes.len; at += STEP_BYTES) {
        if (atomic_load_explicit(&f->dropped, memory_order_relaxed)) {
            return;
        }
        struct tc_slice step = tc_slice_head(tc_slice_from(in->bytes, at), STEP_BYTES);
        tc_sha256_update(&hash, step);
        /* The mapping is the input's own; who looks there again reads the file again. */
        (void)madvise((void *)(uintptr_t)step.ptr, step.len, MADV_DONTNEED);
    }
    tc_sha256_final(&hash, &f->digest);
    f->made = true;
}

static void *run(void *context)
{
    struct tc_digests *d = context;
    (void)pthread_mutex_lock(&d->mutex);
    for (;;) {
        while (d->taken == d->count && !d->closed) {
            (void)pthread_cond_wait(&d->changed, &d->mutex);
        }
        if (d->taken == d->count) {
            break;
        }
        uint32_t source = d->queue[d->taken++];
        (void)pthread_mutex_unlock(&d->mutex);
        hash_file(&d->files[source], holder_of(d, source));
        (void)pthread_mutex_lock(&d->mutex);
    }
    (void)pthread_mutex_unlock(&d->mutex);
    return NULL;
}

void tc_digests_note(struct tc_digests *d, const struct tc_event *ev)
{
    uint32_t source = ev->raw.source;
    if ((TC_EVENT_BIT(ev->kind) & FAULTS) == 0 || source >= d->in->count ||
        atomic_exchange(&d->files[source].asked, true) || holder_of(d, source) == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&d->mutex);
    d->started = d->started || pthread_create(&d->thread, NULL, run, d) == 0;
    if (d->started && !d->closed) {
        d->queue[d->count++] = source;
        (void)pthread_cond_signal(&d->changed);
    }
    (void)pthread_mutex_unlock(&d->mutex);
}

static void end_thread(struct tc_digests *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    d->closed = true;
    (void)pthread_cond_signal(&d->changed);
    (void)pthread_mutex_unlock(&d->mutex);
    if (d->started) {
        (void)pthread_join(d->thread, NULL);
        d->started = false;
    }
}

static void drop_uncited(struct tc_digests *d, const struct tc_incident_table *verdicts)
{
    for (size_t i = 0; i < d->in->count; i++) {
        atomic_store(&d->files[i].dropped, true);
    }
    for (size_t i = 0; verdicts != NULL && i < verdicts->count; i++) {
        const struct tc_finding *f = &verdicts->items[i].finding;
        for (size_t k = 0; k < f->evidence_count; k++) {
            if (f->evidence[k].raw.source < d->in->count) {
                atomic_store(&d->files[f->evidence[k].raw.source].dropped, false);
            }
        }
    }
}

void tc_digests_finish(struct tc_digests *d, const struct tc_incident_table *verdicts)
{
    drop_uncited(d, verdicts);
    end_thread(d);
    for (size_t i = 0; i < d->count; i++) {
        const struct file *f = &d->files[d->queue[i]];
        struct tc_input *in = holder_of(d, d->queue[i]);
        /* Zeros in place of what is gone have a digest too, but not the file's. */
        if (f->made && !in->has_digest && !tc_input_shrunk(in)) {
            struct tc_buf b = tc_buf_make(in->digest, sizeof in->digest);
            tc_buf_digest(&b, &f->digest);
            in->has_digest = true;
        }
    }
}

void tc_digests_destroy(struct tc_digests *d)
{
    if (d == NULL) {
        return;
    }
    drop_uncited(d, NULL);
    end_thread(d);
    (void)pthread_cond_destroy(&d->changed);
    (void)pthread_mutex_destroy(&d->mutex);
    free(d->files);
    free(d->queue);
    free(d);
}
