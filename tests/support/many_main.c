/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main of a program that holds several test programs: the first argument names the one to run.
 * Linking dominates the build of small test programs, so the tests of a room are linked once. Each
 * file is compiled with its own main renamed to unit_<name> (cmake/tests.cmake), and
 * CTest runs each as a process of its own.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define UNIT(name) int unit_##name(void);
TC_UNITS
#undef UNIT

static const struct {
    const char *name;
    int (*run)(void);
} UNITS[] = {
#define UNIT(name) {#name, unit_##name},
    TC_UNITS
#undef UNIT
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        if (argc == 2 && strcmp(argv[1], UNITS[i].name) == 0) {
            return UNITS[i].run();
        }
    }
    (void)fprintf(stderr, "usage: %s NAME\n\nNAME is one of:\n", argv[0]);
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        (void)fprintf(stderr, "  %s\n", UNITS[i].name);
    }
    return 2;
}
