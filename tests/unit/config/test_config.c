/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a configuration: shape, keys, places, environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/otlp/wire.h"
#include "engine/engine.h"
#include "evidence/store.h"
#include "live/live.h"
#include "unit/config/config_testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void nothing_gives_the_defaults(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "\n", "# only a comment\n", "---\n", "~\n", "{}\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_right(empty[i]);
        assert_string_equal(config.data_dir, "");
        assert_string_equal(config.receivers_otlp_http_listen, "127.0.0.1:4318");
        assert_string_equal(config.receivers_otlp_grpc_listen, "127.0.0.1:4317");
        assert_string_equal(config.api_listen, "127.0.0.1:4320");
        assert_string_equal(config.ingest_ack, "stored");
        assert_int_equal(config.limits_memory, 24 << 20);
        assert_int_equal(config.detection_hold, 5 * TC_SECOND / 1000);
        assert_int_equal(config.detection_replay_window, 3600 * TC_SECOND);
        assert_int_equal(config.evidence_keep, (uint64_t)20 << 30);
        assert_false(config.insecure);
        assert_int_equal(config.auth_token_count, 0);
        assert_int_equal(config.knob_count, 0);
        assert_int_equal(config.origins[TC_KEY_api_listen], TC_CONFIG_DEFAULT);
    }
}

/* What the rooms below measured or promise is what a daemon without a file does. */
static void the_defaults_are_those_of_the_rooms(void **state)
{
    (void)state;
    const struct tc_live_config live = TC_LIVE_CONFIG_DEFAULT;
    const struct tc_otlp_limits otlp = TC_OTLP_LIMITS_DEFAULT;
    assert_right("");
    assert_int_equal(config.evidence_compression, TC_STORE_COMPRESSION_DEFAULT);
    assert_int_equal(config.detection_hold, live.hold_ns);
    assert_int_equal(config.detection_lateness, live.lateness_ns);
    assert_int_equal(config.detection_ahead, live.ahead_ns);
    assert_int_equal(config.detection_silence, live.silence_ns);
    assert_int_equal(config.detection_hold_bytes, live.hold_bytes);
    assert_int_equal(config.detection_incidents, live.incidents_max);
    assert_int_equal(config.detection_remembered, live.told_max);
    assert_int_equal(config.limits_objects, otlp.objects_max);
    assert_int_equal(config.limits_depth, otlp.depth_max);
    assert_int_equal(config.limits_attributes, otlp.attributes_max);
    assert_int_equal(config.limits_key_bytes, otlp.key_bytes_max);
    assert_int_equal(config.limits_value_bytes, otlp.value_bytes_max);
}

static void the_fixed_keys_are_read(void **state)
{
    (void)state;
    assert_right("data_dir: /var/lib/tracecore\n"
                 "receivers:\n"
                 "  otlp:\n"
                 "    http:\n"
                 "      listen: 127.0.0.1:14318\n"
                 "    grpc: {listen: '[::1]:14317'}\n"
                 "api:\n"
                 "  listen: localhost:0\n"
                 "ingest:\n"
                 "  ack: memory\n"
                 "verdicts:\n"
                 "  file:\n"
                 "    path: \"-\"\n");
    assert_string_equal(config.data_dir, "/var/lib/tracecore");
    assert_string_equal(config.receivers_otlp_http_listen, "127.0.0.1:14318");
    assert_string_equal(config.receivers_otlp_grpc_listen, "[::1]:14317");
    assert_string_equal(config.api_listen, "localhost:0");
    assert_string_equal(config.ingest_ack, "memory");
    assert_string_equal(config.verdicts_file_path, "-");
    assert_int_equal(config.origins[TC_KEY_api_listen], TC_CONFIG_FILE);
    assert_int_equal(config.origins[TC_KEY_log_level], TC_CONFIG_DEFAULT);
}

static void the_printed_default_is_the_default(void **state)
{
    (void)state;
    static struct tc_config defaults;
    static char text[TC_CONFIG_PRINT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    assert_right("");
    defaults = config;
    tc_config_print_default(&b);
    assert_false(b.overflowed);
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_OK);
    assert_string_equal(said, "");
    for (size_t i = 0; i < TC_CONFIG_KEY_COUNT; i++) {
        /* Every key is printed. */
        assert_int_equal(config.origins[i], TC_CONFIG_FILE);
    }
    memset(config.origins, 0, sizeof config.origins);
    assert_memory_equal(&config, &defaults, sizeof config);
}

static void all_mistakes_are_told_in_the_order_of_the_file(void **state)
{
    (void)state;
    assert_wrong(
        "limits:\n"
        "  memory: 64M\n"
        "  bodi: 1MiB\n"
        "  connections: 0\n"
        "verdicts:\n"
        "  otlp:\n"
        "    backoff: {min: 5m, max: 1m}\n"
        "log:\n"
        "  level: \"warning\"\n",
        "t.yaml:2:11: limits.memory: \"64M\" is no size: write 64MiB, 64MB or a number of bytes\n"
        "t.yaml:3:3: limits.bodi: there is no such key; did you mean limits.body?\n"
        "t.yaml:4:16: limits.connections: 0 is outside 1..1048576\n"
        "t.yaml:7:29: verdicts.otlp.backoff.max: 1m is less than verdicts.otlp.backoff.min (5m)\n"
        "t.yaml:9:10: log.level: \"warning\" is none of debug, info, warn, error\n");
}

static void mistakes_beyond_a_hundred_are_counted(void **state)
{
    (void)state;
    char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (unsigned i = 0; i < 103; i++) {
        tc_buf_lit(&b, "wrong_");
        tc_buf_u64(&b, i);
        tc_buf_lit(&b, ": 1\n");
    }
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_E_MALFORMED);
    assert_int_equal(said_count, 101);
    assert_non_null(strstr(said, "\nt.yaml:100:1: wrong_99: "));
    assert_non_null(strstr(said, "\n3 more mistakes\n"));
}

static void unknown_keys_are_told_with_the_nearest(void **state)
{
    (void)state;
    assert_wrong("reciever: {}\n",
                 "t.yaml:1:1: reciever: there is no such key; did you mean receivers?\n");
    assert_wrong("listen: a\n", "t.yaml:1:1: listen: there is no such key; did you mean "
                                "receivers.otlp.http.listen?\n");
    assert_wrong("zzz: a\n", "t.yaml:1:1: zzz: there is no such key; 'tracecore config "
                             "print-default' shows all\n");
    assert_wrong("detection: {patterns: {nccl_hang: {tresholt: 5}}}\n",
                 "t.yaml:1:36: detection.patterns.nccl_hang.tresholt: there is no such key; did "
                 "you mean detection.patterns.nccl_hang.threshold?\n");
    assert_wrong("log.level: info\n", "t.yaml:1:1: log.level: is a path; write each part on a line "
                                      "of its own, indented\n");
    assert_wrong("\"\": 1\n", "t.yaml:1:1: there is no such key; 'tracecore config "
                              "print-default' shows all\n");
    /* What is below an unknown key is not told too. */
    assert_wrong("zzz: {a: {b: [1, {c: d}]}, ? [x] : y}\n",
                 "t.yaml:1:1: zzz: there is no such key; 'tracecore config print-default' shows "
                 "all\n");
}

static void a_key_from_outside_is_shown_escaped_and_cut(void **state)
{
    (void)state;
    assert_int_equal(read_text(TC_LIT("\"a\\e[2Jb\\nc\": 1\n"), NULL), TC_E_MALFORMED);
    assert_null(strchr(said, '\033'));
    assert_non_null(strstr(said, "t.yaml:1:1: a\\x1b[2Jb\\x0ac: "));
    assert_int_equal(said_count, 1);
    char text[2000];
    memset(text, 'k', sizeof text);
    text[900] = ':';
    text[901] = ' ';
    assert_int_equal(read_text(tc_slice_make(text, 910), NULL), TC_E_MALFORMED);
    assert_true(strlen(said) < 200);
}

static void keys_that_are_there_twice_are_refused(void **state)
{
    (void)state;
    assert_wrong("data_dir: /a\n"
                 "limits: {depth: 5, depth: 6}\n"
                 "data_dir: /b\n"
                 "limits: {headers: x}\n",
                 "t.yaml:2:20: limits.depth: is there twice; the first is in line 2\n"
                 "t.yaml:3:1: data_dir: is there twice; the first is in line 1\n"
                 "t.yaml:4:1: limits: is there twice; the first is in line 2\n");
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    assert_wrong("- a\n", "t.yaml:1:1: the file is no mapping of keys and values\n");
    assert_wrong("just text\n", "t.yaml:1:1: the file is no mapping of keys and values\n");
    assert_wrong("limits: 5\n",
                 "t.yaml:1:9: limits: is a section: its keys come below it, indented\n");
    assert_wrong("limits: [a]\n",
                 "t.yaml:1:9: limits: is a section: its keys come below it, not a list\n");
    assert_wrong("data_dir: [a]\n", "t.yaml:1:11: data_dir: is one value, not a list\n");
    assert_wrong("data_dir: {a: b}\n",
                 "t.yaml:1:11: data_dir: is one value and has no keys below it\n");
    assert_wrong("limits: {[a]: b}\n", "t.yaml:1:10: limits: a key that is not text\n");
    assert_wrong("a: b\n---\nc: d\n",
                 "t.yaml:1:1: a: there is no such key; 'tracecore config print-default' shows all\n"
                 "t.yaml:2:1: a second document begins here; one is read\n");
    /* A section whose keys are all commented out is an empty one. */
    assert_right("limits:\n  # memory: 64MiB\nlog:\n");
}

static void a_key_without_a_value_is_refused(void **state)
{
    (void)state;
    assert_wrong("data_dir:\nlog:\n  level: ~\n",
                 "t.yaml:1:1: data_dir: has no value; leave the key out for the default, or write "
                 "\"\"\n"
                 "t.yaml:3:10: log.level: has no value; leave the key out for the default\n");
    assert_right("data_dir: \"\"\nreceivers: {otlp: {http: {listen: ''}}}\n");
    assert_string_equal(config.receivers_otlp_http_listen, "");
}

static void anchors_aliases_and_tags_are_refused(void **state)
{
    (void)state;
    assert_wrong("data_dir: &a /x\n"
                 "verdicts: {file: {path: *a}}\n"
                 "insecure: !!bool true\n"
                 "limits: &b {depth: 5}\n",
                 "t.yaml:1:14: anchors and aliases (& and *) are not read; write the value out\n"
                 "t.yaml:2:26: anchors and aliases (& and *) are not read; write the value out\n"
                 "t.yaml:3:18: tags (!) are not read; write the value without\n"
                 "t.yaml:4:12: anchors and aliases (& and *) are not read; write the value out\n");
}

static void broken_yaml_is_told_with_its_place(void **state)
{
    (void)state;
    assert_wrong("limits:\n  body: \"9KB\n",
                 "t.yaml:2:10: this is not YAML: double-quoted scalar without closing quote\n");
    assert_int_equal(read_text(TC_LIT("limits: [\ndata_dir: a\n"), NULL), TC_E_MALFORMED);
    assert_non_null(strstr(said, "t.yaml:2:1: this is not YAML: "));
    /* What came before it is told as well. */
    assert_int_equal(read_text(TC_LIT("a: 1\nlimits: }\n"), NULL), TC_E_MALFORMED);
    assert_int_equal(said_count, 2);
}

static void what_the_library_must_not_see_is_told_with_its_place(void **state)
{
    (void)state;
    assert_wrong("data_dir: a\n%TAG\n", "t.yaml:2:1: directives are not read\n");
    assert_wrong("data_dir: \"\xc3\xa4\x01\"\n", "t.yaml:1:13: a control character\n");
    assert_int_equal(read_text(TC_LIT("a: \xff\n"), NULL), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml:1:4: a byte that is not UTF-8\n");
    static char brackets[1 << 17];
    memset(brackets, '[', sizeof brackets);
    assert_int_equal(read_text(tc_slice_make(brackets, sizeof brackets), NULL), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml:1:1: an entry has too many brackets and commas\n");
}

static void nesting_ends_at_sixteen(void **state)
{
    (void)state;
    assert_int_equal(read_text(TC_LIT("a: [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]\n"), NULL),
                     TC_E_MALFORMED);
    assert_null(strstr(said, "nested"));
    assert_int_equal(read_text(TC_LIT("a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n"), NULL),
                     TC_E_MALFORMED);
    assert_non_null(strstr(said, "t.yaml:1:19: nested more than 16 levels deep\n"));
}

static void the_size_of_a_file_is_bounded(void **state)
{
    (void)state;
    char *text = malloc(TC_CONFIG_FILE_MAX + 1);
    assert_non_null(text);
    memset(text, '\n', TC_CONFIG_FILE_MAX + 1);
    assert_int_equal(read_text(tc_slice_make(text, TC_CONFIG_FILE_MAX), NULL), TC_OK);
    assert_int_equal(read_text(tc_slice_make(text, TC_CONFIG_FILE_MAX + 1), NULL), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml: is larger than 1048576 bytes\n");
    free(text);
}

static void knobs_are_checked_and_listed_where_they_differ(void **state)
{
    (void)state;
    struct tc_engine_out out = {0};
    struct tc_engine *engine = NULL;
    struct tc_error err;
    assert_right("detection:\n"
                 "  patterns:\n"
                 "    straggler: {enabled: false}\n"
                 "    nccl_hang: {threshold: 60s, enabled: true}\n");
    assert_int_equal(config.knob_count, 2);
    assert_string_equal(config.knobs[0], "nccl_hang.threshold=60s");
    assert_string_equal(config.knobs[1], "straggler.enabled=false");
    assert_int_equal(config.knob_origins[0], TC_CONFIG_FILE);
    assert_int_equal(tc_engine_create(&out, &engine, &err), TC_OK);
    assert_int_equal(tc_config_tune(&config, engine, &err), TC_OK);
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tc_engine_is_enabled(engine, i), strcmp(all[i]->name, "straggler") != 0);
    }
    tc_engine_destroy(engine);
    assert_wrong("detection: {patterns: {nccl_hang: {threshold: 0, enabled: yes}}}\n",
                 "t.yaml:1:47: detection.patterns.nccl_hang.threshold: 0 is outside 1 s..86400 s\n"
                 "t.yaml:1:59: detection.patterns.nccl_hang.enabled: \"yes\" is neither true nor "
                 "false\n");
    char text[256];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_lit(&b, "detection: {patterns: {nccl_hang: {threshold: ");
    for (size_t i = 0; i < 70; i++) {
        tc_buf_char(&b, '0');
    }
    tc_buf_lit(&b, "60s}}}\n");
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_E_MALFORMED);
    assert_non_null(strstr(said, "threshold: is longer than any number\n"));
}

static void the_environment_wins_over_the_file(void **state)
{
    (void)state;
    const char *const variables[] = {
        "PATH=/bin",
        "TRACECORE_RECEIVERS_OTLP_HTTP_LISTEN=127.0.0.1:1",
        "TRACECORE_DETECTION_PATTERNS_NCCL_HANG_THRESHOLD=90",
        "TRACECORE_INSECURE=true",
        "TRACECORE_DATA_DIR=/env",
        "TRACECORE_VERDICTS_OTLP_HEADERS={Authorization: Bearer x}",
        NULL,
    };
    assert_int_equal(read_text(TC_LIT("data_dir: /file\nlimits: {depth: 9}\n"
                                      "detection: {patterns: {nccl_hang: {threshold: 60s}}}\n"
                                      "verdicts: {otlp: {headers: {A: b}}}\n"),
                               variables),
                     TC_OK);
    assert_string_equal(said, "");
    assert_string_equal(config.data_dir, "/env");
    assert_string_equal(config.receivers_otlp_http_listen, "127.0.0.1:1");
    assert_true(config.insecure);
    assert_int_equal(config.limits_depth, 9);
    assert_int_equal(config.knob_count, 1);
    assert_string_equal(config.knobs[0], "nccl_hang.threshold=90");
    assert_string_equal(config.verdicts_otlp_headers, "Authorization: Bearer x\r\n");
    assert_int_equal(config.origins[TC_KEY_data_dir], TC_CONFIG_ENVIRONMENT);
    assert_int_equal(config.origins[TC_KEY_limits_depth], TC_CONFIG_FILE);
    assert_int_equal(config.knob_origins[0], TC_CONFIG_ENVIRONMENT);
}

static void mistakes_of_the_environment_name_the_variable(void **state)
{
    (void)state;
    assert_variable("TRACECORE_API_LISTEN=7",
                    "TRACECORE_API_LISTEN: api.listen: \"7\" has no host; write 127.0.0.1:7\n");
    assert_variable("TRACECORE_LIMITS_BODY=",
                    "TRACECORE_LIMITS_BODY: limits.body: \"\" is no size: write 64MiB, 64MB or a "
                    "number of bytes\n");
    assert_variable("TRACECORE_API_LISTN=a", "TRACECORE_API_LISTN: there is no key for this "
                                             "variable; did you mean TRACECORE_API_LISTEN?\n");
    assert_variable("TRACECORE_Q=a", "TRACECORE_Q: there is no key for this variable\n");
    assert_variable("TRACECORE_API=a", "TRACECORE_API: there is no key for this variable\n");
    assert_variable("TRACECORE_VERDICTS_OTLP_HEADERS=5",
                    "TRACECORE_VERDICTS_OTLP_HEADERS:1:1: verdicts.otlp.headers: is a map of names "
                    "and values, not one value\n");
    assert_variable("TRACECORE_AUTH_TOKENS=[{name: a, sha256: 1}]",
                    "TRACECORE_AUTH_TOKENS:1:2: auth.tokens[0]: scopes is missing\n"
                    "TRACECORE_AUTH_TOKENS:1:20: auth.tokens[0].sha256: is no SHA-256: 64 hex "
                    "digits, as \"printf %s TOKEN | sha256sum\" prints\n");
    const char *const both[] = {"TRACECORE_B=1", "TRACECORE_A=1", NULL};
    assert_int_equal(read_text(TC_LIT("zzz: 1\n"), both), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml:1:1: zzz: there is no such key; 'tracecore config "
                              "print-default' shows all\n"
                              "TRACECORE_A: there is no key for this variable\n"
                              "TRACECORE_B: there is no key for this variable\n");
}

static void variables_of_a_kubernetes_service_are_let_be(void **state)
{
    (void)state;
    static const char *const names[] = {
        "TRACECORE_DUCKDB=/opt/libduckdb.so", /* the warehouse looks at that one */
        "TRACECORE_SERVICE_HOST=10.0.0.1",
        "TRACECORE_SERVICE_PORT=4318",
        "TRACECORE_SERVICE_PORT_OTLP_HTTP=4318",
        "TRACECORE_PORT=tcp://10.0.0.1:4318",
        "TRACECORE_PORT_4318_TCP=tcp://10.0.0.1:4318",
        "TRACECORE_PORT_4318_TCP_PROTO=tcp",
        "TRACECORE_PORT_4318_TCP_ADDR=10.0.0.1",
        "TRACECORE_GATEWAY_SERVICE_HOST=10.0.0.1",
        "TRACECORE_GATEWAY_PORT=udp://10.0.0.1:1",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_variable(names[i], "");
    }
    assert_variable("TRACECORE_PORT=4318", "TRACECORE_PORT: there is no key for this variable\n");
}

static void a_file_is_read_and_one_that_cannot_be_is_told(void **state)
{
    (void)state;
    char path[] = "/tmp/tc_config_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "log: {level: debug}\n", 20), 20);
    assert_int_equal(close(fd), 0);
    memset(said, 0, sizeof said);
    assert_int_equal(tc_config_load(path, NULL, say, NULL, &config), TC_OK);
    assert_string_equal(config.log_level, "debug");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(tc_config_load(path, NULL, say, NULL, &config), TC_E_IO);
    assert_non_null(strstr(said, ": cannot be read: No such file or directory\n"));
    memset(said, 0, sizeof said);
    assert_int_equal(tc_config_load("/tmp", NULL, say, NULL, &config), TC_E_IO);
    assert_string_equal(said, "/tmp: cannot be read: Is a directory\n");
    assert_int_equal(tc_config_load(NULL, NULL, say, NULL, &config), TC_OK);
}

static void the_place_of_data_is_found(void **state)
{
    (void)state;
    char text[TC_CONFIG_TEXT_MAX];
    char longest[TC_CONFIG_TEXT_MAX + 1] = "";
    struct tc_error err;
    static const char *const names[] = {"TRACECORE_DATA_DIR", "STATE_DIRECTORY", "XDG_STATE_HOME",
                                        "HOME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    assert_right("");
    assert_int_equal(tc_config_data_dir(&config, text, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "set data_dir"));
    assert_int_equal(setenv("HOME", "/home/u", 1), 0);
    assert_int_equal(tc_config_data_dir(&config, text, &err), TC_OK);
    assert_string_equal(text, "/home/u/.local/state/tracecore");
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(setenv("HOME", longest, 1), 0);
    assert_int_equal(tc_config_data_dir(&config, text, &err), TC_E_USAGE);
    assert_right("data_dir: /a:b\n");
    assert_int_equal(tc_config_data_dir(&config, text, &err), TC_OK);
    assert_string_equal(text, "/a:b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_gives_the_defaults),
        cmocka_unit_test(the_defaults_are_those_of_the_rooms),
        cmocka_unit_test(the_fixed_keys_are_read),
        cmocka_unit_test(the_printed_default_is_the_default),
        cmocka_unit_test(all_mistakes_are_told_in_the_order_of_the_file),
        cmocka_unit_test(mistakes_beyond_a_hundred_are_counted),
        cmocka_unit_test(unknown_keys_are_told_with_the_nearest),
        cmocka_unit_test(a_key_from_outside_is_shown_escaped_and_cut),
        cmocka_unit_test(keys_that_are_there_twice_are_refused),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(a_key_without_a_value_is_refused),
        cmocka_unit_test(anchors_aliases_and_tags_are_refused),
        cmocka_unit_test(broken_yaml_is_told_with_its_place),
        cmocka_unit_test(what_the_library_must_not_see_is_told_with_its_place),
        cmocka_unit_test(nesting_ends_at_sixteen),
        cmocka_unit_test(the_size_of_a_file_is_bounded),
        cmocka_unit_test(knobs_are_checked_and_listed_where_they_differ),
        cmocka_unit_test(the_environment_wins_over_the_file),
        cmocka_unit_test(mistakes_of_the_environment_name_the_variable),
        cmocka_unit_test(variables_of_a_kubernetes_service_are_let_be),
        cmocka_unit_test(a_file_is_read_and_one_that_cannot_be_is_told),
        cmocka_unit_test(the_place_of_data_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
