/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain main for a fuzz target: replays every file given, and every file of every directory
 * given, through LLVMFuzzerTestOneInput, in name order. This is how a corpus runs under CTest
 * without libFuzzer. Directories are read one level deep. Each input gets a heap block of exactly
 * its size, so that AddressSanitizer sees a read one byte past the end. The empty input always runs
 * first.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exit statuses: 0 replayed, 2 an input could not be read. A finding aborts inside the target. */
enum { EXIT_UNREADABLE = 2 };

static int complain(const char *path)
{
    (void)fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
    return EXIT_UNREADABLE;
}

static int replay_file(const char *path, size_t size, size_t *count)
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
        (void)LLVMFuzzerTestOneInput(data, size);
        *count += 1;
    }
    free(data);
    (void)fclose(file);
    return rc;
}

static int replay_directory(const char *path, size_t *count)
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
        } else if (S_ISREG(st.st_mode) && replay_file(child, (size_t)st.st_size, count) != 0) {
            rc = EXIT_UNREADABLE;
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing[1] = {0};
    size_t count = 1;
    int rc = 0;

    (void)LLVMFuzzerTestOneInput(nothing, 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int one = 0;
        if (stat(argv[i], &st) != 0) {
            one = complain(argv[i]);
        } else if (S_ISDIR(st.st_mode)) {
            one = replay_directory(argv[i], &count);
        } else {
            one = replay_file(argv[i], (size_t)st.st_size, &count);
        }
        if (one != 0) {
            rc = one;
        }
    }
    (void)printf("replayed %zu inputs\n", count);
    return rc;
}
