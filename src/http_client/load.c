/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/curl_priv.h"

#include "base/os/library.h"
#include "base/slice.h"

#include <pthread.h>
#include <stdbool.h>

#define LIBRARY "libcurl.so.4"

static const char *const FUNCTIONS[] = {
#define FUNCTION(name) "curl_" #name,
#include "http_client/functions.def"
#undef FUNCTION
};

/* Set once, under the lock; read by all afterwards. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tc__curl loaded_curl;
static bool loaded;

static tc_status load(struct tc_error *err)
{
    struct tc_error why;
    struct tc__curl curl;
    void *library = tc_library_open(LIBRARY, &why);
    if (library == NULL) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "cannot load libcurl: %s; the package libcurl4 has it", why.message);
    }
    const char *missing = tc_library_bind(library, FUNCTIONS, TC_COUNT(FUNCTIONS), &curl);
    if (missing != NULL || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        tc_library_close(library);
        return tc_fail(err, TC_E_UNSUPPORTED, 0, "%s: %s%s; 7.85 or newer is wanted", LIBRARY,
                       missing == NULL ? "cannot be set up" : "has no ",
                       missing == NULL ? "" : missing);
    }
    loaded_curl = curl;
    loaded = true;
    return TC_OK;
}

tc_status tc__curl_load(const struct tc__curl **out, struct tc_error *err)
{
    (void)pthread_mutex_lock(&load_lock);
    tc_status status = loaded ? TC_OK : load(err);
    (void)pthread_mutex_unlock(&load_lock);
    if (status == TC_OK) {
        *out = &loaded_curl;
    }
    return status;
}
