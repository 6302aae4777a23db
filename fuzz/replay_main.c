/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain main for all fuzz targets: the first argument names the target. Replays every file given,
 * and every file of every directory given, through its LLVMFuzzerTestOneInput (renamed to
 * fuzz_<target> by cmake/tests.cmake), in name order. This is how a corpus runs under CTest without
 * libFuzzer. Directories are read one level deep. Each input gets a heap block of exactly its size,
 * so that AddressSanitizer sees a read one byte past the end. The empty input always runs first.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int fuzz_target(const uint8_t *data, size_t size);

#define UNIT(name) fuzz_target fuzz_##name;
TC_UNITS
#undef UNIT

static const struct {
    const char *name;
    fuzz_target *run;
} TARGETS[] = {
#define UNIT(name) {#name, fuzz_##name},
    TC_UNITS
#undef UNIT
};

/* Exit statuses: 0 replayed, 2 no such target or an input could not be read. A finding aborts
 * inside the target. */
enum { EXIT_UNREADABLE = 2 };

static int complain(const char *path)
{
    (void)fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    return EXIT_UNREADABLE;
}

static int replay_file(fuzz_target *target, const char *path, size_t size, size_t *count)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return complain(path);
    }
    int rc = 0;
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (data == NULL || fread(data, 1, size, file) != size) {
        rc = complain(path);
    } else {
        /* The name is on stderr before the run, so a crash says which input did it. */
        (void)fprintf(stderr, "replay: %s (%zu bytes)\n", path, size);
        (void)target(data, size);
        *count += 1;
    }
    free(data);
    (void)fclose(file);
    return rc;
}

static int replay_directory(fuzz_target *target, const char *path, size_t *count)
{
    struct dirent **names = NULL;
    int found = scandir(path, &names, NULL, alphasort);
    if (found < 0) {
        return complain(path);
    }
    int rc = 0;
    for (int i = 0; i < found; i++) {
        char child[4096];
        struct stat st;
        int len = snprintf(child, sizeof child, "%s/%s", path, names[i]->d_name);
        if (len < 0 || (size_t)len >= sizeof child) {
            errno = ENAMETOOLONG;
            rc = complain(path);
        } else if (stat(child, &st) != 0) {
            rc = complain(child);
        } else if (S_ISREG(st.st_mode) &&
                   replay_file(target, child, (size_t)st.st_size, count) != 0) {
            rc = EXIT_UNREADABLE;
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

static fuzz_target *find_target(const char *name)
{
    for (size_t i = 0; i < sizeof TARGETS / sizeof TARGETS[0]; i++) {
        if (strcmp(name, TARGETS[i].name) == 0) {
            return TARGETS[i].run;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1] = {0};
    size_t count = 1;
    int rc = 0;
    fuzz_target *target = argc < 2 ? NULL : find_target(argv[1]);

    if (target == NULL) {
        (void)fprintf(stderr, "usage: %s TARGET [FILE-OR-FOLDER...]\n", argv[0]);
        return EXIT_UNREADABLE;
    }
    (void)target(nothing, 0);
    for (int i = 2; i < argc; i++) {
        struct stat st;
        int one = 0;
        if (stat(argv[i], &st) != 0) {
            one = complain(argv[i]);
        } else if (S_ISDIR(st.st_mode)) {
            one = replay_directory(target, argv[i], &count);
        } else {
            one = replay_file(target, argv[i], (size_t)st.st_size, &count);
        }
        if (one != 0) {
            rc = one;
        }
    }
    (void)printf("replayed %zu inputs\n", count);
    return rc;
}
