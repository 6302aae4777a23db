/* SPDX-License-Identifier: Apache-2.0 */
/* Single values, lists, values that do not go together, and how they are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "config/config_priv.h"
#include "unit/config/config_testing.h"

#include <stdio.h>

#define S TC_SECOND
#define HEX_63 "123456789abcdef0123456789abcdef0123456789ABCDEF0123456789abcdef"
#define HEX "0" HEX_63

static void addresses_are_read(void **state)
{
    (void)state;
    struct tc_slice host;
    uint16_t port = 0;
    assert_true(tc__config_address(TC_LIT("127.0.0.1:4318"), &host, &port));
    assert_true(tc_slice_eq(host, TC_LIT("127.0.0.1")));
    assert_int_equal(port, 4318);
    assert_true(tc__config_address(TC_LIT("[fe80::1%eth]:65535"), &host, &port) == false);
    assert_true(tc__config_address(TC_LIT("[::1]:65535"), &host, &port));
    assert_true(tc_slice_eq(host, TC_LIT("::1")));
    assert_true(tc__config_address(TC_LIT("gpu-07.cluster_a.local:0"), &host, &port));
    static const char *const wrong[] = {
        "",
        ":",
        ":1",
        "a",
        "a:",
        "a:b",
        "a:65536",
        "a:-1",
        "a b:1",
        "::1:4318",
        "[]:1",
        "[::1:1",
        "a/b:1",
        "http://a:1",
        "a:1/",
        "[a/b]:1",
        "a:00000000000000000000000000001x",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(tc__config_address(tc_slice_cstr(wrong[i]), &host, &port));
    }
    char longest[300];
    memset(longest, 'a', sizeof longest);
    longest[253] = ':';
    longest[254] = '1';
    assert_true(tc__config_address(tc_slice_make(longest, 255), &host, &port));
    longest[253] = 'a';
    longest[254] = ':';
    longest[255] = '1';
    assert_false(tc__config_address(tc_slice_make(longest, 256), &host, &port));
}

static void mistakes_in_addresses_say_what_to_write(void **state)
{
    (void)state;
    assert_wrong("api: {listen: ':4318'}\n",
                 "t.yaml:1:15: api.listen: \":4318\" would be every address of this machine; write "
                 "0.0.0.0:4318 if that is meant, 127.0.0.1:4318 if not\n");
    assert_wrong("api: {listen: 4318}\n",
                 "t.yaml:1:15: api.listen: \"4318\" has no host; write 127.0.0.1:4318\n");
    assert_wrong("api: {listen: \"::1:4318\"}\n",
                 "t.yaml:1:15: api.listen: \"::1:4318\" is no address: write host:port, such as "
                 "127.0.0.1:4318 or [::1]:4318\n");
}

static void urls_are_checked(void **state)
{
    (void)state;
    static const char *const right[] = {"http://a", "https://a:4318/v1/logs",
                                        "http://[::1]:1/x?y=z"};
    static const char *const wrong[] = {"a:4318",     "ftp://a",    "http://",        "http:///x",
                                        "http://a b", "http://a:0", "http://a:99999", "http://a#b"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "verdicts: {otlp: {endpoint: \"%s\"}}\n", right[i]);
        assert_right(text);
        assert_string_equal(config.verdicts_otlp_endpoint, right[i]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[128];
        char want[256];
        (void)snprintf(text, sizeof text, "verdicts: {otlp: {endpoint: \"%s\"}}\n", wrong[i]);
        (void)snprintf(want, sizeof want,
                       "t.yaml:1:29: verdicts.otlp.endpoint: \"%s\" is no http:// or https:// "
                       "address\n",
                       wrong[i]);
        assert_wrong(text, want);
    }
}

static void both_sides_of_a_range(void **state)
{
    (void)state;
    assert_right("limits: {depth: 4, key_bytes: 64, header_timeout: 100ms}\n");
    assert_right("limits: {depth: 64, key_bytes: 1MiB, header_timeout: 1h}\n");
    assert_right("evidence: {compression: -7}\n");
    assert_int_equal(config.evidence_compression, -7);
    assert_wrong("limits: {depth: 3, key_bytes: 63, header_timeout: 99ms}\n",
                 "t.yaml:1:17: limits.depth: 3 is outside 4..64\n"
                 "t.yaml:1:31: limits.key_bytes: 63 is outside 64..1MiB\n"
                 "t.yaml:1:51: limits.header_timeout: 99ms is outside 100ms..1h\n");
    assert_wrong("limits: {depth: 65, key_bytes: 1048577, header_timeout: 3601}\n",
                 "t.yaml:1:17: limits.depth: 65 is outside 4..64\n"
                 "t.yaml:1:32: limits.key_bytes: 1048577 is outside 64..1MiB\n"
                 "t.yaml:1:57: limits.header_timeout: 3601 is outside 100ms..1h\n");
    assert_wrong("evidence: {compression: 20}\nlimits: {depth: 5.0}\ndetection: {hold: soon}\n",
                 "t.yaml:1:25: evidence.compression: 20 is outside -7..19\n"
                 "t.yaml:2:17: limits.depth: \"5.0\" is no whole number\n"
                 "t.yaml:3:19: detection.hold: \"soon\" is no duration: write 500ms, 5s, 10m or "
                 "1h\n");
}

static void quotes_and_flags(void **state)
{
    (void)state;
    assert_right("detection: {hold: \"5s\"}\nlimits: {memory: '64MiB'}\ninsecure: true\n");
    assert_true(config.insecure);
    assert_wrong("insecure: \"true\"\nlimits: {depth: '5'}\n",
                 "t.yaml:1:11: insecure: is text; write true or false without quotes\n"
                 "t.yaml:2:17: limits.depth: is text; write the number without quotes\n");
    assert_wrong("insecure: True\n", "t.yaml:1:11: insecure: \"True\" is neither true nor false\n");
}

static void texts_have_a_longest_and_no_control_characters(void **state)
{
    (void)state;
    char text[2048];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_lit(&b, "data_dir: ");
    for (size_t i = 0; i < TC_CONFIG_TEXT_MAX - 1; i++) {
        tc_buf_char(&b, 'a');
    }
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_OK);
    assert_int_equal(strlen(config.data_dir), TC_CONFIG_TEXT_MAX - 1);
    tc_buf_char(&b, 'a');
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml:1:11: data_dir: is 1024 bytes long; at most 1023 can be "
                              "kept\n");
    assert_wrong("data_dir: \"a\\0b\"\n", "t.yaml:1:11: data_dir: has a control character in it\n");
    assert_wrong("data_dir: \"a\\nb\"\n", "t.yaml:1:11: data_dir: has a control character in it\n");
}

static void headers_become_lines(void **state)
{
    (void)state;
    assert_right("verdicts: {otlp: {headers: {Authorization: Bearer x y, X-Scope: '7', E: ''}}}\n");
    assert_string_equal(config.verdicts_otlp_headers,
                        "Authorization: Bearer x y\r\nX-Scope: 7\r\nE: \r\n");
    /* Each key has its own. */
    assert_right("verdicts: {otlp: {headers: {A: b}}}\n"
                 "hot_metrics: {remote_write: {headers: {Authorization: Bearer z}}}\n");
    assert_string_equal(config.verdicts_otlp_headers, "A: b\r\n");
    assert_string_equal(config.hot_metrics_remote_write_headers, "Authorization: Bearer z\r\n");
    assert_wrong("hot_metrics: {remote_write: {headers: {A: b, a: c}}}\n",
                 "t.yaml:1:49: hot_metrics.remote_write.headers: a is there twice\n");
    assert_right("verdicts: {otlp: {headers: }}\n");
    assert_string_equal(config.verdicts_otlp_headers, "");
    assert_wrong(
        "verdicts:\n  otlp:\n    headers: {A: b, a: c, x y: d, Q: \"a\\nb\", L: [1], ? {m: n} : "
        "o}\n",
        "t.yaml:3:24: verdicts.otlp.headers: a is there twice\n"
        "t.yaml:3:32: verdicts.otlp.headers: \"x y\" cannot be the name of a header\n"
        "t.yaml:3:38: verdicts.otlp.headers: the value of Q has a control character in it\n"
        "t.yaml:3:49: verdicts.otlp.headers: the value of a header is text\n"
        "t.yaml:3:56: verdicts.otlp.headers: a key that is not text\n");
    assert_wrong("verdicts: {otlp: {headers: [a]}}\n",
                 "t.yaml:1:28: verdicts.otlp.headers: is a map of names and values, not a list\n");
}

static void headers_have_a_most_bytes_together(void **state)
{
    (void)state;
    char text[8192];
    for (size_t extra = 0; extra < 2; extra++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_lit(&b, "verdicts: {otlp: {headers: {A: ");
        /* "A: " and the end of the line take five. */
        for (size_t i = 0; i < TC_CONFIG_HEADERS_MAX - 1 - 5 + extra; i++) {
            tc_buf_char(&b, 'x');
        }
        tc_buf_lit(&b, "}}}\n");
        assert_int_equal(read_text(tc_buf_slice(&b), NULL), extra == 0 ? TC_OK : TC_E_MALFORMED);
        assert_string_equal(said, extra == 0 ? ""
                                             : "t.yaml:1:32: verdicts.otlp.headers: headers of "
                                               "more than 4095 bytes together\n");
    }
}

static void tokens_are_read(void **state)
{
    (void)state;
    assert_right("auth:\n"
                 "  tokens:\n"
                 "  - name: collector\n"
                 "    sha256: " HEX "\n"
                 "    scopes: [ingest]\n"
                 "  - {name: ops, sha256: 'sha256:" HEX "', scopes: [read, admin]}\n");
    assert_int_equal(config.auth_token_count, 2);
    assert_string_equal(config.auth_tokens[0].name, "collector");
    assert_int_equal(config.auth_tokens[0].sha256.bytes[1], 0x23);
    assert_int_equal(config.auth_tokens[0].scopes, TC_TOKEN_INGEST);
    assert_int_equal(config.auth_tokens[1].scopes, TC_TOKEN_READ | TC_TOKEN_ADMIN);
    assert_memory_equal(&config.auth_tokens[0].sha256, &config.auth_tokens[1].sha256,
                        TC_DIGEST_BYTES);
    assert_right("auth: {tokens: }\n");
    assert_int_equal(config.auth_token_count, 0);
}

static void mistakes_in_tokens_name_the_token(void **state)
{
    (void)state;
    assert_wrong("auth:\n"
                 "  tokens:\n"
                 "  - {name: a, sha256: " HEX ", scopes: [ingest, write], name: b}\n"
                 "  - {name: a, sha256: " HEX "0, scopes: []}\n"
                 "  - {names: c, scopes: read}\n"
                 "  - word\n"
                 "  - [list]\n"
                 "  - {name: [d], sha256: " HEX ", scopes: {a: b}}\n"
                 "  - {name: e f, sha256: " HEX ", scopes: [[read]]}\n",
                 "t.yaml:3:106: auth.tokens[0].scopes: \"write\" is none of ingest, read, admin\n"
                 "t.yaml:3:114: auth.tokens[0]: \"name\" is there twice\n"
                 "t.yaml:4:12: auth.tokens[1].name: another token is called a already\n"
                 "t.yaml:4:23: auth.tokens[1].sha256: is no SHA-256: 64 hex digits, as \"printf "
                 "%s TOKEN | sha256sum\" prints\n"
                 "t.yaml:4:98: auth.tokens[1].scopes: is empty: the token would be good for "
                 "nothing\n"
                 "t.yaml:5:5: auth.tokens[2]: name is missing\n"
                 "t.yaml:5:5: auth.tokens[2]: sha256 is missing\n"
                 "t.yaml:5:6: auth.tokens[2]: there is no key \"names\"; a token has name, sha256 "
                 "and scopes\n"
                 "t.yaml:5:24: auth.tokens[2].scopes: is a list: [ingest, read]\n"
                 "t.yaml:6:5: auth.tokens[3]: is no token: {name: ..., sha256: ..., scopes: "
                 "[...]}\n"
                 "t.yaml:7:5: auth.tokens[4]: is no token: {name: ..., sha256: ..., scopes: "
                 "[...]}\n"
                 "t.yaml:8:12: auth.tokens[5]: name and sha256 are text\n"
                 "t.yaml:8:99: auth.tokens[5]: scopes is a list: [ingest, read]\n"
                 "t.yaml:9:12: auth.tokens[6].name: \"e f\" is no name: letters, digits, - and _, "
                 "at most 63\n"
                 "t.yaml:9:100: auth.tokens[6].scopes: is a list of ingest, read and admin\n");
    assert_wrong("auth: {tokens: [{name: a, sha256: 'g" HEX_63 "', scopes: [read]}]}\n",
                 "t.yaml:1:35: auth.tokens[0].sha256: is no SHA-256: 64 hex digits, as \"printf %s "
                 "TOKEN | sha256sum\" prints\n");
    assert_wrong("auth: {tokens: {a: b}}\n",
                 "t.yaml:1:16: auth.tokens: is a list of tokens: each begins with \"- \"\n");
    assert_wrong("auth: {tokens: a}\n",
                 "t.yaml:1:16: auth.tokens: is a list of tokens, not one value\n");
}

static void hosts_are_read(void **state)
{
    (void)state;
    assert_right("server: {allowed_hosts: [Trace.monitoring.svc, \"*.example.com\"]}\n");
    assert_string_equal(config.server_allowed_hosts, "trace.monitoring.svc\n*.example.com\n");
    assert_right("server:\n  allowed_hosts:\n  - \"*\"\n");
    assert_string_equal(config.server_allowed_hosts, "*\n");
    assert_right("server: {allowed_hosts: }\n");
    assert_string_equal(config.server_allowed_hosts, "");
    assert_variable("TRACECORE_SERVER_ALLOWED_HOSTS=[a, b]", "");
    assert_string_equal(config.server_allowed_hosts, "a\nb\n");
    assert_wrong("server:\n"
                 "  allowed_hosts:\n"
                 "  - a:80\n"
                 "  - http://a\n"
                 "  - \"a.*\"\n"
                 "  - \"\"\n"
                 "  - [a]\n",
                 "t.yaml:3:5: server.allowed_hosts: \"a:80\" has a port; write the name alone\n"
                 "t.yaml:4:5: server.allowed_hosts: \"http://a\" is no host name: write "
                 "name.example, *.example or *\n"
                 "t.yaml:5:5: server.allowed_hosts: \"a.*\" is no host name: write "
                 "name.example, *.example or *\n"
                 "t.yaml:6:5: server.allowed_hosts: \"\" is no host name: write "
                 "name.example, *.example or *\n"
                 "t.yaml:7:5: server.allowed_hosts: is a list of names\n");
    assert_wrong("server: {allowed_hosts: a}\n",
                 "t.yaml:1:25: server.allowed_hosts: is a list of names: [a]\n");
    assert_wrong(
        "server: {allowed_hosts: {a: b}}\n",
        "t.yaml:1:25: server.allowed_hosts: is a list of names: each begins with \"- \"\n");
}

static void tokens_are_bounded(void **state)
{
    (void)state;
    char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_lit(&b, "auth:\n  tokens:\n");
    for (unsigned i = 0; i < TC_CONFIG_TOKENS_MAX; i++) {
        tc_buf_lit(&b, "  - {name: n");
        tc_buf_u64(&b, i);
        tc_buf_lit(&b, ", sha256: " HEX ", scopes: [read]}\n");
    }
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_OK);
    assert_int_equal(config.auth_token_count, TC_CONFIG_TOKENS_MAX);
    tc_buf_lit(&b, "  - {name: more, scopes: [x]}\n");
    assert_int_equal(read_text(tc_buf_slice(&b), NULL), TC_E_MALFORMED);
    assert_string_equal(said, "t.yaml:35:5: auth.tokens[32]: there can be 32 tokens at most\n");
}

static void values_that_do_not_go_together_are_told(void **state)
{
    (void)state;
    assert_wrong("limits: {body: 32MiB}\n",
                 "t.yaml:1:16: limits.body: 32MiB is more than limits.body_decompressed (16MiB)\n"
                 "t.yaml:1:16: limits.body: 32MiB is more than limits.memory (24MiB)\n");
    assert_wrong(
        "limits: {memory: 4MiB}\n",
        "t.yaml:1:18: limits.memory: 4MiB is less than limits.body (8MiB)\n"
        "t.yaml:1:18: limits.memory: 4MiB is less than limits.body_decompressed (16MiB)\n");
    assert_right("limits: {memory: 16MiB}\n");
    assert_right("verdicts: {otlp: {backoff: {min: 1m}}}\n");
    assert_wrong("verdicts: {otlp: {backoff: {min: 61s}}}\n",
                 "t.yaml:1:34: verdicts.otlp.backoff.min: 61s is more than "
                 "verdicts.otlp.backoff.max (1m)\n");
    /* A key that is wrong by itself is not compared. */
    assert_wrong("limits: {memory: 4x}\n", "t.yaml:1:18: limits.memory: \"4x\" is no size: write "
                                           "64MiB, 64MB or a number of bytes\n");
}

static void two_listeners_need_two_ports(void **state)
{
    (void)state;
    assert_wrong("api: {listen: 127.0.0.1:4318}\n",
                 "t.yaml:1:15: api.listen: port 4318 is that of receivers.otlp.http.listen too\n");
    assert_wrong("insecure: true\napi: {listen: 0.0.0.0:4318}\n",
                 "t.yaml:2:15: api.listen: port 4318 is that of receivers.otlp.http.listen too\n");
    assert_right("api: {listen: 127.0.0.2:4318}\n");
    assert_right("api: {listen: 127.0.0.1:0}\nreceivers: {otlp: {http: {listen: 127.0.0.1:0}}}\n");
}

static void tls_needs_both_files(void **state)
{
    (void)state;
    assert_right("api: {tls: {cert: a, key: b}}\n");
    assert_wrong("api: {tls: {cert: a}}\n", "t.yaml:1:19: api.tls.cert: needs api.tls.key too\n");
    assert_wrong("receivers: {otlp: {grpc: {tls: {key: a}}}}\n",
                 "t.yaml:1:38: receivers.otlp.grpc.tls.key: needs receivers.otlp.grpc.tls.cert "
                 "too\n");
}

static void an_open_listener_is_refused_unless_it_is_meant(void **state)
{
    (void)state;
    assert_wrong(
        "receivers: {otlp: {http: {listen: '0.0.0.0:4318'}}}\n",
        "t.yaml:1:35: receivers.otlp.http.listen: other machines can reach 0.0.0.0:4318; "
        "set receivers.otlp.http.tls or auth.tokens, or insecure: true if everybody may\n");
    assert_int_equal(read_text(TC_LIT("api: {listen: gpu-07:1}\n"), NULL), TC_E_MALFORMED);
    assert_int_equal(read_text(TC_LIT("api: {listen: '[::]:1'}\n"), NULL), TC_E_MALFORMED);
    assert_int_equal(read_text(TC_LIT("api: {listen: 127.example.org:1}\n"), NULL), TC_E_MALFORMED);
    assert_int_equal(read_text(TC_LIT("api: {listen: 128.0.0.1:1}\n"), NULL), TC_E_MALFORMED);
    assert_right("api: {listen: '[::1]:1'}\n");
    assert_right("api: {listen: localhost:1}\n");
    assert_right("api: {listen: 127.9.9.9:1}\n");
    assert_right("insecure: true\napi: {listen: gpu-07:1}\n");
    assert_right("api: {listen: gpu-07:1, tls: {cert: a, key: b}}\n");
    assert_right("api: {listen: gpu-07:1}\nauth: {tokens: [{name: a, sha256: " HEX
                 ", scopes: [read]}]}\n");
}

static void values_in_use_are_shown_with_their_origin(void **state)
{
    (void)state;
    static char text[TC_CONFIG_PRINT_MAX];
    const char *const variables[] = {"TRACECORE_LOG_LEVEL=warn", NULL};
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    memset(text, 0, sizeof text);
    assert_int_equal(
        read_text(TC_LIT("limits: {memory: 32MiB}\n"
                         "verdicts: {otlp: {headers: {Authorization: secret}}}\n"
                         "detection: {patterns: {nccl_hang: {threshold: 60s}}}\n"
                         "auth: {tokens: [{name: a, sha256: " HEX ", scopes: [read]}]}\n"),
                  variables),
        TC_OK);
    tc_config_print_effective(&config, false, &b);
    assert_non_null(strstr(text, "\nlimits.memory: 32MiB  # file\n"));
    assert_non_null(strstr(text, "\nlog.level: \"warn\"  # environment\n"));
    assert_non_null(strstr(text, "\nlimits.body: 8MiB  # default\n"));
    assert_non_null(strstr(text, "\ndetection.patterns.nccl_hang.threshold: 60s  # file\n"));
    assert_non_null(strstr(text, "\nverdicts.otlp.headers: [\"Authorization\"]  # file\n"));
    assert_non_null(strstr(text, "\nauth.tokens: [\"a\"]  # file\n"));
    assert_null(strstr(text, "secret"));
    tc_buf_reset(&b);
    memset(text, 0, sizeof text);
    tc_config_print_effective(&config, true, &b);
    assert_non_null(strstr(text, ",\"limits.memory\":{\"value\":\"32MiB\",\"origin\":\"file\"}"));
    assert_non_null(strstr(text, ",\"limits.depth\":{\"value\":64,\"origin\":\"default\"}"));
    assert_non_null(strstr(text, "\"detection.patterns.nccl_hang.threshold\":{\"value\":\"60s\""));
}

static void the_last_token_of_an_open_listener_stays(void **state)
{
    (void)state;
    static struct tc_config running;
    assert_right("api: {listen: gpu-07:1}\nauth: {tokens: [{name: a, sha256: " HEX
                 ", scopes: [read]}]}\n");
    running = config;
    assert_right("log: {level: debug}\n");
    assert_int_equal(tc_config_fixed_changes(&running, &config, say, NULL), 2);
    assert_non_null(strstr(said, "\nauth.tokens: no token would be left, and other machines reach "
                                 "gpu-07:1 until a restart: they stay\n"));
    tc_config_keep_fixed(&running, &config);
    assert_int_equal(config.auth_token_count, 1);
    assert_string_equal(config.auth_tokens[0].name, "a");
    assert_string_equal(config.log_level, "debug");
    /* Others in their place are taken, and none at all where nobody else can connect. */
    assert_right("auth: {tokens: [{name: b, sha256: " HEX ", scopes: [read]}]}\n");
    tc_config_keep_fixed(&running, &config);
    assert_string_equal(config.api_listen, "gpu-07:1");
    assert_string_equal(config.auth_tokens[0].name, "b");
    assert_right("auth: {tokens: [{name: b, sha256: " HEX ", scopes: [read]}]}\n");
    running = config;
    assert_right("");
    tc_config_keep_fixed(&running, &config);
    assert_int_equal(config.auth_token_count, 0);
}

static void changes_that_need_a_restart_are_told(void **state)
{
    (void)state;
    static struct tc_config before;
    assert_right("data_dir: /a\nlog: {level: info}\n");
    before = config;
    assert_right("data_dir: /b\nlog: {level: debug}\ninsecure: true\n");
    assert_int_equal(tc_config_fixed_changes(&before, &config, say, NULL), 2);
    assert_string_equal(said, "data_dir: a change takes a restart: \"/a\" now, \"/b\" then\n"
                              "insecure: a change takes a restart: false now, true then\n");
    assert_right("data_dir: /a\ndetection: {patterns: {nccl_hang: {threshold: 60s}}}\n");
    assert_int_equal(tc_config_fixed_changes(&before, &config, say, NULL), 1);
    assert_string_equal(said, "detection.patterns: a change takes a restart\n");
    before = config;
    assert_right("data_dir: /a\ndetection: {patterns: {nccl_hang: {threshold: 61s}}}\n");
    assert_int_equal(tc_config_fixed_changes(&before, &config, say, NULL), 1);
    /* A running daemon goes on with what it has; the rest is taken. */
    before = config;
    assert_right("data_dir: /b\nlog: {level: debug}\nlimits: {memory: 32MiB, depth: 9}\n"
                 "insecure: true\ningest: {ack: memory}\n");
    tc_config_keep_fixed(&before, &config);
    assert_string_equal(config.data_dir, "/a");
    assert_string_equal(config.ingest_ack, "stored");
    assert_int_equal(config.limits_memory, 24 << 20);
    assert_false(config.insecure);
    assert_int_equal(config.limits_depth, 9);
    assert_string_equal(config.log_level, "debug");
    assert_int_equal(config.knob_count, 1);
    assert_string_equal(config.knobs[0], "nccl_hang.threshold=61s");
    said[0] = '\0';
    assert_int_equal(tc_config_fixed_changes(&before, &config, say, NULL), 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(mistakes_in_addresses_say_what_to_write),
        cmocka_unit_test(urls_are_checked),
        cmocka_unit_test(both_sides_of_a_range),
        cmocka_unit_test(quotes_and_flags),
        cmocka_unit_test(texts_have_a_longest_and_no_control_characters),
        cmocka_unit_test(headers_become_lines),
        cmocka_unit_test(headers_have_a_most_bytes_together),
        cmocka_unit_test(tokens_are_read),
        cmocka_unit_test(mistakes_in_tokens_name_the_token),
        cmocka_unit_test(tokens_are_bounded),
        cmocka_unit_test(values_that_do_not_go_together_are_told),
        cmocka_unit_test(two_listeners_need_two_ports),
        cmocka_unit_test(tls_needs_both_files),
        cmocka_unit_test(an_open_listener_is_refused_unless_it_is_meant),
        cmocka_unit_test(hosts_are_read),
        cmocka_unit_test(values_in_use_are_shown_with_their_origin),
        cmocka_unit_test(the_last_token_of_an_open_listener_stays),
        cmocka_unit_test(changes_that_need_a_restart_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
