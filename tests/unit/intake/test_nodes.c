/* SPDX-License-Identifier: Apache-2.0 */
/* Which node inputs are of whose lines name none. Paths and nodes are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/codec.h"
#include "intake/nodes.h"

#include <stdio.h>
#include <string.h>

#define FILES 40
#define DMESG "[   12.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"

struct fixture {
    struct tc_input items[FILES];
    char paths[FILES][64];
    struct tc_inputs in;
};

static void begin(struct fixture *x)
{
    memset(x, 0, sizeof *x);
    x->in.items = x->items;
}

static void add(struct fixture *x, const char *path, const struct tc_codec *codec, const char *text)
{
    size_t i = x->in.count++;
    (void)snprintf(x->paths[i], sizeof x->paths[i], "%s", path);
    x->items[i] =
        (struct tc_input){.path = x->paths[i], .codec = codec, .bytes = tc_slice_cstr(text)};
}

static void note(struct fixture *x, const char *path, const char *node)
{
    x->in.notes[x->in.note_count++] =
        (struct tc_input_note){(char *)(uintptr_t)path, (char *)(uintptr_t)node};
}

static void assert_first(struct fixture *x, const char *node)
{
    tc_nodes_apply(&x->in);
    assert_int_equal(tc_nodes_assume(&x->in), TC_OK);
    if (!tc_slice_eq(x->items[0].node, tc_slice_cstr(node))) {
        fail_msg("\"%.*s\", not \"%s\"", TC_FMT(x->items[0].node), node);
    }
}

static void names_of_files_and_folders_count(void **state)
{
    struct fixture x;
    (void)state;
    begin(&x);
    add(&x, "t/dmesg-gpu-07.txt", &tc_codec_kmsg, DMESG);
    assert_first(&x, "gpu-07");
    begin(&x);
    add(&x, "ams-gpu-07/dmesg.txt", &tc_codec_kmsg, DMESG);
    assert_first(&x, "ams-gpu-07");
    begin(&x);
    add(&x, "t/gpu-07.json", &tc_codec_k8s, "{}");
    assert_first(&x, "");
}

static void the_only_node_beside_a_log_is_assumed(void **state)
{
    struct fixture x;
    (void)state;
    begin(&x);
    add(&x, "t/dmesg.txt", &tc_codec_kmsg, DMESG);
    note(&x, "t/ticket.txt", "gpu-07");
    assert_first(&x, "gpu-07");
    begin(&x);
    add(&x, "t/dmesg.txt", &tc_codec_kmsg, DMESG);
    add(&x, "t/kern.log", &tc_codec_kmsg, "Nov  3 10:00:00 gpu-07 kernel: eth0: up\n");
    note(&x, "t/ticket.txt", "gpu-07.example.com");
    assert_first(&x, "gpu-07");
}

static void several_nodes_or_another_folder_say_nothing(void **state)
{
    struct fixture x;
    (void)state;
    begin(&x);
    add(&x, "t/dmesg.txt", &tc_codec_kmsg, DMESG);
    note(&x, "t/ticket.txt", "gpu-07");
    note(&x, "t/mail.txt", "gpu-08");
    assert_first(&x, "");
    begin(&x);
    add(&x, "t/dmesg.txt", &tc_codec_kmsg, DMESG);
    note(&x, "u/ticket.txt", "gpu-07");
    assert_first(&x, "");
    /* Its own heading is read by the codec. */
    begin(&x);
    add(&x, "t/dmesg.txt", &tc_codec_kmsg, "root@gpu-09:~# dmesg\n" DMESG);
    note(&x, "t/ticket.txt", "gpu-07");
    assert_first(&x, "");
    /* Too many for a ticket. */
    begin(&x);
    for (int i = 0; i < FILES; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "t/dmesg_%d.txt", i);
        add(&x, path, &tc_codec_kmsg, DMESG);
    }
    note(&x, "t/ticket.txt", "gpu-07");
    assert_first(&x, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_files_and_folders_count),
        cmocka_unit_test(the_only_node_beside_a_log_is_assumed),
        cmocka_unit_test(several_nodes_or_another_folder_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
