/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes in words, paths, headings and notes. Hosts and paths are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/lines/lines_priv.h"
#include "codec/node_name.h"

static void assert_text(const char *of, struct tc_slice actual, const char *expected)
{
    if (!tc_slice_eq(actual, tc_slice_cstr(expected))) {
        fail_msg("%s: \"%.*s\", not \"%s\"", of, TC_FMT(actual), expected);
    }
}

static void files_are_named_after_nodes(void **state)
{
    static const char *const rows[][2] = {
        {"dmesg-gpu-07.txt", "gpu-07"},
        {"a-b/c-d/dmesg-gpu-07.log", "gpu-07"},
        {"dmesg-gpu-07", "gpu-07"},
        {"gpu-07.dmesg", "gpu-07"},
        {"hgx12-kern.log.1", "hgx12"},
        {"dmesg-a.b.c.log", "a.b.c"},
        {"dmesg_gpu07.dc1.example.com.txt", "gpu07.dc1.example.com"},
        {"nvidia-smi_lon-inf-3_20260811-0712.txt", "lon-inf-3"},
        {"journal-cn105-2026-11-15T03.log", "cn105"},
        {"conserver-nvl72-r4t2.log", "nvl72-r4t2"},
        {"kern-10-0-0-12.log", "10-0-0-12"},
        {"ip-10-0-0-12.log", "ip-10-0-0-12"},
        {"gpu07.txt", "gpu07"},
        {"dmesg-gpu-b1.txt", "gpu-b1"},
        {"dmesg_rack4-gpu12.txt", "rack4-gpu12"},
        {"dmesg-job4711.txt", ""},
        /* Kinds of files, dates, numbers, models and tickets. */
        {"dmesg.txt", ""},
        {"dmesg-", ""},
        {"-", ""},
        {"", ""},
        {"loki-export.json", ""},
        {"fluentd-kernel.json", ""},
        {"var-log-messages", ""},
        {"node-problem-detector.log", ""},
        {"health-events.json", ""},
        {"nvidia-smi-q.txt", ""},
        {"messages-20261115", ""},
        {"kern-2026-11-15.log", ""},
        {"kern-2026-11-15T03.log", ""},
        {"kern-2026.log", ""},
        {"kern-1234567.log", ""},
        {"syslog.1", ""},
        {"dmesg-boot2.txt", ""},
        {"dmesg-h100.txt", ""},
        {"OPS-48211-dmesg.txt", ""},
        {"notes2.txt", ""},
        {"dmesg-broken.txt", ""},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_text(rows[i][0], tc_node_of_file(tc_slice_cstr(rows[i][0])), rows[i][1]);
    }
}

static void folders_are_named_after_nodes(void **state)
{
    static const char *const rows[][2] = {
        {"tix/ams-gpu-0418/dmesg.txt", "ams-gpu-0418"},
        {"gpu-07/var/log/kern.log", "gpu-07"},
        {"ber-h100-77/dmesg.txt", "ber-h100-77"},
        {"sosreport-gpu07-0123456-2026-11-15-abcdefg/var/log/messages", "gpu07"},
        {"dmesg.txt", ""},
        {"rack-12/dmesg.txt", ""},
        {"case-7/gpu.log", ""},
        {"/var/tmp/tmpgpu12ab/dmesg.txt", ""},
        {"102-gpu-node-lost/dmesg.txt", ""},
        {"h100/dmesg.txt", ""},
        {"week3/dmesg.txt", ""},
        {"a1/dmesg.txt", ""},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_text(rows[i][0], tc_node_of_folder(tc_slice_cstr(rows[i][0])), rows[i][1]);
    }
}

static struct tc_slice heading_of(const char *text)
{
    uint64_t own[3] = {0};
    struct tc_codec_input in = {.bytes = tc_slice_cstr(text)};
    return tc__heading_above(&in, in.bytes.len, own);
}

static void headings_name_the_node_of_what_follows(void **state)
{
    static const char *const rows[][2] = {
        {"root@gpu-07:~# dmesg -T | tail\n", "gpu-07"},
        {"[ops@gpu-07 log]$ nvidia-smi\n", "gpu-07"},
        {"(venv) ops@gpu-07:/var/log$ sudo dmesg\n", "gpu-07"},
        {"12:01:33 root@gpu-07 ~ # lspci\n", "gpu-07"},
        {"gpu-07:~ # dmesg\n", "gpu-07"},
        {"gpu-07# dmesg\n", "gpu-07"},
        {"ops@login1:~$ ssh -p 2222 root@gpu-07 dmesg\n", "gpu-07"},
        {"ops@login1:~$ kubectl debug node/gpu-07 -it --image=busybox\n", "gpu-07"},
        {"ops@login1:~$ srun -w gpu-07 dmesg\n", "gpu-07"},
        {"Host: gpu-07\n", "gpu-07"},
        {"> Hostname : medusa\n", "medusa"},
        {"  Static hostname: medusa\n", ""},
        {"Static hostname: medusa\n", "medusa"},
        {"Node:         gpu-07/10.0.0.7\n", "gpu-07"},
        {"### collect.sh  host=gpu-07  2026-04-01T00:05:02+09:00\n", "gpu-07"},
        {"=== node gpu-07 ===\n", "gpu-07"},
        {"--- gpu-07 ---\n", "gpu-07"},
        {"==> ams-gpu-0418/dmesg.txt <==\n", "ams-gpu-0418"},
        {"----------------\ngpu-07\n----------------\n", "gpu-07"},
        {"gpu-07 | CHANGED | rc=0 >>\n", "gpu-07"},
        {"Linux gpu-07 5.15.0-119-generic #129-Ubuntu SMP x86_64 GNU/Linux\n", "gpu-07"},
        {"$ hostname\nmedusa\n", "medusa"},
        {"[    4.1] systemd[1]: Hostname set to <gpu-07>.\n", "gpu-07"},
        {"gpu-07 login: \n", "gpu-07"},
        /* The nearest one counts. */
        {"root@gpu-07:~# exit\nroot@gpu-08:~# dmesg\n", "gpu-08"},
        /* Nobody, or not this one. */
        {"ops@login1:~$ kubectl get pods\n", ""},
        {"ops@login1:~$ kubectl logs -n gpu-07 x-y2k\n", ""},
        {"root@gpu-07:~# exit\nops@login1:~$ pdsh -w gpu-[01-09] dmesg\n", ""},
        {"----------------\ngpu[01-04]\n----------------\n", ""},
        {"root@3f2a9c01b7de:/workspace# python train.py\n", ""},
        {"[    0.0] Linux version 5.15.0-119-generic (buildd@lcy02-amd64-045) (gcc) #129\n", ""},
        {"Last login: Mon Jan 20 18:02:07 2026 from 10.0.0.1\n", ""},
        {"host: registry.example\n", ""},
        {"Host: localhost\n", ""},
        {"write to ops@example.com for help\n", ""},
        {"=== summary ===\n", ""},
        {"=== h100 ===\n", ""},
        {"----------------\nSummary\n----------------\n", ""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        assert_text(rows[i][0], heading_of(rows[i][0]), rows[i][1]);
    }
}

static void a_text_says_where_it_is_from(void **state)
{
    static const struct {
        const char *path;
        const char *text;
        const char *node;
        bool several;
    } rows[] = {
        {"ticket.txt", "Ticket OPS-1\nHost: gpu-07\nlost a GPU\n", "gpu-07", false},
        {"etc/hostname", "medusa\n", "medusa", false},
        {"kern.log", "Nov  3 10:00:00 gpu-07 kernel: eth0: up\nNov  3 10:00:01 gpu-07 x[1]: y\n",
         "gpu-07", false},
        {"kern.log", "Nov  3 10:00:00 gpu-07 kernel: eth0: up\nNov  3 10:00:01 gpu-08 x[1]: y\n",
         "", true},
        {"k.jsonl", "{\"message\":\"x\",\"host\":{\"name\":\"gpu-07\"}}\n", "gpu-07", false},
        {"sinfo.txt",
         "REASON               USER      TIMESTAMP           NODELIST\n"
         "gres/gpu count repor root      2026-03-22T04:13:01 gpu-07\n",
         "gpu-07", false},
        {"pods.txt",
         "NAME   READY  NODE     IP\na      1/1    gpu-07   10.0.0.1\nb      1/1    gpu-08   x\n",
         "", true},
        {"squeue.txt", "JOBID STATE NODELIST(REASON)\n12    PD    (Priority)\n", "", false},
        {"notes.txt", "lost a GPU tonight\n", "", false},
        {"empty", "", "", false},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_node_said said =
            tc_node_said(tc_slice_cstr(rows[i].path), tc_slice_cstr(rows[i].text));
        assert_text(rows[i].text, said.node, rows[i].node);
        assert_int_equal(said.several, rows[i].several);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_named_after_nodes),
        cmocka_unit_test(folders_are_named_after_nodes),
        cmocka_unit_test(headings_name_the_node_of_what_follows),
        cmocka_unit_test(a_text_says_where_it_is_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
