/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/detect/stored.h"

#include "base/table/grow.h"
#include "base/time.h"
#include "cli/output/say.h"

#include <stdlib.h>

/* What may belong to an incident that is shown began so long before. */
#define BEFORE_NS (3600 * TC_SECOND)
#define DIGESTS_MAX ((size_t)1 << 20)

struct tc_stored_digest {
    uint32_t source;
    char text[TC_DIGEST_TEXT_MAX];
};

bool tc_stored_open(struct tc_stored *s, const char *command, const char *data_dir,
                    int64_t since_ns, size_t memory_bytes)
{
    struct tc_error err = {0};
    char dir[TC_DATA_PATH_BYTES + 16];
    if (!tc_data_dir_of(command, data_dir, s->dir)) {
        return false;
    }
    (void)snprintf(dir, sizeof dir, "%s/evidence", s->dir);
    bool all = since_ns == TC_TIME_NONE || since_ns < BEFORE_NS;
    struct tc_ordered_want want = {
        .evidence_dir = dir,
        .from_ns = all ? 0 : since_ns - BEFORE_NS,
        .to_ns = TC_TIME_MAX,
        .arrived_from_ns = {all ? 0 : since_ns - BEFORE_NS, INT64_MAX},
        .arrived_to_ns = {INT64_MAX, INT64_MIN},
        .ahead_ns = TC_SECOND,
        .memory_bytes = memory_bytes,
        .undated = true,
    };
    if (tc_ordered_create(&want, &s->ordered, &err) != TC_OK ||
        tc_evidence_open(dir, &s->evidence, &err) != TC_OK) {
        tc_say(command, "%s", err.message);
        return false;
    }
    return true;
}

void tc_stored_close(struct tc_stored *s)
{
    tc_ordered_destroy(s->ordered);
    tc_evidence_close(s->evidence);
    free(s->digests);
}

/* The digest of a batch, made once; NULL when it cannot be read. */
static const struct tc_stored_digest *find_digest(struct tc_stored *s, uint32_t source)
{
    struct tc_error err;
    struct tc_slice body;
    struct tc_digest digest;
    for (size_t i = 0; i < s->digest_count; i++) {
        if (s->digests[i].source == source) {
            return &s->digests[i];
        }
    }
    uint64_t number = tc_ordered_batch(s->ordered, source);
    if (tc_evidence_body(s->evidence, number, &body, &err) != TC_OK ||
        tc_digest_sha256(body, &digest) != TC_OK ||
        tc_grow_items(s->digests, s->digest_cap, s->digest_count + 1, DIGESTS_MAX) != TC_OK) {
        return NULL;
    }
    struct tc_stored_digest *d = &s->digests[s->digest_count++];
    struct tc_buf b = tc_buf_make(d->text, sizeof d->text);
    d->source = source;
    tc_buf_digest(&b, &digest);
    return d;
}

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    struct tc_stored *s = context;
    const struct tc_stored_digest *d = find_digest(s, index);
    if (d == NULL) {
        return false;
    }
    *out = (struct tc_source_view){.digest = tc_slice_make(d->text, TC_DIGEST_TEXT_MAX),
                                   .store = tc_slice_cstr(s->dir)};
    return true;
}

struct tc_sources tc_stored_sources(struct tc_stored *s)
{
    return (struct tc_sources){view, s};
}
