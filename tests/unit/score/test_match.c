/* SPDX-License-Identifier: Apache-2.0 */
/* Which verdict proves which fault. Everything is made up. */
#include "unit/score/score_testing.h"

#include <stdio.h>
#include <stdlib.h>

#define N1 NODE("n1")
#define F1 RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:10:00", N1)

static void expect(const char *truth, const char *verdicts, uint64_t tp, uint64_t fp, uint64_t fn)
{
    struct tc_score_row row = score_of(truth, verdicts);
    assert_int_equal(row.true_positives, tp);
    assert_int_equal(row.false_positives, fp);
    assert_int_equal(row.false_negatives, fn);
}

static void a_verdict_of_the_pattern_place_and_time_is_a_true_positive(void **state)
{
    (void)state;
    struct tc_score_row row = score_of(F1, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:30", N1));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.false_positives, 0);
    assert_int_equal(row.false_negatives, 0);
    assert_int_equal(row.culprits_right, 1);
    assert_int_equal(row.discriminators_stated, 0);
}

static void another_pattern_proves_nothing(void **state)
{
    (void)state;
    expect(F1, VERDICT("a", "pod_evicted", "01:00:00", "01:00:30", N1), 0, 1, 1);
}

static void nothing_raised_and_nothing_injected(void **state)
{
    (void)state;
    expect(F1, "", 0, 0, 1);
    expect(RUN, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:30", N1), 0, 1, 0);
    expect(RUN, "", 0, 0, 0);
}

/* The fault lasts from 01:00 to 01:10; the grace is five minutes. */
static void both_edges_of_the_grace(void **state)
{
    (void)state;
    expect(F1, VERDICT("a", "hbm_ecc", "01:15:00", "02:00:00", N1), 1, 0, 0);
    expect(F1, VERDICT("a", "hbm_ecc", "01:15:00.000000001", "02:00:00", N1), 0, 1, 1);
    expect(F1, VERDICT("a", "hbm_ecc", "00:10:00", "00:55:00", N1), 1, 0, 0);
    expect(F1, VERDICT("a", "hbm_ecc", "00:10:00", "00:54:59.999999999", N1), 0, 1, 1);
    /* Longer than the fault on both sides, and inside of it. */
    expect(F1, VERDICT("a", "hbm_ecc", "00:00:00", "03:00:00", N1), 1, 0, 0);
    expect(F1, VERDICT("a", "hbm_ecc", "01:04:00", "01:05:00", N1), 1, 0, 0);
}

static void the_grace_is_an_option(void **state)
{
    (void)state;
    static const struct {
        int64_t grace_ns;
        uint64_t tp;
    } cases[] = {{0, 0}, {20 * TC_SECOND - 1, 0}, {20 * TC_SECOND, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_score *s = new_score(cases[i].grace_ns, 0);
        size_t count = 0;
        add_pair(s, "t", F1, VERDICT("a", "hbm_ecc", "01:10:20", "01:10:20", N1));
        assert_int_equal(tc_score_rows(s, &count)[count - 1].true_positives, cases[i].tp);
        tc_score_destroy(s);
    }
}

static void every_kind_of_place_counts(void **state)
{
    (void)state;
    const char *truth =
        RUN FAULT_WITH("f1", "hbm_ecc", "01:00:00", "01:10:00",
                       N1 "," UUID("GPU-1") "," POD("ns", "p") "," JOB("j"),
                       ",\"affected_pods\":[\"ns/q\",\"bare\"],\"affected_ranks\":[3,4]");
    static const char *const same[] = {N1,
                                       UUID("GPU-1"),
                                       POD("ns", "p"),
                                       POD("ns", "q"),
                                       "\"k8s.pod.name\":\"bare\"",
                                       JOB("j"),
                                       "\"rank\":4",
                                       CULPRITS("[9,3]"),
                                       "\"tracecore.alert.x.ranks\":[4]",
                                       "\"tracecore.alert.thermal_throttle.nodes\":[\"n0\",\"n1\"]",
                                       JOB("j") "," NODE("n9")};
    static const char *const other[] = {NODE("n2"),
                                        UUID("GPU-2"),
                                        POD("other", "p"),
                                        POD("ns", "r"),
                                        "\"k8s.pod.name\":\"p\"",
                                        JOB("k"),
                                        "\"rank\":5",
                                        JOB("k") ",\"rank\":4",
                                        "\"tracecore.alert.thermal_throttle.nodes\":[\"n0\"]",
                                        "\"k8s.pod.uid\":\"n1\""};
    char line[1024];
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        (void)snprintf(line, sizeof line, "%.*s%s}\n",
                       (int)(strlen(VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", "")) - 2),
                       VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", ""), same[i]);
        expect(truth, line, 1, 0, 0);
    }
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        (void)snprintf(line, sizeof line, "%.*s%s}\n",
                       (int)(strlen(VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", "")) - 2),
                       VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", ""), other[i]);
        expect(truth, line, 0, 1, 1);
    }
}

/* Without a job on one of the two sides a rank is a place; between two jobs it is not. */
static void ranks_are_a_place_unless_two_jobs_are_named(void **state)
{
    (void)state;
    const char *no_job = RUN FAULT("f1", "nccl_hang", "01:00:00", "01:00:00", "\"ranks\":[5]");
    const char *job = RUN FAULT("f1", "nccl_hang", "01:00:00", "01:00:00", JOB("j") ",\"rank\":5");
    const char *plain = VERDICT("a", "nccl_hang", "01:00:00", "01:00:00", CULPRITS("[5]"));
    const char *in_k = VERDICT("a", "nccl_hang", "01:00:00", "01:00:00", JOB("k") ",\"rank\":5");
    expect(no_job, plain, 1, 0, 0);
    expect(no_job, in_k, 1, 0, 0);
    expect(job, plain, 1, 0, 0);
    expect(job, in_k, 0, 1, 1);
}

static void culprit_right(const char *culprit, const char *named, bool right)
{
    char truth[1024];
    char verdict[1024];
    (void)snprintf(truth, sizeof truth,
                   RUN "{\"truth\":\"fault\",\"id\":\"f\",\"pattern\":\"nccl_hang\",\"start\":" AT(
                       "01:00:00") ",\"end\":" AT("01:00:00") ",\"culprit\":{%s},"
                                                              "\"affected_pods\":[\"x/x\"]}\n",
                   culprit);
    (void)snprintf(verdict, sizeof verdict,
                   "{\"pattern.name\":\"nccl_hang\",\"incident_id\":\"a\",\"status\":\"resolved\","
                   "\"first_seen\":" AT("01:00:00") ",\"last_seen\":" AT("01:00:00") ",%s}\n",
                   named);
    struct tc_score_row row = score_of(truth, verdict);
    assert_int_equal(row.true_positives, 1);
    if (row.culprits_right != right) {
        fail_msg("%s named as %s", culprit, named);
    }
}

static void a_right_culprit_needs_all_keys(void **state)
{
    (void)state;
    culprit_right(N1 "," POD("ns", "p"), N1 "," POD("ns", "p"), true);
    culprit_right(N1 "," POD("ns", "p"), N1 "," POD("ns", "q"), false);
    culprit_right(N1 "," POD("ns", "p"), N1, false);
    culprit_right(N1 "," JOB("j"), NODE("n2") "," JOB("j"), false);
    culprit_right(N1, N1 "," JOB("more is fine"), true);
    culprit_right(N1, "\"tracecore.alert.thermal_throttle.nodes\":[\"n0\",\"n1\"]", true);
    culprit_right(N1 ",\"device\":\"eth0\"", N1 ",\"tracecore.alert.x.device\":\"eth0\"", true);
    culprit_right(N1 ",\"device\":\"eth0\"", N1 ",\"tracecore.alert.x.device\":\"eth1\"", false);
    culprit_right(N1 ",\"device\":\"vol\"", N1 ",\"tracecore.alert.x.volume\":\"vol\"", true);
    culprit_right(N1 ",\"device\":\"eth0\"", N1, false);
}

/* uuid, else node and address, else node and index: the strongest that both carry. */
static void a_gpu_is_one_identity(void **state)
{
    (void)state;
    const char *gpu = N1 "," UUID("GPU-1") ",\"pci.bdf\":\"0000:1b:00.0\",\"gpu.index\":0";
    culprit_right(gpu, N1 "," UUID("GPU-1"), true);
    culprit_right(gpu, N1 "," UUID("GPU-2"), false);
    culprit_right(gpu, N1 "," UUID("GPU-2") ",\"gpu.index\":0", false);
    culprit_right(gpu, N1 ",\"pci.bdf\":\"1b:00.0\"", true);
    culprit_right(gpu, N1 ",\"pci.bdf\":\"0000:1c:00.0\"", false);
    culprit_right(gpu, N1 ",\"pci.bdf\":\"0000:1c:00.0\",\"gpu.index\":0", false);
    culprit_right(gpu, N1 ",\"gpu.index\":0", true);
    culprit_right(gpu, N1 ",\"gpu.index\":1", false);
    culprit_right(gpu, N1, false);
    culprit_right(UUID("GPU-1"), NODE("n2") "," UUID("GPU-1"), true);
    culprit_right(JOB("j") ",\"gpu.index\":0", JOB("j") ",\"gpu.index\":0", false);
}

static void the_set_of_ranks_has_to_be_equal(void **state)
{
    (void)state;
    culprit_right(JOB("j") ",\"ranks\":[5,6]", JOB("j") "," CULPRITS("[6,5,5]"), true);
    culprit_right(JOB("j") ",\"ranks\":[5,6]", JOB("j") "," CULPRITS("[5]"), false);
    culprit_right(JOB("j") ",\"ranks\":[5,6]", JOB("j") "," CULPRITS("[5,6,7]"), false);
    culprit_right(JOB("j") ",\"ranks\":[5]", JOB("j") ",\"rank\":5", true);
    culprit_right(JOB("j") ",\"ranks\":[5]", JOB("j") ",\"rank\":6", false);
    culprit_right(JOB("j") ",\"ranks\":[5]", JOB("j"), false);
    culprit_right(JOB("j") ",\"rank\":5", JOB("j") ",\"rank\":5," CULPRITS("[5,6]"), true);
    culprit_right(JOB("j") ",\"rank\":5", JOB("j") "," CULPRITS("[5]"), true);
    culprit_right(JOB("j") ",\"rank\":5", JOB("j") "," CULPRITS("[5,6]"), false);
}

#define TWO_GPUS                                                             \
    RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:00:00", N1 "," UUID("GPU-1")) \
        FAULT("f2", "hbm_ecc", "01:01:00", "01:01:00", N1 "," UUID("GPU-2"))

static void the_right_culprit_comes_before_the_nearest_start(void **state)
{
    (void)state;
    struct tc_score_row row = score_of(
        TWO_GPUS, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", N1 "," UUID("GPU-2"))
                      VERDICT("b", "hbm_ecc", "01:01:00", "01:01:00", N1 "," UUID("GPU-1")));
    assert_int_equal(row.true_positives, 2);
    assert_int_equal(row.culprits_right, 2);
}

static void the_right_discriminator_comes_before_the_nearest_start(void **state)
{
    (void)state;
    const char *truth =
        RUN FAULT_WITH("f1", "hbm_ecc", "01:00:00", "01:00:00", N1, "," DISC("contained"))
            FAULT_WITH("f2", "hbm_ecc", "01:01:00", "01:01:00", N1, "," DISC("uncontained"));
    struct tc_score_row row = score_of(
        truth, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", N1 "," DISC("uncontained"))
                   VERDICT("b", "hbm_ecc", "01:01:00", "01:01:00", N1 "," DISC("contained")));
    assert_int_equal(row.discriminators_stated, 2);
    assert_int_equal(row.discriminators_right, 2);
    row = score_of(truth, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", N1 "," DISC("x"))
                              VERDICT("b", "hbm_ecc", "01:01:00", "01:01:00", N1));
    assert_int_equal(row.true_positives, 2);
    assert_int_equal(row.discriminators_right, 0);
}

/* Times to detection tell who was paired with whom. */
static void the_nearest_start_decides(void **state)
{
    (void)state;
    const char *truth = RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:00:00", N1)
        FAULT("f2", "hbm_ecc", "01:02:00", "01:02:00", N1);
    struct tc_score_row row = score_of(
        truth,
        VERDICT("a", "hbm_ecc", "01:02:10", "01:02:10", N1 ",\"detected_at\":" AT("01:02:10"))
            VERDICT("b", "hbm_ecc", "01:00:03", "01:00:03", N1 ",\"detected_at\":" AT("01:00:03")));
    assert_int_equal(row.median_ns, 3 * TC_SECOND);
    assert_int_equal(row.p95_ns, 10 * TC_SECOND);
}

static void a_second_verdict_is_a_duplicate_and_false(void **state)
{
    (void)state;
    struct tc_score_row row =
        score_of(F1, VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", N1)
                         VERDICT("b", "hbm_ecc", "01:01:00", "01:01:00", N1)
                             VERDICT("c", "hbm_ecc", "01:01:00", "01:01:00", NODE("n3")));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.false_positives, 2);
    assert_int_equal(row.duplicates, 1);
}

static void the_last_line_of_an_incident_counts(void **state)
{
    (void)state;
    const char *truth =
        RUN FAULT_WITH("f1", "hbm_ecc", "01:00:00", "01:00:00", N1, "," DISC("remap_failed"));
    struct tc_score_row row = score_of(
        truth, VERDICT("a", "hbm_ecc", "01:00:01", "01:00:02", N1 "," DISC("remap_pending"))
                   VERDICT("a", "hbm_ecc", "01:00:01", "01:09:00", N1 "," DISC("remap_failed")));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.false_positives, 0);
    assert_int_equal(row.discriminators_right, 1);
}

static void detected_at_is_the_time_of_detection(void **state)
{
    (void)state;
    const char *truth = RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:10:00", N1);
    struct tc_score_row row = score_of(
        truth,
        VERDICT("a", "hbm_ecc", "01:00:01", "01:00:02", N1 ",\"detected_at\":" AT("01:00:07.5"))
            VERDICT("a", "hbm_ecc", "01:00:01", "01:09:00", N1 ",\"detected_at\":" AT("01:09:00")));
    assert_int_equal(row.median_ns, 7 * TC_SECOND + TC_SECOND / 2);
    /* Before the fault started: 0. */
    row = score_of(truth, VERDICT("a", "hbm_ecc", "00:58:00", "00:59:00",
                                  N1 ",\"detected_at\":" AT("00:59:00")));
    assert_int_equal(row.median_ns, 0);
    assert_int_equal(row.p95_ns, 0);
    /* Raised only because the input ended. */
    row = score_of(truth, VERDICT("a", "hbm_ecc", "01:00:01", "01:00:02", N1));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.median_ns, TC_SCORE_NO_TIME);
    row = score_of(truth, "");
    assert_int_equal(row.median_ns, TC_SCORE_NO_TIME);
    assert_int_equal(row.p95_ns, TC_SCORE_NO_TIME);
}

#define HANG RUN FAULT("f1", "nccl_hang", "01:00:00", "01:10:00", JOB("j") ",\"ranks\":[5]")
#define HUNG(id, more) \
    VERDICT(id, "nccl_hang", "01:00:00", "01:00:00", JOB("j") "," CULPRITS("[5]") more)

static void a_cascade_is_explained(void **state)
{
    (void)state;
    struct tc_score_row row =
        score_of(HANG, HUNG("a", "," CAUSED_BY("b")) HUNG("b", "," CAUSED_BY("c")) HUNG("c", ""));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.explained, 2);
    assert_int_equal(row.false_positives, 0);
}

/* The root is the proof even when a consequence is nearer or has the lower id. */
static void the_root_of_a_cascade_is_paired(void **state)
{
    (void)state;
    struct tc_score_row row =
        score_of(HANG, HUNG("a", "," CAUSED_BY("z")) VERDICT(
                           "z", "nccl_hang", "01:00:30", "01:00:30",
                           JOB("j") "," CULPRITS("[5]") ",\"detected_at\":" AT("01:00:30")));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.explained, 1);
    assert_int_equal(row.false_positives, 0);
    assert_int_equal(row.median_ns, 30 * TC_SECOND);
}

/* A memory error that evicts a pod, and what is told of the two. */
static void expect_roots(const char *verdicts, uint64_t cascades, uint64_t roots_first)
{
    struct tc_score_row all =
        score_of(RUN FAULT("a", "hbm_ecc", "10:00:00", "10:00:00", NODE("n1"))
                     FAULT_WITH("b", "pod_evicted", "10:01:00", "10:01:00", POD("t", "p"),
                                ",\"caused_by\":[\"a\"]")
                         FAULT("c", "thermal_throttle", "10:00:00", "10:00:00", NODE("n9")),
                 verdicts);
    assert_int_equal(all.cascades, cascades);
    assert_int_equal(all.roots_first, roots_first);
}

#define IN_STORY(id, more) "\"incident_group\":\"" id "\"," more
#define ROOT "\"root\":true,"

static void the_root_of_a_cascade_is_told_first_or_not(void **state)
{
    (void)state;
    static const char HBM[] =
        VERDICT("v1", "hbm_ecc", "10:00:00", "10:00:01", ROOT IN_STORY("v1", NODE("n1")));
    char both[2048];
    expect_roots(HBM, 1, 1); /* what it caused was missed, which is counted elsewhere */
    (void)snprintf(
        both, sizeof both, "%s%s", HBM,
        VERDICT("v2", "pod_evicted", "10:01:00", "10:01:00", IN_STORY("v1", POD("t", "p"))));
    expect_roots(both, 1, 1);
    (void)snprintf(
        both, sizeof both, "%s%s", HBM,
        VERDICT("v2", "pod_evicted", "10:01:00", "10:01:00", ROOT IN_STORY("v2", POD("t", "p"))));
    expect_roots(both, 1, 0); /* two stories */
    expect_roots(VERDICT("v1", "hbm_ecc", "10:00:00", "10:00:01", IN_STORY("v2", NODE("n1")))
                     VERDICT("v2", "pod_evicted", "10:01:00", "10:01:00",
                             ROOT IN_STORY("v2", POD("t", "p"))),
                 1, 0); /* the wrong way round */
    expect_roots(
        VERDICT("v2", "pod_evicted", "10:01:00", "10:01:00", ROOT IN_STORY("v2", POD("t", "p"))), 1,
        0); /* the root was missed */
}

static void only_a_paired_verdict_of_the_pattern_explains(void **state)
{
    (void)state;
    /* Nothing is paired: a circle of two explains nothing. */
    struct tc_score_row row =
        score_of(RUN, HUNG("a", "," CAUSED_BY("b")) HUNG("b", "," CAUSED_BY("a")));
    assert_int_equal(row.explained, 0);
    assert_int_equal(row.false_positives, 2);
    /* A cause of another pattern, one that is not there, and itself. */
    row = score_of(F1,
                   VERDICT("p", "hbm_ecc", "01:00:00", "01:00:00", N1) HUNG("a", "," CAUSED_BY("p"))
                       HUNG("b", "," CAUSED_BY("gone")) HUNG("c", "," CAUSED_BY("c")));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.explained, 0);
    assert_int_equal(row.false_positives, 3);
    /* What caused the paired verdict is not explained by it. */
    row = score_of(HANG, HUNG("a", "," CAUSED_BY("b"))
                             VERDICT("b", "nccl_hang", "01:00:00", "01:00:00", JOB("k")));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.explained, 0);
    assert_int_equal(row.false_positives, 1);
}

static void noise_is_a_true_negative_unless_it_fooled_a_verdict(void **state)
{
    (void)state;
    const char *truth = RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:00:00", N1)
        NOISE("n1", "hbm_ecc", "01:00:30", "01:00:30", N1)
            NOISE("n2", "hbm_ecc", "01:00:30", "01:00:30", NODE("n2"));
    /* The verdict that proves the fault is near the noise, and is right all the same. */
    struct tc_score_row row = score_of(truth, VERDICT("a", "hbm_ecc", "01:00:10", "01:00:10", N1));
    assert_int_equal(row.true_positives, 1);
    assert_int_equal(row.noises, 2);
    assert_int_equal(row.true_negatives, 2);
    row = score_of(truth, VERDICT("a", "hbm_ecc", "01:00:10", "01:00:10", N1)
                              VERDICT("b", "hbm_ecc", "01:05:30", "01:05:30", NODE("n2")));
    assert_int_equal(row.false_positives, 1);
    assert_int_equal(row.true_negatives, 1);
    row = score_of(truth, VERDICT("a", "hbm_ecc", "01:00:10", "01:00:10", N1)
                              VERDICT("b", "hbm_ecc", "01:05:30.001", "01:05:31", NODE("n2")));
    assert_int_equal(row.false_positives, 1);
    assert_int_equal(row.true_negatives, 2);
}

/* ---- many ---------------------------------------------------------------------------------- */

static uint32_t chance(uint32_t *io_seed)
{
    *io_seed = *io_seed * 1664525U + 1013904223U;
    return *io_seed >> 8;
}

static void shuffle(char (*lines)[512], size_t count, uint32_t *io_seed)
{
    char line[512];
    for (size_t i = count; i > 1; i--) {
        size_t j = chance(io_seed) % i;
        memcpy(line, lines[i - 1], sizeof line);
        memcpy(lines[i - 1], lines[j], sizeof line);
        memcpy(lines[j], line, sizeof line);
    }
}

static char *join(const char *head, char (*lines)[512], size_t count)
{
    char *text = calloc(count + 1, 512);
    assert_non_null(text);
    size_t len = strlen(head);
    memcpy(text, head, len);
    for (size_t i = 0; i < count; i++) {
        size_t more = strlen(lines[i]);
        memcpy(text + len, lines[i], more);
        len += more;
    }
    return text;
}

#define LINES 120

/* Places are few and times are close, so that nearly everything competes. */
static void any_order_of_lines_gives_the_same_bytes(void **state)
{
    (void)state;
    static char truths[LINES][512];
    static char verdicts[LINES][512];
    static struct printed first;
    static struct printed now;
    uint32_t seed = 7;
    for (unsigned i = 0; i < LINES; i++) {
        (void)snprintf(truths[i], sizeof truths[i],
                       "{\"truth\":\"%s\",\"id\":\"t%03u\",\"pattern\":\"hbm_ecc\","
                       "\"start\":\"2026-03-02T01:%02u:00Z\",\"end\":\"2026-03-02T01:%02u:00Z\","
                       "\"discriminator\":\"d%u\",\"culprit\":{\"k8s.node.name\":\"n%u\","
                       "\"gpu.index\":%u}}\n",
                       i % 5 == 0 ? "noise" : "fault", i, chance(&seed) % 30,
                       30 + chance(&seed) % 10, chance(&seed) % 2, chance(&seed) % 8,
                       chance(&seed) % 4);
        (void)snprintf(verdicts[i], sizeof verdicts[i],
                       "{\"pattern.name\":\"hbm_ecc\",\"incident_id\":\"v%03u\",\"status\":"
                       "\"open\",\"first_seen\":\"2026-03-02T01:%02u:00Z\",\"last_seen\":"
                       "\"2026-03-02T01:%02u:00Z\",\"discriminator\":\"d%u\",\"k8s.node.name\":"
                       "\"n%u\",\"gpu.index\":%u,\"caused_by\":[{\"incident_id\":\"v%03u\"}]}\n",
                       i, chance(&seed) % 30, 30 + chance(&seed) % 10, chance(&seed) % 2,
                       chance(&seed) % 9, chance(&seed) % 4, chance(&seed) % (3 * LINES));
    }
    for (unsigned round = 0; round < 50; round++) {
        struct tc_score *s = new_score(60 * TC_SECOND, 200);
        char *truth = join(RUN, truths, LINES);
        char *text = join("", verdicts, LINES);
        struct printed *p = round == 0 ? &first : &now;
        *p = (struct printed){0};
        add_pair(s, "t", truth, text);
        assert_int_equal(tc_score_report_json(s, print, p), TC_OK);
        assert_string_equal(p->text, first.text);
        free(truth);
        free(text);
        tc_score_destroy(s);
        shuffle(truths, LINES, &seed);
        shuffle(verdicts, LINES, &seed);
    }
    assert_non_null(strstr(first.text, "duplicate_of"));
    assert_non_null(strstr(first.text, "\"noise\":"));
}

#define CROWD 3000

/* One node and one moment: all fit all. Every fault finds a verdict of its own. */
static void a_crowd_at_one_place_is_paired_to_the_last(void **state)
{
    (void)state;
    static char truths[CROWD][512];
    static char verdicts[CROWD][512];
    for (unsigned spread = 0; spread < 3; spread++) {
        for (unsigned i = 0; i < CROWD; i++) {
            (void)snprintf(
                truths[i], sizeof truths[i],
                "{\"truth\":\"fault\",\"id\":\"t%04u\",\"pattern\":\"hbm_ecc\","
                "\"start\":\"2026-03-02T01:00:00.%09uZ\",\"end\":\"2026-03-02T01:10:00Z\","
                "\"culprit\":{\"k8s.node.name\":\"n1\"}}\n",
                i, spread == 0 ? 0 : i);
            (void)snprintf(verdicts[i], sizeof verdicts[i],
                           "{\"pattern.name\":\"hbm_ecc\",\"incident_id\":\"v%04u\",\"status\":"
                           "\"open\",\"first_seen\":\"2026-03-02T01:03:00.%09uZ\",\"last_seen\":"
                           "\"2026-03-02T01:04:00Z\",\"k8s.node.name\":\"n1\"}\n",
                           i, spread == 2 ? i : 0);
        }
        char *truth = join(RUN, truths, CROWD);
        char *text = join("", verdicts, CROWD);
        expect(truth, text, CROWD, 0, 0);
        free(truth);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_of_the_pattern_place_and_time_is_a_true_positive),
        cmocka_unit_test(another_pattern_proves_nothing),
        cmocka_unit_test(nothing_raised_and_nothing_injected),
        cmocka_unit_test(both_edges_of_the_grace),
        cmocka_unit_test(the_grace_is_an_option),
        cmocka_unit_test(every_kind_of_place_counts),
        cmocka_unit_test(ranks_are_a_place_unless_two_jobs_are_named),
        cmocka_unit_test(a_right_culprit_needs_all_keys),
        cmocka_unit_test(a_gpu_is_one_identity),
        cmocka_unit_test(the_set_of_ranks_has_to_be_equal),
        cmocka_unit_test(the_right_culprit_comes_before_the_nearest_start),
        cmocka_unit_test(the_right_discriminator_comes_before_the_nearest_start),
        cmocka_unit_test(the_nearest_start_decides),
        cmocka_unit_test(a_second_verdict_is_a_duplicate_and_false),
        cmocka_unit_test(the_last_line_of_an_incident_counts),
        cmocka_unit_test(detected_at_is_the_time_of_detection),
        cmocka_unit_test(a_cascade_is_explained),
        cmocka_unit_test(the_root_of_a_cascade_is_paired),
        cmocka_unit_test(the_root_of_a_cascade_is_told_first_or_not),
        cmocka_unit_test(only_a_paired_verdict_of_the_pattern_explains),
        cmocka_unit_test(noise_is_a_true_negative_unless_it_fooled_a_verdict),
        cmocka_unit_test(any_order_of_lines_gives_the_same_bytes),
        cmocka_unit_test(a_crowd_at_one_place_is_paired_to_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
