/* SPDX-License-Identifier: Apache-2.0 */
/* How jobs died, by their logs. Forms are the producers', values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_job_log
#include "unit/codec/k8s_testing.h"

#define FILE_LINE "  File \"/app/train.py\", line 7, in main\n    loss.backward()\n"
#define HEAD "Traceback (most recent call last):\n"
#define STACK(exception) HEAD FILE_LINE exception "\n"

struct exit_case {
    const char *text;
    int32_t rank;
    int64_t pid;
    const char *node;
    int64_t code;
    int64_t signal;
};

static void check_exit(const struct exit_case *c)
{
    assert_int_equal(decode(c->text), TC_OK);
    if (t.count != 1) {
        print_error("%zu events: %s\n", t.count, c->text);
    }
    assert_int_equal(t.count, 1);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_RANK_EXIT);
    assert_int_equal(ev->scope.rank, c->rank);
    assert_int_equal(ev->scope.pid, c->pid);
    SAME(ev->scope.node, c->node);
    assert_int_equal(ev->exit.exit_code, c->code);
    assert_int_equal(ev->exit.signal, c->signal);
}

static void launchers_say_who_died_and_how(void **state)
{
    (void)state;
    static const struct exit_case cases[] = {
        {"failed (exitcode: -9) local_rank: 5 (pid: 71) of binary: python", -1, 71, "", -1, 9},
        {"w3: ['python'] exits with return code = -11", -1, -1, "w3", -1, 11},
        {"['python', '-u', 't.py'] exits with return code = 2", -1, -1, "", 2, 0},
        {"[rank: 2] Child process with PID 9 terminated with code -6. Forcefully", 2, 9, "", -1, 6},
        {"Global rank 1 (PID 8) exited with code 3", 1, 8, "", 3, 0},
        {"Process 3 exit with status code 137.", 3, -1, "", 137, 0},
        {"mpirun noticed that process rank 7 with PID 6 on node n1 exited on signal 9 (Killed).", 7,
         6, "n1", -1, 9},
        {"prterun noticed that process rank 7 with PID 6 on node n1 exited on\nsignal 4 (Ill).", 7,
         6, "n1", -1, 4},
        {"  Process name: [[1,1],12]\n  Exit code:    5", 12, -1, "", 5, 0},
        {"  Process name: [prterun-l-7@1,3]\n  Exit code:    5", 3, -1, "", 5, 0},
        {"MPI_ABORT was invoked on rank 27 in communicator X\nwith errorcode 1.", 27, -1, "", 1, 0},
        {"= RANK 6 PID 82 RUNNING AT cn4\n=  KILLED BY SIGNAL: 9 (Killed)", 6, 82, "cn4", -1, 9},
        {"= PID 82 RUNNING AT cn4\n=  EXIT CODE: 139\nEXIT STRING: Seg (signal 11)", -1, 82, "cn4",
         -1, 11},
        {"x.sh: line 28:  81 Segmentation fault      (core dumped) python3 m.py", -1, 81, "", -1,
         11},
        {"Worker IP address: 10.0.0.7 Worker port: 1 Worker PID: 44 Worker exit type: SYSTEM_ERROR",
         -1, 44, "10.0.0.7", -1, 0},
        {"terminate called after throwing an instance of 'c10::Error'\n  what():  x", -1, -1, "",
         -1, 6},
        {"x3.hsn: rank 21 died from signal 11 and dumped core", 21, -1, "x3.hsn", -1, 11},
        {"_pmiu_daemon(SIGCHLD): [NID 00012] [c0-0c0s3n0] PE RANK 5 exit signal Bus error", 5, -1,
         "", -1, 7},
        {"ERROR:  One or more process (first noticed rank 4) terminated with signal 6", 4, -1, "",
         -1, 6},
        {"4 ranks\n[run] sx-2: pid 61202 exited: signal 11", -1, 61202, "", -1, 11},
        {"rank 3 exited with code 2", 3, -1, "", 2, 0},
        {"local rank 3 exited with code 2", -1, -1, "", 2, 0},
        {"[sx-2:61202:0:61440] Caught signal 11 (Segmentation fault: address)", -1, 61202, "sx-2",
         -1, 11},
        {"[h41n08:119224] Signal: Aborted (6)", -1, 119224, "h41n08", -1, 6},
        {"Fatal Python error: Segmentation fault", -1, -1, "", -1, 11},
        {"[rank21]:[E601] [PG ID 2 PG GUID 5(TP) Rank 1] Process group watchdog thread terminated "
         "with exception: CUDA error: misaligned address",
         21, -1, "", -1, 6},
        {"[E601] [PG ID 0 PG GUID 0(default_pg) Rank 4] Process group watchdog thread terminated "
         "with exception: x",
         4, -1, "", -1, 6},
        {"[E601] [PG ID 2 PG GUID 5(TP) Rank 1] Process group watchdog thread terminated with "
         "exception: x",
         -1, -1, "", -1, 6},
        {"tf-0: x: Collective ops is aborted by: Task /job:worker/replica:0/task:1 died", 1, -1, "",
         -1, 0},
        {"unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:2\n", 2, -1, "",
         -1, 0},
        {"Memory on the node (IP: 10.9.1.8, ID: ab) where the task (name=x, pid=221, memory", -1,
         221, "10.9.1.8", -1, 9},
        {"t-0 | x\nt-2 exited with code 3\n", 2, -1, "", 3, 0},
        {"t-1 | x\nt-2 exited with code 3\n", -1, -1, "", 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_exit(&cases[i]);
    }
}

static void those_that_ended_well_or_are_no_reports_give_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Global rank 1 (PID 8) exited with code 0",
        "x.sh: line 28:  81 Terminated              python3 m.py",
        "failed (exitcode: -999999999999999999999) local_rank: 5 (pid: 71)",
        "failed (exitcode: ",
        "exits with return code = ",
        "exitcode  : 1 (pid: ",
        "Process name: nobody",
        "process rank 7 with PID 6 on node",
        "terminate called after throwing an instance of 'x",
        "worker (pid 7), PID 9",
        "trainer-3 exited with code 0",
        "LOG:  server process (PID 71) exited with exit code 1",
        "Fatal Python error: init_sys_streams: can't initialize sys",
        "RankFailed: rank 3 exited with code 1",
        "Traceback (most recent call last):\n    ...\nLost: rank 3 exited with code 1",
        "/job:worker/replica:0/task:1 started",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
}

#define BLOCK(n, host, rank, code, pid)                                                            \
    "[" n "]:\n  time      : 2026-03-01_10:00:0" n "\n  host      : " host "\n  rank      : " rank \
    " (local_rank: 1)\n  exitcode  : " code " (pid: " pid ")\n  error_file: <N/A>\n  traceback : "

static void every_block_of_the_table_is_a_rank(void **state)
{
    (void)state;
    static const char table[] =
        "E0301 10:00:03 9 api.py:8] failed (exitcode: -9) local_rank: 1 (pid: 71) of binary: p\n"
        "Root Cause:\n" BLOCK("1", "n1", "17", "-9", "71") "Signal 9 (SIGKILL)\n" BLOCK(
            "2", "<redacted>", "18", "1", "72") HEAD "  " FILE_LINE "  KeyError: 'x'\n=======\n";
    assert_int_equal(decode(table), TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[0].scope.rank, 17);
    assert_int_equal(t.events[0].scope.pid, 71);
    assert_int_equal(t.events[0].exit.signal, 9);
    SAME(t.events[0].scope.node, "n1");
    assert_true(t.events[0].time_ns == at("2026-03-01T10:00:01Z"));
    assert_int_equal(t.events[1].scope.rank, 18);
    assert_int_equal(t.events[1].exit.exit_code, 1);
    SAME(t.events[1].exit.error, "KeyError");
    SAME(t.events[1].scope.node, "");
}

static void a_stack_is_one_exit_with_its_last_exception(void **state)
{
    (void)state;
    assert_int_equal(decode(STACK("a.b.CError: no\nmore of it")), TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].exit.error, "a.b.CError");
    SAME(t.events[0].exit.message, "a.b.CError: no");
    /* Chained: what came of it in the end. */
    assert_int_equal(
        decode(STACK("KeyError: 1") "\nDuring handling of the above exception, another "
                                    "exception occurred:\n\n" STACK("ValueError: 2")),
        TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].exit.error, "ValueError");
    /* A loader's worker hands its stack on, and a paste may have lost its head. */
    assert_int_equal(decode(FILE_LINE "ValueError: Caught ValueError in worker\nOriginal " STACK(
                         "ValueError: bad")),
                     TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].exit.message, "ValueError: Caught ValueError in worker");
    /* Who reports another's end says how that was. */
    assert_int_equal(
        decode(STACK("subprocess.CalledProcessError: 'x' died with <Signals.SIGKILL: 9>.")), TC_OK);
    assert_int_equal(t.events[0].exit.signal, 9);
    assert_int_equal(
        decode(STACK("subprocess.CalledProcessError: 'x' returned non-zero exit status 4.")),
        TC_OK);
    assert_int_equal(t.events[0].exit.exit_code, 4);
}

static void stacks_of_ranks_are_told_apart(void **state)
{
    (void)state;
    static const char log[] = "[rank1]: Traceback (most recent call last):\n"
                              "[rank2]: Traceback (most recent call last):\n"
                              "[rank1]:   File \"a.py\", line 1, in f\n"
                              "[rank2]:   File \"b.py\", line 2, in g\n"
                              "[rank1]:     f()\n"
                              "[rank2]: ValueError: two\n"
                              "[rank1]: KeyError: 'one'\n"
                              "Traceback (most recent call last): (RANK 5)\n"
                              "  File \"c.py\", line 3, in h\n"
                              "OSError: [Errno 5] Input/output error\n";
    assert_int_equal(decode(log), TC_OK);
    assert_int_equal(t.count, 4);
    assert_int_equal(t.events[0].scope.rank, 1);
    SAME(t.events[0].exit.error, "KeyError");
    assert_int_equal(t.events[1].scope.rank, 2);
    SAME(t.events[1].exit.error, "ValueError");
    assert_int_equal(t.events[2].scope.rank, 5);
    SAME(t.events[2].exit.error, "OSError");
    SAME(t.events[3].fault.fault, "io_error");
}

static void stacks_that_are_no_failures_give_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        STACK("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "),
        STACK("not an exception") "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n",
        "Exception ignored in: <function f>\n" STACK("ValueError: x"),
        "--- Logging error ---\n" STACK("ValueError: x"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
}

static void what_became_of_the_process_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *role;
    } cases[] = {
        {STACK("ValueError: x"), "last"},
        {HEAD "  File \"/srv/api.py\", line 7, in get\nKeyError: 'x'\n", ""},
        {STACK("ValueError: x") "wandb: Synced 5 files\nINFO: Finalized processing group\n",
         "last"},
        {STACK("ValueError: x") "srun: error: n1: task 0: Exited with exit code 1\n", "last"},
        {STACK("ValueError: x") "step: 20 loss: 2.5\n", "caught"},
        {STACK("ValueError: x") "WARNING retrying in 30 s\n", "caught"},
        {STACK("ValueError: x") "INFO one\nINFO two\n", "last"},
        {STACK("ValueError: x") "INFO one\nINFO two\nINFO three\n", "caught"},
        {"Exception in thread Thread-5 (f):\n" STACK("ValueError: x"), "caught"},
        {STACK("KeyboardInterrupt"), "stopped"},
        {STACK("x.SignalException: Process 1 got signal: 15"), "stopped"},
        {"Received Signals.SIGTERM death signal, shutting down workers\n", "stopped"},
        {"[rank: 0] Received SIGTERM: 15\n", "stopped"},
        {HEAD FILE_LINE, "last"},
        {"[rank: 2] Child process with PID 9 terminated with code -9. Forcefully", "first"},
        {"Root Cause (first observed failure):\n[0]:\n  rank : 4 (local_rank: 1)\n"
         "  exitcode  : -9 (pid: 147)\n",
         "first"},
        {"Failures:\n[0]:\n  rank : 4 (local_rank: 1)\n  exitcode  : -9 (pid: 147)\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_true(t.count >= 1);
        assert_int_equal(t.events[0].kind, TC_EVENT_RANK_EXIT);
        SAME(t.events[0].exit.role, cases[i].role);
    }
    assert_int_equal(t.events[0].exit.local_rank, 1);
    SAME(t.events[0].exit.told_by, "launcher");
}

static void a_deepspeed_command_names_the_local_rank(void **state)
{
    (void)state;
    assert_int_equal(decode("['python3', 'train.py', '--local_rank=3'] exits with return code = 1"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].exit.local_rank, 3);
    SAME(t.events[0].exit.role, "first");
}

static void launchers_say_where_ranks_run(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t rank;
        int64_t pid;
        const char *node;
    } cases[] = {
        {"[run] host=sx-2 rank=8 local_rank=0 pid=612", 8, 612, "sx-2"},
        {"(C pid=5) - (node_id=ab, ip=10.3.0.19, pid=397) world_rank=3, local_rank=1, node_rank=1",
         3, 397, "10.3.0.19"},
        {"global_rank: 3, local_rank: 1, hostname: gpu-7", 3, -1, "gpu-7"},
        {"Rank 9 on host gpu-7", 9, -1, "gpu-7"},
        {"[lc-8:412] MCW rank 23 bound to socket 0[core 0[hwt 0]]: [B/./.]", 23, 412, "lc-8"},
        {"[lc-8:412] *** reported by process [3121741825,23]", 23, 412, "lc-8"},
        {"[0] MPI startup(): 23      412    lc-8          {0-9}", 23, 412, "lc-8"},
        {"[0] MPI startup(): Rank    Pid      Node name       Pin cpu", -1, -1, ""},
        {"python train.py --local_rank=3 --host=x", -1, -1, ""},
        {"local_rank=3 rank=4 master_host=gpu-1", -1, -1, ""},
        {"failed on host gpu-7", -1, -1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_int_equal(t.count, cases[i].rank >= 0);
        if (cases[i].rank >= 0) {
            assert_int_equal(t.events[0].kind, TC_EVENT_RANK_PLACE);
            assert_int_equal(t.events[0].scope.rank, cases[i].rank);
            assert_int_equal(t.events[0].scope.pid, cases[i].pid);
            SAME(t.events[0].scope.node, cases[i].node);
        }
    }
}

static void deepspeed_maps_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(
        decode("global_rank_mapping=defaultdict(<class 'list'>, {'w-0': [0, 1], 'w-1': "
               "[2, 3]})\n"),
        TC_OK);
    assert_int_equal(t.count, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(t.events[i].kind, TC_EVENT_RANK_PLACE);
        assert_int_equal(t.events[i].scope.rank, i);
        SAME(t.events[i].scope.node, i < 2 ? "w-0" : "w-1");
    }
    assert_int_equal(decode("global_rank_mapping=defaultdict(<class 'list'>, {'w-0': [0, "), TC_OK);
    assert_int_equal(t.count, 0);
}

static void the_rest_of_a_log_says_whose_a_stack_is(void **state)
{
    (void)state;
    static const char labelled[] = "12: Traceback (most recent call last):\n"
                                   "12:   File \"a.py\", line 1, in f\n12: KeyError: 'one'\n"
                                   "srun: error: k2: task 12: Exited with exit code 1\n";
    static const struct {
        const char *text;
        int32_t rank;
        const char *node;
    } cases[] = {
        {labelled, 12, ""},
        {"SLURM_JOB_NODELIST=w7\n" STACK("KeyError: 1"), -1, "w7"},
        {"SLURM_JOB_NODELIST=w[7-8]\n" STACK("KeyError: 1"), -1, ""},
        {"[init] nprocs=8 host=w7\n" STACK("KeyError: 1"), -1, "w7"},
        {"Running on host w7\nNNODES=2\n" STACK("KeyError: 1"), -1, ""},
        {"host: w7\nhost: w8\n" STACK("KeyError: 1"), -1, ""},
        {"redis:\n  host: w7\n" STACK("KeyError: 1"), -1, ""},
        {"store host=w7 port=29500\n" STACK("KeyError: 1"), -1, ""},
        {"Running on host w7\n" STACK("KeyError: 1"), -1, "w7"},
        {"host: localhost\n" STACK("KeyError: 1"), -1, ""},
        {"[Rank 3 Error Snippet]:\n" STACK("KeyError: 1"), 3, ""},
        {"RANK=3 LOCAL_RANK=1\n" STACK("KeyError: 1"), 3, ""},
        {"process_id=3 of 4\n" STACK("KeyError: 1"), 3, ""},
        {"RANK=0\n" STACK("KeyError: 1"), -1, ""},
        {"RANK=3\nRANK=4\n" STACK("KeyError: 1"), -1, ""},
        {"{\"host\":\"w7\",\"rank\":3,\"msg\":\"x\",\"exc_info\":\"Traceback (most recent call "
         "last):\\n  File \\\"a.py\\\", line 1, in f\\nKeyError: \\\"one\\\"\"}\n",
         3, "w7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_int_equal(t.count, 1);
        SAME(t.events[0].exit.error, "KeyError");
        assert_int_equal(t.events[0].scope.rank, cases[i].rank);
        SAME(t.events[0].scope.node, cases[i].node);
    }
}

static void what_tests_captured_is_no_failure(void **state)
{
    (void)state;
    static const char head[] = "==== test session starts ====\n";
    static const char *const ends[] = {"==== 3 passed in 4.1s ====\n",
                                       "== 3 passed, 1 warning in 4.1s ==\n",
                                       "= 1 failed, 3 passed in 4.1s =\n", ""};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[600];
        (void)snprintf(text, sizeof text, "%s%s%s", head, STACK("KeyError: 1"), ends[i]);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, i >= 2);
        (void)snprintf(text, sizeof text, "%s%s%s", head, ends[i], STACK("KeyError: 1"));
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
    }
}

static void errors_of_cuda_are_faults_of_the_driver(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
    } cases[] = {
        {"[rank4]: RuntimeError: CUDA error: uncorrectable ECC error encountered", "cuda_ecc"},
        {"RuntimeError: x: cudaErrorECCUncorrectable: uncorrectable ECC error encountered",
         "cuda_ecc"},
        {"Cuda failure 'uncorrectable NVLink error detected during the execution'", "cuda_nvlink"},
        {"CUDA error: unspecified launch failure", "cuda_launch_failure"},
        {"an uncorrectable ECC error encountered here", NULL},
        {"    cudaErrorECCUncorrectable = 214,", NULL},
        {"RuntimeError: CUDA error: device-side assert triggered", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_int_equal(t.count, cases[i].fault != NULL);
        if (cases[i].fault != NULL) {
            assert_int_equal(t.events[0].kind, TC_EVENT_DRIVER_FAULT);
            SAME(t.events[0].fault.fault, cases[i].fault);
        }
    }
}

static void errors_of_files_are_errors_of_storage(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
        const char *path;
    } cases[] = {
        {"OSError: [Errno 116] Stale file handle: '/nfs/a.npy'", "stale_handle", "/nfs/a.npy"},
        {"OSError: [Errno 28] No space left on device", "no_space", ""},
        {"OSError: [Errno 107] Transport endpoint is not connected: '/mnt/b'", "not_connected",
         "/mnt/b"},
        {"IoError(Os { code: 30, kind: ReadOnly, message: \"Read-only file system\" })", "readonly",
         ""},
        {"TimeoutError: [Errno 110] Connection timed out: '/lustre/x'", "timed_out", "/lustre/x"},
        /* Sockets. */
        {"OSError: [Errno 107] Transport endpoint is not connected", NULL, ""},
        {"TimeoutError: [Errno 110] Connection timed out", NULL, ""},
        {"FileNotFoundError: [Errno 2] No such file or directory: '/x'", NULL, ""},
        {"[Errno 99999999999999999999999] '/x'", NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_int_equal(t.count, cases[i].fault != NULL);
        if (cases[i].fault != NULL) {
            assert_int_equal(t.events[0].kind, TC_EVENT_STORAGE_ERROR);
            SAME(t.events[0].fault.fault, cases[i].fault);
            SAME(t.events[0].fault.device, cases[i].path);
        }
    }
}

static void rays_monitor_kills_for_memory(void **state)
{
    (void)state;
    static const char *const counts[] = {"0", "4", "10"};
    for (size_t i = 0; i < 3; i++) {
        char text[200];
        (void)snprintf(
            text, sizeof text,
            "(raylet) %s Workers (tasks / actors) killed due to memory pressure (OOM), 0 "
            "Workers crashed at node (ID: a, IP: 10.0.0.7) over",
            counts[i]);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, i > 0);
    }
    assert_int_equal(t.events[0].kind, TC_EVENT_OOM_KILL);
    SAME(t.events[0].scope.node, "10.0.0.7");
}

static void a_log_of_nothing_but_stacks_is_read_in_linear_time(void **state)
{
    (void)state;
    size_t lines = 50000;
    size_t len = 0;
    char *text = malloc(lines * 40);
    assert_non_null(text);
    for (size_t i = 0; i < lines; i++) {
        len += (size_t)snprintf(text + len, 40, "[rank%zu]:   File \"a\", line 1, in f\n", i % 999);
    }
    assert_int_equal(decode_bytes(text, len), TC_OK);
    assert_int_equal(t.count, 1); /* it ends in a stack */
    /* What it looked at: some lines per line. */
    assert_true(t.cursor.own[0] < 16384 + 5 * lines + len / 16);
    free(text);
}

static void logs_are_recognised_by_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {STACK("ValueError: x"), TC_SNIFF_LIKELY},
        {"exits with return code = 1\n", TC_SNIFF_LIKELY},
        {"INFO:root:hello\nepoch 1 step 100 loss 0.69\n", TC_SNIFF_MAYBE},
        {" 10%|#     | 512/5000 [51:12<7:28:51,  6.00s/it]\n", TC_SNIFF_MAYBE},
        {"GPU available: True (cuda), used: True\n", TC_SNIFF_MAYBE},
        {"# Training\n\nThe loss of a step is printed.\n", TC_SNIFF_NO},
        {"raise RuntimeError('x')\nexcept OSError as e:\n", TC_SNIFF_NO},
        {"<gpu>CUDA error: unspecified launch failure</gpu>\n", TC_SNIFF_NO},
        {"[  12.3] NVRM: Xid (PCI:0000:b3:00): 79\n", TC_SNIFF_NO},
        {"# HELP step Current step\nstep 20\n", TC_SNIFF_NO},
        {"", TC_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (sniff(cases[i].text) != cases[i].want) {
            print_error("%s\n", cases[i].text);
        }
        assert_int_equal(sniff(cases[i].text), cases[i].want);
    }
}

static void every_cut_of_a_log_is_read(void **state)
{
    (void)state;
    static const char log[] =
        "{\"log\":\"Traceback (most recent call last):\\n\",\"time\":\"2026-03-01T10:00:00Z\"}\n"
        "{\"log\":\"  File \\\"a.py\\\", line 1, in f\\n\",\"time\":\"2026-03-01T10:00:00Z\"}\n"
        "{\"log\":\"ValueError: x\\n\",\"time\":\"2026-03-01T10:00:00Z\"}\n" BLOCK(
            "1", "n1", "17", "-9", "71") "Signal 9\n\0 RANK 1 PID 2 RUNNING AT \n[Errno 5]";
    for (size_t len = 0; len < sizeof log; len++) {
        assert_int_equal(decode_bytes(log, len), TC_OK);
    }
    SAME(t.events[0].exit.error, "ValueError");
    assert_true(t.events[0].time_ns == at("2026-03-01T10:00:00Z"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(launchers_say_who_died_and_how, setup),
        cmocka_unit_test_setup(those_that_ended_well_or_are_no_reports_give_nothing, setup),
        cmocka_unit_test_setup(every_block_of_the_table_is_a_rank, setup),
        cmocka_unit_test_setup(a_stack_is_one_exit_with_its_last_exception, setup),
        cmocka_unit_test_setup(stacks_of_ranks_are_told_apart, setup),
        cmocka_unit_test_setup(stacks_that_are_no_failures_give_nothing, setup),
        cmocka_unit_test_setup(what_became_of_the_process_is_told, setup),
        cmocka_unit_test_setup(a_deepspeed_command_names_the_local_rank, setup),
        cmocka_unit_test_setup(launchers_say_where_ranks_run, setup),
        cmocka_unit_test_setup(deepspeed_maps_all_ranks, setup),
        cmocka_unit_test_setup(the_rest_of_a_log_says_whose_a_stack_is, setup),
        cmocka_unit_test_setup(what_tests_captured_is_no_failure, setup),
        cmocka_unit_test_setup(errors_of_cuda_are_faults_of_the_driver, setup),
        cmocka_unit_test_setup(errors_of_files_are_errors_of_storage, setup),
        cmocka_unit_test_setup(rays_monitor_kills_for_memory, setup),
        cmocka_unit_test_setup(a_log_of_nothing_but_stacks_is_read_in_linear_time, setup),
        cmocka_unit_test_setup(logs_are_recognised_by_what_they_say, setup),
        cmocka_unit_test_setup(every_cut_of_a_log_is_read, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
