/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL and its watchdog in PyTorch write. Forms are the producers', values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_nccl_log
#include "unit/codec/k8s_testing.h"

#define WORK(rank, local, seq, type, more)                                                      \
    "[rank" rank "]:[E ProcessGroupNCCL.cpp:607] [Rank " local "] Watchdog caught collective "  \
    "operation timeout: WorkNCCL(SeqNum=" seq ", OpType=" type ", " more "Timeout(ms)=600000) " \
    "ran for 600061 milliseconds before timing out.\n"
#define PROGRESS(rank, tag, at, enqueued, completed)                                           \
    "[rank" rank "]:[E ProcessGroupNCCL.cpp:1664] [PG " tag "] Exception (either an error or " \
    "timeout) detected by watchdog at work: " at ", last enqueued NCCL work: " enqueued        \
    ", last completed NCCL work: " completed ".\n"
#define HEAD "gpu07:984:1257 [4] "
#define IB "transport/net_ib.cc:1476 NCCL WARN NET/IB : "
#define INIT(comm_rank, ranks, rest)                                                           \
    HEAD "NCCL INFO comm 0x557f rank " comm_rank " nranks " ranks " cudaDev 4 nvmlDev 5 " rest \
         " commId 0x5ae7 - Init COMPLETE\n"

/* The event of a kind, counted from 0; NULL. */
static const struct tc_event *nth(enum tc_event_kind kind, size_t n)
{
    for (size_t i = 0; i < t.count; i++) {
        if (t.events[i].kind == kind && n-- == 0) {
            return &t.events[i];
        }
    }
    return NULL;
}

static const struct tc_event *only(enum tc_event_kind kind)
{
    const struct tc_event *ev = nth(kind, 0);
    assert_non_null(ev);
    assert_null(nth(kind, 1));
    return ev;
}

static void a_timeout_is_a_record_that_started(void **state)
{
    (void)state;
    assert_int_equal(decode("2026-03-01T10:10:00.061Z stderr F " WORK(
                         "13", "5", "57", "_ALLGATHER_BASE", "NumelIn=16, NumelOut=128, ")),
                     TC_OK);
    const struct tc_event *ev = only(TC_EVENT_NCCL_RECORD);
    assert_int_equal(ev->scope.rank, 13);
    assert_int_equal(ev->nccl.seq, 57);
    SAME(ev->nccl.op, "_all_gather_base");
    SAME(ev->nccl.sizes_in, "[[16]]");
    SAME(ev->nccl.sizes_out, "[[128]]");
    assert_int_equal(ev->nccl.state, TC_NCCL_STARTED);
    assert_int_equal(ev->nccl.timeout_ms, 600000);
    assert_true(ev->nccl.from_dump);
    assert_false(ev->nccl.is_p2p);
    SAME(ev->nccl.group, "");
    /* It was issued when it began to run. */
    assert_true(ev->time_ns == at("2026-03-01T10:00:00Z"));
    assert_true(ev->nccl.started_ns == ev->time_ns);
}

static void versions_without_a_prefix_count_by_the_number_in_the_group(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t seq;
        const char *op;
    } cases[] = {
        {"[E ProcessGroupNCCL.cpp:567] [Rank 3] Watchdog caught collective operation timeout: "
         "WorkNCCL(OpType=BROADCAST, Timeout(ms)=1800000) ran for 1 milliseconds",
         0, "broadcast"},
        {"[E ProcessGroupNCCL.cpp:737] [Rank 3] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1 milliseconds",
         9, "all_reduce"},
        {"x [E ProcessGroupNCCL.cpp:821] [Rank 3] Watchdog caught collective operation timeout: "
         "WorkNCCL(SeqNum=9, OpType=NEWCALL, TensorShape=[4, 2], Timeout(ms)=1800000) ran",
         9, "NEWCALL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].line), TC_OK);
        const struct tc_event *ev = only(TC_EVENT_NCCL_RECORD);
        assert_int_equal(ev->scope.rank, 3);
        assert_int_equal(ev->nccl.seq, cases[i].seq);
        SAME(ev->nccl.op, cases[i].op);
        assert_int_equal(ev->nccl.timeout_ms, 1800000);
        assert_true(ev->time_ns == TC_TIME_NONE);
    }
    /* The number in a group that is not that of all is nobody's. */
    assert_int_equal(decode("  what():  [PG ID 3 PG GUID 11(tp) Rank 5] Process group watchdog "
                            "thread terminated with exception: [Rank 5] Watchdog caught "
                            "collective operation timeout: WorkNCCL(SeqNum=57, "
                            "OpType=ALLREDUCE, Timeout(ms)=6) ran for 7 milliseconds"),
                     TC_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(t.unknown, 0);
}

static void progress_is_a_status_and_what_is_pending(void **state)
{
    (void)state;
    /* An exception may be an error: then nothing is known to hang. */
    assert_int_equal(decode(PROGRESS("13", "ID 3 PG GUID 11(mesh_tp) Rank 5", "57", "60", "56")),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(
        decode("[rank13]:[E ProcessGroupNCCL.cpp:1834] [PG ID 3 PG GUID 11(mesh_tp) Rank 5] "
               "Timeout at NCCL work: 57, last enqueued NCCL work: 60, last completed NCCL work: "
               "56.\n"),
        TC_OK);
    assert_int_equal(t.count, 2);
    const struct tc_event *ev = only(TC_EVENT_NCCL_STATUS);
    assert_int_equal(ev->scope.rank, 13);
    assert_int_equal(ev->status.enqueued, 60);
    assert_int_equal(ev->status.completed, 56);
    assert_int_equal(ev->status.pg_id, 3);
    SAME(ev->status.group, "11");
    uint64_t key = ev->status.group_key;
    ev = only(TC_EVENT_NCCL_RECORD);
    assert_int_equal(ev->scope.rank, 13);
    assert_int_equal(ev->nccl.seq, 57);
    SAME(ev->nccl.group, "11");
    SAME(ev->nccl.group_desc, "mesh_tp");
    SAME(ev->nccl.op, "");
    assert_true(ev->nccl.group_key == key);
    assert_int_equal(ev->nccl.state, TC_NCCL_STARTED);
    assert_true(ev->nccl.timed_out);

    static const char *const tags[] = {"0 Rank 4", "0 (default_pg) Rank 4",
                                       "ID 0 PG GUID 0 Rank 4"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line,
                       "[E ProcessGroupNCCL.cpp:1316] [PG %s] Received a global timeout from "
                       "another rank and will start to dump the debug info. Last enqueued NCCL "
                       "work: 902, last completed NCCL work: 902.",
                       tags[i]);
        assert_int_equal(decode(line), TC_OK);
        SAME(only(TC_EVENT_NCCL_STATUS)->status.group, "0");
        assert_int_equal(only(TC_EVENT_NCCL_DUMP)->scope.rank, 4);
        ev = only(TC_EVENT_NCCL_RECORD);
        assert_int_equal(ev->nccl.state, TC_NCCL_COMPLETED);
        assert_int_equal(ev->nccl.seq, 902);
    }
    /* Nothing was enqueued: it is known to be there, and that is all. */
    assert_int_equal(decode("[rank2]:[E ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0 Rank 2]  x at "
                            "y: last enqueued work: -1, last completed work: -1"),
                     TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(only(TC_EVENT_NCCL_STATUS)->status.enqueued, -1);
}

static void the_group_of_a_timeout_is_named_close_by(void **state)
{
    (void)state;
    /* Behind it, of the same rank; then of another one that counts alike. */
    assert_int_equal(decode(WORK("0", "0", "7", "ALLREDUCE", "") "noise\n" PROGRESS(
                         "0", "1 Rank 0", "7", "8", "6") WORK("4", "4", "7", "BROADCAST", "")),
                     TC_OK);
    SAME(nth(TC_EVENT_NCCL_RECORD, 0)->nccl.group, "1");
    SAME(nth(TC_EVENT_NCCL_RECORD, 1)->nccl.group, "1");
    /* A rank of a smaller group needs its own line; without one it is not joined with others. */
    assert_int_equal(
        decode(PROGRESS("0", "1 Rank 0", "7", "8", "6") WORK("9", "1", "7", "ALLREDUCE", "")),
        TC_OK);
    const struct tc_event *own = only(TC_EVENT_NCCL_RECORD);
    SAME(own->nccl.group, "");
    assert_true(own->nccl.group_key != tc_nccl_group_key(TC_EMPTY, TC_EMPTY, TC_EMPTY));
    assert_int_equal(decode(WORK("9", "1", "7", "ALLREDUCE", "") PROGRESS(
                         "0", "1 Rank 0", "7", "8", "6") PROGRESS("9", "2 Rank 1", "7", "8", "6")),
                     TC_OK);
    SAME(nth(TC_EVENT_NCCL_RECORD, 0)->nccl.group, "2");
    /* Another sequence id names another group. */
    assert_int_equal(
        decode(WORK("0", "0", "7", "ALLREDUCE", "") PROGRESS("0", "1 Rank 0", "6", "8", "5")),
        TC_OK);
    SAME(nth(TC_EVENT_NCCL_RECORD, 0)->nccl.group, "");
    t.pause_after_each = true;
    assert_int_equal(
        decode(PROGRESS("0", "1 Rank 0", "7", "8", "6") WORK("4", "4", "7", "ALLREDUCE", "")),
        TC_OK);
    SAME(only(TC_EVENT_NCCL_RECORD)->nccl.group, "1");
}

static void a_transfer_is_told_once(void **state)
{
    (void)state;
    assert_int_equal(
        decode(WORK("24", "1", "318", "RECV", "") PROGRESS("24", "47 Rank 1", "318", "318", "317")),
        TC_OK);
    const struct tc_event *ev = only(TC_EVENT_NCCL_RECORD);
    assert_true(ev->nccl.is_p2p);
    assert_false(ev->nccl.is_send);
    SAME(ev->nccl.group, "47");
}

static void a_rank_that_was_only_told_is_a_member_without_a_record(void **state)
{
    (void)state;
    assert_int_equal(decode("[rank0]:[E1128 21:11:49.04 ProcessGroupNCCL.cpp:1806] [PG ID 0 PG "
                            "GUID 0(default_pg) Rank 0] Observed flight recorder dump signal from "
                            "another rank via TCPStore."),
                     TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(only(TC_EVENT_NCCL_DUMP)->scope.rank, 0);
    assert_int_equal(only(TC_EVENT_NCCL_DUMP)->dump.entries, -1);
    SAME(only(TC_EVENT_NCCL_GROUP)->group.ranks, "[0]");
    SAME(only(TC_EVENT_NCCL_GROUP)->group.group, "0");
}

static void reports_of_desync_name_ranks(void **state)
{
    (void)state;
    assert_int_equal(
        decode("\t - [1] Timeout at collective: ALLREDUCE, #301\n"
               "\t   - [3, 4] joined but didn't finish collective #300 (count from 1)\n"
               "\t     [2] finished collective #300, but didn't join collective #301 "
               "(count from 1)\n"
               "\t - To our best knowledge, ranks [5, 6] are the lagging ranks that "
               "caused this timeout. They never joined any collectives\n"),
        TC_OK);
    static const struct {
        int32_t rank;
        int64_t seq;
        enum tc_nccl_state state;
    } want[] = {{1, 301, TC_NCCL_STARTED},   {3, 300, TC_NCCL_STARTED}, {4, 300, TC_NCCL_STARTED},
                {2, 300, TC_NCCL_COMPLETED}, {5, 0, TC_NCCL_COMPLETED}, {6, 0, TC_NCCL_COMPLETED}};
    assert_int_equal(t.count, sizeof want / sizeof want[0]);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.events[i].scope.rank, want[i].rank);
        assert_int_equal(t.events[i].nccl.seq, want[i].seq);
        assert_int_equal(t.events[i].nccl.state, want[i].state);
    }
    SAME(t.events[0].nccl.op, "all_reduce");
    assert_int_equal(decode("it finished collective #300, but didn't join collective #301"), TC_OK);
    assert_int_equal(t.count, 0);
}

static void a_stuck_watchdog_is_a_flag_and_a_gpu_error_a_fault(void **state)
{
    (void)state;
    assert_int_equal(decode("[rank6]:[F ProcessGroupNCCL.cpp:1480] [PG ID 0 PG GUID 0(default_pg) "
                            "Rank 6] ProcessGroupNCCL's watchdog got stuck for 480 seconds "
                            "without making progress"),
                     TC_OK);
    assert_int_equal(only(TC_EVENT_METRIC)->metric.metric, TC_METRIC_HANG_FLAG);
    assert_int_equal(t.events[0].scope.rank, 6);
    assert_int_equal(decode("[rank4]:[E ProcessGroupNCCL.cpp:1515] [PG 0 (default_pg) Rank 4] "
                            "Process group watchdog thread terminated with exception: CUDA error: "
                            "an illegal memory access was encountered"),
                     TC_OK);
    SAME(only(TC_EVENT_DRIVER_FAULT)->fault.message, "an illegal memory access was encountered");
    assert_int_equal(t.events[0].scope.rank, 4);
}

static void init_lines_place_ranks(void **state)
{
    (void)state;
    assert_int_equal(decode(INIT("1", "8", "busId 101c0") INIT("36", "64", "busId 1801000")),
                     TC_OK);
    const struct tc_event *ev = only(TC_EVENT_RANK_PLACE); /* the smaller one is not the job */
    assert_int_equal(ev->scope.rank, 36);
    assert_int_equal(ev->scope.gpu_index, 5);
    SAME(ev->scope.node, "gpu07");
    SAME(ev->place.origin, "nccl_log");
    assert_int_equal(ev->place.world_size, 64);
    assert_true(tc_bdf_eq(ev->scope.pci, (struct tc_bdf){0x18, 1, 0, 0, true}));

    assert_int_equal(decode(INIT("1", "8", "busId 101c0")), TC_OK);
    assert_true(
        tc_bdf_eq(only(TC_EVENT_RANK_PLACE)->scope.pci, (struct tc_bdf){0, 0x10, 0x1c, 0, true}));
    /* Two communicators of one size that number differently: neither is the job. */
    assert_int_equal(decode(INIT("1", "8", "busId 101c0") INIT("1", "8", "busId 201c0")), TC_OK);
    assert_int_equal(t.count, 0);
    /* mpirun knows better. */
    assert_int_equal(decode("[1,12]<stdout>:" INIT("4", "8", "busId 85000")), TC_OK);
    assert_int_equal(only(TC_EVENT_RANK_PLACE)->scope.rank, 12);
    static const char *const none[] = {
        HEAD "NCCL INFO comm 0x55 rank 0 nranks 8 cudaDev 0 busId 18000 - Destroy COMPLETE",
        HEAD "NCCL INFO comm 0x55 rank 9 nranks 8 cudaDev 0 busId 18000 - Init COMPLETE",
        HEAD "NCCL INFO ncclCommSplit comm 0x7f rank 0 nranks 4 cudaDev 4 nvmlDev 4 busId 9a000",
        HEAD "NCCL INFO comm 0x55 rank 36 nranks 64 nNodes 8 localRanks 8 localRank 4 MNNVL 0",
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(decode(none[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 0);
    }
    assert_int_equal(decode("#  Rank  3 Group  0 Pid 127799 on   node201 device  0 [0000:18:00] X"),
                     TC_OK);
    SAME(only(TC_EVENT_RANK_PLACE)->scope.node, "node201");
    assert_int_equal(t.events[0].scope.rank, 3);
}

static void completions_name_node_peer_and_status(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *peer;
        int64_t status;
    } cases[] = {
        {HEAD IB "Got completion from peer 10.0.0.9<44206> with status=12 opcode=1 len=0",
         "10.0.0.9", 12},
        {HEAD IB "Got completion from peer 10.0.0.9<44206> with error 5, opcode 0", "10.0.0.9", 5},
        {HEAD IB "Got completion with error 12, opcode 1, len 32600, vendor err 129", "", 12},
        {HEAD IB "Got completion from peer fe80::96%ib0<1> with "
                 "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0)",
         "fe80::96%ib0", 12},
        {HEAD IB "Got completion from peer [10.0.0.9](http://10.0.0.9/)<4> with status=9 opcode=0",
         "10.0.0.9", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].line), TC_OK);
        const struct tc_event *ev = only(TC_EVENT_NETWORK_FAULT);
        SAME(ev->fault.fault, "ib_completion_error");
        SAME(ev->fault.device, cases[i].peer);
        SAME(ev->scope.node, "gpu07");
        assert_int_equal(ev->fault.status, cases[i].status);
    }
    /* What Python repeats of it, and what people say of it. */
    assert_int_equal(decode("[rank1]: NET/IB : Got completion from peer 10.0.0.9<4> with status=12 "
                            "opcode=0\n# \"Got completion from peer\" with status 12\n" HEAD IB
                            "Got completion from peer 10.0.0.9<4> with status=999 opcode=0"),
                     TC_OK);
    assert_int_equal(t.count, 0);
}

static void other_faults_have_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *fault; /* NULL: none */
        const char *device;
    } cases[] = {
        {HEAD IB "mlx5_0:1 Got async event : port error", "ib_async_event", "mlx5_0"},
        {HEAD IB "Got async event : port active", NULL, NULL},
        {HEAD IB "mlx5_1:1 async fatal event on QP (0x7309): x", "ib_async_event", "mlx5_1"},
        {HEAD "misc/socket.cc:4 NCCL WARN socketStartConnect: Connect to 10.0.1.9<5> failed : "
              "Connection timed out",
         "socket_error", "10.0.1.9"},
        {HEAD "misc/socket.cc:4 NCCL WARN Connect to 10.0.1.9<5> failed : Connection refused", NULL,
         NULL},
        {HEAD
         "misc/ibvwrap.cc:2 NCCL WARN Call to ibv_modify_qp failed with error Connection timed "
         "out errno 110",
         "ib_verbs_error", ""},
        {HEAD "misc/ibvwrap.cc:2 NCCL WARN Call to ibv_reg_mr failed with error x errno 12", NULL,
         NULL},
        {HEAD "ofi:1 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 21. Error: x",
         "ofi_completion_error", ""},
        {HEAD "enqueue.cc:1 NCCL WARN Cuda failure 'unspecified launch failure'", "cuda_error", ""},
        {HEAD "enqueue.cc:1 NCCL WARN Cuda failure 719 'unspecified'", "cuda_error", ""},
        {HEAD "alloc.h:1 NCCL WARN HIP failure 'x'", "cuda_error", ""},
        {HEAD IB "req 0/1 tag 0 peer 10.0.0.6<5> collective mismatch error, local size 4 remote "
                 "size 8",
         "collective_mismatch", "10.0.0.6"},
        {HEAD
         "net_socket.cc:1 NCCL WARN NET/Socket : peer 10.0.0.6<5> message truncated : receiving "
         "8 bytes instead of 4. If you believe",
         "collective_mismatch", "10.0.0.6"},
        {HEAD "init.cc:5 NCCL WARN Duplicate GPU detected : rank 1 and rank 0", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].line), TC_OK);
        assert_int_equal(t.unknown, 0);
        assert_int_equal(t.count, cases[i].fault != NULL);
        if (t.count == 1) {
            SAME(t.events[0].fault.fault, cases[i].fault);
            SAME(t.events[0].fault.device, cases[i].device);
            SAME(t.events[0].scope.node, "gpu07");
        }
    }
}

static void the_host_is_found_behind_any_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *node;
    } cases[] = {
        {"gpu07:984:1257 [4] ", "gpu07"},
        {"[1,12]<stdout>:gpu07:984:1257 [4] ", "gpu07"},
        {"17: gpu07:984:1257 [4] ", "gpu07"},
        {"10.0.0.7: gpu07:984:1257 [4] ", "gpu07"},
        {"[2026-03-14 02:17:33] gpu07:984:1257 [4] ", "gpu07"},
        {"gpu07 [4] ", "gpu07"},
        {"Mar 14 02:17:33 host1 train.sh[80]: pod-3:984:1257 [4] ", "host1"},
        {"[pod/pod-3/pytorch] pod-3:984:1257 [4] ", ""},
        {"...-51:984:1257 [4] ", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "%snet.cc:1 NCCL WARN Cuda failure 'x'", cases[i].before);
        assert_int_equal(decode(line), TC_OK);
        SAME(only(TC_EVENT_DRIVER_FAULT)->scope.node, cases[i].node);
    }
}

static void it_is_known_by_its_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int score;
    } cases[] = {
        {HEAD "NCCL INFO Connected all rings", TC_SNIFF_LIKELY},
        {"NCCL version 2.27.3+cuda12.9", TC_SNIFF_LIKELY},
        {"hello\n[rank0]:[W ProcessGroupNCCL.cpp:1168] Warning", TC_SNIFF_LIKELY},
        {"\t   - [3] joined but didn't finish collective #300 (count from 1)", TC_SNIFF_MAYBE},
        {"", TC_SNIFF_NO},
        {"[ 5.000000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", TC_SNIFF_NO},
        {"step: 20  loss: 1.0  tps: 4,376", TC_SNIFF_NO},
        {"WARN(\"NET/IB : Got completion from peer %s with status=%d opcode=%d\", x);",
         TC_SNIFF_NO},
        {"snprintf(b, n, \"%s:%d:%d [%d] NCCL INFO \", host, pid, tid, dev);", TC_SNIFF_NO},
        {"# set NCCL_DEBUG=INFO to see NCCL INFO lines, NCCL version and ProcessGroupNCCL.cpp: x",
         TC_SNIFF_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sniff(cases[i].text), cases[i].score);
    }
}

static void odd_numbers_and_cut_lines_do_no_harm(void **state)
{
    (void)state;
    static const char whole[] = PROGRESS("1", "ID 0 PG GUID 0(default_pg) Rank 1", "7", "8", "6")
        WORK("1", "1", "7", "ALLREDUCE", "NumelIn=1, NumelOut=1, ") INIT("1", "8", "busId 101c0")
            HEAD IB "Got completion from peer 10.0.0.9<44206> with status=12 opcode=1";
    for (size_t len = 0; len < sizeof whole; len++) {
        assert_int_equal(decode_bytes(whole, len), TC_OK);
    }
    static const char *const odd[] = {
        WORK("99999999999999999999", "1", "7", "ALLREDUCE", ""),
        WORK("1", "1", "99999999999999999999", "ALLREDUCE", ""),
        PROGRESS("1", "0 Rank 1", "7", "99999999999999999999", "-5"),
        PROGRESS("1", "0 Rank 99999999999", "7", "9223372036854775807", "9223372036854775807"),
        PROGRESS("1", " Rank ", "7", "8", "6"),
        INIT("1", "99999999999999999999", "busId ffffffffffffffffffff"),
        INIT("1", "8", "busId ffffffffff"),
        "[rank1]:[E123 [PG [PG [PG 0 Rank 1] last enqueued work: 1, last completed work: 0",
        HEAD IB "Got completion from peer ",
        " [4] NCCL WARN Cuda failure 'x'",
        ":: [4] NCCL WARN Cuda failure 'x'",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(decode(odd[i]), TC_OK);
        for (size_t k = 0; k < t.count; k++) {
            assert_true(t.events[k].scope.rank >= -1 && t.events[k].scope.rank <= TC_FR_RANK_MAX);
        }
    }
    static const char nul[] = "gpu07:1:2 [0] x\0y NCCL WARN Cuda failure '\0'\n[PG \0 Rank 1]";
    assert_int_equal(decode_bytes(nul, sizeof nul - 1), TC_OK);
    size_t len = (size_t)3 * TC_LINE_MAX;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, '[', len);
    memcpy(text + TC_LINE_MAX / 2, " nranks ", 8);
    memcpy(text + 2 * TC_LINE_MAX, " nranks ", 8);
    assert_int_equal(decode_bytes(text, len), TC_OK);
    free(text);
    /* Without room for what must be made, it is left out. */
    t.arena_bytes = 16;
    assert_int_equal(
        decode(WORK("1", "1", "7", "ALLREDUCE", "NumelIn=1000000000000, NumelOut=1, ")), TC_OK);
    SAME(only(TC_EVENT_NCCL_RECORD)->nccl.sizes_in, "");
    t.scratch_bytes = 16;
    assert_int_equal(decode(INIT("1", "8", "busId 101c0")), TC_OK);
    t.refuse = TC_E_IO;
    assert_int_equal(decode(INIT("1", "8", "busId 101c0")), TC_E_IO);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_timeout_is_a_record_that_started),
        TEST(versions_without_a_prefix_count_by_the_number_in_the_group),
        TEST(progress_is_a_status_and_what_is_pending),
        TEST(the_group_of_a_timeout_is_named_close_by),
        TEST(a_transfer_is_told_once),
        TEST(a_rank_that_was_only_told_is_a_member_without_a_record),
        TEST(reports_of_desync_name_ranks),
        TEST(a_stuck_watchdog_is_a_flag_and_a_gpu_error_a_fault),
        TEST(init_lines_place_ranks),
        TEST(completions_name_node_peer_and_status),
        TEST(other_faults_have_their_names),
        TEST(the_host_is_found_behind_any_prefix),
        TEST(it_is_known_by_its_lines),
        TEST(odd_numbers_and_cut_lines_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
