/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/duckdb/load_priv.h"

#include "base/os/library.h"
#include "warehouse/warehouse.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libduckdb.so"
#define MAJOR "v1."
#define VARIABLE TC_WAREHOUSE_LIBRARY_VARIABLE

/* Set once, under the lock; read by all afterwards. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tc__duckdb_api loaded_api;
static bool loaded;
static void *loaded_library;

/* Beside the program: where it is installed (bin/ and lib/), and where the build puts it. */
static const char *const BESIDE[] = {"../lib/tracecore/" LIBRARY, "lib/tracecore/" LIBRARY};

/* The folder of the program's own file, with a slash at its end; empty when it is not known. */
static void find_program(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size - 1);
    out[len < 0 ? 0 : len] = '\0';
    char *slash = strrchr(out, '/');
    out[slash == NULL ? 0 : slash - out + 1] = '\0';
}

/* from: " from somewhere", or empty. */
static void *open_file(const char *path, const char *from, struct tc_error *err)
{
    struct tc_error why;
    void *library = tc_library_open(path, &why);
    if (library == NULL) {
        (void)tc_fail(err, TC_E_UNSUPPORTED, 0, "cannot load DuckDB%s: %s", from, why.message);
    }
    return library;
}

static void *find_library(struct tc_error *err)
{
    char folder[PATH_MAX];
    char path[PATH_MAX + sizeof "../lib/tracecore/" LIBRARY];
    const char *given = getenv(VARIABLE);
    if (given != NULL && given[0] != '\0') {
        return open_file(given, " from $" VARIABLE, err);
    }
    find_program(folder, sizeof folder);
    for (size_t i = 0; i < TC_COUNT(BESIDE) && folder[0] != '\0'; i++) {
        (void)snprintf(path, sizeof path, "%s%s", folder, BESIDE[i]);
        if (access(path, F_OK) == 0) {
            return open_file(path, "", err);
        }
    }
    void *library = tc_library_open(LIBRARY, NULL);
    if (library == NULL) {
        (void)tc_fail(err, TC_E_UNSUPPORTED, 0,
                      "there is no DuckDB: no " LIBRARY " in %s../lib/tracecore/, %slib/tracecore/ "
                      "or the system's library path; set $" VARIABLE " to the file",
                      folder, folder);
    }
    return library;
}

static const char *const FUNCTIONS[] = {
#define FUNCTION(name) "duckdb_" #name,
#include "warehouse/duckdb/functions.def"
#undef FUNCTION
};

static tc_status find_functions(void *library, struct tc__duckdb_api *out, struct tc_error *err)
{
    const char *missing = tc_library_bind(library, FUNCTIONS, TC_COUNT(FUNCTIONS), out);
    const char *version = out->library_version == NULL ? "?" : out->library_version();
    if (strncmp(version, MAJOR, sizeof MAJOR - 1) != 0) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "DuckDB is of version %s, and 1.x is wanted; set $" VARIABLE
                       " to the " LIBRARY " of such a one",
                       version);
    }
    if (missing != NULL) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "DuckDB %s is too old, it has no %s; set $" VARIABLE " to the " LIBRARY
                       " of 1.4 or newer",
                       version, missing);
    }
    return TC_OK;
}

static tc_status load(struct tc_error *err)
{
    void *library = find_library(err);
    if (library == NULL) {
        return TC_E_UNSUPPORTED;
    }
    struct tc__duckdb_api api;
    tc_status status = find_functions(library, &api, err);
    if (status == TC_OK) {
        api.cache = api.create_instance_cache();
        if (api.cache == NULL) {
            status = tc_fail(err, TC_E_NOMEM, 0, "no memory for DuckDB");
        }
    }
    if (status != TC_OK) {
        tc_library_close(library);
        return status;
    }
    tc_library_rest(library); /* its symbols were all looked at */
    loaded_api = api;
    loaded_library = library;
    loaded = true;
    return TC_OK;
}

tc_status tc__duckdb_load(const struct tc__duckdb_api **out, struct tc_error *err)
{
    (void)pthread_mutex_lock(&load_lock);
    tc_status status = loaded ? TC_OK : load(err);
    (void)pthread_mutex_unlock(&load_lock);
    if (status == TC_OK) {
        *out = &loaded_api;
    }
    return status;
}

const struct tc__duckdb_api *tc__duckdb_api_now(void)
{
    return &loaded_api;
}

void tc__duckdb_rest(void)
{
    (void)pthread_mutex_lock(&load_lock);
    if (loaded) {
        tc_library_rest(loaded_library);
        (void)malloc_trim(0);
    }
    (void)pthread_mutex_unlock(&load_lock);
}
