/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's logs and commands. Forms are Slurm's, values are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TESTED_CODEC tc_codec_slurm
#include "unit/codec/k8s_testing.h"

struct expect {
    const char *text;
    enum tc_event_kind kind;
    const char *node;
    const char *job;
    const char *word; /* the reason of a node, "True" ...: what is left of '/' is the status */
    int64_t code;
    int64_t signal;
};

#define CONDITION TC_EVENT_NODE_CONDITION
#define ENDED TC_EVENT_RANK_EXIT
#define KILLED TC_EVENT_OOM_KILL

static void check(const struct expect *c)
{
    assert_int_equal(decode(c->text), TC_OK);
    if (t.count != 1) {
        print_error("%zu events: %s\n", t.count, c->text);
    }
    assert_int_equal(t.count, 1);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, c->kind);
    SAME(ev->scope.node, c->node);
    SAME(ev->scope.job, c->job);
    assert_int_equal(ev->scope.rank, -1);
    if (c->kind == CONDITION) {
        struct tc_slice reason;
        struct tc_slice status = tc_slice_cut(tc_slice_cstr(c->word), '/', &reason);
        SAME(ev->k8s.type, "Slurm");
        if (!tc_slice_eq(ev->k8s.reason, reason)) {
            print_error("reason %.*s: %s\n", TC_FMT(ev->k8s.reason), c->text);
        }
        assert_true(tc_slice_eq(ev->k8s.status, status));
        assert_true(tc_slice_eq(ev->k8s.reason, reason));
    } else if (c->kind == ENDED) {
        assert_int_equal(ev->exit.exit_code, c->code);
        assert_int_equal(ev->exit.signal, c->signal);
    } else {
        SAME(ev->oom.constraint, "SLURM_STEP");
    }
}

static void lines_of_logs_say_what_failed(void **state)
{
    (void)state;
    static const struct expect cases[] = {
        {"slurmstepd: error: Detected 1 oom_kill event in StepId=47.0. Some", KILLED, "", "47", "",
         0, 0},
        {"slurmstepd: error: Detected 2 oom-kill event(s) in step 47.batch cgroup.", KILLED, "",
         "47", "", 0, 0},
        {"slurmstepd: error: Step 47.0 exceeded memory limit (9 > 8), being killed", KILLED, "",
         "47", "", 0, 0},
        {"srun: error: n1: tasks 0-7: Exited with exit code 3", ENDED, "n1", "", "", 3, 0},
        {"0: srun: error: n1: task 0: Segmentation fault (core dumped)", ENDED, "n1", "", "", -1,
         11},
        {"_job_complete: JobId=47 WEXITSTATUS 1", ENDED, "", "47", "", 1, 0},
        {"_job_complete: JobId=47 WTERMSIG 9", ENDED, "", "47", "", -1, 9},
        {"srun: error: Node failure on n1", CONDITION, "n1", "", "True/Node failure", 0, 0},
        {"error: Nodes n1 not responding, setting DOWN", CONDITION, "n1", "", "True/Not responding",
         0, 0},
        {"error: Nodes n1 not responding", CONDITION, "n1", "", "Unknown/Not responding", 0, 0},
        {"update_node: node n1 reason set to: bad GPU 3", CONDITION, "n1", "", "True/bad GPU 3", 0,
         0},
        {"update_node: node n1 state set to DRAINING", CONDITION, "n1", "", "True/DRAINING", 0, 0},
        {"update_node: node n1 state set to IDLE", CONDITION, "n1", "", "False/IDLE", 0, 0},
        {"node n1 returned to service", CONDITION, "n1", "", "False/", 0, 0},
        {"slurmd error running JobId=47 on node(s)=n1: Kill task failed", CONDITION, "n1", "47",
         "True/Kill task failed", 0, 0},
        {"Aug 15 04:11:22 n1 slurmd[2]: error: [job 7] prolog failed status=1:0", CONDITION, "n1",
         "", "True/Prolog failed", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
}

static void what_somebody_wanted_is_no_failure(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "_job_complete: JobId=47 WEXITSTATUS 0",
        "_job_complete: JobId=47 WTERMSIG 0",
        "srun: error: n1: task 0: Exited with exit code 0",
        "srun: error: n1: task 0: ",
        "srun: error: Application launch failed: Job prolog failed",
        "update_node: node n1 state set to MAINT",
        "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n 47 gpu x y PD 0:00 8 (None)",
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ng* up infinite 3 mix n[1-3]",
        "g* up infinite 3 idle~ n[1-3]",
        "NodeName=n1 Arch=x86_64\n   State=IDLE+CLOUD+POWERED_DOWN ThreadsPerCore=2\n",
        "JobId=47 JobName=x\n   JobState=TIMEOUT Reason=TimeLimit\n   ExitCode=0:15\n",
        "JobID State ExitCode\n----- ----- ----\n47 COMPLETED 0:0\n48 CANCELLED by 7 0:0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        if (t.count != 0) {
            print_error("%s\n", texts[i]);
        }
        assert_int_equal(t.count, 0);
        assert_int_equal(sniff(texts[i]), TC_SNIFF_LIKELY);
    }
}

static void a_job_that_was_cancelled_is_stopped(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "slurmstepd: error: *** JOB 6 ON n1 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** STEP 6.0 ON n1 CANCELLED AT 2026-03-01T10:00:00 ***",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].kind, TC_EVENT_RANK_EXIT);
        SAME(t.events[0].exit.role, "stopped");
        SAME(t.events[0].scope.job, "6");
    }
}

static void tables_are_read_by_their_columns(void **state)
{
    (void)state;
    static const struct expect cases[] = {
        {"REASON               USER      TIMESTAMP           NODELIST\n"
         "Kill task failed     root      2026-03-01T10:00:00 n1\n",
         CONDITION, "n1", "", "True/Kill task failed", 0, 0},
        {"NODELIST   NODES PARTITION       STATE CPUS REASON\n"
         "n1 1 g idle 8 none\nn2 1 g drained* 8 bad fan\n",
         CONDITION, "n2", "", "True/bad fan", 0, 0},
        {"NODELIST|STATE|REASON\nn1|down|x y\nn2|idle|none\n", CONDITION, "n1", "", "True/x y", 0,
         0},
        {"g* up infinite 1 down* n1", CONDITION, "n1", "", "True/", 0, 0},
        {"JobID           JobName      State ExitCode \n"
         "------------ ---------- ---------- -------- \n"
         "47                   x     FAILED      1:0 \n"
         "47.batch         batch     FAILED      1:0 \n",
         ENDED, "", "47", "", 1, 0},
        {"JobIDRaw|State|ExitCode|NodeList|\n47|FAILED|0:11|n1|\n", ENDED, "n1", "47", "", -1, 11},
        {"JobID|State|ExitCode|NodeList\n47_2|OUT_OF_ME+|0:125|n[1-2]\n", KILLED, "", "47_2", "", 0,
         0},
        {"NodeName=n1 Arch=x86_64\n   State=IDLE+DRAIN ThreadsPerCore=2\n"
         "   Reason=bad fan [root@2026-03-01T10:00:00]\n",
         CONDITION, "n1", "", "True/bad fan", 0, 0},
        {"JobId=47 JobName=x\n   JobState=FAILED Reason=NonZeroExitCode\n   ExitCode=2:0\n"
         "   NodeList=n1\n",
         ENDED, "n1", "47", "", 2, 0},
        {"Job ID: 47\nCluster: c\nState: OUT_OF_MEMORY (exit code 0)\n", KILLED, "", "47", "", 0,
         0},
        {"{\"nodes\":[{\"name\":\"n1\",\"state\":[\"IDLE\",\"DRAIN\"],\"reason\":\"fan\"},"
         "{\"name\":\"n2\",\"state\":[\"IDLE\"],\"reason\":\"\"}]}",
         CONDITION, "n1", "", "True/fan", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
    assert_int_equal(decode(cases[0].text), TC_OK);
    assert_true(t.events[0].time_ns == at("2026-03-01T10:00:00Z"));
    assert_int_equal(decode(cases[7].text), TC_OK);
    assert_true(t.events[0].time_ns == at("2026-03-01T10:00:00Z"));
}

static void lists_of_hosts_are_taken_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"n03", "n07", "n08", "m1-ib", "x"};
    assert_int_equal(decode("error: Nodes n[03,07-08],m[1]-ib,x not responding, setting DOWN"),
                     TC_OK);
    assert_int_equal(t.count, 5);
    for (size_t i = 0; i < 5; i++) {
        SAME(t.events[i].scope.node, names[i]);
    }
    static const char *const bad[] = {
        "n[",     "n[1-", "n[9-1]", "n[1-99999999]",
        "n[a-b]", ",",    "n[]",    "n[18446744073709551615-18446744073709551616]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "error: Nodes %s not responding, setting DOWN", bad[i]);
        assert_int_equal(decode(text), TC_OK);
        assert_true(t.count <= 1);
    }
}

static void srun_and_slurmstepd_know_more_together(void **state)
{
    (void)state;
    assert_int_equal(decode("slurmstepd: error: Detected 1 oom_kill event in StepId=47.0. Some\n"
                            "something else\n"
                            "srun: error: n1: task 0: Out Of Memory\n"),
                     TC_OK);
    assert_int_equal(t.count, 3);
    for (size_t i = 0; i < 3; i++) {
        SAME(t.events[i].scope.node, "n1");
        SAME(t.events[i].scope.job, "47");
    }
    assert_int_equal(t.events[1].kind, KILLED);
    assert_int_equal(t.events[2].kind, ENDED);
    assert_int_equal(t.events[2].exit.signal, 9);
}

#define TASK(node, task) "srun: error: " node ": task " task ": Bus error\n"

static void tasks_are_ranks_unless_they_are_launchers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t rank;
    } cases[] = {
        {TASK("n1", "3"), 3},
        {TASK("n1", "3") "srun: error: n2: tasks 4-7: Terminated\n", 3},
        {TASK("n1", "1") TASK("n1", "0"), 1},
        {"SLURM_NTASKS=2\nWORLD_SIZE=2\n" TASK("n2", "1") TASK("n1", "0"), 1},
        {"srun: error: n1: tasks 3,5: Bus error\n", -1},
        /* Of a job that has but this one, and of one on each node. */
        {TASK("n1", "0"), -1},
        {TASK("n2", "1") TASK("n1", "0"), -1},
        {"SLURM_NTASKS_PER_NODE=1\n" TASK("n2", "1"), -1},
        {"SLURM_NTASKS=2\nWORLD_SIZE=16\n" TASK("n2", "1"), -1},
        {"+ srun torchrun --nnodes 4 train.py\n" TASK("n2", "1"), -1},
        {TASK("n2", "1") "[launch.py:319:sigkill_handler] Killing subprocess 7\n", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        assert_true(t.count >= 1);
        if (t.events[0].scope.rank != cases[i].rank) {
            print_error("%s\n", cases[i].text);
        }
        assert_int_equal(t.events[0].scope.rank, cases[i].rank);
    }
}

static void examples_and_what_is_over_give_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "srun: error: <node>: task N: Bus error",
        "Last week it ended with\n\n> " TASK("n1", "3") "\nThe board was replaced.\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
    assert_int_equal(decode("It ended with\n\n> " TASK("n1", "3")), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(sniff("# Runbook\n\n" TASK("n1", "3")), TC_SNIFF_NO);
    assert_int_equal(sniff(TASK("n1", "3")), TC_SNIFF_LIKELY);
}

static void a_small_arena_is_an_error(void **state)
{
    (void)state;
    t.arena_bytes = 16;
    assert_int_equal(decode("error: Nodes n[01-09] not responding, setting DOWN"), TC_E_NOMEM);
}

static void every_cut_is_read_and_others_are_left_alone(void **state)
{
    (void)state;
    static const char text[] = "REASON USER TIMESTAMP NODELIST\nx root 2026-03-01T10:00:00 n[1-2]\n"
                               "JobID|State|ExitCode\n1|FAILED|1:0\nNodeName=n1 State=DOWN "
                               "Reason=x [r@2026-03-01T10:00:00]\n"
                               "\0\n{\"nodes\":[{\"name\":\"n1\",\"state\":\"DOWN\"}]}\n";
    for (size_t len = 0; len < sizeof text; len++) {
        assert_int_equal(decode_bytes(text, len), TC_OK);
    }
    assert_int_equal(t.count, 5);
    static const char *const others[] = {
        "# HELP up Whether\nup 1\n",     "it went up to 3 times higher\n",
        "Job one, Step two\n",           "[  12.3] NVRM: Xid (PCI:0000:b3:00): 79\n",
        "<html>NODELIST STATE</html>\n", ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(sniff(others[i]), TC_SNIFF_NO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines_of_logs_say_what_failed, setup),
        cmocka_unit_test_setup(what_somebody_wanted_is_no_failure, setup),
        cmocka_unit_test_setup(a_job_that_was_cancelled_is_stopped, setup),
        cmocka_unit_test_setup(tables_are_read_by_their_columns, setup),
        cmocka_unit_test_setup(lists_of_hosts_are_taken_apart, setup),
        cmocka_unit_test_setup(srun_and_slurmstepd_know_more_together, setup),
        cmocka_unit_test_setup(tasks_are_ranks_unless_they_are_launchers, setup),
        cmocka_unit_test_setup(examples_and_what_is_over_give_nothing, setup),
        cmocka_unit_test_setup(a_small_arena_is_an_error, setup),
        cmocka_unit_test_setup(every_cut_is_read_and_others_are_left_alone, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
