/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/data.h"

#include "base/time.h"
#include "cli/output/say.h"
#include "evidence/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

/* How long another command that has the database open is waited for. */
#define WAIT_NS (20 * TC_SECOND)

bool tc_data_dir_of(const char *command, const char *given, char out[TC_DATA_PATH_BYTES])
{
    if (given != NULL && strlen(given) < TC_DATA_PATH_BYTES) {
        (void)snprintf(out, TC_DATA_PATH_BYTES, "%s", given);
        return true;
    }
    if (given == NULL && tc_data_dir_default(out, TC_DATA_PATH_BYTES)) {
        return true;
    }
    tc_say(command, "%s",
           given != NULL ? "--data-dir: the path is too long"
                         : "where is the data? give --data-dir DIR; neither TRACECORE_DATA_DIR "
                           "nor HOME is set");
    return false;
}

static void say_wait(void *context, const char *text)
{
    tc_say(context, "%s", text);
}

struct tc_warehouse_config tc_data_config(const char *command, const char *dir,
                                          enum tc_warehouse_mode mode)
{
    struct tc_warehouse_config config = {.data_dir = dir,
                                         .url = secure_getenv(TC_WAREHOUSE_URL_VARIABLE),
                                         .mode = mode,
                                         .wait_ns = WAIT_NS,
                                         .says = say_wait};
    memcpy(&config.says_context, &command, sizeof command); /* it is only read */
    return config;
}

bool tc_data_is_elsewhere(const char *command, const char *why)
{
    const char *url = secure_getenv(TC_WAREHOUSE_URL_VARIABLE);
    if (url == NULL || url[0] == '\0') {
        return false;
    }
    tc_say(command, "%s; " TC_WAREHOUSE_URL_VARIABLE " names one in ClickHouse", why);
    return true;
}

tc_status tc_data_lock(const char *dir, const char *what, int *out_fd, struct tc_error *err)
{
    char path[TC_DATA_PATH_BYTES + 8];
    (void)snprintf(path, sizeof path, "%s/LOCK", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
    }
    *out_fd = fd;
    return flock(fd, LOCK_EX | LOCK_NB) == 0
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0,
                         "%s: a daemon serves this data_dir, or another %s is at work; stop it "
                         "first, nothing was changed",
                         dir, what);
}

struct tc_warehouse *tc_data_open(const char *command, const char *dir, enum tc_warehouse_mode mode)
{
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    struct tc_warehouse_config config = tc_data_config(command, dir, mode);
    tc_status status = tc_warehouse_open(&config, &w, &err);
    if (status == TC_E_NOTFOUND && (config.url == NULL || config.url[0] == '\0')) {
        tc_say(command,
               "there are no runs in %s yet; add one with `tracecore run add`, or name another "
               "--data-dir",
               dir);
    } else if (status != TC_OK) {
        tc_say(command, "%s", err.message);
    }
    return status == TC_OK ? w : NULL;
}
