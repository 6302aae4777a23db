/* SPDX-License-Identifier: Apache-2.0 */
#include "object_store/reader.h"

#include "base/time.h"
#include "object_store/s3.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Somebody waits for the answer. */
#define TIMEOUT (10 * TC_SECOND)

struct reader {
    struct tc_remote_place place;
    struct tc_s3_location location;
    char name[TC_S3_BUCKET_MAX + TC_S3_PREFIX_MAX + 8];
    struct tc_s3 *s3; /* NULL: nothing was fetched yet */
    void (*say)(const char *line);
};

/* A file without a name, where such files are kept. */
static int open_temporary(void)
{
    const char *const folders[] = {secure_getenv("TMPDIR"), "/var/tmp", "/tmp"};
    int fd = -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && fd < 0; i++) {
        if (folders[i] != NULL) {
            fd = open(folders[i], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        }
    }
    return fd;
}

static tc_status connect_to(struct reader *r, struct tc_error *err)
{
    struct tc_s3_config config = {
        .location = r->location,
        .credentials_file = r->place.credentials,
        .timeout_ns = TIMEOUT,
        .part_bytes = TC_S3_PART_MIN,
        .stop_fd = -1,
    };
    return r->s3 != NULL ? TC_OK : tc_s3_create(&config, &r->s3, err);
}

static tc_status fetch(void *context, const struct tc_object_info *info, int *out_fd,
                       struct tc_error *err)
{
    struct reader *r = context;
    struct tc_error why = {0};
    char digest[TC_DIGEST_TEXT];
    int fd = open_temporary();
    tc_digest_text(&info->digest, digest);
    if (fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot make a temporary file for an object: %s",
                       strerror(errno));
    }
    if (r->say != NULL) {
        char line[512];
        (void)snprintf(line, sizeof line, "fetching %s from %s: %" PRIu64 " bytes", digest, r->name,
                       info->disk_bytes);
        r->say(line);
    }
    tc_status status = connect_to(r, &why);
    status = status == TC_OK ? tc_s3_get(r->s3, &info->digest, info->disk_bytes, fd, &why) : status;
    if (status == TC_OK) {
        *out_fd = fd;
        return TC_OK;
    }
    (void)close(fd);
    /* The index has it: that it is nowhere is damage. */
    bool is_damage = status == TC_E_NOTFOUND || status == TC_E_MALFORMED;
    return tc_fail(err, is_damage ? TC_E_MALFORMED : TC_E_AGAIN, 0,
                   "object %.23s, which is in the object store alone, cannot be fetched: %s",
                   digest, why.message);
}

static void destroy(void *context)
{
    struct reader *r = context;
    tc_s3_destroy(r->s3);
    free(r);
}

tc_status tc_object_store_attach(struct tc_evidence *e, const char *dir,
                                 void (*say)(const char *line), struct tc_error *err)
{
    struct reader *r = calloc(1, sizeof *r);
    struct tc_error why = {0};
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read evidence");
    }
    tc_status status = tc_remote_place_read(dir, &r->place, err);
    if (status == TC_OK) {
        status = tc_s3_location_read(tc_slice_cstr(r->place.url), &r->location, &why);
        if (status != TC_OK) {
            (void)tc_fail(err, status, 0, "%s/remote: %s", dir, why.message);
        }
    }
    if (status != TC_OK) {
        free(r);
        return status == TC_E_NOTFOUND ? TC_OK : status;
    }
    r->say = say;
    (void)snprintf(r->name, sizeof r->name, "s3://%s/%s", r->location.bucket, r->location.prefix);
    size_t len = strlen(r->name);
    r->name[len - 1] = '\0'; /* without the slash at its end */
    tc_evidence_fetch_from(e,
                           &(struct tc_evidence_remote){
                               .fetch = fetch, .destroy = destroy, .context = r, .name = r->name});
    return TC_OK;
}
