/* SPDX-License-Identifier: Apache-2.0 */
/* Figures worked out by hand, the table, the lists and the JSON. */
#include "unit/score/score_testing.h"

#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>

#define N1 NODE("n1")

static struct printed out;

static const char *text_of(struct tc_score *s)
{
    out = (struct printed){0};
    assert_int_equal(tc_score_report_text(s, print, &out), TC_OK);
    return out.text;
}

static struct tc_json json_of(struct tc_score *s, struct tc_json_parser *parser)
{
    struct tc_json root;
    out = (struct printed){0};
    assert_int_equal(tc_score_report_json(s, print, &out), TC_OK);
    assert_int_equal(tc_json_parse(parser, tc_slice_make(out.text, out.len), &root, NULL), TC_OK);
    return root;
}

/* n true positives whose times to detection are 1 s, 2 s ... n s, in a mixed-up order. */
static struct tc_score_row delays_of(unsigned n)
{
    struct tc_score *s = new_score(300 * TC_SECOND, 0);
    size_t count = 0;
    for (unsigned i = 0; i < n; i++) {
        char truth[512];
        char verdict[512];
        unsigned seconds = (i * 7 + 3) % n + 1; /* n is no multiple of 7 */
        (void)snprintf(truth, sizeof truth, "%s",
                       RUN FAULT("f", "hbm_ecc", "01:00:00", "01:00:00", N1));
        (void)snprintf(verdict, sizeof verdict,
                       "{\"pattern.name\":\"hbm_ecc\",\"incident_id\":\"a\",\"status\":\"open\","
                       "\"first_seen\":" AT("01:00:00") ",\"last_seen\":" AT(
                           "01:00:00") ",\"detected_at\":\"2026-03-02T01:%02u:%02uZ\",\"k8s.node."
                                       "name\":\"n1\"}",
                       seconds / 60, seconds % 60);
        add_pair(s, "t", truth, verdict);
    }
    struct tc_score_row row = tc_score_rows(s, &count)[0];
    assert_int_equal(count, 2);
    assert_int_equal(row.true_positives, n);
    tc_score_destroy(s);
    return row;
}

static void percentiles_are_the_nearest_rank(void **state)
{
    (void)state;
    static const struct {
        unsigned n, median, p95;
    } cases[] = {{1, 1, 1},    {2, 1, 2},     {3, 2, 3},    {4, 2, 4},    {5, 3, 5},
                 {10, 5, 10},  {19, 10, 19},  {20, 10, 19}, {22, 11, 21}, {40, 20, 38},
                 {41, 21, 39}, {100, 50, 95}, {101, 51, 96}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_score_row row = delays_of(cases[i].n);
        assert_int_equal(row.median_ns, cases[i].median * TC_SECOND);
        assert_int_equal(row.p95_ns, cases[i].p95 * TC_SECOND);
    }
}

static void shares_are_of_what_there_is(void **state)
{
    (void)state;
    struct tc_score_row row = {.faults = 4,
                               .true_positives = 3,
                               .false_positives = 1,
                               .false_negatives = 1,
                               .culprits_right = 1};
    double share = -1;
    assert_true(tc_score_precision(&row, &share) && share == 0.75);
    assert_true(tc_score_recall(&row, &share) && share == 0.75);
    assert_true(tc_score_culprit(&row, &share) && share == 1.0 / 3);
    row = (struct tc_score_row){0};
    share = -1;
    assert_false(tc_score_precision(&row, &share));
    assert_false(tc_score_recall(&row, &share));
    assert_false(tc_score_culprit(&row, &share));
    assert_true(share == -1);
}

#define MIXED_TRUTH                                                                          \
    RUN FAULT_WITH("f1", "hbm_ecc", "01:00:00", "01:00:00", N1, "," DISC("contained"))       \
        FAULT("f2", "hbm_ecc", "03:00:00", "03:00:00", NODE("n2") "," UUID("GPU-2"))         \
            FAULT_WITH("f3", "nccl_hang", "01:00:00", "01:00:00", JOB("j") ",\"ranks\":[5]", \
                       ",\"what\":\"rank 5 \\u001b[2J stopped\"")                            \
                NOISE("n1", "pod_evicted", "01:00:00", "01:00:00", NODE("n3"))
#define MIXED_VERDICTS                                                        \
    VERDICT("a", "hbm_ecc", "01:00:00", "01:00:01.2345",                      \
            N1 "," DISC("contained") ",\"detected_at\":" AT("01:00:01.2345")) \
    VERDICT("b", "hbm_ecc", "01:00:10", "01:00:10", N1)                       \
    VERDICT("c", "hbm_ecc", "03:00:00", "03:00:20",                           \
            NODE("n2") "," UUID("GPU-3") ",\"detected_at\":" AT("03:00:20"))  \
    VERDICT("d", "pod_evicted", "01:00:00", "01:00:00", NODE("n3"))

static void the_table_has_a_row_for_each_pattern_and_the_sums(void **state)
{
    (void)state;
    struct tc_score *s = new_score(300 * TC_SECOND, 20);
    add_pair(s, "t", MIXED_TRUTH, MIXED_VERDICTS);
    assert_string_equal(text_of(s), "pattern      faults  TP  FP  FN  TN  explained  precision  r"
                                    "ecall      culprit  discriminator  TTD median   TTD p95\n"
                                    "hbm_ecc           2   2   1   0   0          0      0.667   "
                                    "1.000  0.500 (1/2)    1.000 (1/1)     1.235 s  20.000 s\n"
                                    "nccl_hang         1   0   0   1   0          0          -   "
                                    "0.000            -              -           -         -\n"
                                    "pod_evicted       0   0   1   0   0          0      0.000   "
                                    "    -            -              -           -         -\n"
                                    "all               3   2   2   1   0          0      0.500   "
                                    "0.667  0.500 (1/2)    1.000 (1/1)     1.235 s  20.000 s\n"
                                    "\n"
                                    "False positives: 2\n"
                                    "  b  hbm_ecc  2026-03-02T01:00:10Z  n1\n"
                                    "    headline of b\n"
                                    "    duplicate: already proved is f1\n"
                                    "  d  pod_evicted  2026-03-02T01:00:00Z  n3\n"
                                    "    headline of d\n"
                                    "    fits noise n1\n"
                                    "\n"
                                    "False negatives: 1\n"
                                    "  f3  nccl_hang  2026-03-02T01:00:00Z  job j rank 5\n"
                                    "    rank 5 \\x1b[2J stopped\n"
                                    "\n"
                                    "Wrong culprits: 1\n"
                                    "  f2  hbm_ecc  2026-03-02T03:00:00Z  n2 GPU-2\n"
                                    "    headline of c\n"
                                    "    raised as c\n"
                                    "    which names n2 GPU-3\n");
    tc_score_destroy(s);
}

static void of_two_that_are_as_near_the_lower_id_is_paired(void **state)
{
    (void)state;
    struct tc_score *s = new_score(300 * TC_SECOND, 20);
    add_pair(s, "t", RUN FAULT("f1", "hbm_ecc", "01:00:00", "01:00:00", N1),
             VERDICT("b", "hbm_ecc", "01:00:10", "01:00:10", N1)
                 VERDICT("a", "hbm_ecc", "00:59:50", "00:59:50", N1));
    assert_non_null(strstr(text_of(s), "\n  b  hbm_ecc"));
    assert_null(strstr(out.text, "\n  a  hbm_ecc"));
    tc_score_destroy(s);
}

static void pairs_are_summed_and_lists_name_them(void **state)
{
    (void)state;
    struct tc_score *s = new_score(300 * TC_SECOND, 1);
    size_t count = 0;
    add_pair(s, "a/truth.ndjson", MIXED_TRUTH, "");
    /* The same ids again are other faults; verdicts of one pair prove nothing in another. */
    add_pair(s, "b/truth.ndjson", RUN, MIXED_VERDICTS);
    add_pair(s, "c/truth.ndjson", MIXED_TRUTH, MIXED_VERDICTS);
    const struct tc_score_row *all = &tc_score_rows(s, &count)[0];
    all = &all[count - 1];
    assert_int_equal(all->faults, 6);
    assert_int_equal(all->true_positives, 2);
    assert_int_equal(all->false_positives, 6);
    assert_int_equal(all->false_negatives, 4);
    assert_int_equal(all->true_negatives, 1);
    assert_non_null(strstr(text_of(s), "False positives: 6\n  a  hbm_ecc"));
    assert_non_null(strstr(out.text, "    of b/truth.ndjson\n  and 5 more\n"));
    assert_non_null(strstr(out.text, "    of a/truth.ndjson\n  and 3 more\n"));
    tc_score_destroy(s);
}

static void json_has_the_same_as_numbers(void **state)
{
    (void)state;
    struct tc_score *s = new_score(90 * TC_SECOND, 20);
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json v;
    struct tc_json all;
    double number = -1;
    add_pair(s, "t", MIXED_TRUTH, MIXED_VERDICTS);
    struct tc_json root = json_of(s, parser);
    assert_int_equal(tc_json_get_int(root, TC_LIT("pairs"), -1), 1);
    assert_int_equal(tc_json_get_int(root, TC_LIT("grace_seconds"), -1), 90);
    assert_true(tc_json_get(root, TC_LIT("all"), &all));
    assert_int_equal(tc_json_get_int(all, TC_LIT("true_positives"), -1), 2);
    assert_int_equal(tc_json_get_int(all, TC_LIT("duplicates"), -1), 1);
    assert_int_equal(tc_json_get_int(all, TC_LIT("noises"), -1), 1);
    assert_true(tc_json_get(all, TC_LIT("recall"), &v) && tc_json_double(v, &number));
    assert_true(number == 2.0 / 3);
    assert_true(tc_json_get(all, TC_LIT("time_to_detection_median_seconds"), &v));
    assert_true(tc_json_double(v, &number) && number == 1.235);
    assert_non_null(strstr(out.text, "{\"pattern\":\"nccl_hang\",\"faults\":1,\"true_positives\":0,"
                                     "\"false_positives\":0,\"duplicates\":0,\"false_negatives\":1,"
                                     "\"noises\":0,\"true_negatives\":0,\"explained\":0,"
                                     "\"precision\":null,\"recall\":0,\"culprits_right\":0,"
                                     "\"culprit_accuracy\":null,\"discriminators_right\":0,"
                                     "\"discriminators_stated\":0,\"discriminator_accuracy\":null,"
                                     "\"cascades\":0,\"roots_first\":0,\"root_accuracy\":null,"
                                     "\"time_to_detection_median_seconds\":null,"
                                     "\"time_to_detection_p95_seconds\":null}"));
    assert_non_null(strstr(out.text,
                           "{\"incident_id\":\"b\",\"pattern\":\"hbm_ecc\",\"truth\":\"t\","
                           "\"time\":\"2026-03-02T01:00:10Z\",\"place\":\"n1\",\"headline\":"
                           "\"headline of b\",\"duplicate_of\":\"f1\"}"));
    assert_non_null(strstr(out.text, "\"what\":\"rank 5 \\u001b[2J stopped\""));
    assert_non_null(strstr(out.text, "\"incident_id\":\"c\",\"named\":\"n2 GPU-3\"}"));
    tc_json_parser_destroy(parser);
    tc_score_destroy(s);
}

static void nothing_at_all_is_a_row_of_nothing(void **state)
{
    (void)state;
    struct tc_score *s = new_score(0, 0);
    size_t count = 0;
    add_pair(s, "t", RUN, "");
    assert_int_equal(tc_score_rows(s, &count)->faults, 0);
    assert_int_equal(count, 1);
    assert_null(strstr(text_of(s), "False"));
    tc_score_destroy(s);
}

static void nearly_perfect_is_not_shown_as_perfect(void **state)
{
    (void)state;
    struct tc_score *s = new_score(0, 0);
    for (int i = 0; i < 2999; i++) {
        add_pair(s, "t", RUN FAULT("f", "hbm_ecc", "01:00:00", "01:00:00", N1),
                 VERDICT("a", "hbm_ecc", "01:00:00", "01:00:00", N1));
    }
    add_pair(s, "t", RUN FAULT("f", "hbm_ecc", "01:00:00", "01:00:00", N1), "");
    assert_non_null(strstr(text_of(s), "      1.000   0.999 "));
    tc_score_destroy(s);
}

static void a_refused_piece_stops_the_report(void **state)
{
    (void)state;
    struct tc_score *s = new_score(300 * TC_SECOND, 20);
    add_pair(s, "t", MIXED_TRUTH, MIXED_VERDICTS);
    (void)text_of(s);
    size_t text_pieces = out.pieces;
    out = (struct printed){0};
    assert_int_equal(tc_score_report_json(s, print, &out), TC_OK);
    size_t json_pieces = out.pieces;
    for (size_t i = 1; i < text_pieces; i++) {
        out = (struct printed){.refuse_after = i};
        assert_int_equal(tc_score_report_text(s, print, &out), TC_E_IO);
        assert_int_equal(out.pieces, i + 1);
    }
    for (size_t i = 1; i < json_pieces; i++) {
        out = (struct printed){.refuse_after = i};
        assert_int_equal(tc_score_report_json(s, print, &out), TC_E_IO);
        assert_int_equal(out.pieces, i + 1);
    }
    tc_score_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_the_nearest_rank),
        cmocka_unit_test(shares_are_of_what_there_is),
        cmocka_unit_test(the_table_has_a_row_for_each_pattern_and_the_sums),
        cmocka_unit_test(of_two_that_are_as_near_the_lower_id_is_paired),
        cmocka_unit_test(pairs_are_summed_and_lists_name_them),
        cmocka_unit_test(json_has_the_same_as_numbers),
        cmocka_unit_test(nothing_at_all_is_a_row_of_nothing),
        cmocka_unit_test(nearly_perfect_is_not_shown_as_perfect),
        cmocka_unit_test(a_refused_piece_stops_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
