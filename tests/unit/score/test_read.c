/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, and that the message names line, field and remedy. */
#include "unit/score/score_testing.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define N1 NODE("n1")
#define GOOD_FAULT FAULT("f1", "hbm_ecc", "01:00:00", "01:10:00", N1)
#define GOOD_VERDICT VERDICT("a", "hbm_ecc", "01:00:00", "01:00:30", N1)

static void refuses(const char *truth, const char *verdicts, size_t offset, const char *says)
{
    struct tc_score *s = new_score(0, 0);
    struct tc_error err = {0};
    tc_status status = tc_score_read_truth(s, tc_slice_cstr(truth), &err);
    if (verdicts != NULL) {
        assert_int_equal(status, TC_OK);
        status = tc_score_read_verdicts(s, tc_slice_cstr(verdicts), &err);
    }
    assert_int_equal(status, TC_E_MALFORMED);
    assert_int_equal(err.offset, offset);
    if (strstr(err.message, says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    }
    assert_true(strlen(err.message) < TC_ERROR_MESSAGE_MAX - 1);
    tc_score_destroy(s);
}

static void refuses_truth(const char *line, const char *says)
{
    char text[2048];
    (void)snprintf(text, sizeof text, RUN "%s" GOOD_FAULT, line);
    refuses(text, NULL, strlen(RUN), says);
}

static void refuses_verdict(const char *line, const char *says)
{
    char text[2048];
    (void)snprintf(text, sizeof text, GOOD_VERDICT "\n%s", line);
    refuses(RUN, text, strlen(GOOD_VERDICT) + 1, says);
}

static void the_first_line_of_a_truth_is_the_run(void **state)
{
    (void)state;
    refuses("", NULL, 0, "{\"truth\":\"run\",\"version\":1}");
    refuses("\n \n", NULL, 0, "no line");
    refuses(GOOD_FAULT, NULL, 0, "has to be \"run\" in the first line");
    refuses("{\"truth\":\"run\"}", NULL, 0, "\"version\" has to be 1");
    refuses("{\"truth\":\"run\",\"version\":2}", NULL, 0, "\"version\" has to be 1");
    refuses_truth(RUN, "second run");
    refuses(GOOD_VERDICT, NULL, 0, "this is no truth");
    refuses("{\"truth\":7}", NULL, 0, "this is no truth");
    refuses_truth("{\"truth\":\"fable\"}\n", "\"run\", \"fault\", \"noise\"");
}

static void fields_of_a_fault_are_checked(void **state)
{
    (void)state;
    refuses_truth("[1]\n", "not a JSON object");
    refuses_truth("{\"truth\":\"fault\",\n", "not a JSON object: ");
    refuses_truth("{\"truth\":\"fault\"}\n", "\"id\" is missing");
    refuses_truth(FAULT("", "hbm_ecc", "01:00:00", "01:00:00", N1), "\"id\" has to be a string");
    refuses_truth("{\"truth\":\"fault\",\"id\":\"f2\"}\n", "\"pattern\" is missing");
    refuses_truth("{\"truth\":\"fault\",\"id\":\"f2\",\"pattern\":3}\n", "\"pattern\" has to be");
    refuses_truth(FAULT("f2", "hbm", "01:00:00", "01:00:00", N1),
                  "\"pattern\": no pattern hbm; use hbm_ecc, nccl_hang, pod_evicted");
    refuses_truth("{\"truth\":\"fault\",\"id\":\"f2\",\"pattern\":\"hbm_ecc\"}\n",
                  "\"start\" is missing");
    refuses_truth(FAULT("f2", "hbm_ecc", "25:00:00", "01:00:00", N1), "\"start\" has to be a time");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00 ", N1), "\"end\" has to be a time");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "00:59:59", N1), "\"end\" is before");
    refuses_truth(FAULT_WITH("f2", "hbm_ecc", "01:00:00", "01:00:00", N1, ",\"discriminator\":1"),
                  "\"discriminator\" has to be");
    refuses_truth(FAULT_WITH("f2", "hbm_ecc", "01:00:00", "01:00:00", N1, ",\"what\":1"),
                  "\"what\" has to be");
    refuses_truth(
        FAULT_WITH("f2", "hbm_ecc", "01:00:00", "01:00:00", N1, ",\"affected_pods\":\"a/b\""),
        "\"affected_pods\" has to be a list");
    refuses_truth(FAULT_WITH("f2", "hbm_ecc", "01:00:00", "01:00:00", N1, ",\"affected_pods\":[1]"),
                  "\"affected_pods\" has to be a string");
    refuses_truth(
        FAULT_WITH("f2", "hbm_ecc", "01:00:00", "01:00:00", N1, ",\"affected_ranks\":[-1]"),
        "\"affected_ranks\" has to be a whole number");
}

static void culprits_are_checked(void **state)
{
    (void)state;
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", ""), "\"culprit\" names nothing");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"node\":\"n1\""),
                  "\"culprit\": no key node; use k8s.node.name, ");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"k8s.node.name\":1"),
                  "\"k8s.node.name\" has to be a string");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"pci.bdf\":\"1b\""),
                  "\"pci.bdf\" has to be a PCI address");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"gpu.index\":1.5"),
                  "\"gpu.index\" has to be a whole number");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"rank\":1048576"),
                  "\"rank\" has to be a whole number");
    refuses_truth(FAULT("f2", "hbm_ecc", "01:00:00", "01:00:00", "\"ranks\":5"),
                  "\"ranks\" has to be a list");
    refuses_truth("{\"truth\":\"noise\",\"id\":\"f2\",\"pattern\":\"hbm_ecc\",\"start\":" AT(
                      "01:00:00") ",\"end\":" AT("01:00:00") "}\n",
                  "\"culprit\" has to be an object");
}

/* The line of the repetition, not of the first, also between fault and noise. */
static void an_id_is_there_once(void **state)
{
    (void)state;
    char text[2048];
    int before = snprintf(text, sizeof text, RUN GOOD_FAULT "%s",
                          FAULT("f0", "hbm_ecc", "01:00:00", "01:00:00", N1));
    (void)snprintf(text + before, sizeof text - (size_t)before, "%s%s",
                   NOISE("f1", "hbm_ecc", "01:00:00", "01:00:00", N1),
                   FAULT("f0", "hbm_ecc", "01:00:00", "01:00:00", N1));
    refuses(text, NULL, (size_t)before, "\"id\" f1 is there twice");
}

static void a_line_that_is_no_verdict_is_refused(void **state)
{
    (void)state;
    refuses_verdict("{}\n", "\"incident_id\" is missing: this is no verdict");
    refuses_verdict("text", "not a JSON object");
    refuses_verdict("{\"torn\":", "not a JSON object");
    refuses_verdict(RUN, "this is a truth; give it with --truth");
    refuses_verdict("{\"incident_id\":\"b\"}\n", "\"pattern.name\" is missing");
    refuses_verdict(VERDICT("b", "other", "01:00:00", "01:00:00", N1), "no pattern other; use hbm");
    refuses_verdict("{\"incident_id\":\"b\",\"pattern.name\":\"hbm_ecc\"}",
                    "\"status\" is missing");
    refuses_verdict("{\"incident_id\":\"b\",\"pattern.name\":\"hbm_ecc\",\"status\":\"shut\"}",
                    "\"open\", \"updated\", \"resolved\"");
    refuses_verdict("{\"incident_id\":\"b\",\"pattern.name\":\"hbm_ecc\",\"status\":\"open\"}",
                    "\"first_seen\" is missing");
    refuses_verdict(VERDICT("b", "hbm_ecc", "01:00:00", "00:00:00", N1), "\"last_seen\" is before");
    refuses_verdict(VERDICT("b", "hbm_ecc", "01:00:00", "01:00:00", "\"detected_at\":7"),
                    "\"detected_at\" has to be a time");
    refuses_verdict(VERDICT("b", "hbm_ecc", "01:00:00", "01:00:00", "\"caused_by\":7"),
                    "\"caused_by\" has to be a list");
}

static void times_outside_of_ours_are_refused(void **state)
{
    (void)state;
    refuses_verdict("{\"incident_id\":\"b\",\"pattern.name\":\"hbm_ecc\",\"status\":\"open\","
                    "\"first_seen\":\"2210-01-01T00:00:00Z\"}",
                    "\"first_seen\" is not between 1970 and 2200");
}

static void what_is_not_needed_does_not_matter(void **state)
{
    (void)state;
    struct tc_score_row row = score_of(
        "\xef\xbb\xbf" RUN "\r\n" FAULT_WITH("f1", "hbm_ecc", "01:00:00", "01:10:00", N1,
                                             ",\"caused_by\":[\"f0\"],\"extra\":{\"a\":[1]}"),
        VERDICT("a", "hbm_ecc", "01:00:00", "01:00:30",
                N1 ",\"tracecore.alert.x.device\":7,\"tracecore.alert.x.nodes\":\"n\","
                   "\"caused_by\":[{\"incident_id\":\"\",\"why\":\"gone\"},7]"));
    assert_int_equal(row.true_positives, 1);
}

static void limits_are_limits(void **state)
{
    (void)state;
    struct tc_score *s = new_score(0, 0);
    struct tc_error err = {0};
    size_t len = TC_SCORE_LINE_MAX + 1;
    char *line = malloc(len);
    assert_non_null(line);
    memset(line, 'x', len);
    assert_int_equal(tc_score_read_truth(s, tc_slice_make(line, len), &err), TC_E_LIMIT);
    assert_non_null(strstr(err.message, "16 MiB"));
    free(line);
    char id[TC_SCORE_NAME_MAX + 2];
    char text[2 * TC_SCORE_NAME_MAX];
    memset(id, 'i', sizeof id);
    id[sizeof id - 1] = '\0';
    (void)snprintf(text, sizeof text, RUN "{\"truth\":\"fault\",\"id\":\"%s\"}\n", id);
    assert_int_equal(tc_score_read_truth(s, tc_slice_cstr(text), &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "\"id\" is longer than 1024 bytes"));
    tc_score_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_of_a_truth_is_the_run),
        cmocka_unit_test(fields_of_a_fault_are_checked),
        cmocka_unit_test(culprits_are_checked),
        cmocka_unit_test(an_id_is_there_once),
        cmocka_unit_test(a_line_that_is_no_verdict_is_refused),
        cmocka_unit_test(times_outside_of_ours_are_refused),
        cmocka_unit_test(what_is_not_needed_does_not_matter),
        cmocka_unit_test(limits_are_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
