/* SPDX-License-Identifier: Apache-2.0 */
#include "server/shipper.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/time.h"
#include "config/config.h"
#include "evidence/ship.h"
#include "object_store/s3.h"
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* As the thread that seals: hashing gives way to whoever wants the core. */
#define NICENESS 19
/* How often it looks whether an object waits. */
#define LOOK_NS TC_SECOND
/* After failures: the first wait, which doubles, and the longest. */
#define BACKOFF_MIN_NS TC_SECOND
#define BACKOFF_MAX_NS (30 * TC_SECOND)
/* An object has its line shortly before its name: so often it is looked for. */
#define MISSING_MAX 10

struct tc_shipper {
    struct tc_store *store;
    struct tc_s3_config config;
    pthread_t thread;
    int stop_fd; /* readable: it is to end */
    pthread_mutex_t lock;
    struct tc_shipper_stats stats; /* under the lock */
    /* The thread's own from here on. */
    struct tc_s3 *s3;   /* NULL: not connected yet, or not since the last failure */
    uint64_t skipped;   /* number of the last object that cannot be sent; 0: none */
    unsigned missing;   /* looks at which the file was not there */
    int64_t backoff_ns; /* 0: the last attempt was good */
};

/* False at the end. */
static bool sleep_for(struct tc_shipper *s, int64_t ns)
{
    struct pollfd stop = {.fd = s->stop_fd, .events = POLLIN};
    int rc = 0;
    do {
        rc = poll(&stop, 1, (int)(ns / 1000000));
    } while (rc < 0 && errno == EINTR);
    return rc == 0;
}

static void note_level(struct tc_shipper *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool was_failing = s->stats.failing_ns != 0;
    s->stats.level_ns = tc_wall_ns();
    s->stats.failing_ns = 0;
    (void)pthread_mutex_unlock(&s->lock);
    s->backoff_ns = 0;
    if (was_failing) {
        tc_log(TC_LOG_INFO, "the object store takes evidence again", NULL, 0);
    }
}

/* It is tried again and again: a failure is logged when it begins and when it changes. */
static void note_failure(struct tc_shipper *s, const struct tc_object_info *info,
                         const struct tc_error *why)
{
    char digest[TC_DIGEST_TEXT];
    struct tc_store_stats store;
    (void)pthread_mutex_lock(&s->lock);
    bool is_new = s->stats.failing_ns == 0 || strcmp(s->stats.why.message, why->message) != 0;
    s->stats.failures++;
    s->stats.failing_ns = s->stats.failing_ns == 0 ? tc_wall_ns() : s->stats.failing_ns;
    s->stats.why = *why;
    (void)pthread_mutex_unlock(&s->lock);
    s->backoff_ns = s->backoff_ns == 0                   ? BACKOFF_MIN_NS
                    : s->backoff_ns < BACKOFF_MAX_NS / 2 ? 2 * s->backoff_ns
                                                         : BACKOFF_MAX_NS;
    if (is_new) {
        tc_digest_text(&info->digest, digest);
        tc_store_stats(s->store, &store);
        tc_log_fields(TC_LOG_ERROR,
                      "evidence could not be copied to evidence.remote; it is tried again",
                      TC_LOG_CSTR("object", digest),
                      TC_LOG_NUMBER("waiting_objects", (int64_t)store.unshipped),
                      TC_LOG_CSTR("error", why->message));
    }
}

/* An object that is not what it should be would stop all that come after it. */
static void skip(struct tc_shipper *s, const struct tc_object_info *info, const char *path,
                 const char *why)
{
    s->skipped = info->first;
    s->missing = 0;
    (void)pthread_mutex_lock(&s->lock);
    s->stats.failures++;
    (void)pthread_mutex_unlock(&s->lock);
    tc_log_fields(TC_LOG_ERROR,
                  "an object of evidence is left out until the next start: it is not copied",
                  TC_LOG_CSTR("file", path), TC_LOG_CSTR("error", why));
}

static tc_status send_file(struct tc_shipper *s, const struct tc_object_info *info, int fd,
                           struct tc_error *err)
{
    if (s->s3 == NULL) {
        TC_TRY(tc_s3_create(&s->config, &s->s3, err));
    }
    TC_TRY(tc_s3_put(s->s3, &info->digest, fd, info->disk_bytes, err));
    return tc_store_mark_shipped(s->store, info, err);
}

/* One object. How long to wait before the next. */
static int64_t ship(struct tc_shipper *s, const struct tc_object_info *info, const char *path)
{
    struct tc_error err = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT || ++s->missing > MISSING_MAX) {
            skip(s, info, path, strerror(errno));
        }
        return LOOK_NS;
    }
    s->missing = 0;
    tc_status status = send_file(s, info, fd, &err);
    (void)close(fd);
    if (status == TC_OK) {
        note_level(s);
        return 0;
    }
    if (status == TC_E_MALFORMED) {
        skip(s, info, path, err.message);
        return 0;
    }
    if (sleep_for(s, 0)) { /* not because it is to end */
        note_failure(s, info, &err);
    }
    return s->backoff_ns;
}

static void *run(void *context)
{
    struct tc_shipper *s = context;
    int64_t wait_ns = 0;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    while (sleep_for(s, wait_ns)) {
        struct tc_object_info info;
        struct tc_error err = {0};
        char path[TC_STORE_PATH_BYTES];
        bool any = false;
        tc_status status = tc_store_unshipped(s->store, s->skipped, &info, path, &any, &err);
        if (status != TC_OK) {
            note_failure(s, &(struct tc_object_info){0}, &err);
            wait_ns = s->backoff_ns;
        } else if (any) {
            wait_ns = ship(s, &info, path);
        } else {
            note_level(s);
            wait_ns = LOOK_NS;
        }
    }
    tc_s3_destroy(s->s3);
    return NULL;
}

static enum tc_s3_lock lock_of(const char *choice)
{
    return strcmp(choice, "governance") == 0   ? TC_S3_LOCK_GOVERNANCE
           : strcmp(choice, "compliance") == 0 ? TC_S3_LOCK_COMPLIANCE
                                               : TC_S3_LOCK_NONE;
}

static tc_status set_up(struct tc_shipper *s, const struct tc_config *c, struct tc_error *err)
{
    struct tc_error why = {0};
    s->config = (struct tc_s3_config){
        .credentials_file = c->evidence_remote_credentials_file,
        .timeout_ns = c->evidence_remote_timeout,
        .part_bytes = c->evidence_remote_part_bytes,
        .lock = lock_of(c->evidence_remote_lock),
        .retain_ns = c->evidence_remote_retain,
        .legal_hold = c->evidence_remote_legal_hold,
        .stop_fd = s->stop_fd,
    };
    if (tc_s3_location_read(tc_slice_cstr(c->evidence_remote), &s->config.location, &why) !=
        TC_OK) {
        return tc_fail(err, TC_E_USAGE, 0, "evidence.remote: %s", why.message);
    }
    s->stats.level_ns = tc_wall_ns();
    if (s->stop_fd < 0 || pthread_create(&s->thread, NULL, run, s) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "the thread that copies evidence cannot be started");
    }
    return TC_OK;
}

tc_status tc_shipper_create(struct tc_store *store, const struct tc_config *config,
                            struct tc_shipper **out_shipper, struct tc_error *err)
{
    struct tc_shipper *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that copies evidence");
    }
    s->store = store;
    s->stop_fd = eventfd(0, EFD_CLOEXEC);
    (void)pthread_mutex_init(&s->lock, NULL);
    tc_status status = set_up(s, config, err);
    if (status != TC_OK) {
        if (s->stop_fd >= 0) {
            (void)close(s->stop_fd);
        }
        (void)pthread_mutex_destroy(&s->lock);
        free(s);
        return status;
    }
    *out_shipper = s;
    return TC_OK;
}

void tc_shipper_destroy(struct tc_shipper *s)
{
    if (s == NULL) {
        return;
    }
    TC_ASSERT(eventfd_write(s->stop_fd, 1) == 0);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->stop_fd);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

void tc_shipper_stats(struct tc_shipper *s, struct tc_shipper_stats *out)
{
    (void)pthread_mutex_lock(&s->lock);
    *out = s->stats;
    (void)pthread_mutex_unlock(&s->lock);
}
